"""A check can be wrong: the step that it holds up can change it with the user's leave, or end without it, openly."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from planloom.domain.plans.plan import Plan
from planloom.domain.values import StepId
from planloom.models.http.json_text import object_of
from planloom.models.offline.scripted import ALL, ScriptedModel, makes, says
from planloom.models.port import ModelRequest
from planloom.storage.ledger import Ledger
from tests.service.test_execution_rules import with_steps, work_step
from tests.support.studio import studio

ALLOWED = {"approvals.write": "allow", "approvals.execute": "allow"}
WRONG = "python3 -c 'import lib'"
RIGHT = "PYTHONPATH=src python3 -c 'import lib'"
FILES = {"src/lib.py": "x = (1\n"}
FIX = ("edit_file", {"path": "src/lib.py", "old_text": "(1", "new_text": "(1)"})
DONE = ("task_completed", {"summary": "Closed the bracket."})
UNCHECKED = (
    "task_completed",
    {"summary": "Closed the bracket.", "unchecked": "The package is not installed."},
)


def plan_of(*steps: dict[str, Any]) -> Any:
    return makes(("submit_plan", {"summary": "Mend it.", "steps": list(steps)}))


FIX_STEP = {
    "id": "fix",
    "description": "Close the bracket",
    "expectedFiles": ["src/lib.py"],
    "checks": [WRONG],
}
LATER = {"id": "later", "description": "Write a.txt"}


def changes(*steps: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    return ("submit_plan", {"summary": "The package lies in src.", "steps": list(steps)})


def told(request: ModelRequest) -> str:
    """The result of the model's last call."""
    return request.messages[-1].text


def shown(request: ModelRequest) -> str:
    return "\n".join(message.text for message in request.messages)


def summary(plan: Plan) -> str:
    result = plan.steps[0].result
    assert result is not None
    return result.summary or ""


async def test_after_the_second_equal_failure_a_step_may_end_as_not_checked(tmp_path: Path) -> None:
    """The first claim that a check is wrong, before the model has seen it fail, does not count."""
    turns = [plan_of(FIX_STEP), makes(FIX, UNCHECKED), makes(UNCHECKED)]
    model = ScriptedModel(turns)
    async with studio(tmp_path, FILES, model=model, settings=ALLOWED) as at:
        plan = await at.run("Mend src/lib.py", mode="plan")
        assert plan.status == "completed" and at.text("src/lib.py") == "x = (1)\n"
        assert f"Checks at its end: command {WRONG}" in shown(model.requests[1])
        assert "ModuleNotFoundError" in told(model.requests[2])
        assert summary(plan).startswith("Not checked: The package is not installed.")
        assert plan.report is not None and plan.summary is not None
        (done,) = plan.report.done
        assert done.caveat == "unchecked" and (done.summary or "").startswith("Not checked: ")


PARTS = {"summary": "Closed the bracket.", "unchecked": "The package is not installed."}


@pytest.mark.parametrize(
    "end",
    [
        {"task_completed": PARTS["summary"], "unchecked": PARTS["unchecked"]},
        {"name": "task_completed", "arguments": PARTS},
    ],
    ids=["json", "text"],
)
async def test_an_engine_without_tools_can_say_it_too(tmp_path: Path, end: dict[str, Any]) -> None:
    is_json = "name" not in end
    can = ALL._replace(tools=False, json_schema=is_json)
    fix = {"name": FIX[0], **FIX[1]} if is_json else {"name": FIX[0], "arguments": FIX[1]}
    fixes = {"tool_calls": [fix]} if is_json else fix
    model = ScriptedModel([says(json.dumps(each)) for each in (fixes, end, end)], capabilities=can)
    async with studio(tmp_path, FILES, settings=ALLOWED) as at:
        step = work_step("Close the bracket", checks=[{"kind": "command", "command": WRONG}])
        written = await with_steps(at, step)
        at.model.model = model
        plan = await at.approve(written)
        assert plan.status == "completed" and summary(plan).startswith("Not checked: The package"), plan.steps
        if is_json:
            schema = model.requests[0].response_schema or {}
            assert {"unchanged", "unchecked"} <= object_of(schema["properties"]).keys()


async def test_what_a_check_finds_again_is_one_line_with_the_ways_out(tmp_path: Path) -> None:
    model = ScriptedModel([plan_of(FIX_STEP), makes(FIX, DONE), makes(DONE), makes(UNCHECKED)])
    async with studio(tmp_path, FILES, model=model, settings=ALLOWED) as at:
        plan = await at.run("Mend src/lib.py", mode="plan")
        assert plan.status == "completed"
        again = told(model.requests[3])
        assert "ModuleNotFoundError" not in again and "the same as before" in again
        assert "submit_plan" in again and "unchecked" in again
        assert "unchecked" not in told(model.requests[2])


