"""What a person is told of a plan or step that cannot go on names the step, the tool, the argument and the reason."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from planloom.domain.errors import DEFECT, InvalidPlan
from planloom.domain.events import catalog as ev
from planloom.domain.plans.editing import AddStep, StepChanges, UpdateStep
from planloom.domain.values import CallId, StepId
from planloom.models.offline.scripted import Fault, ScriptedModel, Turn, makes, says
from planloom.models.port import CallBroken, Capabilities, ModelEvent, ModelRequest
from tests.service.test_model_work import allowed, planned
from tests.support.studio import studio

READ = {"id": "a", "description": "Read", "tool": "read_file", "args": {"path": "a.txt"}}
WRITE = {"id": "b", "description": "Write", "tool": "write_file", "args": {"path": "b.txt"}}
MISSING = "Step 2, write_file: `content` is missing."


async def test_a_plan_that_fails_names_step_tool_and_argument(tmp_path: Path) -> None:
    text = json.dumps({"steps": [READ, WRITE]})
    model = ScriptedModel([says(text), says(text)], capabilities=Capabilities())
    async with studio(tmp_path, model=model) as at:
        plan = await at.ask("Create a site from a.txt", mode="plan")
        assert plan.status == "failed" and plan.error is not None
        assert MISSING in plan.error.message


async def test_an_edit_that_is_refused_names_step_tool_and_argument(tmp_path: Path) -> None:
    async with studio(tmp_path) as at:
        plan = await at.ask("Create folder x, create folder y", mode="plan")
        wrong = UpdateStep(
            step_id=plan.steps[1].step_id,
            set=StepChanges(tool="write_file", args={"path": "b.txt", "mode": "x"}),
        )
        with pytest.raises(InvalidPlan) as refused:
            await at.app.plans.edit(plan.plan_id, plan.version, [wrong])
        told = [row["problem"] for row in refused.value.details or ()]
        assert told == [MISSING, "Step 2, write_file: there is no argument `mode`."]
        with pytest.raises(InvalidPlan, match=r"^Step 3: The description is empty"):
            added = AddStep(step_id=StepId("c"), step=StepChanges(description="Say hello"))
            emptied = UpdateStep(step_id=StepId("c"), set=StepChanges(description=" "))
            await at.app.plans.edit(plan.plan_id, plan.version, [added, emptied])


@pytest.mark.parametrize("review", ["each", "end"])
async def test_a_denied_step_keeps_the_reason(tmp_path: Path, review: str) -> None:
    async with studio(tmp_path, {"a.txt": "old\n"}, settings={"execution.review": review}) as at:
        plan = await at.ask('Replace "old" with "new" in a.txt. Create folder x', mode="plan")
        plan = await at.respond(await at.approve(plan), "deny", reason="keep it as it is")
        plan = await at.until(plan, lambda now: now.steps[0].status == "skipped")
        step = plan.steps[0]
        assert step.skip_reason == "approval_denied" and step.result is not None
        assert (step.result.ok, "keep it as it is" in (step.result.error or "")) == (False, True)


async def test_a_critical_step_that_is_denied_does_not_fail_the_plan(tmp_path: Path) -> None:
    async with studio(tmp_path, {"a.txt": "old\n"}) as at:
        plan = await at.ask('Replace "old" with "new" in a.txt. Create folder x', mode="plan")
        critical = UpdateStep(step_id=plan.steps[0].step_id, set=StepChanges(critical=True))
        plan = await at.app.plans.edit(plan.plan_id, plan.version, [critical])
        plan = await at.respond(await at.approve(plan), "deny")
        while plan.pending.approvals:
            plan = await at.respond(plan)
        plan = await at.reach(plan, "ended")
        assert (plan.status, [step.status for step in plan.steps]) == ("completed", ["skipped", "completed"])


async def test_a_lost_attachment_is_asked_for_once(tmp_path: Path) -> None:
    done = ("task_completed", {"summary": "Looked."})
    model = ScriptedModel([makes(("list_files", {}), done), makes(("list_files", {}), done)])
    async with studio(tmp_path, {"old.txt": "old text\n", "new.txt": "new text\n"}) as at:
        plan = await planned(at, "Summarize @old.txt for me", ("Look", "look at it"), ("Again", "look again"))
        at.model.model = model
        at.path("old.txt").unlink()
        plan = await at.approve(plan)
        await at.app.steps.answer(plan.plan_id, plan.steps[0].step_id, "new.txt")
        plan = await at.reach(plan, "ended")
        assert plan.status == "completed", plan.pending
        assert at.types().count("clarification_request") == 1


async def test_a_resumed_plan_says_what_it_still_waits_for(tmp_path: Path) -> None:
    model = ScriptedModel([makes(("ask_user", {"question": "Which port?"}))])
    async with studio(tmp_path) as at:
        plan = await planned(at, "Set up the server", ("Configure", "set the port"))
        at.model.model = model
        plan = await allowed(at, plan)
        assert plan.pause_reason == "clarification"
        await at.app.plans.resume(plan.plan_id)
        told = [each.event.message for each in at.events if isinstance(each.event, ev.Log)]
        assert "Step 1 still waits for your answer: Which port?" in told


CUT = CallBroken(call_id=CallId("1"), name="write_file", arguments_text='{"path": "a', problem="no JSON")


@pytest.mark.parametrize(
    ("turns", "told"),
    [
        ([says("I must not.", finish="refused")], "The model refused to go on."),
        (
            [says("", broken_calls=(CUT,), finish="length")] * 3,
            "The model made the same malformed call of write_file three times: the answer was cut off",
        ),
    ],
)
async def test_a_model_that_refuses_or_is_cut_off_in_a_step_is_named_as_that(
    tmp_path: Path, turns: list[Turn], told: str
) -> None:
    async with studio(tmp_path) as at:
        plan = await planned(at, "Work", ("Look", "look"))
        at.model.model = ScriptedModel(turns)
        plan = await at.approve(plan)
        failed = plan.steps[0].result
        assert failed is not None and (failed.error or "").startswith(told)


class BrokenModel(ScriptedModel):
    """A model that fails in a way that nobody has foreseen."""

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent]:
        raise RuntimeError("nobody foresaw this")
        yield


UNDECIDED = "Räum bitte die Küche auf"


async def test_a_draft_that_breaks_before_its_route_is_chosen_fails_the_plan(tmp_path: Path) -> None:
    model = BrokenModel([], capabilities=Capabilities())
    async with studio(tmp_path, model=model) as at:
        plan = await at.ask(UNDECIDED)
        assert plan.status == "failed" and plan.error is not None
        assert plan.error.message == DEFECT


async def test_a_request_that_is_too_long_for_the_model_is_routed_by_rules(tmp_path: Path) -> None:
    too_long = Turn(fault=Fault(kind="overflow", message="The prompt has 9000 tokens, the model takes 4096."))
    model = ScriptedModel([too_long, too_long, too_long], capabilities=Capabilities())
    async with studio(tmp_path, model=model) as at:
        plan = await at.ask(UNDECIDED)
        assert plan.status == "failed" and plan.error is not None
        assert (plan.error.code, "4096" in plan.error.message) == ("context_overflow", True)


async def test_any_job_of_a_running_plan_that_breaks_pauses_it_and_says_so(tmp_path: Path) -> None:
    async def broken() -> None:
        raise RuntimeError("nobody foresaw this")

    async with studio(tmp_path) as at:
        plan = await at.approve(await at.ask("Create folder x, create folder y", mode="plan"))
        at.app._jobs.start(f"continue:{plan.plan_id}", broken())
        plan = await at.until(plan, lambda now: now.status == "paused")
        assert plan.pause_reason == "error" and DEFECT in (plan.pause_detail or "")
