"""Facts that can be compared exactly: quantities, calendar words and proper names."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from grouse_adapters.lexical.languages import LANGUAGES, word_set
from grouse_adapters.lexical.text import Token, plain

_EXACT: Final = 1e-6
_HEDGED: Final = 0.06  # "about 5" may stand for 4.8 or 5.2
_CONVERTED: Final = 0.02  # "14 days" for "two weeks"; leaves room for rounding
_SMALL_COUNT: Final = 12  # "these three cues" counts for the reader, it need not be written there

_UNIT_TABLE: Final = (
    ("time", 1.0, "s sec secs second seconds seconde secondes sekunde sekunden segundo segundos "
     "secondo secondi seconden"),
    ("time", 60.0, "min mins minute minutes minuten minuto minutos minuti minuut"),
    ("time", 3600.0, "h hr hrs hour hours heure heures stunde stunden hora horas ora ore uur uren"),
    ("time", 86400.0, "day days jour jours tag tage tagen dia dias giorno giorni dag dagen"),
    ("time", 604800.0, "week weeks semaine semaines woche wochen semana semanas settimana "
     "settimane weken"),
    ("time", 1209600.0, "fortnight fortnights"),
    ("time", 2629800.0, "month months mois monat monate monaten mes meses mese mesi maand "
     "maanden"),
    ("time", 31557600.0, "year years yr yrs an ans annee annees jahr jahre jahren ano anos anno "
     "anni jaar jaren"),
    ("time", 315576000.0, "decade decades decennie decennies jahrzehnt jahrzehnte decada decadas"),
    ("time", 3155760000.0, "century centuries siecle siecles jahrhundert jahrhunderte siglo siglos "
     "secolo secoli seculo seculos eeuw eeuwen"),
    ("length", 1e-9, "nm nanometre nanometres nanometer nanometers"),
    ("length", 1e-6, "µm um micrometre micrometres micrometer micrometers micron microns"),
    ("length", 1e-3, "mm millimetre millimetres millimeter millimeters millimetro millimetri"),
    ("length", 1e-2, "cm centimetre centimetres centimeter centimeters zentimeter centimetro "
     "centimetros centimetri"),
    ("length", 1.0, "m metre metres meter meters metro metros metri metern"),
    ("length", 1e3, "km kms kilometre kilometres kilometer kilometers kilometern quilometro "
     "quilometros chilometro chilometri kilometro kilometros"),
    ("length", 0.0254, "inch inches"),
    ("length", 0.3048, "ft foot feet"),
    ("length", 0.9144, "yard yards"),
    ("length", 1609.344, "mile miles mi meilen mijl"),
    ("mass", 1e-6, "mg milligram milligrams milligramme milligrammes"),
    ("mass", 1e-3, "g gram grams gramme grammes gramm gramo gramos grammo grammi grama gramas"),
    ("mass", 1.0, "kg kgs kilo kilos kilogram kilograms kilogramme kilogrammes kilogramm chilo "
     "chili"),
    ("mass", 1e3, "t tonne tonnes ton tons tonnen tonelada toneladas"),
    ("mass", 0.45359237, "lb lbs pound pounds"),
    ("volume", 1e-3, "ml millilitre millilitres milliliter milliliters"),
    ("volume", 1.0, "l litre litres liter liters litro litros litri"),
    ("share", 1.0, "% percent pct prozent procent pourcent"),
    ("temperature", 1.0, "°c °"),
    ("fahrenheit", 1.0, "°f"),
    ("speed", 1.0, "m/s"),
    ("speed", 1 / 3.6, "km/h kph kmh"),
    ("speed", 0.44704, "mph"),
    ("power", 1.0, "w watt watts"),
    ("power", 1e3, "kw kilowatt kilowatts"),
    ("power", 1e6, "mw megawatt megawatts"),
    ("energy", 1.0, "kwh"),
    ("bytes", 1e6, "mb megabyte megabytes"),
    ("bytes", 1e9, "gb gigabyte gigabytes"),
    ("bytes", 1e12, "tb terabyte terabytes"),
    ("dollar", 1.0, "$ usd dollar dollars"),
    ("euro", 1.0, "€ eur euro euros"),
    ("pound", 1.0, "£ gbp"),
)  # fmt: skip
_UNITS: Final[Mapping[str, tuple[str, float]]] = MappingProxyType(
    {
        spelling: (dimension, factor)
        for dimension, factor, spellings in _UNIT_TABLE
        for spelling in spellings.split()
    }
)
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
_SUFFIX: Final = {"k": 1e3, "bn": 1e9, "m": 1e6}
_ARTICLES: Final = word_set("a an une un ein eine einer einem una uno um uma een the of de d")

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
_ALSO_WORDS: Final = frozenset({"may", "march", "mars", "mar", "sep", "mai", "mei", "jan", "dec"})


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number with its unit, in base units (seconds, metres, kilograms, ...).

    Attributes:
        value: in the base unit of ``dimension``; as written when there is none.
        dimension: ``time``, ``length``, ...; empty for a bare number.
        shown: as written, for messages.
        bare: the number before conversion.
        noun: stem of what a bare number counts, empty when unknown.
        hedged: "about", "nearly" and the like stand before it.
        implied: "an hour": supports a statement, but need not be supported.
        unit: the unit as written, empty for a bare number.
        reach: characters of the unit after the number.
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


def quantities(text: str, words: Sequence[Token], code: str) -> tuple[Quantity, ...]:
    """All quantities in ``text``, whose words are ``words``."""
    language = LANGUAGES.get(code) or LANGUAGES["en"]
    found: list[Quantity] = []
    index = 0
    while index < len(words):
        number, after = _number(words, index, code)
        implied = False
        if number is None:
            if words[index].plain not in (
                "a",
                "an",
                "un",
                "une",
                "eine",
                "ein",
                "una",
                "uno",
                "een",
            ):
                index += 1
                continue
            number, after, implied = 1.0, index + 1, True
        quantity = _quantity(text, words, index, after, number, language.hedges, implied)
        index = max(after, index + 1)
        if quantity is not None:
            found.append(quantity)
            start = words[after - 1].end
            while index < len(words) and words[index].end <= start + quantity.reach:
                index += 1  # "half an hour" is one quantity, not two
    return tuple(found)


def _quantity(
    text: str,
    words: Sequence[Token],
    index: int,
    after: int,
    number: float,
    hedges: frozenset[str],
    implied: bool,
) -> Quantity | None:
    first, last = words[index], words[after - 1]
    fraction = last.plain in ("half", "demi", "demie", "halbe", "halben", "medio", "mezz", "media",
                              "meia", "mezza", "halve", "quarter")  # fmt: skip
    end = last.end
    if fraction and after < len(words) and words[after].plain in _ARTICLES:
        end = words[after].end  # "half an hour"
    half = _AND_A_HALF.match(text, end)  # "two and a half hours"
    dimension, factor, stop = _unit(text, half.end() if half else end, attached=not implied)
    if not half and dimension:
        half = _AND_A_HALF.match(text, stop)  # "an hour and a half"
        stop = half.end() if half else stop
    if half:
        number, implied = number + 0.5, False
    before = text[max(0, first.start - 2) : first.start].strip()[-1:]
    if before in "$€£" and before:
        dimension, factor, stop = _UNITS[before][0], 1.0, end
    if implied and dimension != "time":
        return None
    noun = ""
    if not dimension:
        following = words[after : after + 2]
        noun = next((word.stem for word in following if word.content), "")
    value = (number - 32) * 5 / 9 if dimension == "fahrenheit" else number * factor
    return Quantity(
        value=value,
        dimension="temperature" if dimension == "fahrenheit" else dimension,
        shown=" ".join(text[first.start : max(stop, last.end)].split()),
        bare=number,
        noun=noun,
        hedged=any(word.plain in hedges for word in words[max(0, index - 2) : index]),
        implied=implied,
        reach=stop - last.end if dimension or half else 0,
        unit=" ".join(plain(text[end:stop]).replace("-", " ").split()),
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
    if spelling in ("a", "an") or spelling not in _UNITS:
        return "", 1.0, end
    if len(spelling) == 1 and spelling.isalpha() and not attached:
        return "", 1.0, end
    dimension, factor = _UNITS[spelling]
    return dimension, factor, match.end()


def _number(words: Sequence[Token], index: int, code: str) -> tuple[float | None, int]:
    """The number that starts at ``index`` and the index after it; None when there is none."""
    language = LANGUAGES.get(code) or LANGUAGES["en"]
    word = words[index]
    if word.plain[:1].isdigit():
        value = _digits(word.plain)
        if value is None:
            return None, index + 1
        after = index + 1
        if after < len(words) and words[after].plain in ("pm",) and value < 12:
            return value + 12, after + 1
        if after < len(words) and words[after].start == word.end:
            value *= _SUFFIX.get(words[after].plain, 1.0) if words[after].plain != "m" else 1.0
    elif word.plain in language.numbers:
        value = language.numbers[word.plain]
        after = index + 1
        if value == 1 and word.plain == "one" and _is_pronoun(words, index):
            return None, index + 1
        while (
            value >= 20 and value % 10 == 0 and after < len(words)
            and 0 < language.numbers.get(words[after].plain, 0) < 10
            and words[after].start - words[after - 1].end <= 1
        ):  # fmt: skip
            value += language.numbers[words[after].plain]
            after += 1
    else:
        return None, index + 1
    while after < len(words) and words[after].plain in language.scales:
        value *= language.scales[words[after].plain]
        after += 1
    return value, after


def _is_pronoun(words: Sequence[Token], index: int) -> bool:
    """Whether "one" counts nothing: "the one that", "one document reports"."""
    following = words[index + 1].plain if index + 1 < len(words) else ""
    return following not in _UNITS


def _digits(word: str) -> float | None:
    if not re.fullmatch(r"[0-9]+(?:[.,:][0-9]+)*", word):  # "²a" in plain form
        return None
    if re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", word):
        word = word.replace(",", "")
    elif re.fullmatch(r"\d{1,3}(?:\.\d{3})+(?:,\d+)?", word):
        word = word.replace(".", "").replace(",", ".")
    word = word.replace(",", ".").replace(":", ".")
    head, dot, tail = word.partition(".")
    return float(head[:300] + dot + tail.replace(".", "")[:20])


def is_supported(claim: Quantity, evidence: Sequence[Quantity]) -> bool:
    """Whether the evidence states the claim's number, in the same or another unit."""
    return any(_same(claim, quantity) for quantity in evidence)


