"""How far a run is: a bar on a terminal, plain lines elsewhere; always on standard error."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Protocol

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from grouse_adapters.core.grades import Usage

_PLAIN_LINES: Final = 10
_QUIET_SECONDS: Final = 1.0


class Counted(Protocol):
    """What progress is counted in: a judgement, or anything else that was paid for."""

    @property
    def failed(self) -> bool:
        """Whether it has to be done again."""
        ...

    @property
    def usage(self) -> Usage:
        """Its tokens."""
        ...


class ProgressReport(Protocol):
    """Is told of everything that is done."""

    def advance(self, done: Counted) -> None:
        """One more is done."""
        ...

    def skip(self) -> None:
        """One more was done in an earlier sitting."""
        ...


@contextmanager
def progress_report(
    total: int, *, quiet: bool, doing: str = "Judging", done: str = "judged"
) -> Iterator[ProgressReport]:
    """A report on ``total`` things to come.

    Args:
        total: how many.
        quiet: whether to say nothing.
        doing: what is done, for the bar.
        done: the same when it is done, for plain lines.
    """
    console = Console(stderr=True)
    if quiet or total == 0:
        yield _Silent()
    elif console.is_terminal and not console.is_dumb_terminal:
        with _bar(console) as bar:
            yield _OnTerminal(bar, total, doing)
    else:
        yield _InLines(console, total, done)


class _Silent:
    def advance(self, done: Counted) -> None:
        pass

    def skip(self) -> None:
        pass


class _Counts:
    def __init__(self) -> None:
        self.samples = self.failed = self.tokens = 0

    def add(self, done: Counted) -> None:
        self.samples += 1
        self.failed += done.failed
        self.tokens += done.usage.input_tokens + done.usage.output_tokens


class _InLines:
    """One line per tenth of the run, and none for what takes no time: a log stays readable."""

    def __init__(self, console: Console, total: int, done: str) -> None:
        self._console = console
        self._total = total
        self._done = done
        self._counts = _Counts()
        self._last = time.monotonic()

    def advance(self, done: Counted) -> None:
        self._counts.add(done)
        self._step()

    def skip(self) -> None:
        self._counts.samples += 1
        self._step()

    def _step(self) -> None:
        counts = self._counts
        tenth = counts.samples * _PLAIN_LINES // self._total
        if tenth == (counts.samples - 1) * _PLAIN_LINES // self._total:
            return
        now = time.monotonic()
        if counts.samples == self._total or now - self._last >= _QUIET_SECONDS:
            self._last = now
            self._console.print(
                f"{counts.samples} of {self._total} {self._done}, {counts.failed} failed, "
                f"{counts.tokens:,} tokens",
                markup=False,
                highlight=False,
            )


class _OnTerminal:
    def __init__(self, bar: Progress, total: int, doing: str) -> None:
        self._bar = bar
        self._counts = _Counts()
        self._task = bar.add_task(doing, total=total, failed=0, tokens=0)

    def advance(self, done: Counted) -> None:
        counts = self._counts
        counts.add(done)
        self._bar.update(self._task, advance=1, failed=counts.failed, tokens=counts.tokens)

    def skip(self) -> None:
        self._bar.update(self._task, advance=1)


class _Rate(ProgressColumn):
    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text("–" if speed is None else f"{speed:.1f}/s", style="progress.data.speed")


def _bar(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        _Rate(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[failed]} failed"),
        TextColumn("{task.fields[tokens]:,} tokens"),
        console=console,
        transient=True,
    )
