"""The server of ``annotate``: what it keeps, what it tells whom, and whom it refuses."""

from __future__ import annotations

import itertools
import json
import os
import re
import socket
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from annotate_process import (
    ANSWERS,
    CONDITIONS,
    EXPECTED,
    OPENING,
    Annotating,
    answers_file,
    rated,
)
from command_line import read_lines, run, write_lines
from typer.testing import CliRunner

from grouse_adapters.cli.app import app
from grouse_adapters.core.errors import InputError
from grouse_adapters.meta.elsewhere import read_judged
from grouse_adapters.meta.sources import load_tests
from grouse_adapters.native.annotations import read_annotations
from grouse_adapters.native.shares import check_annotations

MILL, MUSEUM = ANSWERS["mill/14"], ANSWERS["museum/1"]
FILE, LOG, SESSION = "annotations.jsonl", "annotations.log.jsonl", ".annotations.session"


@pytest.fixture
def tests(tmp_path: Path) -> Path:
    return answers_file(tmp_path)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Annotating]:
    """One server for requests that change nothing: starting takes a second or two."""
    folder = tmp_path_factory.mktemp("shared")
    with Annotating(answers_file(folder), cwd=folder) as running:
        yield running


def rate_all(running: Annotating, annotator: str, **more: object) -> None:
    for answer, task in running.answers(annotator).items():
        labels = {MILL: ["yyy", "yny", "nyy"], MUSEUM: ["yyy", "yyy"]}.get(answer, [])
        reply = running.save(annotator, task["key"], rated(task, *labels, **more))
        assert reply.status == 200, reply.text
        assert reply.json["state"] == "done"


def test_answers_are_cut_and_refusals_left_out(shared: Annotating) -> None:
    answers = shared.answers("Ada")
    assert set(answers) == set(ANSWERS.values())
    mill = answers[MILL]
    assert [(s["text"], s["citations"]) for s in mill["draft"]["statements"]] == [
        ("The mill opens at nine", [1]),
        ("It closes at six", [1]),
        ("Dogs come in free", [2]),
    ]
    assert {(s["relevant"], s["faithful"]) for s in mill["draft"]["statements"]} == {(None, None)}
    assert answers[OPENING]["draft"]["statements"] == []
    assert answers[OPENING]["left_out"] == [OPENING]


def test_an_uncited_statement_starts_with_its_citation_wrong(tmp_path: Path) -> None:
    tests = answers_file(tmp_path, {"a/1": "The mill opens at nine. It closes at six [1]."})
    with Annotating(tests, cwd=tmp_path) as running:
        (task,) = running.answers("Ada").values()
    assert [s["citation_right"] for s in task["draft"]["statements"]] == [False, None]


def test_what_is_finished_is_an_annotation(tests: Path, tmp_path: Path) -> None:
    with Annotating(tests, cwd=tmp_path) as running:
        rate_all(running, "Ada")
        found = {row.test_id: row for row in read_annotations(tmp_path / FILE)}
        check_annotations(load_tests(str(tests)).tests, list(found.values()))
        assert {row.source for row in found.values()} == {"human"}
        assert found["ferry/5"].statements == ()
        statements = found["mill/14"].statements
        assert statements is not None
        assert [(s.text, s.relevant, s.faithful, s.citation_right) for s in statements] == [
            ("The mill opens at nine", True, True, True),
            ("It closes at six", True, False, True),
            ("Dogs come in free", False, True, True),
        ]
        # an answer that is taken up again is not finished until it is said to be
        mill = running.answers("Ada")[MILL]
        running.save("Ada", mill["key"], {**mill["draft"], "state": "open"}, base=1)
        assert {row.test_id for row in read_annotations(tmp_path / FILE)} == {"ferry/5", "museum/1"}
        ended = running.interrupt()
    assert ended.code == 0
    assert "Ada: 2 of 3 answers done" in ended.stdout
    assert f"Annotations are in {FILE}." in ended.stdout
    assert ended.stderr == ""


def test_the_page_never_learns_what_decides_a_test(tests: Path, tmp_path: Path) -> None:
    with Annotating(tests, "--grades", cwd=tmp_path) as running:
        begun = running.begin("Ada")
        told = json.dumps([begun, *running.answers("Ada").values()])
    for secret in (EXPECTED, CONDITIONS["faithfulness_condition"], "Highest marks", "secret goal"):
        assert secret not in told
    for name in ANSWERS:  # the number behind the slash is the type
        assert name not in told


