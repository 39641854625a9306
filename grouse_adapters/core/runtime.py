"""The background event loop a judge runs its calls on, and all that lives on that loop."""

from __future__ import annotations

import asyncio
import os
import threading
from collections import OrderedDict
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, Final, Generic, TypeVar

from grouse_adapters.core.errors import JudgeClosedError

T = TypeVar("T")

_CLOSE_SECONDS: Final = 5.0


class LoopThread:
    """An event loop in a daemon thread, so that callers on any loop, or on none, can share it."""

    def __init__(self, name: str) -> None:
        self.pid = os.getpid()
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Runs ``work`` on the loop.

        Raises:
            JudgeClosedError: the loop has stopped.
        """
        if threading.get_ident() == self._thread.ident:
            work.close()
            raise RuntimeError("A judge cannot wait for itself: call it from outside its loop.")
        try:
            return asyncio.run_coroutine_threadsafe(work, self.loop)
        except RuntimeError:
            work.close()
            raise JudgeClosedError("This judge is closed: build a new one.") from None

    def stop(self, last: Coroutine[Any, Any, None]) -> None:
        """Cancels what runs, then runs ``last``, then ends the loop and its thread."""
        if self.pid != os.getpid() or self.loop.is_closed():  # a fork has no such thread
            last.close()
            return
        try:
            asyncio.run_coroutine_threadsafe(self._wind_up(last), self.loop).result(_CLOSE_SECONDS)
        except TimeoutError:
            pass  # a call that ignores its cancellation must not keep the program from ending
        finally:
            self.loop.call_soon_threadsafe(self.loop.stop)
            self._thread.join(_CLOSE_SECONDS)

    async def _wind_up(self, last: Coroutine[Any, Any, None]) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await last

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        try:
            self.loop.run_forever()
        finally:
            self.loop.close()


def mark_error_seen() -> None:
    """Keeps the loop from reporting the current task's error when its caller has just gone."""

    def look(task: asyncio.Task[Any]) -> None:
        if not task.cancelled():
            task.exception()

    task = asyncio.current_task()
    if task is not None:
        task.add_done_callback(look)


class SharedWork(Generic[T]):
    """Work that several callers wait for; it is cancelled when the last of them has gone."""

    def __init__(self, work: Coroutine[Any, Any, T]) -> None:
        self.task: asyncio.Task[T] = asyncio.create_task(work)
        self._waiting = 0

    async def wait(self) -> T:
        """The result; cancelling one waiter leaves the others theirs."""
        self._waiting += 1
        try:
            return await asyncio.shield(self.task)
        finally:
            self._waiting -= 1
            if not self._waiting and not self.task.done():
                self.task.cancel()

    @property
    def over(self) -> bool:
        """Whether it has ended or is about to be cancelled: nobody may join any more."""
        return self.task.done() or bool(self.task.cancelling())


class Memory(Generic[T]):
    """The last ``size`` values by key; the one that was not used for longest goes first."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._values: OrderedDict[str, T] = OrderedDict()

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: str) -> T | None:
        """The value, None when it was never there or is gone."""
        if key in self._values:
            self._values.move_to_end(key)
        return self._values.get(key)

    def put(self, key: str, value: T) -> None:
        """Remembers ``value``."""
        self._values[key] = value
        self._values.move_to_end(key)
        while len(self._values) > self._size:
            self._values.popitem(last=False)
