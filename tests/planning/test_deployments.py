"""Deployments depend on the work before them, even if the model has left the dependency out."""

from __future__ import annotations

from typing import Any

import pytest

from planloom.domain.plans.plan import Step
from planloom.domain.values import StepId
from planloom.planning.model.deployments import deployments_in_turn


def step(step_id: str, description: str, *needs: str, **fields: Any) -> Step:
    return Step(
        step_id=StepId(step_id),
        description=description,
        instruction=description,
        depends_on=tuple(map(StepId, needs)),
        **fields,
    )


def deploy(*needs: str) -> Step:
    return step("out", "Deploy to staging", *needs, agent="devo")


@pytest.mark.parametrize(
    ("before", "needs", "expected"),
    [
        ([step("a", "Refactor"), step("b", "Test", "a")], (), ("b",)),
        ([step("a", "Refactor"), step("b", "Document")], (), ("a", "b")),
        ([step("a", "Refactor"), step("b", "Document")], ("a",), ("a", "b")),
        ([step("a", "Refactor"), step("b", "Test", "a")], ("b",), ("b",)),
        ([step("a", "Refactor"), step("b", "Look at it", "a", agent="chapo")], (), ("b",)),
        ([step("a", "Look around", agent="chapo"), step("q", "Which?", kind="clarification")], (), ()),
        ([], (), ()),
    ],
)
def test_a_deployment_waits_for_the_ends_of_the_work_before_it(
    before: list[Step], needs: tuple[str, ...], expected: tuple[str, ...]
) -> None:
    steps, warnings = deployments_in_turn([*before, deploy(*needs), step("later", "Write the notes")])
    out = next(each for each in steps if each.step_id == "out")
    assert out.depends_on == expected
    assert len(warnings) == (expected != needs)
    assert all(problem.severity == "warning" and problem.step_id == "out" for problem in warnings)


def command(line: str) -> dict[str, Any]:
    return {"description": "Go", "kind": "tool_call", "tool": "run_command", "args": {"command": line}}


@pytest.mark.parametrize(
    ("fields", "waits"),
    [
        ({"description": "Release version 2", "agent": "devo"}, True),
        ({"description": "Run the deployment", "agent": "devo"}, True),
        ({"description": "Write the deploy script", "agent": "devo"}, False),
        ({"description": "Deploy settings: add a field", "agent": "koda"}, False),
        (
            {
                "description": "Go",
                "kind": "tool_call",
                "tool": "run_command",
                "args": {"command": "kubectl apply -f k"},
            },
            True,
        ),
        (
            {"description": "Go", "kind": "tool_call", "tool": "run_command", "args": {"command": "pytest"}},
            False,
        ),
        (
            {"description": "Deploy", "kind": "tool_call", "tool": "read_file", "args": {"path": "deploy"}},
            False,
        ),
    ],
)
def test_what_counts_as_a_deployment(fields: dict[str, Any], waits: bool) -> None:
    steps, _ = deployments_in_turn([step("a", "Refactor"), step("out", **fields)])
    assert steps[1].depends_on == (("a",) if waits else ())
