"""What only so many steps may use at a time, across all plans of the server: paths, the model, the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from planloom.domain.plans.plan import Plan, Step
from planloom.domain.values import PlanId, StepId

Claims = Callable[[Plan, Step], Iterable[str]]
"""The names of the resources that a step needs while it runs."""
Capacity = Callable[[str], int]
"""How many steps may use a resource at a time."""


def _nothing(_plan: Plan, _step: Step) -> tuple[str, ...]:
    return ()


def _one(_resource: str) -> int:
    return 1


class Resources:
    """Who uses what. A step takes everything it needs at once or nothing, so that none waits in a circle."""

    def __init__(self, claims: Claims = _nothing, capacity: Capacity = _one) -> None:
        self._claims = claims
        self._capacity = capacity
        self._used: Counter[str] = Counter()
        self._held: dict[tuple[PlanId, StepId], tuple[str, ...]] = {}

    def free(self, plan: Plan, step: Step) -> bool:
        """Whether the step could take what it needs now."""
        return all(self._used[name] < max(1, self._capacity(name)) for name in self._claims(plan, step))

    def take(self, plan: Plan, step: Step) -> bool:
        """Take what the step needs. False, with nothing taken, if some of it is in use."""
        wanted = tuple(dict.fromkeys(self._claims(plan, step)))
        if any(self._used[name] >= max(1, self._capacity(name)) for name in wanted):
            return False
        self._used.update(wanted)
        self._held[(plan.plan_id, step.step_id)] = wanted
        return True

    def give_back(self, plan_id: PlanId, step_id: StepId) -> bool:
        """Give back what the step took. False if it had taken nothing."""
        held = self._held.pop((plan_id, step_id), ())
        self._used.subtract(held)
        for name in held:
            if self._used[name] <= 0:
                del self._used[name]
        return bool(held)
