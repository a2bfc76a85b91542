"""Retries: which failures are retried, the waits, and the reader's events."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable, Sequence
from datetime import UTC, datetime

import pytest

from planloom.domain.errors import ModelFailed, ModelProblem
from planloom.models.http.failures import Transient, retry_after
from planloom.models.http.retry import with_retries
from planloom.models.port import Finished, ModelEvent, Restarted, TextDelta
from tests.models.support import Waits

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
DONE = Finished(reason="stop")


def failing(*failures: BaseException) -> Callable[[], AsyncGenerator[ModelEvent]]:
    """Attempts that fail with these failures, each after one word; then one that succeeds."""
    ahead = list(failures)

    async def attempt() -> AsyncGenerator[ModelEvent]:
        yield TextDelta(text="word")
        if ahead:
            raise ahead.pop(0)
        yield DONE

    return attempt


def transient(after: float | None = None) -> Transient:
    failure = ModelFailed(
        "model_unavailable", "It broke.", hint="Mend it.", problem=ModelProblem(cause="server_failed")
    )
    return Transient(failure, after)


@pytest.mark.parametrize(
    ("failures", "retries", "waits"),
    [
        ([], 2, []),
        ([None], 2, [0.5]),
        ([None, None], 2, [0.5, 1.0]),
        ([None] * 5, 5, [0.5, 1.0, 2.0, 4.0, 8.0]),
        ([3.0], 2, [3.0]),
        ([0.1], 2, [0.5]),
        ([None, 7.5], 2, [0.5, 7.5]),
        ([120.0], 2, [120.0]),
    ],
)
async def test_waits_double_unless_the_server_wants_longer(
    failures: Sequence[float | None], retries: int, waits: list[float]
) -> None:
    clock = Waits()
    events = [event async for event in with_retries(failing(*map(transient, failures)), retries, clock)]
    assert clock.seconds == waits
    restarts = [event for event in events if isinstance(event, Restarted)]
    assert [event.wait_seconds for event in restarts] == waits
    assert [event.attempt for event in restarts] == list(range(2, len(waits) + 2))
    assert events[-1] == DONE


@pytest.mark.parametrize(
    ("failures", "retries", "waits", "words"),
    [
        ([None, None, None], 2, [0.5, 1.0], "tried 3 times"),
        ([None], 0, [], "It broke."),
        ([121.0], 2, [], "asks to wait for 2 minutes"),
        ([None, 7200.0], 2, [0.5], "asks to wait for 120 minutes"),
        ([1e9], 2, [], "asks to wait for more than a day, which may be a mistake of the server"),
    ],
)
async def test_attempts_end(
    failures: Sequence[float | None], retries: int, waits: list[float], words: str
) -> None:
    clock = Waits()
    with pytest.raises(ModelFailed, match=words) as caught:
        async for _ in with_retries(failing(*map(transient, failures)), retries, clock):
            pass
    assert clock.seconds == waits
    assert caught.value.code == "model_unavailable"
    assert caught.value.hint == "Mend it."


async def test_no_other_failure_is_retried() -> None:
    clock = Waits()
    with pytest.raises(ModelFailed, match="No"):
        async for _ in with_retries(failing(ModelFailed("model_refused", "No.")), 2, clock):
            pass
    assert clock.seconds == []


async def test_cancelling_the_reader_ends_the_wait() -> None:
    waiting = asyncio.Event()

    async def forever(seconds: float) -> None:
        waiting.set()
        await asyncio.Event().wait()

    async def read() -> None:
        async for _ in with_retries(failing(transient()), 2, forever):
            pass

    reader = asyncio.ensure_future(read())
    await waiting.wait()
    reader.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reader


async def test_closing_the_stream_closes_the_attempt() -> None:
    closed = asyncio.Event()

    async def attempt() -> AsyncGenerator[ModelEvent]:
        try:
            yield TextDelta(text="a")
            yield TextDelta(text="b")
        finally:
            closed.set()

    async with contextlib.aclosing(with_retries(attempt, 2)) as events:
        await anext(events)
    assert closed.is_set()


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "Fri, 02 Jan 2026 03:04:35 GMT"}, 30.0),
        ({"retry-after": "Fri, 02 Jan 2026 03:00:00 GMT"}, 0.0),
        ({"retry-after": "Fri, 02 Jan 2026 04:04:05 +0100"}, 0.0),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "9" * 400}, None),
        ({"retry-after": "٣"}, None),
        ({"retry-after": "Fri, 99 Foo 99999 99:99:99"}, None),
    ],
)
def test_retry_after_is_a_number_or_a_date(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, NOW) == seconds
