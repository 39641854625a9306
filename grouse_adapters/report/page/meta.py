"""The page of a meta-evaluation: a matrix per metric, each square a unit test."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from grouse_adapters.core.metrics import METRIC_NAMES
from grouse_adapters.meta.compare import compare
from grouse_adapters.meta.matrix import ordered_types
from grouse_adapters.meta.report import MetaReport, TestResult
from grouse_adapters.meta.test_types import type_named
from grouse_adapters.meta.unit_tests import UnitTest
from grouse_adapters.report.page.assemble import write_page
from grouse_adapters.report.page.figures import (
    detections,
    failure_modes,
    pass_rates,
    published,
    spending,
)
from grouse_adapters.report.page.payload import (
    Block,
    Blocks,
    codes,
    judgement_detail,
    metric_facts,
    named_values,
    one_line,
    sample_detail,
)

_FLOORS: Final = {"constant": "Floor: constant", "refusal_only": "Floor: refusals only"}
_LETTER: Final = {"passed": "p", "failed": "f", "unreadable": "u"}

Run = tuple[Sequence[TestResult], MetaReport]


def write_meta_page(
    path: str | Path,
    results: Sequence[TestResult],
    report: MetaReport,
    *,
    title: str,
    other: Run | None = None,
    names: tuple[str, str] | None = None,
) -> None:
    """Writes the page of a meta-evaluation as one HTML file that fetches nothing.

    Args:
        path: the file; replaced whole or not at all.
        results: the tests and what the judge said; any number of types and sets.
        report: the figures of these results.
        title: e.g. where the tests come from.
        other: a second run to compare with, shown as run B. Tests are the same when id, content
            and conditions are; a test of one run alone is shown as such.
        names: how the two runs are called; None: their judges' names.

    Raises:
        ConfigurationError: the file cannot be written. One sentence.
    """
    runs: list[Run] = [(results, report), *([other] if other else [])]
    reports = [figures for _, figures in runs]
    called = _names(reports, names)
    layout = _Layout(_paired([tests for tests, _ in runs]))
    write_page(
        path,
        "meta",
        title=title,
        head={
            "runs": called,
            "facts": [_facts(figures) for figures in reports],
            "pass_rates": pass_rates(reports, compare(results, other[0]) if other else None),
            "detections": detections(reports),
            "floors": [
                {"name": _FLOORS[name], "title": floor.title}
                for name, floor in report.floors.items()
            ],
            "failure_modes": failure_modes(reports),
            "published": published(reports, called),
            "metrics": metric_facts(),
        },
        data={
            "metrics": metric_facts(),
            "asked": [any(name in figures.metrics for figures in reports) for name in METRIC_NAMES],
            "runs": called,
            "types": layout.types,
            "columns": layout.columns,
            "conditions": layout.conditions,
        },
        blocks=layout.blocks(),
    )


@dataclass(slots=True)
class _Pair:
    """A test, and its result in each run that has it."""

    test: UnitTest
    results: list[TestResult | None]


def _paired(runs: Sequence[Sequence[TestResult]]) -> list[_Pair]:
    pairs: dict[tuple[str, ...], _Pair] = {}
    for number, results in enumerate(runs):
        for result in results:
            test = result.test
            key = (test.id, test.sample.content_hash(), *test.conditions.as_row().values())
            pair = pairs.setdefault(key, _Pair(test, [None] * len(runs)))
            pair.results[number] = result
    return list(pairs.values())


class _Layout:
    """Which square each test has: types are rows, sets are columns."""

    def __init__(self, pairs: list[_Pair]) -> None:
        self._pairs = pairs
        self.types = ordered_types(pair.test.test_type for pair in pairs)
        self._type_numbers = {name: number for number, name in enumerate(self.types)}
        self._squares, labels = self._place(pairs)
        self.columns = labels
        self.conditions: list[list[str]] = []
        self._condition_numbers: dict[tuple[str, ...], int] = {}
        for pair in pairs:
            self._condition_number(pair.test)

    def blocks(self) -> Iterator[Block]:
        """The tests in the order of sets, then types, so that a set shares its texts."""
        blocks = Blocks()
        order = sorted(
            range(len(self._pairs)),
            key=lambda at: (self._squares[at], self._type_of(self._pairs[at].test)),
        )
        for at in order:
            pair = self._pairs[at]
            blocks.add(self._row(pair, self._squares[at]), _detail(pair, blocks))
            if blocks.is_full:
                yield from blocks.take()
        yield from blocks.take()

    def _place(self, pairs: list[_Pair]) -> tuple[list[int], list[list[str]]]:
        """Per test its column, and per column its label and set.

        A set with several tests of one type gets as many columns.
        """
        taken: dict[tuple[str, str], int] = {}
        places = []
        for pair in pairs:
            key = (pair.test.set_id, pair.test.test_type)
            taken[key] = taken.get(key, 0) + 1
            places.append((pair.test.set_id, taken[key]))
        sets = {name: number for number, name in enumerate(dict.fromkeys(p[0] for p in places))}
        columns = sorted(set(places), key=lambda place: (sets[place[0]], place[1]))
        numbers = {place: number for number, place in enumerate(columns)}
        labels = [[name if n == 1 else f"{name} ({n})", name] for name, n in columns]
        return [numbers[place] for place in places], labels

    def _type_of(self, test: UnitTest) -> int:
        return self._type_numbers[test.test_type]

    def _condition_number(self, test: UnitTest) -> int:
        demands = tuple(str(test.conditions.of(name)) for name in METRIC_NAMES)
        if demands not in self._condition_numbers:
            self._condition_numbers[demands] = len(self.conditions)
            self.conditions.append(list(demands))
        return self._condition_numbers[demands]

    def _row(self, pair: _Pair, column: int) -> list[Any]:
        test = pair.test
        return [
            test.id,
            one_line(test.sample.input),
            self._type_of(test),
            column,
            self._condition_number(test),
            "".join("1" if test.conditions.skipped(name) else "0" for name in METRIC_NAMES),
            [_outcomes(result) for result in pair.results],
            [codes(result.judgement if result else None) for result in pair.results],
        ]


def _outcomes(result: TestResult | None) -> str:
    """One letter per metric; blank when it was not asked."""
    outcomes = result.outcomes if result else {}
    return "".join(_LETTER[outcomes[name]] if name in outcomes else " " for name in METRIC_NAMES)


def _detail(pair: _Pair, blocks: Blocks) -> dict[str, Any]:
    texts, test = blocks.texts, pair.test
    known = type_named(test.test_type)
    extra: list[tuple[str, Any]] = []
    if test.annotations is not None:
        extra.append(("annotations", test.annotations))
    detail = sample_detail(test.sample, texts)
    detail["metadata"] += named_values(extra, texts)
    detail["about"] = named_values(
        [
            ("Type", test.test_type),
            ("Set", test.set_id),
            *([("Situation", known.situation)] if known else []),
            *([("Goal", test.goal)] if test.goal else []),
            *([("Failure modes", ", ".join(test.failure_modes))] if test.failure_modes else []),
        ],
        texts,
    )
    detail["runs"] = [
        judgement_detail(result.judgement if result else None, texts) for result in pair.results
    ]
    return detail


def _facts(report: MetaReport) -> list[tuple[str, str]]:
    return [
        ("Judge", report.judge),
        ("Tests", f"{report.tests:,}"),
        ("Sets", f"{report.sets:,}"),
        ("Source", report.source),
        *spending(report),
    ]


def _names(reports: list[MetaReport], names: tuple[str, str] | None) -> list[str]:
    if len(reports) == 1:
        return [reports[0].judge]
    called = list(names) if names else [report.judge for report in reports]
    return [f"{letter} · {name}" for letter, name in zip("AB", called, strict=True)]
