"""The edits of a plan's steps on the wire."""

from typing import Annotated, Any, Literal

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer
from pydantic.alias_generators import to_camel

from planloom.lsp.wire.base import Bool, Closed, Int, Wire
from planloom.lsp.wire.plan import Agent, Args, Check, ExpectedTool, Priority, StepKind


class StepFields(Closed):
    """Fields to set. A field that is left out stays as it is; null clears a field that may be empty."""

    description: str = ""
    instruction: str = ""
    active_form: str = ""
    tool: str | None = None
    args: Args | None = None
    depends_on: tuple[str, ...] = ()
    agent: Agent = "koda"
    priority: Priority = "normal"
    critical: Bool = False
    kind: StepKind = "processing"
    question: str | None = None
    checks: tuple[Check, ...] = ()
    expected_files: tuple[str, ...] = ()
    tools_to_execute: tuple[ExpectedTool, ...] = ()
    attachments: tuple[str, ...] = ()
    when: str | None = None
    for_each: str | None = None
    repeat_until: str | None = None
    repeat_most: Int | None = None
    template_id: str | None = None

    @model_serializer(mode="wrap")
    def _only_set_fields(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        present = {to_camel(name) for name in self.model_fields_set}
        return {name: value for name, value in write(self).items() if name in present}


class NewStep(StepFields):
    """A step to add; later edits of the same batch can refer to its id."""

    description: str
    step_id: Annotated[str, Field(min_length=1)] = ""


class UpdateStep(Wire):
    """Set some fields of a step."""

    op: Literal["update"] = "update"
    step_id: str
    set: StepFields


class AddStep(Wire):
    """Add a step: first if `after` is null, last if `after` is left out."""

    op: Literal["add"] = "add"
    after: str | None = None
    step: NewStep

    @model_serializer(mode="wrap")
    def _only_set_fields(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        written: dict[str, Any] = write(self)
        if "after" not in self.model_fields_set:
            del written["after"]
        return written


class RemoveStep(Wire):
    """Remove a step."""

    op: Literal["remove"] = "remove"
    step_id: str


class MoveStep(Wire):
    """Move a step behind another one, or to the front if `after` is null."""

    op: Literal["move"] = "move"
    step_id: str
    after: str | None


class SkipStep(Wire):
    """Skip a step."""

    op: Literal["skip"] = "skip"
    step_id: str


class UnskipStep(Wire):
    """Undo the skip of a step."""

    op: Literal["unskip"] = "unskip"
    step_id: str


StepEdit = Annotated[
    UpdateStep | AddStep | RemoveStep | MoveStep | SkipStep | UnskipStep, Field(discriminator="op")
]
