"""A scripted server that also answers the prompts of RAGAS' and DeepEval's own metrics."""

from __future__ import annotations

import multiprocessing
import re
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any, Final

from grouse_adapters.testing import Script, ScriptedServer

from .clients import BEST_GRADES
from .server import BenchServer

_PATIENCE: Final = 30.0  # seconds
_CHARACTERS: Final = 4  # per token, as the scripted server counts
_REASON: Final = "The reference with this number says so in nearly the same words."
_STATEMENTS: Final = [f"The ferry to island {number} leaves at noon." for number in (1, 2, 3)]
"""As many as the made-up answers have sentences."""

_VERDICTS: Final = [{"verdict": "yes", "reason": _REASON}] * len(_STATEMENTS)
_RAGAS: Final[dict[str, dict[str, Any]]] = {
    "StatementGeneratorOutput": {"statements": _STATEMENTS},
    "NLIStatementOutput": {
        "statements": [{"statement": one, "reason": _REASON, "verdict": 1} for one in _STATEMENTS]
    },
    "AnswerRelevanceOutput": {"question": "When does the ferry leave?", "noncommittal": 0},
}
_DEEPEVAL: Final[dict[str, dict[str, Any]]] = {
    "Truths": {"truths": _STATEMENTS},
    "Claims": {"claims": _STATEMENTS},
    "Statements": {"statements": _STATEMENTS},
    "Verdicts": {"verdicts": _VERDICTS},
    "FaithfulnessScoreReason": {"reason": _REASON},
    "AnswerRelevancyScoreReason": {"reason": _REASON},
}
_NATIVE: Final = {**_RAGAS, **_DEEPEVAL}
"""Replies by the title of the schema that a framework asks for."""

# RAGAS writes the schema into its prompts, where fields have titles, too.
_TITLE: Final = re.compile(rf'"title": ?"({"|".join(_RAGAS)})"')


class NativeServer(BenchServer):
    """A ``BenchServer`` that counts tokens, too."""

    def __init__(self, base_url: str, counting: Connection) -> None:
        super().__init__(base_url)
        self._counting = counting

    def tokens(self) -> int:
        """Tokens of prompts and replies since the last time it was asked; not of embeddings."""
        self._counting.send(None)
        counted: int = self._counting.recv()
        return counted


@contextmanager
def native_server(*, latency: float) -> Iterator[NativeServer]:
    """Serves from a process of its own, each answer after ``latency`` seconds."""
    # Not forked: the child would inherit this end of the pipe and not see it close.
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(latency, theirs), daemon=True)
    process.start()
    theirs.close()
    try:
        yield NativeServer(ours.recv(), ours)
    finally:
        ours.close()
        process.join(_PATIENCE)


class _Counted:
    """The script, with the characters of what it read and wrote."""

    def __init__(self) -> None:
        self.characters = 0
        self._script = Script(default=BEST_GRADES, otherwise=_native, justification=_REASON)

    async def __call__(self, prompt: str, schema: dict[str, Any] | None) -> Any:
        reply = await self._script(prompt, schema)
        self.characters += len(prompt) + len(str(reply))
        return reply


def _native(prompt: str, schema: dict[str, Any] | None) -> dict[str, Any]:
    title = schema.get("title") if schema else None
    if title is None:
        found = _TITLE.search(prompt)
        title = found[1] if found else None
    if title not in _NATIVE:
        raise ValueError(f"no reply for the schema {title!r}: add one to {__name__}")
    return _NATIVE[title]


def _serve(latency: float, counting: Connection) -> None:
    script = _Counted()
    with ScriptedServer(script, latency=latency, log=False) as server:
        counting.send(server.base_url)
        while True:
            try:
                counting.recv()
            except EOFError:  # the bench is done, or gone
                return
            counting.send(script.characters // _CHARACTERS)
            script.characters = 0
