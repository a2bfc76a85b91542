"""Converts wire models from clients into values of the domain and the service."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import TypeAdapter

from planloom.domain.events.catalog import ConflictChoice
from planloom.domain.plans import editing
from planloom.domain.plans.editing import StepChanges, StepEdit
from planloom.domain.safety.confinement import Confinement
from planloom.domain.values import WHEN_USED, StepId, Uri
from planloom.execution.effects.edited_proposals import ProposalEdit
from planloom.intake.reference_sources import Context
from planloom.lsp.wire import edits as wire_edits
from planloom.lsp.wire import review as wire_review
from planloom.service.requests import Attached, CreateRequest

if TYPE_CHECKING:
    from planloom.lsp.wire.methods import decisions, plans

_SAME_FIELDS: TypeAdapter[editing.RemoveStep | editing.MoveStep | editing.SkipStep | editing.UnskipStep] = (
    TypeAdapter(
        editing.RemoveStep | editing.MoveStep | editing.SkipStep | editing.UnskipStep, config=WHEN_USED
    )
)
"""Parses the edits that have the same fields in the domain and on the wire."""


def create_request(params: plans.CreateParams) -> CreateRequest:
    """A request for a plan; a field that is null counts as left out."""
    return CreateRequest.model_validate(params.model_dump(exclude_none=True))


def attached(params: plans.MessageParams) -> Attached:
    """The attachments of a message besides the references in its text."""
    return Attached.model_validate(params.model_dump(exclude_none=True, exclude={"plan_id", "text"}))


def context(wire: wire_review.Context | None) -> Context | None:
    """The user's active document and selections."""
    return None if wire is None else Context.model_validate(wire.model_dump(exclude_none=True))


def conflict_choice(choice: decisions.FileChoice) -> ConflictChoice:
    """The text that a conflicted file gets."""
    return ConflictChoice.model_validate(choice.model_dump(exclude_none=True))


def confinement(choice: wire_review.Confinement | None) -> Confinement | None:
    """The confinement that the user has chosen for a command."""
    return None if choice is None else Confinement.model_validate(choice.model_dump(exclude_none=True))


def proposal_edit(edit: decisions.ProposalEdit) -> ProposalEdit:
    """The text that a file is to get instead of the proposed one."""
    return ProposalEdit(uri=Uri(edit.uri), text=edit.text, before=edit.before)


def step_edit(edit: wire_edits.StepEdit) -> StepEdit:
    """One edit of a plan's steps; a field that is not set on the wire stays unset."""
    match edit:
        case wire_edits.UpdateStep():
            return editing.UpdateStep(step_id=StepId(edit.step_id), set=_changes(edit.set))
        case wire_edits.AddStep():
            return _add_step(edit)
        case _:
            return _SAME_FIELDS.validate_python(edit.model_dump())


def _add_step(edit: wire_edits.AddStep) -> editing.AddStep:
    if "after" not in edit.model_fields_set:
        position: Literal["first", "after", "last"] = "last"
    else:
        position = "first" if edit.after is None else "after"
    return editing.AddStep(
        place=position,
        after=None if edit.after is None else StepId(edit.after),
        step_id=StepId(edit.step.step_id) if "step_id" in edit.step.model_fields_set else None,
        step=_changes(edit.step),
    )


def _changes(fields: wire_edits.StepFields) -> StepChanges:
    """The fields that are set; `cleared` names those that are null."""
    values = {name: getattr(fields, name) for name in fields.model_fields_set if name != "step_id"}
    cleared = sorted(name for name, value in values.items() if value is None)
    return StepChanges.model_validate({**values, "cleared": cleared}, from_attributes=True)
