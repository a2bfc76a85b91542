"""What the calls of a step's earlier runs have changed, in words."""

from __future__ import annotations

import pytest

from planloom.domain.plans.plan import ExecutedTool, Step
from planloom.domain.values import CallId, StepId
from planloom.execution.effects.previous_calls import changed_so_far


@pytest.mark.parametrize(
    ("files", "wanted"),
    [
        (0, "It has changed no file yet."),
        (2, "Changed so far: f0, f1."),
        (23, "Changed so far: " + ", ".join(f"f{n}" for n in range(20)) + " and 3 more."),
    ],
)
def test_only_the_first_changed_files_are_named(files: int, wanted: str) -> None:
    call = ExecutedTool(
        call_id=CallId("c"),
        tool="write_file",
        args={},
        ok=True,
        deduplicated=False,
        summary="Wrote.",
        duration_ms=1,
        files={f"file:///w/f{n}": "made" for n in range(files)},
    )
    step = Step(
        step_id=StepId("s"), description="Write", instruction="Write", agent="koda", tools_executed=(call,)
    )
    assert changed_so_far(step) == wanted
