"""``grouse-adapters evaluate`` as a user runs it, against a real HTTP server."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command_line import EXAMPLES, Finished, read_report, read_rows, run, write_lines
from told import CALLS, GRADES, MEANS, SAMPLES, script

from grouse_adapters.core.grades import Judgement
from grouse_adapters.core.metrics import METRIC_NAMES
from grouse_adapters.testing import Script, ScriptedServer

MODEL = "judge-9"
ROW_KEYS = {
    "schema_version",
    "id",
    "sample",
    "grades",
    "sentences",
    "judge",
    "prompt_fingerprint",
    "llm_calls",
    "cached_calls",
    "usage",
    "cost",
}
GRADE_KEYS = {
    "graded": {"kind", "value", "justification"},
    "not_applicable": {"kind", "reason"},
    "failed": {"kind", "error_kind", "error", "raw_reply"},
}
REFERENCE_FORM = """\
House rules. Write {"answer_1": {"METRIC": 1}, "answer_2": {"METRIC": 1}}.
ASKED{% for context in contexts %}({{ loop.index }}) {{ context }}
{% endfor %}First: {{ expected_output }}
Second: {{ actual_output }}
"""


@pytest.fixture(name="server")
def _server() -> Iterator[ScriptedServer]:
    with ScriptedServer(script()) as running:
        yield running
        assert running.script_errors == ()


def evaluate(
    server: ScriptedServer, folder: Path, *options: str | Path, samples: Path = EXAMPLES
) -> Finished:
    """Runs the command next to ``folder``, with the judge that the server serves."""
    judge = ("--judge", MODEL, "--base-url", server.base_url)
    return run("evaluate", samples, *judge, "--output-dir", folder, *options, cwd=folder.parent)


def values(row: dict[str, Any]) -> tuple[int | None, ...]:
    return tuple(row["grades"][name].get("value") for name in METRIC_NAMES)


def test_gives_the_grades_that_the_server_was_told(server: ScriptedServer, tmp_path: Path) -> None:
    ended = evaluate(server, tmp_path / "run")
    assert ended.code == 0, ended
    rows = read_rows(tmp_path / "run")
    assert {row["id"]: values(row) for row in rows} == GRADES
    assert len(rows) == len(GRADES)
    assert server.calls == CALLS == sum(row["llm_calls"] for row in rows)
    assert {request.body["model"] for request in server.requests} == {MODEL}


def test_writes_the_files_that_the_documentation_describes(
    server: ScriptedServer, tmp_path: Path
) -> None:
    evaluate(server, tmp_path / "run")
    assert {entry.name for entry in (tmp_path / "run").iterdir()} == {
        "run.json",
        "judgements.jsonl",
        "report.json",
        "report.html",
    }
    by_id = {sample["id"]: sample for sample in SAMPLES}
    fields = ("input", "references", "expected_output", "actual_output", "metadata")
    for row in read_rows(tmp_path / "run"):
        Judgement.model_validate(row)
        assert set(row) == ROW_KEYS
        assert {field: row["sample"][field] for field in fields} == {
            field: by_id[row["id"]][field] for field in fields
        }
        assert list(row["grades"]) == list(METRIC_NAMES)
        assert all(set(grade) == GRADE_KEYS[grade["kind"]] for grade in row["grades"].values())
        assert bool(row["sentences"]) == (row["grades"]["faithfulness"]["kind"] == "graded")
    report = read_report(tmp_path / "run")
    assert set(report) == {
        "schema_version",
        "command",
        "judge",
        "samples",
        "failed_samples",
        "llm_calls",
        "cached_calls",
        "usage",
        "cost",
        "cost_is_partial",
        "metrics",
    }
    assert (report["command"], report["judge"], report["samples"]) == ("evaluate", MODEL, 13)
    assert (report["llm_calls"], report["failed_samples"]) == (CALLS, 0)
    assert report["cost"] is None  # nobody knows what a server of one's own costs
    for place, name in enumerate(METRIC_NAMES):
        summary = report["metrics"][name]
        graded = sum(told[place] is not None for told in GRADES.values())
        assert summary == {
            "mean": pytest.approx(MEANS[name]),
            "graded": graded,
            "not_applicable": 13 - graded,
            "failed": 0,
        }


def test_shows_the_samples_the_means_and_the_files(server: ScriptedServer, tmp_path: Path) -> None:
    ended = evaluate(server, tmp_path / "run")
    assert "perfect-sourdough" in ended.stdout
    assert "Said by the scripted judge." in ended.stdout
    totals = ended.stdout[ended.stdout.index("Answer relevancy ") :]
    assert "4.12 / 5" in totals.splitlines()[0]
    assert "0.70 / 1" in totals
    assert f"Judge {MODEL} · 13 samples · {CALLS} calls" in totals
    assert str(tmp_path / "run" / "judgements.jsonl") in totals
    assert str(tmp_path / "run" / "report.json") in totals
    table = ended.stdout[: ended.stdout.index("Files ")]
    assert max(map(len, table.splitlines())) <= 80  # paths alone may be longer: they are copied


def test_only_the_wanted_metrics_are_paid_for(server: ScriptedServer, tmp_path: Path) -> None:
    evaluate(server, tmp_path / "one", "--metrics", "completeness", "--no-cache")
    assert server.calls == 13
    assert {tuple(row["grades"]) for row in read_rows(tmp_path / "one")} == {("completeness",)}
    assert set(read_report(tmp_path / "one")["metrics"]) == {"completeness"}
    evaluate(server, tmp_path / "two", "--metrics", "negative-rejection,completeness", "--no-cache")
    # The derived one comes from relevancy and completeness, where there is an expected answer.
    assert server.calls == 13 + 13 + 12
    assert {tuple(row["grades"]) for row in read_rows(tmp_path / "two")} == {
        ("completeness", "negative_rejection")
    }


def test_limit_takes_the_first_samples(server: ScriptedServer, tmp_path: Path) -> None:
    ended = evaluate(server, tmp_path / "run", "--limit", "2")
    assert ended.code == 0
    assert {row["id"] for row in read_rows(tmp_path / "run")} == set(list(GRADES)[:2])
    assert read_report(tmp_path / "run")["samples"] == 2


def test_a_single_call_gives_the_same_grades(server: ScriptedServer, tmp_path: Path) -> None:
    ended = evaluate(server, tmp_path / "run", "--strategy", "single-call")
    assert ended.code == 0
    assert {row["id"]: values(row) for row in read_rows(tmp_path / "run")} == GRADES
    assert server.calls == 13
    assert {len(request.metrics) for request in server.requests} == {4}


def test_switches_change_what_the_judge_reads(server: ScriptedServer, tmp_path: Path) -> None:
    def prompts_with(*options: str) -> dict[str | None, str]:
        server.reset()
        folder = tmp_path / "-".join(("run", *options))
        ended = evaluate(server, folder, "--limit", "1", *options)
        assert ended.code == 0, ended
        assert values(read_rows(folder)[0])[:4] == GRADES["perfect-sourdough"][:4]
        return {request.metric: request.prompt for request in server.requests}

    plain = prompts_with()
    assert "naming the source of each statement" in plain["faithfulness"]
    ignored = prompts_with("--citations", "ignored")
    assert "naming the source of each statement" not in ignored["faithfulness"]
    assert "criterion_1" in plain["faithfulness"]
    assert "criterion_1" not in ignored["faithfulness"]
    bare = prompts_with("--no-justification")
    assert "completeness_justification" in plain["completeness"]
    assert "completeness_justification" not in bare["completeness"]
    short = prompts_with("--no-reasoning")
    assert "answer_affirms_no_document_answers" in plain["answer_relevancy"]
    assert "answer_affirms_no_document_answers" not in short["answer_relevancy"]
    alone = prompts_with("--no-expected-answer")
    expected = SAMPLES[0]["expected_output"]
    assert expected in plain["completeness"]
    assert expected not in alone["completeness"]


def test_a_folder_of_prompts_in_the_reference_form(server: ScriptedServer, tmp_path: Path) -> None:
    folder = tmp_path / "prompts"
    folder.mkdir()
    for metric in ("answer_relevancy", "completeness", "usefulness", "faithfulness"):
        asked = "" if metric == "faithfulness" else "Asked: {{ input }}\n"
        text = REFERENCE_FORM.replace("METRIC", metric).replace("ASKED", asked)
        (folder / f"{metric}.txt.jinja").write_text(text, encoding="utf-8")
    ended = evaluate(server, tmp_path / "run", "--prompts", folder)
    rows = {row["id"]: row for row in read_rows(tmp_path / "run")}
    # Such templates cannot do without an expected answer, and one sample has none.
    failed = rows.pop("no-expected-answer-compost")["grades"]["faithfulness"]
    assert ended.code == 3
    assert (failed["kind"], failed["error_kind"]) == ("failed", "dependency")
    assert {key: values(row) for key, row in rows.items()} == {key: GRADES[key] for key in rows}
    assert len(rows) == 12
    assert {request.prompt.split(".")[0] for request in server.requests} == {"House rules"}


@pytest.mark.parametrize(
    ("thresholds", "code", "said"),
    [
        (["faithfulness=0.7"], 0, None),
        (["faithfulness=0.75"], 1, "faithfulness is 0.7, wanted at least 0.75"),
        (["completeness=3", "usefulness=0.6"], 1, "usefulness is 0.5, wanted at least 0.6"),
    ],
)
def test_a_mean_below_a_threshold_ends_with_1(
    server: ScriptedServer, tmp_path: Path, thresholds: list[str], code: int, said: str | None
) -> None:
    options = [part for threshold in thresholds for part in ("--fail-under", threshold)]
    ended = evaluate(server, tmp_path / "run", *options, "--quiet")
    assert ended.code == code
    assert ended.stderr == (f"Below threshold: {said}.\n" if said else "")


def test_an_empty_mean_is_below_every_threshold(server: ScriptedServer, tmp_path: Path) -> None:
    ended = evaluate(server, tmp_path / "run", "--limit", "1", "--fail-under", "usefulness=0")
    assert ended.code == 1
    assert "usefulness has no graded sample" in ended.stderr
    assert read_report(tmp_path / "run")["metrics"]["usefulness"]["mean"] is None


def test_json_is_all_that_standard_output_holds(server: ScriptedServer, tmp_path: Path) -> None:
    ended = evaluate(server, tmp_path / "run", "--json")
    assert json.loads(ended.stdout) == read_report(tmp_path / "run")
    assert ended.stderr == ""


def test_quiet_says_nothing(server: ScriptedServer, tmp_path: Path) -> None:
    ended = evaluate(server, tmp_path / "run", "--quiet")
    assert (ended.code, ended.stdout, ended.stderr) == (0, "", "")
    assert len(read_rows(tmp_path / "run")) == 13


def test_what_was_paid_for_once_is_kept(server: ScriptedServer, tmp_path: Path) -> None:
    evaluate(server, tmp_path / "first")
    assert evaluate(server, tmp_path / "second").code == 0
    assert server.calls == CALLS
    report = read_report(tmp_path / "second")
    assert (report["llm_calls"], report["cached_calls"], report["cost"]) == (0, CALLS, 0)
    assert report["metrics"] == read_report(tmp_path / "first")["metrics"]
    evaluate(server, tmp_path / "third", "--no-cache")
    assert server.calls == 2 * CALLS


def test_no_cache_leaves_no_file(server: ScriptedServer, tmp_path: Path) -> None:
    evaluate(server, tmp_path / "run", "--limit", "1", "--no-cache")
    assert {entry.name for entry in tmp_path.iterdir()} == {"run"}
    evaluate(server, tmp_path / "other", "--limit", "1")
    assert (tmp_path / "cache" / "grouse-adapters" / "replies.sqlite").exists()


@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf"], ids=["plain", "byte order mark"])
def test_reads_gzip(server: ScriptedServer, tmp_path: Path, start: bytes) -> None:
    packed = tmp_path / "samples.jsonl.gz"
    packed.write_bytes(gzip.compress(start + EXAMPLES.read_bytes()))
    assert evaluate(server, tmp_path / "run", samples=packed).code == 0
    assert {row["id"]: values(row) for row in read_rows(tmp_path / "run")} == GRADES


def test_answers_that_never_cite_are_pointed_out_once(tmp_path: Path) -> None:
    rows = [{**sample, "actual_output": "It is so."} for sample in SAMPLES[:4]]
    samples = write_lines(tmp_path / "bare.jsonl", rows)
    with ScriptedServer(Script(default={"answer_relevancy": 5, "faithfulness": 0})) as server:
        ended = evaluate(server, tmp_path / "run", samples=samples)
        notes = [line for line in ended.stderr.splitlines() if line.startswith("Note:")]
        assert len(notes) == 1
        assert "--citations ignored" in notes[0]
        for other in (
            evaluate(server, tmp_path / "ignored", "--citations", "ignored", samples=samples),
            evaluate(server, tmp_path / "other", "--metrics", "completeness", samples=samples),
            evaluate(server, tmp_path / "citing"),
        ):
            assert other.code == 0
            assert "Note:" not in other.stderr


def test_a_price_makes_a_cost(server: ScriptedServer, tmp_path: Path) -> None:
    ended = evaluate(server, tmp_path / "run", "--price", "2,10")
    report = read_report(tmp_path / "run")
    usage = report["usage"]
    assert usage["input_tokens"] > 0 < usage["output_tokens"]
    dollars = (2 * usage["input_tokens"] + 10 * usage["output_tokens"]) / 1_000_000
    assert report["cost"] == pytest.approx(dollars)
    assert f"${dollars:.2f}" in ended.stdout


def test_the_judge_may_be_named_in_the_environment(server: ScriptedServer, tmp_path: Path) -> None:
    env = {"GROUSE_JUDGE": MODEL, "OPENAI_BASE_URL": server.base_url}
    ended = run("evaluate", EXAMPLES, cwd=tmp_path, env=env)
    assert ended.code == 0
    assert server.calls == CALLS
    (folder,) = (tmp_path / "grouse-runs").iterdir()
    assert folder.name.startswith(f"samples-{MODEL}-")
    assert read_report(folder)["judge"] == MODEL
    assert str(Path("grouse-runs") / folder.name / "report.json") in ended.stdout
    assert run("evaluate", EXAMPLES, cwd=tmp_path, env=env).code == 0
    assert len(list((tmp_path / "grouse-runs").iterdir())) == 2


def test_without_a_judge_the_lexical_one_says_that_it_judges(tmp_path: Path) -> None:
    ended = run("evaluate", EXAMPLES, "--limit", "3", cwd=tmp_path)
    assert ended.code == 0
    assert ended.stderr.count("Note: ") == 1
    assert "lexical" in ended.stderr
    named = run("evaluate", EXAMPLES, "--limit", "3", "--judge", "lexical", cwd=tmp_path)
    assert "Note:" not in named.stderr
