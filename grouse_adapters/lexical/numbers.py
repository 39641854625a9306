"""Numbers as people write them: digits, words, fractions, ordinals, times of day."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal

from grouse_adapters.lexical.languages import LANGUAGES, word_set, word_values
from grouse_adapters.lexical.text import Token
from grouse_adapters.lexical.units import UNITS

NumberKind = Literal["count", "share", "times", "clock"]
"""``share``: in percent; ``times``: a multiple; ``clock``: hours, minutes as hundredths."""

_EMPTY: Final[Mapping[str, float]] = MappingProxyType({})
_SUFFIX: Final = {"k": 1e3, "bn": 1e9}
_ORDINAL_MARK: Final = word_set("st nd rd th er re e eme ieme ste de ter")
_HALVES: Final = word_set(
    "half halves demi demie demis halbe halben halber halb medio mezz media meia mezza mezzo meio "
    "halve moitie halfte mitad meta metade helft"
)
_PARTS: Final[Mapping[str, Mapping[str, float]]] = {
    # "quarter" is always a part, "third" only as "thirds", "a third of" or "two thirds".
    "en": word_values(
        "third=3 thirds=3 quarter=4 quarters=4 fifth=5 fifths=5 sixth=6 sixths=6 seventh=7 "
        "sevenths=7 eighth=8 eighths=8 ninth=9 ninths=9 tenth=10 tenths=10 twentieth=20 "
        "hundredth=100"
    ),
    "fr": word_values(
        "tiers=3 quart=4 quarts=4 cinquieme=5 cinquiemes=5 sixieme=6 sixiemes=6 septieme=7 "
        "septiemes=7 huitieme=8 huitiemes=8 neuvieme=9 neuviemes=9 dixieme=10 dixiemes=10 "
        "centieme=100"
    ),
    "de": word_values("drittel=3 viertel=4 funftel=5 sechstel=6 achtel=8 zehntel=10"),
    "es": word_values("tercio=3 tercios=3 cuarto=4 cuartos=4 quinto=5 quintos=5 decima=10"),
    "it": word_values("terzo=3 terzi=3 quarto=4 quarti=4 quinto=5 quinti=5 decimo=10"),
    "pt": word_values("terco=3 tercos=3 quarto=4 quartos=4 quinto=5 quintos=5 decimo=10"),
    "nl": word_values("derde=3 kwart=4 vijfde=5 zesde=6 achtste=8 tiende=10"),
}
_ALWAYS_PARTS: Final = word_set(
    "thirds quarter quarters fifths sixths sevenths eighths ninths tenths tiers quart quarts "
    "drittel viertel funftel sechstel achtel zehntel tercio tercios terzi kwart tercos"
)
_PLURAL_PARTS: Final = word_set(
    "thirds quarters fifths sixths sevenths eighths ninths tenths quarts tercios terzi tercos"
)  # without a number before them they count nothing: "winter quarters"
_ORDINALS: Final[Mapping[str, Mapping[str, float]]] = {
    "en": word_values(
        "third=3 fourth=4 fifth=5 sixth=6 seventh=7 eighth=8 ninth=9 tenth=10 eleventh=11 "
        "twelfth=12 thirteenth=13 fourteenth=14 fifteenth=15 sixteenth=16 seventeenth=17 "
        "eighteenth=18 nineteenth=19 twentieth=20 thirtieth=30 fortieth=40 fiftieth=50 "
        "sixtieth=60 hundredth=100"
    ),
    "fr": word_values(
        "troisieme=3 quatrieme=4 cinquieme=5 sixieme=6 septieme=7 huitieme=8 neuvieme=9 "
        "dixieme=10 onzieme=11 douzieme=12 treizieme=13 quatorzieme=14 quinzieme=15 seizieme=16 "
        "vingtieme=20 trentieme=30 centieme=100"
    ),
    "de": word_values(
        "dritte=3 dritten=3 vierte=4 vierten=4 funfte=5 funften=5 sechste=6 sechsten=6 siebte=7 "
        "siebten=7 achte=8 achten=8 neunte=9 neunten=9 zehnte=10 zehnten=10 zwolfte=12 zwolften=12"
    ),
}
_FIRST: Final = word_values("first=1 second=2 unieme=1")
_MULTIPLES: Final = word_values(
    "twice=2 double=2 doubles=2 doubled=2 thrice=3 triple=3 tripled=3 treble=3 twofold=2 "
    "threefold=3 fourfold=4 fivefold=5 tenfold=10 quadruple=4 doppelt=2 dreifach=3 vierfach=4 "
    "doble=2 doppio=2 dobro=2 dubbel=2 quintuple=5"
)
TIMES: Final = word_set("times fold fois mal veces volte vezes keer fach")
_EVERY: Final = word_set("every each chaque jede jeder jedes cada ogni elke tous")
_IN: Final = word_set("in sur auf von de su em op")
_OF: Final = word_set("of de des du d der den di da do dos van")
_ONE: Final = word_set("a an one un une ein eine einem einer una uno um uma een")
_AND: Final = {"en": "and", "fr": "et", "de": "und", "es": "y", "it": "e", "pt": "e", "nl": "en"}
_NOON: Final = word_values("noon=12 midday=12 midi=12 mittag=12 mediodia=12 mezzogiorno=12")
_AFTERNOON: Final = re.compile(
    r"\s*p\.?\s?m\b|\s(?:in the (?:afternoon|evening)|at night|de l[’']apr[eè]s-midi|du soir)",
    re.IGNORECASE,
)
_CLOCK: Final = re.compile(r"\s*(?:a\.?\s?m\b|p\.?\s?m\b|o[’']clock|heures\b|Uhr\b)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Number:
    """A number in a text.

    Attributes:
        value: as ``NumberKind`` says.
        after: index of the word after it.
        kind: what it is.
        ordinal: it names a place in a row.
    """

    value: float
    after: int
    kind: NumberKind = "count"
    ordinal: bool = False


def number_at(text: str, words: Sequence[Token], index: int, code: str) -> Number | None:
    """The number that starts with the word ``index``, if any."""
    code = code if code in LANGUAGES else "en"
    word = words[index].plain
    if word in _MULTIPLES:
        return Number(_MULTIPLES[word], index + 1, "times")
    if word in _NOON:
        return Number(_NOON[word], index + 1, "clock")
    if word in _EVERY:
        return _every(words, index, code)
    if word in _HALVES:
        return _half(text, words, index, code)
    part = _part(words, index, 1.0, code)
    if part and word in _ALWAYS_PARTS and word not in _PLURAL_PARTS:
        return part
    ordinals = _ORDINALS.get(code, _EMPTY)
    if word in ordinals:
        return Number(ordinals[word], index + 1, ordinal=True)
    if word in _ONE and index + 1 < len(words) and (word != "a" or code == "en"):
        joined = _article(text, words, index, code)
        if joined:
            return joined
    cardinal = _cardinal(words, index, code)
    return _extended(text, words, cardinal, code) if cardinal else None


def _article(text: str, words: Sequence[Token], index: int, code: str) -> Number | None:
    """ "a third of", "one in four", "one pane in four", "a dozen", "a hundred"."""
    following = words[index + 1].plain
    if following in _HALVES and following != "half":
        return None
    part = _part(words, index + 1, 1.0, code)
    # "by a fifth", "a third of it", but "a third jar".
    counts = index + 2 < len(words) and words[index + 2].content
    if part and (following in _ALWAYS_PARTS or not counts):
        return part
    share = _one_in(words, index, 1.0, index + 1, code)
    if share:
        return share
    language = LANGUAGES[code]
    if following in language.scales or language.numbers.get(following, 0) >= 10:
        cardinal = _cardinal(words, index + 1, code)
        return _extended(text, words, cardinal, code) if cardinal else None
    return None


def _every(words: Sequence[Token], index: int, code: str) -> Number | None:
    """ "every fourth": one in four."""
    if index + 1 >= len(words):
        return None
    following = words[index + 1].plain
    if following == "other" or following == "second":
        return Number(50.0, index + 2, "share")
    value = _ORDINALS.get(code, _EMPTY).get(following)
    if value is None and index + 2 < len(words) and words[index + 2].plain in _ORDINAL_MARK:
        digits = _digits(following)
        return Number(100.0 / digits, index + 3, "share") if digits else None
    return Number(100.0 / value, index + 2, "share") if value else None


def _half(text: str, words: Sequence[Token], index: int, code: str) -> Number | None:
    following = words[index + 1].plain if index + 1 < len(words) else ""
    if text[words[index].end :].startswith("-") and following not in UNITS:
        return None  # "half-light"
    if following == "past" and index + 2 < len(words):
        hour = _cardinal(words, index + 2, code)
        return _clock(text, words, hour.value + 0.30, hour.after) if hour else None
    if following in _ONE and index + 2 < len(words) and words[index + 2].plain == "dozen":
        return Number(6.0, index + 3)
    return Number(0.5, index + 1)


def _part(words: Sequence[Token], index: int, count: float, code: str) -> Number | None:
    if index >= len(words):
        return None
    size = _PARTS.get(code, _EMPTY).get(words[index].plain)
    if not size:
        return None
    return Number(100.0 * count / size, index + 1, "share")


def _one_in(
    words: Sequence[Token], index: int, count: float, after: int, code: str
) -> Number | None:
    """ "one in four", "one pane in four", "3 out of 10", "une vitre sur quatre"."""
    for place in range(after, min(after + 2, len(words) - 1)):
        if words[place].plain not in _IN or words[place].plain == "de":
            continue
        whole = _cardinal(words, place + 1, code)
        # "two in 1950" names a year, and of a share the whole is larger.
        if whole and count < whole.value <= 1000:
            return Number(100.0 * count / whole.value, whole.after, "share")
        return None
    return None


def _extended(text: str, words: Sequence[Token], number: Number, code: str) -> Number:
    """A counted number with what makes it a fraction, a multiple, an ordinal or an hour."""
    after = number.after
    if after >= len(words):
        return _clock(text, words, number.value, after) if _is_clock(text, words, after) else number
    following = words[after].plain
    joined = words[after].start == words[after - 1].end
    if joined and following in _ORDINAL_MARK:
        return Number(number.value, after + 1, ordinal=True)
    units = _ORDINALS.get(code, _EMPTY).get(following, _FIRST.get(following, 0.0))
    if 20 <= number.value < 100 and number.value % 10 == 0 and 0 < units < 10:
        return Number(number.value + units, after + 1, ordinal=True)  # "thirty-first"
    part = _part(words, after, number.value, code)
    if part and (number.value > 1 or following in _ALWAYS_PARTS):
        return part
    if following in TIMES and not joined:
        return Number(number.value, after + 1, "times")
    if following == "score" and number.value < 10:
        return Number(number.value * 20, after + 1)
    share = _one_in(words, after, number.value, after, code)
    if share:
        return share
    if _is_clock(text, words, after):
        return _clock(text, words, number.value, after)
    return number


def _is_clock(text: str, words: Sequence[Token], after: int) -> bool:
    return bool(_CLOCK.match(text, words[after - 1].end))


def _clock(text: str, words: Sequence[Token], value: float, after: int) -> Number:
    end = words[after - 1].end
    if _AFTERNOON.match(text, end) and value < 12:
        value += 12
    stop = _CLOCK.match(text, end)
    while stop and after < len(words) and words[after].start < stop.end():
        after += 1
    return Number(round(value, 2), after, "clock")


def _cardinal(words: Sequence[Token], index: int, code: str) -> Number | None:
    language = LANGUAGES[code]
    word = words[index]
    if word.plain[:1].isdigit():
        value = _digits(word.plain)
        if value is None:
            return None
        after = index + 1
        while after < len(words) and _is_group(words, after):
            value = value * 1000 + int(words[after].plain)
            after += 1
        if after < len(words) and words[after].start == word.end:
            value *= _SUFFIX.get(words[after].plain, 1.0)
        while after < len(words) and words[after].plain in language.scales:
            value *= language.scales[words[after].plain]
            after += 1
        return Number(value, after)
    total = current = 0.0
    place = index
    while place < len(words):
        if place > index and _joins(words, place, current, code):
            place += 1
        plain = words[place].plain
        value = language.numbers.get(plain)
        if value is None and plain in ("un", "une") and current >= 20:
            value = 1.0
        scale = language.scales.get(plain)
        if scale is not None and scale >= 1000:
            total, current = total + max(current, 1.0) * scale, 0.0
        elif scale is not None:
            current = max(current, 1.0) * scale
        elif plain == "dozen" and 0 < current <= 20:
            current *= 12
        elif value == 20 and current == 4 and code == "fr":
            current = 80.0  # quatre-vingts
        elif value is not None and (place == index or _adds(current, value, code)):
            current += value
        elif value is not None and total and not current:
            current = value  # "two thousand five"
        else:
            break
        place += 1
    if place == index:
        return None
    return Number(total + current, place)


def _adds(current: float, value: float, code: str) -> bool:
    """Whether a number word goes on the number so far: "twenty" + "five", not "two" + "three"."""
    tens = current % 100
    if not tens:
        return current >= 100 and value < 100
    if tens == 10:
        return code == "fr" and 7 <= value <= 9  # dix-sept
    if tens < 20 or tens % 10:
        return False
    return value < 10 or (code == "fr" and tens in (60, 80) and value < 20)  # soixante-quinze


def _joins(words: Sequence[Token], place: int, current: float, code: str) -> bool:
    """ "a hundred and five", "vingt et un"."""
    if place + 1 >= len(words) or words[place].plain != _AND[code]:
        return False
    following = words[place + 1].plain
    if code == "fr":
        return current >= 20 and current % 10 == 0 and following in ("un", "une", "onze")
    room = current >= 100 and current % 100 == 0
    return code == "en" and room and LANGUAGES[code].numbers.get(following, 100.0) < 100


def _is_group(words: Sequence[Token], index: int) -> bool:
    """Whether the word goes on a number in groups of three: "545 000"."""
    before, word = words[index - 1], words[index]
    return (
        word.start - before.end == 1
        and re.fullmatch(r"\d{3}", word.plain) is not None
        and re.fullmatch(r"[1-9]\d{0,2}|\d{3}", before.plain) is not None
    )


def _digits(word: str) -> float | None:
    if not re.fullmatch(r"[0-9]+(?:[.,:][0-9]+)*", word):  # "²a" in plain form
        return None
    if re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", word):
        word = word.replace(",", "")
    elif re.fullmatch(r"\d{1,3}(?:\.\d{3})+(?:,\d+)?", word):
        word = word.replace(".", "").replace(",", ".")
    if ":" in word and not re.fullmatch(r"\d{1,2}:\d{2}(?::\d{2})?", word):
        return None  # a score, a scale
    word = word.replace(",", ".").replace(":", ".")
    head, dot, tail = word.partition(".")
    return float(head[:300] + dot + tail.replace(".", "")[:20])


def _follows(words: Sequence[Token], index: int, wanted: frozenset[str]) -> bool:
    return index < len(words) and words[index].plain in wanted
