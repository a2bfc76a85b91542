"""The rules that steps run by: limits, repeated calls, checks, recoveries, attachments, earlier plans."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from planloom.domain.errors import WrongState
from planloom.domain.events import catalog as ev
from planloom.domain.plans.editing import AddStep, RemoveStep, StepChanges, UpdateStep
from planloom.domain.plans.plan import Check, Plan, Step, StepResult
from planloom.domain.text.positions import Position, Range
from planloom.domain.values import PlanId, SessionId, StepId, Uri
from planloom.models.offline.scripted import ScriptedModel, fails, makes, says
from planloom.models.port import Capabilities, ModelEvent, ModelRequest
from planloom.service.running.resource_claims import claims_of
from planloom.settings import resolve
from planloom.tools.registry import builtin
from planloom.workspace.editor import Diagnostic, FileDiagnostics
from tests.service.test_model_work import allowed, asked, planned
from tests.support.studio import Studio, studio

DONE = ("task_completed", {"summary": "Done."})
AT = Range(start=Position(line=0, character=0), end=Position(line=0, character=1))


async def with_steps(at: Studio, *steps: StepChanges, more: str = "") -> Plan:
    """A plan of these steps, under review, for a request with more text than the steps."""
    plan = await at.ask(f"1. one thing\n2. another thing\n{more}", mode="plan")
    gone = [RemoveStep(step_id=step.step_id) for step in plan.steps]
    added = [
        AddStep(place="last", step_id=StepId(f"s{number}"), step=step) for number, step in enumerate(steps, 1)
    ]
    return await at.app.plans.edit(plan.plan_id, plan.version, [*added, *gone])


def tool_step(tool: str, args: dict[str, Any], **more: Any) -> StepChanges:
    return StepChanges.model_validate(
        {"description": f"{tool} it", "kind": "tool_call", "tool": tool, "args": args, **more}
    )


def work_step(description: str, **more: Any) -> StepChanges:
    return StepChanges.model_validate({"description": description, "kind": "processing", **more})


def happened(at: Studio, kind: type[Any]) -> list[Any]:
    return [recorded.event for recorded in at.events if isinstance(recorded.event, kind)]


async def test_a_repeated_read_gets_the_first_result_until_the_user_types(tmp_path: Path) -> None:
    model = ScriptedModel(
        [
            makes(("read_file", {"path": "a.txt"}), ("read_file", {"path": "a.txt"})),
            makes(("list_files", {})),
            makes(("read_file", {"path": "a.txt"}), DONE),
        ]
    )
    async with studio(tmp_path, {"a.txt": "one\n"}) as at:
        at.editor.open(at.path("a.txt"))
        plan = await planned(at, "Work", ("Look", "look"))
        at.model.model = model
        quiet = at.app.feed.subscribe(
            lambda recorded, _: (
                at.editor.replace(at.path("a.txt"), "one", "two")
                if recorded.event.type == "tool_started" and recorded.event.tool == "list_files"
                else None
            )
        )
        plan = await allowed(at, plan)
        quiet()
        assert plan.status == "completed"
        reads = [call for call in plan.steps[0].tools_executed if call.tool == "read_file"]
        assert [call.deduplicated for call in reads] == [False, True, False]
        assert "You have just made this very call" in asked(model.requests[1])


async def test_a_denied_write_is_no_result_for_the_same_write_again(tmp_path: Path) -> None:
    write = ("write_file", {"path": "a.txt", "content": "a"})
    model = ScriptedModel([makes(write, DONE), makes(("list_files", {})), makes(write, DONE)])
    async with studio(tmp_path) as at:
        plan = await planned(at, "Work", ("Write a.txt", "write it"))
        at.model.model = model
        plan = await at.approve(plan)
        plan = await at.respond(plan, "deny", reason="not now")
        plan = await at.respond(plan)
        assert plan.status == "completed" and at.text("a.txt") == "a"
        assert not any(call.deduplicated for call in plan.steps[0].tools_executed)


async def test_the_time_of_a_step_is_limited_and_a_resume_grants_it_again(tmp_path: Path) -> None:
    model = ScriptedModel([makes(("run_command", {"command": "sleep 9"})), makes(("list_files", {}), DONE)])
    settings = {"execution.stepTimeoutSeconds": 0.2, "approvals.execute": "allow"}
    async with studio(tmp_path, settings=settings) as at:
        plan = await planned(at, "Work", ("Look", "look"))
        at.model.model = model
        plan = await at.approve(plan)
        assert (plan.status, plan.pause_reason, plan.steps[0].status) == ("paused", "budget", "pending")
        assert plan.pause_detail is not None and "0.2 seconds" in plan.pause_detail
        at.app.configure(resolve({"user": {"execution.stepTimeoutSeconds": 60}}).settings)
        await at.app.plans.resume(plan.plan_id)
        assert (await at.reach(plan, "ended")).status == "completed"


class SlowModel(ScriptedModel):
    """A model that thinks before each answer."""

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent]:
        await asyncio.sleep(0.8)
        async for event in super().stream(request):
            yield event


@pytest.mark.slow
async def test_waiting_for_the_model_does_not_count(tmp_path: Path) -> None:
    async with studio(tmp_path, settings={"execution.stepTimeoutSeconds": 0.5}) as at:
        plan = await planned(at, "Work", ("Look", "look"))
        at.model.model = SlowModel([makes(("list_files", {})), makes(DONE)])
        assert (await at.approve(plan)).status == "completed"


async def test_waiting_for_a_person_does_not_count(tmp_path: Path) -> None:
    async with studio(tmp_path, settings={"execution.stepTimeoutSeconds": 0.5}) as at:
        plan = await with_steps(at, tool_step("write_file", {"path": "a.txt", "content": "a"}))
        plan = await at.approve(plan)
        await asyncio.sleep(0.8)
        assert at.now(plan).pending.approvals
        plan = await at.respond(plan)
        assert plan.status == "completed"


async def test_the_minutes_of_a_plan_are_limited(tmp_path: Path) -> None:
    async with studio(tmp_path, settings={"budget.maxMinutes": 0.005}) as at:
        plan = await with_steps(at, tool_step("run_command", {"command": "sleep 60"}))
        plan = await at.approve(plan)
        while plan.pending.approvals:
            plan = await at.respond(plan)
        assert (plan.status, plan.pause_reason) == ("paused", "budget")
        assert plan.pause_detail is not None and "budget.maxMinutes" in plan.pause_detail


async def test_a_slow_model_does_not_use_up_the_minutes_of_a_plan(tmp_path: Path) -> None:
    class Slow(ScriptedModel):
        async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent]:
            await asyncio.sleep(0.5)
            async for event in super().stream(request):
                yield event

    async with studio(tmp_path, settings={"budget.maxMinutes": 0.005}) as at:
        plan = await planned(at, "Work", ("Look", "look"))
        at.model.model = Slow([makes(("list_files", {}), DONE)])
        plan = await at.approve(plan)
        assert plan.status == "completed"
        updates = [update for update in happened(at, ev.StepUpdate) if update.usage is not None]
        assert [update.model_seconds >= 0.5 for update in updates] == [True]


async def test_tool_calls_of_a_step_are_limited(tmp_path: Path) -> None:
    model = ScriptedModel(
        [makes(("list_files", {"path": f"d{n}"})) for n in range(4)] + [makes(("list_files", {}), DONE)]
    )
    async with studio(tmp_path, settings={"execution.maxToolCallsPerStep": 3}) as at:
        plan = await planned(at, "Work", ("Look", "look"))
        at.model.model = model
        plan = await at.approve(plan)
        assert (plan.status, plan.pause_reason) == ("paused", "budget")
        await at.app.plans.resume(plan.plan_id)
        assert (await at.reach(plan, "ended")).status == "completed"


@pytest.mark.parametrize("edited", [False, True])
async def test_only_a_resume_after_the_limit_grants_calls_again(tmp_path: Path, edited: bool) -> None:
    looks = [makes(("list_files", {"path": f"d{n}"})) for n in range(2)]
    more = [makes(("read_file", {"path": f"d{n}"})) for n in range(2)]
    model = ScriptedModel([*looks, fails(), *more, makes(("list_files", {}), DONE)])
    async with studio(tmp_path, settings={"execution.maxToolCallsPerStep": 3}) as at:
        plan = await planned(at, "Work", ("Look", "look"))
        at.model.model = model
        plan = await at.approve(plan)
        assert plan.pause_reason == "model_unavailable"
        await at.app.plans.resume(plan.plan_id)
        plan = await at.until(plan, lambda now: now.pause_reason not in (None, "model_unavailable"))
        assert plan.pause_reason == "budget" and len(plan.steps[0].tools_executed) == 3
        if edited:
            change = UpdateStep(step_id=plan.steps[0].step_id, set=StepChanges(instruction="look well"))
            plan = await at.approve(await at.app.plans.edit(plan.plan_id, plan.version, (change,)))
        else:
            await at.app.plans.resume(plan.plan_id)
        assert (await at.reach(plan, "ended")).status == "completed"


@pytest.mark.parametrize(
    ("check", "outcome", "status"),
    [
        (Check(kind="file_exists", path="a.txt"), "passed", "completed"),
        (Check(kind="file_exists", path="b.txt"), "failed", "paused"),
        (Check(kind="file_contains", path="a.txt", text="hello"), "passed", "completed"),
        (Check(kind="file_contains", path="a.txt", text="bye"), "failed", "paused"),
    ],
)
async def test_checks_prove_a_tool_step(tmp_path: Path, check: Check, outcome: str, status: str) -> None:
    async with studio(tmp_path) as at:
        step = tool_step("write_file", {"path": "a.txt", "content": "hello\n"}, checks=(check,))
        plan = await allowed(at, await with_steps(at, step))
        assert plan.status == status
        assert [each.check.outcome for each in happened(at, ev.CheckCompleted)] == [outcome]


@pytest.mark.parametrize(
    ("command", "outcome", "status"),
    [("true", "passed", "completed"), ("exit 3", "failed", "paused")],
)
async def test_a_command_proves_a_step_and_is_asked_like_any_other(
    tmp_path: Path, command: str, outcome: str, status: str
) -> None:
    async with studio(tmp_path) as at:
        check = Check(kind="command", command=command)
        step = tool_step("create_folder", {"path": "d"}, checks=(check,))
        plan = await at.approve(await with_steps(at, step))
        commands = []
        while plan.pending.approvals:
            commands.append(plan.pending.approvals[0].command)
            plan = await at.respond(plan)
        assert plan.status == status and commands == [None, command]
        assert [each.check.outcome for each in happened(at, ev.CheckCompleted)] == [outcome]


async def test_a_check_that_was_put_off_is_made_up_for(tmp_path: Path) -> None:
    """An edit that was already made is not repeated, but the step's checks still run."""
    async with studio(tmp_path) as at:
        check = Check(kind="command", command="test -e go")
        first = tool_step("write_file", {"path": "a.txt", "content": "a"}, checks=(check,))
        then = tool_step("read_file", {"path": "$s1"})
        plan = await at.approve(await with_steps(at, first, then))
        plan = await at.respond(plan)
        assert plan.pending.approvals[0].command == "test -e go"
        await at.app.plans.pause(plan.plan_id)
        await at.app.plans.resume(plan.plan_id)
        plan = await at.until(plan, lambda now: bool(now.pending.approvals))
        plan = await at.respond(plan)
        assert (plan.status, plan.pause_reason) == ("paused", "recovery")
        assert [each.check.outcome for each in happened(at, ev.CheckCompleted)] == ["failed"]
        at.path("go").touch()
        await at.app.steps.recover(plan.plan_id, StepId("s1"), "retry", None)
        plan = await at.until(plan, lambda now: bool(now.pending.approvals) or now.status == "completed")
        plan = await at.respond(plan)
        assert plan.status == "completed" and len(plan.edits) == 1
        assert [each.check.outcome for each in happened(at, ev.CheckCompleted)] == ["failed", "passed"]


