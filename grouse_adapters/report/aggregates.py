"""From a stream of judgements to the figures of a run, in constant memory.

The three outcomes stay apart: a mean is over graded values alone, and the two other kinds are
counted next to it (arXiv 2409.06595, section 3, leaves null grades out of a metric in the same
way).
"""

from __future__ import annotations

from decimal import Decimal
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from grouse_adapters.core.grades import Graded, Judgement, NotApplicable, Usage
from grouse_adapters.core.metrics import METRIC_NAMES, MetricName


class MetricSummary(BaseModel):
    """One metric over a run.

    Attributes:
        mean: over graded values, in the metric's own unit (1-5, or 0-1); None when there are none.
        graded: how many samples have a value.
        not_applicable: for how many the metric does not apply.
        failed: for how many the judge gave no usable grade.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    mean: float | None
    graded: int
    not_applicable: int
    failed: int


class Report(BaseModel):
    """The figures of a run: ``report.json``.

    Attributes:
        command: the command that made the run, e.g. ``evaluate``.
        judge: name of the judge.
        samples: how many samples were judged, failed ones among them.
        failed_samples: how many of them have at least one failed grade.
        llm_calls: answered calls that were made.
        cached_calls: replies that came from the cache on disk instead.
        usage: tokens of ``llm_calls``.
        cost: US dollars of ``llm_calls``; 0 when there were none, None when no price is known.
        cost_is_partial: some calls have no known price, so ``cost`` is "at least"; never true
            when ``cost`` is None.
        metrics: one summary per metric that was asked for, in table order.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    schema_version: Literal[1] = 1
    command: str
    judge: str
    samples: int
    failed_samples: int
    llm_calls: int
    cached_calls: int
    usage: Usage
    cost: float | None
    cost_is_partial: bool = False
    metrics: dict[MetricName, MetricSummary] = Field(default_factory=dict)


class _Tally:
    """Integers only, so that a mean does not depend on the order of the samples."""

    __slots__ = ("failed", "graded", "not_applicable", "total")

    def __init__(self) -> None:
        self.graded = 0
        self.not_applicable = 0
        self.failed = 0
        self.total = 0

    def summary(self) -> MetricSummary:
        return MetricSummary(
            mean=self.total / self.graded if self.graded else None,
            graded=self.graded,
            not_applicable=self.not_applicable,
            failed=self.failed,
        )


class Aggregator:
    """Takes judgements one at a time and keeps only counts and sums."""

    def __init__(self) -> None:
        self._tallies: dict[MetricName, _Tally] = {}
        self._samples = 0
        self._failed_samples = 0
        self._llm_calls = 0
        self._cached_calls = 0
        self._input_tokens = 0
        self._output_tokens = 0
        # Decimal: sums of dollars as they are written, the same in every order.
        self._known_cost = Decimal(0)
        self._any_known = False
        self._any_unknown = False

    def add(self, judgement: Judgement) -> None:
        """Counts a sample: its grades and what it cost."""
        self._samples += 1
        self._failed_samples += judgement.failed
        for metric, grade in judgement.grades.items():
            tally = self._tallies.setdefault(metric, _Tally())
            if isinstance(grade, Graded):
                tally.graded += 1
                tally.total += grade.value
            elif isinstance(grade, NotApplicable):
                tally.not_applicable += 1
            else:
                tally.failed += 1
        self.add_spending(judgement)

    def add_spending(self, judgement: Judgement) -> None:
        """Counts only calls, tokens and cost: of an attempt that a later one replaced."""
        self._llm_calls += judgement.llm_calls
        self._cached_calls += judgement.cached_calls
        self._input_tokens += judgement.usage.input_tokens
        self._output_tokens += judgement.usage.output_tokens
        if judgement.cost is not None:
            self._known_cost += Decimal(str(judgement.cost))
            self._any_known = self._any_known or judgement.llm_calls > 0 or judgement.cost > 0
        elif judgement.llm_calls:
            self._any_unknown = True

    def report(self, *, command: str, judge: str) -> Report:
        """The figures so far.

        Args:
            command: the command that made the run.
            judge: name of the judge.
        """
        unknown = self._any_unknown and not self._any_known
        return Report(
            command=command,
            judge=judge,
            samples=self._samples,
            failed_samples=self._failed_samples,
            llm_calls=self._llm_calls,
            cached_calls=self._cached_calls,
            usage=Usage(input_tokens=self._input_tokens, output_tokens=self._output_tokens),
            cost=None if unknown else float(self._known_cost),
            cost_is_partial=self._any_unknown and self._any_known,
            metrics={
                name: self._tallies[name].summary()
                for name in METRIC_NAMES
                if name in self._tallies
            },
        )
