"""What each status allows, over the service as clients use it."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from planloom.domain.errors import (
    InvalidPlan,
    ModelFailed,
    OwnedElsewhere,
    StaleVersion,
    UnknownThing,
    WrongState,
)
from planloom.domain.plans.editing import AddStep, MoveStep, RemoveStep, SkipStep, StepChanges, UpdateStep
from planloom.domain.plans.plan import ENDED, Plan, PlanStatus
from planloom.domain.values import EditId, PlanId, StepId
from planloom.models.offline.scripted import ScriptedModel, says
from planloom.models.port import Capabilities
from planloom.service.running.states import ALLOWED
from tests.support.studio import Studio, studio

EDIT = '1. Replace "old" with "new" in a.txt\n2. List files'
NEEDS_MODEL = "1. Explain the design\n2. Draw the picture"


async def brought_to(at: Studio, status: PlanStatus) -> Plan:
    """A plan brought to this status by the user's requests."""
    if status in ("paused", "approved"):
        plan = await at.approve(await at.ask(NEEDS_MODEL))
        assert plan.status == "paused"
        return plan
    plan = await at.ask(EDIT)
    plans = at.app.plans
    match status:
        case "rejected":
            plan = await plans.reject(plan.plan_id, "no")
        case "executing":
            plan = await at.approve(plan)
        case "completed":
            plan = await at.respond(await at.approve(plan))
        case "cancelled":
            await plans.cancel(plan.plan_id)
            plan = await at.reach(plan, "ended")
    return plan


def actions(at: Studio, plan: Plan) -> dict[str, Callable[[], Awaitable[Any]]]:
    plans, ident, version = at.app.plans, plan.plan_id, plan.version
    return {
        "edit": lambda: plans.edit(ident, version, (SkipStep(step_id=plan.steps[1].step_id),)),
        "regenerate": lambda: plans.regenerate(ident, version, None),
        "approve": lambda: plans.approve(ident, version, None),
        "reject": lambda: plans.reject(ident, None),
        "direct": lambda: plans.direct(ident),
        "pause": lambda: plans.pause(ident),
        "resume": lambda: plans.resume(ident),
        "review": lambda: plans.review(ident),
        "cancel": lambda: plans.cancel(ident),
        "undo": lambda: plans.undo(ident, None, False),
        "delete": lambda: plans.delete(ident),
        "message": lambda: at.app.messages.send(ident, "shorter"),
        "step/answer": lambda: at.app.steps.answer(ident, plan.steps[0].step_id, "yes"),
        "step/recover": lambda: at.app.steps.recover(ident, plan.steps[0].step_id, "skip", None),
        "conflict/resolve": lambda: at.app.approvals.resolve_conflict(ident, EditId("none"), ()),
    }


@pytest.mark.parametrize(
    "status", ["pending_approval", "rejected", "executing", "paused", "completed", "cancelled"]
)
async def test_only_what_the_table_allows_is_taken(tmp_path: Path, status: PlanStatus) -> None:
    for action in sorted({action for allowed in ALLOWED.values() for action in allowed}):
        folder = tmp_path / f"{status}-{action.replace('/', '-')}"
        if folder.exists():
            continue
        folder.mkdir()
        async with studio(folder, {"a.txt": "old\n"}) as at:
            plan = await brought_to(at, status)
            assert plan.status == status
            if action == "approval/respond":
                # An approval waits in a plan that runs, and in no other.
                assert bool(plan.pending.approvals) == (status == "executing")
                continue
            try:
                await actions(at, plan)[action]()
                taken = True
            except ModelFailed:
                # A message revises a plan by a model, and there is none.
                taken = action == "message"
            except (WrongState, UnknownThing) as error:
                # Allowed, but there is nothing to take back, to answer or to decide.
                nothing = ("nothing to take back", "asks nothing", "does not wait", "There is no edit")
                taken = any(words in error.message for words in nothing)
                if not taken:
                    assert error.details is not None
                    assert error.details["allowed"] == list(ALLOWED[status])  # type: ignore[index, call-overload]
            same_again = action == "approve" and plan.approved_version == plan.version
            assert taken == (action in ALLOWED[status] or (same_again and status != "completed")), action


async def test_a_stale_version_is_told_the_one_at_hand(tmp_path: Path) -> None:
    async with studio(tmp_path, {"a.txt": "old\n"}) as at:
        plan = await at.ask(EDIT)
        await at.app.plans.edit(plan.plan_id, plan.version, (SkipStep(step_id=plan.steps[1].step_id),))
        for act in (
            at.app.plans.approve(plan.plan_id, plan.version, None),
            at.app.plans.edit(plan.plan_id, plan.version, ()),
            at.app.plans.regenerate(plan.plan_id, plan.version, None),
        ):
            with pytest.raises(StaleVersion) as error:
                await act
            assert error.value.details == {"version": plan.version + 1, "status": "pending_approval"}


A, B = StepId("step_1"), StepId("step_2")


