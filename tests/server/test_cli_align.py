"""``align`` and ``agreement`` as a user runs them: on runs over HTTP, on tables, on mistakes."""

from __future__ import annotations

import contextlib
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from command_line import EXAMPLES, Finished, run
from told import GRADES, script
from typer.testing import CliRunner

from grouse_adapters.cli.app import app
from grouse_adapters.core.metrics import METRIC_NAMES, METRICS
from grouse_adapters.testing import FirstAttempts, Garbage, ScriptedServer, When

ELSEWHERE = Path(__file__).parents[1] / "data" / "elsewhere"
DEV = Path(__file__).parents[1] / "data" / "unit_tests_dev.jsonl"
SAMPLES = ELSEWHERE / "samples.jsonl"
SHORT = [METRICS[name].short for name in METRIC_NAMES]


def table(path: Path, **changes: tuple[int | None, ...]) -> Path:
    """The told grades as people would write them down."""
    rows = {**GRADES, **{name.replace("_", "-"): grades for name, grades in changes.items()}}
    lines = [",".join(["id", *SHORT])]
    for name, grades in rows.items():
        cells = ("null" if grade is None else str(grade) for grade in grades)
        lines.append(",".join([name, *cells]))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture(name="runs", scope="module")
def _runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of two scripted judges over HTTP; the second stumbles over completeness once."""
    folder = tmp_path_factory.mktemp("runs")
    stumbles = When(lambda request: request.metric == "completeness", FirstAttempts(Garbage()))
    for name, faults, code in (("whole", (), 0), ("stumbling", (stumbles,), 3)):
        with ScriptedServer(script(), faults=list(faults)) as server:
            judge = ("--judge", f"judge-{name}", "--base-url", server.base_url, "--no-cache")
            ended = run("evaluate", EXAMPLES, *judge, "-q", "-o", name, cwd=folder)
        assert ended.code == code, ended
    return folder


def told(ended: Finished) -> dict[str, Any]:
    assert (ended.code, ended.stderr) == (0, ""), ended
    figures: dict[str, Any] = json.loads(ended.stdout)
    return figures


def refused(*arguments: str | Path, cwd: Path) -> str:
    """In this process: a mistake is found before anything that a process of its own would show."""
    with contextlib.chdir(cwd):
        ended = CliRunner().invoke(app, list(map(str, arguments)))
    assert (ended.exit_code, ended.stdout) == (2, ""), ended
    assert ended.stderr.startswith("Error: ")
    assert ended.stderr.count("\n") == 1
    return ended.stderr


def test_a_run_against_the_grades_it_was_told(runs: Path, tmp_path: Path) -> None:
    figures = told(run("align", runs / "whole", table(tmp_path / "p.csv"), "--json", cwd=tmp_path))
    assert (figures["judge"], figures["truth"], figures["samples"]) == ("judge-whole", "p", 13)
    for name in METRIC_NAMES:
        found = figures["metrics"][name]
        assert (found["equal"], found["failed_judge"], found["failed_truth"]) == (100.0, 0, 0)
        wide = name in ("answer_relevancy", "completeness")
        assert found["spearman" if wide else "macro_f1"] == pytest.approx(1)
        assert found["macro_f1" if wide else "spearman"] is None
        counted = sum(map(sum, found["confusion"]["counts"]))
        assert counted == sum(
            row["counts"][at][at]
            for row in [found["confusion"]]
            for at in range(len(row["labels"]))
        )


def test_a_failed_grade_is_counted_apart(runs: Path, tmp_path: Path) -> None:
    ended = run(
        "align", runs / "stumbling" / "judgements.jsonl", runs / "whole", "--json", cwd=tmp_path
    )
    figures = told(ended)
    found = figures["metrics"]["completeness"]
    assert (found["samples"], found["failed_judge"], found["failed_truth"]) == (13, 13, 0)
    assert (found["equal"], found["spearman"]) == (None, None)
    assert figures["metrics"]["usefulness"]["equal"] == 100.0


def test_the_truth_turns_the_matrices_and_no_figure(runs: Path, tmp_path: Path) -> None:
    people = table(tmp_path / "people.csv", wrong_citation_battery=(4, 5, None, 1, None, None))
    plain = told(run("align", runs / "whole", people, "--json", cwd=tmp_path))
    turned = told(run("align", runs / "whole", people, "--truth", "A", "--json", cwd=tmp_path))
    assert (turned["judge"], turned["truth"]) == (plain["truth"], plain["judge"])
    before, after = (f["metrics"]["faithfulness"] for f in (plain, turned))
    assert before["macro_f1"] == after["macro_f1"] < 1
    # 1 by people, 0 by the judge: row 1, column 0
    assert before["confusion"]["counts"][1][0] == after["confusion"]["counts"][0][1] == 1
    assert before["confusion"]["counts"][0][1] == after["confusion"]["counts"][1][0] == 0


def test_the_table_says_what_the_json_says(runs: Path, tmp_path: Path) -> None:
    people = table(tmp_path / "people.csv", partial_velos=(2, 3, None, 1, None, None))
    ended = run(
        "align", runs / "whole", people, "-o", "a.json", cwd=tmp_path, env={"COLUMNS": "100"}
    )
    assert (ended.code, ended.stderr) == (0, "")
    figures = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))
    found = figures["metrics"]["answer_relevancy"]
    line = next(text for text in ended.stdout.splitlines() if text.startswith("Answer relevancy"))
    assert line.split()[2:] == ["13", f"{found['equal']:.2f}", f"{found['spearman']:.3f}", "–", "–"]
    assert "Matrices: rows are the truth, columns the judge." in ended.stdout
    assert "a.json" in ended.stdout
    assert max(map(len, ended.stdout.splitlines())) <= 100


@pytest.mark.parametrize("columns", ["40", "80", "132"])
def test_a_plain_and_a_narrow_terminal_get_a_table_too(
    runs: Path, tmp_path: Path, columns: str
) -> None:
    ended = run(
        "agreement",
        runs / "whole",
        table(tmp_path / "people.csv"),
        cwd=tmp_path,
        env={"COLUMNS": columns, "PYTHONIOENCODING": "ascii"},
    )
    assert (ended.code, ended.stderr) == (0, "")
    assert "Krippendorff's alpha" in ended.stdout
    assert max(map(len, ended.stdout.splitlines())) <= int(columns)
    assert ended.stdout.count("100.00") >= 7  # a number is whole or not there


@pytest.mark.parametrize(
    "arguments",
    [
        ("deepeval/test_run.json", "deepeval/evaluation_result.json"),
        ("deepeval/test_run.json", "ragas/own_with_reasons.csv"),
        ("reference", "deepeval/scores.csv", "--in-order"),
        ("ragas/own_with_reasons.csv", "reference/evaluations.jsonl", "--in-order"),
    ],
)
def test_results_of_other_tools_align_with_each_other(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    one, other, *options = arguments
    ended = run(
        "align",
        ELSEWHERE / one,
        ELSEWHERE / other,
        "--tests",
        SAMPLES,
        *options,
        "--json",
        cwd=tmp_path,
    )
    figures = told(ended)
    assert figures["samples"] == 10
    assert {each["equal"] for each in figures["metrics"].values()} == {100.0}
    assert figures["metrics"]["faithfulness"]["failed_judge"] == 2


def test_a_native_metric_against_ours(tmp_path: Path) -> None:
    both = ELSEWHERE / "ragas" / "both.csv"
    truth = ELSEWHERE / "ragas" / "own_with_reasons.csv"
    shared = ("--tests", SAMPLES, "--column", "faithfulness=faithfulness", "--nan", "failed")
    threshold = ("--threshold", "faithfulness=0.9")
    figures = told(run("align", both, truth, *shared, *threshold, "--json", cwd=tmp_path))
    # the native metric calls every refusal faithful, where ours does not apply to a bare one
    counts = figures["metrics"]["faithfulness"]["confusion"]["counts"]
    assert counts == [[2, 0, 0], [0, 4, 0], [0, 2, 0]]
    message = refused("align", both, truth, *shared, cwd=tmp_path)
    assert "--threshold faithfulness=0.9" in message


def test_agreement_on_unit_tests_shows_the_rates_of_table_5(tmp_path: Path) -> None:
    tests = tmp_path / "tests.jsonl"
    shutil.copy(DEV, tests)
    for name, options in (("one", ()), ("two", ("--citations", "ignored"))):
        lexical = ("--judge", "lexical", "-q", "-o", name, *options)
        assert run("evaluate", tests, *lexical, cwd=tmp_path).code == 0
    # without ids a run knows a sample by its line and a test by its set: texts are what they share
    ended = run("agreement", "one", "two", "--tests", tests, "--json", cwd=tmp_path)
    figures = told(ended)
    assert (figures["samples"], figures["tests"], len(figures["pairs"])) == (16, 16, 1)
    rates = figures["pass_rate"]
    assert list(rates) == ["lexical (one)", "lexical (two)"]
    one, two = (rate["faithfulness"] for rate in rates.values())
    assert one != two
    assert figures["equal_outcomes"]["faithfulness"] < 100.0
    assert figures["equal_outcomes"]["completeness"] == 100.0
    assert figures["mean_pass_rate"]["faithfulness"] == pytest.approx((one + two) / 2, abs=0.005)
    shown = run("agreement", "one", "two", "--tests", tests, cwd=tmp_path)
    for heading in ("Tests passed, %", "Equal outcomes, %", "Equal grades, %"):
        assert heading in shown.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("align", "none.csv", "people.csv"), "none.csv does not exist"),
        (("align", "people.csv", "bare.csv"), "without ids or texts"),
        (("align", "people.csv", "bare.csv", "--in-order"), "no sample in common"),
        (("align", "people.csv", "people.csv", "--column", "F"), "not of the form METRIC=NAME"),
        (("align", "people.csv", "people.csv", "--column", "truth=F"), "Unknown metric 'truth'"),
        (
            ("align", "people.csv", "people.csv", "--column", "usefulness=points"),
            "No file has a column 'points'",
        ),
        (
            ("align", "people.csv", "people.csv", "--threshold", "completeness=0.5"),
            "completeness is graded 1-5",
        ),
        (
            ("align", "people.csv", "people.csv", "--threshold", "faithfulness=2"),
            "a share above 0 and up to 1",
        ),
        (
            ("align", "people.csv", "people.csv", *["--threshold", "faithfulness=0.5"] * 2),
            "names faithfulness twice",
        ),
        (
            ("align", "people.csv", "people.csv", "--tests", "none.jsonl"),
            "none.jsonl does not exist",
        ),
        (
            ("align", "people.csv", "people.csv", "-o", "people.csv/a.json"),
            "choose another --output",
        ),
        (("agreement", "people.csv"), "two files of grades or more"),
        (("agreement", "people.csv", "people.csv"), "named twice"),
    ],
)
def test_mistakes_are_one_sentence(
    tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    table(tmp_path / "people.csv")
    (tmp_path / "bare.csv").write_text("F\n1\n0\n", encoding="utf-8")
    assert message in refused(*arguments, cwd=tmp_path)


def test_the_help_of_both_names_their_options(tmp_path: Path) -> None:
    for name in ("align", "agreement"):
        ended = run(name, "--help", cwd=tmp_path, env={"COLUMNS": "100"})
        assert ended.code == 0
        for option in ("--tests", "--column", "--threshold", "--nan", "--scale", "--in-order"):
            assert option in ended.stdout
