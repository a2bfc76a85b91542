"""Each field of a step is either written by its author or set by its runs."""

from __future__ import annotations

from datetime import UTC, datetime

from planloom.domain.plans.editing import StepChanges
from planloom.domain.plans.plan import RUN_STATE, Check, ExecutedTool, Step, StepResult, Usage
from planloom.domain.plans.templates import Template, applied, template_of
from planloom.domain.problems import Judged
from planloom.domain.values import CallId, StepId, TemplateId

WRITTEN: frozenset[str] = frozenset(
    {
        "step_id",
        "description",
        "instruction",
        "active_form",
        "kind",
        "agent",
        "tool",
        "args",
        "depends_on",
        "priority",
        "critical",
        "requires_approval",
        "question",
        "options",
        "checks",
        "expected_files",
        "attachments",
        "tools_to_execute",
        "when",
        "for_each",
        "repeat_until",
        "repeat_most",
        "template_id",
    }
)
"""The fields that the author of a step writes; a new field must be in one of the two sets."""

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)
FRESH = Step(
    step_id=StepId("a"),
    description="Write a",
    instruction="x",
    kind="tool_call",
    tool="write_file",
    args={"path": "a", "content": "b"},
    checks=(Check(kind="file_exists", path="a"),),
)
RUN = FRESH.model_copy(
    update={
        "status": "failed",
        "progress": 10,
        "usage": Usage(requests=1),
        "attempts": 3,
        "failures": 2,
        "passed_over": True,
        "calls_before": 25,
        "staged": True,
        "checks_changed": True,
        "reverted": "part",
        "calls_closed": 1,
        "skip_reason": "user",
        "condition_held": True,
        "parent": StepId("p"),
        "children": (StepId("c"),),
        "result": StepResult(ok=False, error="no", duration_ms=1, timestamp=NOON),
        "tools_executed": (
            ExecutedTool(
                call_id=CallId("c"),
                tool="x",
                args={},
                ok=True,
                deduplicated=False,
                summary="",
                duration_ms=1,
            ),
        ),
        "created_at": NOON,
        "started_at": NOON,
        "run_started_at": NOON,
        "waited_ms": 5,
        "waits_since": NOON,
        "completed_at": NOON,
        "judged": Judged(by="ty"),
        "checks": (Check(kind="file_exists", path="a", outcome="failed", detail="a does not exist yet."),),
    }
)


def test_every_field_of_a_step_is_written_or_tells_what_has_happened() -> None:
    assert set(Step.model_fields) == WRITTEN | RUN_STATE and not WRITTEN & RUN_STATE
    assert {name for name in RUN_STATE if getattr(RUN, name) == getattr(FRESH, name)} == set()
    assert set(StepChanges.model_fields) - {"cleared"} <= WRITTEN


def test_a_step_as_it_was_written_has_never_run() -> None:
    assert RUN.as_written() == FRESH


def test_a_template_keeps_nothing_that_has_happened() -> None:
    made = template_of([RUN], template_id=TemplateId("t"), name="T")
    assert isinstance(made, Template) and applied(made, {}) == (FRESH,)
