"""The dependency graph of a plan, and the statuses of its steps: cycles, order, readiness, what waits for the user."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import Literal

from planloom.domain.changes import Conflict
from planloom.domain.plans.plan import SETTLED, Plan, Priority, Question, Recovery, Step, StepStatus
from planloom.domain.safety.approvals import Approval
from planloom.domain.values import StepId

PRIORITY_RANK: Mapping[Priority, int] = {"critical": 0, "high": 1, "normal": 2, "low": 3}

_BEGUN = frozenset({"approved", "executing", "paused"})

Wait = Literal["approval", "conflict", "answer", "recovery"]
"""The decision of the user for which a step, or the plan, waits."""
WAITS: Mapping[Wait, str] = {
    "approval": "waits for your approval",
    "conflict": "waits for your choice",
    "answer": "waits for your answer",
    "recovery": "waits for your decision",
}
"""Each in words that can follow the name of the step; views translate them."""
WAITS_FOR_SEVERAL = "waits for you"


@dataclass(frozen=True, slots=True)
class DependencyGraph:
    """The dependencies between steps, each step given by its index in the plan.

    `dependencies[i]` are the indices of the steps that step i waits for: those in its `depends_on` and those
    whose result one of its arguments is. `dependents` is the reverse. Ids that name no step are left out; of
    steps that share an id the first one counts.
    """

    index: Mapping[StepId, int]
    dependencies: tuple[tuple[int, ...], ...]
    dependents: tuple[tuple[int, ...], ...]


def dependency_graph(steps: Sequence[Step]) -> DependencyGraph:
    """Which steps wait for which. A step that names itself is its own dependency."""
    index_of: dict[StepId, int] = {}
    for index, step in enumerate(steps):
        index_of.setdefault(step.step_id, index)
    dependencies: list[tuple[int, ...]] = []
    dependents: list[list[int]] = [[] for _ in steps]
    for index, step in enumerate(steps):
        found = tuple(dict.fromkeys(index_of[name] for name in step.references if name in index_of))
        dependencies.append(found)
        for dependency in found:
            dependents[dependency].append(index)
    return DependencyGraph(
        index=index_of,
        dependencies=tuple(dependencies),
        dependents=tuple(tuple(dependent) for dependent in dependents),
    )


def ordered(links: DependencyGraph) -> list[int]:
    """Indices in topological order: each comes after its dependencies, otherwise as in the plan.

    Steps that are in a cycle, or depend on one, are left out.
    """
    waiting = [len(dependencies) for dependencies in links.dependencies]
    free = [index for index, count in enumerate(waiting) if count == 0]
    heapify(free)
    order: list[int] = []
    while free:
        index = heappop(free)
        order.append(index)
        for dependent in links.dependents[index]:
            waiting[dependent] -= 1
            if waiting[dependent] == 0:
                heappush(free, dependent)
    return order


def execution_order(steps: Sequence[Step]) -> tuple[Step, ...]:
    """The steps in topological order, otherwise in the plan's order.

    Steps that are in a cycle, or depend on one, come last, in the plan's order.
    """
    order = ordered(dependency_graph(steps))
    placed = set(order)
    return tuple(steps[index] for index in [*order, *(i for i in range(len(steps)) if i not in placed)])


def cycle(steps: Sequence[Step]) -> tuple[StepId, ...] | None:
    """One cycle, if there is any: each step of it waits for the next, the last for the first."""
    links = dependency_graph(steps)
    left = set(range(len(steps))).difference(ordered(links))
    if not left:
        return None
    # Every step left waits for another that is left, so following them must close a cycle.
    index = min(left)
    path: list[int] = []
    position: dict[int, int] = {}
    while index not in position:
        position[index] = len(path)
        path.append(index)
        index = next(dependency for dependency in links.dependencies[index] if dependency in left)
    ring = path[position[index] :]
    first = ring.index(min(ring))
    return tuple(steps[index].step_id for index in [*ring[first:], *ring[:first]])


def remaining_path(links: DependencyGraph) -> list[int]:
    """For each step the number of steps on the longest path from it to the plan's end, itself counted."""
    length = [1] * len(links.dependencies)
    for index in reversed(ordered(links)):
        length[index] = 1 + max((length[dependent] for dependent in links.dependents[index]), default=0)
    return length


def still_open(steps: Sequence[Step], links: DependencyGraph) -> list[bool]:
    """For each step whether it, or one that it depends on through others, is yet to run."""
    found = [step.status not in SETTLED for step in steps]
    for index in ordered(links):
        found[index] = found[index] or any(found[each] for each in links.dependencies[index])
    return found


