"""Retries requests after transient failures, with exponential backoff, and reports each wait to the reader."""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import AsyncGenerator, Awaitable, Callable

from planloom.domain.errors import ModelFailed
from planloom.models.http.failures import Transient
from planloom.models.port import ModelEvent, Restarted

FIRST_WAIT_SECONDS = 0.5
"""The wait before the first retry; each further wait is twice as long."""
LONGEST_WAIT_SECONDS = 120.0
"""If a server asks for a longer wait, there is no retry: the plan pauses instead."""

Sleep = Callable[[float], Awaitable[None]]


async def with_retries(
    attempt: Callable[[], AsyncGenerator[ModelEvent]], retries: int, sleep: Sleep = asyncio.sleep
) -> AsyncGenerator[ModelEvent]:
    """The events of an attempt, which is repeated up to `retries` times while it fails with `Transient`.

    Yields a `Restarted` before each wait. Raises the `ModelFailed` of the last failure.
    """
    attempts, seconds = 1, FIRST_WAIT_SECONDS
    while True:
        try:
            async with contextlib.aclosing(attempt()) as events:
                async for event in events:
                    yield event
            return
        except Transient as failed:
            asked = failed.retry_after or 0.0
            if attempts > retries or asked > LONGEST_WAIT_SECONDS:
                raise _final_failure(failed, attempts) from failed
            wait, problem = max(seconds, asked), failed.failure.message
        attempts, seconds = attempts + 1, seconds * 2
        yield Restarted(problem=problem, attempt=attempts, wait_seconds=wait)
        await sleep(wait)


def _final_failure(spent: Transient, attempts: int) -> ModelFailed:
    """The failure after the last attempt, with the number of attempts and a requested wait that is too long."""
    failure = spent.failure
    more = f" It was tried {attempts} times." if attempts > 1 else ""
    if spent.retry_after is not None and spent.retry_after > LONGEST_WAIT_SECONDS:
        more += f" It asks to wait for {spent.retry_after / 60:.0f} minutes."
    unread = failure.code == "model_output_invalid"
    problem = failure.problem
    if problem is not None and spent.retry_after is not None:
        problem = problem.model_copy(update={"wait_seconds": math.ceil(spent.retry_after)})
    return ModelFailed(
        "model_output_invalid" if unread else "model_unavailable",
        failure.message + more,
        hint=failure.hint,
        problem=problem,
    )
