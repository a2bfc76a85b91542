"""Limits how many steps of all plans use a resource at a time: a path, the model, the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from planloom.domain.plans.plan import Plan, Step
from planloom.domain.values import PlanId, StepId

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

    def __init__(self, claims: Claims = _nothing, capacity: Capacity = _one) -> None:
        self._claims = claims
        self._capacity = capacity
        self._used: Counter[str] = Counter()
        self._held: dict[tuple[PlanId, StepId], tuple[str, ...]] = {}

    def free(self, plan: Plan, step: Step) -> bool:
        """Whether all resources of the step are free now."""
        return all(self._used[name] < max(1, self._capacity(name)) for name in self._claims(plan, step))

    def claim(self, plan: Plan, step: Step) -> bool:
        """Claim the resources of the step. False, with nothing claimed, if one is in use."""
        wanted = tuple(dict.fromkeys(self._claims(plan, step)))
        if any(self._used[name] >= max(1, self._capacity(name)) for name in wanted):
            return False
        self._used.update(wanted)
        self._held[(plan.plan_id, step.step_id)] = wanted
        return True

    def release(self, plan_id: PlanId, step_id: StepId) -> bool:
        """Release the resources of the step. False if it had none."""
        held = self._held.pop((plan_id, step_id), ())
        self._used.subtract(held)
        for name in held:
            if self._used[name] <= 0:
                del self._used[name]
        return bool(held)