def test_annotators_are_blind_to_each_other(tests: Path, tmp_path: Path) -> None:
    with Annotating(tests, cwd=tmp_path) as running:
        before = running.answers("Bo")
        mill = running.answers("Ada")[MILL]
        draft = rated(mill, "nnn", "nnn", "nnn")
        draft["statements"][0]["text"] = "Ada was here"
        assert running.save("Ada", mill["key"], draft).status == 200
        assert running.answers("Bo") == before
        assert {test["state"] for test in running.begin("Bo")["tests"]} == {"new"}
        # Ada's names of the answers are not Bo's
        assert running.ask("show", {"annotator": "Bo", "key": mill["key"]}).status == 404
        assert running.told("agreement", annotator="Bo")["report"] is None


def test_each_annotator_has_an_order_that_stays(tmp_path: Path) -> None:
    shared = {"input": "What?", "references": ["One.", "Two."]}
    rows = [
        {**shared, "id": f"{group}{n}", "input": f"{group}?", "actual_output": f"{group} {n} [1]."}
        for group in "abcd"
        for n in range(4)
    ]
    samples = write_lines(tmp_path / "samples.jsonl", rows)
    with Annotating(samples, cwd=tmp_path) as running:
        orders = {who: list(running.answers(who)) for who in ("Ada", "Bo", "Eve")}
        assert orders["Ada"] == list(running.answers("Ada"))
    assert len({tuple(order) for order in orders.values()}) == 3
    for order in orders.values():
        groups = [answer[0] for answer in order]
        assert sum(one != other for one, other in itertools.pairwise(groups)) == 3


def test_names(tests: Path, tmp_path: Path) -> None:
    built = {"test_id": "mill/14", "annotator": "scenario", "source": "by construction"}
    write_lines(tmp_path / FILE, [{**built, "statements": []}])
    with Annotating(tests, cwd=tmp_path) as running:
        rate_all(running, "Ada  Lovelace")
        assert running.begin(" ada lovelace ")["annotator"] == "Ada Lovelace"
        for name, told in (
            (" ", "Give your name."),
            ("x" * 61, "at most 60 characters"),
            ("a\u202eb", "can be printed"),
            ("Scenario", "stands for labels by construction"),
        ):
            reply = running.ask("begin", {"annotator": name})
            assert reply.status == 400
            assert told in reply.json["error"]
    rows = read_annotations(tmp_path / FILE)
    assert [row.annotator for row in rows] == ["scenario", *["Ada Lovelace"] * 3]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example:8720"}, 403),
        ({"Host": "127.0.0.1"}, 403),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec_Fetch_Site": "cross-site"}, 403),
        ({"Sec_Fetch_Site": "same-site"}, 403),
        ({"Origin": "https://evil.example", "Content_Type": "text/plain"}, 403),
        ({"Content_Type": "text/plain"}, 415),
        ({"Content_Type": "application/x-www-form-urlencoded"}, 415),
        ({"X_Annotate_Token": ""}, 401),
        ({"X_Annotate_Token": "guess"}, 401),
        ({"X_Annotate_Token": "gu\u00e9ss"}, 401),
        ({}, 200),
        ({"Sec_Fetch_Site": "same-origin"}, 200),
    ],
)
def test_who_is_refused(shared: Annotating, headers: dict[str, str], status: int) -> None:
    reply = shared.ask("begin", {"annotator": "Ada"}, **headers)
    assert reply.status == status
    assert reply.headers["X-Content-Type-Options"] == "nosniff"
    if status != 200:
        assert "tests" not in reply.json
    own = {"Origin": f"http://127.0.0.1:{shared.port}"}
    assert shared.ask("begin", {"annotator": "Ada"}, **own).status == 200


def test_odd_requests(tests: Path, tmp_path: Path) -> None:
    with Annotating(tests, cwd=tmp_path) as running:
        key = running.begin("Ada")["tests"][0]["key"]
        headers = {"X-Annotate-Token": running.token}
        assert running.send("GET", "/api/begin", None, headers).status in (403, 405, 415)
        assert running.send("GET", "/annotate.css/../secret", None, {}).status == 404
        assert running.ask("begin", "{").status == 400
        assert running.ask("begin", "[" * 100_000).status == 400
        assert running.ask("begin", '{"annotator": "\\ud800"}').status == 400
        assert running.ask("begin", {"annotator": "Ada", "as": "Bo"}).status == 400
        assert running.ask("begin", {"annotator": "A" * 5_000_000}).status == 413
        for draft in (
            {"state": "open", "statements": [{"text": "x", "relevant": "yes"}]},
            {"state": "open", "statements": [{"text": "\ud800"}]},
            {"state": "open", "grades": {"faithfulness": 2}},
            {"state": "open", "grades": {"positive_acceptance": 1}},
            {"state": "done", "statements": []},
        ):
            assert running.save("Ada", key, draft).status == 400
        assert not (tmp_path / LOG).read_bytes()