def finding(message: str) -> Diagnostic:
    return Diagnostic(range=AT, severity="error", message=message)


@pytest.mark.parametrize(
    ("before", "after", "version", "outcome"),
    [
        (["old"], ["old"], 9, "passed"),
        (["old"], ["old", "new"], 9, "failed"),
        (["old"], [], 9, "passed"),
    ],
)
async def test_new_errors_are_told_from_old_ones(
    tmp_path: Path, before: list[str], after: list[str], version: int, outcome: str
) -> None:
    async with studio(tmp_path, {"a.py": "x = 1\n"}) as at:
        at.editor.open(at.path("a.py"))
        uri = Uri(at.uri("a.py"))
        at.editor.findings[uri] = FileDiagnostics(uri=uri, items=tuple(map(finding, before)), version=1)
        args = {"path": "a.py", "old_text": "1", "new_text": "2"}
        plan = await at.approve(
            await with_steps(at, tool_step("edit_file", args, checks=(Check(kind="no_new_errors"),)))
        )
        at.editor.findings[uri] = FileDiagnostics(uri=uri, items=tuple(map(finding, after)), version=version)
        plan = await at.respond(plan)
        plan = await at.until(plan, lambda now: now.status != "executing")
        assert [each.check.outcome for each in happened(at, ev.CheckCompleted)] == [outcome]
        assert plan.status == ("completed" if outcome == "passed" else "paused")


