"""A model with a planted bias has the success rate that was worked out by hand beforehand."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import pytest
from cases_native import VARIANTS, as_rows, dev_tests, labels, made_test, outcomes, serving
from native_oracle import NativeOracle, Told

from grouse_adapters.native.annotations import Annotation
from grouse_adapters.native.figures import benchmark_report
from grouse_adapters.native.rows import NativeMetric
from grouse_adapters.native.rules import results

# RAGAS says of its legacy metrics that they are.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

# The annotated shares of the development set, by the number of the test's type. Two, five and
# eleven only refuse. Every third test gets a bias; all five of them have a share:
#
#            3    6    9    12   15      the other eight are left alone
# relevant   0    1    0    0    1
# faithful   1    1    1    1    13/14
BIASED = (3, 6, 9, 12, 15)
RATED = 13


@dataclass(frozen=True)
class Planted:
    """What the model makes of the five tests, and what follows by hand.

    Attributes:
        metric: the metric that is biased.
        shares: what it says of each of the five.
        failures: which of them are then 0.2 or more from the annotators.
        rate: percent of the 13 tests that are not.
        mae: sum of the differences over 13.
    """

    metric: NativeMetric
    shares: tuple[str, str, str, str, str]
    failures: tuple[int, ...]
    rate: float
    mae: float


BIASES = {
    # 0.25 more, but no more than 1: the two relevant answers stay.  10 of 13; 0.75 / 13
    "relevancy raised": Planted(
        "answer_relevancy", ("1/4", "1", "1/4", "1/4", "1"), (3, 9, 12), 76.92, 0.0577
    ),
    # All are 1 or 1/14 below.  13 of 13; (1/14) / 13
    "faithfulness raised": Planted("faithfulness", ("1", "1", "1", "1", "1"), (), 100.0, 0.0055),
    # 0.25 less, but no less than 0.  11 of 13; 0.5 / 13
    "relevancy lowered": Planted(
        "answer_relevancy", ("0", "3/4", "0", "0", "3/4"), (6, 15), 84.62, 0.0385
    ),
    # 13/14 - 1/4 = 19/28.  8 of 13; 1.25 / 13
    "faithfulness lowered": Planted(
        "faithfulness", ("3/4", "3/4", "3/4", "3/4", "19/28"), BIASED, 61.54, 0.0962
    ),
    # 0.19 less is near enough.  13 of 13; 0.38 / 13 and 0.95 / 13
    "relevancy a little lower": Planted(
        "answer_relevancy", ("0", "81/100", "0", "0", "81/100"), (), 100.0, 0.0292
    ),
    "faithfulness a little lower": Planted(
        "faithfulness", ("81/100", "81/100", "81/100", "81/100", "517/700"), (), 100.0, 0.0731
    ),
    # The opposite.  8 of 13; 5 / 13 and (4 + 12/14) / 13
    "relevancy the other way round": Planted(
        "answer_relevancy", ("1", "0", "1", "1", "0"), BIASED, 61.54, 0.3846
    ),
    "faithfulness the other way round": Planted(
        "faithfulness", ("0", "0", "0", "0", "1/14"), BIASED, 61.54, 0.3736
    ),
}
EXACTLY = {
    # 0.2 apart is a failure, whatever the floats say: 13/14 - 1/5 = 51/70.
    "relevancy a fifth lower": Planted(
        "answer_relevancy", ("0", "4/5", "0", "0", "4/5"), (6, 15), 84.62, 0.0308
    ),
    "faithfulness a fifth lower": Planted(
        "faithfulness", ("4/5", "4/5", "4/5", "4/5", "51/70"), BIASED, 61.54, 0.0769
    ),
}


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # DeepEval writes where it stands


def measure(variant: str, planted: Planted) -> None:
    """Runs the biased model and compares what comes out with what was worked out."""
    tests = dev_tests()
    annotations = labels(tests)
    shares = dict(zip(BIASED, planted.shares, strict=True))
    told: Told = {
        tests[number - 1].id: {planted.metric: Fraction(share)} for number, share in shares.items()
    }
    with serving(NativeOracle(tests, annotations, told=told)) as server:
        said = outcomes(variant, planted.metric, tests, server)
        assert server.script_errors == ()
    rows = as_rows(variant, planted.metric, said)
    [run] = benchmark_report(rows, tests, annotations, source="here").runs
    assert (run.rated, run.nothing_to_rate, run.errors) == (RATED, 3, 0)
    assert run.success_rate == planted.rate
    assert run.successes == RATED - len(planted.failures)
    assert run.mae == planted.mae
    [compared] = results(rows, tests, annotations).values()
    failed = {result.test.id for result in compared if result.verdict == "failure"}
    assert failed == {tests[number - 1].id for number in planted.failures}


@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("variant", VARIANTS)
def test_a_planted_bias_is_measured(variant: str, bias: str) -> None:
    measure(variant, BIASES[bias])


@pytest.mark.parametrize(
    ("variant", "bias"),
    [
        # RAGAS' relevancy comes from 32-bit numbers: which side of 0.2 it falls on is chance.
        *[(variant, "faithfulness a fifth lower") for variant in VARIANTS],
        *[(name, "relevancy a fifth lower") for name in VARIANTS if name.startswith("deepeval")],
    ],
)
def test_a_fifth_apart_is_a_failure(variant: str, bias: str) -> None:
    measure(variant, EXACTLY[bias])


# Table 2 and section 4.3 of arXiv 2409.06595, all with RAGAS.
WORKED = [
    ("answer_relevancy", "0.673", "0.802", "success"),
    ("answer_relevancy", "0.723", "1.0", "failure"),
    ("faithfulness", "0.75", "1.0", "failure"),
    ("faithfulness", "1.0", "1.0", "success"),
]


@pytest.mark.parametrize("variant", [name for name in VARIANTS if name.startswith("ragas")])
@pytest.mark.parametrize(("metric", "native", "human", "verdict"), WORKED)
def test_the_worked_examples_of_the_paper(
    variant: str, metric: NativeMetric, native: str, human: str, verdict: str
) -> None:
    test = made_test("worked")
    annotation = Annotation(
        test_id="worked",
        annotator="mean of three",
        source="human",
        answer_relevancy=float(human),
        faithfulness=float(human),
    )
    told: Told = {"worked": {metric: Fraction(native)}}
    with serving(NativeOracle([test], [annotation], told=told)) as server:
        said = outcomes(variant, metric, [test], server)
    assert said == {"worked": pytest.approx(float(native), abs=1e-6)}
    [[result]] = results(as_rows(variant, metric, said), [test], [annotation]).values()
    assert result.verdict == verdict