@pytest.mark.parametrize(
    ("edit", "field"),
    [
        (UpdateStep(step_id=A, set=StepChanges(depends_on=(B,))), "cycle"),
        (UpdateStep(step_id=B, set=StepChanges(tool="no_such_tool")), "tool"),
        (UpdateStep(step_id=A, set=StepChanges(args={"path": "a.txt"})), "args"),
        (UpdateStep(step_id=B, set=StepChanges(depends_on=(StepId("nobody"),))), "dependsOn"),
        (
            UpdateStep(step_id=A, set=StepChanges(args={"path": "../x", "old_text": "a", "new_text": "b"})),
            "args",
        ),
        (RemoveStep(step_id=StepId("nobody")), "stepId"),
        (MoveStep(step_id=B, after=None), "move"),
        (RemoveStep(step_id=A), "remove"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_an_edit_that_makes_the_plan_invalid_changes_nothing(
    tmp_path: Path, edit: Any, field: str
) -> None:
    async with studio(tmp_path, {"a.txt": "old\n"}) as at:
        plan = await at.ask(EDIT)
        tie = UpdateStep(step_id=B, set=StepChanges(depends_on=(A,)))
        plan = await at.app.plans.edit(plan.plan_id, plan.version, (tie,))
        with pytest.raises((InvalidPlan, UnknownThing)) as error:
            await at.app.plans.edit(plan.plan_id, plan.version, (edit,))
        if isinstance(error.value, InvalidPlan):
            assert error.value.details
        assert at.now(plan) == plan


async def test_edits_are_taken_together_and_can_name_what_they_add(tmp_path: Path) -> None:
    async with studio(tmp_path, {"a.txt": "old\n"}) as at:
        plan = await at.ask(EDIT)
        added = AddStep(
            place="after",
            after=A,
            step_id=StepId("mine"),
            step=StepChanges(description="Look", kind="tool_call", tool="read_file", args={"path": "a.txt"}),
        )
        move = MoveStep(step_id=StepId("mine"), after=None)
        after = await at.app.plans.edit(plan.plan_id, plan.version, (added, move))
        assert [step.step_id for step in after.steps] == ["mine", A, B]
        assert after.version == plan.version + 1


async def test_unknown_ids(tmp_path: Path) -> None:
    async with studio(tmp_path) as at:
        for act in (at.app.plans.approve, at.app.plans.edit):
            with pytest.raises(UnknownThing):
                await act(PlanId("nobody"), 1, ())  # type: ignore[arg-type]
        with pytest.raises(UnknownThing):
            at.app.plans.get(PlanId("nobody"), None)


async def test_a_plan_of_a_living_server_is_read_but_not_changed_by_another(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    async with studio(tmp_path / "one", {"a.txt": "old\n"}, ledger=tmp_path / "l.db") as one:
        plan = await one.ask(EDIT)
        other = Studio(tmp_path / "one", ledger=tmp_path / "l.db")
        try:
            assert other.now(plan) == plan
            with pytest.raises(OwnedElsewhere) as error:
                await other.app.plans.approve(plan.plan_id, plan.version, None)
            assert error.value.details is not None and "pid" in error.value.details  # type: ignore[operator]
        finally:
            await other.app.close()


@pytest.mark.slow
async def test_a_server_that_starts_before_its_predecessor_has_ended_takes_the_plan_over(
    tmp_path: Path,
) -> None:
    (tmp_path / "one").mkdir()
    async with studio(tmp_path / "one", {"a.txt": "old\n"}, ledger=tmp_path / "l.db") as one:
        plan = await one.approve(await one.ask(EDIT))
        other = Studio(tmp_path / "one", ledger=tmp_path / "l.db")
        try:
            assert other.now(plan).status == "executing"
            await one.app.close()
            found = await other.until(plan, lambda now: now.status == "paused")
            assert found.pause_reason == "restart" and found.pending.approvals == ()
            await other.app.plans.resume(plan.plan_id)
            found = await other.reach(plan, "attention")
            assert found.pending.approvals
        finally:
            await other.app.close()


async def test_a_restart_pauses_what_ran_and_runs_nothing_by_itself(tmp_path: Path) -> None:
    async with studio(tmp_path, {"a.txt": "old\n"}, ledger=tmp_path / "l.db") as at:
        plan = await at.approve(await at.ask(EDIT))
        assert plan.pending.approvals
        at.app._jobs.cancel("")
    async with studio(tmp_path, ledger=tmp_path / "l.db") as at:
        found = at.now(plan)
        assert (found.status, found.pause_reason) == ("paused", "restart")
        assert [step.status for step in found.steps] == ["pending", "pending"]
        assert found.pending.approvals == () and at.editor.received == []
        assert at.app.status().resumable == (plan.plan_id,)
        await at.app.plans.resume(plan.plan_id)
        found = await at.respond(await at.until(plan, lambda now: bool(now.pending.approvals)))
        assert found.status == "completed" and at.text("a.txt") == "new\n"


async def test_a_regeneration_with_feedback_raises_the_version(tmp_path: Path) -> None:
    async with studio(tmp_path, {"a.txt": "old\n"}) as at:
        plan = await at.ask(EDIT)
        draft = await at.app.plans.regenerate(plan.plan_id, plan.version, "shorter")
        assert draft.status == "draft"
        again = await at.reach(plan, "ready")
        assert (again.status, again.version) == ("pending_approval", plan.version + 1)


async def test_a_rejected_plan_is_drafted_again_with_the_reason(tmp_path: Path) -> None:
    drafted = says(json.dumps({"steps": [{"description": "Tidy", "instruction": "Tidy up"}]}))
    model = ScriptedModel([drafted, drafted], capabilities=Capabilities())
    async with studio(tmp_path, model=model) as at:
        plan = await at.ask("Tidy up the parser and add tests", mode="plan")
        rejected = await at.app.plans.reject(plan.plan_id, "Leave the lexer alone.")
        await at.app.plans.regenerate(plan.plan_id, rejected.version, None)
        again = await at.reach(plan, "ready")
        assert (again.status, again.version) == ("pending_approval", plan.version + 1)
        assert "Leave the lexer alone." in model.requests[1].messages[-1].text


async def test_undo_takes_a_plan_back_and_redo_does_it_again(tmp_path: Path) -> None:
    text = '1. Create folder src\n2. Create file src/b.txt with content "b"\n3. Replace "old" with "new" in a.txt'
    async with studio(tmp_path, {"a.txt": "one\ntwo\nold\n"}) as at:
        at.editor.open(at.path("a.txt"))
        plan = await at.run(text)
        at.editor.replace(at.path("a.txt"), "one", "ONE typed since")
        undone = await at.app.plans.undo(plan.plan_id, None, False)
        assert at.text("a.txt") == "ONE typed since\ntwo\nold\n"
        assert not at.path("src").exists() and undone.conflicts == ()
        assert [step.reverted for step in undone.plan.steps] == ["whole", "whole", "whole"]
        redone = await at.app.plans.undo(plan.plan_id, None, True)
        assert at.text("a.txt") == "ONE typed since\ntwo\nnew\n"
        assert at.path("src/b.txt").exists()
        assert [step.reverted for step in redone.plan.steps] == [None, None, None]


async def test_undo_of_one_step_leaves_the_others(tmp_path: Path) -> None:
    async with studio(tmp_path, {"a.txt": "old\n"}) as at:
        plan = await at.run('1. Replace "old" with "new" in a.txt\n2. Create file b.txt with content "b"')
        undone = await at.app.plans.undo(plan.plan_id, plan.steps[0].step_id, False)
        assert (at.text("a.txt"), at.text("b.txt")) == ("old\n", "b")
        assert [step.reverted for step in undone.plan.steps] == ["whole", None]


async def test_undo_keeps_lines_that_were_changed_since_and_says_so(tmp_path: Path) -> None:
    async with studio(tmp_path, {"a.txt": "old\n"}) as at:
        at.editor.open(at.path("a.txt"))
        plan = await at.run('1. Replace "old" with "new" in a.txt\n2. List files')
        at.editor.replace(at.path("a.txt"), "new", "newer")
        undone = await at.app.plans.undo(plan.plan_id, None, False)
        assert at.text("a.txt") == "newer\n"
        assert undone.conflicts == (at.uri("a.txt"),) and undone.reverted == ()


async def test_undo_tells_of_each_edit_of_a_file_whether_it_was_taken_back(tmp_path: Path) -> None:
    async with studio(tmp_path, {"a.txt": "one\ntwo\nthree\nfour\n"}) as at:
        at.editor.open(at.path("a.txt"))
        plan = await at.run('1. Replace "one" with "1" in a.txt\n2. Replace "four" with "4" in a.txt')
        at.editor.replace(at.path("a.txt"), "1", "first")
        undone = await at.app.plans.undo(plan.plan_id, None, False)
        assert at.text("a.txt") == "first\ntwo\nthree\nfour\n"
        assert undone.conflicts == undone.reverted == (at.uri("a.txt"),)
        assert [step.reverted for step in undone.plan.steps] == [None, "whole"]
        redone = await at.app.plans.undo(plan.plan_id, None, True)
        assert at.text("a.txt") == "first\ntwo\nthree\n4\n"
        assert [step.reverted for step in redone.plan.steps] == [None, None]


@pytest.mark.parametrize("status", ["pending_approval", "executing", "paused"])
async def test_a_plan_that_has_not_ended_is_not_deleted(tmp_path: Path, status: PlanStatus) -> None:
    async with studio(tmp_path, {"a.txt": "old\n"}) as at:
        plan = await brought_to(at, status)
        with pytest.raises(WrongState) as error:
            await at.app.plans.delete(plan.plan_id)
        assert "delete" in error.value.message and at.now(plan) == plan
        assert not {each for each in ALLOWED if "delete" in ALLOWED[each]} - ENDED - {"rejected"}


async def test_deleting_forgets_an_ended_plan_alone(tmp_path: Path) -> None:
    async with studio(tmp_path, {"a.txt": "old\n"}) as at:
        plan = await at.ask(EDIT)
        await at.app.plans.cancel(plan.plan_id)
        await at.reach(plan, "ended")
        await at.app.plans.delete(plan.plan_id)
        with pytest.raises(UnknownThing):
            at.now(plan)
