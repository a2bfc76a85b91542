"""Limits how many steps use a resource at a time (a path, the model, the terminal), and reports which steps wait."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import NamedTuple

from planloom.domain.plans.plan import Plan, Step
from planloom.domain.values import PlanId, StepId

MODEL = "model"
"""The resource that steps in words and drafts use."""
TERMINAL = "terminal"
"""The resource that all commands use."""
DRAFT = StepId("")
"""The stand-in for a step where the draft of a plan uses a resource."""
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


MOST_WAITS = 20
"""How many waiting steps of a plan are reported."""
Claims = Callable[[Plan, Step], Iterable[str]]
"""Returns the names of the resources that a step needs while it runs."""
Capacity = Callable[[str], int]
"""Returns how many steps may use a resource at a time."""


def _nothing(_plan: Plan, _step: Step) -> tuple[str, ...]:
    return ()


def _one(_resource: str) -> int:
    return 1


class Resources:
    """The resources in use. A step claims all that it needs at once or nothing, which rules out deadlocks."""

    def __init__(
        self, claims: Claims = _nothing, capacity: Capacity = _one, waits: StepWaits | None = None
    ) -> None:
        self._claims = claims
        self._capacity = capacity
        self._waits = waits or StepWaits()
        self._used: Counter[str] = Counter()
        self._held: dict[tuple[PlanId, StepId], tuple[str, ...]] = {}

    def free(self, plan: Plan, step: Step) -> bool:
        """Whether all resources of the step are free now."""
        return all(map(self._has_room, self._claims(plan, step)))

    def report_waits(self, plan: Plan, steps: Iterable[Step]) -> None:
        """Report those of these steps that wait for a resource in use, as all of the plan that wait to start."""
        waits = (self._wait_of(plan, step) for step in steps)
        found = islice((wait for wait in waits if wait is not None), MOST_WAITS)
        self._waits.set_not_started(plan.plan_id, tuple(found))

    def forget_waits(self, plan_id: PlanId) -> None:
        """Report that no step of the plan waits to start."""
        self._waits.set_not_started(plan_id, ())

    def _has_room(self, name: str) -> bool:
        return self._used[name] < max(1, self._capacity(name))

    def _wait_of(self, plan: Plan, step: Step) -> StepWait | None:
        for name in self._claims(plan, step):
            if self._has_room(name):
                continue
            plan_id, step_id = next(user for user, held in self._held.items() if name in held)
            return StepWait(step_id=step.step_id, resource=name, used_by_plan=plan_id, used_by_step=step_id)
        return None

    def claim(self, plan: Plan, step: Step) -> bool:
        """Claim the resources of the step. False, with nothing claimed, if one is in use."""
        wanted = tuple(dict.fromkeys(self._claims(plan, step)))
        if not all(map(self._has_room, wanted)):
            return False
        self._used.update(wanted)
        self._held[(plan.plan_id, step.step_id)] = wanted
        return True

    def claim_for_draft(self, plan_id: PlanId, name: str) -> None:
        """Claim a resource for the draft of a plan, also if it is in use: a draft waits at the resource itself."""
        self._used[name] += 1
        self._held[(plan_id, DRAFT)] = (name,)

    def release(self, plan_id: PlanId, step_id: StepId) -> bool:
        """Release the resources of the step. False if it had none."""
        held = self._held.pop((plan_id, step_id), ())
        self._used.subtract(held)
        for name in held:
            if self._used[name] <= 0:
                del self._used[name]
        return bool(held)
