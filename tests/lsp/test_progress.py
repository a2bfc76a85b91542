"""Running plans as progress bars, with a button that cancels."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from planloom.domain.errors import WrongState
from planloom.domain.events import catalog as ev
from planloom.domain.plans.plan import Pending, Step
from planloom.domain.safety.approvals import Approval
from planloom.domain.values import ApprovalId, PlanId, Sha256, StepId
from planloom.lsp.editor import progress
from tests.support.fake_application import FakeApplication, a_plan
from tests.support.lsp_client import BARE, Failed, LspClient, NeverAnswered, connected


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "REPORT_SECONDS", 0.001)


def steps(*statuses: Any) -> tuple[Step, ...]:
    return tuple(
        Step(
            step_id=StepId(f"step_{place}"),
            description=f"Do {place}",
            instruction="",
            active_form=f"Doing {place}",
            status=status,
        )
        for place, status in enumerate(statuses, start=1)
    )


def bars(client: LspClient) -> list[dict[str, Any]]:
    return [note["value"] for note in client.told("$/progress")]


async def started(app: FakeApplication, client: LspClient, **plan: Any) -> None:
    await client.request("planloom/status")
    app.feed.happen(ev.PlanResumed(), a_plan(**plan))
    await client.until(lambda: bars(client))


async def test_a_bar_begins_moves_and_ends_with_its_plan() -> None:
    app = FakeApplication()
    async with connected(app.make) as client:
        await started(app, client, status="draft", steps=())
        assert bars(client)[0] == {
            "kind": "begin",
            "title": "Planloom",
            "cancellable": True,
            "message": "Thinking…",
        }
        app.feed.happen(ev.PlanResumed(), a_plan(status="executing", steps=steps("completed", "running")))
        await client.until(lambda: bars(client)[-1].get("percentage") == 50)
        assert bars(client)[-1]["message"] == "1/2 Doing 2"
        again = steps("completed", "running")[1].model_copy(update={"progress": 40, "attempts": 2})
        app.feed.happen(ev.PlanResumed(), a_plan(status="executing", steps=(steps("completed")[0], again)))
        await client.until(lambda: bars(client)[-1]["message"] == "1/2 Doing 2 · 40 % · attempt 2")
        app.feed.happen(ev.PlanResumed(), a_plan(status="completed", steps=steps("completed", "completed")))
        await client.until(lambda: bars(client)[-1]["kind"] == "end")
        assert [value["kind"] for value in bars(client)].count("end") == 1
        tokens = {note["token"] for note in client.told("$/progress")}
        assert len(tokens) == 1 and all(isinstance(token, str) for token in tokens)


async def test_a_step_that_waits_for_an_approval_is_not_told_as_at_work() -> None:
    app = FakeApplication()
    pending = Pending(approvals=(an_approval(StepId("step_1")),))
    async with connected(app.make) as client:
        await started(app, client, status="executing", steps=steps("running"), pending=pending)
        await client.until(lambda: bars(client)[-1]["message"] == "0/1 waits for your approval")
        both = a_plan(status="executing", steps=steps("running", "running"), pending=pending)
        app.feed.happen(ev.PlanResumed(), both)
        await client.until(lambda: bars(client)[-1]["message"] == "0/2 Doing 2")
        app.feed.happen(ev.PlanResumed(), a_plan(status="executing", steps=steps("running")))
        await client.until(lambda: bars(client)[-1]["message"] == "0/1 Doing 1")


def an_approval(step_id: StepId) -> Approval:
    return Approval(
        approval_id=ApprovalId("x"),
        plan_id=PlanId("p1"),
        step_id=step_id,
        proposal=Sha256("0" * 64),
        effect="write",
        title="Do it",
    )


async def test_a_plan_that_goes_on_gets_another_bar() -> None:
    app = FakeApplication()
    async with connected(app.make) as client:
        await started(app, client, status="executing")
        app.feed.happen(ev.PlanResumed(), a_plan(status="paused"))
        await client.until(lambda: bars(client)[-1]["kind"] == "end")
        app.feed.happen(ev.PlanResumed(), a_plan(status="executing"))
        await client.until(lambda: [each["kind"] for each in bars(client)].count("begin") == 2)
        app.feed.happen(ev.PlanResumed(), a_plan(status="failed"))
        await client.until(lambda: [each["kind"] for each in bars(client)].count("end") == 2)


async def test_many_events_make_few_reports() -> None:
    app = FakeApplication()
    async with connected(app.make) as client:
        await started(app, client, status="executing")
        for number in range(500):
            app.feed.happen(ev.PlanResumed(), a_plan(status="executing", summary=f"{number}"))
        app.feed.happen(ev.PlanResumed(), a_plan(status="completed"))
        await client.until(lambda: bars(client)[-1]["kind"] == "end")
        assert len(bars(client)) < 20


async def test_a_client_that_cannot_take_more_is_told_of_the_end_of_a_bar_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(progress, "REPORT_SECONDS", 0)
    app = FakeApplication()
    async with connected(app.make) as client:
        await started(app, client, status="executing")
        client.congested = True
        known = len(bars(client))
        for number in range(3):
            app.feed.happen(ev.PlanResumed(), a_plan(status="executing", summary=f"on the way {number}"))
            await client.request("planloom/status")
        app.feed.happen(ev.PlanResumed(), a_plan(status="completed"))
        await client.until(lambda: bars(client)[-1]["kind"] == "end")
        assert len(bars(client)) == known + 1


async def test_the_button_cancels_the_plan() -> None:
    app = FakeApplication()
    async with connected(app.make) as client:
        await started(app, client, status="executing")
        token = client.told("$/progress")[0]["token"]
        client.notify("window/workDoneProgress/cancel", {"token": token})
        await client.until(lambda: ("plans.cancel", "p1") in app.calls)
        app.feed.happen(ev.PlanResumed(), a_plan(status="cancelled"))
        await client.until(lambda: bars(client)[-1]["kind"] == "end")
        client.notify("window/workDoneProgress/cancel", {"token": token})
        client.notify("window/workDoneProgress/cancel", {"token": 5})
        await client.request("planloom/status")
        assert app.calls.count(("plans.cancel", "p1")) == 1


async def test_a_button_pressed_too_late_is_no_defect(caplog: Any) -> None:
    app = FakeApplication(plans__cancel=WrongState("Over.", status="completed"))
    async with connected(app.make) as client:
        await started(app, client, status="executing")
        client.notify("window/workDoneProgress/cancel", {"token": client.told("$/progress")[0]["token"]})
        await client.until(lambda: ("plans.cancel", "p1") in app.calls)
        await client.request("planloom/status")
    assert "failed" not in caplog.text


@pytest.mark.parametrize("how", ["refuses", "is silent"])
async def test_a_client_that_shows_no_bar_is_asked_once(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "CREATE_SECONDS", 0.01)

    def answer(_: Any) -> Any:
        if how == "refuses":
            raise Failed({"code": -32601, "message": "no"})
        raise NeverAnswered

    app = FakeApplication()
    async with connected(app.make) as client:
        client.answer("window/workDoneProgress/create", answer)
        await client.request("planloom/status")
        for plan_id in ("p1", "p2"):
            app.feed.happen(ev.PlanResumed(), a_plan(plan_id, status="executing"))
            await asyncio.sleep(0.05)
        names = [name for name, _ in client.asked]
        assert names.count("window/workDoneProgress/create") == 1
        assert not bars(client)


async def test_without_the_capability_there_is_no_bar() -> None:
    app = FakeApplication()
    async with connected(app.make, capabilities=BARE) as client:
        await client.request("planloom/status")
        app.feed.happen(ev.PlanResumed(), a_plan(status="executing"))
        await client.request("planloom/status")
        assert not client.asked and not bars(client)


async def test_shutdown_ends_a_bar() -> None:
    app = FakeApplication()
    async with connected(app.make) as client:
        await started(app, client, status="executing")
        await client.request("shutdown")
        assert bars(client)[-1]["kind"] == "end"


@pytest.mark.parametrize("token", [[], {}, None, 1.5], ids=str)
async def test_a_token_that_is_none_is_answered_without_a_defect(token: object) -> None:
    async with connected(FakeApplication().make) as client:
        _, answer = client.start("window/workDoneProgress/cancel", {"token": token})
        try:
            await answer
        except Failed as error:
            assert error.word != "internal"


async def test_a_bar_speaks_the_language_of_the_user() -> None:
    app = FakeApplication()
    async with connected(app.make, locale="de") as client:
        await client.request("planloom/status")
        running = a_plan(status="executing", approved_version=1)
        step = running.steps[0].model_copy(update={"status": "running", "attempts": 2})
        now = running.model_copy(update={"steps": (step, *running.steps[1:])})
        app.feed.happen(ev.StepStarted(step_id=step.step_id, agent="koda"), now)
        await client.until(lambda: bars(client))
        assert bars(client)[-1]["message"] == "0/2 Read · Versuch 2"
