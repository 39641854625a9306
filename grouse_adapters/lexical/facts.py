"""Facts that can be compared exactly: quantities, calendar words and proper names."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from types import MappingProxyType
from typing import Final

from grouse_adapters.lexical.bounds import bound_of
from grouse_adapters.lexical.languages import LANGUAGES, word_set
from grouse_adapters.lexical.numbers import TIMES, Number, number_at
from grouse_adapters.lexical.text import Token, plain
from grouse_adapters.lexical.units import UNITS

_EXACT: Final = 1e-6
_HEDGED: Final = 0.08  # "about 5" may stand for 4.6 or 5.4
_CONVERTED: Final = 0.02  # "14 days" for "two weeks"; leaves room for rounding
_DAY: Final = 86400.0
_YEAR: Final = 31557600.0  # seconds
_FRACTIONS: Final = frozenset({25.0, 50.0, 75.0, 100 / 3, 200 / 3, 20.0, 10.0})
_MOST_NUMBERS: Final = 60  # that others may follow from
_FEW_NUMBERS: Final = 8  # that sums are tried with: of many, any number is a sum
_SMALL_COUNT: Final = 12  # "these three cues" counts for the reader, it need not be written there

_UNIT_AFTER: Final = re.compile(
    r"[\s\u00a0\u202f-]{0,2}(m/s|km/h|µm|°\s?[cf]|[%$€£°]|[^\W\d_]+)", re.IGNORECASE
)
_PER_CENT: Final = re.compile(
    r"\s(?:per\s+cent|pour\s+cent|por\s+ciento|per\s+cento|por\s+cento)\b"
)
_AND_A_HALF: Final = re.compile(
    r"\s(?:and\s+a\s+half|et\s+demie?|y\s+medi[ao]|e\s+mezz[ao]|e\s+mei[ao]|en\s+een\s+half)\b",
    re.IGNORECASE,
)
_OF: Final = word_set("of de d du")
_ARTICLES: Final = word_set("a an une un ein eine una uno um uma een") | _OF

_CALENDAR: Final[tuple[Mapping[str, int], ...]] = tuple(
    MappingProxyType(
        {name: index for names in rows for index, name in enumerate(names.split(), start=1)}
    )
    for rows in (
        (
            "january february march april may june july august september october november december",
            "janvier fevrier mars avril mai juin juillet aout septembre octobre novembre decembre",
            "januar februar marz april mai juni juli august september oktober november dezember",
            "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre "
            "diciembre",
            "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre "
            "dicembre",
            "janeiro fevereiro marco abril maio junho julho agosto setembro outubro novembro "
            "dezembro",
            "januari februari maart april mei juni juli augustus september oktober november "
            "december",
            "jan feb mar apr may jun jul aug sep oct nov dec",
        ),
        (
            "monday tuesday wednesday thursday friday saturday sunday",
            "lundi mardi mercredi jeudi vendredi samedi dimanche",
            "montag dienstag mittwoch donnerstag freitag samstag sonntag",
            "lunes martes miercoles jueves viernes sabado domingo",
            "lunedi martedi mercoledi giovedi venerdi sabato domenica",
            "maandag dinsdag woensdag donderdag vrijdag zaterdag zondag",
            "mondays tuesdays wednesdays thursdays fridays saturdays sundays",
        ),
    )
)
_NEXT: Final = word_set(
    "next following previous after before later earlier eve suivant suivante precedent precedente "
    "lendemain veille apres avant folgenden danach vor nach"
)  # "the next month" names another one
_ALSO_WORDS: Final = frozenset({"may", "march", "mars", "mar", "sep", "mai", "mei", "jan", "dec"})


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number with its unit, in base units (seconds, metres, kilograms, ...).

    Attributes:
        value: in the base unit of ``dimension``; as written when there is none.
        dimension: ``time``, ``length``, ``share``, ``times``, ...; empty for a bare number.
        shown: as written, for messages.
        bare: the number before conversion.
        noun: stem of what a bare number counts, empty when unknown.
        hedged: "about", "nearly" and the like stand before it.
        implied: "an hour": supports a statement, but need not be supported.
        unit: the unit as written, empty for a bare number.
        reach: characters of the unit after the number.
        ordinal: it names a place in a row: "the sixth year".
        start: its first character in the text.
        bound: 1 for "at least" and "more than", -1 for "at most" and "less than", else 0.
    """

    value: float
    dimension: str
    shown: str
    bare: float
    noun: str
    hedged: bool
    implied: bool = False
    unit: str = ""
    reach: int = 0
    ordinal: bool = False
    start: int = 0
    bound: int = 0


