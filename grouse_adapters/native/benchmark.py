"""Running native metrics on unit tests: one after another, each test paid for once."""

from __future__ import annotations

import asyncio
import contextlib
import math
import sys
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from grouse_adapters.core.errors import ErrorKind
from grouse_adapters.core.gate import RetryPolicy
from grouse_adapters.core.openai_server import one_line
from grouse_adapters.core.sample import Sample
from grouse_adapters.meta.unit_tests import UnitTest
from grouse_adapters.native.rows import Framework, NativeMetric, NativeScore
from grouse_adapters.native.runners import ModelAccess, NativeRunner, Part, build_runner

if TYPE_CHECKING:
    from grouse_adapters.native.model_http import Account, ModelHttp

Key = tuple[str, Framework, NativeMetric, str]
"""What names a score within a run: test, framework, metric, variant."""

OnScore = Callable[[NativeScore], None]

_BY_FINISH_REASON: Final[Mapping[str, tuple[ErrorKind, str]]] = {
    "length": ("cut_off", "the last reply was cut off"),
    "content_filter": ("content_filter", "the server's filter refused the last reply"),
}


def run_benchmark(
    parts: Sequence[Part],
    tests: Sequence[UnitTest],
    access: ModelAccess,
    on_score: OnScore,
    *,
    versions: Mapping[Framework, str],
    done: Collection[Key] = (),
    concurrency: int = 20,
    policy: RetryPolicy | None = None,
) -> None:
    """Scores every test with every part, and tells each score the moment it is there.

    The parts run one after another, so that the processor time between two scores is theirs. All
    of it happens on one event loop, to which the connections of all clients belong. The first test
    of every part runs before the others, alone: whatever is wrong with key, model or embeddings
    shows there, and costs one test.

    Args:
        parts: the native metrics.
        tests: the unit tests.
        access: the model.
        on_score: is told every score; what it raises ends the run.
        versions: of the frameworks.
        done: scores that are there already.
        concurrency: tests under way, and calls in flight, at most.
        policy: how long a call is tried.

    Raises:
        ConfigurationError: the server refuses key or model, or is not there; the rest is not run.
        MissingExtraError: a framework is not installed, or in a version that does not fit.
    """
    run = _Run(tests, access, on_score, versions, done, concurrency)
    # The frameworks say things by the way; standard output is for the result.
    with contextlib.redirect_stdout(sys.stderr):
        asyncio.run(run.all(parts, policy))


class _Run:
    def __init__(
        self,
        tests: Sequence[UnitTest],
        access: ModelAccess,
        on_score: OnScore,
        versions: Mapping[Framework, str],
        done: Collection[Key],
        concurrency: int,
    ) -> None:
        self._tests = tests
        self._access = access
        self._on_score = on_score
        self._versions = versions
        self._done = done
        self._concurrency = concurrency
        self._processor = 0.0

    async def all(self, parts: Sequence[Part], policy: RetryPolicy | None) -> None:
        from grouse_adapters.native.model_http import ModelHttp

        waiting = {
            part: [test for test in self._tests if (test.id, *part) not in self._done]
            for part in parts
        }
        http = ModelHttp(
            place=self._access.place,
            key=self._access.key,
            concurrency=self._concurrency,
            timeout=self._access.timeout,
            policy=policy,
        )
        try:
            runners = {
                part: build_runner(part, self._access, http) for part in parts if waiting[part]
            }
            for part, runner in runners.items():
                await self._several(part, runner, http, waiting[part][:1])
            for part, runner in runners.items():
                await self._several(part, runner, http, waiting[part][1:])
        finally:
            await http.aclose()

    async def _several(
        self, part: Part, runner: NativeRunner, http: ModelHttp, tests: Sequence[UnitTest]
    ) -> None:
        left = iter(tests)

        async def work() -> None:
            for test in left:
                self._on_score(await self._one(part, runner, http, test))

        self._processor = time.process_time()
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(min(self._concurrency, len(tests))):
                    group.create_task(work())
        except BaseExceptionGroup as several:
            # They end together: the first one's reason is the run's.
            raise several.exceptions[0] from None

    async def _one(
        self, part: Part, runner: NativeRunner, http: ModelHttp, test: UnitTest
    ) -> NativeScore:
        score: float | None = None
        reason: str | None = None
        raised: Exception | None = None
        started = time.perf_counter()
        with http.account() as account:
            try:
                score, reason = await runner.score(test.sample, account)
            except Exception as error:  # noqa: BLE001  # a framework raises anything: the row tells it
                raised = error
            await account.close()
        wall = time.perf_counter() - started
        if http.fatal is not None:
            raise http.fatal
        if score is not None and not math.isfinite(score):
            score = None
        kind: ErrorKind | None = None
        told: str | None = None
        if raised is not None or (score is None and account.trouble is not None):
            score = None
            kind, told = _failure(raised, account, test.sample, self._access.key)
        return NativeScore(
            test_id=test.id,
            framework=part.framework,
            framework_version=self._versions[part.framework],
            metric=part.metric,
            variant=part.variant,
            model=self._access.model,
            embedding_model=self._access.embedding_model if part.embeds else None,
            score=score,
            not_scored=score is None and kind is None,
            reason=reason,
            error_kind=kind,
            error=told,
            calls=account.calls,
            embedding_calls=account.embedding_calls,
            usage=account.usage,
            cpu_seconds=self._processor_seconds(),
            wall_seconds=round(wall, 6),
        )

    def _processor_seconds(self) -> float:
        """Processor time since it was asked last."""
        before, self._processor = self._processor, time.process_time()
        return round(self._processor - before, 6)


def _failure(
    raised: Exception | None, account: Account, sample: Sample, key: str
) -> tuple[ErrorKind, str]:
    """Why there is no score, by what was heard from the server; frameworks wrap their errors."""
    trouble = account.trouble or account.refusal
    if trouble is not None:
        return trouble.kind, one_line(str(trouble), key=key)
    told = type(raised).__name__
    if raised is not None and (said := one_line(str(raised), key=key)):
        told = f"{told}: {said}"
    if isinstance(raised, TimeoutError):
        return "timeout", told
    if not account.calls:
        complete = sample.input and sample.actual_output and sample.references
        return ("internal" if complete else "missing_input"), told
    by_reason = _BY_FINISH_REASON.get(account.finish_reason or "")
    if by_reason is not None:
        return by_reason[0], f"{by_reason[1]} ({told})"
    return ("empty_reply" if account.replies and not account.replies[-1] else "unreadable"), told
