"""The scripted model, its recording and its replay."""

from __future__ import annotations

import asyncio
import contextlib
import json
import stat
from pathlib import Path

import pytest

from planloom.domain.errors import ContextOverflow, ModelFailed, PlanloomError, StorageFailed
from planloom.domain.safety.known_keys import KnownKeys
from planloom.domain.values import CallId
from planloom.models.offline.recording import Recording, RecordingModel
from planloom.models.offline.replay import ReplayModel, open_replay, path_of, read_turns
from planloom.models.offline.scripted import Fault, ScriptedModel, Turn, When, fails, makes, says
from planloom.models.port import (
    CallMade,
    CallWritten,
    Finished,
    Image,
    Message,
    ModelEvent,
    ModelRequest,
    Restarted,
    TextDelta,
    ToolCall,
    UsageReported,
)


def asks(text: str) -> ModelRequest:
    return ModelRequest(messages=(Message(role="user", text=text),))


async def answer(model: ScriptedModel | RecordingModel, text: str) -> list[ModelEvent]:
    return [event async for event in model.stream(asks(text))]


def visible(events: list[ModelEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


async def test_turns_are_played_in_order_and_requests_remembered() -> None:
    model = ScriptedModel([says("one " * 20), makes(("read_file", {"path": "a"}), prompt_tokens=7)])
    first = await answer(model, "1")
    assert visible(first) == "one " * 20
    assert len(first) > 3, "text comes in several deltas"
    assert first[-1] == Finished(reason="stop")
    assert await answer(model, "2") == [
        CallWritten(name="read_file", text='{"path": "a"}'),
        CallMade(call=ToolCall(call_id=CallId("call_2_1"), name="read_file", arguments={"path": "a"})),
        UsageReported(prompt_tokens=7, completion_tokens=0),
        Finished(reason="tool_calls"),
    ]
    assert [request.messages[-1].text for request in model.requests] == ["1", "2"]


async def test_a_turn_with_a_condition_waits_for_its_request() -> None:
    model = ScriptedModel(
        [
            says("beta", when=When(contains=("B",))),
            says("rest", when=When(lacks=("B",)), repeat=True),
        ]
    )
    assert [visible(await answer(model, word)) for word in ("A", "B", "A")] == ["rest", "beta", "rest"]


async def test_a_script_without_turns_left_fails_with_a_reason() -> None:
    model = ScriptedModel([])
    with pytest.raises(ModelFailed, match="no answer for request 1") as caught:
        await answer(model, "x")
    assert caught.value.code == "model_unavailable"


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("unavailable", "model_unavailable"),
        ("refused", "model_refused"),
        ("output_invalid", "model_output_invalid"),
        ("overflow", "context_overflow"),
    ],
)
async def test_a_fault_comes_after_the_text_of_its_turn(kind: str, code: str) -> None:
    model = ScriptedModel([Turn.model_validate({"text": "half", "fault": {"kind": kind}})])
    seen = []
    with pytest.raises(PlanloomError) as caught:
        async for event in model.stream(asks("x")):
            seen.append(event)
    assert caught.value.code == code
    assert seen == [TextDelta(text="half")]


async def test_a_hanging_turn_ends_when_its_reader_is_cancelled() -> None:
    model = ScriptedModel([fails("hang", text="half")])
    stream = model.stream(asks("x"))
    assert await anext(stream) == TextDelta(text="half")
    reader = asyncio.ensure_future(anext(stream))
    await asyncio.sleep(0)
    reader.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reader