def test_the_page_holds_no_secret_and_no_inline_code(shared: Annotating) -> None:
    page = shared.send("GET", "/", None, {})
    assert page.status == 200
    policy = page.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert shared.token not in page.text
    assert not re.search(r"<script>|<style|style=|\bon[a-z]+=", page.text)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have one loopback address")
def test_another_address_of_the_machine_does_not_answer(shared: Annotating) -> None:
    with (
        pytest.raises(ConnectionRefusedError),
        socket.create_connection(("127.0.0.2", shared.port), timeout=5),
    ):
        pass


def test_a_kill_loses_nothing_and_keeps_the_address(tests: Path, tmp_path: Path) -> None:
    with Annotating(tests, cwd=tmp_path) as running:
        mill = running.answers("Ada")[MILL]
        draft = rated(mill, "yyy", "yny", "nyy")
        for revision in range(3):
            draft["statements"][0]["text"] = f"Version {revision}"
            reply = running.save("Ada", mill["key"], draft, base=revision)
            assert reply.json["revision"] == revision + 1
        running.kill()
        first = running.address
    log = tmp_path / LOG
    whole = log.read_bytes()
    log.write_bytes(whole + whole.splitlines()[0][:100])  # as if it had died while writing
    session = tmp_path / SESSION
    if sys.platform != "win32":
        assert stat.S_IMODE(session.stat().st_mode) == 0o600
    (tmp_path / FILE).unlink()
    with Annotating(tests, cwd=tmp_path, own_port=False) as running:
        assert running.address == first
        assert log.read_bytes() == whole
        assert running.answers("Ada")[MILL]["draft"]["statements"][0]["text"] == "Version 2"
        assert len(read_annotations(tmp_path / FILE)) == 1
        assert running.interrupt().code == 0
    assert not session.exists()
    with Annotating(tests, cwd=tmp_path) as running:
        assert running.token not in first


def test_a_row_without_its_line_break_is_whole(tests: Path, tmp_path: Path) -> None:
    with Annotating(tests, cwd=tmp_path) as running:
        rate_all(running, "Ada")
        running.kill()
    log = tmp_path / LOG
    whole = log.read_bytes()
    log.write_bytes(whole.rstrip(b"\n"))
    with Annotating(tests, cwd=tmp_path) as running:
        rate_all(running, "Bo")
        running.kill()
    assert log.read_bytes().startswith(whole)
    assert len(read_lines(log)) == 6


def test_two_windows_of_one_annotator(tests: Path, tmp_path: Path) -> None:
    with Annotating(tests, cwd=tmp_path) as running:
        mill = running.answers("Ada")[MILL]
        draft = rated(mill, "yyy", "yyy", "yyy")
        other = rated(mill, "nnn", "nnn", "nnn")
        assert running.save("Ada", mill["key"], draft, writer="one").json["revision"] == 1
        # the other window knows nothing of it
        reply = running.save("Ada", mill["key"], other, writer="two")
        assert (reply.status, reply.json["revision"]) == (409, 1)
        # the first one did not hear that it was saved, says it again, and goes on
        assert running.save("Ada", mill["key"], draft, writer="one").status == 200
        again = running.save("Ada", mill["key"], {**draft, "state": "open"}, writer="one")
        assert again.status == 200
        reply = running.save("Ada", mill["key"], other, base=again.json["revision"], writer="two")
        assert reply.status == 200
        assert running.answers("Ada")[MILL]["draft"]["statements"][0]["relevant"] is False