def quantities(text: str, words: Sequence[Token], code: str) -> tuple[Quantity, ...]:
    """All quantities in ``text``, whose words are ``words``."""
    language = LANGUAGES.get(code) or LANGUAGES["en"]
    found: list[tuple[Quantity, int, int]] = []
    index = 0
    while index < len(words):
        opens = words[index].start
        number = number_at(text, words, index, code)
        implied = False
        if number is None or _is_pronoun(words, index, number):
            if words[index].plain not in _ARTICLES or words[index].plain in _OF:
                index += 1
                continue
            number, implied = Number(1.0, index + 1), True
        quantity = _quantity(text, words, index, number, language.hedges, implied)
        after = number.after
        index = max(after, index + 1)
        if quantity is not None:
            start = words[after - 1].end
            found.append((quantity, opens, start + quantity.reach))
            while index < len(words) and words[index].end <= start + quantity.reach:
                index += 1  # "half an hour" is one quantity, not two
    return _joined(text, found)


def _joined(text: str, found: Sequence[tuple[Quantity, int, int]]) -> tuple[Quantity, ...]:
    """The quantities, with durations in two units as one: "a minute and thirty seconds"."""
    joined: list[Quantity] = []
    end = -1
    for quantity, start, stop in found:
        before = joined[-1] if joined else None
        if (
            before is not None
            and before.dimension == quantity.dimension == "time"
            and before.bare
            and quantity.value < before.value / before.bare
            and text[end:start].strip() in ("", "and", "et", "und", "y", "e", "en", ",")
        ):
            shown = f"{before.shown} {quantity.shown}"
            value = before.value + quantity.value
            joined[-1] = replace(before, value=value, bare=value, shown=shown, implied=False)
        else:
            joined.append(quantity)
        end = stop
    return tuple(joined)


def _is_pronoun(words: Sequence[Token], index: int, number: Number) -> bool:
    """Whether "one" counts nothing: "the one that", "one document reports"."""
    if words[index].plain != "one" or number.after != index + 1 or number.kind != "count":
        return False
    following = words[index + 1 : index + 4]
    if [word.plain for word in following] == ["and", "a", "half"]:
        return False
    return not following or following[0].plain not in UNITS


def _quantity(
    text: str,
    words: Sequence[Token],
    index: int,
    number: Number,
    hedges: frozenset[str],
    implied: bool,
) -> Quantity | None:
    first, last, after = words[index], words[number.after - 1], number.after
    value, end = number.value, last.end
    is_part = value == 0.5 or number.kind == "share"
    if is_part and after < len(words):
        link = after + (words[after].plain in _OF and after + 1 < len(words))
        if words[link].plain in _ARTICLES and words[link].plain not in _OF:
            end = words[link].end  # "half an hour", "three quarters of an hour"
    half = _AND_A_HALF.match(text, end)  # "two and a half hours"
    dimension, factor, stop = "", 1.0, end
    if number.kind in ("count", "share") and not number.ordinal:
        dimension, factor, stop = _unit(text, half.end() if half else end, attached=not implied)
    if not half and dimension:
        half = _AND_A_HALF.match(text, stop)  # "an hour and a half"
        stop = half.end() if half else stop
    if half:
        value, implied = value + 0.5, False
    later = next((w.plain for w in words[after : after + 4] if w.start >= stop), "")
    if half and not dimension and later in TIMES:
        return Quantity(value, "times", " ".join(text[first.start : stop].split()), value, "",
                        False, reach=stop - last.end, start=first.start)  # fmt: skip
    if number.kind == "share" and dimension and dimension != "share":
        value /= 100
    elif number.kind == "share" or (value == 0.5 and not dimension and first.plain != "0.5"):
        value, dimension, stop = (value if number.kind == "share" else 50.0), "share", last.end
    elif number.kind != "count":
        dimension = number.kind
    before = text[max(0, first.start - 2) : first.start].strip()[-1:]
    if before in "$€£" and before:
        dimension, factor, stop = UNITS[before][0], 1.0, end
    if implied and dimension != "time":
        return None
    noun = ""
    if not dimension:
        following = words[after : after + 2]
        noun = next((word.stem for word in following if word.content), "")
    is_fahrenheit = dimension == "fahrenheit"
    return Quantity(
        value=(value - 32) * 5 / 9 if is_fahrenheit else value * factor,
        dimension="temperature" if is_fahrenheit else dimension,
        shown=" ".join(text[first.start : max(stop, last.end)].split()),
        bare=value,
        noun=noun,
        hedged=any(word.plain in hedges for word in words[max(0, index - 2) : index]),
        implied=implied,
        reach=stop - last.end if dimension or half else 0,
        unit=" ".join(plain(text[end:stop]).replace("-", " ").split()),
        ordinal=number.ordinal,
        start=first.start,
        bound=bound_of(text, words, index, max(stop, last.end)),
    )


