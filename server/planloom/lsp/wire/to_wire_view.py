"""Builds the wire models of views, and the patch between two views."""

from __future__ import annotations

from typing import Any

from planloom.lsp.wire import to_wire
from planloom.lsp.wire import view as wire
from planloom.view.plan_view import PlanView
from planloom.view.step.steps import StepView

Json = dict[str, Any]


def whole(view: PlanView) -> wire.PlanView:
    """The whole view."""
    return wire.PlanView.of(view, **_computed(view), steps=tuple(map(_step, view.steps)))


def head(view: PlanView) -> Json:
    """The view without its steps, as JSON."""
    return wire.PlanHead.of(view, **_computed(view)).json_value()


def patch(before: PlanView, after: PlanView, head_before: Json, head_after: Json) -> wire.ViewPatch | None:
    """The patch between two views, with the heads of both; None if nothing differs."""
    known = {each.step.step_id: each for each in before.steps}
    order = tuple(each.step.step_id for each in after.steps)
    steps = [each for each in after.steps if not _is_same(known.get(each.step.step_id), each)]
    plan = _difference(head_before["plan"], head_after["plan"])
    rest = _difference(head_before, head_after)
    rest.pop("plan", None)
    found = wire.ViewPatch(
        plan=plan or None,
        head=rest or None,
        steps=tuple(map(_step, steps)),
        order=None if order == tuple(known) else order,
    )
    is_empty = found.plan is None and found.head is None and not steps and found.order is None
    return None if is_empty else found


def _is_same(before: StepView | None, after: StepView) -> bool:
    """Whether a step looks as before; most have the same values, which are compared by what they are first."""
    return before is not None and (before.step is after.step or before.step == after.step) and before == after


def _difference(before: Json, after: Json) -> Json:
    """The fields that differ; None for those that are left out now."""
    gone = {name: None for name in before if name not in after}
    return gone | {name: value for name, value in after.items() if before.get(name) != value}


def _computed(view: PlanView) -> dict[str, Any]:
    plan = view.plan
    return {
        "plan": to_wire.plan(plan, ()),
        "answer": plan.answer,
        "unresolved": plan.unresolved,
    }


def _step(view: StepView) -> wire.StepView:
    return wire.StepView.of(
        view, step=to_wire.shown_step(view.step, view.number - 1, view.status, view.blocks)
    )
