"""What every test shares: no telemetry, no cache of the user's, no judge named outside."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import pytest

os.environ["RAGAS_DO_NOT_TRACK"] = "true"
os.environ["DEEPEVAL_TELEMETRY_OPT_OUT"] = "1"
os.environ["LANGSMITH_TRACING"] = "false"


collect_ignore: list[str] = []
if not os.environ.get("GROUSE_TESTS_MUST_RUN") and importlib.util.find_spec("krippendorff") is None:
    # They compare with the libraries of the extra stats, and import them to do so.
    collect_ignore += [
        "unit/meta/test_agreement.py",
        "unit/meta/test_alignment.py",
        "unit/native/test_benchmark_figures.py",
        "unit/native/test_figures_compare.py",
        "unit/native/test_figures_shown.py",
    ]


@pytest.fixture(autouse=True)
def _own_surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "GROUSE_JUDGE", "GROUSE_CACHE"):
        monkeypatch.delenv(name, raising=False)


def must_run(what: str) -> None:
    """Skips on a user's machine, fails where CI says that nothing may be skipped."""
    if os.environ.get("GROUSE_TESTS_MUST_RUN"):
        pytest.fail(f"{what} is missing, and here this test must run")
    pytest.skip(f"{what} is not installed", allow_module_level=True)
