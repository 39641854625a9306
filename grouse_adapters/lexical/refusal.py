"""Does an answer open by saying that no document answers? In seven languages, and in your own."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from rapidfuzz import fuzz

from grouse_adapters.lexical.languages import word_set
from grouse_adapters.lexical.sentences import CITATION, Sentence, cited_numbers, claims_of
from grouse_adapters.lexical.text import plain, tokens

_SAME_WORDING: Final = 88.0  # of 100: a typing error or a changed ending in a known sentence
_OPENING: Final = 2  # sentences in which a refusal may stand: it opens the answer
_LONGEST_TEXT: Final = 800  # characters
_LONGEST: Final = 60  # words of a refusal sentence
_ABOUT_THE_QUESTION: Final = 0.5  # of the words said to be missing must be the question's

# Each pattern reads plain text (``text.plain``) without punctuation. Three kinds per language:
# nothing answers, the writer cannot answer, the sources lack "the answer".
_DOC_EN = (
    r"(?:documents?|references?|sources?|passages?|texts?|contexts?|excerpts?|materials?|articles?|"
    r"(?:search )?results?|information|knowledge base|snippets?|extracts?|evidence|data)"
)
_ANSWERS: Final = tuple(
    re.compile(pattern)
    for pattern in (
        # English
        rf"\b(?:no|none of the|not one of the|neither)\b(?: \w+){{0,3}} {_DOC_EN}\b(?: \w+){{0,8}} "
        r"(?:answers?|answering|address(?:es)?|respond\w*|question)\b",
        r"\b(?:cannot|can not|could not|unable to|not able to|not possible to|impossible to|"
        r"not in a position to) (?:\w+ ){0,4}(?:answer|respond)\b",
        r"\b(?:i|we) (?:\w+ ){0,2}(?:cannot|can not|could not|did not|do not|unable to|not able to|"
        r"am unable to|are unable to) (?:\w+ ){0,2}(?:find|locate|see|have|identify) (?:\w+ ){0,6}"
        r"(?:answer|information|documents?|references?|sources?|mention|anything|details?)\b",
        r"\b(?:i|we) (?:do not|don t) know\b(?! (?:\w+ ){0,2}(?:exactly|precisely))",
        r"\b(?:question|query)\b(?: \w+){0,6} (?:cannot|can not|could not|is not|not) (?:\w+ ){0,2}"
        r"(?:be )?(?:answered|addressed)\b",
        r"\b(?:no|not enough|insufficient|not sufficient|no sufficient)\b(?: \w+){0,3} "
        r"(?:information|details?|evidence|answers?|data)\b(?: \w+){0,8} (?:answer|question|found|"
        r"available|provided|given|context|documents?|references?|sources?)\b",
        rf"\b{_DOC_EN}\b(?: \w+){{0,5}} (?:(?:do|does|did|is|are|can|could) not|cannot|fails? to)"
        r"(?: \w+){0,3} (?:answer|address)\b(?: \w+){0,3} (?:question|query|it|this|that)\b",
        rf"\b{_DOC_EN}\b(?: \w+){{0,5}} (?:do|does|did) not (?:\w+ ){{0,2}}(?:contain|provide|"
        r"include|have|give|offer|hold|supply)\b(?: \w+){0,5} (?:answer|enough|information|"
        r"sufficient|details?|question)\b",
        r"\banswer\b(?: \w+){0,5} (?:(?:is|was|are|could|can|does|did) not|cannot) (?:\w+ ){0,2}"
        r"(?:found|given|contained|available|present|included|in the|appear)\b",
        # French
        r"\b(?:aucun|aucune|nul)\b(?: \w+){0,4} (?:document|source|reference|passage|extrait|"
        r"texte|information|reponse)s?\b(?: \w+){0,8} (?:repon\w+|question|trouve\w*|permet\w*|"
        r"precis\w*)\b",
        r"\b(?:documents?|sources?|references?|passages?|extraits?|textes?|contexte)\b"
        r"(?: \w+){0,4} (?:ne|n) (?:\w+ ){1,4}(?:repon\w+|permet\w*|contien\w+|donn\w+|fourni\w+)\b"
        r"(?: \w+){0,8} (?:question|reponse|repondre|information|informations)\b",
        r"\b(?:documents?|sources?|references?|passages?|extraits?|textes?|contexte)\b"
        r"(?: \w+){0,4} (?:ne|n) (?:repon\w+|permet\w*|contien\w+|donn\w+|fourni\w+)(?: \w+){0,9} "
        r"(?:question|reponse|repondre|information|informations)\b",
        r"\b(?:je|nous) ne (?:\w+ ){0,3}(?:repondre|trouv\w+|sai[st])\b",
        r"\b(?:il est|est) impossible de repondre\b|\bpas (?:\w+ ){0,3}possible de repondre\b",
        # German
        r"\bkein\w*\b(?: \w+){0,4} (?:dokument\w*|quelle\w*|referenz\w*|text\w*|passage\w*|"
        r"antwort\w*|information\w*|angaben)\b(?: \w+){0,8} (?:beantwort\w*|frage\w*|antwort\w*|"
        r"gefunden|enthalten|vorhanden|dokument\w*)\b",
        r"\b(?:dokument\w*|quelle\w*|text\w*|kontext|referenz\w*|unterlagen)\b(?: \w+){0,6} "
        r"(?:nicht|keine?)\b(?: \w+){0,6} (?:beantwort\w*|antwort\w*|information\w*|frage)\b",
        r"\b(?:dokument\w*|quelle\w*|text\w*|kontext|referenz\w*|unterlagen)\b(?: \w+){0,2} "
        r"(?:beantwort\w*|enthalten|enthalt)\b(?: \w+){0,6} (?:nicht|keine?)\b",
        r"\b(?:ich|wir) (?:kann|konnen|konnte|weiss)\b(?: \w+){0,6} (?:nicht|keine?)\b",
        r"\bfrage\b(?: \w+){0,6} nicht (?:\w+ ){0,2}beantwort\w*\b",
        # Spanish
        r"\bning\w+\b(?: \w+){0,4} (?:documentos?|fuentes?|referencias?|textos?|pasajes?)\b"
        r"(?: \w+){0,6} (?:respond\w*|contest\w*|pregunta)\b",
        r"\b(?:documentos?|fuentes?|referencias?|textos?|contexto)\b(?: \w+){0,4} no (?:\w+ ){0,3}"
        r"(?:respond\w*|contest\w*|contien\w+|proporcion\w+|ofrec\w+|incluy\w+)\b(?: \w+){0,6} "
        r"(?:pregunta|respuesta|informacion|responder)\b",
        r"\bno (?:\w+ ){0,3}(?:puedo|podemos|es posible) (?:\w+ ){0,2}(?:responder|contestar|"
        r"encontrar)\b|\bno (?:he|hemos) encontrado\b|\bno (?:se )?(?:encuentra|encontro|hay) "
        r"(?:\w+ ){0,4}(?:informacion|respuesta)\b",
        # Italian
        r"\bness\w+\b(?: \w+){0,4} (?:documento|fonte|riferimento|testo|passaggio)\b(?: \w+){0,6} "
        r"(?:rispond\w*|domanda)\b",
        r"\b(?:document[oi]|font[ei]|riferiment[oi]|test[oi]|contesto)\b(?: \w+){0,4} non "
        r"(?:\w+ ){0,3}(?:rispond\w*|conten\w+|contien\w+|forni\w+|offr\w+)\b(?: \w+){0,6} "
        r"(?:domanda|risposta|informazioni|rispondere)\b",
        r"\bnon (?:\w+ ){0,3}(?:posso|possiamo|possibile|grado di) (?:\w+ ){0,2}(?:rispondere|"
        r"trovare)\b|\bnon (?:ho|abbiamo) trovato\b",
        # Portuguese
        r"\bnenhum\w*\b(?: \w+){0,4} (?:documentos?|fontes?|referencias?|textos?)\b(?: \w+){0,6} "
        r"(?:respond\w*|pergunta|questao)\b",
        r"\b(?:documentos?|fontes?|referencias?|textos?|contexto)\b(?: \w+){0,4} nao (?:\w+ ){0,3}"
        r"(?:respond\w*|cont\w+|fornec\w+|oferec\w+|inclu\w+)\b(?: \w+){0,6} "
        r"(?:pergunta|questao|resposta|informac\w+|responder)\b",
        r"\bnao (?:\w+ ){0,3}(?:posso|podemos|possivel|consigo) (?:\w+ ){0,2}"
        r"(?:responder|encontrar)\b|\bnao (?:encontrei|encontramos)\b",
        # Dutch
        r"\bgeen\b(?: \w+){0,4} (?:document\w*|bron\w*|tekst\w*|referentie\w*|antwoord|"
        r"informatie)\b(?: \w+){0,8} (?:antwoord\w*|beantwoord\w*|vraag|gevonden|"
        r"documenten|bronnen)\b",
        r"\b(?:document\w*|bron\w*|tekst\w*|context)\b(?: \w+){0,6} (?:niet|geen)\b(?: \w+){0,6} "
        r"(?:antwoord\w*|beantwoord\w*|vraag|informatie)\b",
        r"\b(?:ik|wij|we) (?:kan|kunnen|kon|weet)\b(?: \w+){0,6} (?:niet|geen)\b",
    )
)
# The sources lack something named: a refusal only when that something is what was asked.
_LACKS: Final = tuple(
    re.compile(pattern)
    for pattern in (
        rf"\b{_DOC_EN}\b(?: \w+){{0,5}} (?:do|does|did) not (?:\w+ )?(?:mention|contain|provide|"
        r"include|specify|state|say|tell|explain|describe|discuss|cover|give|indicate|address)\b"
        r"(?P<what>.*)",
        rf"\b(?:no|none of the)\b(?: \w+){{0,3}} {_DOC_EN}\b(?: \w+){{0,4}} (?:mentions?|contains?|"
        r"provides?|specif\w+|states?|says?|tells?|explains?|describes?|discuss\w*|covers?|gives?|"
        r"indicates?|about|on|regarding|concerning)\b(?P<what>.*)",
        rf"(?P<what>.*)\b(?:is|are|was|were) (?:not|never) (?:\w+ )?(?:mentioned|specified|stated|"
        rf"given|explained|described|covered|provided|discussed)\b(?: \w+){{0,4}} {_DOC_EN}\b",
        r"\b(?:documents?|sources?|references?|textes?|contexte|extraits?|passages?)\b"
        r"(?: \w+){0,4} (?:ne|n) (?:\w+ )?(?:mentionn\w+|precis\w+|indiqu\w+|parl\w+|dis\w+|"
        r"expliqu\w+|decri\w+)(?P<what>.*)",
        r"\b(?:dokument\w*|quelle\w*|text\w*|kontext)\b (?:erwahn\w+|nenn\w+|sag\w+|erklar\w+|"
        r"beschreib\w+|enthal\w+)(?P<what>.*)\b(?:nicht|nichts|keine?)\b",
        r"\b(?:documentos?|fuentes?|textos?|contexto|referencias?)\b(?: \w+){0,4} no (?:mencion\w+|"
        r"indic\w+|especific\w+|dic\w+|explic\w+|describ\w+)(?P<what>.*)",
        r"\b(?:document[oi]|font[ei]|test[oi]|contesto)\b(?: \w+){0,4} non (?:menzion\w+|indic\w+|"
        r"specific\w+|dic\w+|spieg\w+|descriv\w+)(?P<what>.*)",
        r"\b(?:documentos?|fontes?|textos?|contexto)\b(?: \w+){0,4} nao (?:mencion\w+|indic\w+|"
        r"especific\w+|diz\w*|explic\w+|descrev\w+)(?P<what>.*)",
        r"\b(?:document\w*|bron\w*|tekst\w*|context)\b (?:vermeld\w*|noem\w*|zeg\w*|beschrijv\w*)"
        r"(?P<what>.*)\b(?:niet|niets|geen)\b",
    )
)
_ADDITION: Final = re.compile(
    r"[,;:.–—]\s*(?:but|however|though|although|yet|nevertheless|still|mais|cependant|toutefois|"
    r"aber|jedoch|allerdings|pero|sin embargo|ma|tuttavia|mas|porem|porém|maar|echter)\b",
    re.IGNORECASE,
)
_COURTESY: Final = word_set(
    "i m am we are very sorry unfortunately apologies apologise apologize my regret afraid je "
    "suis nous sommes desole desoles malheureusement leider es tut mir uns leid lo siento "
    "lamentablemente desafortunadamente mi dispiace purtroppo lamento infelizmente desculpe "
    "helaas het "
    "spijt"
)


@dataclass(frozen=True, slots=True)
class Reading:
    """How an answer opens.

    Attributes:
        refuses: it says that no document answers.
        refusal: number of the sentence that says so, 0 when none does.
        sentences: the answer's sentences, the refusal's own claims taken out of them.
    """

    refuses: bool
    refusal: int
    sentences: tuple[Sentence, ...]


class RefusalReader:
    """Finds refusals.

    Args:
        wordings: refusal sentences of the judged system, in addition to the built-in patterns;
            case, punctuation, accents and small differences do not matter.
    """

    def __init__(self, wordings: Sequence[str] = ()) -> None:
        self._wordings = tuple(filter(None, (_simple(wording) for wording in wordings)))

    def read(self, sentences: tuple[Sentence, ...], *, question: str, code: str) -> Reading:
        """Where the answer refuses, and what it says beyond that."""
        asked = frozenset(token.stem for token in tokens(question, code) if token.content)
        seen = 0
        for sentence in sentences:
            if not set(_simple(sentence.text).split()) - _COURTESY:
                continue
            seen += 1
            if seen > _OPENING:
                break
            head, tail = _divide(sentence.text)
            if self._refuses(head, asked, code, has_addition=bool(tail)):
                rest = _with_claims(sentence, tail)
                changed = tuple(
                    Sentence(s.number, s.text, "lead_in")  # a preface of the refusal
                    if s.number < sentence.number
                    else rest
                    if s is sentence
                    else s
                    for s in sentences
                )
                return Reading(True, sentence.number, changed)
            if sentence.kind == "statement" and not _is_preface(head):
                break
        return Reading(False, 0, sentences)

    def _refuses(self, text: str, asked: frozenset[str], code: str, *, has_addition: bool) -> bool:
        simple = _simple(text)
        if not simple or len(simple) > _LONGEST_TEXT or len(simple.split()) > _LONGEST:
            return False
        if any(_same(wording, simple) for wording in self._wordings):
            return True
        if CITATION.search(text):
            return False
        if any(pattern.search(simple) for pattern in _ANSWERS):
            return True
        if has_addition:  # "The documents do not mention X, but ..." is part of an answer
            return False
        for pattern in _LACKS:
            found = pattern.search(simple)
            if found and _about(found.group("what"), asked, code):
                return True
        return False


def _simple(text: str) -> str:
    words = plain(text[:4000]).replace("can't", "cannot").replace("n't", " not").replace("'", " ")
    return " ".join(re.findall(r"[^\W_]+", words))


def _same(wording: str, simple: str) -> bool:
    if simple.startswith(wording) or fuzz.ratio(wording, simple) >= _SAME_WORDING:
        return True
    return fuzz.ratio(wording, simple[: len(wording)]) >= _SAME_WORDING


def _about(what: str, asked: frozenset[str], code: str) -> bool:
    words = {token.stem for token in tokens(what, code) if token.content}
    generic = re.search(r"\b(?:this|that|it|answer|question|cela|das|eso|questo|isso|dit)\b", what)
    if not words:
        return bool(generic)
    return len(words & asked) >= _ABOUT_THE_QUESTION * len(words)


def _is_preface(text: str) -> bool:
    """Whether an opening sentence says nothing yet, so that the next one may refuse."""
    return len(_simple(text).split()) <= 12 and not CITATION.search(text)


def _divide(text: str) -> tuple[str, str]:
    """A sentence at its "..., but": what may refuse, and what may be added."""
    found = _ADDITION.search(text)
    if found and not set(_simple(text[: found.start()]).split()) - _COURTESY:
        found = _ADDITION.search(text, found.end())  # "I am sorry, but ..." adds nothing
    return (text[: found.start()], text[found.start() :]) if found else (text, "")


def _with_claims(sentence: Sentence, tail: str) -> Sentence:
    """The refusal sentence with only the claims of its addition."""
    addition = _ADDITION.sub("", tail, count=1)
    if not cited_numbers(addition):
        return Sentence(sentence.number, sentence.text, "lead_in")
    claims = tuple(claims_of(addition))
    return Sentence(
        sentence.number, sentence.text, "statement", claims, sentence.line, sentence.is_item
    )