def _unit(text: str, end: int, *, attached: bool) -> tuple[str, float, int]:
    percent = _PER_CENT.match(text, end)
    if percent:
        return "share", 1.0, percent.end()
    match = _UNIT_AFTER.match(text, end)
    if not match:
        return "", 1.0, end
    spelling = plain(match.group(1)).replace(" ", "")
    is_joined = match.start(1) == end
    if is_joined and spelling == "s":  # "the 1970s"
        return "", 1.0, match.end()
    if spelling in ("a", "an") or spelling not in UNITS:
        return "", 1.0, end
    if len(spelling) == 1 and spelling.isalpha() and not attached:
        return "", 1.0, end
    dimension, factor = UNITS[spelling]
    return dimension, factor, match.end()


def is_supported(claim: Quantity, evidence: Sequence[Quantity]) -> bool:
    """Whether the evidence states the claim's number, in the same or another unit."""
    return any(_same(claim, quantity) for quantity in evidence)


def _same(claim: Quantity, quantity: Quantity) -> bool:
    tolerance = _HEDGED if claim.hedged or quantity.hedged else _EXACT
    if _is_next_limit(claim, quantity):
        return True
    if claim.dimension and quantity.dimension:
        if {claim.dimension, quantity.dimension} == {"clock", "time"}:
            return _close(claim.bare % 12, quantity.bare % 12, _EXACT)  # "22 h", "dix heures"
        if claim.dimension != quantity.dimension:
            mine, theirs = _readings(claim), _readings(quantity)
            return any(_close(one, other, tolerance) for one in mine for other in theirs)
        if claim.unit != quantity.unit:
            tolerance = max(tolerance, _CONVERTED)
        if claim.dimension == "clock" and _close(abs(claim.value - quantity.value), 12, _EXACT):
            return True  # "half past five" may be 17.30
        return _close(claim.value, quantity.value, tolerance)
    if _close(claim.bare, quantity.bare, tolerance):
        return True
    clock = "clock" in (claim.dimension, quantity.dimension)
    return clock and _close(abs(claim.bare - quantity.bare), 12, _EXACT)


def _is_next_limit(claim: Quantity, quantity: Quantity) -> bool:
    """Whether both limit a count alike: "four or more" is "more than three"."""
    if claim.dimension or quantity.dimension or not (claim.bound or quantity.bound):
        return False
    alike = claim.bound == quantity.bound or not (claim.bound and quantity.bound)
    return alike and abs(claim.bare - quantity.bare) == 1 and claim.bare % 1 == 0


def _readings(quantity: Quantity) -> tuple[float, ...]:
    """A share or multiple as a multiple: "a quarter more", "150 %" and "one and a half times"."""
    if quantity.dimension == "share":
        return quantity.value / 100, 1 + quantity.value / 100
    return (quantity.value,) if quantity.dimension == "times" else ()


def _close(left: float, right: float, tolerance: float) -> bool:
    return abs(left - right) <= tolerance * max(abs(left), abs(right)) + 1e-12


def wrong_quantity(
    claims: Sequence[Quantity], evidence: Sequence[Quantity], context: Sequence[Quantity] = ()
) -> tuple[Quantity, Quantity | None] | None:
    """The first quantity that the evidence does not state, and what it states instead.

    A small bare count ("these three cues") only counts against the claim when the evidence counts
    the same noun differently; every other number must stand there, or follow from numbers of the
    evidence and the context: "seven years later", "three times as much".
    """
    for claim in claims:
        if claim.implied or is_supported(claim, evidence):
            continue
        instead = [q for q in evidence if claim.noun and q.noun == claim.noun and not q.ordinal]
        if not claim.dimension and claim.bare <= _SMALL_COUNT and claim.bare == int(claim.bare):
            if instead and not claim.ordinal and abs(instead[0].bare - claim.bare) > 1:
                return claim, instead[0]
            continue
        if _follows(claim, evidence, context):
            continue
        if claim.dimension:
            instead = [q for q in evidence if q.dimension == claim.dimension]
        return claim, instead[0] if instead else None
    return None


