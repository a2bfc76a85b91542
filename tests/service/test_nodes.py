"""Steps that are no work: checks, which stop a plan, and approval gates, at which a person says whether it goes on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from planloom.domain.errors import InvalidPlan
from planloom.domain.events import catalog as ev
from planloom.domain.plans.editing import SkipStep, StepChanges
from planloom.domain.plans.plan import Check
from planloom.domain.values import StepId, TemplateId
from planloom.models.offline.scripted import ScriptedModel, Turn, makes, says
from planloom.models.port import Capabilities
from planloom.storage.ledger import Ledger
from tests.service.test_conditions import finished
from tests.service.test_execution_rules import happened, tool_step, with_steps
from tests.support.studio import Studio, studio

SETTINGS = {"approvals.write": "allow", "approvals.execute": "allow"}
WRITE = tool_step("write_file", {"path": "after.txt", "content": "x"})


def node(kind: str, **more: Any) -> StepChanges:
    return StepChanges.model_validate({"description": f"A {kind}", "kind": kind, **more})


@pytest.mark.parametrize("policy", ["ask", "skip", "abort"])
@pytest.mark.parametrize(
    ("check", "holds"),
    [
        (Check(kind="command", command="test -e a.txt"), True),
        (Check(kind="command", command="test -e b.txt"), False),
        (Check(kind="condition", text="steps.s1.value == 'a.txt'"), True),
        (Check(kind="condition", text="length(glob('*.txt')) > 9"), False),
        (Check(kind="file_exists", path="a.txt"), True),
    ],
)
async def test_a_check_that_fails_stops_the_plan(
    tmp_path: Path, check: Check, holds: bool, policy: str
) -> None:
    async with studio(tmp_path, settings={**SETTINGS, "execution.onFailure": policy}) as at:
        first = tool_step("write_file", {"path": "a.txt", "content": "a"})
        plan = await finished(at, await with_steps(at, first, node("check", checks=(check,)), WRITE))
        assert at.path("after.txt").exists() == holds
        if holds:
            assert plan.status == "completed"
        elif policy == "ask":
            (question,) = plan.pending.recoveries
            assert question.code == "check_failed" and "go_on" not in question.options
        else:
            assert plan.status == "failed"


@pytest.mark.parametrize(
    ("checks", "problem"),
    [
        ((), "needs something to check"),
        ((Check(kind="condition", text="length(platform, '')"),), "Column 1: length takes another number"),
        ((Check(kind="condition"),), "It is empty"),
    ],
)
async def test_a_check_that_checks_nothing_cannot_be_approved(
    tmp_path: Path, checks: tuple[Check, ...], problem: str
) -> None:
    async with studio(tmp_path) as at:
        with pytest.raises(InvalidPlan) as refused:
            await with_steps(at, node("check", checks=checks))
        assert problem in refused.value.details[0]["problem"]


async def test_nothing_behind_a_gate_runs_before_a_person_says_yes(tmp_path: Path) -> None:
    settings = {**SETTINGS, "execution.review": "auto"}
    async with studio(tmp_path, settings=settings) as at:
        plan = await with_steps(at, node("approval", question="Put it on the server?"), WRITE)
        plan = await at.approve(plan)
        (approval,) = plan.pending.approvals
        assert (approval.title, approval.goes_on, approval.files) == ("Put it on the server?", True, ())
        plan = await at.respond(plan, "deny", reason="after lunch")
        assert (plan.status, plan.pause_reason) == ("paused", "user")
        assert "after lunch" in (plan.pause_detail or "") and not at.path("after.txt").exists()
        await at.app.plans.resume(plan.plan_id)
        plan = await at.reach(plan, "attention")
        plan = await at.respond(plan)
        assert plan.status == "completed" and at.path("after.txt").exists()
        assert len(happened(at, ev.ApprovalRequested)) == 2


async def test_a_gate_asks_again_after_the_server_has_ended(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite3"
    async with studio(tmp_path, settings=SETTINGS, ledger=Ledger(path)) as at:
        plan = await at.approve(await with_steps(at, node("approval"), WRITE))
        assert plan.pending.approvals[0].title == "A approval"
    async with studio(tmp_path, settings=SETTINGS, ledger=Ledger(path)) as again:
        await again.app.plans.resume(plan.plan_id)
        plan = await again.reach(plan, "attention")
        assert plan.pending.approvals and not again.path("after.txt").exists()
        plan = await again.respond(plan)
        assert plan.status == "completed" and again.path("after.txt").exists()


async def saved(at: Studio, *steps: StepChanges) -> str:
    """A template of these steps, and its id; what says NAME in them is its parameter."""
    plan = await with_steps(at, *steps)
    template = await at.app.templates.save(plan.plan_id, "Two files", None, (("name", "NAME"),))
    return template.template_id


async def test_a_template_is_one_step_whose_steps_a_person_sees_first(tmp_path: Path) -> None:
    async with studio(tmp_path, settings=SETTINGS) as at:
        template = await saved(
            at,
            tool_step("write_file", {"path": "NAME.md", "content": "one"}),
            tool_step("write_file", {"path": "NAME.txt", "content": "$s1"}, when="steps.s1.ok"),
        )
        plan = await with_steps(
            at, node("sub_plan", template_id=template, args={"name": "made"}), tool_step("list_files", {})
        )
        plan = await at.approve(plan)
        (approval,) = plan.pending.approvals
        assert [(each.kind, each.step_id) for each in approval.plan_changes] == [
            ("added", "s1_s1"),
            ("added", "s1_s2"),
        ]
        assert "made.md" in (approval.plan_changes[0].after or "") and not at.path("made.md").exists()
        plan = await at.respond(plan)
        assert plan.status == "completed" and at.text("made.txt") == "made.md"
        assert [(step.step_id, step.parent) for step in plan.steps] == [
            ("s1", None),
            ("s1_s1", "s1"),
            ("s1_s2", "s1"),
            ("s2", None),
        ]
        assert plan.steps[0].result is not None and plan.steps[0].result.value == "made.txt"
        await at.app.plans.undo(plan.plan_id, plan.steps[0].step_id, False)
        assert not at.path("made.md").exists()


async def test_a_template_can_be_named_as_people_call_it(tmp_path: Path) -> None:
    async with studio(tmp_path, settings=SETTINGS) as at:
        await saved(at, WRITE)
        plan = await finished(at, await with_steps(at, node("sub_plan", template_id="two FILES")))
        assert plan.status == "completed" and at.path("after.txt").exists()


async def test_a_template_that_a_person_does_not_allow_does_not_run(tmp_path: Path) -> None:
    async with studio(tmp_path, settings=SETTINGS) as at:
        template = await saved(at, tool_step("write_file", {"path": "NAME.md", "content": "one"}))
        plan = await at.approve(await with_steps(at, node("sub_plan", template_id=template), WRITE))
        plan = await at.respond(plan, "deny", reason="no")
        assert [step.skip_reason for step in plan.steps] == ["approval_denied", None]
        assert not at.path("NAME.md").exists()


async def test_tests_are_run_and_mended_until_they_hold(tmp_path: Path) -> None:
    """A round of a template with two steps: run the tests; if they fail, mend something."""
    async with studio(tmp_path, {"bugs": "xx"}, settings=SETTINGS) as at:
        template = await saved(
            at,
            tool_step("run_command", {"command": "test ! -s bugs"}),
            tool_step(
                "run_command",
                {"command": "python3 -c \"b=open('bugs').read();open('bugs','w').write(b[1:])\""},
                when="!steps.s1.ok",
            ),
        )
        plan = await with_steps(
            at, node("sub_plan", template_id=template, repeat_until="last.ok", repeat_most=4), WRITE
        )
        plan = await finished(at, plan)
        assert plan.status == "completed", plan.error
        assert plan.steps[0].result is not None and plan.steps[0].result.summary == "Done after 3 rounds"
        assert [step.step_id for step in plan.steps] == [
            "s1",
            *("s1_1", "s1_1_s1", "s1_1_s2"),
            *("s1_2", "s1_2_s1", "s1_2_s2"),
            *("s1_3", "s1_3_s1", "s1_3_s2"),
            "s2",
        ]
        assert len([each for each in happened(at, ev.ApprovalRequested) if each.approval.plan_changes]) == 1
        assert plan.report is not None and plan.report.left == () and at.path("after.txt").exists()


@pytest.mark.parametrize(
    ("fields", "field", "problem"),
    [
        ({}, "templateId", "Step 1: A sub-plan needs a template."),
        ({"template_id": "t"}, "templateId", "Step 1: There is no template 't'."),
        ({"template_id": "t", "args": {"name": "$s9"}}, "args.name", "written out"),
        ({"template_id": "t", "for_each": "[1]"}, "forEach", "not for items"),
        ({"template_id": "add_tests"}, "args.file", "it is required."),
        (
            {"template_id": "add_tests", "args": {"file": "../x"}},
            "args.file",
            "Step 1: `file` of the template “Add tests for a file”: it must be a path in the workspace.",
        ),
        ({"template_id": "add_tests", "args": {"x": 1}}, "args.x", "has no such parameter"),
    ],
)
async def test_a_sub_plan_that_cannot_be_made_cannot_be_approved(
    tmp_path: Path, fields: dict[str, Any], field: str, problem: str
) -> None:
    async with studio(tmp_path) as at:
        with pytest.raises(InvalidPlan) as refused:
            await with_steps(at, node("sub_plan", **fields))
        assert any(problem in each["problem"] for each in refused.value.details if each["field"] == field), (
            refused.value.details
        )


async def test_a_template_whose_steps_could_not_run_cannot_be_a_sub_plan(tmp_path: Path) -> None:
    async with studio(tmp_path) as at:
        template = await saved(at, tool_step("write_file", {"path": "NAME", "content": "one"}))
        outer = await saved(at, node("sub_plan", template_id=template))
        for wrong, args, problem in (
            (
                template,
                {"name": "../out"},
                "In the template “Two files”, Step 1, write_file: '../out' is outside",
            ),
            (outer, {}, "The template “Two files” cannot be used: a template in a sub-plan"),
        ):
            with pytest.raises(InvalidPlan) as refused:
                await with_steps(at, node("sub_plan", template_id=wrong, args=args))
            (row,) = refused.value.details
            assert row["field"] == "templateId" and problem in row["problem"]


LOOKS_FIRST = Capabilities(tools=True, context_tokens=32_000)
ANSWERS_AT_ONCE = Capabilities(json_schema=True, context_tokens=32_000)


def planned(can: Capabilities, step: dict[str, Any]) -> Turn:
    """A plan of one step, as a model of these capabilities gives it."""
    plan = {"summary": "One step.", "steps": [{"id": "a", "description": "Do it", **step}]}
    return makes(("submit_plan", plan)) if can.tools else says(json.dumps(plan))


@pytest.mark.parametrize("can", [LOOKS_FIRST, ANSWERS_AT_ONCE])
@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ({"template": "add_test"}, "There is no template 'add_test'."),
        ({"template": "add_tests"}, "`file` of the template “Add tests for a file”: it is required."),
    ],
)
async def test_a_model_gets_a_sub_plan_back_that_cannot_be_made(
    tmp_path: Path, can: Capabilities, wrong: dict[str, Any], problem: str
) -> None:
    right = {"template": "add_tests", "args": {"file": "a.py"}}
    model = ScriptedModel([planned(can, wrong), planned(can, right)], capabilities=can)
    async with studio(tmp_path, {"a.py": "x = 1\n"}, model=model) as at:
        plan = await at.ask("Cover a.py with tests", mode="plan")
        (step,) = plan.steps
        assert plan.status == "pending_approval"
        assert (step.kind, step.template_id, step.args) == ("sub_plan", "add_tests", {"file": "a.py"})
        assert len(model.requests) == 2 and problem in model.requests[1].messages[-1].text


SHARES = Capabilities(tools=True, context_tokens=128_000)
LOCAL = Capabilities(tools=True, context_tokens=32_000, lean=True)
SMALL = Capabilities(json_schema=True, context_tokens=6_000)


@pytest.mark.parametrize("can", [SHARES, LOCAL, ANSWERS_AT_ONCE, SMALL])
async def test_a_model_is_told_of_the_templates_that_a_person_has_saved(
    tmp_path: Path, can: Capabilities
) -> None:
    by_template = {"template": "Release notes", "args": {"name": "2.0"}}
    turns = [planned(can, {"instruction": "Write the notes of NAME."}), planned(can, by_template)]
    model = ScriptedModel(turns, capabilities=can)
    async with studio(tmp_path, model=model) as at:
        plan = await at.ask("Write the release notes", mode="plan")
        for name in ("Release notes", *(f"Very long name {number} {'x' * 60}" for number in range(9))):
            await at.app.templates.save(plan.plan_id, name, None, (("name", "NAME"),))
        (step,) = (await at.ask("Write the release notes", mode="plan")).steps
        assert (step.kind, step.template_id, step.args) == ("sub_plan", *by_template.values())
        before, after = ("\n".join(each.text for each in request.messages) for request in model.requests)
        is_told = can != SMALL
        assert ('\n  "Release notes": name?' in after) is is_told
        assert "template" not in before and len(after.encode()) - len(before.encode()) <= 600
        allowed = json.dumps(model.requests[-1].response_schema)
        assert ('{"const": "Release notes"}' in allowed) is (can == ANSWERS_AT_ONCE)


async def test_a_template_that_is_deleted_before_its_turn_fails_the_step(tmp_path: Path) -> None:
    async with studio(tmp_path, settings={**SETTINGS, "execution.onFailure": "skip"}) as at:
        template = await saved(at, WRITE)
        again = node("sub_plan", template_id=template)
        plan = await at.approve(await with_steps(at, again, node("approval"), again))
        plan = await at.respond(plan)
        await at.app.templates.delete(TemplateId(template))
        plan = await at.app.plans.pause(plan.plan_id)
        with pytest.raises(InvalidPlan) as refused:
            await at.app.plans.edit(plan.plan_id, plan.version, [SkipStep(step_id=StepId("s2"))])
        assert [row["stepId"] for row in refused.value.details] == ["s3"]
        await at.app.plans.resume(plan.plan_id)
        plan = await at.reach(plan, "attention")
        plan = await at.respond(plan)
        last = plan.steps[-1]
        assert last.status == "failed" and last.result is not None and template in (last.result.error or "")


async def test_a_parameter_that_a_round_gives_its_number_is_a_number(tmp_path: Path) -> None:
    number = node("sub_plan", template_id="add_tests", args={"file": "{{index}}"}, repeat_until="index > 1")
    async with studio(tmp_path) as at:
        assert (await with_steps(at, number)).steps[0].args == {"file": "{{index}}"}


async def test_a_check_is_repeated_until_it_holds(tmp_path: Path) -> None:
    async with studio(tmp_path, {"n": "0"}, settings=SETTINGS) as at:
        counts = Check(kind="command", command="n=$(cat n); echo $((n+1)) > n; test $n -ge 1")
        plan = await with_steps(at, node("check", checks=(counts,), repeat_until="last.ok"), WRITE)
        plan = await finished(at, plan)
        assert plan.status == "completed" and len(plan.steps) == 4
