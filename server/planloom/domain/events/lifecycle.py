"""The one place where a status changes: folds an event into a plan, or says that it cannot happen now.

Each event has one rule, a function of its name in a `fold_…` module, which is found by the event's class.
"""

from __future__ import annotations

from planloom.domain.events import catalog as ev

# Each of these declares its rules when it is imported.
from planloom.domain.events import fold_draft, fold_effects, fold_status, fold_steps  # noqa: F401
from planloom.domain.events.folding import RULES, IllegalTransition, updated, with_waits
from planloom.domain.plans.plan import Plan
from planloom.domain.values import PlanId, SessionId

# Plans are only ever folded from events, which are valid: the validator of a plan, the largest of all, is never built.
_EMPTY = Plan.model_construct(plan_id=PlanId(""), session_id=SessionId(""))


def apply(plan: Plan | None, recorded: ev.Recorded) -> Plan:
    """The plan after one event; `plan` is None before `plan_start`.

    Raises IllegalTransition if the event cannot happen now or its `seq` is not the next one.
    """
    event = recorded.event
    if isinstance(event, ev.PlanStart):
        return _started(plan, recorded, event)
    if plan is None or recorded.plan_id != plan.plan_id:
        raise IllegalTransition(f"{event.type} happened to an unknown plan")
    if recorded.seq != plan.seq + 1:
        raise IllegalTransition(f"{event.type} is number {recorded.seq} after {plan.seq}")
    rule = RULES[type(event)]
    if plan.status not in rule.when:
        raise IllegalTransition(f"{event.type} cannot happen to a plan that is {plan.status}")
    folded = with_waits(plan, rule.fold(plan, event, recorded.at), recorded.at)
    return folded.model_copy(update={"seq": recorded.seq, "updated_at": recorded.at})


def _started(plan: Plan | None, recorded: ev.Recorded, event: ev.PlanStart) -> Plan:
    if plan is not None or recorded.seq != 1:
        raise IllegalTransition("plan_start happens once, first")
    return updated(
        _EMPTY,
        plan_id=recorded.plan_id,
        session_id=recorded.session_id,
        seq=1,
        workspace_folders=event.workspace_folders,
        request=event.request,
        follows=event.follows,
        attachments=event.attachments,
        unresolved=event.unresolved,
        detection=event.detection,
        qualification=event.qualification,
        route=event.route,
        template_id=event.template_id,
        template_parameters=event.template_parameters,
        created_at=recorded.at,
        updated_at=recorded.at,
    )