def ready(plan: Plan) -> tuple[StepId, ...]:
    """The pending steps that may start, by longest remaining path, then priority, then order.

    In a sequential plan that is at most the first unsettled step. A failed step whose recovery is undecided
    is not settled.
    """
    links = dependency_graph(plan.steps)
    waits = still_open(plan.steps, links)
    completed = [step.frees_dependents and not waits[index] for index, step in enumerate(plan.steps)]
    free = [
        index
        for index in _candidates(plan)
        if plan.steps[index].status == "pending"
        and all(completed[dependency] for dependency in links.dependencies[index])
    ]
    if len(free) > 1:
        length = remaining_path(links)
        free.sort(key=lambda index: (-length[index], PRIORITY_RANK[plan.steps[index].priority], index))
    return tuple(plan.steps[index].step_id for index in free)


def _candidates(plan: Plan) -> Sequence[int]:
    """The indices of the steps that may be next: all of them, or in a sequential plan the first unsettled one."""
    if not plan.sequential:
        return range(len(plan.steps))
    undecided = {recovery.step_id for recovery in plan.pending.recoveries}
    for index in ordered(dependency_graph(plan.steps)):
        step = plan.steps[index]
        if step.status not in SETTLED or step.step_id in undecided:
            return [index]
    return []


def shown_statuses(plan: Plan) -> tuple[StepStatus, ...]:
    """The status of every step as it is shown: once the plan is approved, pending becomes ready or blocked."""
    if plan.status not in _BEGUN:
        return tuple(step.status for step in plan.steps)
    free = frozenset(ready(plan))
    return tuple(
        step.status if step.status != "pending" else "ready" if step.step_id in free else "blocked"
        for step in plan.steps
    )


def shown_status(plan: Plan, step: Step) -> StepStatus:
    """The status of one step as it is shown; for all steps `shown_statuses` is faster."""
    if step.status != "pending" or plan.status not in _BEGUN:
        return step.status
    return "ready" if step.step_id in ready(plan) else "blocked"


def asked(plan: Plan) -> Mapping[Wait, Sequence[Approval | Conflict | Question | Recovery]]:
    """All that waits for the user, by the kind of decision, the most pressing first."""
    pending = plan.pending
    found: dict[Wait, Sequence[Approval | Conflict | Question | Recovery]] = {
        "conflict": pending.conflicts,
        "approval": pending.approvals,
        "answer": pending.questions,
        "recovery": pending.recoveries,
    }
    return {wait: matters for wait, matters in found.items() if matters}


def step_waits(plan: Plan) -> Mapping[StepId | None, Wait]:
    """The decision for which each step waits, of several the most pressing."""
    return {each.step_id: wait for wait, matters in reversed([*asked(plan).items()]) for each in matters}


def waits_in_words(plan: Plan) -> str | None:
    """What the plan waits for of the user, as a sentence of `WAITS`; None if it asks nothing."""
    waits = [*asked(plan)]
    return WAITS_FOR_SEVERAL if len(waits) > 1 else WAITS[waits[0]] if waits else None


def all_blocks(steps: Sequence[Step]) -> Mapping[StepId, tuple[StepId, ...]]:
    """For every step the steps that wait for it directly, in the plan's order."""
    links = dependency_graph(steps)
    return {
        name: tuple(steps[dependent].step_id for dependent in links.dependents[index])
        for name, index in links.index.items()
    }


def blocks(plan: Plan, step_id: StepId) -> tuple[StepId, ...]:
    """The steps that wait for this one directly; for all steps `all_blocks` is faster."""
    return tuple(plan.steps[index].step_id for index in plan.steps.referencing(step_id))


def ancestors(steps: Sequence[Step], step_id: StepId) -> frozenset[StepId]:
    """Every step that is settled before this one starts, in a plan that is not sequential."""
    links = dependency_graph(steps)
    start = links.index.get(step_id)
    if start is None:
        return frozenset()
    found: set[int] = set()
    left = list(links.dependencies[start])
    while left:
        index = left.pop()
        if index not in found:
            found.add(index)
            left.extend(links.dependencies[index])
    return frozenset(steps[index].step_id for index in found)


def ancestor_masks(links: DependencyGraph, *, sequential: bool = False) -> list[int]:
    """For every step the set of its ancestors: bit i is set if step i is settled before it starts.

    Ten thousand steps take about 12 MB. A step that is in a cycle, or depends on one, has no bits.
    """
    masks = [0] * len(links.dependencies)
    before = 0
    for index in ordered(links):
        mask = before if sequential else 0
        for dependency in links.dependencies[index]:
            mask |= masks[dependency] | (1 << dependency)
        masks[index] = mask
        if sequential:
            before = mask | (1 << index)
    return masks
