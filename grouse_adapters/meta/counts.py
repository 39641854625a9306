"""How many of how many, per set: every rate and every interval of a report comes from these."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Literal, NamedTuple

from grouse_adapters.core.metrics import MetricName

Share = tuple[int, int]
"""(how many, of how many)."""


class Key(NamedTuple):
    """What is counted.

    Attributes:
        level: over all tests, within a test type, or for a failure mode.
        name: of the type or failure mode; empty over all tests.
        part: all tests in which the metric was asked, or only its defect or clean ones.
        metric: whose outcomes are counted.
    """

    level: Literal["all", "type", "mode"]
    name: str
    part: Literal["asked", "defect", "clean"]
    metric: MetricName


class Counts:
    """Counts of passed outcomes, kept per set so that sets can be drawn again."""

    def __init__(self) -> None:
        self._sets: dict[str, dict[Key, list[int]]] = {}
        self._totals: dict[Key, list[int]] = {}

    def add(self, set_id: str, key: Key, *, passed: bool) -> None:
        """Counts one outcome of a test of that set."""
        cells = self._sets.setdefault(set_id, {})
        for cell in (cells.setdefault(key, [0, 0]), self._totals.setdefault(key, [0, 0])):
            cell[0] += passed
            cell[1] += 1

    def share(self, key: Key) -> Share:
        """Passed outcomes and all outcomes under ``key``, over all sets."""
        passed, of = self._totals.get(key, (0, 0))
        return passed, of

    def percent(self, *keys: Key) -> float | None:
        """Mean of the keys' rates; None when one of them has no outcome."""
        return percent(*map(self.share, keys))

    def counted(self) -> list[Key]:
        """Everything that was counted, in an order that does not depend on that of the tests."""
        return sorted(self._totals)

    def per_set(self, key: Key) -> list[Share]:
        """The shares of all sets, in one order for all keys; (0, 0) where a set has none."""
        cells = (cells.get(key, (0, 0)) for cells in self._sets.values())
        return [(passed, of) for passed, of in cells]


def percent(*shares: Share) -> float | None:
    """Mean of the shares in percent with two decimals, an exact half to the even digit.

    Rounded once, from exact fractions: the mean of six rates is not a mean of rounded rates.
    None without shares, or when one is of nothing.
    """
    return rounded(Fraction(passed, of) if of else None for passed, of in shares)


def rounded(fractions: Iterable[Fraction | None]) -> float | None:
    """Mean of the fractions in percent, like ``percent``."""
    parts = list(fractions)
    known = [part for part in parts if part is not None]
    if not known or len(known) < len(parts):
        return None
    return float(round(100 * sum(known, Fraction()) / len(known), 2))
