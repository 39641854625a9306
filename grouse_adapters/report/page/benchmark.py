"""The page of a benchmark: native scores against annotations, each square a unit test."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from grouse_adapters.core.metrics import METRIC_NAMES
from grouse_adapters.meta.matrix import ordered_types
from grouse_adapters.meta.test_types import type_named
from grouse_adapters.meta.unit_tests import UnitTest
from grouse_adapters.native.annotations import Annotation
from grouse_adapters.native.compare import BenchmarkComparison
from grouse_adapters.native.panels import BenchmarkView, Panel
from grouse_adapters.native.rows import NATIVE_METRICS
from grouse_adapters.native.rules import NativeResult, Verdict
from grouse_adapters.native.shares import Missing, annotated, shares
from grouse_adapters.report.page.assemble import write_page
from grouse_adapters.report.page.benchmark_figures import (
    annotator_rows,
    compared_rows,
    facts,
    left_out_rows,
    reaction_tables,
    run_rows,
    short,
    spending_rows,
    worst_rows,
)
from grouse_adapters.report.page.payload import (
    Block,
    Blocks,
    Texts,
    codes,
    judgement_detail,
    named_values,
    one_line,
    sample_detail,
)

_LETTER: Final[dict[Verdict, str]] = {
    "success": "s",
    "failure": "f",
    "not_scored": "n",
    "error": "e",
    "nothing_to_rate": "x",
    "no_annotation": "-",
    "not_run": " ",
}


def write_benchmark_page(
    path: str | Path,
    view: BenchmarkView,
    *,
    title: str,
    comparison: BenchmarkComparison | None = None,
    names: tuple[str, str] = ("A", "B"),
) -> None:
    """Writes the page of a benchmark as one HTML file that fetches nothing.

    Args:
        path: the file; replaced whole or not at all.
        view: the benchmark.
        title: e.g. where the tests come from.
        comparison: of this benchmark, as the first, with another.
        names: how the two are called.

    Raises:
        ConfigurationError: the file cannot be written. One sentence.
    """
    layout = _Layout(view)
    write_page(
        path,
        "benchmark",
        title=title,
        head={
            "notice": view.report.notice,
            "human": view.report.annotations == "human",
            "facts": facts(view.report),
            "threshold": f"{view.report.threshold:g}",
            "judge": view.report.judge,
            "runs": run_rows(view),
            "left_out": left_out_rows(view),
            "reactions": reaction_tables(view),
            "worst": worst_rows(view, layout.order),
            "annotators": annotator_rows(view.report),
            "paper": view.report.published_annotators,
            "spending": spending_rows(view),
            "compared": compared_rows(comparison, layout.order),
            "comparison": comparison,
            "names": names,
            "hint": view.report.hint,
        },
        data={
            "metrics": [_panel_fact(number, panel) for number, panel in enumerate(view.panels)],
            "asked": [True] * len(view.panels),
            "runs": [f"GroUSE · {view.report.judge}", "Native metrics"],
            "sample_metrics": list(METRIC_NAMES),
            "threshold": view.report.threshold,
            "types": layout.types,
            "columns": layout.columns,
        },
        blocks=layout.blocks(),
    )


def _panel_fact(number: int, panel: Panel) -> dict[str, Any]:
    run = panel.run
    return {
        "name": f"panel-{number}",
        "title": panel.title,
        "short": short(number, panel),
        "metric": panel.metric,
        "native": run is not None,
        "mae": None if run is None else run.mae,
        "spearman": None if run is None else run.spearman,
        "scored": 0 if run is None else run.scored,
    }


class _Layout:
    """Which square each test has: types are rows, sets are columns."""

    def __init__(self, view: BenchmarkView) -> None:
        self._view = view
        self._means = annotated(view.annotations)
        self._annotations: dict[str, list[Annotation]] = {}
        for annotation in view.annotations:
            self._annotations.setdefault(annotation.test_id, []).append(annotation)
        self._results: list[dict[str, NativeResult]] = [
            {result.test.id: result for result in panel.results} for panel in view.panels
        ]
        self.types = ordered_types(test.test_type for test in view.tests)
        places, self.columns = _columns(view.tests)
        self._places = dict(zip((test.id for test in view.tests), places, strict=True))
        self._numbers = {name: number for number, name in enumerate(self.types)}
        # In the order of sets, then types, so that the tests of a set share their texts.
        self._tests = sorted(
            view.tests,
            key=lambda one: (self._places[one.id], self._numbers[one.test_type]),
        )
        self.order = {test.id: place for place, test in enumerate(self._tests)}

    def blocks(self) -> Iterator[Block]:
        """The tests, in the order of ``order``."""
        blocks = Blocks()
        for test in self._tests:
            blocks.add(self._row(test), self._detail(test, blocks.texts))
            if blocks.is_full:
                yield from blocks.take()
        yield from blocks.take()

    def _row(self, test: UnitTest) -> list[Any]:
        letters = (_LETTER[panel.verdicts.get(test.id, "not_run")] for panel in self._view.panels)
        values = [
            self._native(number, test) if panel.run else self._grade(panel, test)
            for number, panel in enumerate(self._view.panels)
        ]
        return [
            test.id,
            one_line(test.sample.input),
            self._numbers[test.test_type],
            self._places[test.id],
            "".join(letters),
            values,
            {metric: self._mean(test, metric) for metric in NATIVE_METRICS},
        ]

    def _native(self, number: int, test: UnitTest) -> float | None:
        result = self._results[number].get(test.id)
        native = result.native if result else None
        return None if native is None else float(round(native, 4))

    def _grade(self, panel: Panel, test: UnitTest) -> list[str] | None:
        """The judge's grade as the pages write it, and its condition."""
        found = self._view.judged.get(test.id)
        if found is None:
            return None
        grade = codes(found.judgement)[METRIC_NAMES.index(panel.metric)]
        return [grade, str(test.conditions.of(panel.metric))]

    def _mean(self, test: UnitTest, metric: Any) -> float | str | None:
        """The annotators' mean; ``-`` without annotation, None with nothing to rate."""
        said = self._means.get(test.id)
        mean = said.mean(metric) if said else Missing.ANNOTATION
        if isinstance(mean, Missing):
            return "-"
        return None if mean is None else float(round(mean, 4))

    def _detail(self, test: UnitTest, texts: Texts) -> dict[str, Any]:
        known = type_named(test.test_type)
        judged = self._view.judged.get(test.id)
        detail = sample_detail(test.sample, texts)
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
        results = [results.get(test.id) for results in self._results]
        native = {
            "grades": [_native_detail(result, texts) for result in results],
            "marks": [],
            "facts": named_values(_spent(self._view.panels, results), texts),
        }
        # The judge comes first: it alone marks sentences, and the answer shows the first's marks.
        detail["runs"] = [judgement_detail(judged.judgement if judged else None, texts), native]
        detail["annotations"] = [
            _annotation_detail(one, texts) for one in self._annotations.get(test.id, ())
        ]
        return detail


