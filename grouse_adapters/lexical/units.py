"""Units and their sizes, so that "14 days" and "two weeks" are one quantity."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from grouse_adapters.lexical.languages import word_set

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
    ("length", 0.1, "dm decimetre decimetres decimeter decimeters"),
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
    ("temperature", 1.0, "°c ° degrees degree degres degre grad"),
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
UNITS: Final[Mapping[str, tuple[str, float]]] = MappingProxyType(
    {
        spelling: (dimension, factor)
        for dimension, factor, spellings in _UNIT_TABLE
        for spelling in spellings.split()
    }
)
_SCALE_NAMES: Final = word_set("celsius fahrenheit kelvin reaumur centigrade richter beaufort")


def is_unit(word: str) -> bool:
    """Whether a word in plain form names a unit."""
    return word in UNITS or word in _SCALE_NAMES
