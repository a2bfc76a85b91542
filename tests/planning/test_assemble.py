"""Steps as models write them become steps of a plan."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from planloom.domain.plans.plan import Check, ExpectedTool, Step
from planloom.domain.values import StepId
from planloom.planning.formats.draft import DraftStep
from planloom.planning.model.assemble import StepBuilder
from tests.support.small_tools import small_tools

RULES = small_tools().rules()


def draft(description: str = "Do it", **fields: Any) -> DraftStep:
    return DraftStep(**({"description": description, "instruction": description} | fields))


def assembled(drafts: Sequence[DraftStep]) -> tuple[tuple[Step, ...], bool]:
    builder = StepBuilder(RULES)
    for each in drafts:
        builder.add(each)
    return builder.steps(), builder.sequential


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (["a", "b"], ["a", "b"]),
        ([None, None], ["step_1", "step_2"]),
        (["1", "2"], ["step_1", "step_2"]),
        (["step-1", "2.b"], ["step_1", "step_2_b"]),
        (["a", "a"], ["a", "step_2"]),
        (["$", "…"], ["step_1", "step_2"]),
        (["step_2", None], ["step_2", "step_3"]),
        (["x" * 200, "é"], ["x" * 60, "step_2"]),
    ],
)
def test_ids_become_legal_and_unique(raw: list[str | None], expected: list[str]) -> None:
    steps, _ = assembled([draft(raw_id=ident) for ident in raw])
    assert [step.step_id for step in steps] == expected


@pytest.mark.parametrize(
    ("needs", "expected"),
    [
        (("first-one",), ("first_one",)),
        (("1",), ("first_one",)),
        (("step 1",), ("first_one",)),
        (("#1", "1"), ("first_one",)),
        (("$first-one",), ("first_one",)),
        (("9",), ("9",)),
        (("nobody",), ("nobody",)),
        ((), ()),
    ],
)
def test_dependencies_are_found_by_id_and_by_number(
    needs: tuple[str, ...], expected: tuple[str, ...]
) -> None:
    steps, sequential = assembled([draft(raw_id="first-one"), draft("Next", depends_on=needs)])
    assert steps[1].depends_on == expected
    assert not sequential


def test_references_in_arguments_follow_their_step() -> None:
    steps, _ = assembled(
        [
            draft(raw_id="1", tool="read_file", args={"path": "a"}),
            draft(raw_id="2", tool="write_file", args={"path": "b", "content": "$1.text"}),
        ],
    )
    assert steps[1].args == {"path": "b", "content": "$step_1.text"}


def test_a_plan_without_dependencies_is_sequential_and_later_ones_come_later() -> None:
    assert assembled([draft(), draft("B")])[1]
    steps, sequential = assembled(
        [draft("A", raw_id="a", depends_on=("b",)), draft("B", raw_id="b", depends_on=())]
    )
    assert not sequential
    assert [step.step_id for step in steps] == ["b", "a"]


def test_kinds_agents_and_defaults() -> None:
    steps, _ = assembled(
        [
            draft("Run it", tool="run_command", args={"command": "ls"}),
            draft("Read it", tool="read_file", args={"path": "a"}, agent="Chapo", priority="HIGH"),
            draft("Think", tool="read_file"),
            draft("Fly", tool="fly"),
            draft("Ask", question="Which?"),
            draft("write the file", tool="write_file", args={"path": "a", "content": ""}, agent="nobody"),
            draft("Ask", kind="clarification"),
        ],
    )
    assert [step.kind for step in steps] == [
        *("tool_call", "tool_call", "processing", "tool_call", "clarification", "tool_call", "clarification")
    ]
    assert [step.agent for step in steps] == ["devo", "chapo", "koda", "koda", "koda", "koda", "koda"]
    assert [step.requires_approval for step in steps] == [True, False, False, False, False, True, False]
    assert steps[1].priority == "high"
    assert steps[5].expected_files == ("a",)
    assert steps[5].description == "Write the file"
    assert steps[5].active_form == "Writing the file"
    assert steps[6].question == "Ask"


def test_checks_that_make_sense_are_kept() -> None:
    known = ({"kind": "file_exists", "path": "a"}, {"type": "command", "command": "x"}, "make test")
    steps, _ = assembled([draft(checks=(*known, {"kind": "odd"}, 3, " "))])
    assert steps[0].checks == (
        Check(kind="file_exists", path="a"),
        Check(kind="command", command="x"),
        Check(kind="command", command="make test"),
    )


def test_ids_of_finished_steps_are_not_reused() -> None:
    assembly = StepBuilder(RULES, [StepId("step_1")])
    assert assembly.add(draft()).step_id == "step_2"
    assert assembly.add(draft(depends_on=("step_1",))).depends_on == ("step_1",)


@pytest.mark.parametrize(
    ("description", "agent"),
    [
        ("Run the tests", "devo"),
        ("Write the page, then run the tests", "devo"),
        ("Deploy to staging", "devo"),
        ("Install the dependencies with npm", "devo"),
        ("Build the project", "devo"),
        ("Build a game", "koda"),
        ("Add migration script", "koda"),
        ("Add a Dockerfile and a deploy pipeline for kubernetes", "koda"),
        ("Write the code that starts the server", "koda"),
        ("Add a run method to the class", "koda"),
        ("Refactor the auth system", "koda"),
        ("Describe the committee", "koda"),
    ],
)
def test_the_agent_of_a_step_that_names_none(description: str, agent: str) -> None:
    (step,), _ = assembled([draft(description)])
    assert step.agent == agent


@pytest.mark.parametrize(
    ("fields", "agent"),
    [
        ({"expected_files": ("a.py",), "instruction": "Write it, then run the tests."}, "koda"),
        ({"expected_tools": (ExpectedTool(tool="run_command"),)}, "devo"),
        ({"expected_tools": (ExpectedTool(tool="run_command"), ExpectedTool(tool="write_file"))}, "koda"),
        ({"description": "Deploy it", "expected_files": ("deploy.log",)}, "devo"),
    ],
)
def test_what_a_step_writes_and_calls_decides_whose_it_is(fields: dict[str, Any], agent: str) -> None:
    (step,), _ = assembled([draft(**{"description": "See to it", **fields})])
    assert step.agent == agent
