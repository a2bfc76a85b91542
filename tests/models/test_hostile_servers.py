"""Every fault of a model server, over all HTTP adapters: bounded, and recovered from or reported clearly."""

from __future__ import annotations

import asyncio
import gc
import json
import tracemalloc

import pytest

from planloom.domain.errors import ModelFailed
from planloom.models.http import transport
from planloom.models.port import CallMade, Finished, Restarted, UsageReported
from tests.depth import DEEP, points, rounds
from tests.models.protocols import CALLS, PROTOCOLS, TEXT
from tests.models.support import (
    PATIENT,
    QUICK,
    READ_FILE,
    Waits,
    asks,
    calls_of,
    events_of,
    model_at,
    text_of,
)
from tests.support.hostile_server import FAULTS, READ_ALL_THE_SAME, by_seed, chosen, hostile
from tests.support.http_server import Asked, Wire, serving

FATAL = {
    "too_many_for_hours": "model_unavailable",
    "unauthorized": "model_unavailable",
    "no_such_model": "model_unavailable",
    "no_such_path": "model_unavailable",
    "refused": "model_refused",
    "redirected": "model_unavailable",
    "endless_line": "model_output_invalid",
    "endless_answer": "model_output_invalid",
    "gzip_bomb": "model_output_invalid",
    "unknown_compression": "model_output_invalid",
    "page_instead": "model_unavailable",
}
"""Faults that fail at once with this code; all others are recovered from."""
WORDS = {
    "too_many_for_hours": "600 minutes",
    "unauthorized": "wants a key",
    "no_such_model": "no model 'small'",
    "redirected": "not followed",
    "endless_line": "longer than 8 MB",
    "page_instead": "text/html",
}
SILENT = {
    "hangs_before_the_head",
    "hangs_before_the_first_token",
    "hangs_between_tokens",
    "drips_bytes",
    "only_keeps_alive",
}
LONGEST_SECONDS = 20.0
MOST_BYTES = 100 * 1024 * 1024

every_protocol = pytest.mark.parametrize("protocol", list(PROTOCOLS))


HEAVY = SILENT | {"stays_open", "endless_answer", "gzip_bomb"}
MATRIX = [
    pytest.param(protocol, fault, marks=(pytest.mark.slow, pytest.mark.deep) if fault in HEAVY else ())
    for protocol in PROTOCOLS
    for fault in FAULTS
    if DEEP or fault not in HEAVY or protocol == "openai"
]
"""Every fault with every protocol; what takes long has one in `make test`."""