def _same(claim: Quantity, quantity: Quantity) -> bool:
    tolerance = _HEDGED if claim.hedged or quantity.hedged else _EXACT
    if claim.dimension and quantity.dimension:
        if claim.dimension != quantity.dimension:
            return False
        if claim.unit != quantity.unit:
            tolerance = max(tolerance, _CONVERTED)
        return _close(claim.value, quantity.value, tolerance)
    return _close(claim.bare, quantity.bare, tolerance)


def _close(left: float, right: float, tolerance: float) -> bool:
    return abs(left - right) <= tolerance * max(abs(left), abs(right)) + 1e-12


def wrong_quantity(
    claims: Sequence[Quantity], evidence: Sequence[Quantity]
) -> tuple[Quantity, Quantity | None] | None:
    """The first quantity that the evidence does not state, and what it states instead.

    A small bare count ("these three cues") only counts against the claim when the evidence counts
    the same noun differently; every other number must stand there.
    """
    for claim in claims:
        if claim.implied:
            continue
        same_noun = [q for q in evidence if claim.noun and q.noun == claim.noun]
        if same_noun and not claim.dimension and not is_supported(claim, same_noun):
            return claim, same_noun[0]
        if not claim.dimension and claim.bare <= _SMALL_COUNT and claim.bare == int(claim.bare):
            continue
        if not claim.dimension and claim.bare == 0.5:
            continue
        if not is_supported(claim, evidence):
            alike = [q for q in evidence if claim.dimension and q.dimension == claim.dimension]
            return claim, alike[0] if alike else None
    return None


def wrong_calendar_word(claim: Sequence[Token], evidence: Sequence[Token]) -> str:
    """A month or weekday of the claim where the evidence names only others; empty if none."""
    for names in _CALENDAR:
        if not any(_is_calendar(token, names) for token in claim):
            continue
        stated = {names[t.plain] for t in evidence if _is_calendar(t, names)}
        if not stated or any(t.plain in ("weekday", "weekdays", "daily") for t in evidence):
            continue
        for token in claim:
            if _is_calendar(token, names) and names[token.plain] not in stated:
                return token.text
    return ""


def _is_calendar(token: Token, names: Mapping[str, int]) -> bool:
    if token.plain not in names:
        return False
    return token.plain not in _ALSO_WORDS or token.text[:1].isupper()


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
            and not any(token.plain in names for names in _CALENDAR)
            and (inner_capital or (not capital_nouns and not starts))
            and (token.content or inner_capital)
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