def _columns(tests: Sequence[UnitTest]) -> tuple[list[int], list[list[str]]]:
    """Per test its column, and per column its label and set.

    A set with several tests of one type gets as many columns.
    """
    taken: dict[tuple[str, str], int] = {}
    places = []
    for test in tests:
        key = (test.set_id, test.test_type)
        taken[key] = taken.get(key, 0) + 1
        places.append((test.set_id, taken[key]))
    sets = {name: number for number, name in enumerate(dict.fromkeys(p[0] for p in places))}
    columns = sorted(set(places), key=lambda place: (sets[place[0]], place[1]))
    numbers = {place: number for number, place in enumerate(columns)}
    labels = [[name if n == 1 else f"{name} ({n})", name] for name, n in columns]
    return [numbers[place] for place in places], labels


def _native_detail(result: NativeResult | None, texts: Texts) -> dict[str, Any] | None:
    score = result.score if result else None
    if score is None:
        return None
    failed = score.error is not None or score.error_kind is not None
    return {
        "kind": "failed" if failed else "not_scored" if score.score is None else "scored",
        "cause": texts.number(score.error_kind.replace("_", " ") if score.error_kind else None),
        "why": texts.number(score.reason.strip() or None if score.reason else None),
        "raw": texts.number(score.error),
    }


def _spent(
    panels: Sequence[Panel], results: Sequence[NativeResult | None]
) -> Iterator[tuple[str, str]]:
    for panel, result in zip(panels, results, strict=True):
        score = result.score if result else None
        if score is None:
            continue
        parts = [f"{score.calls:,} calls"]
        if score.embedding_calls:
            parts.append(f"{score.embedding_calls:,} for embeddings")
        tokens = score.usage.input_tokens + score.usage.output_tokens
        parts += [f"{tokens:,} tokens", f"{score.wall_seconds:.2f} s"]
        if score.cpu_seconds is not None:
            parts.append(f"{score.cpu_seconds:.2f} s CPU")
        yield panel.title, ", ".join(parts)


def _annotation_detail(annotation: Annotation, texts: Texts) -> list[Any]:
    """Annotator, source, the two shares, and per statement its text and three labels."""
    found = shares(annotation)
    statements = annotation.statements
    return [
        texts.number(annotation.annotator),
        annotation.source,
        [
            None if (share := found.of(metric)) is None else float(round(share, 4))
            for metric in NATIVE_METRICS
        ],
        None
        if statements is None
        else [
            [texts.number(one.text), one.faithful, one.relevant, one.citation_right]
            for one in statements
        ],
    ]
