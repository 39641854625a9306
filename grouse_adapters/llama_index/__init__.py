"""GroUSE metrics for LlamaIndex: six evaluators, and a handler that judges live query engines.

Needs the extra ``llama-index``. Scores are in the metric's own unit, 1-5 or 0 and 1 (arXiv
2409.06595, section 3).
"""

# ruff: noqa: E402  # a missing framework is told apart before anything of it is imported

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, version

from grouse_adapters.core.errors import MissingExtraError


def _check_framework() -> None:
    needed = "needs llama-index-core 0.13 or later, below 0.15"
    try:
        installed = version("llama-index-core")
    except PackageNotFoundError:
        raise MissingExtraError("llama-index", f"{needed}, which is not installed") from None
    major_minor = re.match(r"(\d+)\.(\d+)", installed)
    if major_minor is None or not (0, 13) <= tuple(map(int, major_minor.groups())) < (0, 15):
        raise MissingExtraError("llama-index", f"{needed}, but {installed} is installed")


_check_framework()

from grouse_adapters.llama_index.evaluators import (
    GrouseAnswerRelevancyEvaluator,
    GrouseCompletenessEvaluator,
    GrouseEvaluator,
    GrouseFaithfulnessEvaluator,
    GrouseNegativeRejectionEvaluator,
    GrousePositiveAcceptanceEvaluator,
    GrouseUsefulnessEvaluator,
    all_evaluators,
)
from grouse_adapters.llama_index.event_handler import GrouseEventHandler
from grouse_adapters.llama_index.models import LlamaIndexChat
from grouse_adapters.llama_index.results import GrouseEvaluationResult, summarize_results

__all__ = [
    "GrouseAnswerRelevancyEvaluator",
    "GrouseCompletenessEvaluator",
    "GrouseEvaluationResult",
    "GrouseEvaluator",
    "GrouseEventHandler",
    "GrouseFaithfulnessEvaluator",
    "GrouseNegativeRejectionEvaluator",
    "GrousePositiveAcceptanceEvaluator",
    "GrouseUsefulnessEvaluator",
    "LlamaIndexChat",
    "all_evaluators",
    "summarize_results",
]