async def test_a_command_whose_check_was_put_off_does_not_run_twice(tmp_path: Path) -> None:
    async with studio(tmp_path) as at:
        check = Check(kind="command", command="test -e once")
        step = tool_step("run_command", {"command": "mkdir once"}, agent="devo", checks=(check,))
        plan = await at.respond(await at.approve(await with_steps(at, step)))
        assert plan.pending.approvals[0].command == "test -e once"
        await at.app.plans.pause(plan.plan_id)
        await at.app.plans.resume(plan.plan_id)
        plan = await at.until(plan, lambda now: bool(now.pending.approvals))
        assert plan.pending.approvals[0].command == "test -e once"
        assert (await at.respond(plan)).status == "completed"


def test_a_path_that_is_a_result_is_claimed_as_what_it_is() -> None:
    result = StepResult(ok=True, value="src/a.txt", duration_ms=0, timestamp=datetime(2026, 1, 1, tzinfo=UTC))
    steps = [
        Step(step_id=StepId("a"), description="a", instruction="a", status="completed", result=result),
        *(
            Step.model_validate(
                {"step_id": name, "description": name, "instruction": name, "kind": "tool_call"}
                | {"tool": "write_file", "args": {"path": path, "content": ""}}
            )
            for name, path in (("b", "$a"), ("c", "./src/a.txt"))
        ),
    ]
    plan = Plan(plan_id=PlanId("p"), session_id=SessionId("s"), steps=tuple(steps))
    claims = [tuple(claims_of(builtin(), plan, step)) for step in steps[1:]]
    assert claims[0] == claims[1] != ()


