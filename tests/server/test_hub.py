"""Unit tests from the hub, with the real client and a stand-in for the server."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest
from command_line import ROOT, read_report, run
from conftest import must_run
from hub_stand_in import hub

if importlib.util.find_spec("huggingface_hub") is None:
    must_run("huggingface_hub")

DEVELOPMENT = (ROOT / "tests" / "data" / "unit_tests_dev.jsonl").read_bytes()


def published_like(sets: int) -> bytes:
    """So many sets of 16 tests, without ids and sets, as the published file has them."""
    rows = [json.loads(line) for line in DEVELOPMENT.splitlines()]
    lines = []
    for number in range(sets):
        for row in rows:
            plain: dict[str, Any] = {
                key: row[key]
                for key in ("references", "expected_output", "actual_output", "conditions")
            }
            plain["input"] = f"{row['input']} ({number})"
            plain["metadata"] = {key: row["metadata"][key] for key in ("test_type", "goal")}
            lines.append(json.dumps(plain))
    return "\n".join(lines).encode()


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    """A cache of its own for the hub's client."""
    return {
        "HF_HOME": str(tmp_path / "hf"),
        "HF_HUB_DISABLE_XET": "1",
        "HF_HUB_DISABLE_TELEMETRY": "1",
    }


def meta_evaluate(tests: str, folder: Path, env: dict[str, str], cwd: Path) -> Any:
    return run(
        "meta-evaluate", tests, "--judge", "lexical", "-o", folder, "--quiet", cwd=cwd, env=env
    )


def test_a_dataset_is_fetched_once_and_then_found_without_network(
    tmp_path: Path, home: dict[str, str]
) -> None:
    with hub({"somebody/tests": {"test.jsonl": DEVELOPMENT}}) as there:
        env = {**home, "HF_ENDPOINT": there.endpoint}
        done = meta_evaluate("somebody/tests", tmp_path / "a", env, tmp_path)
        assert (done.code, done.stderr) == (0, "")
        assert any(request.startswith("GET") for request in there.requests)
    again = meta_evaluate("somebody/tests", tmp_path / "b", env, tmp_path)
    assert again.code == 0
    first, second = read_report(tmp_path / "a"), read_report(tmp_path / "b")
    assert first["pass_rate"] == second["pass_rate"]
    assert (first["tests"], first["source"]) == (16, "somebody/tests")
    assert first["published"] is None


def test_published_judges_stand_beside_the_published_tests_only(
    tmp_path: Path, home: dict[str, str]
) -> None:
    files = {"test.jsonl": published_like(9), "train.jsonl": published_like(1)}
    with hub({"illuin/grouse": files}) as there:
        env = {**home, "HF_ENDPOINT": there.endpoint}
        for name, folder in (("illuin/grouse", "test"), ("illuin/grouse:train", "train")):
            assert meta_evaluate(name, tmp_path / folder, env, tmp_path).code == 0
        limited = run(
            "meta-evaluate",
            "illuin/grouse",
            "--judge",
            "lexical",
            "--limit",
            "32",
            "-o",
            tmp_path / "limited",
            "--quiet",
            cwd=tmp_path,
            env=env,
        )
    assert limited.code == 0
    whole = read_report(tmp_path / "test")
    assert (whole["tests"], whole["sets"]) == (144, 9)
    gpt_4 = whole["published"][0]
    assert (gpt_4["judge"], gpt_4["pass_rate"]["total"]) == ("GPT-4", 95.02)
    assert read_report(tmp_path / "train")["published"] is None
    assert read_report(tmp_path / "limited")["published"] is None
    told = run("report", tmp_path / "test", cwd=tmp_path)
    assert "made with other prompts" in told.stdout


@pytest.mark.parametrize(
    ("datasets", "name", "said"),
    [
        ({}, "nobody/nothing", "has no dataset 'nobody/nothing'"),
        ({"a/b": {"other.jsonl": b""}}, "a/b", "has no file 'test.jsonl'"),
        ({"a/b": {"test.jsonl": b'{"input": "q"}'}}, "a/b", "line 1"),
    ],
)
def test_trouble_is_said_in_one_sentence(
    tmp_path: Path,
    home: dict[str, str],
    datasets: dict[str, dict[str, bytes]],
    name: str,
    said: str,
) -> None:
    with hub(datasets) as there:
        env = {**home, "HF_ENDPOINT": there.endpoint}
        done = meta_evaluate(name, tmp_path / "run", env, tmp_path)
    assert done.code == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "run").exists()


def test_a_gated_dataset_says_what_to_do(tmp_path: Path, home: dict[str, str]) -> None:
    with hub({}, gated=True) as there:
        done = meta_evaluate(
            "a/b", tmp_path / "run", {**home, "HF_ENDPOINT": there.endpoint}, tmp_path
        )
    assert done.code == 2
    assert "gated" in done.stderr
    assert "HF_TOKEN" in done.stderr


def test_without_network_and_copy_it_says_what_to_do(tmp_path: Path, home: dict[str, str]) -> None:
    env = {**home, "HF_ENDPOINT": "http://127.0.0.1:9"}
    done = meta_evaluate("illuin/grouse", tmp_path / "run", env, tmp_path)
    assert done.code == 2
    # the client's own words about each try come first
    assert done.stderr.splitlines()[-1].startswith("Error: illuin/grouse cannot be fetched")
    assert "name a local JSON-lines file" in done.stderr
    assert "Traceback" not in done.stderr
