"""Sentences that announce what follows and say nothing themselves: they need no citation."""

from __future__ import annotations

import re
from typing import Final

from grouse_adapters.lexical.evidence import Stretch
from grouse_adapters.lexical.facts import has_calendar_word
from grouse_adapters.lexical.languages import word_set
from grouse_adapters.lexical.sentences import Sentence

_ABOUT_DOCUMENTS: Final = re.compile(
    r"\b(?:documents?|references?|sources?|passages?|contexts?|excerpts?|information|"
    r"texts?|dokument\w*|quellen?|documentos?|fuentes?|documenti|fonti|fontes|bronnen|"
    r"informations?|informationen|informacion|informazioni|informacao|informatie)\b",
    re.IGNORECASE,
)
_ANNOUNCING: Final = word_set(
    # English
    "additional additionally answer answers aspect aspects background beside besides certain "
    "concern concerning concerns contain contains cover covered deal deals dealt describe "
    "described describes detail details explain explains explained extra fact facts find follow "
    "following follows found furthermore general given here hold holds interest interesting item "
    "items know known learn learns learned list listed matter matters mention mentioned mentions "
    "moreover neighbouring nearby nonetheless nevertheless note noted notes number offer offers "
    "other otherwise outline outlined overview picture point points record recorded records "
    "related remark report reported reports say says said see set sets speak speaks stated states "
    "story subject subjects summary summarised summarized tell tells things told topic topics "
    "touch touches turn turns useful worth write written reads read learnt only adjacent "
    "these learning surroundings circumstances close possible available "
    "noting steps step way ways rules rule "
    "several devices measures means methods stages phases parts components factors reasons causes "
    "differences similarities conditions requirements tricks features together combine combined "
    "various work works working involved play history account course main key essentials essential "
    "questions neighbouring neighboring indirectly directly generally broader context contexts "
    # French
    "plusieurs mesures moyens phases dispositifs facteurs raisons differences parties methodes "
    "principaux principales repond repondent essentiel ensemble histoire environs voisines "
    "ailleurs apprend apporte aspect aspects autres bref cependant certains certaines ci-dessous "
    "comme concernant concerne contexte contiennent contient dessous detail details dire dit "
    "donnent element elements eclairent etapes evoquent evoque expliquent exposent fait faits "
    "figurent fournissent general generale indications indiquent informations livrent mentionne "
    "mentionnent neanmoins note noter outre points point precisions precisent propos question "
    "rapportent renseignements renseignent reste savoir signaler signalent sujet sujets suit "
    "suivant suivante suivantes suivants toutefois traitent trouve voici resume voisin voisins "
    # German, Spanish, Italian, Portuguese, Dutch
    "folgende folgenden folgendes folgt angaben erwahnen genannt allerdings zudem ausserdem "
    "weitere hinweise einzelheiten punkte siguiente siguientes ademas mencionan datos informacion "
    "detalles seguente seguenti inoltre menzionano dati informazioni dettagli seguinte seguintes "
    "lire lit apprendre ceci cela revanche fournit indiquer relever trouver voir "
    "alem mencionam dados volgende bovendien vermelden gegevens"
)
_FEW_WORDS: Final = 8  # content words of a sentence that only announces what documents hold
_NEW_WORDS: Final = 3  # of them that neither announce nor repeat the question
_OPENING: Final = 12  # words of a first sentence without figures or new names
_LONGEST: Final = 20  # words; whoever announces is brief


def is_announcement(
    sentence: Sentence, following: Sentence | None, question: Stretch, *, after_refusal: bool
) -> bool:
    """Whether an uncited sentence announces the cited ones after it.

    It is brief, has no number, date or new name, and consists of words like "following",
    "mention", "details", of the question's words and of at most a few others.
    """
    if sentence.citations or len(sentence.text) > 400:
        return False
    if sentence.text.rstrip().endswith("?"):
        return following is not None  # it states nothing
    stretch = Stretch(sentence.text, question.code)
    counts = any(not q.implied and q.bare > 2 for q in stretch.quantities)
    if len(stretch.words) > _LONGEST or has_calendar_word(stretch.words):
        return False
    new = {
        word.stem
        for word in stretch.words
        if word.content and word.plain not in _ANNOUNCING and word.stem not in question.stems
    }
    if _ABOUT_DOCUMENTS.search(sentence.text) and not counts:
        return len(stretch.stems) <= _FEW_WORDS and len(new) <= 2 * _NEW_WORDS
    names = {word.stem for run in stretch.names for word in run}
    if names - question.stems or following is None or not following.citations:
        return False
    if sentence.number == 1 and not stretch.quantities and len(stretch.words) <= _OPENING:
        return True  # it says in general what the cited sentences tell
    announces = any(word.plain in _ANNOUNCING for word in stretch.words)
    if after_refusal and not counts:
        return len(new) <= _NEW_WORDS + announces
    return announces and len(new) <= (1 if counts else _NEW_WORDS)