def test_a_changed_answer_is_annotated_afresh(tests: Path, tmp_path: Path) -> None:
    with Annotating(tests, cwd=tmp_path) as running:
        rate_all(running, "Ada")
        running.interrupt()
    answers_file(tmp_path, {**ANSWERS, "mill/14": "The mill is closed [1]."})
    with Annotating(tests, cwd=tmp_path) as running:
        states = sorted(test["state"] for test in running.begin("Ada")["tests"])
        assert states == ["done", "done", "new"]
        task = running.answers("Ada")["The mill is closed [1]."]
        assert task["revision"] == 0
        assert running.save("Ada", task["key"], rated(task, "yny")).status == 200
        found = {row.test_id: row for row in read_annotations(tmp_path / FILE)}
    statements = found["mill/14"].statements
    assert statements is not None
    assert [statement.text for statement in statements] == ["The mill is closed"]


def test_what_the_file_holds_already_stays_and_can_be_continued(
    tests: Path, tmp_path: Path
) -> None:
    labels: dict[str, Any] = {"relevant": True, "faithful": False}
    rows: list[dict[str, Any]] = [
        {"test_id": "other/1", "annotator": "Ada", "source": "human", "faithfulness": 0.5},
        {
            "test_id": "mill/14",
            "annotator": "Ada",
            "source": "human",
            "statements": [{"text": "Mine", **labels}],
        },
    ]
    path = write_lines(tmp_path / FILE, rows)
    given = read_annotations(path)
    with Annotating(tests, cwd=tmp_path) as running:
        task = running.answers("Ada")[MILL]
        assert [s["text"] for s in task["draft"]["statements"]] == ["Mine"]
        assert task["state"] == "open"  # nobody asked for the citation then
        assert read_annotations(path) == given
        assert running.save("Ada", task["key"], rated(task, "yyn")).status == 200
        found = {row.test_id: row for row in read_annotations(path)}
    assert found["other/1"] == given[0]
    assert found["mill/14"].statements is not None
    assert found["mill/14"].statements[0].citation_right is False


def test_grades_are_files_that_agreement_reads(tests: Path, tmp_path: Path) -> None:
    grades = {"answer_relevancy": 5, "completeness": 4, "usefulness": None, "faithfulness": 1}
    with Annotating(tests, "--grades", cwd=tmp_path) as running:
        task = running.answers("Ada")[MUSEUM]
        reply = running.save("Ada", task["key"], rated(task, "yyy", "yyy"))
        assert "grade answer relevancy" in reply.json["error"]
        rate_all(running, "Ada", grades=grades)
        rate_all(running, "Bo / Çelik", grades={**grades, "faithfulness": 0})
        ended = running.interrupt()
    assert "annotations.grades" in ended.stdout
    folder = tmp_path / "annotations.grades"
    names = sorted(path.name for path in folder.iterdir())
    assert names[0] == "Ada.jsonl"
    assert names[1].startswith("Bo_Çelik-")
    suite = load_tests(str(tests)).tests
    judged = read_judged(folder / "Ada.jsonl", samples=[test.sample for test in suite])
    assert judged.judge == "Ada"
    assert judged.missing == []
    assert all(row.value("completeness") == 4 for row in judged.judgements)
    assert {row.grades["usefulness"].kind for row in judged.judgements} == {"not_applicable"}
    files = [folder / name for name in names]
    done = run("agreement", *files, "--tests", tests, "--json", cwd=tmp_path)
    assert done.code == 0, done.stderr
    figures = json.loads(done.stdout)
    assert figures["equal_grades"]["faithfulness"] == 0.0
    assert figures["equal_grades"]["completeness"] == 100.0


def test_grades_asked_for_later_open_what_was_done(tests: Path, tmp_path: Path) -> None:
    with Annotating(tests, cwd=tmp_path) as running:
        rate_all(running, "Ada")
        running.interrupt()
    with Annotating(tests, "--grades", cwd=tmp_path) as running:
        assert {test["state"] for test in running.begin("Ada")["tests"]} == {"open"}
    assert len(read_annotations(tmp_path / FILE)) == 3  # the labels are complete all the same


