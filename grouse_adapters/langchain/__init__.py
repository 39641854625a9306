"""GroUSE in LangSmith and LangChain: evaluators, and a callback that judges live chains.

Needs the extra ``langchain``. A ``StringEvaluator`` per metric is in ``string_evaluators``, which
needs the extra ``langchain-classic``.
"""

from __future__ import annotations

from grouse_adapters.langchain._needs import needs

needs("langchain", package="langchain-core", lowest="0.3", below="2")

from grouse_adapters.langchain.callback import GrouseCallback  # noqa: E402  # checked before
from grouse_adapters.langchain.evaluators import (  # noqa: E402
    GrouseRunEvaluator,
    agrouse_evaluator,
    grouse_evaluator,
)
from grouse_adapters.langchain.models import LangChainChat, chat_model  # noqa: E402

__all__ = [
    "GrouseCallback",
    "GrouseRunEvaluator",
    "LangChainChat",
    "agrouse_evaluator",
    "chat_model",
    "grouse_evaluator",
]
