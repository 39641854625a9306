"""What a framework's own metric said about one unit test: one line of ``scores.jsonl``."""

from __future__ import annotations

import json
import math
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, ValidationError, field_validator

from grouse_adapters.core.errors import ErrorKind
from grouse_adapters.core.grades import Usage

Framework = Literal["ragas", "deepeval"]
NativeMetric = Literal["faithfulness", "answer_relevancy"]

NATIVE_METRICS: Final[tuple[NativeMetric, ...]] = ("faithfulness", "answer_relevancy")


class NativeScore(BaseModel):
    """One framework's metric on one test.

    Attributes:
        test_id: the unit test.
        framework: whose metric it is.
        framework_version: version of that package.
        metric: the metric.
        variant: how it was used, e.g. ``collections``, ``legacy``, ``with-reason``.
        model: the model it asked.
        embedding_model: the model it asked for embeddings; None when it needs none.
        score: what it said, 0-1; None when it said nothing.
        not_scored: it ended without a score (RAGAS' NaN, DeepEval's None), and without an error.
        reason: the framework's own reasoning, as far as it gives one.
        error_kind: why it failed; None when it did not.
        error: the framework's error in one line.
        calls: answered calls to the model.
        embedding_calls: answered calls for embeddings.
        usage: tokens of both.
        cpu_seconds: processor time of the process since the score before it was there, while this
            metric alone was run: with several tests under way only the sum over the tests says
            something. None: not measured.
        wall_seconds: time from start to end, waits for a rate limit among it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    schema_version: Literal[1] = 1
    test_id: str
    framework: Framework
    framework_version: str
    metric: NativeMetric
    variant: str
    model: str
    embedding_model: str | None = None
    score: float | None = None
    not_scored: bool = False
    reason: str | None = None
    error_kind: ErrorKind | None = None
    error: str | None = None
    calls: int = 0
    embedding_calls: int = 0
    usage: Usage = Usage()
    cpu_seconds: float | None = None
    wall_seconds: float = 0.0

    @field_validator("score")
    @classmethod
    def _finite(cls, value: float | None) -> float | None:
        if value is not None and not math.isfinite(value):
            raise ValueError("a score is a number; not scored is None")
        return value

    @property
    def failed(self) -> bool:
        """Whether it ended in an error."""
        return self.error_kind is not None

    @property
    def key(self) -> tuple[str, Framework, NativeMetric, str]:
        """What names the row within a run; its last row wins."""
        return (self.test_id, self.framework, self.metric, self.variant)


def score_line(score: NativeScore) -> bytes:
    """One line of UTF-8 JSON with its line break.

    Half of a surrogate pair, which a model can write and UTF-8 cannot hold, becomes ``?``.
    """
    try:
        return score.model_dump_json().encode("utf-8") + b"\n"
    except ValueError:
        text = json.dumps(score.model_dump(mode="json"), ensure_ascii=False)
        return text.encode("utf-8", errors="replace") + b"\n"


def read_score(line: bytes) -> NativeScore | None:
    """The score in ``line``; None when it holds none."""
    try:
        return NativeScore.model_validate_json(line)
    except ValidationError:
        return None
