"""Keeps the native conversations of running plans in memory, so that a step continues what earlier steps have seen."""

from __future__ import annotations

from typing import NamedTuple

from planloom.agent.conversation import NEW_THREAD, Thread
from planloom.domain.values import PlanId, StepId


class _Begun(NamedTuple):
    """A running step's thread as it began, and the plan's thread at that time."""

    thread: Thread
    shared: Thread


class PlanThreads:
    """Each plan has one shared thread, which grows by every step that completes.

    Steps that run side by side begin with the same thread, so that the prefix is cached; only the first of them to
    complete extends it. A step that stops before it is done continues its own thread when it runs again. After a
    restart of the server every thread is new.
    """

    def __init__(self) -> None:
        self._shared: dict[PlanId, Thread] = {}
        self._own: dict[PlanId, dict[StepId, _Begun]] = {}

    def begin(self, plan_id: PlanId, step_id: StepId, *, most_characters: int) -> Thread:
        """The thread that a step continues: its own, else the shared one unless that is longer than this."""
        own = self._own.setdefault(plan_id, {})
        if step_id in own:
            return own[step_id].thread
        shared = self._shared.get(plan_id, NEW_THREAD)
        fits = characters(shared) <= most_characters
        own[step_id] = _Begun(shared if fits else NEW_THREAD, shared)
        return own[step_id].thread

    def end(self, plan_id: PlanId, step_id: StepId, thread: Thread, *, done: bool) -> None:
        """Keep a step's thread: as the shared one if it is done and no other step has extended that meanwhile."""
        own = self._own.setdefault(plan_id, {})
        begun = own.pop(step_id, _Begun(NEW_THREAD, NEW_THREAD))
        if not done:
            own[step_id] = _Begun(thread, begun.shared)
        elif self._shared.get(plan_id, NEW_THREAD) is begun.shared:
            self._shared[plan_id] = thread._replace(steps=thread.steps | {step_id})

    def forget(self, plan_id: PlanId) -> None:
        """Forget a plan's threads."""
        self._shared.pop(plan_id, None)
        self._own.pop(plan_id, None)


def characters(thread: Thread) -> int:
    """The size of a thread."""
    return sum(
        len(message.text) + sum(len(str(call.arguments)) for call in message.tool_calls)
        for message in thread.messages
    )
