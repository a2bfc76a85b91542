"""Retries requests after transient failures, with exponential backoff, and reports each wait to the reader."""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import AsyncGenerator, Awaitable, Callable

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_attempt, wait_exponential

from planloom.domain.errors import ModelFailed
from planloom.models.http.failures import Transient
from planloom.models.port import ModelEvent, Restarted

FIRST_WAIT_SECONDS = 0.5
"""The wait before the first retry; each further wait is twice as long."""
LONGEST_WAIT_SECONDS = 120.0
"""If a server asks for a longer wait, there is no retry: the plan pauses instead."""
MOST_ASKED_SECONDS = 24 * 3600.0
"""A longer wait that a server asks for is taken for a mistake of its clock, and not repeated."""
_BACKOFF = wait_exponential(multiplier=FIRST_WAIT_SECONDS)

Sleep = Callable[[float], Awaitable[None]]


async def with_retries(
    attempt: Callable[[], AsyncGenerator[ModelEvent]], retries: int, sleep: Sleep = asyncio.sleep
) -> AsyncGenerator[ModelEvent]:
    """The events of an attempt, which is repeated up to `retries` times while it fails with `Transient`.

    Yields a `Restarted` before each wait. Raises the `ModelFailed` of the last failure.
    """
    retrying = AsyncRetrying(
        retry=retry_if_exception(lambda error: _asked_wait(error) <= LONGEST_WAIT_SECONDS),
        stop=stop_after_attempt(retries + 1),
        wait=_wait,
        sleep=_left_to_the_caller,
        reraise=True,
    )
    problem, cause = "", None
    try:
        async for each in retrying:
            state = each.retry_state
            if state.attempt_number > 1:
                # The reader hears of a wait before it begins, so it is here and not in tenacity.
                wait = state.upcoming_sleep
                yield Restarted(problem=problem, attempt=state.attempt_number, wait_seconds=wait, cause=cause)
                await sleep(wait)
            try:
                async with contextlib.aclosing(attempt()) as events:
                    async for event in events:
                        yield event
                return
            except Transient as failed:
                problem, cause = failed.failure.message, failed.failure.problem
                with each:
                    raise
    except Transient as failed:
        raise _final_failure(failed, state.attempt_number) from failed


def _wait(state: RetryCallState) -> float:
    assert state.outcome is not None
    return max(_BACKOFF(state), _asked_wait(state.outcome.exception()))


def _asked_wait(error: BaseException | None) -> float:
    """The seconds that the server asks to wait, 0 if it does not say."""
    assert isinstance(error, Transient)
    return error.retry_after or 0.0


async def _left_to_the_caller(seconds: float) -> None:
    pass


def _final_failure(spent: Transient, attempts: int) -> ModelFailed:
    """The failure after the last attempt, with the number of attempts and a requested wait that is too long."""
    failure = spent.failure
    more = f" It was tried {attempts} times." if attempts > 1 else ""
    if spent.retry_after is not None and spent.retry_after > LONGEST_WAIT_SECONDS:
        more += f" It asks to wait for {_words(spent.retry_after)}."
    unread = failure.code == "model_output_invalid"
    problem = failure.problem
    if problem is not None and spent.retry_after is not None and spent.retry_after <= MOST_ASKED_SECONDS:
        problem = problem.model_copy(update={"wait_seconds": math.ceil(spent.retry_after)})
    return ModelFailed(
        "model_output_invalid" if unread else "model_unavailable",
        failure.message + more,
        hint=failure.hint,
        problem=problem,
    )


def _words(seconds: float) -> str:
    if seconds > MOST_ASKED_SECONDS:
        return "more than a day, which may be a mistake of the server"
    return f"{seconds / 60:.0f} minutes"
