"""Judging live answers in the background: never slows and never breaks what it watches.

One implementation for every callback door: sampling, a bound on what waits, a count of what was
dropped, flush, and results to a file or a function.
"""

from __future__ import annotations

import logging
import queue
import random
import threading
import time
import warnings
from collections.abc import Callable, Iterable
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from contextvars import Context
from dataclasses import dataclass, replace
from functools import partial
from types import TracebackType
from typing import Final, Self

from grouse_adapters.core import at_exit
from grouse_adapters.core.errors import ConfigurationError, GrouseError
from grouse_adapters.core.grades import Judgement
from grouse_adapters.core.judge import Judge
from grouse_adapters.core.metrics import MetricName, parse_metrics
from grouse_adapters.core.sample import Sample
from grouse_adapters.core.sinks import JsonLinesSink, Sink, checked_sink

__all__ = ["JsonLinesSink", "LiveCounts", "LiveJudging", "Sink"]

_log = logging.getLogger(__name__)

_IDLE_SECONDS: Final = 5.0
_LOOK_SECONDS: Final = 0.25
_MOST_SAID: Final = 100
_CLOSED: Final = "Live judging was closed: further answers are not judged, and counted as errors."


@dataclass(frozen=True, slots=True)
class LiveCounts:
    """What became of the answers that were seen.

    Once nothing is pending, ``seen`` is the sum of the next four.

    Attributes:
        seen: answers offered; those in which there was nothing to judge are not counted.
        left_out: not judged because of the sampling rate.
        dropped: not judged because too many were waiting.
        judged: judgements given to the sinks; a failed grade is in its judgement.
        errors: answers that could not be judged at all (a wrong key, a closed judge), or that
            were not judged when time was up.
        sink_errors: how often a sink raised.
    """

    seen: int = 0
    left_out: int = 0
    dropped: int = 0
    judged: int = 0
    errors: int = 0
    sink_errors: int = 0


