"""Turns what clients say into the words of the domain and the service."""

from __future__ import annotations

from typing import Literal, assert_never

from planloom.domain import editing
from planloom.domain.editing import StepChanges, StepEdit
from planloom.domain.events import ConflictChoice
from planloom.domain.plan import Check
from planloom.domain.text import Position, Range
from planloom.domain.values import SessionId, StepId, TemplateId, Uri
from planloom.intake.reference_sources import Context, Requested
from planloom.lsp import wire_base, wire_edits, wire_params, wire_plan
from planloom.service.requests import CreateRequest


def create_request(params: wire_params.CreateParams) -> CreateRequest:
    """A request for a plan."""
    return CreateRequest(
        text=params.text,
        mode=params.mode or "auto",
        context=context(params.context),
        attachments=tuple(
            Requested(uri=Uri(given.uri), range=given.range and range_(given.range), label=given.label)
            for given in params.attachments or ()
        ),
        confirmed=params.confirmed or (),
        session_id=params.session_id and SessionId(params.session_id),
        template_id=params.template_id and TemplateId(params.template_id),
        parameters=params.parameters or {},
    )


def context(given: wire_params.Context | None) -> Context | None:
    """Where the user was."""
    if given is None:
        return None
    return Context(
        uri=given.uri and Uri(given.uri),
        selections=tuple(range_(selection) for selection in given.selections or ()),
    )


def range_(given: wire_base.Range) -> Range:
    """A range, still in the client's units."""
    return Range(
        start=Position(line=given.start.line, character=given.start.character),
        end=Position(line=given.end.line, character=given.end.character),
    )


def step_edit(edit: wire_edits.StepEdit) -> StepEdit:
    """One edit of a plan's steps. A field that was not given stays not given."""
    match edit:
        case wire_edits.UpdateStep():
            return editing.UpdateStep(step_id=StepId(edit.step_id), set=_changes(edit.set))
        case wire_edits.AddStep():
            return _added(edit)
        case wire_edits.RemoveStep():
            return editing.RemoveStep(step_id=StepId(edit.step_id))
        case wire_edits.MoveStep():
            return editing.MoveStep(step_id=StepId(edit.step_id), after=edit.after and StepId(edit.after))
        case wire_edits.SkipStep():
            return editing.SkipStep(step_id=StepId(edit.step_id))
        case wire_edits.UnskipStep():
            return editing.UnskipStep(step_id=StepId(edit.step_id))
        case _:
            assert_never(edit)


def conflict_choice(given: wire_params.FileChoice) -> ConflictChoice:
    """Which text a conflicted file gets."""
    return ConflictChoice(uri=Uri(given.uri), choice=given.choice, text=given.text)


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
    cleared = tuple(sorted(name for name, value in given.items() if value is None))
    if "checks" in given:
        given["checks"] = tuple(_check(check) for check in fields.checks)
    return StepChanges.model_validate({**given, "cleared": cleared})


def _check(check: wire_plan.Check) -> Check:
    return Check(
        kind=check.kind,
        path=check.path,
        text=check.text,
        command=check.command,
        outcome=check.outcome,
        detail=check.detail,
    )