async def test_a_recording_replays_byte_for_byte(tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    events = (
        TextDelta(text="Grüße \u2028 \U0001f600"),
        Restarted(problem="broken", attempt=2, wait_seconds=0.5),
        CallMade(call=ToolCall(call_id=CallId("c"), name="f", arguments={"a": [1, None, {"b": "\n"}]})),
        Finished(reason="tool_calls"),
    )
    script = ScriptedModel([Turn(events=events), says("two"), fails("refused", text="no")])
    recorded = RecordingModel(script, Recording(file, KnownKeys()))
    first = [await answer(recorded, "1"), await answer(recorded, "2")]
    with pytest.raises(ModelFailed):
        await answer(recorded, "3")

    replay = await open_replay(str(file))
    # The second request comes first here: a turn is found by what it was asked.
    second = await answer(replay, "2")
    assert [await answer(replay, "1"), second] == first
    with pytest.raises(ModelFailed) as caught:
        await answer(replay, "3")
    assert caught.value.code == "model_refused"
    assert replay.drifts == ()
    assert replay.left == ()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


async def test_a_drifted_prompt_is_shown_as_a_diff(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "run.jsonl"
    await answer(RecordingModel(ScriptedModel([says("yes")]), Recording(file, KnownKeys())), "a\nold\nc")
    replay = await open_replay(file.as_uri())
    assert visible(await answer(replay, "a\nnew\nc")) == "yes"
    assert "-old" in replay.drifts[0].split("\n")
    assert "+new" in replay.drifts[0].split("\n")
    assert "-old" in caplog.text
    strict = await open_replay(str(file), strict=True)
    with pytest.raises(ModelFailed, match=r"(?s)-old.*\+new"):
        await answer(strict, "a\nnew\nc")


async def test_the_diff_of_huge_repetitive_prompts_is_bounded() -> None:
    turn = Turn(request=asks("same\n" * 100_000), text="x")
    replay = ReplayModel([turn], identity=ScriptedModel([]).identity)
    await answer(replay, "x\n" + "same\n" * 90_000)
    assert len(replay.drifts[0].split("\n")) <= 201


async def test_images_survive_a_recording(tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    image = Image(media_type="image/png", data=bytes(range(256)))
    request = ModelRequest(messages=(Message(role="user", text="see", images=(image,)),))
    recorded = RecordingModel(ScriptedModel([says("a")]), Recording(file, KnownKeys()))
    assert [event async for event in recorded.stream(request)]
    assert read_turns(file)[0].request == request


async def test_an_abandoned_exchange_is_recorded_as_a_hang(tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    recorded = RecordingModel(ScriptedModel([says("a" * 100)]), Recording(file, KnownKeys()))
    async with contextlib.aclosing(recorded.stream(asks("x"))) as stream:
        await anext(stream)
    (turn,) = read_turns(file)
    assert turn.fault == Fault(kind="hang")
    assert turn.events is not None
    assert len(turn.events) == 1


async def test_an_overflow_is_recorded(tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    recorded = RecordingModel(ScriptedModel([fails("overflow")]), Recording(file, KnownKeys()))
    with pytest.raises(ContextOverflow):
        await answer(recorded, "x")
    assert read_turns(file)[0].fault is not None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"{", "line 1"),
        (b'\n# remark\n{"text": 5}\n', "line 3: text"),
        (b'{"texts": "x"}', "texts"),
        (b"[" * 100_000, "line 1"),
        (b"\xff", "UTF-8"),
        (None, "No such file"),
    ],
)
def test_a_bad_script_names_its_line(tmp_path: Path, text: bytes | None, message: str) -> None:
    file = tmp_path / "script.jsonl"
    if text is not None:
        file.write_bytes(text)
    with pytest.raises(ModelFailed, match=message) as caught:
        read_turns(file)
    assert "model.baseUrl" in (caught.value.hint or "")


def test_a_script_is_written_by_hand(tmp_path: Path) -> None:
    file = tmp_path / "script.jsonl"
    file.write_text(
        json.dumps({"text": "ok", "calls": [{"name": "f"}], "when": {"contains": ["x"]}}) + "\n\n"
    )
    (turn,) = read_turns(file)
    assert turn.calls[0].name == "f"


def test_a_path_may_be_a_url() -> None:
    assert path_of("file:///tmp/a%20b.jsonl") == Path("/tmp/a b.jsonl")
    assert path_of("~/x").is_absolute()


def test_a_recording_that_cannot_be_written_fails_at_once(tmp_path: Path) -> None:
    with pytest.raises(StorageFailed, match="cannot be written"):
        Recording(tmp_path / "missing" / "x.jsonl", KnownKeys())
