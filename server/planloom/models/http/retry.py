"""Retries requests after transient failures, with exponential backoff, and reports each wait to the reader."""

from __future__ import annotations

import asyncio
import contextlib
import math
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import TYPE_CHECKING

from planloom.domain.errors import ModelFailed
from planloom.models.http.failures import Transient
from planloom.models.port import ModelEvent, Restarted

if TYPE_CHECKING:
    from tenacity import RetryCallState

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
    # Importing tenacity takes 30 ms, and a session without a model never needs it.
    from tenacity import AsyncRetrying, DoAttempt, DoSleep, RetryCallState, retry_if_exception_type

    retrying = AsyncRetrying(
        stop=lambda state: state.attempt_number > retries or _requested_wait(state) > LONGEST_WAIT_SECONDS,
        wait=lambda state: max(
            FIRST_WAIT_SECONDS * 2 ** (min(state.attempt_number, 20) - 1), _requested_wait(state)
        ),
        retry=retry_if_exception_type(Transient),
        reraise=True,
    )
    retrying.begin()
    state = RetryCallState(retrying, fn=None, args=(), kwargs={})
    try:
        while True:
            action = await retrying.iter(state)
            if isinstance(action, DoAttempt):
                # The attempt runs outside tenacity's own context manager, which would catch a reader's cancellation.
                try:
                    async with contextlib.aclosing(attempt()) as events:
                        async for event in events:
                            yield event
                except Transient:
                    state.set_exception(sys.exc_info())  # type: ignore[arg-type]
                else:
                    return
            elif isinstance(action, DoSleep):
                seconds = float(action)
                yield Restarted(
                    problem=_failure(state).message, attempt=state.attempt_number + 1, wait_seconds=seconds
                )
                state.prepare_for_next_attempt()
                await sleep(seconds)
            else:
                return
    except Transient as spent:
        raise _final_failure(spent, state.attempt_number) from spent


def _requested_wait(state: RetryCallState) -> float:
    error = state.outcome.exception() if state.outcome is not None else None
    return (error.retry_after or 0.0) if isinstance(error, Transient) else 0.0


def _failure(state: RetryCallState) -> ModelFailed:
    error = state.outcome.exception() if state.outcome is not None else None
    assert isinstance(error, Transient)
    return error.failure


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
