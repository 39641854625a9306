"""Proper names: which there are, and whether a text knows them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from rapidfuzz import fuzz

from grouse_adapters.lexical.facts import is_calendar_name
from grouse_adapters.lexical.languages import LANGUAGES, word_set
from grouse_adapters.lexical.text import Token
from grouse_adapters.lexical.units import is_unit

TITLES: Final = word_set(
    "mr mrs ms miss dr prof sir dame lady lord king queen duke duchess prince princess count baron "
    "bishop pope saint st father brother sister captain colonel general president mayor judge "
    "justice madame monsieur mademoiselle mme mlle docteur maitre roi reine duc comte eveque abbe "
    "pere frere soeur herr frau"
)
_SAME_NAME: Final = 82.0  # of 100: spelling variants and endings of a name


def proper_names(text: str, words: Sequence[Token], code: str) -> tuple[tuple[Token, ...], ...]:
    """Runs of capitalised words that do not open a sentence, e.g. ("Marie", "Curie").

    In German every noun has a capital, so only words with a capital inside count there.
    """
    language = LANGUAGES.get(code)
    capital_nouns = bool(language and language.capital_nouns)
    runs: list[list[Token]] = []
    previous_end = -2
    for index, token in enumerate(words):
        inner_capital = any(char.isupper() for char in token.text[1:])
        starts = index == 0 or re.search(
            r"[.!?:;\n\"“”«»(*•|…–—]", text[words[index - 1].end : token.start]
        )
        is_name = (
            token.text[:1].isupper()
            and len(token.text) > 1
            and not is_calendar_name(token.plain)
            and (inner_capital or (not capital_nouns and not starts))
            and (token.content or inner_capital)
            and not is_unit(token.plain)
            and token.plain not in TITLES
        )
        if not is_name:
            continue
        gap = text[previous_end : token.start] if previous_end >= 0 else ""
        if runs and previous_end >= 0 and gap.strip("-") in ("", " ") and gap:
            runs[-1].append(token)
        else:
            runs.append([token])
        previous_end = token.end
    return tuple(tuple(run) for run in runs)


def is_known(word: Token, known: set[str]) -> bool:
    """Whether a word of a name stands among the known words, in this or another form."""
    if word.plain in known:
        return True
    if any(char.isupper() for char in word.text[1:]):  # acronyms have no endings
        return word.plain.rstrip("s") in known or f"{word.plain}s" in known
    start = word.plain[:4]
    return any(
        (other.startswith(start) and fuzz.ratio(other, word.plain) >= _SAME_NAME)
        or (len(word.plain) >= 5 and other.startswith(word.plain[:5]))
        for other in known
    )  # fmt: skip


def is_initialism(run: Sequence[Token], known: set[str]) -> bool:
    """Whether the name is the letters of words that stand there, or those words of its letters."""
    if len(run) == 1:
        letters = run[0].plain
        starts = {word[:1] for word in known}
        is_acronym = run[0].text.isupper() and 2 <= len(letters) <= 6
        return is_acronym and set(letters) <= starts and len(set(letters)) > 1
    return "".join(word.plain[:1] for word in run) in known
