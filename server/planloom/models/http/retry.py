"""Retries of a model's transport: only what may pass, at stated waits, and told to the reader."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import TYPE_CHECKING

from planloom.domain.errors import ModelFailed
from planloom.models.http.failures import Transient
from planloom.models.port import ModelEvent, Restarted

if TYPE_CHECKING:
    from tenacity import RetryCallState

FIRST_WAIT_SECONDS = 0.5
"""The wait before the first retry; each further one is twice as long."""
LONGEST_WAIT_SECONDS = 120.0
"""A server that asks to be left alone for longer is not waited for: the plan pauses instead."""

Sleep = Callable[[float], Awaitable[None]]


async def retried(
    attempt: Callable[[], AsyncGenerator[ModelEvent]], retries: int, sleep: Sleep = asyncio.sleep
) -> AsyncGenerator[ModelEvent]:
    """The events of an attempt, which is made again up to `retries` times while it fails with `Transient`.

    Before each wait a `Restarted` is yielded. Raises the `ModelFailed` of the last failure.
    """
    # tenacity pays 30 ms at start-up, and a session without a model never needs it.
    from tenacity import AsyncRetrying, DoAttempt, DoSleep, RetryCallState, retry_if_exception_type

    retrying = AsyncRetrying(
        stop=lambda state: state.attempt_number > retries or _asked_to_wait(state) > LONGEST_WAIT_SECONDS,
        wait=lambda state: max(
            FIRST_WAIT_SECONDS * 2 ** (min(state.attempt_number, 20) - 1), _asked_to_wait(state)
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
                # The attempt runs outside tenacity's own block, which would catch a reader's cancellation.
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
        raise _told(spent, state.attempt_number) from spent


def _asked_to_wait(state: RetryCallState) -> float:
    error = state.outcome.exception() if state.outcome is not None else None
    return (error.retry_after or 0.0) if isinstance(error, Transient) else 0.0


def _failure(state: RetryCallState) -> ModelFailed:
    error = state.outcome.exception() if state.outcome is not None else None
    assert isinstance(error, Transient)
    return error.failure


def _told(spent: Transient, attempts: int) -> ModelFailed:
    """The failure once nothing more is tried, saying how often it was and how long the server wants."""
    failure = spent.failure
    more = f" It was asked {attempts} times." if attempts > 1 else ""
    if spent.retry_after is not None and spent.retry_after > LONGEST_WAIT_SECONDS:
        more += f" It wants to be left alone for {spent.retry_after / 60:.0f} minutes."
    unread = failure.code == "model_output_invalid"
    return ModelFailed(
        "model_output_invalid" if unread else "model_unavailable", failure.message + more, hint=failure.hint
    )