class LiveJudging:
    """Judges what is offered, in the background. Use it from any thread and any event loop.

    A forked child starts with nothing pending and counts of its own; what the parent had taken
    stays the parent's. When the program ends, it waits for what was taken.

    Args:
        judge: the judge; it stays open when this is closed.
        metrics: what to grade; None: all six.
        sample_rate: share of the answers to judge, 0-1.
        max_pending: how many answers may wait or be in work; more are dropped and counted.
        sinks: who gets the judgements, in the order in which they finish.
        seed: makes the sampling repeatable.
        exit_timeout: seconds that the end of the program waits for answers under way.

    Raises:
        ConfigurationError: a setting is out of range, or a sink is no plain function.
    """

    def __init__(
        self,
        judge: Judge,
        *,
        metrics: Iterable[str] | None = None,
        sample_rate: float = 1.0,
        max_pending: int = 1000,
        sinks: Iterable[Sink] = (),
        seed: int | None = None,
        exit_timeout: float = 10.0,
    ) -> None:
        if not 0 <= sample_rate <= 1:
            raise ConfigurationError("sample_rate must lie between 0 and 1.")
        if max_pending < 1:
            raise ConfigurationError("max_pending must be at least 1.")
        if not 0 <= exit_timeout < float("inf"):
            raise ConfigurationError("exit_timeout must be a number of seconds from 0 on.")
        self.judge = judge
        self._metrics: tuple[MetricName, ...] = parse_metrics(metrics)
        self._rate = sample_rate
        self._max_pending = max_pending
        self._sinks = tuple(checked_sink(sink) for sink in sinks)
        self._seed = seed
        self._random = random.Random(seed)
        self._exit_timeout = exit_timeout
        self._closed = False
        self._begin()
        at_exit.watch_forks(self)

    def _begin(self) -> None:
        """A fresh state, also for a forked child, whose parent keeps what is under way."""
        self._changed = threading.Condition()
        self._counts = LiveCounts()
        self._tickets = 0
        # By ticket: the future of what is being judged; None before it was submitted and while
        # it is given out. In the order of the tickets.
        self._open: dict[int, Future[Judgement] | None] = {}
        self._gave_up = False
        self._said: set[str] = set()
        self._results: queue.SimpleQueue[tuple[int, Future[Judgement]] | None] = queue.SimpleQueue()
        self._writer: threading.Thread | None = None
        self._exit_is_watched = False
        self._stuck_at: LiveCounts | None = None

    @property
    def counts(self) -> LiveCounts:
        """What became of the answers so far."""
        return self._counts

    @property
    def pending(self) -> int:
        """How many answers wait, are in work or are being given out."""
        return len(self._open)

    @property
    def closed(self) -> bool:
        """Whether ``close`` was called."""
        return self._closed

    def offer(self, sample: Sample | Callable[[], Sample | None]) -> bool:
        """Takes an answer for judging; True when it will be judged.

        Returns at once and raises nothing: what goes wrong is logged and counted.

        Args:
            sample: the sample, or a function that builds it (None: nothing to judge), which is
                called only when the answer is to be judged, by the caller's thread.
        """
        try:
            return self._offer(sample)
        except Exception as error:  # noqa: BLE001  # the chain must not notice
            self._say("A live answer could not be taken for judging", error)
            return False

    def flush(self, timeout: float | None = None) -> bool:
        """Waits until everything taken before this call is judged and given out.

        Args:
            timeout: seconds; None: as long as it takes.

        Returns:
            Whether everything was done in time.

        Raises:
            RuntimeError: called by a sink, which would wait for itself.
        """
        if threading.current_thread() is self._writer:
            raise RuntimeError("A sink cannot wait for its own judgement: flush from elsewhere.")
        deadline = None if timeout is None else time.monotonic() + timeout
        with self._changed:
            last = self._tickets
            while next(iter(self._open), last + 1) <= last:
                left = _LOOK_SECONDS if deadline is None else deadline - time.monotonic()
                if left <= 0:
                    return False
                self._changed.wait(min(left, _LOOK_SECONDS))
                if self.judge.closed:
                    # What reached its loop too late would never be told.
                    self._cancel_open()
            return True

    def close(self, timeout: float | None = 10.0) -> bool:
        """Takes no more answers, flushes, then closes the sinks that can be closed.

        Answers that are not judged in time are cancelled and counted as errors. The judge stays
        open.

        Args:
            timeout: seconds; None: as long as it takes.

        Returns:
            Whether everything was judged in time.

        Raises:
            RuntimeError: called by a sink.
        """
        with self._changed:
            first, self._closed = not self._closed, True
        deadline = None if timeout is None else time.monotonic() + timeout
        done = self.flush(timeout)
        if not done:
            self._give_up()
        if self._end_writer(deadline) and first:
            self._close_sinks()
        return done

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _offer(self, sample: Sample | Callable[[], Sample | None]) -> bool:
        ticket = self._take_ticket()
        if ticket is None:
            return False
        try:
            built = sample() if callable(sample) else sample
            if built is None:
                self._settle(ticket)
                return False
            self._start_writer()
            # In a context of its own: else a framework that traces by context variables would
            # take the judge's calls for a part of what is watched.
            future = Context().run(self.judge.submit, built, self._metrics)
        except BaseException:
            self._settle(ticket, seen=1, errors=1)
            raise
        with self._changed:
            too_late = self._gave_up
            if not too_late:
                self._add(seen=1)
                self._open[ticket] = future
        if too_late:
            future.cancel()
            self._settle(ticket, seen=1, errors=1)
            return False
        future.add_done_callback(partial(_put, self._results, ticket))
        if not self._exit_is_watched:
            self._exit_is_watched = True
            at_exit.watch_exit()
        return True

    def _take_ticket(self) -> int | None:
        """A place among those that are judged; None when the answer is not to be judged."""
        with self._changed:
            if self._closed:
                self._add(seen=1, errors=1)
                trouble = _CLOSED
            elif self._rate < 1 and self._random.random() >= self._rate:
                self._add(seen=1, left_out=1)
                return None
            elif len(self._open) >= self._max_pending:
                self._add(seen=1, dropped=1)
                trouble = (
                    f"More than {self._max_pending} live answers wait for the judge: further ones "
                    "are dropped and counted. Lower sample_rate or raise max_pending."
                )
            else:
                self._tickets += 1
                self._open[self._tickets] = None
                return self._tickets
            first = trouble not in self._said
            self._said.add(trouble)
        if first:
            with suppress(Warning):  # where warnings are errors: the chain must not notice
                warnings.warn(trouble, RuntimeWarning, stacklevel=4)
        return None

    def _start_writer(self) -> None:
        with self._changed:
            if self._writer is None:
                writer = threading.Thread(target=self._give_out, name="grouse-live", daemon=True)
                writer.start()
                self._writer = writer

    def _give_out(self) -> None:
        """The writer thread: hands judgements to the sinks. Ends when there is nothing to do."""
        while True:
            try:
                landed = self._results.get(timeout=_IDLE_SECONDS)
            except queue.Empty:
                with self._changed:
                    if not self._open:
                        # An idle thread would keep a forgotten callback alive for ever.
                        self._writer = None
                        return
                continue
            if landed is None:
                return
            ticket, future = landed
            with self._changed:
                if ticket not in self._open:
                    continue  # given up
                self._open[ticket] = None
            try:
                judgement = future.result()
            except BaseException as error:  # noqa: BLE001  # cancelled, or whatever a judge raises
                self._say("A live answer could not be judged", error)
                self._settle(ticket, errors=1)
                continue
            failures = sum(not self._gave(sink, judgement) for sink in self._sinks)
            self._settle(ticket, judged=1, sink_errors=failures)

    def _gave(self, sink: Sink, judgement: Judgement) -> bool:
        try:
            sink(judgement)
        except BaseException as error:  # noqa: BLE001  # a sink of the user's, even one that exits
            self._say("A sink of live judgements raised", error)
            return False
        return True

    def _settle(self, ticket: int, **more: int) -> None:
        with self._changed:
            self._open.pop(ticket, None)
            self._add(**more)
            self._changed.notify_all()

    def _add(self, **more: int) -> None:
        now = {name: getattr(self._counts, name) + by for name, by in more.items()}
        self._counts = replace(self._counts, **now)

    def _cancel_open(self) -> None:
        for future in list(self._open.values()):
            if future is not None:
                future.cancel()

    def _give_up(self) -> None:
        """Cancels and forgets what is being judged."""
        with self._changed:
            self._gave_up = True
            waiting = {ticket: future for ticket, future in self._open.items() if future}
            for ticket in waiting:
                del self._open[ticket]
            self._add(errors=len(waiting))
            self._changed.notify_all()
        for future in waiting.values():
            future.cancel()
        if waiting:
            _log.warning(
                "%s not judged in time and lost: call flush() before the end, or allow more time.",
                "1 live answer was" if len(waiting) == 1 else f"{len(waiting)} live answers were",
            )

    def _end_writer(self, deadline: float | None) -> bool:
        """Whether no sink is in use any more."""
        with self._changed:
            writer = self._writer
        if writer is None:
            return True
        self._results.put(None)
        left = None if deadline is None else deadline - time.monotonic()
        writer.join(None if left is None else max(_LOOK_SECONDS, left))
        if writer.is_alive():
            return False
        self._writer = None
        return True

    def _close_sinks(self) -> None:
        for sink in self._sinks:
            close = getattr(sink, "close", None)
            if callable(close):
                try:
                    close()
                except Exception as error:  # noqa: BLE001  # a sink of the user's
                    self._say("A sink of live judgements could not be closed", error)

    def _say(self, what: str, error: BaseException) -> None:
        """Logs each trouble once: a wrong key would fill the log with every answer."""
        with suppress(Exception):  # a text or a log handler that raises must not end the writer
            told = "its judge was closed" if isinstance(error, CancelledError) else str(error)
            text = f"{what}: {told or type(error).__name__}"
            with self._changed:
                if text in self._said or len(self._said) >= _MOST_SAID:
                    return
                self._said.add(text)
            foreign = not isinstance(error, GrouseError | CancelledError)
            _log.error("%s", text, exc_info=error if foreign else None)

    def wait_at_exit(self, since: float) -> None:
        """Called when the program ends, while everything still works. Ctrl-C ends the waiting."""
        if self._closed:
            return
        done = False
        with suppress(KeyboardInterrupt):
            done = self.flush(max(0.0, since + self._exit_timeout - time.monotonic()))
        self._stuck_at = None if done else self._counts

    def close_at_exit(self) -> None:
        """Called at the very end; waits again only when something has moved since."""
        if self._closed:
            return
        with suppress(KeyboardInterrupt):
            if self._stuck_at != self._counts:
                self.flush(self._exit_timeout)
        self.close(0.0)

    def begin_anew(self) -> None:
        """Called in a forked child."""
        self._begin()
        if self._seed is None:
            self._random.seed()  # else all children would pick the same answers


def _put(
    results: queue.SimpleQueue[tuple[int, Future[Judgement]] | None],
    ticket: int,
    future: Future[Judgement],
) -> None:
    results.put((ticket, future))
