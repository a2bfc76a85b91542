"""A plan as a text to keep or to send."""

from __future__ import annotations

from planloom.domain.graph import shown_statuses
from planloom.domain.plan import Plan

_MARKS = {
    "completed": "x",
    "running": ">",
    "needs_clarification": "?",
    "failed": "!",
    "skipped": "-",
}


def as_json(plan: Plan) -> str:
    """The plan as the domain holds it, indented."""
    return plan.model_dump_json(indent=2, exclude_none=True)


def as_markdown(plan: Plan) -> str:
    """The request, where the plan stands, and its steps as a task list."""
    title = plan.request.strip().splitlines()[0] if plan.request.strip() else "Plan"
    lines = [f"# {title}", "", f"Version {plan.version}, {plan.status.replace('_', ' ')}.", ""]
    if plan.summary:
        lines += [plan.summary, ""]
    for number, (step, shown) in enumerate(zip(plan.steps, shown_statuses(plan), strict=True), start=1):
        lines.append(f"{number}. [{_MARKS.get(shown, ' ')}] {step.description}")
        if step.instruction and step.instruction != step.description:
            lines += [f"   {line}" if line else "" for line in step.instruction.splitlines()]
        if step.result and (step.result.summary or step.result.error):
            lines.append(f"   → {step.result.summary or step.result.error}")
    if plan.execution_summary:
        lines += ["", plan.execution_summary]
    return "\n".join(lines) + "\n"
