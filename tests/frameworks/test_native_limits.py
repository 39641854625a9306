"""What native metrics cannot express, or make of odd input: the facts of benchmark_limits.md."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from cases_native import (
    OLD_DEEPEVAL,
    OLD_RAGAS,
    UNKNOWN_MODEL,
    VARIANTS,
    as_rows,
    bundled,
    deepeval_with,
    dev_tests,
    labelled,
    labels,
    made_test,
    outcomes,
    ragas_with,
    serving,
)
from native_oracle import NativeOracle, Told
from native_prompts import Step, read_prompt

from grouse_adapters.meta.conditions import Condition
from grouse_adapters.native.annotations import Annotation
from grouse_adapters.native.figures import benchmark_report
from grouse_adapters.native.rows import NATIVE_METRICS, NativeMetric
from grouse_adapters.native.rules import difference

# RAGAS says of its legacy metrics that they are.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

Change = Callable[[dict[str, Any]], Any]

RAGAS = [name for name in VARIANTS if name.startswith("ragas")]
DEEPEVAL = [name for name in VARIANTS if name.startswith("deepeval")]
DOUBTFUL = "idk" if OLD_DEEPEVAL else "borderline"
MILL = made_test("mill")
TWO = labelled(MILL, ("The mill has two wheels.", True, True), ("It grinds rye.", True, False))


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # DeepEval writes where it stands


def changing(oracle: NativeOracle, step: Step, change: Change) -> Callable[..., Any]:
    """The oracle's replies, changed where one step is asked for."""

    def reply(prompt: str, schema: object) -> Any:
        given = oracle(prompt)
        return change(given) if read_prompt(prompt).step == step else given

    return reply


def always(reply: dict[str, Any]) -> Change:
    """The same reply, whatever the oracle would say."""
    return lambda _: reply


def score(variant: str, metric: NativeMetric, step: Step, change: Change) -> Any:
    """What a metric makes of the mill when the model's reply at one step is changed."""
    oracle = NativeOracle([MILL], [TWO])
    with serving(oracle, replies=changing(oracle, step, change)) as server:
        return outcomes(variant, metric, [MILL], server)["mill"]


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("metric", NATIVE_METRICS)
def test_an_empty_answer(variant: str, metric: NativeMetric) -> None:
    test = made_test("empty", answer="")
    with serving(NativeOracle([test], [labelled(test)])) as server:
        said = outcomes(variant, metric, [test], server)["empty"]
        assert server.script_errors == ()
    unchecked = variant == "ragas collections" and metric == "answer_relevancy" and OLD_RAGAS
    if variant == "ragas legacy" or unchecked:
        assert said == (None if metric == "faithfulness" else 0.0)
    else:
        wanted = "ValueError" if variant in RAGAS else "MissingTestCaseParamsError"
        assert type(said).__name__ == wanted
        assert server.calls == 0


@pytest.mark.parametrize("variant", VARIANTS)
def test_no_references(variant: str) -> None:
    test = made_test("bare", references=())
    with serving(NativeOracle([test], [labelled(test, ("It grinds rye.", True, False))])) as server:
        said = outcomes(variant, "faithfulness", [test], server)["bare"]
    if variant == "ragas collections":
        assert isinstance(said, ValueError)
        assert "retrieved_contexts is missing" in str(said)
    else:
        assert said == 0.0


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("metric", NATIVE_METRICS)
def test_a_refusal_out_of_which_something_is_extracted(variant: str, metric: NativeMetric) -> None:
    # A model may take the refusal itself for a statement. Nothing about it counts.
    test = made_test("refusal", answer="No document answers this.")
    annotations = [labelled(test)]
    told: Told = {"refusal": {metric: Fraction(1, 2)}}
    with serving(NativeOracle([test], annotations, told=told)) as server:
        said = outcomes(variant, metric, [test], server)
    rows = as_rows(variant, metric, said)
    [run] = benchmark_report(rows, [test], annotations, source="here").runs
    assert (run.success_rate, run.nothing_to_rate) == (None, 1)
    assert (run.nothing_to_rate_as.scored, run.nothing_to_rate_as.perfect) == (1, 0)


