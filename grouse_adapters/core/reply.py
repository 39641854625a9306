"""From the text of a reply to grades: generous in reading, strict in judging. Pure functions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from grouse_adapters.core.grades import Grade, SentenceCheck
from grouse_adapters.core.metrics import MetricName


@dataclass(frozen=True, slots=True)
class ReplyForm:
    """How the replies to a prompt pack look.

    Attributes:
        kind: ``json`` (``{"answer_1": ..., "answer_2": ...}``) or ``result``
            (``feedback ... [RESULT] n``, one answer, as Prometheus 2 writes it).
        results: for ``result``: per metric, what a written result stands for (None: not
            applicable); a result that is not listed is read as the grade itself.
    """

    kind: Literal["json", "result"] = "json"
    results: Mapping[MetricName, Mapping[str, int | None]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ReadReply:
    """What one reply says about one metric of the actual answer."""

    grade: Grade
    sentences: tuple[SentenceCheck, ...] = ()
