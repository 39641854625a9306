"""LexicalJudge: the embedded judge behind the doors that every judge has."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from grouse_adapters.core.errors import JudgeClosedError
from grouse_adapters.core.grades import Judgement
from grouse_adapters.core.judge import Judge
from grouse_adapters.core.metrics import METRIC_NAMES, Citations, MetricName
from grouse_adapters.core.pipeline import needed_metrics, with_derived
from grouse_adapters.core.sample import Sample
from grouse_adapters.lexical.grader import LexicalGrader


class LexicalJudge(Judge):
    """A deterministic judge without model, key or network: it reads structure and words.

    Args:
        refusals: more sentences that mean "no document answers"; the built-in wordings of
            several languages stay.
        citations: as for ``LLMJudge``.
        language: two-letter code of the answers' language; None: told from the text.

    Raises:
        ConfigurationError: a setting is wrong.
    """

    def __init__(
        self,
        *,
        refusals: Sequence[str] | None = None,
        citations: Citations = "required",
        language: str | None = None,
    ) -> None:
        self._grader = LexicalGrader(refusals=refusals, citations=citations, language=language)
        self._pool: tuple[int, ThreadPoolExecutor] | None = None
        self._closed = False

    @property
    def name(self) -> str:
        """``lexical``."""
        return self._grader.name

    @property
    def prompt_fingerprint(self) -> str:
        """SHA-256 of the judge's version and settings, in place of prompts."""
        return self._grader.fingerprint

    @property
    def closed(self) -> bool:
        """Whether ``close`` was called."""
        return self._closed

    def submit(self, sample: Sample, metrics: tuple[MetricName, ...]) -> Future[Judgement]:
        """See ``Judge.submit``. One thread: the work is pure computation."""
        if self._closed:
            raise JudgeClosedError("This judge is closed: build a new one.")
        if self._pool is None or self._pool[0] != os.getpid():  # a fork has no such thread
            pool = ThreadPoolExecutor(1, thread_name_prefix="grouse-lexical")
            self._pool = (os.getpid(), pool)
        return self._pool[1].submit(self._judge, sample, metrics)

    def close(self) -> None:
        """Drops what waits and ends the thread."""
        self._closed = True
        if self._pool is not None and self._pool[0] == os.getpid():
            self._pool[1].shutdown(wait=True, cancel_futures=True)

    def _judge(self, sample: Sample, metrics: tuple[MetricName, ...]) -> Judgement:
        needed = needed_metrics(sample, metrics)
        in_order = tuple(name for name in METRIC_NAMES if name in needed)
        judged, sentences = self._grader.grade(sample, in_order)
        return Judgement(
            id=sample.id,
            sample=sample,
            grades=with_derived(sample, metrics, judged),
            sentences=sentences,
            judge=self.name,
            prompt_fingerprint=self.prompt_fingerprint,
            cost=0.0,
        )
