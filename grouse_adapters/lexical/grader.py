"""The lexical grader: four grades from structure and words, each with its reason."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from typing import Final

from grouse_adapters.core.errors import ConfigurationError
from grouse_adapters.core.grades import Failed, Grade, Graded, NotApplicable, SentenceCheck
from grouse_adapters.core.metrics import Citations, MetricName
from grouse_adapters.core.sample import Sample
from grouse_adapters.lexical import verdicts
from grouse_adapters.lexical.answers import Reading
from grouse_adapters.lexical.languages import LANGUAGES
from grouse_adapters.lexical.refusal import RefusalReader

VERSION: Final = "3"
"""Changes with every change of a grade: part of the fingerprint, so that caches see it."""


class LexicalGrader:
    """Grades a sample without a model, from refusals, citations, words and facts.

    Follows the rubrics of GroUSE (arXiv 2409.06595, section 3) as far as words show them. The
    same sample always has the same grades. Safe to share between threads.

    Args:
        refusals: refusal sentences of the judged system, in addition to the built-in patterns in
            seven languages; compared without case, punctuation and accents.
        citations: ``required``: every statement needs a citation ``[i]`` that holds it;
            ``ignored``: any reference may support it.
        language: code of the samples' language (``en``, ``fr``, ``de``, ``es``, ``it``, ``pt``,
            ``nl``); None reads it from each sample.

    Raises:
        ConfigurationError: a setting is not one of these.
    """

    name = "lexical"

    def __init__(
        self,
        *,
        refusals: Sequence[str] | None = None,
        citations: Citations = "required",
        language: str | None = None,
    ) -> None:
        if isinstance(refusals, str):
            raise ConfigurationError("refusals must be a list of sentences: put yours in brackets.")
        if citations not in ("required", "ignored"):
            raise ConfigurationError(
                f"Unknown citations setting {citations!r}: choose 'required' or 'ignored'."
            )
        if language is not None and language not in LANGUAGES:
            raise ConfigurationError(
                f"Unknown language {language!r}: choose from {', '.join(LANGUAGES)}, or leave it "
                "out to have it recognised."
            )
        self._refusals = RefusalReader(refusals or ())
        self._ignore_citations = citations == "ignored"
        self._language = language
        settings = [VERSION, list(refusals or ()), citations, language]
        self.fingerprint: str = hashlib.sha256(json.dumps(settings).encode("ascii")).hexdigest()
        """SHA-256 (hex) of the grader's version and settings."""

    def grade(
        self, sample: Sample, metrics: tuple[MetricName, ...]
    ) -> tuple[dict[MetricName, Grade], tuple[SentenceCheck, ...]]:
        """Grades of the judged metrics among ``metrics``, and the faithfulness analysis.

        Returns:
            Grades in the metric's own unit (1-5, or 0 or 1), in the order of ``metrics``; derived
            metrics are left out. The analysis has one entry per sentence of the actual answer and
            is empty unless faithfulness is asked for.
        """
        reading = Reading(sample, self._refusals, self._language)
        grades: dict[MetricName, Grade] = {}
        sentences: tuple[SentenceCheck, ...] = ()
        for metric in metrics:
            if metric == "faithfulness":
                grades[metric], sentences = verdicts.faithfulness(
                    reading, ignore_citations=self._ignore_citations
                )
            elif metric in _JUDGED:
                grades[metric] = _JUDGED[metric](reading)
        return grades, sentences


_JUDGED: Final[dict[MetricName, Callable[[Reading], Graded | NotApplicable | Failed]]] = {
    "answer_relevancy": verdicts.answer_relevancy,
    "completeness": verdicts.completeness,
    "usefulness": verdicts.usefulness,
}
