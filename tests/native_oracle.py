"""A scripted model that knows what annotators say and makes native metrics say the same.

It answers the prompts that RAGAS' and DeepEval's own faithfulness and answer relevancy send, and
gives the embeddings that RAGAS compares. It looks nothing up but what the prompts show, word by
word: a harness that passes on the wrong text gets an error.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

from native_prompts import Asked, Step, read_prompt

from grouse_adapters.meta.unit_tests import UnitTest
from grouse_adapters.native.annotations import Annotation
from grouse_adapters.native.rows import NATIVE_METRICS, NativeMetric

MODEL: Final = "gpt-4o-mini"  # DeepEval asks for structured replies from models it knows only
EMBEDDING_MODEL: Final = "text-embedding-3-small"

Told = Mapping[str, Mapping[NativeMetric, Fraction]]
"""Shares to produce instead of the annotated ones, by the id of the test."""

Labelled = list[tuple[str, bool]]
Reply = dict[str, Any]

_WHY_NOT: Final = "Its label says no."
_UNANSWERED: Final = "What is it that no document answers?"


class IndistinctError(ValueError):
    """Two tests show a metric the same texts and should get different replies."""


class NativeOracle:
    """Replies and embeddings from labels: give a ``ScriptedServer`` the object and its ``embed``.

    An answer is cut into its annotated statements, and the labels are the verdicts. Where a test
    has several annotators, shares without statements, or a told share, each statement is cut into
    as many parts as the mean needs. RAGAS' relevancy gets a question whose embedding has the share
    as its cosine to the embedding of the test's question. Nothing is extracted from an answer
    without statements, and RAGAS' relevancy hears that it is noncommittal.

    Attributes:
        shares: what each metric is made to say, by the id of the test; None: nothing to extract.

    Raises:
        IndistinctError: a metric could not tell two tests apart.
        KeyError: a test has no annotation.
        ValueError: a told share is not from 0 to 1.
    """

    def __init__(
        self,
        tests: Sequence[UnitTest],
        annotations: Iterable[Annotation],
        *,
        told: Told | None = None,
    ) -> None:
        self.shares: dict[str, dict[NativeMetric, Fraction | None]] = {}
        self._replies: dict[Asked, Reply] = {}
        self._questions = list(dict.fromkeys(test.sample.input for test in tests))
        self._asked: dict[str, tuple[float, str]] = {}
        by_test: dict[str, list[Annotation]] = {}
        for annotation in annotations:
            by_test.setdefault(annotation.test_id, []).append(annotation)
        for test in tests:
            said = by_test[test.id]
            wanted = (told or {}).get(test.id, {})
            plans = {
                metric: _plan(test, metric, said, wanted.get(metric)) for metric in NATIVE_METRICS
            }
            self.shares[test.id] = {metric: _share(plan) for metric, plan in plans.items()}
            self._learn_faithfulness(test, plans["faithfulness"])
            self._learn_relevancy(test, plans["answer_relevancy"])

    def __call__(self, prompt: str, schema: Mapping[str, Any] | None = None) -> Reply:
        """The reply to a native metric's prompt.

        Raises:
            UnknownPromptError: it is no native metric's.
            KeyError: it shows texts that belong to no test, or not to each other.
        """
        asked = read_prompt(prompt)
        if asked.step == "deepeval: reason":
            return {"reason": f"As the labels say: {asked.shown}."}
        return self._replies[asked]

    def embed(self, text: str) -> list[float]:
        """A vector: each question of a test has a direction of its own.

        Raises:
            KeyError: the text is no question of a test or of this oracle.
        """
        vector = [0.0] * (len(self._questions) + 1)
        if text == _UNANSWERED:
            vector[-1] = 1.0
        elif text in self._asked:
            cosine, question = self._asked[text]
            vector[self._questions.index(question)] = cosine
            vector[-1] = math.sqrt(1 - cosine**2)
        elif text in self._questions:
            vector[self._questions.index(text)] = 1.0
        else:
            raise KeyError(text)
        return vector

    def _learn_faithfulness(self, test: UnitTest, plan: Labelled) -> None:
        sample = test.sample
        texts = tuple(text for text, _ in plan)
        truths = [f"One reference says: {reference}" for reference in sample.references]
        self._learn(
            "ragas: statements", (sample.input, sample.actual_output), {"statements": list(texts)}
        )
        self._learn(
            "ragas: verdicts",
            ("\n".join(sample.references), texts),
            {
                "statements": [
                    {"statement": text, "reason": _reason(good), "verdict": int(good)}
                    for text, good in plan
                ]
            },
        )
        self._learn("deepeval: truths", ("\n\n".join(sample.references),), {"truths": truths})
        self._learn("deepeval: claims", (sample.actual_output,), {"claims": list(texts)})
        self._learn(
            "deepeval: faithfulness verdicts", ("\n\n".join(truths), texts), _verdicts(plan)
        )

    def _learn_relevancy(self, test: UnitTest, plan: Labelled) -> None:
        sample, share = test.sample, _share(plan)
        texts = tuple(text for text, _ in plan)
        generated = _UNANSWERED if share is None else f"({share} alike) {sample.input}"
        if share is not None:
            self._asked[generated] = (float(share), sample.input)
        self._learn(
            "ragas: question",
            (sample.actual_output,),
            {"question": generated, "noncommittal": int(share is None)},
        )
        self._learn("deepeval: statements", (sample.actual_output,), {"statements": list(texts)})
        self._learn("deepeval: relevancy verdicts", (sample.input, texts), _verdicts(plan))

    def _learn(self, step: Step, shown: tuple[Any, ...], reply: Reply) -> None:
        known = self._replies.setdefault(Asked(step, shown), reply)
        if known != reply:
            raise IndistinctError(f"{step}: two replies to one prompt, which shows {shown}.")


def _plan(
    test: UnitTest, metric: NativeMetric, said: Sequence[Annotation], told: Fraction | None
) -> Labelled:
    """The statements with their labels, cut so that the wanted share of them is good."""
    labelled = [
        [(one.text, one.faithful if metric == "faithfulness" else one.relevant) for one in given]
        for annotation in said
        if (given := annotation.statements) is not None
    ]
    shares = [_share(labels) for labels in labelled] + [
        # As the decimal that stands in the file.
        None if (given := getattr(annotation, metric)) is None else Fraction(repr(given))
        for annotation in said
        if annotation.statements is None
    ]
    rated = [share for share in shares if share is not None]
    wanted = told if told is not None else sum(rated, Fraction()) / len(rated) if rated else None
    if wanted is None:
        return []
    # What has no statements of its own is one: the whole answer.
    whole = next((labels for labels in labelled if labels), [(test.sample.actual_output, True)])
    if wanted == _share(whole):
        return whole
    if not 0 <= wanted <= 1:
        raise ValueError(f"no share of statements is {wanted}")
    cuts = wanted.denominator // math.gcd(wanted.denominator, len(whole))
    parts = [
        # The id keeps them apart from the same statements of another test.
        (f"{text} (part {number} of {cuts}, {test.id})", good)
        for text, good in whole
        for number in range(1, cuts + 1)
    ]
    missing = int(wanted * len(parts)) - sum(good for _, good in parts)
    for place, (text, good) in enumerate(parts):
        if missing and good == (missing < 0):
            parts[place] = (text, not good)
            missing += 1 if good else -1
    return parts


def _share(plan: Labelled) -> Fraction | None:
    return Fraction(sum(good for _, good in plan), len(plan)) if plan else None


def _verdicts(plan: Labelled) -> Reply:
    return {
        "verdicts": [
            {"verdict": "yes"} if good else {"verdict": "no", "reason": _reason(good)}
            for _, good in plan
        ]
    }


def _reason(good: bool) -> str:
    return "Its label says yes." if good else _WHY_NOT
