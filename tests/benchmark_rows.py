"""Benchmarks to report on: real tests with their annotations, and scores written down by rule."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

from grouse_adapters import LexicalJudge
from grouse_adapters.core.grades import Judgement, Usage
from grouse_adapters.meta.scenarios import (
    build_annotations,
    build_tests,
    load_scenario,
)
from grouse_adapters.meta.unit_tests import UnitTest
from grouse_adapters.native.annotations import Annotation
from grouse_adapters.native.rows import Framework, NativeMetric, NativeScore
from grouse_adapters.native.rules import THRESHOLD, results
from grouse_adapters.native.shares import annotated

SCENARIOS = Path(__file__).parent / "data" / "dev_scenarios"
NAMES = ("ferrante-duel", "harbour-fees", "station-basse")
VERSIONS: dict[Framework, str] = {"ragas": "0.4.3", "deepeval": "4.3.1"}
VARIANTS: dict[Framework, tuple[str, ...]] = {
    "ragas": ("collections", "legacy"),
    "deepeval": ("without-reason", "with-reason"),
}
METRICS: tuple[NativeMetric, ...] = ("faithfulness", "answer_relevancy")


def score(test_id: str, value: float | None = None, **given: Any) -> NativeScore:
    """A row; RAGAS faithfulness by its collections unless something else is given."""
    row: dict[str, Any] = {
        "framework": "ragas",
        "framework_version": VERSIONS[given.get("framework", "ragas")],
        "metric": "faithfulness",
        "variant": "collections",
        "model": "gpt-4o-mini",
        "score": value,
        "calls": 2,
        "usage": Usage(input_tokens=900, output_tokens=100),
        "wall_seconds": 1.25,
    }
    return NativeScore(test_id=test_id, **{**row, **given})


@cache
def suite(sets: int = 3) -> tuple[tuple[UnitTest, ...], tuple[Annotation, ...]]:
    """Sets of the development scenarios, under other names from the fourth on, annotated."""
    tests: list[UnitTest] = []
    notes: list[Annotation] = []
    scenarios = [load_scenario(SCENARIOS / f"{name}.yaml") for name in NAMES]
    for number in range(sets):
        lap, place = divmod(number, len(scenarios))
        scenario = scenarios[place]
        if lap:
            scenario = scenario.model_copy(update={"id": f"{scenario.id}-{lap}"})
        tests += build_tests(scenario)
        notes += build_annotations(scenario)
    return tuple(tests), tuple(notes)


@cache
def judged(sets: int = 3) -> tuple[Judgement, ...]:
    """What the lexical judge says about the same tests."""
    with LexicalJudge() as judge:
        return tuple(judge.judge_many([test.sample for test in suite(sets)[0]]))


def scores(
    tests: Sequence[UnitTest],
    notes: Iterable[Annotation],
    *,
    variants: int = 1,
    versions: dict[Framework, str] = VERSIONS,
    nudge: Fraction = Fraction(0),
) -> list[NativeScore]:
    """Scores as a biased framework might give them, the same every time.

    Faithfulness misses one statement in every third answer, relevancy is too low by a fifth on
    perfect answers; refusals get a full score from DeepEval and none from RAGAS.

    Args:
        tests: which.
        notes: their annotations.
        variants: how many of each framework's.
        versions: of the frameworks.
        nudge: added to every relevancy, e.g. what another version changes.
    """
    said = annotated(notes)
    rows = []
    for framework in VARIANTS:
        for metric in METRICS:
            for number, variant in enumerate(VARIANTS[framework][:variants]):
                for place, test in enumerate(tests):
                    share = said[test.id].mean(metric)
                    if not isinstance(share, Fraction):
                        share = None
                    value = _value(framework, metric, share, place + number, nudge)
                    rows.append(
                        score(
                            test.id,
                            value,
                            framework=framework,
                            framework_version=versions[framework],
                            metric=metric,
                            variant=variant,
                            embedding_model="text-embedding-3-small"
                            if (framework, metric) == ("ragas", "answer_relevancy")
                            else None,
                            not_scored=value is None and place % 16 != 9,
                            **_trouble(value, place),
                            reason=_reason(framework, metric, value),
                        )
                    )
    return rows


def _value(
    framework: Framework,
    metric: NativeMetric,
    share: Fraction | None,
    place: int,
    nudge: Fraction,
) -> float | None:
    if share is None:
        return 1.0 if framework == "deepeval" else None
    if place % 16 == 9 and place > 30:
        return None
    if metric == "faithfulness":
        lost = Fraction(1, 4) if place % 3 == 0 else Fraction(0)
        return float(max(Fraction(0), share - lost))
    wave = Fraction(place * 7 % 11, 40)
    return float(max(Fraction(0), min(Fraction(1), share * Fraction(9, 10) - wave + nudge)))


def _trouble(value: float | None, place: int) -> dict[str, Any]:
    if value is not None or place % 16 != 9:
        return {}
    return {"error_kind": "timeout", "error": "The model did not answer within 60 seconds."}


def _reason(framework: Framework, metric: NativeMetric, value: float | None) -> str | None:
    if value is None or framework == "ragas":
        return None
    return (
        f"The score is {value:.2f} because one claim about the third item is not mentioned in the "
        f"retrieval context ({metric})."
    )


__all__ = ["METRICS", "THRESHOLD", "judged", "results", "score", "scores", "suite"]
