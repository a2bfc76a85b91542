"""Estimates of a plan's duration and risk."""

from __future__ import annotations

from typing import Any

from planloom.domain.plans.plan import Qualification, Step
from planloom.domain.values import StepId
from planloom.planning.estimates import ModelSpeed, estimated_duration, overall_risk
from tests.support.small_tools import small_tools

RULES = small_tools().rules()


def step(name: str, **fields: Any) -> Step:
    return Step(step_id=StepId(name), description=name, instruction=name, **fields)


def call(name: str, tool: str, **args: Any) -> Step:
    return step(name, kind="tool_call", tool=tool, args=args)


def test_steps_in_a_row_add_up_and_others_share_the_time() -> None:
    commands = [call(name, "run_command", command="x") for name in "abcd"]
    assert estimated_duration(commands, RULES, sequential=True) == 80
    assert estimated_duration(commands, RULES, sequential=False) == 20
    chained = [
        commands[0],
        *(later.model_copy(update={"depends_on": (commands[0].step_id,)}) for later in commands[1:]),
    ]
    assert estimated_duration(chained, RULES, sequential=False) == 40


def test_work_of_the_model_follows_its_speed() -> None:
    slow = ModelSpeed(first_token_seconds=10, tokens_per_second=10)
    fast = ModelSpeed(first_token_seconds=1, tokens_per_second=100)
    steps = [step("a"), step("b")]
    assert estimated_duration(steps, RULES, sequential=False, speed=slow) == 300
    assert estimated_duration(steps, RULES, sequential=False, speed=fast) == 30


def test_risk_is_that_of_the_worst_step_or_of_the_request() -> None:
    assert overall_risk([step("a"), call("b", "write_file", path="p", content="")], RULES) == "low"
    assert overall_risk([call("a", "run_command", command="ls")], RULES) == "medium"
    assert overall_risk([call("a", "run_command", command="rm -rf x")], RULES) == "high"
    assert overall_risk([call("a", "delete_path", path="p")], RULES) == "high"
    assert overall_risk([], RULES) == "low"
    risky = Qualification(task_type="devops", complexity="complex", risk_level="high", reasons=(), by="rules")
    assert overall_risk([step("a")], RULES, risky) == "high"
