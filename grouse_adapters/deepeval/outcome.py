"""What one measurement said, kept apart per test case although they share a metric object.

DeepEval reads results from the attributes of the metric, after waiting for the other metrics of
the test case. The metrics of ``@observe(metrics=[...])`` are shared by all test cases that run at
once, so plain attributes would by then often hold another test case's result. But DeepEval also
sets ``error = None`` before each test case, in the task or thread that reads the results later:
from there on that context, and what it starts, has an outcome of its own.
"""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass, fields
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

T = TypeVar("T")


@dataclass(slots=True)
class Outcome:
    """The attributes of a metric that DeepEval reads as its result; see ``GrouseMetric``."""

    score: float | None = None
    score_breakdown: dict[str, Any] | None = None
    reason: str | None = None
    success: bool | None = None
    error: str | None = None
    skipped: bool = False
    evaluation_cost: float | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    verbose_logs: str | None = None


_LATEST = "_outcome"
_of_context: ContextVar[WeakKeyDictionary[object, Outcome]] = ContextVar("grouse_outcomes")
_NOTHING = Outcome()


def outcome_of(metric: object) -> Outcome:
    """The outcome of the test case that this context is about, else the latest one."""
    own = _of_context.get(None)
    found = own.get(metric) if own is not None else None
    if found is None:
        found = vars(metric).setdefault(_LATEST, Outcome())
    return found


def keep(metric: object, outcome: Outcome) -> None:
    """Makes ``outcome`` the one that is read, here and where this context came from."""
    kept = outcome_of(metric)
    for field in fields(Outcome):
        setattr(kept, field.name, getattr(outcome, field.name))


def keeps_outcomes(metric_class: type[T]) -> type[T]:
    """Class decorator: the attributes of ``Outcome`` are read from and written to one."""
    for field in fields(Outcome):
        setattr(metric_class, field.name, _Kept(field.name))
    return metric_class


class _Kept:
    """An attribute of the outcome, on the metric."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, metric: object | None, owner: type | None = None) -> Any:
        return getattr(_NOTHING if metric is None else outcome_of(metric), self._name)

    def __set__(self, metric: object, value: Any) -> None:
        if self._name == "skipped" and value is False:
            _begin(metric, skipped=False)
        elif self._name == "error" and value is None:
            # DeepEval also clears the error of a metric that it has just marked as skipped.
            _begin(metric, skipped=outcome_of(metric).skipped)
        else:
            setattr(outcome_of(metric), self._name, value)


def _begin(metric: object, *, skipped: bool) -> None:
    fresh = Outcome(skipped=skipped)
    # Copied, not changed: contexts that share the mapping must keep theirs.
    own = WeakKeyDictionary(_of_context.get(None) or {})
    own[metric] = fresh
    _of_context.set(own)
    vars(metric)[_LATEST] = fresh
