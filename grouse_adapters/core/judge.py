"""What every judge offers: one sample or a stream of them, sync or async."""

from __future__ import annotations

import asyncio
import queue
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Callable,
    Iterable,
    Iterator,
    Mapping,
)
from concurrent.futures import Future
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

from grouse_adapters.core.grades import Judgement
from grouse_adapters.core.metrics import MetricName, parse_metrics
from grouse_adapters.core.sample import Sample, sample_from_row

SampleLike = Sample | Mapping[str, Any]
"""A sample, or a row with the field names of one of the frameworks."""


class Judge(ABC):
    """Judges samples. Subclasses implement ``submit``; all doors are made from it.

    A judge may be used from any thread and any event loop, also from inside a running one.
    """

    window: int = 8
    """How many samples of a stream are in work at once."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The judge's name, as results show it."""

    @property
    @abstractmethod
    def prompt_fingerprint(self) -> str | None:
        """What decides its grades besides the model: SHA-256 (hex), None when nothing does."""

    @property
    @abstractmethod
    def closed(self) -> bool:
        """Whether ``close`` was called."""

    @abstractmethod
    def submit(self, sample: Sample, metrics: tuple[MetricName, ...]) -> Future[Judgement]:
        """Starts judging; the future can be cancelled without harm to others who wait."""

    @abstractmethod
    def close(self) -> None:
        """Ends all work and frees what the judge holds; may be called twice."""

    def judge(self, sample: SampleLike, *, metrics: Iterable[str] | None = None) -> Judgement:
        """The judgement of one sample.

        Args:
            sample: a sample, or a row of a framework.
            metrics: names of the metrics to grade; None: all six.

        Raises:
            ConfigurationError: wrong use or settings. A failed call raises nothing: its grade
                is ``Failed``.
        """
        future = self.submit(_as_sample(sample), parse_metrics(metrics))
        try:
            return future.result()
        finally:
            future.cancel()  # Ctrl-C: nobody waits any more

    async def ajudge(
        self, sample: SampleLike, *, metrics: Iterable[str] | None = None
    ) -> Judgement:
        """Like ``judge``, awaitable on any event loop."""
        return await asyncio.wrap_future(self.submit(_as_sample(sample), parse_metrics(metrics)))

    def judge_many(
        self,
        samples: Iterable[SampleLike],
        *,
        metrics: Iterable[str] | None = None,
        ordered: bool = False,
    ) -> Iterator[Judgement]:
        """Judgements of a stream of samples, as they finish.

        At most ``window`` samples are in work; the source is read only when there is room, in
        the caller's thread, so memory stays flat however long the stream is.

        Args:
            samples: any iterable, also an endless one.
            ordered: in the order of the samples instead.

        Raises:
            ConfigurationError: as ``judge``. When the source raises, judgements under way are
                given out first.
        """
        return self._stream(samples, parse_metrics(metrics), ordered)

    def ajudge_many(
        self,
        samples: Iterable[SampleLike] | AsyncIterable[SampleLike],
        *,
        metrics: Iterable[str] | None = None,
        ordered: bool = False,
    ) -> AsyncIterator[Judgement]:
        """Like ``judge_many``, for async code; ``samples`` may be an async iterable.

        Judgements are given out while an async source is still waiting for its next sample.
        """
        return self._astream(samples, parse_metrics(metrics), ordered)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _stream(
        self, samples: Iterable[SampleLike], metrics: tuple[MetricName, ...], ordered: bool
    ) -> Iterator[Judgement]:
        flight = _Flight(ordered)
        source = iter(samples)
        trouble: Exception | None = None
        exhausted = False
        try:
            while True:
                while not exhausted and len(flight) < self.window:
                    try:
                        flight.add(self.submit(_as_sample(next(source)), metrics))
                    except StopIteration:
                        exhausted = True
                    except Exception as error:  # noqa: BLE001  # raised below, after what is paid
                        exhausted, trouble = True, error
                if not flight:
                    break
                yield flight.wait().result()
        finally:
            flight.cancel()
        if trouble is not None:
            raise trouble

    async def _astream(
        self,
        samples: Iterable[SampleLike] | AsyncIterable[SampleLike],
        metrics: tuple[MetricName, ...],
        ordered: bool,
    ) -> AsyncIterator[Judgement]:
        loop = asyncio.get_running_loop()
        landed = asyncio.Event()

        def notify() -> None:
            with suppress(RuntimeError):  # the caller's loop is closed: nobody waits
                loop.call_soon_threadsafe(landed.set)

        flight = _Flight(ordered, notify)
        source = _aiter(samples)
        reading: asyncio.Task[SampleLike] | None = None
        trouble: Exception | None = None
        exhausted = False
        try:
            while True:
                if reading is None and not exhausted and len(flight) < self.window:
                    reading = loop.create_task(_next(source))
                if reading is None and not flight:
                    break
                landed.clear()
                future = flight.take()
                if future is not None:
                    yield future.result()
                    continue
                await _first(reading, landed)
                if reading is not None and reading.done():
                    try:
                        flight.add(self.submit(_as_sample(reading.result()), metrics))
                    except StopAsyncIteration:
                        exhausted = True
                    except Exception as error:  # noqa: BLE001  # raised below, after what is paid
                        exhausted, trouble = True, error
                    reading = None
        finally:
            flight.cancel()
            if reading is not None:
                reading.cancel()
                await asyncio.wait({reading})
            await source.aclose()
        if trouble is not None:
            raise trouble


