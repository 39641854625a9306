"""The report of a benchmark, against figures worked out by hand."""

from __future__ import annotations

import json
import sys
from decimal import Decimal

import pytest
from benchmark_rows import judged, score, scores, suite

from grouse_adapters.core.grades import Usage
from grouse_adapters.meta.unit_tests import UnitTest
from grouse_adapters.native.annotations import Annotation
from grouse_adapters.native.figures import benchmark_report
from grouse_adapters.native.panels import Grid, benchmark_view, run_names
from grouse_adapters.native.report import BenchmarkReport
from grouse_adapters.native.rows import NativeScore
from grouse_adapters.native.rules import RunKey

ERROR = {"error_kind": "timeout", "error": "no answer"}
BARE_REFUSALS = ("Highest marks 2", "Highest marks 5", "Low completeness 2")


def note(test: UnitTest, share: float | None, annotator: str = "a") -> Annotation:
    return Annotation(
        test_id=test.id,
        annotator=annotator,
        source="human",
        answer_relevancy=share,
        faithfulness=share,
    )


def by_hand() -> tuple[list[NativeScore], tuple[UnitTest, ...], list[Annotation]]:
    """A set of 16: 8 rated (5 scored, 3 near), 4 with nothing to rate, 3 unannotated, 1 not run."""
    tests = suite(1)[0]
    notes = [note(test, 1.0) for test in tests[:8]]
    notes += [note(test, None) for test in tests[8:12]]
    notes.append(note(tests[15], 1.0))
    rows = [
        score(tests[0].id, 1.0, reason="fine"),
        score(tests[1].id, 0.9),
        score(tests[2].id, 0.85),
        score(tests[3].id, 0.8, reason="one claim of five"),
        score(tests[4].id, 0.25, reason="most of it"),
        score(tests[5].id, None, not_scored=True),
        score(tests[6].id, None, not_scored=True),
        score(tests[7].id, None, **ERROR),
        score(tests[8].id, 1.0),
        score(tests[9].id, 0.4),
        score(tests[10].id, None, not_scored=True),
        score(tests[11].id, None, **ERROR),
        score(tests[12].id, 1.0),
        score(tests[13].id, None, **ERROR),
        score(tests[14].id, 0.0),
    ]
    return rows, tests, notes


def report(threshold: str = "0.2") -> BenchmarkReport:
    rows, tests, notes = by_hand()
    return benchmark_report(rows, tests, notes, source="hand", threshold=Decimal(threshold))


def test_every_test_is_counted_once() -> None:
    (run,) = report().runs
    assert (run.tests, run.rated, run.scored, run.successes) == (16, 8, 5, 3)
    assert (run.not_scored, run.errors) == (2, 1)
    assert (run.nothing_to_rate, run.no_annotation, run.not_run) == (4, 3, 1)
    assert run.tests == run.rated + run.nothing_to_rate + run.no_annotation + run.not_run
    assert run.rated == run.scored + run.not_scored + run.errors


def test_the_rate_is_over_tests_with_a_share() -> None:
    (run,) = report().runs
    assert run.success_rate == 37.5  # 3 of 8
    assert run.interval is None  # one set
    assert run.mae == 0.24  # (0 + 0.1 + 0.15 + 0.2 + 0.75) / 5


def test_what_was_made_of_nothing_to_rate() -> None:
    made = report().runs[0].nothing_to_rate_as
    assert (made.scored, made.perfect, made.not_scored, made.errors) == (2, 1, 1, 1)


def test_another_threshold_changes_what_is_a_success() -> None:
    (wide,) = report("0.21").runs
    (narrow,) = report("0.1").runs
    assert (wide.successes, narrow.successes) == (4, 1)
    assert (wide.threshold, narrow.threshold) == (0.21, 0.1)
    assert wide.mae == narrow.mae


def test_the_worst_cases_come_with_the_frameworks_own_words() -> None:
    worst = report().runs[0].worst
    assert [(case.score, case.difference) for case in worst] == [
        (0.25, -0.75),
        (0.8, -0.2),
        (0.85, -0.15),
        (0.9, -0.1),
    ]
    assert (worst[0].reason, worst[0].verdict) == ("most of it", "failure")
    assert worst[3].verdict == "success"


