"""Makes reference_conditions.json: how the paper's own package rates grades against conditions.

Run it in an environment of its own, and look at the difference with git afterwards::

    python -m venv ref && ref/bin/pip install grouse==0.4.2
    ref/bin/python tests/data/make_reference_conditions.py

The package's ``MetaEvaluator`` is used as it is. 1,000 sets of four grades and four conditions are
drawn with a fixed seed; the odd ones after them are written by hand.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import json
import os
import random
import tempfile
from pathlib import Path
from typing import Any, Final

PACKAGE: Final = "grouse"
VERSION: Final = "0.4.2"
JUDGED: Final = ("answer_relevancy", "completeness", "usefulness", "faithfulness")
ALL_SIX: Final = (*JUDGED, "positive_acceptance", "negative_rejection")
SCALES: Final = ((1, 2, 3, 4, 5), (1, 2, 3, 4, 5), (0, 1), (0, 1))
FAILED: Final = "failed"
CASES: Final = 1000
BATCH: Final = 50

Grade = int | str | None
"""A value, None for null, or ``failed``."""
Case = dict[str, Any]

ODD: Final[tuple[tuple[str, Grade], ...]] = (
    # (condition on completeness, its grade); everything else is null and must be null.
    ("== None", None),
    ("== None", 3),
    ("==null", None),
    ("==null", 3),
    (" ==5", 5),
    ("==5 ", 5),
    ("==  5", 5),
    ("==5.00", 5),
    ("=5", 5),
    ("=5", None),
    ("!=5", 3),
    ("5", 5),
    ("5", None),
    ("", None),
    ("", 3),
    ("==five", 5),
    ("==+5", 5),
    ("==5e0", 5),
    ("<inf", 3),
    ("None", None),
    ("<None", None),
    (">=None", 3),
    (">5", 5),
    ("<1", 1),
    ("==6", 5),
    ("==2.5", 3),
)
"""Conditions that no published test has, but that people write."""


def drawn() -> list[Case]:
    """1,000 sets of grades and conditions: all operators, null and failed on every side."""
    draw = random.Random(VERSION)
    return [
        {
            "grades": [_grade(draw, scale) for scale in SCALES],
            "conditions": [_condition(draw, scale) for scale in SCALES],
        }
        for _ in range(CASES)
    ]


def _grade(draw: random.Random, scale: tuple[int, ...]) -> Grade:
    chance = draw.random()
    if chance < 0.1:
        return FAILED
    return None if chance < 0.4 else draw.choice(scale)


def _condition(draw: random.Random, scale: tuple[int, ...]) -> str:
    if draw.random() < 0.4:
        return "==None"
    low, high = scale[0], scale[-1]
    operator = draw.choice(("==", "<", "<=", ">", ">="))
    if operator == "==":
        number = f"{draw.choice(scale)}{draw.choice(('', '', '.0'))}"
    else:  # in halves and a little beyond the scale, so that some grade fulfils it
        beyond = {"<": (1, 4), "<=": (0, 2), ">": (-4, -1), ">=": (-2, 0)}[operator]
        halves = draw.randint(2 * low + beyond[0], 2 * high + beyond[1])
        number = f"{halves / 2:g}"
    return f"{operator}{draw.choice(('', '', '', ' '))}{number}"


class Reference:
    """The package's meta-evaluator, fed with grades and conditions."""

    def __init__(self) -> None:
        if (found := importlib.metadata.version(PACKAGE)) != VERSION:
            raise SystemExit(f"This needs {PACKAGE} {VERSION}, not {found}: install that version.")
        os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else it asks the network for prices
        self._dtos = importlib.import_module(f"{PACKAGE}.dtos")
        self._derive = importlib.import_module(
            f"{PACKAGE}.utils"
        ).get_positive_acceptance_negative_rejection
        self._evaluator = importlib.import_module(f"{PACKAGE}.meta_evaluator").MetaEvaluator()

    def outcomes(self, case: Case) -> list[str] | str:
        """Per metric, in the order of ``ALL_SIX``; or the name of the exception."""
        try:
            result = self._evaluator.evaluate_single_test_case(self._test(case))
        except ValueError as error:
            return type(error).__name__
        return [self._outcome(getattr(result, metric)) for metric in ALL_SIX]

    def rates(self, cases: list[Case]) -> dict[str, float] | str:
        """Its report, as it is; or the name of the exception."""
        try:
            report = self._evaluator.evaluate([self._test(case) for case in cases]).report
        except ZeroDivisionError as error:
            return type(error).__name__
        numbers = report.model_dump()
        return {
            **{metric: numbers[f"{metric}_success"] for metric in ALL_SIX},
            "total": numbers["total"],
        }

    def _test(self, case: Case) -> Any:
        given = zip(JUDGED, case["grades"], strict=True)
        judged = {metric: self._score(metric, grade) for metric, grade in given}
        acceptance, rejection = self._derive(judged["answer_relevancy"], judged["completeness"])
        conditions = zip(JUDGED, case["conditions"], strict=True)
        return self._dtos.MetaTestCase(
            evaluation_sample=self._dtos.EvaluationSample(
                input="?", actual_output="", expected_output="", references=[]
            ),
            actual_evaluation=self._dtos.GroundedQAEvaluation(
                **judged, positive_acceptance=acceptance, negative_rejection=rejection
            ),
            expected_evaluation=self._dtos.ExpectedGroundedQAEvaluation(
                **{f"{metric}_condition": text for metric, text in conditions}
            ),
        )

    def _score(self, metric: str, grade: Grade) -> Any:
        if grade == FAILED:
            return self._dtos.Failed(error="no reply")
        fields = {metric: grade, f"{metric}_justification": ""}
        if metric == "answer_relevancy":
            fields["answer_affirms_no_document_answers"] = grade is None
        name = "".join(word.title() for word in metric.split("_"))
        return getattr(self._dtos, name)(**fields)

    def _outcome(self, said: Any) -> str:
        if isinstance(said, self._dtos.Failed):
            return "unreadable"
        return "passed" if said else "failed"


