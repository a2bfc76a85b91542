"""A plan that is left for later, at each stage, is taken up where it was left."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from planloom.domain.document.render import render
from planloom.domain.errors import InvalidParams, InvalidPlan, StaleVersion
from planloom.domain.plans.editing import RemoveStep
from planloom.domain.plans.plan import Plan
from planloom.models.offline.scripted import Fault, ScriptedModel, Turn, says
from planloom.service.requests import CreateRequest
from planloom.view.actions import Situation, buttons
from planloom.view.plan_view import view
from planloom.view.states import Around
from planloom.view.words import Words
from tests.service.test_routing import AMBIGUOUS, LEAN, verdict
from tests.support.studio import InterruptedModel, studio

EDIT = '1. Replace "old" with "new" in a.txt\n2. List files'
HANGS = Turn(text="Let me see", fault=Fault(kind="hang"))
PLAN = says('{"steps": [{"description": "Explain the design"}]}')


def titles(plan: Plan) -> dict[str, str]:
    """The titles of the buttons of the whole plan, by their commands."""
    return {each.command: each.title for each in buttons(Situation(plan=plan)) if each.step_id is None}


async def test_a_plan_under_review_is_kept_and_comes_back_to_review(tmp_path: Path) -> None:
    async with studio(tmp_path, {"a.txt": "old\n"}) as at:
        plan = await at.ask(EDIT)
        assert titles(plan)["planloom.pause"] == "Keep for later"
        kept = await at.app.plans.pause(plan.plan_id)
        assert (kept.status, kept.approved_version) == ("paused", None)
        assert titles(kept)["planloom.resume"] == "Back to review"
        assert "planloom.review" not in titles(kept)
        back = await at.app.plans.resume(plan.plan_id)
        assert (back.status, back.version) == ("pending_approval", plan.version)
        done = await at.respond(await at.approve(back))
        assert done.status == "completed"
        assert at.text("a.txt") == "new\n"


async def test_a_kept_plan_is_there_after_a_restart(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.sqlite3"
    async with studio(tmp_path, {"a.txt": "old\n"}, ledger=ledger) as at:
        plan = await at.ask(EDIT)
        await at.app.plans.pause(plan.plan_id)
    async with studio(tmp_path, ledger=ledger) as at:
        back = await at.app.plans.resume(plan.plan_id)
        assert back.status == "pending_approval"


class SlowModel(InterruptedModel):
    """A model that writes a word and hangs at its first request, which sets `asked`, and then plays the other turns."""

    def __init__(self, *turns: Turn, **more: Any) -> None:
        self.asked = asyncio.Event()

        async def meanwhile() -> None:
            self.asked.set()

        super().__init__([HANGS, *turns], {1: meanwhile}, **more)


async def test_a_draft_stops_and_is_drafted_anew(tmp_path: Path) -> None:
    model = SlowModel(PLAN)
    async with studio(tmp_path, model=model) as at:
        plan = (await at.app.plans.create(CreateRequest(text="Explain the design", mode="plan"))).plan
        await model.asked.wait()
        left = await at.app.plans.pause(plan.plan_id)
        assert (left.status, left.version) == ("paused", 0)
        assert titles(left)["planloom.resume"] == "Resume"
        assert (await at.app.plans.resume(plan.plan_id)).status == "draft"
        again = await at.reach(plan, "attention")
        assert again.status == "pending_approval"
        assert [step.description for step in again.steps] == ["Explain the design"]


async def test_a_request_whose_route_is_undecided_is_decided_on_anew(tmp_path: Path) -> None:
    model = SlowModel(says(verdict(True)), PLAN, capabilities=LEAN)
    async with studio(tmp_path, model=model) as at:
        plan = (await at.app.plans.create(CreateRequest(text=AMBIGUOUS))).plan
        await model.asked.wait()
        assert (await at.app.plans.pause(plan.plan_id)).route == "undecided"
        await at.app.plans.resume(plan.plan_id)
        assert (await at.reach(plan, "attention")).route == "plan"


async def test_a_new_draft_gives_way_to_the_version_before_it(tmp_path: Path) -> None:
    model = SlowModel()
    async with studio(tmp_path, {"a.txt": "old\n"}) as at:
        plan = await at.ask(EDIT)
        at.model.model = model
        await at.app.messages.send(plan.plan_id, "And list the folders, too.")
        await model.asked.wait()
        left = await at.app.plans.pause(plan.plan_id)
        assert (left.status, left.version) == ("paused", plan.version)
        back = await at.app.plans.resume(plan.plan_id)
        assert [step.step_id for step in back.steps] == [step.step_id for step in plan.steps]


async def test_an_approval_that_waits_is_asked_again(tmp_path: Path) -> None:
    async with studio(tmp_path, {"a.txt": "old\n"}) as at:
        asks = await at.approve(await at.ask(EDIT))
        assert asks.pending.approvals
        left = await at.app.plans.pause(asks.plan_id)
        assert (left.status, left.pending.approvals) == ("paused", ())
        await at.app.plans.resume(asks.plan_id)
        again = await at.reach(asks, "attention")
        done = await at.respond(again)
        assert done.status == "completed"


@pytest.mark.parametrize("paused", [True, False])
async def test_a_running_plan_goes_back_to_review(tmp_path: Path, paused: bool) -> None:
    async with studio(tmp_path, {"a.txt": "old\n"}) as at:
        plan = await at.approve(await at.ask('1. Create folder made\n2. Replace "old" with "new" in a.txt'))
        plan = await at.respond(plan)
        if paused:
            plan = await at.app.plans.pause(plan.plan_id)
            assert titles(plan)["planloom.review"] == "Back to review"
        back = await at.app.plans.review(plan.plan_id)
        assert (back.status, back.version) == ("pending_approval", plan.version + 1)
        assert [step.status for step in back.steps] == ["completed", "pending"]
        done = await at.respond(await at.approve(back))
        assert done.status == "completed"


async def test_a_sentence_revises_a_kept_plan(tmp_path: Path) -> None:
    model = ScriptedModel([PLAN])
    async with studio(tmp_path, {"a.txt": "old\n"}, model=model) as at:
        plan = await at.ask(EDIT)
        await at.app.plans.pause(plan.plan_id)
        said = await at.app.messages.send(plan.plan_id, "Only explain the design.")
        assert said.outcome == "revising"
        assert (await at.reach(plan, "attention")).status == "pending_approval"


async def test_a_plan_becomes_what_its_document_says(tmp_path: Path) -> None:
    async with studio(tmp_path, {"a.txt": "old\n"}) as at:
        plan = await at.ask(EDIT)
        text = render(plan)
        assert await at.app.plans.rewrite(plan.plan_id, 1, text) == plan
        changed = text.replace("new_text: new", "new_text: newer") + "- [ ] Create folder f\n"
        edited = await at.app.plans.rewrite(plan.plan_id, 1, changed)
        assert (edited.version, len(edited.steps), edited.steps[0].args["new_text"]) == (2, 3, "newer")
        shown = view(edited, Around(words=Words()))
        assert [(each.kind, each.step_id) for each in shown.changes] == [
            ("changed", "step_1"),
            ("added", "step_3"),
        ]
        with pytest.raises(InvalidPlan) as refused:
            await at.app.plans.rewrite(plan.plan_id, 2, text.replace("tool: list_files", "tool: lst"))
        assert refused.value.details
        with pytest.raises(StaleVersion):
            await at.app.plans.rewrite(plan.plan_id, 1, changed)
        assert view(await at.app.plans.approve(plan.plan_id, 2, None), Around(words=Words())).changes == ()


@pytest.mark.parametrize("text", ["", "# Do it\n", "# Do it\n\n## Steps\n\n- [ ] Look\n  - tool: [\n"])
async def test_a_document_that_cannot_be_read_changes_nothing(tmp_path: Path, text: str) -> None:
    async with studio(tmp_path, {"a.txt": "old\n"}) as at:
        plan = await at.ask(EDIT)
        with pytest.raises(InvalidPlan):
            await at.app.plans.rewrite(plan.plan_id, 1, text)
        assert at.now(plan) == plan


async def test_a_plan_goes_back_to_an_earlier_version(tmp_path: Path) -> None:
    async with studio(tmp_path, {"a.txt": "old\n"}) as at:
        plan = await at.ask(EDIT)
        removed = await at.app.plans.edit(plan.plan_id, 1, (RemoveStep(step_id=plan.steps[-1].step_id),))
        assert len(removed.steps) == len(plan.steps) - 1
        offered = [each for each in view(removed, Around(words=Words())).actions if "restore" in each.command]
        assert [(each.title, each.arguments) for each in offered] == [
            ("Back to version 1", [plan.plan_id, 1])
        ]
        back = await at.app.plans.restore(plan.plan_id, 2, 1)
        assert back.version == 3
        written = [
            [(each.step_id, each.title, each.tool, each.args) for each in of.steps] for of in (back, plan)
        ]
        assert written[0] == written[1]
        assert await at.app.plans.restore(plan.plan_id, 3, 1) == back
        with pytest.raises(InvalidParams):
            await at.app.plans.restore(plan.plan_id, 3, 7)


async def test_while_a_plan_is_revised_its_steps_stay_in_view(tmp_path: Path) -> None:
    model = ScriptedModel([PLAN])
    async with studio(tmp_path, {"a.txt": "old\n"}, model=model) as at:
        plan = await at.ask(EDIT)
        said = await at.app.messages.send(plan.plan_id, "Only explain the design.")
        shown = view(said.plan, Around(words=Words()))
        assert said.plan.status == "draft"
        assert [each.step.title for each in shown.steps] == [each.title for each in plan.steps]
        await at.reach(plan, "attention")