def test_types_add_up() -> None:
    (run,) = report().runs
    assert list(run.by_type)[:2] == ["Highest marks 1", "Highest marks 2"]
    assert sum(found.rated for found in run.by_type.values()) == run.rated
    assert sum(found.scored for found in run.by_type.values()) == run.scored
    one, left_out = run.by_type["Highest marks 1"], run.by_type["Low usefulness 1"]
    assert (one.tests, one.rated, one.scored, one.success_rate) == (1, 1, 1, 100.0)
    assert (left_out.tests, left_out.rated, left_out.success_rate) == (1, 0, None)


def test_spearman_by_hand() -> None:
    tests = suite(1)[0]
    shares, natives = [0.0, 0.25, 0.5, 1.0], [0.1, 0.4, 0.3, 0.9]
    notes = [note(test, share) for test, share in zip(tests[:4], shares, strict=True)]
    rows = [score(test.id, value) for test, value in zip(tests[:4], natives, strict=True)]
    (run,) = benchmark_report(rows, tests[:4], notes, source="x").runs
    assert run.spearman == 0.8  # 1 - 6 * 2 / (4 * 15)
    assert run.spearman_reason is None


@pytest.mark.parametrize(
    ("natives", "shares", "reason"),
    [
        ([0.5, 0.6], [0.1, 0.2], "fewer than 3 scores"),
        ([0.5, 0.5, 0.5], [0.1, 0.2, 0.3], "the framework always gave 0.5"),
        ([0.5, 0.6, 0.7], [1.0, 1.0, 1.0], "the annotators always gave 1"),
    ],
)
def test_no_spearman_says_why(natives: list[float], shares: list[float], reason: str) -> None:
    tests = suite(1)[0]
    notes = [note(test, share) for test, share in zip(tests, shares, strict=False)]
    rows = [score(test.id, value) for test, value in zip(tests, natives, strict=False)]
    (run,) = benchmark_report(rows, tests[: len(rows)], notes, source="x").runs
    assert (run.spearman, run.spearman_reason) == (None, reason)


def test_without_scipy_there_is_a_hint_and_everything_else(monkeypatch: pytest.MonkeyPatch) -> None:
    tests, notes = suite()
    rows = scores(tests, notes)
    full = benchmark_report(rows, tests, notes, source="x")
    monkeypatch.setitem(sys.modules, "scipy.stats", None)
    bare = benchmark_report(rows, tests, notes, source="x")
    assert full.hint is None
    assert bare.hint is not None
    assert "grouse-adapters[stats]" in bare.hint
    assert [run.spearman for run in bare.runs] == [None] * 4
    assert [run.success_rate for run in bare.runs] == [run.success_rate for run in full.runs]


def test_spending_counts_repeated_tests_too() -> None:
    tests, notes = suite(1)
    usage = Usage(input_tokens=10, output_tokens=1)
    failed = score(tests[0].id, None, calls=3, usage=usage, wall_seconds=9.0, **ERROR)
    good = score(
        tests[0].id,
        1.0,
        calls=2,
        embedding_calls=2,
        usage=usage,
        wall_seconds=1.5,
        cpu_seconds=0.25,
    )
    (run,) = benchmark_report([failed, good], tests[:1], notes, source="x").runs
    assert (run.calls, run.embedding_calls, run.tokens) == (5, 2, 22)
    assert run.usage == Usage(input_tokens=20, output_tokens=2)
    assert (run.cpu_seconds, run.wall_seconds) == (0.25, 1.5)
    assert run.errors == 0
    unmeasured = score(tests[3].id, 1.0)
    (run,) = benchmark_report([good, unmeasured], tests[:4], notes, source="x").runs
    assert run.cpu_seconds is None


def test_annotators() -> None:
    tests = suite(1)[0]
    notes = [
        note(tests[0], share, name) for name, share in zip("abc", (0.5, 0.6, 0.7), strict=True)
    ]
    notes += [note(tests[1], 1.0, "a"), note(tests[1], None, "b"), note(tests[2], None, "a")]
    found = benchmark_report([], tests, notes, source="x").annotators["faithfulness"]
    assert (found.tests, found.nothing_to_rate, found.split) == (2, 1, 1)
    assert (found.several, found.pairs) == (1, 3)
    assert (found.largest_difference, found.mean_difference) == (0.2, 0.1333)


def test_the_papers_annotators_stand_beside() -> None:
    paper = report().published_annotators
    assert (paper.annotators, paper.largest_difference, paper.mean_difference) == (3, 0.125, 0.05)


