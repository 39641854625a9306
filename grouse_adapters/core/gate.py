"""The gate every call of a judge goes through: exact limit, shared pauses, retries."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, TypeVar

from grouse_adapters.core.errors import ChatError, ConfigurationError, UnreachableError

T = TypeVar("T")

_UNREACHABLE_ATTEMPTS: Final = 3
_TIMEOUT_RETRIES: Final = 2


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How long a call is tried.

    Attributes:
        retries: how often a call is repeated after a server error or a lost connection
            (after a timeout at most twice, for each costs the whole timeout).
        base_delay: seconds before the first repetition; doubles each time, with jitter.
        max_delay: upper bound of one delay, in seconds.
        rate_limit_patience: seconds a call waits out rate limits in all before it fails;
            rate limits do not use up ``retries``.
    """

    retries: int = 5
    base_delay: float = 0.5
    max_delay: float = 20.0
    rate_limit_patience: float = 600.0

    def delay(self, attempt: int) -> float:
        """Seconds to wait before repetition ``attempt`` (from 1)."""
        ceiling = min(self.max_delay, self.base_delay * 2.0 ** min(attempt - 1, 30))
        return ceiling * random.uniform(0.5, 1.0)


class CallGate:
    """Lets at most ``limit`` calls through at once; a rate limit pauses all of them.

    Lives on one event loop.
    """

    def __init__(self, limit: int, policy: RetryPolicy) -> None:
        self._slots = asyncio.Semaphore(limit)
        self._policy = policy
        self._resume_at = 0.0
        self._answered = False

    async def run(self, call: Callable[[], Awaitable[T]]) -> T:
        """The call's result, repeated as the policy says.

        Raises:
            ChatError: the last error, when the policy gives up.
            ConfigurationError: raised by the call, or no server ever answered.
        """
        retries = timeouts = rate_limits = unreachable = 0
        waited = 0.0
        while True:
            try:
                return await self._once(call)
            except ChatError as error:
                if not error.retryable:
                    raise
                if error.kind == "rate_limit":
                    rate_limits += 1
                    # "0 seconds", or a date that is past, would have it ask again without end
                    pause = error.retry_after or self._policy.delay(rate_limits)
                    waited += pause
                    if waited > self._policy.rate_limit_patience:
                        raise
                    self._pause(pause)
                    continue
                if isinstance(error, UnreachableError) and not self._answered:
                    unreachable += 1
                    if unreachable >= _UNREACHABLE_ATTEMPTS:
                        raise ConfigurationError(str(error)) from error
                retries += 1
                timeouts += error.kind == "timeout"
                if retries > self._policy.retries or timeouts > _TIMEOUT_RETRIES:
                    raise
                if error.retry_after:
                    self._pause(min(error.retry_after, self._policy.rate_limit_patience))
                else:
                    await asyncio.sleep(self._policy.delay(retries))

    async def _once(self, call: Callable[[], Awaitable[T]]) -> T:
        async with self._slots:
            loop = asyncio.get_running_loop()
            # Slots are kept during a pause: nobody may call anyway, and the limit stays exact.
            while (remaining := self._resume_at - loop.time()) > 0:  # noqa: ASYNC110  # it moves
                await asyncio.sleep(remaining)
            try:
                result = await call()
            except UnreachableError:
                raise
            except ChatError:
                self._answered = True
                raise
            self._answered = True
            return result

    def _pause(self, seconds: float) -> None:
        now = asyncio.get_running_loop().time()
        self._resume_at = max(self._resume_at, now + seconds)
