"""The oracle makes every native metric say what the annotators say, with the real frameworks."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import pytest
from cases_native import (
    UNKNOWN_MODEL,
    VARIANTS,
    as_rows,
    bundled,
    dev_tests,
    framework_of,
    labelled,
    labels,
    made_test,
    outcomes,
    serving,
)
from native_oracle import IndistinctError, NativeOracle
from native_prompts import UnknownPromptError, read_prompt

from grouse_adapters.meta.unit_tests import UnitTest
from grouse_adapters.native.annotations import AnnotatedStatement, Annotation
from grouse_adapters.native.figures import benchmark_report
from grouse_adapters.native.report import NativeRun
from grouse_adapters.native.rows import NATIVE_METRICS, NativeMetric

# RAGAS says of its legacy metrics that they are.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

VARIANT = pytest.mark.parametrize("variant", VARIANTS)
EVERY_WAY = pytest.mark.parametrize("variant", [*VARIANTS, UNKNOWN_MODEL])
METRIC = pytest.mark.parametrize("metric", NATIVE_METRICS)

NOTHING_TO_RATE = ("Highest marks 2", "Highest marks 5", "Low completeness 2")
WITHOUT_STATEMENTS = {
    ("ragas", "faithfulness"): None,  # NaN
    ("ragas", "answer_relevancy"): 0.0,  # noncommittal
    ("deepeval", "faithfulness"): 1.0,
    ("deepeval", "answer_relevancy"): 1.0,
}


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # DeepEval writes where it stands


def near(variant: str, metric: NativeMetric, share: Fraction) -> object:
    # Embeddings arrive as 32-bit numbers; the shares of statements are exact.
    if variant.startswith("ragas") and metric == "answer_relevancy":
        return pytest.approx(float(share), abs=1e-6)
    return float(share)


def measured(
    variant: str,
    metric: NativeMetric,
    tests: Sequence[UnitTest],
    annotations: Sequence[Annotation],
    oracle: NativeOracle,
) -> NativeRun:
    with serving(oracle) as server:
        said = outcomes(variant, metric, tests, server)
        assert server.script_errors == ()
    report = benchmark_report(as_rows(variant, metric, said), tests, annotations, source="here")
    [run] = report.runs
    return run


@EVERY_WAY
@METRIC
def test_every_metric_says_the_annotated_share(variant: str, metric: NativeMetric) -> None:
    tests = dev_tests()
    annotations = labels(tests)
    oracle = NativeOracle(tests, annotations)
    with serving(oracle) as server:
        said = outcomes(variant, metric, tests, server)
        assert server.script_errors == ()
    rated = [test for test in tests if test.test_type not in NOTHING_TO_RATE]
    assert len(rated) == 13
    for annotation in annotations:
        given = annotation.statements or ()
        good = sum(one.faithful if metric == "faithfulness" else one.relevant for one in given)
        if given:
            share = Fraction(good, len(given))
            assert said[annotation.test_id] == near(variant, metric, share), annotation.test_id
        else:
            nothing = WITHOUT_STATEMENTS[framework_of(variant), metric]
            assert said[annotation.test_id] == nothing


@VARIANT
@METRIC
def test_two_bundled_sets_are_all_successes(variant: str, metric: NativeMetric) -> None:
    tests, annotations = bundled("biographie-aeronaute", "heat-pump-manual")
    assert len(tests) == 32
    run = measured(variant, metric, tests, annotations, NativeOracle(tests, annotations))
    assert (run.success_rate, run.rated, run.successes) == (100.0, 26, 26)
    assert (run.mae, run.not_scored, run.errors, run.nothing_to_rate) == (0.0, 0, 0, 6)
    assert run.annotations == "by construction"
    made = run.nothing_to_rate_as
    if variant.startswith("deepeval"):
        assert (made.scored, made.perfect, made.not_scored) == (6, 6, 0)
    elif metric == "faithfulness":
        assert (made.scored, made.perfect, made.not_scored) == (0, 0, 6)
    else:
        assert (made.scored, made.perfect, made.not_scored) == (6, 0, 0)


@VARIANT
@METRIC
def test_the_score_hangs_on_every_label(variant: str, metric: NativeMetric) -> None:
    # Two statements, one good and one bad under either metric: annotators say a half.
    told = {
        "as annotated": ((True, False), 0.5),
        "bad one deleted": ((True,), 1.0),
        "good one deleted": ((False,), 0.0),
        "bad one called good": ((True, True), 1.0),
    }

    def said_of(test: UnitTest, *good: bool) -> Annotation:
        texts = f"Two wheels, {test.id}.", f"It grinds rye, {test.id}."
        return labelled(
            test, *((text, label, label) for text, label in zip(texts, good, strict=False))
        )

    tests = [made_test(name, answer=f"Two wheels, rye: {name} [1].") for name in told]
    annotations = [said_of(test, True, False) for test in tests]
    oracle = NativeOracle(tests, [said_of(test, *told[test.id][0]) for test in tests])
    with serving(oracle) as server:
        said = outcomes(variant, metric, tests, server)
    assert said == {name: pytest.approx(score, abs=1e-6) for name, (_, score) in told.items()}
    rows = as_rows(variant, metric, said)
    [run] = benchmark_report(rows, tests, annotations, source="here").runs
    assert (run.successes, run.rated, run.success_rate) == (1, 4, 25.0)


@METRIC
@pytest.mark.parametrize("variant", ["ragas collections", "deepeval without-reason"])
def test_deleting_the_labels_of_the_development_set(variant: str, metric: NativeMetric) -> None:
    # 1 of 14 statements is unfaithful in two tests, 4 of 18 are irrelevant in one.
    tests = dev_tests()
    kept = [
        annotation.model_copy(update={"statements": good_ones(annotation, metric)})
        for annotation in labels(tests)
    ]
    with serving(NativeOracle(tests, kept)) as server:
        said = outcomes(variant, metric, tests, server)
    by_type = {test.test_type: said[test.id] for test in tests}
    for test_type in ("Low faithfulness 2", "Low faithfulness 3", "Low answer relevancy 1"):
        assert by_type[test_type] == near(variant, metric, Fraction(1))
    # Nothing there is relevant: with these labels gone, nothing is extracted.
    nothing = WITHOUT_STATEMENTS[framework_of(variant), metric]
    empty = metric == "answer_relevancy"
    assert by_type["Low usefulness 1"] == (nothing if empty else 1.0)


def good_ones(annotation: Annotation, metric: NativeMetric) -> tuple[AnnotatedStatement, ...]:
    return tuple(
        one
        for one in annotation.statements or ()
        if (one.faithful if metric == "faithfulness" else one.relevant)
    )


@VARIANT
def test_the_same_answer_to_other_references_has_labels_of_its_own(variant: str) -> None:
    here = made_test("here")
    there = made_test("there", references=("The mill stands still.",))
    statement = "The mill has two wheels."
    annotations = [
        labelled(here, (statement, True, True)),
        labelled(there, (statement, True, False)),
    ]
    with serving(NativeOracle([here, there], annotations)) as server:
        said = outcomes(variant, "faithfulness", [there, here], server)
    assert said == {"here": 1.0, "there": 0.0}


@pytest.mark.parametrize(
    "annotations",
    [
        [("One.", True, True), ("Two.", True, True)],  # two ways to cut one answer
        [("One.", True, True), ("One.", False, True)],  # two opinions about one statement
    ],
)
def test_tests_that_no_metric_could_tell_apart_are_refused(
    annotations: list[tuple[str, bool, bool]],
) -> None:
    tests = [made_test("first"), made_test("second")]
    said = [labelled(test, one) for test, one in zip(tests, annotations, strict=True)]
    with pytest.raises(IndistinctError, match="two replies"):
        NativeOracle(tests, said)


@VARIANT
def test_several_annotators_and_bare_shares(variant: str) -> None:
    test, other = made_test("mill"), made_test("inn", answer="It has rooms [1].", question="Rooms?")
    annotations = [
        labelled(test, ("The mill has two wheels.", True, True), ("It grinds rye.", True, False)),
        Annotation(
            test_id="mill", annotator="B", source="human", answer_relevancy=0.7, faithfulness=0.8
        ),
        Annotation(
            test_id="inn", annotator="B", source="human", answer_relevancy=0.125, faithfulness=0.3
        ),
    ]
    oracle = NativeOracle([test, other], annotations)
    wanted = {
        "faithfulness": {"mill": Fraction(65, 100), "inn": Fraction(3, 10)},
        "answer_relevancy": {"mill": Fraction(85, 100), "inn": Fraction(1, 8)},
    }
    for metric in NATIVE_METRICS:
        with serving(oracle) as server:
            said = outcomes(variant, metric, [test, other], server)
        assert said == {
            name: near(variant, metric, share) for name, share in wanted[metric].items()
        }


@VARIANT
@METRIC
@pytest.mark.parametrize("wrong", ["references", "question", "answer"])
def test_a_harness_that_passes_on_the_wrong_text_is_found_out(
    variant: str, metric: NativeMetric, wrong: str
) -> None:
    test = made_test("mill")
    oracle = NativeOracle([test], [labelled(test, ("The mill has two wheels.", True, True))])
    texts: dict[str, object] = {
        "references": {"references": tuple(reversed(test.sample.references))},
        "question": {"input": "How does the inn work?"},
        "answer": {"actual_output": test.sample.actual_output + " Surely."},
    }
    given = test.model_copy(update={"sample": test.sample.model_copy(update=texts[wrong])})  # type: ignore[arg-type]  # one of the three
    with serving(oracle) as server:
        said = outcomes(variant, metric, [given], server)
        unseen = {
            ("references", "answer_relevancy"),  # no prompt of relevancy shows them
            *([("question", "faithfulness")] if variant.startswith("deepeval") else []),
        }
        if (wrong, metric) in unseen:
            assert said == {"mill": 1.0}
        else:
            assert isinstance(said["mill"], Exception)
            assert server.script_errors


def test_relevancy_to_the_question_of_another_test_is_nought() -> None:
    mill = made_test("mill")
    inn = made_test("inn", question="Where is the inn?", answer="In the wood [1].")
    good = [labelled(test, (test.sample.actual_output, True, True)) for test in (mill, inn)]
    mixed = mill.model_copy(
        update={"sample": mill.sample.model_copy(update={"input": inn.sample.input})}
    )
    with serving(NativeOracle([mill, inn], good)) as server:
        said = outcomes("ragas collections", "answer_relevancy", [mixed, inn], server)
    assert said == {"mill": pytest.approx(0, abs=1e-6), "inn": pytest.approx(1, abs=1e-6)}


@pytest.mark.parametrize(
    "prompt",
    [
        "Is this faithful?",
        "Based on the given text, please generate a comprehensive list of jokes.\n\nJSON:",
        'Now perform the same with the following input\ninput: {"text": "x"}\nOutput: ',
        '\nNow perform the same with the following input\ninput: {"response": "x", "more": 1}',
    ],
)
def test_other_prompts_are_not_answered(prompt: str) -> None:
    with pytest.raises(UnknownPromptError, match="No native metric"):
        read_prompt(prompt)
