"""Makes reference_pipeline.json: what the paper's own package says about recorded replies.

Run it in an environment of its own, and look at the difference with git afterwards::

    python -m venv ref && ref/bin/pip install grouse==0.4.2
    ref/bin/python tests/data/make_reference_pipeline.py

The package is used as it is: its evaluator, its prompts, its parser, its HTTP client. Only the
model is ours, a local server that answers each prompt with the reply recorded for that sample and
metric. No prompt text is stored.
"""

from __future__ import annotations

import argparse
import contextlib
import http.server
import importlib
import importlib.metadata
import json
import math
import os
import re
import tempfile
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from reference_cases import FAILED, JUDGED, Case, answer, batches, paths, readings, silent

PACKAGE: Final = "grouse"
VERSION: Final = "0.4.2"
DERIVED: Final = ("positive_acceptance", "negative_rejection")


class RecordedModel(http.server.ThreadingHTTPServer):
    """An OpenAI-compatible server on this machine that answers with the recorded replies."""

    def __init__(self, cases: Iterable[Case]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.cases = {_bridge(json.dumps(case.sample)): case for case in cases}
        self.calls: list[tuple[str, str]] = []

    def answer(self, prompt: str) -> dict[str, Any]:
        case = self.cases[_bridge(prompt)]
        (metric,) = (name for name in JUDGED if f'"{name}"' in prompt)
        self.calls.append((case.id, metric))
        return {
            "id": "recorded",
            "object": "chat.completion",
            "created": 0,
            "model": "gpt-4",
            "choices": [
                {
                    "index": 0,
                    "finish_reason": case.finish_reasons.get(metric, "stop"),
                    "message": {"role": "assistant", "content": case.replies[metric]},
                }
            ],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
        }


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: RecordedModel

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        body = json.dumps(self.server.answer(request["messages"][0]["content"])).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        with contextlib.suppress(ConnectionError):  # a run that aborts hangs up
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


def _bridge(text: str) -> str:
    (bridge,) = set(re.findall(r"Bridge (\d+)", text))
    return str(bridge)


def run_reference(cases: list[Case]) -> dict[str, Any]:
    """Everything the package says about the cases; needs OPENAI_API_BASE to be set already."""
    if (found := importlib.metadata.version(PACKAGE)) != VERSION:
        raise SystemExit(f"This needs {PACKAGE} {VERSION}, not {found}: install that version.")
    model = RecordedModel(cases)
    threading.Thread(target=model.serve_forever, daemon=True).start()
    os.environ["OPENAI_API_BASE"] = f"http://127.0.0.1:{model.server_port}/v1"
    os.environ["OPENAI_API_KEY"] = "none"
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else it asks the network for prices
    litellm, grouse = importlib.import_module("litellm"), importlib.import_module(PACKAGE)
    evaluator = grouse.GroundedQAEvaluator()
    # A hit in its disk cache crashes in a fresh installation, and batches repeat samples.
    litellm.disable_cache()
    by_id = {case.id: case for case in cases}

    def evaluate(ids: Iterable[str]) -> Any:
        return evaluator.evaluate(
            [grouse.EvaluationSample(**by_id[case_id].sample) for case_id in ids]
        )

    readable = [case for case in cases if None not in case.replies.values()]
    evaluations = evaluate(case.id for case in readable).evaluations
    recorded = [
        {
            **_stored(case),
            "reference": {
                "calls": [metric for case_id, metric in model.calls if case_id == case.id],
                "grades": _grades(evaluation),
            },
        }
        for case, evaluation in zip(readable, evaluations, strict=True)
    ]
    recorded += [
        {**_stored(case), "reference": None} for case in cases if None in case.replies.values()
    ]
    runs = []
    for name, ids in batches(cases).items():
        try:
            said = _report(evaluate(ids).report)
        except TypeError as error:  # its parser does not expect an answer without content
            said = {"aborted": type(error).__name__}
        runs.append({"id": name, "cases": ids, "reference": said})
    model.shutdown()
    return {
        "made_by": "tests/data/make_reference_pipeline.py",
        "package": PACKAGE,
        "version": VERSION,
        "cases": recorded,
        "batches": runs,
        "stored": _stored_evaluations(grouse),
    }


def _stored(case: Case) -> dict[str, Any]:
    row = {"id": case.id, "sample": case.sample, "replies": case.replies}
    return {**row, "finish_reasons": case.finish_reasons} if case.finish_reasons else row


def _grades(evaluation: Any) -> dict[str, int | str | None]:
    """Per metric the value, null, or ``failed``."""
    grades: dict[str, int | str | None] = {}
    for metric in (*JUDGED, *DERIVED):
        said = getattr(evaluation, metric)
        if type(said).__name__ == "Failed":
            grades[metric] = FAILED
        else:
            grades[metric] = getattr(said, metric) if metric in JUDGED else said
    return grades


def _report(report: Any) -> dict[str, Any]:
    """The means; a mean that is not a number becomes the text ``NaN``, which JSON can hold."""
    numbers = {
        name: "NaN" if math.isnan(number) else float(number)
        for name, number in report.model_dump().items()
    }
    return {
        "means": {metric: numbers[metric] for metric in (*JUDGED, *DERIVED)},
        "parsing_success": {
            name: number for name, number in numbers.items() if name.endswith("_success")
        },
        "overall_mean": numbers["mean"],
    }


def _stored_evaluations(grouse: Any) -> list[dict[str, Any]]:
    """How the package reads damaged results of its own back from JSON."""
    dtos = importlib.import_module(f"{grouse.__name__}.dtos")
    whole = {metric: answer(metric, 1) for metric in JUDGED} | dict.fromkeys(DERIVED)
    damaged: dict[str, dict[str, Any]] = {
        "grade is a word": answer("completeness", "high"),
        "justification is missing": {"completeness": 4},
        "everything is missing": {},
    }
    rows = []
    for name, said in damaged.items():
        read = dtos.GroundedQAEvaluation.model_validate({**whole, "completeness": said})
        read_as = type(read.completeness).__name__
        rows.append({"id": name, "completeness": said, "reference": read_as})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description="Records what grouse 0.4.2 says.")
    parser.add_argument(
        "--output", type=Path, default=Path(__file__).with_name("reference_pipeline.json")
    )
    output = parser.parse_args().output.resolve()
    cases = [*paths(), *readings(), silent()]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # the package leaves its cache folder where it is started
        made = run_reference(cases)
        os.chdir(output.parent)
    output.write_text(json.dumps(made, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    print(f"{len(made['cases'])} cases and {len(made['batches'])} batches are in {output}.")


if __name__ == "__main__":
    main()
