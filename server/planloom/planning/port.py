"""What an author of plans is: it gets a request with all that belongs to it, and says steps as it writes them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated, Literal, Protocol

from pydantic import Field

from planloom.domain.attachments import ResolvedAttachment
from planloom.domain.plan import Author, Qualification, Risk, Step, Usage
from planloom.domain.validation import Problem
from planloom.domain.values import Value


class PlanningRequest(Value):
    """What a plan is written from.

    `snapshot` is the workspace tree as text; `finished` steps stay as they are; `previous` is the draft that
    `feedback` speaks of; `instructions` is what the workspace tells agents (AGENTS.md), as data;
    `earlier` tells of the plan that ended before in the same session.
    """

    text: str
    attachments: tuple[ResolvedAttachment, ...] = ()
    qualification: Qualification | None = None
    snapshot: str = ""
    finished: tuple[Step, ...] = ()
    previous: tuple[Step, ...] = ()
    feedback: str | None = None
    instructions: ResolvedAttachment | None = None
    earlier: str = ""


class StepDrafted(Value):
    """A step was read from what the author is still writing."""

    kind: Literal["step"] = "step"
    step: Step


class TextSeen(Value):
    """More of the author's text."""

    kind: Literal["text"] = "text"
    text: str


class UsageSeen(Value):
    """What one request to a model cost."""

    kind: Literal["usage"] = "usage"
    usage: Usage


class PlanDrafted(Value):
    """The whole plan; it has no errors, `warnings` are for the person who reviews it."""

    kind: Literal["plan"] = "plan"
    steps: tuple[Step, ...]
    summary: str
    sequential: bool
    author: Author
    estimated_duration: int | None = None
    overall_risk: Risk = "low"
    warnings: tuple[Problem, ...] = ()


PlannerEvent = Annotated[StepDrafted | TextSeen | UsageSeen | PlanDrafted, Field(discriminator="kind")]


class Planner(Protocol):
    """An author. Raises ModelFailed when there is no plan, with the raw text where there is one."""

    def draft(self, request: PlanningRequest) -> AsyncIterator[PlannerEvent]: ...