def make() -> dict[str, Any]:
    """Everything the package says; needs an environment that holds it."""
    reference = Reference()
    cases = drawn()
    odd = [
        {"grades": [None, grade, None, None], "conditions": ["==None", text, "==None", "==None"]}
        for text, grade in ODD
    ]
    batches = [cases[start : start + BATCH] for start in range(0, CASES, BATCH)]
    return {
        "made_by": "tests/data/make_reference_conditions.py",
        "package": PACKAGE,
        "version": VERSION,
        "metrics": list(ALL_SIX),
        "batch": BATCH,
        "batches": [reference.rates(batch) for batch in batches],
        "all": reference.rates(cases),
        "none": reference.rates([]),
        "odd": [{**case, "outcomes": reference.outcomes(case)} for case in odd],
        "cases": [{**case, "outcomes": reference.outcomes(case)} for case in cases],
    }


def _written(made: dict[str, Any]) -> str:
    """JSON with one row of a list a line: short, and readable in a difference."""
    parts = []
    for key, value in made.items():
        if isinstance(value, list):
            rows = ",\n  ".join(json.dumps(row) for row in value)
            parts.append(f"{json.dumps(key)}: [\n  {rows}\n ]")
        else:
            parts.append(f"{json.dumps(key)}: {json.dumps(value)}")
    return "{\n " + ",\n ".join(parts) + "\n}\n"


def main() -> None:
    parser = argparse.ArgumentParser(description="Records what grouse 0.4.2 says.")
    parser.add_argument(
        "--output", type=Path, default=Path(__file__).with_name("reference_conditions.json")
    )
    output = parser.parse_args().output.resolve()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # the package leaves its cache folder where it is started
        made = make()
        os.chdir(output.parent)
    output.write_text(_written(made), encoding="utf-8")
    print(f"{len(made['cases'])} cases and {len(made['odd'])} odd ones are in {output}.")


if __name__ == "__main__":
    main()