class _Flight:
    """Futures under way, taken out as they finish or in order."""

    def __init__(self, ordered: bool, notify: Callable[[], None] | None = None) -> None:
        self._ordered = ordered
        self._notify = notify
        self._under_way: dict[Future[Judgement], None] = {}
        self._done: queue.SimpleQueue[Future[Judgement]] = queue.SimpleQueue()
        self._queue: deque[Future[Judgement]] = deque()

    def __len__(self) -> int:
        return len(self._under_way)

    def add(self, future: Future[Judgement]) -> None:
        self._under_way[future] = None
        if self._ordered:
            self._queue.append(future)
        future.add_done_callback(self._landed)

    def wait(self) -> Future[Judgement]:
        """The next one; blocks until it has finished."""
        future = self._queue.popleft() if self._ordered else self._done.get()
        del self._under_way[future]
        return future

    def take(self) -> Future[Judgement] | None:
        """The next one if it has finished."""
        if self._ordered:
            ready = bool(self._queue) and self._queue[0].done()
        else:
            ready = not self._done.empty()
        return self.wait() if ready else None

    def cancel(self) -> None:
        for future in list(self._under_way):
            future.cancel()

    def _landed(self, future: Future[Judgement]) -> None:
        if not self._ordered:
            self._done.put(future)
        if self._notify is not None:
            self._notify()


async def _first(reading: asyncio.Task[SampleLike] | None, landed: asyncio.Event) -> None:
    """Returns when the source gave a sample or a judgement landed."""
    if reading is None:
        await landed.wait()
        return
    waiting = asyncio.create_task(landed.wait())
    both: set[asyncio.Task[Any]] = {reading, waiting}
    try:
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
    finally:
        waiting.cancel()


async def _next(source: AsyncIterator[SampleLike]) -> SampleLike:
    return await anext(source)


async def _aiter(
    samples: Iterable[SampleLike] | AsyncIterable[SampleLike],
) -> AsyncGenerator[SampleLike, None]:
    if isinstance(samples, AsyncIterable):
        async for sample in samples:
            yield sample
    else:
        for sample in samples:
            yield sample


def _as_sample(sample: SampleLike) -> Sample:
    return sample if isinstance(sample, Sample) else sample_from_row(sample)