@pytest.mark.parametrize(("protocol", "fault"), MATRIX)
async def test_one_fault_is_survived_or_reported(
    protocol: str, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The whole limit is reached by `test_memory_is_bounded`, which has no time of its own.
    monkeypatch.setattr(transport, "MAX_ANSWER_BYTES", 9 * 1024 * 1024)
    spoken = PROTOCOLS[protocol]
    waits = Waits()
    async with (
        serving(hostile(spoken.server(), [fault], seed=len(fault))) as running,
        model_at(
            running.origin, spoken.adapter(), waits=waits, timeouts=QUICK if fault in SILENT else PATIENT
        ) as model,
        asyncio.timeout(LONGEST_SECONDS),
    ):
        request = asks(tools=(READ_FILE,))
        if fault in FATAL:
            with pytest.raises(ModelFailed) as caught:
                await events_of(model, request)
            assert caught.value.code == FATAL[fault]
            assert caught.value.message.endswith((".", "!"))
            assert WORDS.get(fault, "") in caught.value.message
            assert caught.value.hint
            assert waits.seconds == []
            return
        events = await events_of(model, request)
    assert text_of(events) == TEXT
    assert calls_of(events) == CALLS
    assert events[-1] == Finished(reason="tool_calls")
    ids = [event.call.call_id for event in events if isinstance(event, CallMade)]
    assert all(ids)
    assert len(set(ids)) == len(ids)
    restarts = [event for event in events if isinstance(event, Restarted)]
    assert len(restarts) == (0 if fault in READ_ALL_THE_SAME else 1)
    assert [event.wait_seconds for event in restarts] == waits.seconds
    if fault == "too_many_for_seconds":
        assert waits.seconds == [3.0]
    elif fault == "too_many_until_a_date":
        assert 15.0 < waits.seconds[0] <= 20.0
    elif restarts:
        assert waits.seconds == [0.5]
    if "usage" not in fault:
        usage = [event for event in events if isinstance(event, UsageReported)][-1]
        assert (usage.prompt_tokens, usage.completion_tokens) == (40, 20)


@every_protocol
async def test_faults_without_end_are_given_up(protocol: str) -> None:
    spoken = PROTOCOLS[protocol]
    waits = Waits()
    async with (
        serving(hostile(spoken.server(), ["breaks_between_tokens"] * 9)) as running,
        model_at(running.origin, spoken.adapter(), waits=waits) as model,
    ):
        with pytest.raises(ModelFailed, match=r"broke off.*tried 3 times") as caught:
            await events_of(model)
    assert caught.value.code == "model_unavailable"
    assert waits.seconds == [0.5, 1.0]


@pytest.mark.slow
@pytest.mark.deep
@pytest.mark.parametrize("protocol", points([*PROTOCOLS], 4))
@pytest.mark.parametrize(
    "fault", ["endless_line", "endless_answer", "gzip_bomb", "deep_json", "endless_head"]
)
async def test_memory_is_bounded(protocol: str, fault: str) -> None:
    spoken = PROTOCOLS[protocol]
    async with (
        serving(hostile(spoken.server(), [fault])) as running,
        model_at(running.origin, spoken.adapter(), retries=0, timeouts=PATIENT) as model,
    ):
        gc.collect()
        tracemalloc.start()
        try:
            with pytest.raises(ModelFailed):
                await events_of(model)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert peak < MOST_BYTES


@every_protocol
@pytest.mark.slow
async def test_no_connection_is_left_open(protocol: str) -> None:
    """A fault closes its connection at once, which the server notices."""
    spoken = PROTOCOLS[protocol]
    faults = ["hangs_between_tokens", "stays_open", "endless_line"]
    async with serving(hostile(spoken.server(), faults)) as running:
        async with model_at(running.origin, spoken.adapter()) as model:
            await events_of(model)
        async with model_at(running.origin, spoken.adapter(), timeouts=PATIENT) as model:
            with pytest.raises(ModelFailed):
                await events_of(model)
        async with asyncio.timeout(2):
            await running.all_left()


@pytest.mark.slow
@pytest.mark.deep
@every_protocol
@pytest.mark.parametrize("seed", range(rounds(6, 40)))
async def test_any_sequence_of_faults_ends_in_time(protocol: str, seed: int) -> None:
    spoken = PROTOCOLS[protocol]
    async with (
        serving(hostile(spoken.server(), chosen(seed, 3), seed)) as running,
        model_at(running.origin, spoken.adapter()) as model,
        asyncio.timeout(LONGEST_SECONDS),
    ):
        for _ in range(4):
            try:
                events = await events_of(model, asks(tools=(READ_FILE,)))
            except ModelFailed as failure:
                assert failure.message
                assert failure.hint
            else:
                assert text_of(events) == TEXT
                assert calls_of(events) == CALLS


@pytest.mark.slow
async def test_occasional_faults_of_a_server_are_survived() -> None:
    spoken = PROTOCOLS["openai"]
    right = 0
    async with (
        serving(by_seed(spoken.server(), 5)) as running,
        model_at(running.origin, spoken.adapter(), timeouts=QUICK) as model,
    ):
        for _ in range(60):
            try:
                right += text_of(await events_of(model)) == TEXT
            except ModelFailed:
                continue
    assert right >= 45


@pytest.mark.slow
async def test_an_answer_that_goes_on_beyond_what_the_model_can_hold_is_cut_off() -> None:
    async def endless(asked: Asked, wire: Wire) -> None:
        await wire.head(content_type="text/event-stream")
        piece = json.dumps({"choices": [{"delta": {"content": "words " * 100}}]}).encode()
        while True:
            await wire.send(b"data: " + piece + b"\n\n")

    async with serving(endless) as running, model_at(running.origin, context_tokens=1_000) as model:
        with pytest.raises(
            ModelFailed, match="longer than the 1000 tokens that the model can hold"
        ) as caught:
            await events_of(model, asks())
    assert caught.value.code == "model_output_invalid"
