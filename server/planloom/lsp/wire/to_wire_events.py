"""Builds the wire model of a recorded event; some events also carry values of the plan after them."""

from __future__ import annotations

from typing import Any

from planloom.domain.events import catalog as ev
from planloom.domain.plans.editing import AddStep, StepChanges, StepEdit, UpdateStep
from planloom.domain.plans.plan import Plan
from planloom.lsp.wire import edits as wire
from planloom.lsp.wire import to_wire as to
from planloom.lsp.wire.declared_events import OfPlan
from planloom.lsp.wire.events import message
from planloom.lsp.wire.plan import Check


def event(recorded: ev.Recorded, after: Plan) -> OfPlan:
    """The message of one event; `after` is the plan with this event folded in."""
    happened = recorded.event
    return message(type(happened)).of(
        happened,
        seq=recorded.seq,
        plan_id=recorded.plan_id,
        session_id=recorded.session_id,
        at=recorded.at,
        **_computed(happened, after),
    )


def _computed(happened: ev.Event, after: Plan) -> dict[str, object]:
    """The fields that come from the plan; most events have none."""
    match happened:
        case ev.PlanDirect() | ev.PlanReady() | ev.PlanApprovalRequest():
            return {"plan": to.plan(after)}
        case ev.PlanEdited():
            return {"plan": to.plan(after), "edits": tuple(step_edit(edit) for edit in happened.edits)}
        case ev.PlanCompleted() | ev.PlanCancelled() | ev.PlanFailed():
            return {"progress": to.progress(after), "usage": after.usage}
        case ev.StepStarted():
            step = after.step(happened.step_id)
            return (
                {} if step is None else {"active_form": step.active_title or None, "attempt": step.attempts}
            )
        case ev.StepsList() | ev.StepsUnrolled():
            return {"tasks": to.steps(after)}
        case ev.StepCreated():
            return {"step": to.step(after, after.step(happened.step.step_id) or happened.step)}
        case ev.RecoveryRequest():
            return {"proposal": happened.proposal and to.recovery_proposal(after, happened.proposal)}
        case _:
            return {}


def step_edit(edit: StepEdit) -> wire.StepEdit:
    """An edit of the steps; only the fields that were set are written."""
    if isinstance(edit, UpdateStep):
        return wire.UpdateStep(
            step_id=edit.step_id, set=wire.StepFields.model_validate(_set_fields(edit.set))
        )
    if isinstance(edit, AddStep):
        step_id = {} if edit.step_id is None else {"step_id": edit.step_id}
        step = wire.NewStep.model_validate({**_set_fields(edit.step), **step_id})
        return wire.AddStep(step=step) if edit.place == "last" else wire.AddStep(after=edit.after, step=step)
    if edit.op == "move":
        return wire.MoveStep(step_id=edit.step_id, after=edit.after)
    if edit.op == "remove":
        return wire.RemoveStep(step_id=edit.step_id)
    if edit.op == "skip":
        return wire.SkipStep(step_id=edit.step_id)
    return wire.UnskipStep(step_id=edit.step_id)


def _set_fields(changes: StepChanges) -> dict[str, Any]:
    fields = {name: value for name, value in changes if value is not None and name != "cleared"}
    if changes.checks is not None:
        fields["checks"] = tuple(Check.of(check) for check in changes.checks)
    return {**fields, **dict.fromkeys(changes.cleared)}