async def test_errors_of_an_earlier_run_are_no_old_ones(tmp_path: Path) -> None:
    async with studio(tmp_path, {"a.py": "x = 1\n"}) as at:
        at.editor.open(at.path("a.py"))
        uri = Uri(at.uri("a.py"))
        args = {"path": "a.py", "old_text": "1", "new_text": "2"}
        step = tool_step("edit_file", args, checks=(Check(kind="no_new_errors"),))
        at.editor.findings[uri] = FileDiagnostics(uri=uri, items=(), version=1)
        plan = await at.approve(await with_steps(at, step))
        for run, found, outcome in ((1, "new", "failed"), (2, "new", "failed"), (3, "", "passed")):
            items = (finding(found),) if found else ()
            at.editor.findings[uri] = FileDiagnostics(uri=uri, items=items, version=9)
            if plan.pending.approvals:
                await at.respond(plan)
            else:
                await at.app.steps.recover(plan.plan_id, StepId("s1"), "retry", None)
            plan = await at.until(
                plan,
                lambda now, run=run: (
                    now.steps[0].attempts == run
                    and (now.status == "completed" or bool(now.pending.recoveries))
                ),
            )
            assert happened(at, ev.CheckCompleted)[-1].check.outcome == outcome
        assert plan.status == "completed" and len(plan.edits) == 1


