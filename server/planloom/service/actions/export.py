"""Exports a plan as Markdown, or the raw events of an unreadable one as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence

from planloom.domain.plans.graph import shown_statuses
from planloom.domain.plans.plan import Plan
from planloom.domain.values import PlanId
from planloom.storage.ledger import RawEvent

_MARKS = {
    "completed": "x",
    "running": ">",
    "needs_clarification": "?",
    "failed": "!",
    "skipped": "-",
}


def as_raw_json(plan_id: PlanId, events: Sequence[RawEvent]) -> str:
    """The event rows of a plan that cannot be read, with their bodies as undecoded text."""
    rows = [event._asdict() for event in events]
    return json.dumps({"planId": plan_id, "events": rows}, indent=2, ensure_ascii=False) + "\n"


def as_markdown(plan: Plan) -> str:
    """The request, the plan's status, and its steps as a task list."""
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
