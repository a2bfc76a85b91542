"""Conditions of steps: what they read, when they are evaluated, and what follows a step that is not needed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from planloom.domain.errors import InvalidPlan
from planloom.domain.events import catalog as ev
from planloom.domain.plans.plan import Plan
from planloom.domain.values import StepId
from planloom.models.offline.scripted import ScriptedModel, makes
from planloom.storage.ledger import Ledger
from tests.service.test_execution_rules import happened, tool_step, with_steps, work_step
from tests.support.studio import Studio, studio


async def finished(at: Studio, plan: Plan) -> Plan:
    """Approve the plan and all that it asks, to its end."""
    plan = await at.approve(plan)
    while plan.pending.approvals:
        plan = await at.respond(plan)
    return plan


def outcomes(plan: Plan) -> list[tuple[str, str | None]]:
    return [(step.status, step.skip_reason) for step in plan.steps]


NOT_NEEDED = ("skipped", "condition")
DONE = ("completed", None)


async def test_a_delete_whose_condition_is_false_does_not_run(tmp_path: Path) -> None:
    async with studio(tmp_path, {"a.txt": "kept\n"}) as at:
        plan = await with_steps(at, tool_step("delete_path", {"path": "a.txt"}, when="false"))
        plan = await finished(at, plan)
        assert (plan.status, outcomes(plan)) == ("completed", [NOT_NEEDED])
        assert at.path("a.txt").exists() and not happened(at, ev.ApprovalRequested)
        assert plan.report is not None and plan.report.left == ()
        (judged,) = happened(at, ev.ConditionEvaluated)
        assert judged.holds is False


@pytest.mark.parametrize(
    ("when", "runs"),
    [
        ("exists('a.txt')", True),
        ("!exists('a.txt')", False),
        ("exists('../outside.txt')", False),
        ("length(glob('src/*.py')) == 2", True),
        ("contains(glob('**/*.py'), 'src/two.py')", True),
        ("length(glob('src/tw')) > 0 || length(glob('wo.py')) > 0", False),
        ("glob('two.py')", True),
        ("steps.s1.ok && steps.s1.value == 'new.txt'", True),
        ("steps.s1.status == 'failed'", False),
        ("env.CI == 'yes' && platform != 'amiga'", True),
    ],
)
async def test_a_condition_reads_steps_files_and_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str, runs: bool
) -> None:
    monkeypatch.setenv("CI", "yes")
    files = {"a.txt": "a\n", "src/one.py": "", "src/two.py": ""}
    async with studio(tmp_path, files, settings={"approvals.write": "allow"}) as at:
        plan = await with_steps(
            at,
            tool_step("write_file", {"path": "new.txt", "content": "n"}),
            tool_step("write_file", {"path": "made.txt", "content": "m"}, when=when),
        )
        plan = await finished(at, plan)
        assert plan.status == "completed" and at.path("made.txt").exists() == runs
        assert outcomes(plan) == [DONE, DONE if runs else NOT_NEEDED]


@pytest.mark.parametrize("count", [1_001, 10_001])
@pytest.mark.slow
async def test_a_glob_takes_all_files_or_says_that_they_are_too_many(tmp_path: Path, count: int) -> None:
    files = {f"{number}.txt": "" for number in range(count)}
    async with studio(tmp_path, files, settings={"execution.onFailure": "skip"}) as at:
        plan = await with_steps(at, tool_step("list_files", {}, when=f"length(glob('*.txt')) == {count}"))
        plan = await finished(at, plan)
        if count == 1_001:
            assert outcomes(plan) == [DONE]
        else:
            assert plan.error is not None and "matches 10001 files; an expression takes" in plan.error.message


async def test_steps_go_on_after_one_that_is_not_needed_but_not_without_its_result(tmp_path: Path) -> None:
    async with studio(tmp_path, {"a.txt": "a\n"}, settings={"approvals.write": "allow"}) as at:
        plan = await with_steps(
            at,
            tool_step("find_files", {"pattern": "*.txt"}, when="false"),
            tool_step("write_file", {"path": "b.txt", "content": "b"}, depends_on=("s1",)),
            tool_step("read_file", {"path": "$s1[0]"}),
        )
        plan = await finished(at, plan)
        assert outcomes(plan) == [NOT_NEEDED, DONE, ("skipped", "dependency_failed")]
        assert at.path("b.txt").exists()


async def test_a_question_is_asked_only_if_its_condition_holds(tmp_path: Path) -> None:
    async with studio(tmp_path) as at:
        ask = {"kind": "clarification", "question": "Which colour?"}
        plan = await with_steps(
            at, work_step("Ask", **ask, when="exists('a.txt')"), work_step("Ask", **ask, when="true")
        )
        plan = await at.approve(plan)
        assert outcomes(plan)[0] == NOT_NEEDED
        assert [each.step_id for each in plan.pending.questions] == ["s2"]


@pytest.mark.parametrize(
    ("when", "problem"),
    [
        ("exists('a.txt'", "Column 15: The expression is not complete."),
        ("steps.s1.ok = true", "Column 13: “=”"),
        ("open('a.txt')", "Column 1: There is no function 'open'"),
        ("env.AWS_SECRET_ACCESS_KEY", "Column 5: Of the environment there is CI"),
        ("steps.s9.ok", "There is no step 's9'."),
        ("steps.s2.ok", "does not always end before this step starts"),
        ("item", "Column 1: There is no 'item' here"),
        ("__import__('os')", "There is no function"),
    ],
)
async def test_a_condition_that_cannot_be_read_cannot_be_approved(
    tmp_path: Path, when: str, problem: str
) -> None:
    async with studio(tmp_path) as at:
        with pytest.raises(InvalidPlan) as refused:
            await with_steps(at, work_step("First"), tool_step("list_files", {}, when=when))
        (found,) = refused.value.details
        assert (found["stepId"], found["field"]) == ("s2", "when") and problem in found["problem"]


async def test_a_condition_without_an_answer_fails_its_step_and_not_the_others(tmp_path: Path) -> None:
    settings = {"execution.onFailure": "skip", "approvals.write": "allow"}
    async with studio(tmp_path, settings=settings) as at:
        plan = await with_steps(
            at,
            tool_step("write_file", {"path": "a.txt", "content": "a"}, when="length(`5`) > 0"),
            tool_step("write_file", {"path": "b.txt", "content": "b"}, when="length(glob('*'))"),
            tool_step("write_file", {"path": "c.txt", "content": "c"}),
        )
        plan = await finished(at, plan)
        results = [step.result for step in plan.steps]
        assert results[0] is not None and "length()" in (results[0].error or "")
        assert results[1] is not None and "compare it" in (results[1].error or "")
        assert sorted(path.name for path in at.folder.glob("*.txt")) == ["c.txt"]


async def test_a_step_that_is_resumed_goes_on_whatever_it_has_changed_itself(tmp_path: Path) -> None:
    """Its condition held when it began: it is not evaluated again over files that the step has made."""
    ledger = tmp_path / "ledger.sqlite3"
    async with studio(tmp_path, ledger=Ledger(ledger)) as at:
        plan = await with_steps(
            at, tool_step("write_file", {"path": "a.txt", "content": "a"}, when="!exists('a.txt')")
        )
        plan = await at.approve(plan)
        assert plan.pending.approvals
    async with studio(tmp_path, {"a.txt": "from elsewhere\n"}, ledger=Ledger(ledger)) as again:
        plan = await again.app.plans.resume(plan.plan_id)
        plan = await again.reach(plan, "attention")
        step = plan.step(StepId("s1"))
        assert step is not None and step.condition_held is True and step.status == "running"
        assert plan.pending.approvals and not happened(again, ev.ConditionEvaluated)


async def test_a_model_gives_conditions_and_those_that_cannot_be_read_are_sent_back(tmp_path: Path) -> None:
    def plan_with(when: Any) -> Any:
        steps = [
            {"id": "7", "description": "Look", "tool": "list_files", "args": {}},
            {
                "id": "b",
                "description": "Delete",
                "tool": "delete_path",
                "args": {"path": "a.txt"},
                "when": when,
            },
        ]
        return makes(("submit_plan", {"summary": "Clean.", "steps": steps}))

    model = ScriptedModel([plan_with("if it is there"), plan_with("!steps.step_7.ok")])
    async with studio(tmp_path, {"a.txt": "a\n"}, model=model) as at:
        plan = await at.ask("Delete a.txt when the folder cannot be listed.", mode="plan")
        assert "b.when: Column 4" in str(model.requests[1].messages[-1]).replace("b, when", "b.when")
        assert plan.steps[1].when == "!steps.step_7.ok"
        plan = await finished(at, plan)
        assert outcomes(plan) == [DONE, NOT_NEEDED] and at.path("a.txt").exists()
