"""The readers in the shape that outside scorers of them expect."""

from __future__ import annotations

from planloom.intake.detection import detect
from planloom.planning.formats.draft import NoPlan
from planloom.planning.formats.reader import read_plan


def planned(message: str) -> bool:
    """Whether the rules want a plan for this message."""
    return detect(message).planned


def plan_steps(text: str) -> list[dict[str, str]]:
    """The steps of a plan in a model's answer; empty if it holds none."""
    plan = read_plan(text)
    if isinstance(plan, NoPlan):
        return []
    return [{"description": step.description, "instruction": step.instruction} for step in plan.steps]
