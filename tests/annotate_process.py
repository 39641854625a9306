"""``annotate`` as a user runs it: a process, its address, and answers to label."""

from __future__ import annotations

import http.client
import json
import signal
import subprocess
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from command_line import Finished, command, finish, write_lines

OPENING = "No document seems to precisely answer your question."
CONDITIONS = {
    "answer_relevancy_condition": "==5",
    "completeness_condition": "==5",
    "usefulness_condition": "==None",
    "faithfulness_condition": "==1",
}
ANSWERS = {
    "mill/14": "The mill opens at nine [1]. It closes at six [1]. Dogs come in free [2].",
    "ferry/5": OPENING,
    "museum/1": "Entry costs four euros [2]. Children pay half [2].",
}
REFERENCES = ["The mill is open from nine to seven.", "Entry is four euros, half for children."]
EXPECTED = "Nobody but the judge may read this expected answer [1]."


def answers_file(folder: Path, answers: Mapping[str, str] = ANSWERS) -> Path:
    """Unit tests, each with a question of its own."""
    return write_lines(
        folder / "tests.jsonl",
        [
            {
                "id": name,
                "input": f"What about the {name.split('/')[0]}?",
                "references": REFERENCES,
                "expected_output": EXPECTED,
                "actual_output": answer,
                "conditions": CONDITIONS,
                "metadata": {"test_type": "Highest marks 1", "goal": "a secret goal"},
            }
            for name, answer in answers.items()
        ],
    )


@dataclass(frozen=True)
class Reply:
    """What the server said."""

    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)


def _own_port(folder: Path) -> int:
    """A port below those that systems hand out, and hardly another test's."""
    return 20_000 + zlib.crc32(str(folder).encode()) % 10_000


class Annotating:
    """A running ``annotate``.

    Args:
        own_port: use a port of the folder's own; False: whatever the command takes by itself.

    Attributes:
        address: as it was printed, with the token.
        folder: where it runs.
        process: the process.
    """

    def __init__(self, *arguments: str | Path, cwd: Path, own_port: bool = True) -> None:
        self.folder = cwd
        if own_port:
            # tests run side by side: the usual port, or one that was just free, may be another's
            arguments = (*arguments, "--port", str(_own_port(cwd)))
        self.process: subprocess.Popen[str] = subprocess.Popen(
            command("annotate", *arguments, "--no-browser"),
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )
        assert self.process.stdout is not None
        first = self.process.stdout.readline()
        if "http" not in first:
            raise AssertionError(finish(self.process))
        self.address = first.split()[-1]
        parts = urlsplit(self.address)
        assert parts.hostname == "127.0.0.1"
        assert parts.port is not None
        self.port, self.token = parts.port, parts.fragment

    def __enter__(self) -> Annotating:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def kill(self) -> None:
        """Ends it without warning."""
        self.process.kill()
        self.process.communicate()

    def interrupt(self) -> Finished:
        """Ends it as Ctrl-C does."""
        self.process.send_signal(signal.SIGINT)
        return finish(self.process)

    def ask(self, what: str, body: object, **headers: str) -> Reply:
        """A request as the page sends it; headers named here replace the usual ones."""
        text = body if isinstance(body, str) else json.dumps(body)
        usual = {"Content-Type": "application/json", "X-Annotate-Token": self.token}
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.send("POST", f"/api/{what}", text, {**usual, **given})

    def send(self, method: str, path: str, body: str | None, headers: Mapping[str, str]) -> Reply:
        """Any request."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, path, None if body is None else body.encode(), dict(headers))
            answer = connection.getresponse()
            return Reply(answer.status, dict(answer.getheaders()), answer.read().decode())
        finally:
            connection.close()

    def begin(self, annotator: str) -> Any:
        """Where an annotator stands."""
        return self.told("begin", annotator=annotator)

    def show(self, annotator: str, key: str) -> Any:
        """One answer."""
        return self.told("show", annotator=annotator, key=key)

    def answers(self, annotator: str) -> dict[str, Any]:
        """All answers of an annotator, by their text."""
        keys = [test["key"] for test in self.begin(annotator)["tests"]]
        return {task["answer"]: task for task in (self.show(annotator, key) for key in keys)}

    def save(
        self, annotator: str, key: str, draft: object, *, base: int = 0, writer: str = "page"
    ) -> Reply:
        """Saves a draft."""
        body = {"annotator": annotator, "key": key, "base": base, "writer": writer, "draft": draft}
        return self.ask("save", body)

    def told(self, what: str, **body: object) -> Any:
        """The reply to a request that must be granted."""
        reply = self.ask(what, body)
        assert reply.status == 200, reply.text
        return reply.json


def rated(task: Mapping[str, Any], *labels: str, **more: object) -> dict[str, Any]:
    """A finished draft: per statement three of y and n."""
    statements = [
        {
            **statement,
            "relevant": three[0] == "y",
            "faithful": three[1] == "y",
            "citation_right": three[2] == "y",
        }
        for statement, three in zip(task["draft"]["statements"], labels, strict=True)
    ]
    draft = {"state": "done", "statements": statements, "nothing_to_rate": not statements}
    return {**draft, "grades": {}, **more}
