"""The waves in which the steps of a plan can run, and which of its links a drawing needs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from planloom.domain.plans import graph
from planloom.domain.plans.plan import Step
from planloom.domain.values import StepId


class Place(NamedTuple):
    """The wave of a step from 0, one behind the latest step that it waits for, and its links to those before it.

    A link that a longer path implies is left out.
    """

    wave: int
    links: tuple[StepId, ...]


def places(steps: Sequence[Step], *, sequential: bool) -> tuple[Place, ...]:
    """The place of each step. A loop comes behind the steps that it became; a cycle is cut.

    In a sequential plan each step waits for the one before it.
    """
    order, before = _before(steps, sequential=sequential)
    waves, ancestors, links = [0] * len(steps), [0] * len(steps), [tuple[StepId, ...]()] * len(steps)
    for index in order:
        known = before[index]
        waves[index] = max((waves[each] + 1 for each in known), default=0)
        implied = 0
        for each in known:
            implied |= ancestors[each]
        ancestors[index] = implied | sum(1 << each for each in known)
        links[index] = tuple(steps[each].step_id for each in sorted(known) if not implied >> each & 1)
    return tuple(map(Place, waves, links))


def _before(steps: Sequence[Step], *, sequential: bool) -> tuple[list[int], list[set[int]]]:
    """The steps in an order in which each comes behind those that it waits for, and those of each."""
    found = graph.dependency_graph(steps)
    before = [set(each) for each in found.dependencies]
    turns = [float(index) for index in range(len(steps))]
    for index, step in enumerate(steps):
        loop = found.index.get(step.parent) if step.parent is not None else None
        if loop is not None:
            before[loop].add(index)
            turns[loop] = max(turns[loop], index + 0.5)
    if sequential:
        for one, other in pairwise(sorted(range(len(steps)), key=turns.__getitem__)):
            before[other].add(one)
    order: list[int] = []
    left = dict.fromkeys(sorted(range(len(steps)), key=turns.__getitem__))
    placed = set[int]()
    while left:
        # Where a cycle lets none begin, the first of the rest does.
        free = [index for index in left if before[index] <= placed] or [next(iter(left))]
        for index in free:
            before[index] &= placed
            del left[index]
        placed.update(free)
        order += free
    return order, before