@pytest.mark.slow
async def test_findings_for_an_old_text_are_unknown_never_stale(tmp_path: Path) -> None:
    async with studio(tmp_path, {"a.py": "x = 1\n"}) as at:
        at.editor.open(at.path("a.py"))
        uri = Uri(at.uri("a.py"))
        at.editor.findings[uri] = FileDiagnostics(uri=uri, items=(), version=1)
        args = {"path": "a.py", "old_text": "1", "new_text": "2"}
        plan = await with_steps(at, tool_step("edit_file", args, checks=(Check(kind="no_new_errors"),)))
        plan = await at.approve(plan)
        plan = await at.respond(plan)
        plan = await at.until(plan, lambda now: now.status != "executing")
        assert [each.check.outcome for each in happened(at, ev.CheckCompleted)] == ["unknown"]
        assert plan.status == "completed"


async def test_a_step_that_is_to_write_must_have_written(tmp_path: Path) -> None:
    model = ScriptedModel(
        [
            makes(DONE),
            makes(("write_file", {"path": "a.txt", "content": "a"}), DONE),
        ]
    )
    async with studio(tmp_path) as at:
        plan = await planned(at, "Work", ("Write a.txt", "write it"))
        at.model.model = model
        plan = await allowed(at, plan)
        assert plan.status == "completed" and at.text("a.txt") == "a"
        assert "Nothing was changed in this task." in asked(model.requests[1])


async def test_a_step_that_says_twice_without_a_reason_that_it_is_done_fails(tmp_path: Path) -> None:
    async with studio(tmp_path) as at:
        plan = await planned(at, "Work", ("Write a.txt", "write it"))
        at.model.model = ScriptedModel([makes(DONE), makes(DONE)])
        plan = await allowed(at, plan)
        assert plan.steps[0].status == "failed" and plan.pending.recoveries


@pytest.mark.parametrize("calls", [(), (("read_file", {"path": "a.txt"}),)])
async def test_a_step_that_needs_no_change_says_why_and_is_shown_so(
    tmp_path: Path, calls: tuple[tuple[str, dict[str, Any]], ...]
) -> None:
    """One that states no file and has looked is simply done."""
    why = ("task_completed", {"summary": "Looked.", "unchanged": "a.txt says it already."})
    async with studio(tmp_path, {"a.txt": "a"}) as at:
        plan = await planned(at, "Work", ("a.txt ergänzen", "ein a"))
        at.model.model = model = ScriptedModel([makes(*calls, why)])
        plan = await allowed(at, plan)
        assert plan.status == "completed" and len(model.requests) == 1
        result = plan.steps[0].result
        assert result is not None and plan.report is not None
        expected = (None, "Looked.") if calls else ("unchanged", "Nothing to change: a.txt says it already.")
        assert (result.caveat, result.summary) == expected
        assert plan.report.done[0].caveat == expected[0]


@pytest.mark.parametrize("last", ["cat suite.log", "cat suite.log; cat other.log", "cat other.log"])
async def test_a_step_whose_last_command_failed_says_so_beside_its_sign(tmp_path: Path, last: str) -> None:
    """A command that states no outcome hides none; one that states success makes up for it."""
    calls = [("run_command", {"command": each}) for each in ("cat suite.log", last, "echo bye")]
    files = {"suite.log": "1 failed, 2 passed in 0.1s\n", "other.log": "3 passed in 0.1s\n"}
    async with studio(tmp_path, files, settings={"approvals.execute": "allow"}) as at:
        plan = await planned(at, "Work", ("Look at the logs", "look"))
        at.model.model = ScriptedModel([makes(*calls), makes(("task_completed", {"summary": "Looked."}))])
        plan = await allowed(at, plan)
        result = plan.steps[0].result
        assert plan.status == "completed" and result is not None and plan.report is not None
        if last == "cat other.log":
            assert result.caveat is None and plan.report.caveats == ()
            return
        assert result.caveat == "command_failed" and plan.report.done[0].caveat == "command_failed"
        assert result.summary is not None and result.summary.endswith("Its last command failed.")
        assert plan.report.caveats == (f"`{last}` failed",)


