"""What waits for what in a plan: cycles, order, readiness, and steps that can no longer run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

from planloom.domain.plans.plan import SETTLED, Plan, Priority, Step, StepStatus
from planloom.domain.values import StepId

PRIORITY_RANK: Mapping[Priority, int] = {"critical": 0, "high": 1, "normal": 2, "low": 3}

_BEGUN = frozenset({"approved", "executing", "paused"})


@dataclass(frozen=True, slots=True)
class Dependencies:
    """Steps as numbers, their places in the plan.

    `needs[i]` are the places of the steps that step i waits for: those it names in `depends_on` and those
    whose result one of its arguments is. `feeds` is the reverse. Ids that name no step are left out; of
    steps that share an id the first one counts.
    """

    place: Mapping[StepId, int]
    needs: tuple[tuple[int, ...], ...]
    feeds: tuple[tuple[int, ...], ...]


def links(steps: Sequence[Step]) -> Dependencies:
    """Number the steps and tie them together. A step that names itself is kept as its own need."""
    place: dict[StepId, int] = {}
    for index, step in enumerate(steps):
        place.setdefault(step.step_id, index)
    needs: list[tuple[int, ...]] = []
    feeds: list[list[int]] = [[] for _ in steps]
    for index, step in enumerate(steps):
        wanted = tuple(dict.fromkeys(place[name] for name in step.names if name in place))
        needs.append(wanted)
        for need in wanted:
            feeds[need].append(index)
    return Dependencies(place=place, needs=tuple(needs), feeds=tuple(tuple(fed) for fed in feeds))


def ordered(tied: Dependencies) -> list[int]:
    """Places such that each comes after its needs, otherwise as in the plan.

    What is in or behind a cycle is left out.
    """
    waiting = [len(needs) for needs in tied.needs]
    free = [index for index, count in enumerate(waiting) if count == 0]
    heapify(free)
    order: list[int] = []
    while free:
        index = heappop(free)
        order.append(index)
        for fed in tied.feeds[index]:
            waiting[fed] -= 1
            if waiting[fed] == 0:
                heappush(free, fed)
    return order


def execution_order(steps: Sequence[Step]) -> tuple[Step, ...]:
    """The steps so that none stands before one it waits for, otherwise in the plan's order.

    Steps in or behind a cycle keep their order at the end.
    """
    order = ordered(links(steps))
    placed = set(order)
    return tuple(steps[index] for index in [*order, *(i for i in range(len(steps)) if i not in placed)])


def cycle(steps: Sequence[Step]) -> tuple[StepId, ...] | None:
    """One cycle, if there is any: each step named waits for the next, the last for the first."""
    tied = links(steps)
    left = set(range(len(steps))).difference(ordered(tied))
    if not left:
        return None
    # Every step left waits for another that is left, so that following these must come round.
    index = min(left)
    path: list[int] = []
    seen: dict[int, int] = {}
    while index not in seen:
        seen[index] = len(path)
        path.append(index)
        index = next(need for need in tied.needs[index] if need in left)
    ring = path[seen[index] :]
    first = ring.index(min(ring))
    return tuple(steps[place].step_id for place in [*ring[first:], *ring[:first]])


def remaining_path(tied: Dependencies) -> list[int]:
    """For each step the number of steps on the longest way from it, itself counted, to the plan's end."""
    length = [1] * len(tied.needs)
    for index in reversed(ordered(tied)):
        length[index] = 1 + max((length[fed] for fed in tied.feeds[index]), default=0)
    return length


def ready(plan: Plan) -> tuple[StepId, ...]:
    """The pending steps that nothing holds back, longest remaining path first, then priority, then order.

    In a sequential plan that is at most the first step not settled. A failed step that waits for a decision
    is not settled yet.
    """
    tied = links(plan.steps)
    completed = [step.status == "completed" for step in plan.steps]
    free = [
        index
        for index in _candidates(plan)
        if plan.steps[index].status == "pending" and all(completed[need] for need in tied.needs[index])
    ]
    if len(free) > 1:
        length = remaining_path(tied)
        free.sort(key=lambda index: (-length[index], PRIORITY_RANK[plan.steps[index].priority], index))
    return tuple(plan.steps[index].step_id for index in free)


