"""Reports which steps wait for a resource that another step uses: a path, the model, the terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from planloom.domain.values import PlanId, StepId

MODEL = "model"
"""The resource that steps in words and drafts use."""
TERMINAL = "terminal"
"""The resource that all commands use."""
DRAFT = StepId("")
"""What stands for a step where the draft of a plan uses a resource."""
User = tuple[PlanId, StepId]
"""A step that uses a resource."""


class StepWait(NamedTuple):
    """A step that waits for a resource, by its name, and the step that uses it, which may be `DRAFT`."""

    step_id: StepId
    resource: str
    used_by_plan: PlanId
    used_by_step: StepId


UsedBy = Callable[[User], None]
WaitListener = Callable[[PlanId, tuple[StepWait, ...]], None]


class StepWaits:
    """The waits of all plans. Listeners receive all waits of a plan at each change of them."""

    def __init__(self) -> None:
        self._not_started: dict[PlanId, tuple[StepWait, ...]] = {}
        self._running: dict[User, StepWait] = {}
        self._reported: dict[PlanId, tuple[StepWait, ...]] = {}
        self._listeners: list[WaitListener] = []

    def listen(self, listener: WaitListener) -> None:
        """Call the listener at each change."""
        self._listeners.append(listener)

    def set_not_started(self, plan_id: PlanId, waits: tuple[StepWait, ...]) -> None:
        """Set which steps of a plan do not start since they wait."""
        self._not_started.pop(plan_id, None)
        if waits:
            self._not_started[plan_id] = waits
        self._report(plan_id)

    @contextmanager
    def waiting(self, waiter: User, resource: str) -> Iterator[UsedBy]:
        """Report that a running step waits for a resource, for as long as the context is open.

        It is reported when the function that this yields is called with the step that uses the resource, and again
        when it is called with another one.
        """
        plan_id, step_id = waiter

        def used_by(user: User) -> None:
            used_by_plan, used_by_step = user
            self._running[waiter] = StepWait(
                step_id=step_id, resource=resource, used_by_plan=used_by_plan, used_by_step=used_by_step
            )
            self._report(plan_id)

        try:
            yield used_by
        finally:
            self._running.pop(waiter, None)
            self._report(plan_id)

    def _report(self, plan_id: PlanId) -> None:
        running = (wait for (of, _), wait in self._running.items() if of == plan_id)
        waits = (*running, *self._not_started.get(plan_id, ()))
        if waits == self._reported.get(plan_id, ()):
            return
        self._reported.pop(plan_id, None)
        if waits:
            self._reported[plan_id] = waits
        for listener in tuple(self._listeners):
            listener(plan_id, waits)
