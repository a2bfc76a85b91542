"""Sub-plans: the steps that a step with a template stands for, and when two of them are the very same."""

from __future__ import annotations

import pytest

from planloom.domain.plans.plan import Plan, Step
from planloom.domain.plans.unrolling import same_steps, sub_plan
from planloom.domain.values import PlanId, SessionId


def step(name: str, **fields: object) -> Step:
    return Step.model_validate({"step_id": name, "description": "d", "instruction": "i", **fields})


def unrolled(name: str, *steps: Step) -> tuple[Step, ...]:
    """The steps of a template as those of a sub-plan with this id."""
    plan = Plan(plan_id=PlanId("p"), session_id=SessionId("s"))
    return sub_plan(plan, step(name), steps, sequential=True)


def command(text: str) -> Step:
    return step("a", kind="tool_call", tool="run_command", args={"command": text})


LINKED = (
    step("a", kind="tool_call", tool="read_file", args={"path": "x"}),
    step("b", depends_on=("a",), args={"text": "$a.text"}, when="steps.a.ok", for_each="$a.lines"),
)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ((command("ls"),), (command("ls"),), True),
        (LINKED, LINKED, True),
        (LINKED, LINKED[:1], False),
        # What a text holds beside the ids of steps is what runs, also where it reads like such an id.
        ((command("rm r_1_data"),), (command("rm r_2_data"),), False),
        ((command("rm r_10"),), (command("rm 0"),), False),
        ((command("rm r_1"),), (command("rm "),), False),
        ((step("a", instruction="Work on r_1"),), (step("a", instruction="Work on r_2"),), False),
        ((step("a"), step("b")), (step("a"), step("b", depends_on=("z",))), False),
    ],
)
def test_two_sub_plans_are_the_same_only_if_all_that_runs_is(
    one: tuple[Step, ...], other: tuple[Step, ...], same: bool
) -> None:
    assert same_steps(unrolled("r_1", *one), unrolled("r_2", *other)) == same