def _follows(claim: Quantity, evidence: Sequence[Quantity], context: Sequence[Quantity]) -> bool:
    """Whether a year, a number of years, a multiple or a share follows from other numbers."""
    every = [*evidence, *context][:_MOST_NUMBERS]
    years = {q.bare for q in every if is_year(q)}
    if claim.ordinal and any((year - 1) // 100 + 1 == claim.bare for year in years):
        return True  # "in the eighteenth century"
    if not is_year(claim) and _is_computed(claim, evidence):
        return True
    if is_year(claim):
        spans = {round(q.value / _YEAR) for q in every if q.dimension == "time"}
        return any(claim.bare - span in years or claim.bare + span in years for span in spans)
    if claim.dimension == "time" and claim.value >= 0.99 * _YEAR:
        span = round(claim.value / _YEAR)
        return any(year + span in years for year in years)
    if claim.dimension == "time":
        return (
            claim.bare == 1 and claim.value >= _DAY
        )  # "a month later", of two dates; "one day and the next"
    if claim.dimension == "times" or (claim.dimension == "share" and claim.value in _FRACTIONS):
        factor = claim.value if claim.dimension == "times" else claim.value / 100
        sizes = [q for q in evidence if q.value and q.dimension in ("", "length", "mass", "time")]
        sizes = sizes[:_MOST_NUMBERS]
        return any(
            _close(one.value, factor * other.value, _CONVERTED)
            for one in sizes
            for other in sizes
            if one.dimension == other.dimension and one is not other
        )
    return False


def _is_computed(claim: Quantity, evidence: Sequence[Quantity]) -> bool:
    """Whether a number is the sum, the difference or the rest of two of the evidence."""
    if claim.dimension == "share":
        rests = [100 - q.value for q in evidence if q.dimension == "share"]
        counts = [q.bare for q in evidence if not q.dimension and 0 < q.bare <= _SMALL_COUNT]
        for one, other in pairwise(counts[:_FEW_NUMBERS]):  # "3 parts sugar to 2 parts water"
            rests += [100 * one / (one + other), 100 * other / (one + other)]
        return any(_close(claim.value, rest, _CONVERTED) for rest in rests)
    same = [q.value for q in evidence if q.dimension == claim.dimension and not q.ordinal]
    same = same[:_FEW_NUMBERS]
    return any(
        _close(claim.value, one + other, _EXACT) or _close(claim.value, abs(one - other), _EXACT)
        for index, one in enumerate(same)
        for other in same[index + 1 :]
    )


def is_year(quantity: Quantity) -> bool:
    """Whether a bare number may be a year."""
    return not quantity.dimension and 1000 <= quantity.bare <= 2100 and quantity.bare % 1 == 0


def wrong_calendar_word(claim: Sequence[Token], evidence: Sequence[Token]) -> str:
    """A month or weekday of the claim where the evidence names only others; empty if none."""
    for names in _CALENDAR:
        if not any(_is_calendar(token, names) for token in claim):
            continue
        stated = {names[t.plain] for t in evidence if _is_calendar(t, names)}
        if not stated or any(t.plain in ("weekday", "weekdays", "daily") for t in evidence):
            continue
        if any(t.plain in _NEXT for t in evidence):
            size = max(names.values())
            stated |= {1 + (day + step) % size for day in stated for step in (0, -2)}
        for token in claim:
            if _is_calendar(token, names) and names[token.plain] not in stated:
                return token.text
    return ""


def is_calendar_name(word: str) -> bool:
    """Whether a word in plain form is a month or weekday."""
    return any(word in names for names in _CALENDAR)


def has_calendar_word(words: Sequence[Token]) -> bool:
    """Whether a month or weekday is among the words."""
    return any(_is_calendar(token, names) for names in _CALENDAR for token in words)


def _is_calendar(token: Token, names: Mapping[str, int]) -> bool:
    if token.plain not in names:
        return False
    return token.plain not in _ALSO_WORDS or token.text[:1].isupper()
