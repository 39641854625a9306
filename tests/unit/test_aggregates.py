"""The figures of a run: three outcomes kept apart, exact means, true costs."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grouse_adapters.core.grades import Failed, Grade, Graded, Judgement, NotApplicable, Usage
from grouse_adapters.core.metrics import METRIC_NAMES, METRICS, MetricName
from grouse_adapters.core.sample import Sample
from grouse_adapters.report.aggregates import Aggregator, Report

SAMPLE = Sample(input="When?", references=("At noon.",), actual_output="At noon [1].")
NOT_APPLICABLE = NotApplicable(reason="the answer refuses")
FAILED = Failed(error_kind="timeout", error="no reply within 60 s")


def judgement(
    grades: dict[MetricName, Grade] | None = None,
    *,
    calls: int = 0,
    cached: int = 0,
    usage: tuple[int, int] = (0, 0),
    cost: float | None = None,
) -> Judgement:
    return Judgement(
        sample=SAMPLE,
        grades=grades or {},
        judge="any",
        llm_calls=calls,
        cached_calls=cached,
        usage=Usage(input_tokens=usage[0], output_tokens=usage[1]),
        cost=cost,
    )


def report_of(*judgements: Judgement) -> Report:
    aggregator = Aggregator()
    for one in judgements:
        aggregator.add(one)
    return aggregator.report(command="evaluate", judge="any")


def test_a_mean_is_over_graded_values_and_the_other_kinds_are_counted() -> None:
    report = report_of(
        judgement({"completeness": Graded(value=5), "faithfulness": FAILED}),
        judgement({"completeness": Graded(value=2), "faithfulness": NOT_APPLICABLE}),
        judgement({"completeness": NOT_APPLICABLE, "faithfulness": NOT_APPLICABLE}),
        judgement({"completeness": FAILED, "faithfulness": NOT_APPLICABLE}),
    )
    completeness = report.metrics["completeness"]
    assert (completeness.mean, completeness.graded) == (3.5, 2)
    assert (completeness.not_applicable, completeness.failed) == (1, 1)
    faithfulness = report.metrics["faithfulness"]
    assert (faithfulness.mean, faithfulness.graded) == (None, 0)
    assert (faithfulness.not_applicable, faithfulness.failed) == (3, 1)
    assert (report.samples, report.failed_samples) == (4, 2)


def test_an_empty_mean_is_null_in_json() -> None:
    text = report_of(judgement({"usefulness": NOT_APPLICABLE})).model_dump_json()
    assert json.loads(text)["metrics"]["usefulness"]["mean"] is None
    assert "NaN" not in text


def test_no_judgement_at_all_gives_a_report() -> None:
    report = report_of()
    assert (report.samples, report.metrics, report.cost) == (0, {}, 0.0)


def test_metrics_come_in_table_order_and_only_those_asked_for() -> None:
    report = report_of(
        judgement({"negative_rejection": FAILED}), judgement({"answer_relevancy": FAILED})
    )
    assert list(report.metrics) == ["answer_relevancy", "negative_rejection"]


def test_the_file_has_the_documented_keys() -> None:
    data = json.loads(report_of(judgement({"faithfulness": FAILED})).model_dump_json())
    documented = ["schema_version", "command", "judge", "samples", "llm_calls", "usage", "cost"]
    assert {*documented, "metrics"} <= data.keys()
    assert data["metrics"]["faithfulness"].keys() == {
        "mean",
        "graded",
        "not_applicable",
        "failed",
    }
    assert Report.model_validate(data).metrics["faithfulness"].failed == 1


@pytest.mark.parametrize(
    ("rows", "cost", "partial"),
    [
        pytest.param([], 0.0, False, id="nothing judged"),
        pytest.param([(0, None), (0, None)], 0.0, False, id="no calls cost nothing"),
        pytest.param([(3, 0.1), (3, 0.2)], 0.3, False, id="decimal dollars add up"),
        pytest.param([(3, None), (2, None)], None, False, id="no price known"),
        pytest.param([(3, 0.25), (2, None)], 0.25, True, id="at least"),
        pytest.param([(2, None), (3, 0.25)], 0.25, True, id="at least, other order"),
        pytest.param([(3, 0.25), (0, None)], 0.25, False, id="the rest came from the cache"),
        pytest.param([(3, None), (0, 0.0)], None, False, id="a free row is no known price"),
        pytest.param([(3, None), (2, 0.0)], 0.0, True, id="a free model next to an unknown one"),
    ],
)
def test_cost(rows: list[tuple[int, float | None]], cost: float | None, partial: bool) -> None:
    report = report_of(*(judgement(calls=calls, cost=price) for calls, price in rows))
    assert (report.cost, report.cost_is_partial) == (cost, partial)


def test_calls_and_tokens_add_up_and_spending_counts_no_sample() -> None:
    aggregator = Aggregator()
    graded: dict[MetricName, Grade] = {"faithfulness": Graded(value=1)}
    aggregator.add(judgement(graded, calls=2, cached=1, usage=(900, 80), cost=0.5))
    replaced: dict[MetricName, Grade] = {"faithfulness": FAILED}
    aggregator.add_spending(judgement(replaced, calls=1, usage=(100, 20), cost=0.25))
    report = aggregator.report(command="evaluate", judge="any")
    assert (report.samples, report.failed_samples) == (1, 0)
    assert report.metrics["faithfulness"].failed == 0
    assert (report.llm_calls, report.cached_calls, report.cost) == (3, 1, 0.75)
    assert report.usage == Usage(input_tokens=1000, output_tokens=100)


grades = st.one_of(
    st.integers(1, 5).map(lambda value: Graded(value=value)),
    st.just(NOT_APPLICABLE),
    st.just(FAILED),
)
rows = st.lists(
    st.tuples(
        st.dictionaries(st.sampled_from(METRIC_NAMES), grades),
        st.integers(0, 4),
        st.none() | st.decimals(0, 1, places=6).map(float),
    ),
    max_size=30,
)


@given(rows=rows, data=st.data())
def test_figures_do_not_depend_on_the_order(
    rows: list[tuple[dict[MetricName, Grade], int, float | None]], data: st.DataObject
) -> None:
    judgements = [judgement(given, calls=calls, cost=cost) for given, calls, cost in rows]
    report = report_of(*judgements)
    assert report_of(*data.draw(st.permutations(judgements))) == report
    for name, summary in report.metrics.items():
        values = [value for one in judgements if (value := one.value(name)) is not None]
        if values:
            assert summary.mean == float(Fraction(sum(values), len(values)))
        assert summary.graded == len(values)
        asked = sum(name in one.grades for one in judgements)
        assert summary.graded + summary.not_applicable + summary.failed == asked
        assert name in METRICS