@pytest.mark.parametrize("variant", RAGAS)
def test_noncommittal_is_nought_whatever_the_share(variant: str) -> None:
    assert score(
        variant, "answer_relevancy", "ragas: question", lambda said: {**said, "noncommittal": 1}
    ) == pytest.approx(0.0)


def test_one_noncommittal_of_three_changes_nothing() -> None:
    flags = iter([1, 1, 0])
    said = score(
        "ragas collections",
        "answer_relevancy",
        "ragas: question",
        lambda said: {**said, "noncommittal": next(flags)},
    )
    assert said == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize(("variant", "wanted"), zip(RAGAS, (0.0, None), strict=True))
def test_no_question_at_all(variant: str, wanted: float | None) -> None:
    assert (
        score(variant, "answer_relevancy", "ragas: question", lambda said: {**said, "question": ""})
        == wanted
    )


@pytest.mark.parametrize("variant", RAGAS)
def test_a_cosine_may_be_negative(variant: str) -> None:
    oracle = NativeOracle([MILL], [TWO], told={"mill": {"answer_relevancy": Fraction(1, 4)}})

    def other_side(text: str) -> list[float]:
        own = text == MILL.sample.input
        return [number if own else -number for number in oracle.embed(text)]

    with serving(oracle, embed=other_side) as server:
        said = outcomes(variant, "answer_relevancy", [MILL], server)
    assert said == {"mill": pytest.approx(-0.25, abs=1e-6)}
    [row] = as_rows(variant, "answer_relevancy", said)
    assert row.score == pytest.approx(-0.25, abs=1e-6)


@pytest.mark.parametrize("variant", DEEPEVAL)
@pytest.mark.parametrize("metric", NATIVE_METRICS)
def test_a_doubtful_verdict_counts_as_yes(variant: str, metric: NativeMetric) -> None:
    step: Step = (
        "deepeval: faithfulness verdicts"
        if metric == "faithfulness"
        else "deepeval: relevancy verdicts"
    )
    doubtful = {"verdicts": [{"verdict": DOUBTFUL, "reason": "Who knows."}] * 2}
    assert score(variant, metric, step, always(doubtful)) == 1.0


@pytest.mark.parametrize("variant", [*DEEPEVAL, UNKNOWN_MODEL])
def test_any_other_word_fails_the_whole_metric(variant: str) -> None:
    step: Step = "deepeval: faithfulness verdicts"
    for word in ({"idk", "borderline"} - {DOUBTFUL}) | {"maybe", "No."}:
        told = {"verdicts": [{"verdict": "yes"}, {"verdict": word}]}
        said = score(variant, "faithfulness", step, always(told))
        assert type(said).__name__ == "ValidationError"


@pytest.mark.parametrize("variant", DEEPEVAL)
def test_deepeval_divides_by_the_verdicts_that_came(variant: str) -> None:
    step: Step = "deepeval: faithfulness verdicts"
    for verdicts, wanted in ((["yes"], 1.0), (["no"], 0.0), (["yes", "no", "no", "no"], 0.25)):
        reply = {"verdicts": [{"verdict": verdict} for verdict in verdicts]}
        assert score(variant, "faithfulness", step, always(reply)) == wanted
    assert score(variant, "faithfulness", step, always({"verdicts": []})) == 1.0


