"""The 16 types of unit test of a set, and the seven failure modes they look for.

Types: arXiv 2409.06595, section 4.1; failure modes: section 3, FM1 to FM7.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from grouse_adapters.core.metrics import MetricName
from grouse_adapters.meta.conditions import Conditions


@dataclass(frozen=True, slots=True)
class FailureMode:
    """A way in which an answer can fail.

    Attributes:
        name: ``FM1`` to ``FM7``.
        title: what goes wrong.
        metric: the metric that must see it.
    """

    name: str
    title: str
    metric: MetricName


FAILURE_MODES: Final[Mapping[str, FailureMode]] = MappingProxyType(
    {
        mode.name: mode
        for mode in (
            FailureMode("FM1", "irrelevant information", "answer_relevancy"),
            FailureMode("FM2", "answers where it should refuse", "negative_rejection"),
            FailureMode("FM3", "missing information", "completeness"),
            FailureMode("FM4", "wrongly refuses", "positive_acceptance"),
            FailureMode("FM5", "unrelated additions to a refusal", "usefulness"),
            FailureMode("FM6", "missing or wrong citation", "faithfulness"),
            FailureMode("FM7", "distorted or unsupported claim", "faithfulness"),
        )
    }
)


@dataclass(frozen=True, slots=True)
class UnitTestType:
    """One of the 16 types.

    Attributes:
        number: 1-16, its place in a set.
        name: as in the dataset's ``test_type``.
        situation: what the references and the answer are like.
        conditions: the demands that our own tests of this type make.
        failure_modes: what the answer does wrong, among ``FAILURE_MODES``.
    """

    number: int
    name: str
    situation: str
    conditions: Conditions
    failure_modes: tuple[str, ...] = ()


def _type(
    number: int, name: str, situation: str, demands: str, failure_modes: tuple[str, ...] = ()
) -> UnitTestType:
    order = ("answer_relevancy", "completeness", "usefulness", "faithfulness")
    row = {
        f"{metric}_condition": "==None" if demand == "-" else demand
        for metric, demand in zip(order, demands.split(), strict=True)
    }
    return UnitTestType(number, name, situation, Conditions.parse(row), failure_modes)


# Demands in the order AR, C, U, F; "-" means that the metric must not apply.
_TABLE: Final = (
    _type(1, "Highest marks 1", "Answerable; the answer is perfect.", "==5 ==5 - ==1"),
    _type(
        2,
        "Highest marks 2",
        "Only related references; the answer refuses and adds nothing.",
        "- - - -",
    ),
    _type(
        3,
        "Highest marks 3",
        "Only related references; the answer refuses and passes on what they say.",
        "- - ==1 ==1",
    ),
    _type(
        4,
        "Highest marks 4",
        "Answerable in part; the answer gives all there is, in other words.",
        "==5 ==5 - ==1",
    ),
    _type(
        5,
        "Highest marks 5",
        "Only off-topic references; the answer refuses and adds nothing.",
        "- - - -",
    ),
    _type(
        6,
        "Highest marks 6",
        "A reference holds an absurd fact, and the answer reports it.",
        "==5 ==5 - ==1",
    ),
    _type(
        7,
        "Highest marks 7",
        "A related reference holds an absurd fact; the answer refuses and reports it.",
        "- - ==1 ==1",
    ),
    _type(
        8,
        "Low answer relevancy 1",
        "A perfect answer with superfluous, rightly cited information added.",
        "<5 ==5 - ==1",
        ("FM1",),
    ),
    _type(
        9,
        "Low answer relevancy 2",
        "Only related references; the answer answers anyway.",
        "<5 - - ==1",
        ("FM1", "FM2"),
    ),
    _type(
        10,
        "Low completeness 1",
        "Answerable; relevant facts are left out.",
        ">=4 <5 - ==1",
        ("FM3",),
    ),
    _type(
        11,
        "Low completeness 2",
        "Answerable; the answer wrongly refuses and adds nothing.",
        "- ==1 - -",
        ("FM3", "FM4"),
    ),
    _type(
        12,
        "Low completeness 3",
        "Answerable; the answer wrongly refuses and adds related information.",
        "- <=2 ==1 ==1",
        ("FM3", "FM4"),
    ),
    _type(
        13,
        "Low usefulness 1",
        "Not answerable; the answer refuses and adds off-topic information.",
        "- - ==0 ==1",
        ("FM5",),
    ),
    _type(
        14,
        "Low faithfulness 1",
        "One citation points to the wrong reference.",
        "==5 ==5 - ==0",
        ("FM6",),
    ),
    _type(
        15,
        "Low faithfulness 2",
        "One statement is uncited or supported by no reference.",
        ">=4 >=4 - ==0",
        ("FM6", "FM7"),
    ),
    _type(
        16,
        "Low faithfulness 3",
        "One fact is distorted; its citation is right.",
        "==5 >=4 - ==0",
        ("FM7",),
    ),
)

TEST_TYPES: Final[Mapping[str, UnitTestType]] = MappingProxyType({t.name: t for t in _TABLE})
_BY_PLAIN_NAME: Final = {name.casefold(): kind for name, kind in TEST_TYPES.items()}


def type_named(name: str) -> UnitTestType | None:
    """The type of this name, whatever its case and spacing; None for a type of the user's own."""
    return _BY_PLAIN_NAME.get(" ".join(name.replace("_", " ").split()).casefold())
