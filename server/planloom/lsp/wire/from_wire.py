"""Builds the values of the domain and the service from what clients send."""

from __future__ import annotations

from typing import Literal

from pydantic import TypeAdapter

from planloom.domain.events.catalog import ConflictChoice
from planloom.domain.plans import editing
from planloom.domain.plans.editing import StepChanges, StepEdit
from planloom.domain.values import StepId
from planloom.intake.reference_sources import Context
from planloom.lsp.wire import edits as wire_edits
from planloom.lsp.wire import params as wire_params
from planloom.service.requests import CreateRequest

_SAME: TypeAdapter[editing.RemoveStep | editing.MoveStep | editing.SkipStep | editing.UnskipStep] = (
    TypeAdapter(editing.RemoveStep | editing.MoveStep | editing.SkipStep | editing.UnskipStep)
)
"""Reads the edits that have the same fields in the domain and on the wire."""


def create_request(params: wire_params.CreateParams) -> CreateRequest:
    """A request for a plan. A field that is null counts as left out."""
    return CreateRequest.model_validate(params.model_dump(exclude_none=True))


def context(given: wire_params.Context | None) -> Context | None:
    """Where the user was."""
    return None if given is None else Context.model_validate(given.model_dump(exclude_none=True))


def conflict_choice(given: wire_params.FileChoice) -> ConflictChoice:
    """Which text a conflicted file gets."""
    return ConflictChoice.model_validate(given.model_dump(exclude_none=True))


def step_edit(edit: wire_edits.StepEdit) -> StepEdit:
    """One edit of a plan's steps. A field that was not given stays not given."""
    match edit:
        case wire_edits.UpdateStep():
            return editing.UpdateStep(step_id=StepId(edit.step_id), set=_changes(edit.set))
        case wire_edits.AddStep():
            return _added(edit)
        case _:
            return _SAME.validate_python(edit.model_dump())


def _added(edit: wire_edits.AddStep) -> editing.AddStep:
    if "after" not in edit.model_fields_set:
        place: Literal["first", "after", "last"] = "last"
    else:
        place = "first" if edit.after is None else "after"
    return editing.AddStep(
        place=place,
        after=None if edit.after is None else StepId(edit.after),
        step_id=StepId(edit.step.step_id) if "step_id" in edit.step.model_fields_set else None,
        step=_changes(edit.step),
    )


def _changes(fields: wire_edits.StepFields) -> StepChanges:
    """The fields that were given; those given as null are emptied."""
    given = {name: getattr(fields, name) for name in fields.model_fields_set if name != "step_id"}
    cleared = sorted(name for name, value in given.items() if value is None)
    return StepChanges.model_validate({**given, "cleared": cleared}, from_attributes=True)