def _candidates(plan: Plan) -> Sequence[int]:
    """The places that scheduling may look at: all of them, or in a sequential plan the next one."""
    if not plan.sequential:
        return range(len(plan.steps))
    undecided = {recovery.step_id for recovery in plan.pending.recoveries}
    for index in ordered(links(plan.steps)):
        step = plan.steps[index]
        if step.status not in SETTLED or step.step_id in undecided:
            return [index]
    return []


def shown_statuses(plan: Plan) -> tuple[StepStatus, ...]:
    """The status of every step as people see it: once a plan was approved, pending means ready or blocked."""
    if plan.status not in _BEGUN:
        return tuple(step.status for step in plan.steps)
    free = frozenset(ready(plan))
    return tuple(
        step.status if step.status != "pending" else "ready" if step.step_id in free else "blocked"
        for step in plan.steps
    )


def shown_status(plan: Plan, step: Step) -> StepStatus:
    """The status of one step as people see it; for all of them `shown_statuses` looks once."""
    if step.status != "pending" or plan.status not in _BEGUN:
        return step.status
    return "ready" if step.step_id in ready(plan) else "blocked"


def all_blocks(steps: Sequence[Step]) -> Mapping[StepId, tuple[StepId, ...]]:
    """For every step the steps that wait for it directly, in the plan's order."""
    tied = links(steps)
    return {
        name: tuple(steps[fed].step_id for fed in tied.feeds[index]) for name, index in tied.place.items()
    }


def blocks(plan: Plan, step_id: StepId) -> tuple[StepId, ...]:
    """The steps that wait for this one directly; for all of them `all_blocks` looks once."""
    return tuple(plan.steps[place].step_id for place in plan.steps.naming(step_id))


def ancestors(steps: Sequence[Step], step_id: StepId, *, sequential: bool = False) -> frozenset[StepId]:
    """Every step that is over before this one starts; in a sequential plan all that stand before it too."""
    tied = links(steps)
    start = tied.place.get(step_id)
    if start is None:
        return frozenset()
    if sequential:
        order = ordered(tied)
        before = order[: order.index(start)] if start in order else []
        return frozenset(steps[index].step_id for index in before)
    found: set[int] = set()
    left = list(tied.needs[start])
    while left:
        index = left.pop()
        if index not in found:
            found.add(index)
            left.extend(tied.needs[index])
    return frozenset(steps[index].step_id for index in found)


def ancestor_masks(tied: Dependencies, *, sequential: bool = False) -> list[int]:
    """For every place the set of places that are over before it, as the bits of one number.

    Ten thousand steps take about 12 MB; a step in or behind a cycle has no bits.
    """
    masks = [0] * len(tied.needs)
    before = 0
    for index in ordered(tied):
        mask = before if sequential else 0
        for need in tied.needs[index]:
            mask |= masks[need] | (1 << need)
        masks[index] = mask
        if sequential:
            before = mask | (1 << index)
    return masks


def doomed(plan: Plan) -> tuple[StepId, ...]:
    """The steps still to run that never can: one they wait for failed, was skipped, or is doomed itself.

    A failed step whose recovery is undecided dooms nothing yet.
    """
    undecided = {recovery.step_id for recovery in plan.pending.recoveries}
    tied = links(plan.steps)
    left = [
        index
        for index, step in enumerate(plan.steps)
        if step.status in ("failed", "skipped") and step.step_id not in undecided
    ]
    lost: set[int] = set()
    while left:
        for fed in tied.feeds[left.pop()]:
            if fed not in lost and plan.steps[fed].status in ("pending", "blocked", "ready"):
                lost.add(fed)
                left.append(fed)
    return tuple(plan.steps[index].step_id for index in sorted(lost))