PROPOSALS: list[tuple[dict[str, Any], Callable[[Plan], bool]]] = [
    (
        {
            "action": "retry",
            "why": "The text is another.",
            "args": {"path": "a.txt", "old_text": "one", "new_text": "two"},
        },
        lambda plan: plan.status == "completed" and plan.version == 3,
    ),
    ({"action": "skip", "why": "Not needed."}, lambda plan: plan.steps[0].status == "skipped"),
    ({"action": "abort", "why": "Hopeless."}, lambda plan: plan.status == "cancelled"),
    (
        {
            "action": "insert",
            "why": "First the text.",
            "steps": [
                {
                    "description": "Make it",
                    "tool": "write_file",
                    "args": {"path": "a.txt", "content": "gone\n"},
                }
            ],
        },
        lambda plan: plan.status == "pending_approval" and [s.step_id for s in plan.steps] == ["fix_1", "s1"],
    ),
]


@pytest.mark.parametrize(("said", "holds"), PROPOSALS, ids=[each[0]["action"] for each in PROPOSALS])
@pytest.mark.parametrize("asked_by", ["policy", "person"])
async def test_a_proposal_of_the_model_is_carried_out_when_it_is_accepted(
    tmp_path: Path, said: dict[str, Any], holds: Callable[[Plan], bool], asked_by: str
) -> None:
    settings = {"execution.onFailure": "model"} if asked_by == "policy" else {}
    async with studio(tmp_path, {"a.txt": "one\n"}, settings=settings) as at:
        step = tool_step("edit_file", {"path": "a.txt", "old_text": "gone", "new_text": "two"})
        plan = await with_steps(at, step)
        edited = at.types().count("tasks_list")
        at.model.model = ScriptedModel(
            [says(f"Here it is:\n```json\n{json.dumps(said)}\n```", prompt_tokens=5)]
        )
        await at.app.plans.approve(plan.plan_id, plan.version, "auto")
        if asked_by == "person":
            plan = await at.until(plan, lambda now: bool(now.pending.recoveries))
            assert plan.pending.recoveries[0].proposal is None
            await at.app.steps.recover(plan.plan_id, StepId("s1"), "model", None)
        plan = await at.until(
            plan, lambda now: bool(now.pending.recoveries) and now.pending.recoveries[0].proposal is not None
        )
        assert (plan.status, plan.pause_reason) == ("paused", "recovery")
        proposal = plan.pending.recoveries[0].proposal
        assert proposal is not None and (proposal.action, proposal.why) == (said["action"], said["why"])
        assert "accept" in plan.pending.recoveries[0].options and plan.usage.requests == 1
        await at.app.steps.recover(plan.plan_id, StepId("s1"), "accept", None)
        plan = await at.until(plan, lambda now: now.status not in ("executing", "paused"))
        assert holds(plan)
        assert at.types().count("tasks_list") - edited == (said["action"] in ("retry", "insert"))


async def test_inserted_steps_run_before_the_failed_one_once_they_are_approved(tmp_path: Path) -> None:
    async with studio(tmp_path, {"a.txt": "one\n"}, settings={"execution.onFailure": "model"}) as at:
        plan = await with_steps(
            at, tool_step("edit_file", {"path": "a.txt", "old_text": "gone", "new_text": "two"})
        )
        at.model.model = ScriptedModel([says(json.dumps(PROPOSALS[3][0]))])
        await at.app.plans.approve(plan.plan_id, plan.version, "auto")
        plan = await at.until(plan, lambda now: bool(now.pending.recoveries))
        plan = await at.app.steps.recover(plan.plan_id, StepId("s1"), "accept", None)
        plan = await at.approve(plan)
        while plan.pending.approvals:
            plan = await at.respond(plan)
        assert plan.status == "completed" and at.text("a.txt") == "two\n"


@pytest.mark.parametrize(
    "text",
    [
        "I have no idea.",
        '{"action": "dance"}',
        '{"action": "insert", "steps": [{"description": "x", "tool": "nope"}]}',
        "",
    ],
)
async def test_a_proposal_that_is_no_use_leaves_the_choice_to_the_person(tmp_path: Path, text: str) -> None:
    async with studio(tmp_path, settings={"execution.onFailure": "model"}) as at:
        plan = await with_steps(at, tool_step("read_file", {"path": "missing.txt"}))
        at.model.model = ScriptedModel([says(text)])
        plan = await at.approve(plan)
        plan = await at.until(plan, lambda now: bool(now.pending.recoveries))
        assert plan.pending.recoveries[0].options == ("retry", "skip", "go_on", "abort", "model")
        with pytest.raises(WrongState):
            await at.app.steps.recover(plan.plan_id, StepId("s1"), "accept", None)


