"""What a reader makes of a model's words, before ids, agents and tools are checked."""

from __future__ import annotations

from typing import Literal

from planloom.domain.values import Args, Json, Value

PlanFormat = Literal["markers", "json", "legacy", "numbered"]


class DraftStep(Value):
    """One step as the model wrote it: ids may be illegal, doubled or missing, names unknown.

    `depends_on` is None where the source says nothing of dependencies; its entries are ids or numbers from 1.
    """

    description: str
    instruction: str
    raw_id: str | None = None
    tool: str | None = None
    args: Args | None = None
    depends_on: tuple[str, ...] | None = None
    agent: str | None = None
    kind: str | None = None
    question: str | None = None
    priority: str | None = None
    critical: bool = False
    checks: tuple[Json, ...] = ()
    expected_files: tuple[str, ...] = ()
    estimated_duration: int | None = None


class PlanText(Value):
    """The steps of a plan in the order they appear.

    `cut` tells that the text ends before the plan does. `summary` is what its author says of the whole.
    """

    steps: tuple[DraftStep, ...]
    format: PlanFormat
    cut: bool = False
    summary: str = ""


class NoPlan(Value):
    """The text holds no plan."""


def draft(description: str, instruction: str) -> DraftStep | None:
    """A step of two texts, one standing in for the other if that is missing; None if both are (P6)."""
    description, instruction = " ".join(description.split()), instruction.strip()
    if not description and not instruction:
        return None
    if not description:
        description = " ".join(instruction.split("\n", 1)[0].split())
    return DraftStep(description=description, instruction=instruction or description)
