"""The six GroUSE metrics for RAGAS (arXiv 2409.06595, section 3).

``all_metrics`` and the six classes are for ``ascore`` and ``@experiment``, ``evaluate_metrics`` for
``ragas.evaluate``. Needs the extra ``ragas``.
"""

# ruff: noqa: E402  # a missing framework is told before anything of it is imported

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, version

from grouse_adapters.core.errors import MissingExtraError


def _check_framework() -> None:
    needed = "needs ragas 0.3.9 or later, below 0.5"
    try:
        installed = version("ragas")
    except PackageNotFoundError:
        raise MissingExtraError("ragas", f"{needed}, which is not installed") from None
    numbers = tuple(int(number) for number in re.findall(r"\d+", installed)[:3])
    if not (0, 3, 9) <= numbers < (0, 5):
        raise MissingExtraError("ragas", f"{needed}, and {installed} is installed")
    try:
        import ragas.llms.base  # noqa: F401
    except ImportError as error:
        # Mostly langchain-community 0.4.2, which lacks a module that RAGAS imports.
        raise MissingExtraError("ragas", f"cannot import ragas ({error})") from error


_check_framework()

from grouse_adapters.ragas.collections import (
    GrouseAnswerRelevancy,
    GrouseCompleteness,
    GrouseFaithfulness,
    GrouseMetric,
    GrouseNegativeRejection,
    GrousePositiveAcceptance,
    GrouseResult,
    GrouseUsefulness,
    all_metrics,
)
from grouse_adapters.ragas.evaluate import (
    GrouseEvaluateMetric,
    GrouseScore,
    evaluate_metrics,
)

__all__ = [
    "GrouseAnswerRelevancy",
    "GrouseCompleteness",
    "GrouseEvaluateMetric",
    "GrouseFaithfulness",
    "GrouseMetric",
    "GrouseNegativeRejection",
    "GrousePositiveAcceptance",
    "GrouseResult",
    "GrouseScore",
    "GrouseUsefulness",
    "all_metrics",
    "evaluate_metrics",
]
