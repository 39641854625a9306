"""The metric table: scales, names, reply schemas."""

from __future__ import annotations

import pytest

from grouse_adapters.core.errors import ConfigurationError
from grouse_adapters.core.metrics import (
    JUDGED_METRICS,
    METRIC_NAMES,
    METRICS,
    parse_metrics,
    reply_schema,
    single_call_schema,
)

FULL = {"reasoning": True, "justification": True, "citations": "required"}


@pytest.mark.parametrize(
    ("metric", "value", "unit"),
    [
        ("answer_relevancy", 1, 0.0),
        ("completeness", 4, 0.75),
        ("answer_relevancy", 5, 1.0),
        ("faithfulness", 0, 0.0),
        ("positive_acceptance", 1, 1.0),
    ],
)
def test_the_unit_form_spans_the_scale(metric: str, value: int, unit: float) -> None:
    assert METRICS[metric].scale.to_unit(value) == unit  # type: ignore[index]  # a plain name


def test_names_are_read_as_people_write_them_and_put_in_table_order() -> None:
    assert parse_metrics(["grouse_faithfulness", "Answer-Relevancy"]) == (
        "answer_relevancy",
        "faithfulness",
    )
    assert parse_metrics(None) == METRIC_NAMES


@pytest.mark.parametrize("names", [["fidelity"], [], [""]])
def test_an_unknown_name_is_answered_with_the_known_ones(names: list[str]) -> None:
    with pytest.raises(ConfigurationError, match="choose from answer_relevancy, completeness"):
        parse_metrics(names)


def test_the_reply_names_both_answers_and_every_key_in_order() -> None:
    schema = reply_schema(METRICS["faithfulness"], answers=2, **FULL)  # type: ignore[arg-type]  # literals
    assert schema["required"] == ["answer_1", "answer_2"]
    assert schema["properties"]["answer_2"]["required"] == [
        "answer_only_asserts_no_document_answers",
        "content_analysis_sentence_by_sentence",
        "faithfulness_justification",
        "faithfulness",
    ]


def test_switches_take_keys_away_but_never_the_grade() -> None:
    for metric in JUDGED_METRICS:
        bare = metric.answer_schema(reasoning=False, justification=False, citations="required")
        assert list(bare["properties"]) == [metric.grade_key]
        assert bare["properties"][metric.grade_key]["enum"] == [*metric.scale.values, None]


def test_without_citations_only_support_is_asked() -> None:
    answer = METRICS["faithfulness"].answer_schema(
        reasoning=True, justification=True, citations="ignored"
    )
    item = answer["properties"]["content_analysis_sentence_by_sentence"]["items"]
    assert item["required"] == ["sentence", "criterion_3"]


def test_every_object_is_closed_as_strict_servers_demand() -> None:
    def objects(schema: object) -> list[dict[str, object]]:
        if isinstance(schema, dict):
            inner = [found for value in schema.values() for found in objects(value)]
            return [schema, *inner] if schema.get("type") == "object" else inner
        return (
            [found for value in schema for found in objects(value)]
            if isinstance(schema, list)
            else []
        )

    found = objects(single_call_schema(answers=2, **FULL))  # type: ignore[arg-type]  # literals
    assert len(found) == 1 + 4 + 8 + 2
    for schema in found:
        assert schema["additionalProperties"] is False
        assert schema["required"] == list(schema["properties"])  # type: ignore[call-overload]
