"""grouse-adapters: GroUSE grounded-QA metrics and a shared judge (arXiv 2409.06595).

Importing this package imports no framework, no openai client and no plotting.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from grouse_adapters.core.chat import ChatModel, ChatReply
from grouse_adapters.core.errors import (
    ChatError,
    ConfigurationError,
    GrouseError,
    InputError,
    JudgeClosedError,
)
from grouse_adapters.core.gate import RetryPolicy
from grouse_adapters.core.grades import (
    Failed,
    Grade,
    Graded,
    Judgement,
    NotApplicable,
    SentenceCheck,
    Usage,
)
from grouse_adapters.core.judge import Judge
from grouse_adapters.core.llm_judge import LLMJudge
from grouse_adapters.core.metrics import METRIC_NAMES, METRICS, Metric, MetricName
from grouse_adapters.core.openai_chat import OpenAIChat
from grouse_adapters.core.prices import Price
from grouse_adapters.core.prompt_pack import PromptPack
from grouse_adapters.core.readers import read_samples
from grouse_adapters.core.resolve import resolve_judge
from grouse_adapters.core.sample import Sample, sample_from_row, samples_from_rows

if TYPE_CHECKING:
    from grouse_adapters.lexical import LexicalJudge

__all__ = [
    "METRICS",
    "METRIC_NAMES",
    "ChatError",
    "ChatModel",
    "ChatReply",
    "ConfigurationError",
    "Failed",
    "Grade",
    "Graded",
    "GrouseError",
    "InputError",
    "Judge",
    "JudgeClosedError",
    "Judgement",
    "LLMJudge",
    "LexicalJudge",
    "Metric",
    "MetricName",
    "NotApplicable",
    "OpenAIChat",
    "Price",
    "PromptPack",
    "RetryPolicy",
    "Sample",
    "SentenceCheck",
    "Usage",
    "read_samples",
    "resolve_judge",
    "sample_from_row",
    "samples_from_rows",
]


def __getattr__(name: str) -> Any:
    if name == "LexicalJudge":  # its word tools would double the time of every import
        from grouse_adapters.lexical import LexicalJudge

        return LexicalJudge
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
