"""Words: plain form, language, stems; the smallest pieces the lexical judge compares."""

from __future__ import annotations

import re
import threading
import unicodedata
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import snowballstemmer  # type: ignore[import-untyped]  # ships no types

from grouse_adapters.lexical.languages import LANGUAGES, Language, word_pairs

_WORD: Final = re.compile(r"\d+(?:[.,:]\d+)*|[^\W_]+(?:['’ʼ][^\W_]+)?")
_UNSPACED: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\u0e00-\u0e7f]")
_LANGUAGE_SAMPLE: Final = 6000  # characters; more does not change the decision
_ENOUGH_WORDS: Final = 20
_KNOWN_SHARE: Final = 0.1  # running text of a known language has 0.4 or more
_LONGEST_WORD: Final = 40
_CONTRACTIONS: Final = frozenset({"s", "t", "re", "ve", "ll", "d", "m"})
_SPECIAL: Final = str.maketrans({"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "’": "'"})

_IRREGULAR: Final = word_pairs(
    "ate>eat began>begin begun>begin bore>bear born>bear bought>buy broke>break broken>break "
    "brought>bring built>build came>come caught>catch chose>choose chosen>choose cost>cost "
    "drawn>draw drew>draw driven>drive drove>drive eaten>eat fallen>fall fed>feed fell>fall "
    "felt>feel flew>fly flown>fly fought>fight found>find froze>freeze frozen>freeze "
    "grew>grow grown>grow held>hold kept>keep knew>know known>know laid>lay led>lead "
    "left>leave lent>lend lost>lose met>meet paid>pay ran>run rang>ring rose>rise "
    "risen>rise sang>sing sank>sink sent>send shook>shake shot>shoot shown>show slept>sleep "
    "sold>sell sought>seek spent>spend spoke>speak spoken>speak sprang>spring stood>stand "
    "stolen>steal struck>strike stuck>stick sung>sing swam>swim swept>sweep swore>swear "
    "taught>teach thought>think threw>throw thrown>throw told>tell torn>tear "
    "understood>understand withdrew>withdraw won>win wore>wear worn>wear written>write "
    "wrote>write children>child feet>foot men>man mice>mouse teeth>tooth women>woman "
    "colour>color odour>odor favour>favor harbour>harbor labour>labor metre>meter "
    "litre>liter centre>center fibre>fiber theatre>theater metres>meter litres>liter "
    "centres>center fibres>fiber grey>gray tyre>tire tonne>ton"
)

_stemmer_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class Token:
    """One word: as written, in plain form, as a stem, and where it stands in its text."""

    text: str
    plain: str
    stem: str
    start: int
    end: int
    content: bool


def plain(text: str) -> str:
    """``text`` in lower case, without accents, with straight apostrophes."""
    if text.isascii():
        return text.lower()
    decomposed = unicodedata.normalize("NFKD", text.casefold().translate(_SPECIAL))
    return "".join(char for char in decomposed if not unicodedata.combining(char))


def detect_language(*texts: str) -> str:
    """The code in ``LANGUAGES`` whose function words are most frequent.

    Short texts without any are taken for English; longer ones for a language without lists ("").
    """
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(_WORD.findall(plain(text[:_LANGUAGE_SAMPLE]).replace("'", " ")))
    scores = {
        code: sum(counts[word] for word in language.function_words)
        for code, language in LANGUAGES.items()
    }
    best = max(scores, key=lambda code: scores[code])
    words = counts.total()
    if words >= _ENOUGH_WORDS and scores[best] < _KNOWN_SHARE * words:
        return ""
    return best if scores[best] > scores["en"] else "en"


@lru_cache(maxsize=65536)
def stem(word: str, code: str) -> str:
    """The stem of a word in plain form; words of unknown languages and numbers as they are."""
    if word[:1].isdigit() or len(word) > _LONGEST_WORD:
        return word
    if code == "en":
        word = _IRREGULAR.get(word, word)
    language = LANGUAGES.get(code)
    if language is None:
        return word
    with _stemmer_lock:  # a Snowball stemmer keeps the word it works on in itself
        result: str = _stemmer(language.stemmer).stemWord(word)
    if code == "en":  # British and American spelling
        result = re.sub(r"(?<=\w{3})is(?=$|e$|ation$)", "iz", result)
        result = re.sub(r"(?<=\w{2})our$", "or", result)
    if code == "fr" and len(result) > 4:  # without its accent "formée" keeps an e
        result = result.rstrip("e")
    # Derivation that stemmers leave alone (forager, foraging) shows after the seventh letter.
    return result[:7]


@lru_cache(maxsize=16)
def _stemmer(algorithm: str) -> snowballstemmer.stemmer:
    return snowballstemmer.stemmer(algorithm)


def tokens(text: str, code: str) -> Iterator[Token]:
    """The words of ``text`` in order; scripts without spaces come as pairs of characters."""
    language = LANGUAGES.get(code)
    for match in _WORD.finditer(text):
        for word, start in _pieces(match.group(), match.start()):
            yield _token(word, start, code, language)


def _token(word: str, start: int, code: str, language: Language | None) -> Token:
    simple = plain(word)
    is_number = simple[:1].isdigit()
    content = (
        not is_number
        and (len(simple) > 1 or not simple.isascii())
        and not (language and (simple in language.function_words or simple in language.negations))
    )
    return Token(word, simple, stem(simple, code), start, start + len(word), content)


def _pieces(word: str, start: int) -> Iterator[tuple[str, int]]:
    if _UNSPACED.search(word):
        for index in range(max(1, len(word) - 1)):
            yield word[index : index + 2], start + index
        return
    for mark in "'’ʼ":
        left, found, right = word.partition(mark)
        if not found:
            continue
        if right.lower() == "t" and left[-1:].lower() == "n":
            yield left if left.lower() == "can" else left[:-1] or left, start
            yield "not", start + len(left) - 1
        elif right.lower() in _CONTRACTIONS:
            yield left, start
        else:
            yield left, start
            yield right, start + len(left) + 1
        return
    yield word, start
