"""A scenario as 16 plans: which references each test shows, in which order, and its answers."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from grouse_adapters.meta.scenarios.answers import Answer, actual_answer, expected_answer
from grouse_adapters.meta.scenarios.citations import cited_keys
from grouse_adapters.meta.scenarios.model import Scenario
from grouse_adapters.meta.test_types import TEST_TYPES, UnitTestType

_SOME: Final = 2  # of the related or off-topic references, where not all are shown, at most
_LEAST_ALONE: Final = 2  # off-topic references in type 5, which shows nothing else

_WITHOUT_RELEVANT: Final = (2, 3, 5, 7, 9, 13)
_WITH_ALL_RELATED: Final = (2, 3, 7, 8, 9, 12, 13)


@dataclass(frozen=True, slots=True)
class Plan:
    """One test before it is written out.

    Attributes:
        type: one of the 16.
        references: keys in the order of their numbers.
        replaced: of the reference in whose place an absurd one stands: its key and the absurd
            one's. Citations of it are citations of the absurd one, which holds the same and more.
        expected: the expected answer.
        actual: the answer to judge.
        failure_modes: what the actual answer does wrong.
    """

    type: UnitTestType
    references: tuple[str, ...]
    replaced: tuple[str, str] | None
    expected: Answer
    actual: Answer
    failure_modes: tuple[str, ...]

    @property
    def numbers(self) -> dict[str, int]:
        """The number that a citation of each key gets, from 1."""
        numbers = {key: number for number, key in enumerate(self.references, start=1)}
        if self.replaced is not None and self.replaced[1] in numbers:
            numbers[self.replaced[0]] = numbers[self.replaced[1]]
        return numbers


def plans(scenario: Scenario) -> tuple[Plan, ...]:
    """The 16 plans, in type order. Ids that lead nowhere are passed over; the checks name them."""
    return tuple(_plan(scenario, kind) for kind in TEST_TYPES.values())


def _plan(scenario: Scenario, kind: UnitTestType) -> Plan:
    expected = expected_answer(scenario, kind.number)
    actual = actual_answer(scenario, kind.number)
    replaced = _replaced(scenario, kind.number)
    statements = (*expected.statements, *actual.statements)
    cited = {key for statement in statements for key in cited_keys(statement.text)}
    keys = _Draw(scenario, kind.number).keys(cited)
    if replaced is not None:
        keys = [replaced[1] if key == replaced[0] else key for key in keys]
    return Plan(
        type=kind,
        references=tuple(_mixed(keys, f"{scenario.id}/{kind.number}/order")),
        replaced=replaced,
        expected=expected,
        actual=actual,
        failure_modes=_failure_modes(scenario, kind),
    )


def _replaced(scenario: Scenario, number: int) -> tuple[str, str] | None:
    absurd = {6: scenario.absurd, 7: scenario.absurd_related}.get(number)
    if absurd is None:
        return None
    reference = scenario.references.get(absurd.reference)
    original = reference.instead_of if reference else None
    return (original, absurd.reference) if original else None


class _Draw:
    """Which references a test shows, before an absurd one takes its place."""

    def __init__(self, scenario: Scenario, number: int) -> None:
        self._scenario = scenario
        self._number = number

    def keys(self, cited: set[str]) -> list[str]:
        related = self._scenario.tagged("related")
        off_topic = self._scenario.tagged("off-topic")
        if self._number == 5:
            return self._some(off_topic, cited, least=_LEAST_ALONE, most=len(off_topic))
        if self._number not in _WITH_ALL_RELATED:
            related = tuple(self._some(related, cited))
        if self._number != 13:
            off_topic = tuple(self._some(off_topic, cited))
        return [*self._relevant(), *related, *off_topic]

    def _relevant(self) -> tuple[str, ...]:
        if self._number in _WITHOUT_RELEVANT:
            return ()
        relevant = self._scenario.tagged("relevant")
        if self._number == 4:
            return tuple(key for key in relevant if key in self._scenario.partial.references)
        return relevant

    def _some(
        self, keys: tuple[str, ...], cited: set[str], *, least: int = 1, most: int = _SOME
    ) -> list[str]:
        """Between ``least`` and ``most`` of them; those that are cited are always among them."""
        salt = f"{self._scenario.id}/{self._number}/choice"
        wanted = least + _drawn(f"{salt}/{len(keys)}") % (max(most, least) - least + 1)
        order = sorted(_mixed(keys, salt), key=lambda key: key not in cited)
        return order[: max(wanted, sum(key in cited for key in keys))]


def _mixed(keys: Iterable[str], salt: str) -> list[str]:
    """``keys`` in an order that depends on nothing but them and ``salt``.

    By digest and not by a random generator: another reference leaves the order of these alone,
    and no version of Python changes it.
    """
    return sorted(keys, key=lambda key: (_drawn(f"{salt}/{key}"), key))


def _drawn(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


def _failure_modes(scenario: Scenario, kind: UnitTestType) -> tuple[str, ...]:
    """Of type 15 they depend on what is wrong with the statement."""
    if kind.number != 15:
        return kind.failure_modes
    flaw = scenario.unsupported
    if flaw.kind == "uncited":
        return ("FM6",)
    return ("FM7",) if cited_keys(flaw.text or "") else ("FM6", "FM7")
