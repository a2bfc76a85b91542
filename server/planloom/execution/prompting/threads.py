"""Keeps the native conversations of running plans in memory, so that a step continues what earlier steps have seen."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, NamedTuple

from planloom.agent.conversation import NEW_THREAD, Thread
from planloom.agent.prompts import USER_MESSAGE
from planloom.domain.plans.graph import ready
from planloom.domain.plans.plan import Plan
from planloom.domain.values import PlanId, StepId
from planloom.models.port import ModelIdentity

_MOST_PLANS: Final = 8


class _Begun(NamedTuple):
    """A running step's thread as it began, and the plan's thread at that time."""

    thread: Thread
    shared: Thread


@dataclass
class _PlanThreads:
    """`planner` is the model in whose conversation the plan was made; `leading` the step that runs what was written
    for it ahead.
    """

    shared: Thread
    own: dict[StepId, _Begun]
    planner: ModelIdentity | None = None
    leading: StepId | None = None


class PlanThreads:
    """Each plan has one shared thread, which grows by every step that completes.

    It begins with the conversation in which the plan was made, if there is one. Steps that run side by side begin with
    the same thread, so that the prefix is cached; only the first of them to complete extends it. Where the model has
    written the work of a later step already, that step leads: the others begin when it has ended. A step that stops
    before it is done continues its own thread when it runs again, unless `forget_own` was called, because its thread
    shows changes that were not made. Only the threads of the latest plans are kept, and a restart of the server loses
    all.
    """

    def __init__(self) -> None:
        self._plans: OrderedDict[PlanId, _PlanThreads] = OrderedDict()

    def planned(self, plan_id: PlanId, thread: Thread, planner: ModelIdentity) -> None:
        """Begin the plan's shared thread with the conversation in which a model has made the plan."""
        plan = self._plan(plan_id)
        plan.shared, plan.own, plan.planner = thread, {}, planner

    def planning(self, plan_id: PlanId, planner: ModelIdentity, most_characters: int) -> Thread:
        """The conversation in which this model has made the plan, for it to be revised there; else a new one."""
        plan = self._plans.get(plan_id)
        if (
            plan is None
            or plan.shared.planned is None
            or plan.shared.steps
            or not _same(plan.planner, planner)
        ):
            return NEW_THREAD
        return plan.shared if _characters(plan.shared) <= most_characters else NEW_THREAD

    def begin(self, plan: Plan, step_id: StepId, model: ModelIdentity, most_characters: int) -> Thread:
        """The thread that a step continues: its own, else the shared one unless that is longer than this.

        A plan that follows an ended one begins with that one's shared thread, if it is still kept. Another model
        than the planner's begins anew, since it has nothing of the planning in its cache.
        """
        if plan.plan_id not in self._plans and plan.follows is not None and plan.follows in self._plans:
            self._plan(plan.plan_id).shared = _continued(self._plans[plan.follows].shared)
        threads = self._plan(plan.plan_id)
        if step_id not in threads.own:
            thread = threads.shared
            fits = _characters(thread) <= most_characters
            if thread.planned is not None and not _same(threads.planner, model):
                fits = False
            if thread.ahead is not None and thread.ahead.steps[0] == step_id:
                threads.shared, threads.leading = thread._replace(ahead=None), step_id
            else:
                thread = thread._replace(ahead=None)
            threads.own[step_id] = _Begun(thread if fits else NEW_THREAD, threads.shared)
        return threads.own[step_id].thread

    def leading(self, plan: Plan) -> StepId | None:
        """The step whose work a model has written ahead; no other step of a model begins before it has ended."""
        threads = self._plans.get(plan.plan_id)
        if threads is None:
            return None
        if threads.leading is not None:
            return threads.leading
        ahead = threads.shared.ahead
        step = None if ahead is None or ahead.version != plan.version else plan.step(ahead.steps[0])
        may_run = step is not None and (step.status == "running" or step.step_id in ready(plan))
        return step.step_id if step is not None and may_run else None

    def has_own(self, plan_id: PlanId, step_id: StepId) -> bool:
        """Whether the step continues a thread of its own."""
        plan = self._plans.get(plan_id)
        return plan is not None and step_id in plan.own

    def forget_own(self, plan_id: PlanId, step_id: StepId) -> None:
        """Begin the step's next run with the shared thread."""
        if plan_id in self._plans:
            self._plans[plan_id].own.pop(step_id, None)

    def end(self, plan_id: PlanId, step_id: StepId, thread: Thread, *, done: bool) -> None:
        """Keep a step's thread: as the shared one if it is done and no other step has extended that meanwhile."""
        plan = self._plan(plan_id)
        begun = plan.own.pop(step_id, _Begun(NEW_THREAD, NEW_THREAD))
        if plan.leading == step_id:
            plan.leading = None
        if not done:
            plan.own[step_id] = _Begun(thread, begun.shared)
        elif plan.shared is begun.shared or thread.ahead is not None:
            plan.shared = thread._replace(steps=thread.steps | {step_id})

    def _plan(self, plan_id: PlanId) -> _PlanThreads:
        plan = self._plans.setdefault(plan_id, _PlanThreads(NEW_THREAD, {}))
        self._plans.move_to_end(plan_id)
        while len(self._plans) > _MOST_PLANS:
            self._plans.popitem(last=False)
        return plan


def _continued(thread: Thread) -> Thread:
    """The thread as another plan continues it: its steps, messages and planning are not those of that plan."""
    sent = {name: each for name, each in thread.sent.items() if not name.startswith(USER_MESSAGE)}
    return thread._replace(sent=MappingProxyType(sent), steps=frozenset(), ahead=None, planned=None)


def _same(one: ModelIdentity | None, other: ModelIdentity) -> bool:
    return one is not None and (one.provider, one.name) == (other.provider, other.name)


def _characters(thread: Thread) -> int:
    """The size of a thread."""
    return sum(
        len(message.text) + sum(len(str(call.arguments)) for call in message.tool_calls)
        for message in thread.messages
    )
