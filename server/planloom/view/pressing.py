"""Carries out the buttons of a view: for each command on offer the call of the service."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from planloom.domain.errors import InvalidParams, UnknownThing
from planloom.domain.events.catalog import ConflictChoice
from planloom.domain.plans.editing import SkipStep, StepEdit, UnskipStep
from planloom.domain.plans.plan import Plan
from planloom.domain.values import PlanId, StepId
from planloom.service.running.states import ALLOWED

if TYPE_CHECKING:
    from planloom.service.application import Application
    from planloom.view.actions import Button

Action = Callable[..., Coroutine[Any, Any, Any]]


async def press(app: Application, button: Button) -> None:
    """Do what a button says. Raises PlanloomError."""
    await ACTIONS[button.command](app, *button.arguments)


async def skip(app: Application, plan_id: PlanId, step_id: StepId) -> None:
    """Skip a step that has failed, or one that is not at work, by an edit of the plan."""
    plan = current(app, plan_id)
    asked = {recovery.step_id for recovery in plan.pending.recoveries}
    if step_id in asked or "edit" not in ALLOWED[plan.status]:
        await app.steps.recover(plan_id, step_id, "skip", None)
    else:
        await _edit(app, plan, SkipStep(step_id=step_id))


def current(app: Application, plan_id: PlanId) -> Plan:
    """A plan as it is now. Raises UnknownThing, PlanElsewhere, StorageFailed."""
    plan = app.plans.get(plan_id, None)
    assert plan is not None, "get() with an id returns a plan or raises"
    return plan


async def _edit(app: Application, plan: Plan, edit: StepEdit) -> None:
    await app.plans.edit(plan.plan_id, plan.version, (edit,))


async def _unskip(app: Application, plan_id: PlanId, step_id: StepId) -> None:
    await _edit(app, current(app, plan_id), UnskipStep(step_id=step_id))


async def _restore(app: Application, plan_id: PlanId, version: int) -> Plan:
    return await app.plans.restore(plan_id, current(app, plan_id).version, version)


async def _regenerate(app: Application, plan_id: PlanId) -> None:
    await app.plans.regenerate(plan_id, current(app, plan_id).version, None)


async def _respond(
    app: Application, approval_id: Any, decision: Any, reason: Any = None, rights: Any = None
) -> None:
    """Answer an approval; `rights` is the label of those that its command is to get instead of what was shown."""
    chosen = None
    if rights is not None:
        request = app.approvals.pending(approval_id).confinement
        offers = () if request is None else request.offers
        chosen = next((each.chosen for each in offers if each.label == rights), None)
        if chosen is None:
            problem = f"there are no rights {rights!r} to choose"
            raise InvalidParams(f"T{problem[1:]}.", details=[{"field": "rights", "problem": problem}])
    await app.approvals.respond(approval_id, decision, reason, None, chosen)


async def _respond_all(app: Application, plan_id: PlanId, list_id: str, decision: Any) -> None:
    for each in current(app, plan_id).pending.approvals:
        if each.listed is not None and each.listed.list_id == list_id:
            # An answer to one may withdraw others.
            with suppress(UnknownThing):
                await app.approvals.respond(each.approval_id, decision, None, None)


async def _resolve(app: Application, plan_id: PlanId, edit_id: Any, choice: Any) -> None:
    conflicts = current(app, plan_id).pending.conflicts
    files = next((each.files for each in conflicts if each.edit_id == edit_id), ())
    choices = tuple(ConflictChoice(uri=file.uri, choice=choice) for file in files)
    await app.approvals.resolve_conflict(plan_id, edit_id, choices)


ACTIONS: Final[dict[str, Action]] = {
    "planloom.approve": lambda app, plan, version: app.plans.approve(plan, version, None),
    "planloom.reject": lambda app, plan, reason=None: app.plans.reject(plan, reason),
    "planloom.direct": lambda app, plan: app.plans.direct(plan),
    "planloom.saveFiles": lambda app, plan: app.save_and_resume(plan),
    "planloom.pause": lambda app, plan: app.plans.pause(plan),
    "planloom.resume": lambda app, plan: app.plans.resume(plan),
    "planloom.review": lambda app, plan: app.plans.review(plan),
    "planloom.cancel": lambda app, plan: app.plans.cancel(plan),
    "planloom.regenerate": _regenerate,
    "planloom.restore": _restore,
    "planloom.respondAll": _respond_all,
    "planloom.respond": _respond,
    "planloom.answer": lambda app, plan, step, answer: app.steps.answer(plan, step, answer),
    "planloom.recover": lambda app, plan, step, action: app.steps.recover(plan, step, action, None),
    "planloom.resolve": _resolve,
    "planloom.skipStep": skip,
    "planloom.unskipStep": _unskip,
    "planloom.undo": lambda app, plan, step=None: app.plans.undo(plan, step, False),
    "planloom.redo": lambda app, plan, step=None: app.plans.undo(plan, step, True),
}
"""Each command of a button that a question can have, with what it does."""
