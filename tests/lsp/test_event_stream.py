"""Events arrive in order, and the text of what runs at most thirty times a second."""

from __future__ import annotations

import asyncio
from typing import Any

from planloom.domain.events import catalog as ev
from planloom.domain.plans.outcome import Spent
from planloom.domain.plans.plan import Usage
from planloom.domain.values import CallId, PlanId, StepId
from planloom.lsp.editor.event_stream import TextStream
from planloom.service.requests import StreamDelta
from tests.lsp.samples import EVENTS, PLAN
from tests.support.fake_application import FakeApplication, a_plan
from tests.support.lsp_client import connected


def delta(text: str, step: str | None = "step_1", kind: Any = "text", call: str | None = None) -> StreamDelta:
    return StreamDelta(
        plan_id=PlanId("p1"),
        step_id=None if step is None else StepId(step),
        call_id=None if call is None else CallId(call),
        kind=kind,
        delta=text,
    )


async def test_events_are_sent_in_order_to_a_client_that_declares_them() -> None:
    app = FakeApplication()
    async with connected(app.make) as client:
        await client.request("planloom/status")
        for seq in range(1, 6):
            app.feed.happen(ev.PlanResumed(), a_plan(seq=seq))
        assert [event["seq"] for event in client.events] == [1, 2, 3, 4, 5]
        assert client.events[0]["type"] == "plan_resumed"


async def test_a_plain_client_hears_nothing_of_ours() -> None:
    app = FakeApplication()
    async with connected(app.make, extension=None) as client:
        await client.request("planloom/status")
        app.feed.happen(ev.PlanResumed(), a_plan(status="completed"))
        app.feed.speak(delta("x"))
        assert not [name for name, _ in client.notifications if name.startswith("planloom/")]


async def test_every_kind_of_event_can_be_told() -> None:
    app = FakeApplication()
    async with connected(app.make) as client:
        await client.request("planloom/status")
        for event in EVENTS.values():
            app.feed.happen(event, PLAN)
        assert [event["type"] for event in client.events] == list(EVENTS)


async def test_an_event_may_hold_what_utf8_and_json_lack() -> None:
    app = FakeApplication()
    async with connected(app.make) as client:
        await client.request("planloom/status")
        args = {"text": "\ud83d|😀\u2028", "most": [float("inf"), 1.5]}
        odd = ev.ToolStarted(
            step_id=StepId("step_1"), call_id=CallId("c"), tool="read_file", args=args, effect="read"
        )
        app.feed.happen(odd, PLAN)
        app.feed.happen(odd.model_copy(update={"args": {**args, "text": "😀\u2028"}}), PLAN)
        assert [event["args"] for event in client.events] == [
            {"text": "\ud83d|😀\u2028", "most": [None, 1.5]},
            {"text": "😀\u2028", "most": [None, 1.5]},
        ]


async def test_what_a_plan_has_used_follows_each_event_that_adds_to_it() -> None:
    app = FakeApplication(plans__spent=Spent(usage=Usage(requests=3)))
    async with connected(app.make) as client:
        await client.request("planloom/status")
        for name in ("model_used", "task_update", "task_completed", "task_started"):
            app.feed.happen(EVENTS[name], PLAN)
        told = client.told("planloom/spent")
        assert [(each["planId"], each["spent"]["usage"]["requests"]) for each in told] == [
            (PLAN.plan_id, 3)
        ] * 2
    assert [call[0] for call in app.calls].count("plans.spent") == 2


async def test_an_event_that_cannot_be_told_is_logged_and_stops_nothing(caplog: Any) -> None:
    app = FakeApplication()
    async with connected(app.make) as client:
        await client.request("planloom/status")
        app.feed.happen(ev.PlanApprovalRequest(), a_plan(created_at=None))
        app.feed.happen(ev.PlanResumed(), a_plan(seq=4))
        assert [event["seq"] for event in client.events] == [4]
    assert "could not be sent" in caplog.text


async def test_the_words_of_a_step_come_before_its_event() -> None:
    app = FakeApplication()
    async with connected(app.make) as client:
        await client.request("planloom/status")
        for word in ("It subtracts: ", "it has -=."):
            app.feed.speak(delta(word))
            app.feed.speak(delta(word, step="step_2"))
        app.feed.happen(
            ev.ToolStarted(
                step_id=StepId("step_1"), call_id=CallId("c1"), tool="read_file", args={}, effect="read"
            ),
            a_plan(seq=4),
        )
        names = [name for name, _ in client.notifications]
        before = [
            params
            for name, params in client.notifications[: names.index("planloom/event")]
            if name == "planloom/stream"
        ]
        words = {
            step: "".join(each["delta"] for each in before if each["stepId"] == step)
            for step in ("step_1", "step_2")
        }
        assert words == {"step_1": "It subtracts: it has -=.", "step_2": "It subtracts: "}


class Ear:
    """Takes what a stream says."""

    def __init__(self) -> None:
        self.heard: list[dict[str, Any]] = []
        self.congested = False
        self.stream = TextStream(self.hear, lambda: self.congested, interval=0.01)

    def hear(self, method: str, params: Any) -> None:
        assert method == "planloom/stream"
        self.heard.append(params)

    def text(self, **wanted: str) -> str:
        return "".join(
            each["delta"] for each in self.heard if all(each.get(key) == wanted[key] for key in wanted)
        )

    async def silence(self) -> None:
        while self.stream._waiting:
            await asyncio.sleep(0.005)


async def test_pieces_are_joined_while_their_step_may_not_speak() -> None:
    ear = Ear()
    for number in range(100):
        ear.stream.on_delta(delta(f"{number} "))
    assert ear.heard == [{"planId": "p1", "stepId": "step_1", "kind": "text", "delta": "0 "}]
    await ear.silence()
    assert len(ear.heard) == 2
    assert ear.text() == "".join(f"{number} " for number in range(100))


async def test_each_step_speaks_for_itself_and_voices_are_not_mixed() -> None:
    ear = Ear()
    for _ in range(5):
        ear.stream.on_delta(delta("a"))
        ear.stream.on_delta(delta("b", step="step_2"))
        ear.stream.on_delta(delta("r", kind="reasoning"))
        ear.stream.on_delta(delta("o", kind="stdout", call="c1"))
    assert len(ear.heard) == 2
    await ear.silence()
    assert ear.text(stepId="step_1", kind="text") == "aaaaa"
    assert ear.text(stepId="step_2") == "bbbbb"
    assert ear.text(kind="reasoning") == "rrrrr"
    assert ear.text(kind="stdout", callId="c1") == "ooooo"


async def test_a_quiet_step_speaks_at_once_again() -> None:
    ear = Ear()
    ear.stream.on_delta(delta("a"))
    await ear.silence()
    ear.stream.on_delta(delta("b"))
    assert ear.text() == "ab"
    await ear.silence()


async def test_what_a_slow_client_cannot_take_is_dropped() -> None:
    ear = Ear()
    ear.congested = True
    ear.stream.on_delta(delta("a"))
    ear.stream.on_delta(delta("b"))
    await ear.silence()
    assert ear.heard == []
