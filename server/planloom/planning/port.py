"""The port of planners: a planner gets a request with its context and yields events while it writes the plan."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Literal, NamedTuple, Protocol

from planloom.domain.plans.agents import Agent, Perspective
from planloom.domain.plans.attachments import ResolvedAttachment
from planloom.domain.plans.plan import Author, CommandRun, FileRead, Qualification, Risk, Step, Usage
from planloom.domain.plans.validation import Problem
from planloom.domain.values import StepId
from planloom.intake.surroundings.sections import NOWHERE, Surroundings


class PlanningRequest(NamedTuple):
    """The input of a planner.

    `surroundings` are what every prompt of the plan begins with; `finished` are steps that stay unchanged; `feedback`
    is about the draft `previous`, of which the user has edited the steps `edited` by hand; `perspectives` are the
    reports that agents have already made; `unseen` are the names of images that the planner's model does not take.
    """

    text: str
    attachments: tuple[ResolvedAttachment, ...] = ()
    qualification: Qualification | None = None
    surroundings: Surroundings = NOWHERE
    finished: tuple[Step, ...] = ()
    previous: tuple[Step, ...] = ()
    edited: frozenset[StepId] = frozenset()
    feedback: str | None = None
    perspectives: tuple[Perspective, ...] = ()
    model: str | None = None
    unseen: tuple[str, ...] = ()


class PerspectiveStarted(NamedTuple):
    """An agent has begun its report."""

    agent: Agent
    kind: Literal["perspective_started"] = "perspective_started"


class PerspectiveReported(NamedTuple):
    """The report of an agent, or the reason why there is none."""

    agent: Agent
    perspective: Perspective | None = None
    error: str | None = None
    kind: Literal["perspective_reported"] = "perspective_reported"


class ToolUsed(NamedTuple):
    """An agent, or without one the planner, has called a tool; `summary` is for the user."""

    summary: str
    agent: Agent | None = None
    kind: Literal["tool_used"] = "tool_used"


class ThinkingText(NamedTuple):
    """More of a model's text before it writes the plan."""

    text: str
    kind: Literal["thinking"] = "thinking"


class StepDrafted(NamedTuple):
    """A step was read from a plan that is still being written."""

    step: Step
    kind: Literal["step"] = "step"


class DraftText(NamedTuple):
    """More of the text of the plan."""

    text: str
    kind: Literal["text"] = "text"


class RequestUsage(NamedTuple):
    """The usage of one request to a model."""

    usage: Usage
    kind: Literal["usage"] = "usage"


class PlanDrafted(NamedTuple):
    """The complete plan, without errors; `warnings` are for the user who reviews it.

    `estimated_duration` is computed; `stated_duration` is what the model says, in seconds. `files_read` and
    `commands_run` are what its planner has read and run, for the steps.
    """

    steps: tuple[Step, ...]
    summary: str
    sequential: bool
    author: Author
    estimated_duration: int | None = None
    overall_risk: Risk = "low"
    stated_duration: int | None = None
    warnings: tuple[Problem, ...] = ()
    files_read: tuple[FileRead, ...] = ()
    commands_run: tuple[CommandRun, ...] = ()
    kind: Literal["plan"] = "plan"


PlannerEvent = (
    PerspectiveStarted
    | PerspectiveReported
    | ToolUsed
    | ThinkingText
    | StepDrafted
    | DraftText
    | RequestUsage
    | PlanDrafted
)


class Planner(Protocol):
    """Writes plans. Raises ModelFailed, with the raw text if there is any, when the model wrote no plan."""

    def draft(self, request: PlanningRequest) -> AsyncGenerator[PlannerEvent, None]: ...
