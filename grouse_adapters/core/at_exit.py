"""The end of a program, and the beginning of a forked child, for work in the background."""

from __future__ import annotations

import atexit
import os
import threading
import time
import weakref
from contextlib import suppress
from typing import Protocol


class Watched(Protocol):
    """Background work that has to be told."""

    def wait_at_exit(self, since: float) -> None:
        """Finish what is under way; ``since`` is when the end began (``time.monotonic()``)."""

    def close_at_exit(self) -> None:
        """Finish for good: nothing comes after this."""

    def begin_anew(self) -> None:
        """This is a forked child: threads are gone, locks may be held by nobody."""


# The values of a weak dictionary can be listed while another thread adds one; a weak set's cannot.
_watched: weakref.WeakValueDictionary[int, Watched] = weakref.WeakValueDictionary()
_threads_are_watched = False


def watch_forks(work: Watched) -> None:
    """Has ``work`` begin anew in forked children."""
    _watched[id(work)] = work


def watch_exit() -> None:
    """Has the end of the program wait for all that is watched, at the two moments it can.

    The first is before Python shuts its thread pools down: a judge that has not made its first
    call needs them to find its server. The second is after the program's own threads have ended,
    which may go on offering, and before judges are closed: ``atexit`` runs what was registered
    last first, and a judge registers when it begins. So call this once the judge has begun.
    """
    global _threads_are_watched
    import concurrent.futures.thread  # noqa: F401  # its own hook must come before ours

    atexit.unregister(_close_all)
    atexit.register(_close_all)
    # The one way to that first moment, private as it is; without it only the second is left.
    register = getattr(threading, "_register_atexit", None)
    if register is not None and not _threads_are_watched:
        with suppress(RuntimeError):  # the program is ending already
            register(_wait_for_all)
            _threads_are_watched = True


def _all() -> list[Watched]:
    return [work for reference in _watched.valuerefs() if (work := reference()) is not None]


def _wait_for_all() -> None:
    since = time.monotonic()
    for work in _all():
        work.wait_at_exit(since)


def _close_all() -> None:
    for work in _all():
        work.close_at_exit()


def _begin_anew() -> None:
    for work in _all():
        work.begin_anew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)