async def test_an_attachment_that_is_gone_is_asked_for_and_its_stand_in_is_used(tmp_path: Path) -> None:
    model = ScriptedModel([makes(("list_files", {}), DONE)])
    async with studio(tmp_path, {"old.txt": "old text\n", "new.txt": "new text\n"}) as at:
        plan = await planned(at, "Summarize @old.txt for me", ("Look", "look at it"))
        at.model.model = model
        at.path("old.txt").unlink()
        plan = await at.approve(plan)
        assert (plan.status, plan.pause_reason) == ("paused", "clarification")
        assert plan.steps[0].status == "needs_clarification"
        assert "Which other path or link" in plan.pending.questions[0].question
        await at.app.steps.answer(plan.plan_id, plan.steps[0].step_id, "new.txt")
        plan = await at.until(plan, lambda now: now.status in ("completed", "failed"))
        assert plan.status == "completed"
        assert "new text" in asked(model.requests[0]) and "old text" not in asked(model.requests[0])


async def test_an_attachment_that_changed_is_attached_anew_and_said_so(tmp_path: Path) -> None:
    model = ScriptedModel([makes(("list_files", {}), DONE)])
    async with studio(tmp_path, {"old.txt": "old text\n"}) as at:
        plan = await planned(at, "Summarize @old.txt for me", ("Look", "look at it"))
        at.model.model = model
        at.path("old.txt").write_text("fresh text\n")
        plan = await allowed(at, plan)
        assert plan.status == "completed"
        assert "fresh text" in asked(model.requests[0]) and "old text" not in asked(model.requests[0])
        assert any("has changed since it was attached" in event.message for event in happened(at, ev.Log))


@pytest.mark.parametrize(
    ("known", "settings", "most"),
    [
        pytest.param(4_000, {}, 8_000, id="what the model takes"),
        pytest.param(64_000, {}, 128_000, id="a model that takes more"),
        pytest.param(None, {}, 32_768, id="a model that does not tell"),
        pytest.param(64_000, {"context": {"budgetTokens": 6_000}}, 12_000, id="what the settings say"),
    ],
)
async def test_attachments_have_half_of_the_room_for_a_prompt(
    tmp_path: Path, known: int | None, settings: dict[str, Any], most: int
) -> None:
    model = ScriptedModel(
        [makes(("list_files", {}), DONE)], capabilities=Capabilities(tools=True, context_tokens=known)
    )
    async with studio(tmp_path, {"long.txt": "§\n" * 100_000}, settings=settings) as at:
        plan = await planned(at, "Summarize @long.txt for me", ("Look", "look at it"))
        at.model.model = model
        assert (await allowed(at, plan)).status == "completed"
        shown = asked(model.requests[0]).count("§") * 2
        assert most * 0.9 < shown <= most


async def test_a_request_is_told_what_the_session_did_before(tmp_path: Path) -> None:
    model = ScriptedModel([makes(("list_files", {}), ("final_answer", {"text": "Looked."}))])
    async with studio(tmp_path) as at:
        first = await at.run('create file notes.txt with content "hello"', mode="direct")
        assert first.status == "completed"
        at.model.model = model
        await at.run("What did you do before?", mode="direct")
        prompt = asked(model.requests[0])
        assert "EARLIER IN THIS SESSION" in prompt and "Changed files: notes.txt" in prompt
        assert "+hello" not in prompt


async def test_a_plan_that_is_continued_shows_its_diff_but_no_secrets(tmp_path: Path) -> None:
    writes = [("write_file", {"path": path, "content": "hello\n"}) for path in ("notes.txt", ".env")]
    model = ScriptedModel(
        [
            makes(*writes, ("task_completed", {"summary": "Written."})),
            makes(("task_completed", {"summary": "Two files."})),
            makes(("task_completed", {"summary": "Two files."})),
        ]
    )
    async with studio(tmp_path) as at:
        at.model.model = model
        first = await at.run("Write the two files of notes.", mode="direct")
        assert first.status == "completed"
        sent = await at.app.messages.send(first.plan_id, "What did you do before?")
        await at.reach(sent.plan, "ended")
        prompt = asked(model.requests[-1])
        assert "Its changes:\n--- /dev/null\n+++ notes.txt\n@@ -0,0 +1 @@\n+hello" in prompt
        assert ".env" in prompt and prompt.count("+hello") == 1