@pytest.mark.parametrize("variant", RAGAS)
def test_ragas_divides_by_the_verdicts_that_came(variant: str) -> None:
    def verdicts(*given: int) -> Change:
        rows = [{"statement": "It is.", "reason": "So.", "verdict": one} for one in given]
        return always({"statements": rows})

    step: Step = "ragas: verdicts"
    assert score(variant, "faithfulness", step, verdicts(1)) == 1.0
    assert score(variant, "faithfulness", step, verdicts(1, 0, 0, 0)) == 0.25
    assert score(variant, "faithfulness", step, verdicts()) is None
    assert score(variant, "faithfulness", step, verdicts(-1, 2)) == 1.0  # all that is not 0


def test_ragas_cuts_off_what_it_says_about_many_statements() -> None:
    # 14 statements in five parts each: 70 verdicts.
    tests = dev_tests()
    told: Told = {tests[5].id: {"faithfulness": Fraction(4, 5)}}
    oracle = NativeOracle(tests, labels(tests), told=told)
    with serving(oracle) as server:
        for client, wanted in ((ragas_with(), None), (ragas_with(max_tokens=16_384), 0.8)):
            said = outcomes("ragas collections", "faithfulness", tests[5:6], server, client=client)[
                tests[5].id
            ]
            if wanted is None:
                assert type(said).__name__ == "IncompleteOutputException"
            else:
                assert said == wanted


@pytest.mark.parametrize("variant", VARIANTS)
def test_citations_are_not_seen(variant: str) -> None:
    """A wrong or missing citation leaves the facts, the annotation and the native score at 1."""
    tests, annotations = bundled("heat-pump-manual")
    seen = [
        test for test in tests if test.test_type in ("Low faithfulness 1", "Low faithfulness 2")
    ]
    assert [test.conditions.of("faithfulness") for test in seen] == [Condition.parse("==0")] * 2
    with serving(NativeOracle(tests, annotations)) as server:
        said = outcomes(variant, "faithfulness", seen, server)
    assert set(said.values()) == {1.0}


def test_an_answer_of_one_or_two_statements_cannot_meet_every_mean() -> None:
    """The shares that a metric can give to an answer of n statements, against any mean."""

    def out_of_reach(statements: int) -> list[Decimal]:
        shares = [Fraction(number, statements) for number in range(statements + 1)]
        return [
            mean
            for mean in (Decimal(number) / 100 for number in range(101))
            if all(
                abs(difference(float(share), Fraction(mean))) >= Fraction(1, 5) for share in shares
            )
        ]

    hundredths = [Decimal(number) / 100 for number in range(101)]
    assert out_of_reach(1) == hundredths[20:81]
    assert out_of_reach(2) == hundredths[20:31] + hundredths[70:81]
    assert out_of_reach(3) == []


@pytest.mark.parametrize("variant", ["ragas collections", "deepeval without-reason"])
@pytest.mark.parametrize("metric", NATIVE_METRICS)
def test_one_statement_against_a_mean_in_the_middle(variant: str, metric: NativeMetric) -> None:
    test = made_test("one", answer="Rye [2].")
    human = Annotation(
        test_id="one", annotator="A", source="human", answer_relevancy=0.5, faithfulness=0.5
    )
    rates = []
    for label in (True, False):
        oracle = NativeOracle([test], [labelled(test, ("It grinds rye.", label, label))])
        with serving(oracle) as server:
            said = outcomes(variant, metric, [test], server)
        [run] = benchmark_report(as_rows(variant, metric, said), [test], [human], source="x").runs
        rates.append(run.success_rate)
    assert rates == [0.0, 0.0]


def test_doubt_about_a_claim_counts_where_deepeval_is_told_so() -> None:
    oracle = NativeOracle([MILL], [TWO])
    doubtful = {"verdicts": [{"verdict": "yes"}, {"verdict": DOUBTFUL, "reason": "Who knows."}]}
    replies = changing(oracle, "deepeval: faithfulness verdicts", always(doubtful))
    with serving(oracle, replies=replies) as server:
        client = deepeval_with(penalize_ambiguous_claims=True)
        said = outcomes("deepeval with-reason", "faithfulness", [MILL], server, client=client)
    assert said == {"mill": 0.5}
