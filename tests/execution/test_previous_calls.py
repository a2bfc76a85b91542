"""What the calls of a step's earlier runs have changed, in words."""

from __future__ import annotations

import pytest

from planloom.domain.plans.plan import ExecutedTool, Fate, Step
from planloom.domain.values import CallId, StepId
from planloom.execution.effects.previous_calls import changed_so_far, not_made
from tests.execution.test_summary import ROOT, edited, plan_of


def call(tool: str, **files: Fate) -> ExecutedTool:
    """A call that was to change these files."""
    return ExecutedTool(
        call_id=CallId("c"),
        tool=tool,
        args={},
        ok=True,
        deduplicated=False,
        summary="Wrote.",
        duration_ms=1,
        files={ROOT + name: fate for name, fate in files.items()},
    )


def step_with(*calls: ExecutedTool) -> Step:
    return Step(
        step_id=StepId("s"), description="Write", instruction="Write", agent="koda", tools_executed=calls
    )


@pytest.mark.parametrize(
    ("calls", "left"),
    [
        ([call("edit_file", old="lost")], ["new"]),
        ([call("edit_file", old="lost"), call("edit_file", new="made")], []),
        ([call("edit_file", old="lost"), call("edit_file", other="made")], ["new"]),
        ([call("edit_file", new="made"), call("edit_file", new="refused")], ["new"]),
    ],
)
def test_a_lost_change_is_made_under_the_name_that_the_plan_has_given_the_file(
    calls: list[ExecutedTool], left: list[str]
) -> None:
    plan = plan_of(edited("rename", "old -> new", "x", "x"))
    assert list(not_made(plan, step_with(*calls))) == left


@pytest.mark.parametrize(
    ("files", "wanted"),
    [
        (0, "It has changed no file yet."),
        (2, "Changed so far: f0, f1."),
        (23, "Changed so far: " + ", ".join(f"f{n}" for n in range(20)) + " and 3 more."),
    ],
)
def test_only_the_first_changed_files_are_named(files: int, wanted: str) -> None:
    step = step_with(call("write_file", **{f"f{n}": "made" for n in range(files)}))
    assert changed_so_far(plan_of(), step) == wanted
