"""Makes the files of this folder that the paper's own package writes, by running its commands.

Run it in an environment of its own, and look at the difference with git afterwards::

    python -m venv ref && ref/bin/pip install grouse==0.4.2
    ref/bin/python tests/data/elsewhere/make_reference_files.py

Only the model is ours: a local server that answers with the told grades. ``meta-evaluate`` reads
its unit tests from a folder of the hub dataset's name.
"""

from __future__ import annotations

import http.server
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any, Final

from elsewhere_told import HERE, bridge, samples, write_samples, written
from reference_cases import JUDGED

CONDITIONS: Final = {
    "answer_relevancy_condition": "==5",
    "completeness_condition": ">=3",
    "faithfulness_condition": "==1",
    "usefulness_condition": "==None",
}


class _Model(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        prompt = request["messages"][0]["content"]
        (metric,) = (name for name in JUDGED if f'"{name}"' in prompt)
        message = {"role": "assistant", "content": written(bridge(prompt), metric)}
        answer = {
            "id": "told",
            "object": "chat.completion",
            "created": 0,
            "model": "gpt-4",
            "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
        }
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


def _write_lines(path: Path, rows: list[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def main() -> None:
    write_samples()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    bare = [{key: value for key, value in row.items() if key != "id"} for row in samples()]
    tests = [
        {**row, "conditions": CONDITIONS, "metadata": {"test_type": "Any", "goal": ""}}
        for row in bare
    ]
    grouse = str(Path(sys.executable).with_name("grouse"))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write_lines(folder / "samples.jsonl", bare)
        for split in ("train", "test"):
            _write_lines(folder / "illuin" / "grouse" / f"{split}.jsonl", tests)
        environment = {
            **os.environ,
            "OPENAI_API_BASE": f"http://127.0.0.1:{server.server_port}/v1",
            "OPENAI_API_KEY": "none",
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # else it asks the network for prices
            "HF_HOME": str(folder / "hub"),
        }
        for command, cwd in (
            (["evaluate", "samples.jsonl", "evaluated"], folder),
            (["meta-evaluate", "gpt-4", "meta-evaluated"], folder),
        ):
            # its disk cache, left in the folder where it is started, crashes when it is hit
            shutil.rmtree(folder / ".litellm_cache", ignore_errors=True)
            subprocess.run([grouse, *command], cwd=cwd, env=environment, check=True)
        for made in ("evaluated/evaluations.jsonl", "meta-evaluated/meta_evaluations.jsonl"):
            target = HERE / "reference" / Path(made).name
            target.parent.mkdir(exist_ok=True)
            shutil.copy(folder / made, target)
    server.shutdown()


if __name__ == "__main__":
    main()