async def test_other_failures_of_a_check_are_no_leave_to_end_without_it(tmp_path: Path) -> None:
    """Each attempt changes what the check finds, so that it may pass yet."""
    checked = {**FIX_STEP, "checks": ["cat src/lib.py; exit $(wc -c < src/lib.py)"]}
    other = ("edit_file", {"path": "src/lib.py", "old_text": "(1)", "new_text": "((1))"})
    model = ScriptedModel([plan_of(checked), makes(FIX, DONE), makes(other, UNCHECKED), makes(UNCHECKED)])
    async with studio(tmp_path, FILES, model=model, settings=ALLOWED) as at:
        plan = await at.run("Mend src/lib.py", mode="plan")
        assert plan.status == "completed" and len(model.requests) == 4


async def test_a_check_of_staged_changes_can_be_left_open_too(tmp_path: Path) -> None:
    step = {**FIX_STEP, "checks": [{"kind": "file_exists", "path": "dist/lib.py"}, WRONG]}
    model = ScriptedModel([plan_of(step), makes(FIX, DONE), makes(UNCHECKED), makes(UNCHECKED)])
    async with studio(tmp_path, FILES, model=model, settings=ALLOWED) as at:
        plan = await at.run("Mend src/lib.py", mode="plan")
        assert plan.status == "completed" and at.text("src/lib.py") == "x = (1)\n"
        assert summary(plan).startswith("Not checked: ")


@pytest.mark.parametrize("rest", [(), (LATER,)])
async def test_the_running_step_changes_its_check_if_the_user_allows_it(
    tmp_path: Path, rest: tuple[dict[str, Any], ...]
) -> None:
    """Named alone it leaves the steps still to come as they are. The result says that the check was changed."""
    change = changes({"id": "fix", "checks": [RIGHT]})
    write = makes(("write_file", {"path": "a.txt", "content": "a"}), DONE)
    model = ScriptedModel([plan_of(FIX_STEP, *rest), makes(FIX, DONE), makes(change), makes(DONE), write])
    ledger = tmp_path / "ledger.db"
    async with studio(tmp_path, FILES, model=model, settings=ALLOWED, ledger=ledger) as at:
        plan = await at.approve(await at.ask("Mend src/lib.py", mode="plan"))
        (approval,) = plan.pending.approvals
        assert approval.title == "Change what checks this step: The package lies in src."
        (changed,) = approval.plan_changes
        assert WRONG in (changed.before or "") and RIGHT in (changed.after or "")
        plan = await at.respond(plan)
        assert plan.status == "completed" and len(plan.steps) == 1 + len(rest)
        assert [(each.command, each.outcome) for each in plan.steps[0].checks] == [(RIGHT, "passed")]
        result = plan.steps[0].result
        assert result is not None and result.caveat is None
        assert summary(plan).startswith(f"Its checks were changed to: command {RIGHT}.")
        assert plan.report is not None and (plan.report.done[0].summary or "").startswith("Its checks")
        last = plan
    async with studio(tmp_path, ledger=Ledger(ledger)) as at:
        assert at.now(last).steps == last.steps


async def test_a_check_that_the_user_keeps_holds_on(tmp_path: Path) -> None:
    change = changes({"id": "fix", "checks": []})
    model = ScriptedModel([plan_of(FIX_STEP), makes(FIX, DONE), makes(change), makes(DONE), makes(UNCHECKED)])
    async with studio(tmp_path, FILES, model=model, settings=ALLOWED) as at:
        plan = await at.approve(await at.ask("Mend src/lib.py", mode="plan"))
        plan = await at.respond(plan, "deny", reason="It has to be importable.")
        assert "The user did not allow it: It has to be importable." in told(model.requests[3])
        assert [each.command for each in plan.steps[0].checks] == [WRONG]


@pytest.mark.parametrize(
    "more", [{"instruction": "Do more."}, {"expectedFiles": ["a.txt"]}, {"done": "It is."}]
)
async def test_a_running_step_changes_nothing_of_itself_but_its_checks(
    tmp_path: Path, more: dict[str, Any]
) -> None:
    change = changes({"id": "fix", "checks": [RIGHT], **more})
    model = ScriptedModel([plan_of(FIX_STEP, LATER), makes(FIX, change), makes(UNCHECKED), makes(UNCHECKED)])
    async with studio(tmp_path, FILES, model=model, settings=ALLOWED) as at:
        plan = await at.approve(await at.ask("Mend src/lib.py", mode="plan"))
        assert "The plan stays as it is." in told(model.requests[2])
        now = at.now(plan).step(StepId("fix"))
        assert now is not None and [each.command for each in now.checks] == [WRONG]