def test_the_report_is_for_those_who_are_through(tests: Path, tmp_path: Path) -> None:
    with Annotating(tests, cwd=tmp_path) as running:
        rate_all(running, "Ada")
        assert "Nobody else" in running.told("agreement", annotator="Ada")["why"]
        mill = running.answers("Bo")[MILL]
        running.save("Bo", mill["key"], rated(mill, "yyy", "yyy", "yyy"))
        assert running.told("agreement", annotator="Ada")["report"] is None
        assert running.told("agreement", annotator="Bo")["report"] is None
        rate_all(running, "Bo")
        report = running.told("agreement", annotator="Bo")["report"]
        assert report["annotators"] == ["Ada", "Bo"]
        assert "disagreements" not in report  # they would show single answers of others
        ended = running.interrupt()
    assert f"annotate --report {FILE}" in ended.stdout
    done = run("annotate", "--report", FILE, "--json", cwd=tmp_path)
    assert done.code == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["together"] == report["together"]
    shown = run("annotate", "--report", FILE, "-o", "figures.json", cwd=tmp_path)
    assert "Ada and Bo" in shown.stdout
    assert "figures.json" in shown.stdout
    assert json.loads((tmp_path / "figures.json").read_text()) == told


def test_files_of_several_machines_are_compared(tests: Path, tmp_path: Path) -> None:
    for who in ("Ada", "Bo"):
        with Annotating(tests, "-a", f"{who}.jsonl", cwd=tmp_path) as running:
            rate_all(running, who)
            running.interrupt()
    both = run("annotate", "--report", "Ada.jsonl", "--report", "Bo.jsonl", cwd=tmp_path)
    assert both.code == 0, both.stderr
    assert "Ada and Bo" in both.stdout
    twice = run("annotate", "--report", "Ada.jsonl", "--report", "Ada.jsonl", cwd=tmp_path)
    assert twice.code == 2
    assert "'Ada' annotated" in twice.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="no process can be limited from outside")
def test_a_full_disk_is_told_and_what_was_saved_stays(tests: Path, tmp_path: Path) -> None:
    import resource

    log = tmp_path / LOG
    with Annotating(tests, cwd=tmp_path) as running:
        pid = running.process.pid
        mill = running.answers("Ada")[MILL]
        draft = rated(mill, "yyy", "yyy", "yyy")
        assert running.save("Ada", mill["key"], draft).status == 200
        whole = log.read_bytes()
        before = resource.prlimit(pid, resource.RLIMIT_FSIZE)
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (len(whole) + 100, before[1]))
        other = rated(mill, "nnn", "nnn", "nnn")
        reply = running.save("Ada", mill["key"], other, base=1)
        assert reply.status == 507
        assert "cannot be written" in reply.json["error"]
        assert log.read_bytes() == whole
        task = running.answers("Ada")[MILL]
        assert (task["revision"], task["draft"]) == (1, draft)
        resource.prlimit(pid, resource.RLIMIT_FSIZE, before)
        assert running.save("Ada", mill["key"], other, base=1).json["revision"] == 2
        assert read_lines(log)[1]["draft"] == other


def test_wrong_use(
    tests: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shared: Annotating
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken.log.jsonl").write_text("{}\n")
    cases: list[tuple[list[str | Path], str]] = [
        ([tests, "-a", shared.folder / FILE], "is in use by another 'annotate'"),
        ([tests, "--port", str(shared.port)], "name another with --port"),
        ([tests, "-a", "annotations.jsonl.gz"], "name an uncompressed file"),
        ([tests, "-a", tests / "a.jsonl"], "cannot be written"),
        ([tests, "-a", "broken.jsonl"], "line 1 is no row of this log"),
        ([tests, "--json"], "are for --report"),
        ([tests, "--report", FILE], "leave TESTS out"),
        ([], "Name what is annotated"),
        (["--report", "none.jsonl"], "does not exist"),
        (["nothing.jsonl"], "does not exist"),
    ]
    for arguments, told in cases:
        done = CliRunner().invoke(app, ["annotate", *map(str, arguments), "--no-browser"])
        assert done.exit_code == 2, (arguments, done.output)
        assert told in done.stderr
        assert done.stderr.count("\n") == 1


def test_ids_must_differ(tmp_path: Path) -> None:
    from grouse_adapters.core.sample import Sample
    from grouse_adapters.native.annotate import tasks_of

    sample = Sample(input="What?", references=("One.",), actual_output="One [1].", id="a")
    with pytest.raises(InputError, match="used twice"):
        tasks_of([sample, sample])
    with pytest.raises(InputError, match="nothing to annotate"):
        tasks_of([])


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_sigterm_ends_it_well_too(tests: Path, tmp_path: Path) -> None:
    with Annotating(tests, cwd=tmp_path) as running:
        running.process.terminate()
        stdout, stderr = running.process.communicate(timeout=60)
    assert running.process.returncode == 0
    assert "Nothing is done yet." in stdout
    assert stderr == ""
