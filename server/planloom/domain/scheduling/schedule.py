"""The directives of a plan, kept up to date event by event, in time that does not grow with the plan.

It depends on the plan alone, so that a restart resumes where the plan stopped.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterator

from planloom.domain.events import catalog as ev
from planloom.domain.plans.graph import PRIORITY_RANK, dependency_graph, ordered, remaining_path, still_open
from planloom.domain.plans.plan import SETTLED, Plan, Step, StepStatus
from planloom.domain.scheduling import directives as do
from planloom.domain.values import StepId

_Key = tuple[int, int, int]
_FAILED_OR_SKIPPED = ("failed", "skipped")
_UNSTARTED = ("pending", "blocked", "ready")
_STEP_EVENTS = (
    ev.StepStarted,
    ev.StepUpdate,
    ev.StepCompleted,
    ev.StepFailed,
    ev.StepSkipped,
    ev.ClarificationRequest,
    ev.ClarificationProvided,
    ev.RecoveryRequest,
    ev.RecoveryChosen,
)


def _any_step(_step: Step) -> bool:
    return True


def _status_of(step: Step) -> StepStatus:
    """The status of a step as its dependents see it; failed only as long as nothing is decided about that."""
    if step.frees_dependents:
        return "completed"
    return "skipped" if step.is_left else step.status


class Schedule:
    """Counts the incomplete dependencies of each step of one plan. `update` must be called with every event.

    A dependency that is complete while one behind it is yet to run, which a restart may leave, counts as incomplete.
    """

    def __init__(self, plan: Plan) -> None:
        self._build(plan)

    def _build(self, plan: Plan) -> None:
        links = dependency_graph(plan.steps)
        self._links = links
        self._status: list[StepStatus] = [_status_of(step) for step in plan.steps]
        self._open = still_open(plan.steps, links)
        self._behind = [sum(self._open[each] for each in before) for before in links.dependencies]
        self._free = [self._frees(index) for index in range(len(plan.steps))]
        self._missing = [sum(not self._free[each] for each in before) for before in links.dependencies]
        length = remaining_path(links)
        self._keys: list[_Key] = [
            (-length[index], PRIORITY_RANK[step.priority], index) for index, step in enumerate(plan.steps)
        ]
        self._ready: list[_Key] = sorted(
            self._keys[index]
            for index, status in enumerate(self._status)
            if status == "pending" and self._missing[index] == 0
        )
        self._running = self._status.count("running")
        self._failed = {index for index, status in enumerate(self._status) if status == "failed"}
        self._abandoned = {
            index
            for index, step in enumerate(plan.steps)
            if step.is_critical and self._status[index] == "skipped"
        }
        self._spreading = {index for index, status in enumerate(self._status) if status in _FAILED_OR_SKIPPED}
        self._questions = any(step.kind == "clarification" for step in plan.steps)
        self._order = ordered(links) if plan.sequential else []
        self._rank = {index: position for position, index in enumerate(self._order)}
        self._first = 0

    def update(self, event: ev.Event, plan: Plan) -> None:
        """Take in one event; `plan` is the plan after it."""
        changed_args = isinstance(event, ev.RecoveryChosen) and event.args is not None
        if len(plan.steps) != len(self._status) or changed_args:
            self._build(plan)
        elif isinstance(event, _STEP_EVENTS):
            index = self._links.index.get(event.step_id)
            if index is None or plan.steps[index].step_id != event.step_id:
                self._build(plan)
            else:
                self._set_status(index, plan.steps[index])
        elif isinstance(
            event, ev.PlanReady | ev.PlanEdited | ev.PlanDirect | ev.PlanDrafting | ev.StepCreated
        ):
            self._build(plan)

    def _set_status(self, index: int, step: Step) -> None:
        before, now = self._status[index], _status_of(step)
        if before == now:
            return
        self._status[index] = now
        self._running += (now == "running") - (before == "running")
        if before == "pending" and self._missing[index] == 0:
            position = bisect_left(self._ready, self._keys[index])
            del self._ready[position]
        if now == "pending" and self._missing[index] == 0:
            insort(self._ready, self._keys[index])
        self._spread(index)
        for group, holds in (
            (self._failed, now == "failed"),
            (self._abandoned, now == "skipped" and step.is_critical),
            (self._spreading, now in _FAILED_OR_SKIPPED),
        ):
            group.add(index) if holds else group.discard(index)
        if now not in SETTLED:
            self._first = min(self._first, self._rank.get(index, self._first))

    def _frees(self, index: int) -> bool:
        """Whether the steps that depend on this one need not wait for it, nor for one behind it."""
        return self._status[index] == "completed" and self._behind[index] == 0

    def _spread(self, first: int) -> None:
        """Count what a change of a step means for those that depend on it, also through others."""
        changed = [first]
        while changed:
            index = changed.pop()
            is_open = self._status[index] not in SETTLED or self._behind[index] > 0
            opened, freed = is_open - self._open[index], self._frees(index) - self._free[index]
            self._open[index], self._free[index] = is_open, self._frees(index)
            for dependent in self._links.dependents[index] if opened or freed else ():
                was_ready = self._missing[dependent] == 0
                self._behind[dependent] += opened
                self._missing[dependent] -= freed
                is_ready = self._missing[dependent] == 0
                if self._status[dependent] == "pending" and was_ready != is_ready:
                    if is_ready:
                        insort(self._ready, self._keys[dependent])
                    else:
                        del self._ready[bisect_left(self._ready, self._keys[dependent])]
                changed.append(dependent)

    def directives(
        self, plan: Plan, limits: do.Limits, is_free: Callable[[Step], bool] = _any_step
    ) -> tuple[do.Directive, ...]:
        """The directives to carry out now. A step for which `is_free` is false waits for a resource that is in use."""
        if plan.status == "approved":
            return (do.Begin(),)
        if plan.status not in ("executing", "paused"):
            return ()
        failed = [plan.steps[index] for index in sorted(self._failed | self._abandoned)]
        urgent = tuple(do.after_failures(plan, failed, limits))
        if urgent:
            return urgent
        if plan.status == "paused":
            return (do.Resume(),) if do.is_answered(plan) else ()
        unreachable = self._unreachable(plan)
        if unreachable:
            return tuple(do.Skip(step_id=step_id, reason="dependency_failed") for step_id in unreachable)
        return self._next_steps(plan, limits, is_free)

    def _next_steps(
        self, plan: Plan, limits: do.Limits, is_free: Callable[[Step], bool]
    ) -> tuple[do.Directive, ...]:
        found: list[do.Directive] = []
        slots = limits.max_parallel_steps - self._running
        held_back = False
        for index in self._candidates(plan):
            step = plan.steps[index]
            if step.kind == "clarification" and step.begins_at_once:
                found.append(do.AskClarification(step_id=step.step_id))
            elif slots > 0 and is_free(step):
                found.append(do.RunStep(step_id=step.step_id))
                slots -= 1
            else:
                held_back = True
                if slots <= 0 and not self._questions:
                    break
        return tuple(found) if found or self._running or held_back else do.when_idle(plan)

    def _candidates(self, plan: Plan) -> Iterator[int]:
        """The indices of the steps that may start, best first."""
        if not plan.sequential:
            yield from (key[2] for key in self._ready)
            return
        undecided = {recovery.step_id for recovery in plan.pending.recoveries}
        for position in range(self._first, len(self._order)):
            index = self._order[position]
            settled = self._status[index] in SETTLED
            if settled and plan.steps[index].step_id not in undecided:
                if position == self._first:
                    self._first += 1
                continue
            if self._status[index] == "pending" and self._missing[index] == 0:
                yield index
            return

    def _unreachable(self, plan: Plan) -> tuple[StepId, ...]:
        """The unsettled steps that can never run: a dependency failed, was skipped, or is itself unreachable.

        A failed step whose recovery is undecided makes nothing unreachable. A failed or skipped step is examined again
        and again until none of its dependents is still unstarted.
        """
        undecided = {recovery.step_id for recovery in plan.pending.recoveries}
        left: list[int] = []
        for index in tuple(self._spreading):
            if plan.steps[index].step_id in undecided:
                continue
            if any(self._status[dependent] in _UNSTARTED for dependent in self._links.dependents[index]):
                left.append(index)
            else:
                self._spreading.discard(index)
        lost: set[int] = set()
        while left:
            for dependent in self._links.dependents[left.pop()]:
                if dependent not in lost and self._status[dependent] in _UNSTARTED:
                    lost.add(dependent)
                    left.append(dependent)
        return tuple(plan.steps[index].step_id for index in sorted(lost))
