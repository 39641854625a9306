"""``python -m grouse_adapters.testing``: the scripted server as a process of its own."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import threading
from collections.abc import Sequence

from grouse_adapters.core.errors import ConfigurationError
from grouse_adapters.testing import RandomFaults, Script, ScriptedServer

_EPILOG = """\
Prints one JSON line with base_url and pid when it serves, and one with its counts when it ends
(Ctrl-C or SIGTERM). GET /scripted/stats gives the counts at any time.
A script file: {"grades": {"piece of an answer": {"faithfulness": 0}}, "default":
{"answer_relevancy": 5}, "otherwise": "text for prompts that are no judge's"}.
Without one every answer gets the best grades.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Serves until it is told to stop; returns the exit code (0, or 2 for wrong use)."""
    told = _parser().parse_args(arguments)
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    try:
        server = _server(told)
        server.start()
    except ConfigurationError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    try:
        _say({"base_url": server.base_url, "pid": os.getpid()})
        if told.until_eof:
            _when_stdin_ends(stop)
        stop.wait()
    finally:
        server.stop()
    _say(server.stats())
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m grouse_adapters.testing",
        description="An OpenAI-compatible server that gives the grades it is told.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--script", metavar="FILE.json", help="grades to give")
    add("--port", type=int, default=0, help="0 (default): a free one")
    add("--latency", type=float, default=0.0, metavar="SECONDS", help="before each answer")
    add("--api-key", help="the key clients must send (default: any or none)")
    add("--model", action="append", metavar="NAME", help="a model it has (default: any name)")
    add(
        "--reject",
        action="append",
        default=[],
        metavar="NAME",
        help="refuse json_schema, json_object or a parameter (400)",
    )
    add("--reasoning", action="store_true", help="refuse temperature and max_tokens")
    add("--context-length", type=int, metavar="TOKENS", help="longest prompt")
    add("--seed", type=int, default=0, help="of the faults below")
    for fault in ("rate-limited", "server-error", "dropped", "cut-off"):
        add(f"--{fault}", type=float, default=0.0, metavar="SHARE", help="share from 0 to 1")
    add("--retry-after", type=float, metavar="SECONDS", help="what a 429 asks to wait")
    add("--until-eof", action="store_true", help="also end when stdin ends (with the parent)")
    return parser


def _server(told: argparse.Namespace) -> ScriptedServer:
    script = Script.from_file(told.script) if told.script else _best_grades()
    faults = RandomFaults(
        seed=told.seed,
        rate_limited=told.rate_limited,
        server_error=told.server_error,
        dropped=told.dropped,
        cut_off=told.cut_off,
        retry_after=told.retry_after,
    )
    return ScriptedServer(
        script,
        faults=faults,
        latency=told.latency,
        api_key=told.api_key,
        models=told.model,
        rejects=told.reject,
        reasoning=told.reasoning,
        context_length=told.context_length,
        port=told.port,
        log=False,
    )


def _best_grades() -> Script:
    best = {"answer_relevancy": 5, "completeness": 5, "faithfulness": 1}
    return Script(default=best, otherwise="A scripted reply.")


def _when_stdin_ends(stop: threading.Event) -> None:
    def wait() -> None:
        while os.read(sys.stdin.fileno(), 4096):  # a buffered read would block the exit
            pass
        stop.set()

    threading.Thread(target=wait, name="stdin", daemon=True).start()


def _say(content: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(content) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    raise SystemExit(main())
