"""The tables on the terminal: readable at any width and encoding, and safe to print."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator

import pytest
from rich.cells import cell_len
from rich.console import Console

from grouse_adapters.core.grades import Failed, Grade, Graded, Judgement, NotApplicable, Usage
from grouse_adapters.core.metrics import METRIC_NAMES, METRICS, MetricName
from grouse_adapters.core.sample import Sample
from grouse_adapters.report.aggregates import Aggregator, MetricSummary, Report
from grouse_adapters.report.terminal import print_samples, print_totals

NOT_APPLICABLE = NotApplicable(reason="the answer refuses")
TIMEOUT = Failed(error_kind="timeout", error="no reply within 60 s")
DEPENDENT = Failed(error_kind="dependency", error="answer relevancy failed")
ALL_BEST: dict[MetricName, Grade] = {
    name: Graded(value=METRICS[name].scale.values[-1]) for name in METRIC_NAMES
}
CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def row(
    grades: dict[MetricName, Grade] | None = None,
    *,
    question: str = "When does the ferry leave?",
    key: str | None = "ferry",
) -> Judgement:
    sample = Sample(input=question, actual_output="At noon [1].")
    return Judgement(id=key, sample=sample, grades={**ALL_BEST, **(grades or {})}, judge="any")


def samples_text(*rows: Judgement, width: int = 100, total: int | None = None) -> str:
    stream = io.StringIO()
    console = Console(file=stream, width=width)
    print_samples(console, rows, len(rows) if total is None else total, rest_in="run/rows.jsonl")
    return stream.getvalue()


def a_report(**changes: object) -> Report:
    aggregator = Aggregator()
    aggregator.add(row({"completeness": Graded(value=3), "usefulness": NOT_APPLICABLE}))
    aggregator.add(row({"completeness": Graded(value=4), "usefulness": TIMEOUT}))
    report = aggregator.report(command="evaluate", judge="judge-of-ferries")
    return report.model_copy(update=changes)


def totals_text(report: Report, *, width: int = 100, files: tuple[str, ...] = ()) -> str:
    stream = io.StringIO()
    print_totals(Console(file=stream, width=width), report, files)
    return stream.getvalue()


def test_each_kind_of_grade_has_its_own_sign() -> None:
    text = samples_text(
        row(
            {
                "answer_relevancy": Graded(value=4),
                "usefulness": NOT_APPLICABLE,
                "faithfulness": TIMEOUT,
            }
        )
    )
    first = next(line for line in text.splitlines() if line.startswith("ferry"))
    assert first.split()[1:7] == ["4", "5", "–", "!", "1", "1"]


def test_grades_are_coloured_by_how_good_they_are() -> None:
    stream = io.StringIO()
    console = Console(
        file=stream, width=100, force_terminal=True, color_system="standard", no_color=False
    )
    grades: dict[MetricName, Grade] = {
        "answer_relevancy": Graded(value=5),
        "completeness": Graded(value=3),
        "usefulness": NOT_APPLICABLE,
        "faithfulness": Graded(value=0),
        "positive_acceptance": TIMEOUT,
    }
    print_samples(console, [row(grades)], 1)
    cells = dict.fromkeys(["32m 5", "33m3", "2m–", "31m0", "1;35m !"])
    assert [cell for cell in cells if f"\x1b[{cell}\x1b[0m" not in stream.getvalue()] == []


def test_the_worst_grade_is_explained() -> None:
    text = samples_text(
        row(
            {
                "answer_relevancy": Graded(value=4, justification="A little beside the point."),
                "faithfulness": Graded(value=0, justification="Sentence 2 has no citation."),
            }
        )
    )
    assert "F: Sentence 2 has no citation." in text
    assert "beside the point" not in text


def test_a_failure_is_explained_by_the_call_that_failed_not_by_what_depended_on_it() -> None:
    text = samples_text(
        row(
            {
                "answer_relevancy": DEPENDENT,
                "completeness": Graded(value=1, justification="Nothing is there."),
                "faithfulness": TIMEOUT,
            }
        )
    )
    assert "F failed (timeout): no reply within 60 s" in text
    assert "AR failed" not in text


def test_a_low_grade_without_a_justification_says_what_is_missing() -> None:
    text = samples_text(row({"faithfulness": Graded(value=0)}), width=132)
    assert "every statement is cited" in text


def test_nothing_is_said_about_an_answer_without_fault() -> None:
    text = samples_text(row({"faithfulness": Graded(value=1, justification="All cited.")}))
    assert "All cited" not in text


def test_only_metrics_that_were_asked_for_have_a_column() -> None:
    sample = Sample(input="When?", actual_output="At noon.")
    one = Judgement(id="a", sample=sample, grades={"completeness": Graded(value=4)}, judge="any")
    header = samples_text(one).splitlines()[0]
    assert header.split() == ["Sample", "C", "Why"]


def test_no_more_rows_are_read_than_shown_and_the_rest_is_pointed_at() -> None:
    def endless() -> Iterator[Judgement]:
        number = 0
        while True:
            number += 1
            assert number <= 3, "a row was read that is not shown"
            yield row(key=f"sample-{number}")

    stream = io.StringIO()
    console = Console(file=stream, width=100)
    print_samples(console, endless(), 1003, 3, rest_in="run/rows.jsonl")
    assert "sample-3" in stream.getvalue()
    assert "1,000 more in run/rows.jsonl" in stream.getvalue()


def test_nothing_is_printed_without_rows() -> None:
    assert samples_text() == ""


HOSTILE = "\x1b[2J\x1b]0;title\x07 [red]hi[/red] [/] :skull: \r\b\x9b31m \u202eevil\u2066 \x00 end"


def test_sample_text_is_neither_markup_nor_control_codes() -> None:
    failed = Failed(error_kind="internal", error=HOSTILE)
    text = samples_text(row({"faithfulness": failed}, question=HOSTILE, key=HOSTILE), width=132)
    text += totals_text(a_report(judge=HOSTILE), files=(HOSTILE,))
    assert CONTROL.search(text) is None
    assert "[red]hi[/red]" in text
    assert ":skull:" in text


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252", "utf-8", "koi8-r"])
@pytest.mark.parametrize("width", [24, 60, 80, 132])
def test_every_encoding_can_be_written(encoding: str, width: int) -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding, errors="strict")
    console = Console(file=stream, width=width)
    grade = Graded(value=0, justification="Satz 2 hält sich nicht an „[1]“ … 日本語 " * 9)
    print_samples(console, [row({"faithfulness": grade}, question="Où est l’été — 東京? " * 9)], 7)
    print_totals(console, a_report(), ["ausgabe/überblick.json"])
    stream.flush()
    text = raw.getvalue().decode(encoding)
    assert "AR" in text
    assert ("░" in text) == (encoding == "utf-8" and width >= 80)


@pytest.mark.parametrize("width", [60, 72, 80, 100, 120, 200])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    long = "ein-sehr-langes-Wort-ohne-Leerzeichen" * 5 + " und 日本語の長い文章です" * 5
    rows = [row({"completeness": Graded(value=2, justification=long)}, question=long, key=long)]
    text = samples_text(*rows, width=width) + totals_text(a_report(judge="m" * 20), width=width)
    assert max(cell_len(line) for line in text.splitlines()) <= width


def test_totals_show_means_in_their_own_unit_bars_and_counts() -> None:
    lines = totals_text(a_report()).splitlines()
    completeness = next(line for line in lines if line.startswith("Completeness"))
    assert completeness.split()[1:4] == ["3.50", "/", "5"]
    assert completeness.count("█") == round((3.5 - 1) / 4 * 20)
    assert completeness.split()[-3:] == ["2", "0", "0"]
    usefulness = next(line for line in lines if line.startswith("Usefulness"))
    assert usefulness.split()[1:] == ["–", "0", "1", "1"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, "2 samples (1 failed) · no model calls"),
        ({"llm_calls": 1, "cost": 1.5}, "1 call · 0 tokens in, 0 out · $1.50"),
        ({"cached_calls": 9}, "9 from the cache"),
        ({"llm_calls": 8, "cost": 0.01234}, "$0.0123"),
        ({"llm_calls": 8, "cost": None}, "price unknown"),
        ({"llm_calls": 8, "cost": 2.0, "cost_is_partial": True}, "at least $2.00"),
        (
            {"llm_calls": 8, "usage": Usage(input_tokens=41203, output_tokens=812)},
            "8 calls · 41,203 tokens in, 812 out",
        ),
    ],
)
def test_the_closing_line_says_what_was_spent(changes: dict[str, object], said: str) -> None:
    text = totals_text(a_report(**changes), width=132)
    assert "Judge judge-of-ferries · " in text
    assert said in text


def test_files_are_named_unbroken() -> None:
    path = "a-folder-with-a-long-name/" * 6 + "report.json"
    assert path in totals_text(a_report(), width=60, files=("run/rows.jsonl", path))


def test_an_empty_report_is_printed() -> None:
    summary = MetricSummary(mean=None, graded=0, not_applicable=0, failed=0)
    text = totals_text(a_report(samples=0, metrics={"faithfulness": summary}))
    assert "nan" not in text.lower()
