"""What a person can do to the steps of a plan under review, as values (PROTOCOL.md, StepEdit)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from planloom.domain.perspectives import Agent
from planloom.domain.plan import Check, Priority, StepKind
from planloom.domain.values import Args, AttachmentId, StepId, Value


class StepFields(Value):
    """The fields of a step that a person may set; one that is not set stays as it is.

    `model_fields_set` tells a field that was set to None (take the tool away) from one that was left out.
    """

    description: str | None = None
    instruction: str | None = None
    active_form: str | None = None
    tool: str | None = None
    args: Args | None = None
    depends_on: tuple[StepId, ...] | None = None
    agent: Agent | None = None
    priority: Priority | None = None
    critical: bool | None = None
    kind: StepKind | None = None
    question: str | None = None
    checks: tuple[Check, ...] | None = None
    expected_files: tuple[str, ...] | None = None
    attachments: tuple[AttachmentId, ...] | None = None
    when: str | None = None
    for_each: str | None = None


class NewStep(StepFields):
    """A step to add; later edits of the same batch can name its id."""

    description: str
    step_id: StepId | None = None


class UpdateStep(Value):
    """Set some fields of a step."""

    op: Literal["update"] = "update"
    step_id: StepId
    set: StepFields


class AddStep(Value):
    """Add a step after another, first if `after` is None, last if it was left out (`append`)."""

    op: Literal["add"] = "add"
    after: StepId | None = None
    append: bool = False
    step: NewStep


class RemoveStep(Value):
    """Take a step away."""

    op: Literal["remove"] = "remove"
    step_id: StepId


class MoveStep(Value):
    """Put a step after another, first if `after` is None."""

    op: Literal["move"] = "move"
    step_id: StepId
    after: StepId | None = None


class SkipStep(Value):
    """Do not run a step."""

    op: Literal["skip"] = "skip"
    step_id: StepId


class UnskipStep(Value):
    """Run a skipped step after all."""

    op: Literal["unskip"] = "unskip"
    step_id: StepId


StepEdit = Annotated[
    UpdateStep | AddStep | RemoveStep | MoveStep | SkipStep | UnskipStep, Field(discriminator="op")
]
step_edits: TypeAdapter[tuple[StepEdit, ...]] = TypeAdapter(tuple[StepEdit, ...])