@pytest.mark.parametrize(
    ("sources", "kind"),
    [
        (("human",), "human"),
        (("by construction",), "by construction"),
        (("human", "by construction"), "mixed"),
        ((), None),
    ],
)
def test_what_the_annotations_are_comes_first(sources: tuple[str, ...], kind: str | None) -> None:
    tests = suite(1)[0]
    notes = [
        note(tests[0], 1.0, annotator=source).model_copy(update={"source": source})
        for source in sources
    ]
    found = benchmark_report([score(tests[0].id, 1.0)], tests, notes, source="x")
    assert found.annotations == kind
    assert [run.annotations for run in found.runs] == [kind]
    written = json.loads(found.model_dump_json())
    assert list(written)[:2] == ["schema_version", "annotations"]
    assert found.notice.startswith("Annotations: ")
    assert ("by construction" in found.notice) == (kind in ("by construction", "mixed"))


def test_report_json_has_the_fields_that_were_promised() -> None:
    written = json.loads(report().model_dump_json())
    assert written["schema_version"] == 1
    assert set(written["runs"][0]) >= {
        "framework",
        "framework_version",
        "metric",
        "variant",
        "model",
        "threshold",
        "annotations",
        "tests",
        "scored",
        "success_rate",
        "mae",
        "spearman",
        "not_scored",
        "errors",
        "nothing_to_rate",
        "calls",
        "tokens",
        "by_type",
    }
    assert set(written["runs"][0]["by_type"]["Highest marks 1"]) >= {
        "tests",
        "scored",
        "success_rate",
    }
    assert BenchmarkReport.model_validate(written) == report()


def test_intervals_are_over_sets() -> None:
    tests, notes = suite(3)
    rows = [score(test.id, 1.0 if test.set_id == tests[0].set_id else 0.0) for test in tests]
    (run,) = benchmark_report(rows, tests, notes, source="x").runs
    assert run.interval is not None
    low, high = run.interval
    assert low <= (run.success_rate or 0) <= high
    assert low < 5  # two of three sets fail throughout, so a draw without the third gives nothing
    assert high > 95


def test_the_judge_stands_beside_on_the_same_tests() -> None:
    tests, notes = suite()
    rows = scores(tests, notes)
    found = benchmark_report(rows, tests, notes, source="x", judged=judged())
    assert found.judge == "lexical"
    by_id = {judgement.id: judgement for judgement in judged()}
    for run in found.runs:
        rated = [test for test in tests if test.test_type not in BARE_REFUSALS]
        passed = [test.outcomes(by_id[test.id])[run.metric] == "passed" for test in rated]
        assert run.judge is not None
        assert run.judge.tests == len(rated) == run.rated == 39
        assert run.judge.pass_rate == round(100 * sum(passed) / len(passed), 2)
    assert benchmark_report(rows, tests, notes, source="x").runs[0].judge is None


def test_panels_show_the_worst_of_a_square() -> None:
    rows, tests, notes = by_hand()
    twin = tests[0].model_copy(update={"id": "twin"})
    both = [*tests, twin]
    rows.append(score("twin", 0.1))
    view = benchmark_view(rows, both, [*notes, note(twin, 1.0)], source="x")
    (panel,) = view.panels
    grid = Grid.of(panel, both)
    assert grid.types[0] == "Highest marks 1"
    shown = [row[0].verdict for row in grid.rows if row[0] is not None]
    assert shown[0] == "failure"
    assert shown[1:] == [
        *["success"] * 2,
        *["failure"] * 2,
        *["not_scored"] * 2,
        "error",
        *["nothing_to_rate"] * 4,
        *["no_annotation"] * 3,
        "not_run",
    ]


def key(**given: str) -> RunKey:
    row = score("t", 1.0, **given)
    return RunKey.of(row)


def test_names_tell_runs_apart_and_say_no_more() -> None:
    assert run_names([key(), key(variant="legacy")]) == [
        "RAGAS faithfulness (collections)",
        "RAGAS faithfulness (legacy)",
    ]
    assert run_names([key(), key(framework_version="0.5.0")]) == [
        "RAGAS 0.4.3 faithfulness (collections)",
        "RAGAS 0.5.0 faithfulness (collections)",
    ]
    assert run_names([key(), key(model="llama")])[1].endswith("(collections), llama")
    assert len(set(run_names([key(), key(embedding_model="small")]))) == 2
