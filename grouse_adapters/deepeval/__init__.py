"""The six GroUSE metrics for DeepEval (arXiv 2409.06595, section 3).

Importing this package imports DeepEval; ``grouse_adapters`` itself does not.
"""

from __future__ import annotations

import re
from importlib.metadata import version

from grouse_adapters.core.errors import MissingExtraError

_NEEDED = "needs deepeval 4.2 or later, below 5"

try:
    import deepeval  # noqa: F401  # a broken installation says so here
except ModuleNotFoundError as error:
    if error.name != "deepeval":
        raise
    raise MissingExtraError("deepeval", f"{_NEEDED}, which is not installed") from None

_found = version("deepeval")
if not (4, 2) <= tuple(int(part) for part in re.findall(r"\d+", _found)[:2]) < (5,):
    raise MissingExtraError("deepeval", f"{_NEEDED}, not the installed {_found}")

from grouse_adapters.deepeval.metrics import (  # noqa: E402  # only after the version is known
    GrouseAnswerRelevancyMetric,
    GrouseCompletenessMetric,
    GrouseFaithfulnessMetric,
    GrouseMetric,
    GrouseNegativeRejectionMetric,
    GrousePositiveAcceptanceMetric,
    GrouseUsefulnessMetric,
    all_metrics,
)
from grouse_adapters.deepeval.models import DeepEvalChat  # noqa: E402

__all__ = [
    "DeepEvalChat",
    "GrouseAnswerRelevancyMetric",
    "GrouseCompletenessMetric",
    "GrouseFaithfulnessMetric",
    "GrouseMetric",
    "GrouseNegativeRejectionMetric",
    "GrousePositiveAcceptanceMetric",
    "GrouseUsefulnessMetric",
    "all_metrics",
]
