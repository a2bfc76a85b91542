"""What an author of plans is: it gets a request with all that belongs to it, and says steps as it writes them."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Annotated, Literal, Protocol

from pydantic import Field

from planloom.domain.plans.attachments import ResolvedAttachment
from planloom.domain.plans.perspectives import Agent, Perspective
from planloom.domain.plans.plan import Author, Qualification, Risk, Step, Usage
from planloom.domain.plans.validation import Problem
from planloom.domain.values import Value


class PlanningRequest(Value):
    """What a plan is written from.

    `snapshot` is the workspace tree as text; `finished` steps stay as they are; `previous` is the draft that
    `feedback` speaks of; `instructions` is what the workspace tells agents (AGENTS.md), as data;
    `earlier` tells of the plan that ended before in the same session; `perspectives` are the reports of the
    agents that have looked at the request already.
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
    perspectives: tuple[Perspective, ...] = ()


class PerspectiveBegun(Value):
    """An agent begins to look at the request."""

    kind: Literal["perspective_begun"] = "perspective_begun"
    agent: Agent


class PerspectiveSeen(Value):
    """What an agent reports, or why it reports nothing."""

    kind: Literal["perspective_seen"] = "perspective_seen"
    agent: Agent
    perspective: Perspective | None = None
    error: str | None = None


class ToolUsed(Value):
    """An agent has read something of the workspace."""

    kind: Literal["looked_up"] = "looked_up"
    agent: Agent
    ok: bool
    summary: str


class ThoughtSeen(Value):
    """More of what goes through an author's mind before it writes."""

    kind: Literal["thought"] = "thought"
    text: str


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


PlannerEvent = Annotated[
    PerspectiveBegun
    | PerspectiveSeen
    | ToolUsed
    | ThoughtSeen
    | StepDrafted
    | TextSeen
    | UsageSeen
    | PlanDrafted,
    Field(discriminator="kind"),
]


class Planner(Protocol):
    """An author. Raises ModelFailed when there is no plan, with the raw text where there is one."""

    def draft(self, request: PlanningRequest) -> AsyncGenerator[PlannerEvent, None]: ...