@pytest.mark.parametrize("can", [{"tools": True}, {"json_schema": True}], ids=["native", "json"])
async def test_prompts_stay_within_their_room_and_older_results_are_shortened(
    tmp_path: Path, can: dict[str, bool]
) -> None:
    lines = "\n".join(f"line {number} of the file with some words in it" for number in range(200))
    files = {f"src/f{number}.py": f"# file {number}\n{lines}\n" for number in range(8)}
    calls = [("read_file", {"path": path}) for path in files]
    native = [*map(makes, calls), makes(DONE)]
    printed = [
        *(says(json.dumps({"tool_calls": [{"name": name, "arguments": args}]})) for name, args in calls),
        says(json.dumps({"tool_calls": [], "task_completed": "Looked."})),
    ]
    capabilities = Capabilities(context_tokens=8_000, **can)
    model = ScriptedModel(native if can.get("tools") else printed, capabilities=capabilities)
    async with studio(tmp_path, files) as at:
        plan = await planned(at, "Work", ("Look", "look"))
        at.model.model = model
        plan = await allowed(at, plan)
        assert plan.status == "completed"
        assert all(len(asked(request)) < 26_000 for request in model.requests)
        last = asked(model.requests[-1])
        if can.get("tools"):
            assert "# file 0\n[shortened to make room" in last
            assert [message.role for message in model.requests[-1].messages[-2:]] == ["assistant", "tool"]
            assert "line 199" in model.requests[-1].messages[-1].text
        else:
            assert happened(at, ev.ContextCompacted)
            assert "CONTEXT SUMMARY" in last and "src/f0.py" in last and "ask for a part" in last


@pytest.mark.parametrize(
    "capabilities", [Capabilities(json_schema=True), Capabilities()], ids=["json", "text"]
)
async def test_a_model_without_native_calls_does_its_steps(
    tmp_path: Path, capabilities: Capabilities
) -> None:
    if capabilities.json_schema:
        call = {"name": "write_file", "arguments": {"path": "a.txt", "content": "a\n"}}
        turns = [says(json.dumps({"tool_calls": [call], "task_completed": "Wrote it."}))]
    else:
        turns = [
            says(
                'FILE: a.txt\n```\na\n```\n{"name": "task_completed", "arguments": {"summary": "Wrote it."}}'
            )
        ]
    async with studio(tmp_path) as at:
        plan = await planned(at, "Work", ("Write a.txt", "write it"))
        at.model.model = ScriptedModel(turns, capabilities=capabilities)
        plan = await allowed(at, plan)
        assert plan.status == "completed" and at.text("a.txt") == "a\n"


async def test_the_summary_of_a_long_plan_stays_under_its_budget_at_every_turn(tmp_path: Path) -> None:
    async with studio(tmp_path, settings={"context.budgetTokens": 6_000}) as at:
        steps = [work_step(f"Look {number}") for number in range(60)]
        plan = await with_steps(at, *steps)
        summary = (
            "Read src/module{0}.py and found the function load_{0}. It was fine. Nothing else was to be seen."
        )
        at.model.model = ScriptedModel(
            [
                says("Modules were read; all were fine.", when={"contains": ("NEW RESULTS",)}, repeat=True),
                *(
                    makes(("list_files", {}), ("task_completed", {"summary": summary.format(number)}))
                    for number in range(60)
                ),
            ],
            capabilities=Capabilities(tools=True, context_tokens=6_000),
        )
        model = at.model.model
        plan = await allowed(at, plan)
        assert plan.status == "completed"
        compacted = happened(at, ev.ContextCompacted)
        assert compacted and all(each.after_tokens <= 500 for each in compacted)
        sizes = [len(asked(request)) for request in model.requests]
        assert max(sizes) < 24_000
