"""The door itself: what it imports, what it says when something is missing, its examples."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import langchain_cases
import pytest

from grouse_adapters import Judgement, read_samples
from grouse_adapters.core.errors import MissingExtraError
from grouse_adapters.langchain._needs import needs

PATHS = [str(folder) for folder in Path(__file__).parents[:2]]
EXAMPLES = Path(__file__).parents[2] / "examples"

assert langchain_cases  # skips this file where LangChain is missing


def python(
    code: str, folder: Path, *arguments: str, **environment: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *(arguments or ("-c", code))],
        cwd=folder,
        env={**os.environ, "PYTHONUTF8": "1", **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_package_alone_imports_no_framework(tmp_path: Path) -> None:
    done = python(
        "import sys, grouse_adapters\n"
        "print([n for n in sys.modules if n.startswith(('langchain', 'langsmith'))])",
        tmp_path,
    )
    assert done.stdout == "[]\n", done.stderr


def test_the_door_needs_langchain_core_only(tmp_path: Path) -> None:
    done = python(
        "import sys, grouse_adapters.langchain\n"
        "names = ('langchain', 'langchain_classic', 'langchain_openai', 'langgraph', 'openai')\n"
        "print([n for n in names if n in sys.modules])",
        tmp_path,
    )
    assert done.stdout == "[]\n", done.stderr


MISSING = """
import importlib.metadata
real = importlib.metadata.version
def version(name):
    if name == {package!r}:
        raise importlib.metadata.PackageNotFoundError(name)
    return real(name)
importlib.metadata.version = version
try:
    import {module}
except ImportError as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("module", "package", "extra"),
    [
        ("grouse_adapters.langchain", "langchain-core", "langchain"),
        ("grouse_adapters.langchain.string_evaluators", "langchain-classic", "langchain-classic"),
    ],
)
def test_a_missing_package_is_told_with_the_command(
    module: str, package: str, extra: str, tmp_path: Path
) -> None:
    done = python(MISSING.format(module=module, package=package), tmp_path)
    assert f"needs {package} " in done.stdout
    assert f"which is not installed: pip install 'grouse-adapters[{extra}]'." in done.stdout
    assert done.stdout.count("\n") == 1


@pytest.mark.parametrize(("lowest", "below"), [("1000", "1001"), ("0.1", "0.2")])
def test_a_version_that_is_not_supported_is_told(lowest: str, below: str) -> None:
    expected = f"needs pytest {lowest} or later, below {below}, and {pytest.__version__} is"
    with pytest.raises(MissingExtraError, match=expected):
        needs("langchain", package="pytest", lowest=lowest, below=below)
    needs("langchain", package="pytest", lowest="7.4", below="1000")


@pytest.mark.parametrize("name", ["evaluate_chain.py", "watch_chain.py"])
def test_an_example_runs(name: str, tmp_path: Path) -> None:
    done = python("", tmp_path, str(EXAMPLES / "langchain" / name))
    assert done.returncode == 0, done.stderr
    samples = list(read_samples(EXAMPLES / "samples.jsonl"))
    for sample in samples:
        assert f"{sample.id}: " in done.stdout
    if name == "watch_chain.py":
        assert f"{len(samples)} answers judged, 0 dropped" in done.stdout
        lines = (tmp_path / "live" / "judgements.jsonl").read_text(encoding="utf-8").splitlines()
        rows = [Judgement.model_validate_json(line) for line in lines]
        assert {row.sample.metadata["name"] for row in rows} == {s.id for s in samples}
        assert {row.sample.input: row.sample.references for row in rows} == {
            sample.input: sample.references for sample in samples
        }


ENDS = """
import os, sys
sys.path[:0] = {paths!r}
from langchain_cases import ANSWERED, QUESTION, rag
from grouse_adapters.core.sinks import JsonLinesSink
from grouse_adapters.langchain import GrouseCallback

callback = GrouseCallback(judge="lexical", sinks=JsonLinesSink("parent.jsonl"))
rag(ANSWERED).invoke(QUESTION, {{"callbacks": [callback]}})
"""
# Flushed first: pydantic builds its validators with the first judgement, under a lock that a fork
# in that very moment leaves locked in the child for ever.
FORKS = """
assert callback.flush(30)
child = os.fork()
if child == 0:
    callback.flush(30)
    counted = callback.counts.seen
    rag(ANSWERED).invoke("the child asks", {"callbacks": [callback]})
    assert callback.flush(30)
    print(counted, callback.counts.judged, callback.judgements[-1].sample.input, flush=True)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
assert callback.flush(30)
print(callback.counts.judged, callback.judgements[-1].sample.input)
"""


def test_the_end_of_the_program_waits_for_what_is_judged(tmp_path: Path) -> None:
    done = python(ENDS.format(paths=PATHS), tmp_path)
    assert done.returncode == 0, done.stderr
    (line,) = (tmp_path / "parent.jsonl").read_text(encoding="utf-8").splitlines()
    assert Judgement.model_validate_json(line).sample.actual_output == langchain_cases.ANSWERED


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_parent_and_child_of_a_fork_judge_on_their_own(tmp_path: Path) -> None:
    done = python(ENDS.format(paths=PATHS) + FORKS, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "0 1 the child asks",
        f"1 {langchain_cases.QUESTION}",
    ]


class Recorder(BaseHTTPRequestHandler):
    """A LangSmith that keeps what it is sent."""

    bodies: ClassVar[list[bytes]] = []

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
        self._answer()

    do_PATCH = do_POST  # noqa: N815  # http.server's name

    def _answer(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, format: str, *arguments: Any) -> None:
        pass


TRACED = """
import os, sys
sys.path[:0] = {paths!r}
from langchain_cases import ANSWERED, QUESTION, rag, script
os.environ["LANGSMITH_TRACING"] = "true"  # after the tests' own surroundings have forbidden it
import asyncio, json
from langchain_core.runnables import RunnableLambda
from langchain_core.tracers.langchain import wait_for_all_tracers
from grouse_adapters.langchain import GrouseCallback

def answers(prompt):
    return json.dumps(asyncio.run(script()(str(prompt))))

callback = GrouseCallback(judge=RunnableLambda(answers))
rag(ANSWERED).invoke(QUESTION, {{"callbacks": [callback]}})
assert callback.flush(30)
wait_for_all_tracers()
print(callback.judgements[0].value("completeness"))
"""


def test_a_traced_application_sends_its_own_runs_and_none_of_the_judges(tmp_path: Path) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), Recorder) as langsmith:
        threading.Thread(target=langsmith.serve_forever, daemon=True).start()
        own = {
            "LANGSMITH_ENDPOINT": f"http://127.0.0.1:{langsmith.server_port}",
            "LANGSMITH_API_KEY": "none",
        }
        done = python(TRACED.format(paths=PATHS), tmp_path, **own)
        langsmith.shutdown()
    assert done.returncode == 0, done.stderr
    assert done.stdout == "4\n"
    sent = b"".join(Recorder.bodies)
    assert b"FakeListChatModel" in sent
    assert b"grouse-judge" not in sent  # the tag of the judge's calls
    assert b"answer_relevancy" not in sent
