"""What fresh processes are asked to do: ``python -m tests.bench.tasks NAME [ARGUMENT ...]``.

Each task prints one line of JSON. Nothing is imported here before its task wants it: that would
hide what the task pays.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from grouse_adapters import Judgement


def start() -> dict[str, Any]:
    """CPU seconds that the interpreter alone takes."""
    return {"cpu": time.process_time()}


def import_module(name: str) -> dict[str, Any]:
    """Wall and CPU seconds of one import, and the modules that came with it."""
    before = set(sys.modules)
    wall, cpu = time.perf_counter(), time.process_time()
    importlib.import_module(name)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return {"wall": wall, "cpu": cpu, "modules": sorted(set(sys.modules) - before)}


def first_lexical() -> dict[str, Any]:
    """CPU seconds from the start of the process to the first judgement of the lexical judge."""
    from grouse_adapters import LexicalJudge

    from .made_samples import make_samples

    with LexicalJudge() as judge:
        judgement = judge.judge(next(make_samples(1)))
        return _told(judgement)


def first_llm(base_url: str) -> dict[str, Any]:
    """CPU seconds from the start of the process to the first judgement of a served model."""
    from grouse_adapters import LLMJudge, OpenAIChat

    from .made_samples import make_samples

    chat = OpenAIChat("bench", base_url=base_url, api_key="bench-key")
    with LLMJudge(chat) as judge:
        judgement = judge.judge(next(make_samples(1)))
        return _told(judgement)


def stream_llm(count: str) -> dict[str, Any]:
    """Peak memory of judging a stream whose judgements are dropped as they come."""
    from grouse_adapters import LLMJudge
    from grouse_adapters.testing import Script, ScriptedChat

    from .clients import BEST_GRADES
    from .made_samples import make_samples

    chat = ScriptedChat(Script(default=BEST_GRADES))
    with LLMJudge(chat) as judge:

        def forget_calls(judgements: Iterable[Judgement]) -> int:
            seen = 0
            for judgement in judgements:
                seen += judgement.llm_calls == 3
                chat.calls.clear()  # the fake keeps all it was asked; a real chat does not
            return seen

        judged = forget_calls(judge.judge_many(make_samples(int(count))))
    return {"judged": judged, "peak_mb": _peak_mb()}


def evaluate_lexical(count: str) -> dict[str, Any]:
    """Peak memory of the command ``evaluate`` with the lexical judge over a file."""
    from grouse_adapters.cli import main

    from .made_samples import make_samples

    with Path("samples.jsonl").open("w", encoding="utf-8") as lines:
        for sample in make_samples(int(count), references=1, length=12):
            lines.write(sample.model_dump_json() + "\n")
    arguments = ["samples.jsonl", "--judge", "lexical", "--output-dir", "run", "--quiet"]
    sys.argv = ["grouse-adapters", "evaluate", *arguments]
    try:
        main()
    except SystemExit as end:
        if end.code not in (0, None, 3):  # 3: some grades failed, as may happen
            raise
    report = json.loads(Path("run/report.json").read_text(encoding="utf-8"))
    return {"judged": report["samples"], "peak_mb": _peak_mb()}


def _told(judgement: Judgement) -> dict[str, Any]:
    failed = [name for name, grade in judgement.grades.items() if grade.kind == "failed"]
    return {"cpu": time.process_time(), "failed": failed}


def _peak_mb() -> float:
    # Not ru_maxrss where it can be helped: Linux hands the peak of the parent down to it.
    status = Path("/proc/self/status")
    if status.is_file():
        for line in status.read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 1024)


TASKS: Final[Mapping[str, Callable[..., dict[str, Any]]]] = {
    task.__name__: task
    for task in (start, import_module, first_lexical, first_llm, stream_llm, evaluate_lexical)
}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(TASKS[sys.argv[1]](*sys.argv[2:])) + "\n")
    sys.stdout.flush()
