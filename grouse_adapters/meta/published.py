"""Published figures (arXiv 2409.06595 and the model card of illuin/llama-3-grouse), as data."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from importlib.resources import files
from typing import Any, Final

from grouse_adapters.core.metrics import METRIC_NAMES, MetricName
from grouse_adapters.meta.counts import rounded
from grouse_adapters.meta.pass_rates import TOTAL
from grouse_adapters.meta.report import PublishedJudge

PUBLISHED_TESTS: Final = 144
"""Size of the test split of illuin/grouse, to which the published pass rates belong."""

# A mean of six rates with two decimals each is off by at most half a hundredth, and so is its own
# rounding.
_ROUNDING: Final = Fraction(1, 100)


@dataclass(frozen=True)
class PublishedAlignment:
    """How closely a judge follows GPT-4.

    Attributes:
        judge: its name in the paper.
        setting: how it was asked.
        source: where the figures stand.
        alignment: answer relevancy and completeness: Spearman correlation; the other metrics:
            macro F1 over the classes 0, 1 and null.
    """

    judge: str
    setting: str
    source: str
    alignment: Mapping[MetricName, float]


def published_pass_rates() -> tuple[PublishedJudge, ...]:
    """Every published row of pass rates: judges, people, ablations, French, training data."""
    return tuple(row for group in _data()["pass_rates"]["groups"] for row in _rows(group))


def published_judges() -> tuple[PublishedJudge, ...]:
    """The rows that a judge may be compared with on the published tests: judges and people."""
    groups = _data()["pass_rates"]["groups"]
    return tuple(row for group in groups if group["comparable"] for row in _rows(group))


def published_alignment() -> tuple[PublishedAlignment, ...]:
    """The published alignment with GPT-4."""
    return tuple(
        PublishedAlignment(
            judge=judge,
            setting=group["setting"],
            source=group["source"],
            alignment=dict(zip(METRIC_NAMES, figures, strict=True)),
        )
        for group in _data()["alignment"]["groups"]
        for judge, figures in group["rows"].items()
    )


def recomputed_total(row: PublishedJudge) -> float:
    """Mean of the row's six columns, in percent with two decimals."""
    total = rounded(_written(row.pass_rate[metric]) / 100 for metric in METRIC_NAMES)
    assert total is not None  # every published row has six columns
    return total


def rows_that_do_not_add_up() -> tuple[PublishedJudge, ...]:
    """The rows whose published total is not the mean of their columns, roundings allowed for."""
    return tuple(row for row in published_pass_rates() if not _adds_up(row))


def _adds_up(row: PublishedJudge) -> bool:
    columns = [_written(row.pass_rate[metric]) for metric in METRIC_NAMES]
    mean = sum(columns, Fraction()) / len(columns)
    return abs(_written(row.pass_rate[TOTAL]) - mean) <= _ROUNDING


@lru_cache(maxsize=1)
def _data() -> Any:
    path = files("grouse_adapters").joinpath("data", "published.json")
    return json.loads(path.read_text(encoding="utf-8"))


def _rows(group: Mapping[str, Any]) -> list[PublishedJudge]:
    return [
        PublishedJudge(
            judge=judge,
            setting=group["setting"],
            source=group["source"],
            pass_rate=dict(zip((*METRIC_NAMES, TOTAL), figures, strict=True)),
        )
        for judge, figures in group["rows"].items()
    ]


def _written(figure: float | None) -> Fraction:
    return Fraction(str(figure))  # 91.67 as it is printed, not the nearest float
