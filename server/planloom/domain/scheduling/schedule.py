"""What a running plan should do next, kept up to date event by event: `directives` without looking at every step.

`directives.directives` says what is right; this says the same in time that does not grow with the plan.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterator

from planloom.domain.events import catalog as ev
from planloom.domain.plans.graph import PRIORITY_RANK, links, ordered, remaining_path
from planloom.domain.plans.plan import SETTLED, Plan, Step, StepStatus
from planloom.domain.scheduling import directives as do
from planloom.domain.values import StepId

_Key = tuple[int, int, int]
_FALLEN = ("failed", "skipped")
_TO_RUN = ("pending", "blocked", "ready")
_STEPPING = (
    ev.TaskStarted,
    ev.TaskUpdate,
    ev.TaskCompleted,
    ev.TaskFailed,
    ev.TaskSkipped,
    ev.ClarificationRequest,
    ev.ClarificationProvided,
    ev.RecoveryRequest,
    ev.RecoveryChosen,
)


def _anything(_step: Step) -> bool:
    return True


class Schedule:
    """Counts what each step of one plan still waits for. Tell it every event, with the plan after it."""

    def __init__(self, plan: Plan) -> None:
        self._build(plan)

    def _build(self, plan: Plan) -> None:
        tied = links(plan.steps)
        self._tied = tied
        self._status: list[StepStatus] = [step.status for step in plan.steps]
        self._missing = [sum(self._status[need] != "completed" for need in needs) for needs in tied.needs]
        length = remaining_path(tied)
        self._keys: list[_Key] = [
            (-length[place], PRIORITY_RANK[step.priority], place) for place, step in enumerate(plan.steps)
        ]
        self._ready: list[_Key] = sorted(
            self._keys[place]
            for place, status in enumerate(self._status)
            if status == "pending" and self._missing[place] == 0
        )
        self._open = sum(status not in SETTLED for status in self._status)
        self._running = self._status.count("running")
        self._failed = {place for place, status in enumerate(self._status) if status == "failed"}
        self._given_up = {
            place for place, step in enumerate(plan.steps) if step.critical and step.status == "skipped"
        }
        self._spreading = {place for place, status in enumerate(self._status) if status in _FALLEN}
        self._questions = any(step.kind == "clarification" for step in plan.steps)
        self._order = ordered(tied) if plan.sequential else []
        self._rank = {place: at for at, place in enumerate(self._order)}
        self._first = 0

    def heard(self, event: ev.Event, plan: Plan) -> None:
        """Something happened."""
        changed_args = isinstance(event, ev.RecoveryChosen) and event.args is not None
        if len(plan.steps) != len(self._status) or changed_args:
            self._build(plan)
        elif isinstance(event, _STEPPING):
            place = self._tied.place.get(event.task_id)
            if place is None or plan.steps[place].step_id != event.task_id:
                self._build(plan)
            else:
                self._move(place, plan.steps[place])
        elif isinstance(
            event, ev.PlanReady | ev.PlanEdited | ev.PlanDirect | ev.PlanDrafting | ev.TaskCreated
        ):
            self._build(plan)

    def _move(self, place: int, step: Step) -> None:
        """One step has another status."""
        before, now = self._status[place], step.status
        if before == now:
            return
        self._status[place] = now
        self._open += (now not in SETTLED) - (before not in SETTLED)
        self._running += (now == "running") - (before == "running")
        if before == "pending" and self._missing[place] == 0:
            at = bisect_left(self._ready, self._keys[place])
            del self._ready[at]
        if now == "pending" and self._missing[place] == 0:
            insort(self._ready, self._keys[place])
        if "completed" in (before, now):
            self._count(place, -1 if now == "completed" else 1)
        for group, holds in (
            (self._failed, now == "failed"),
            (self._given_up, now == "skipped" and step.critical),
            (self._spreading, now in _FALLEN),
        ):
            group.add(place) if holds else group.discard(place)
        if now not in SETTLED:
            self._first = min(self._first, self._rank.get(place, self._first))

    def _count(self, place: int, change: int) -> None:
        for fed in self._tied.feeds[place]:
            was_free = self._missing[fed] == 0
            self._missing[fed] += change
            is_free = self._missing[fed] == 0
            if self._status[fed] == "pending" and was_free != is_free:
                if is_free:
                    insort(self._ready, self._keys[fed])
                else:
                    del self._ready[bisect_left(self._ready, self._keys[fed])]

    def directives(
        self, plan: Plan, limits: do.Limits, free: Callable[[Step], bool] = _anything
    ) -> tuple[do.Directive, ...]:
        """What should be done now. Steps that are not `free`, since something they need is in use, are passed over."""
        if plan.status == "approved":
            return (do.Begin(),)
        if plan.status not in ("executing", "paused"):
            return ()
        fallen = [plan.steps[place] for place in sorted(self._failed | self._given_up)]
        urgent = tuple(do.after_failures(plan, fallen, limits))
        if urgent:
            return urgent
        if plan.status == "paused":
            return (do.Resume(),) if do.is_answered(plan) else ()
        doomed = self._doomed(plan)
        if doomed:
            return tuple(do.Skip(step_id=step_id, reason="dependency_failed") for step_id in doomed)
        return self._onwards(plan, limits, free)

    def _onwards(
        self, plan: Plan, limits: do.Limits, free: Callable[[Step], bool]
    ) -> tuple[do.Directive, ...]:
        found: list[do.Directive] = []
        room = limits.max_parallel_steps - self._running
        waits = False
        for place in self._candidates(plan):
            step = plan.steps[place]
            if step.kind == "clarification":
                found.append(do.AskClarification(step_id=step.step_id))
            elif room > 0 and free(step):
                found.append(do.RunStep(step_id=step.step_id))
                room -= 1
            else:
                waits = True
                if room <= 0 and not self._questions:
                    break
        return tuple(found) if found or self._running or waits else do.at_rest(plan)

    def _candidates(self, plan: Plan) -> Iterator[int]:
        """The places of the steps that nothing holds back, best first."""
        if not plan.sequential:
            yield from (key[2] for key in self._ready)
            return
        undecided = {recovery.step_id for recovery in plan.pending.recoveries}
        for at in range(self._first, len(self._order)):
            place = self._order[at]
            settled = self._status[place] in SETTLED
            if settled and plan.steps[place].step_id not in undecided:
                if at == self._first:
                    self._first += 1
                continue
            if self._status[place] == "pending" and self._missing[place] == 0:
                yield place
            return

    def _doomed(self, plan: Plan) -> tuple[StepId, ...]:
        """The steps that can never run. What has fallen is looked at until no step behind it is left to run."""
        undecided = {recovery.step_id for recovery in plan.pending.recoveries}
        left: list[int] = []
        for place in tuple(self._spreading):
            if plan.steps[place].step_id in undecided:
                continue
            if any(self._status[fed] in _TO_RUN for fed in self._tied.feeds[place]):
                left.append(place)
            else:
                self._spreading.discard(place)
        lost: set[int] = set()
        while left:
            for fed in self._tied.feeds[left.pop()]:
                if fed not in lost and self._status[fed] in _TO_RUN:
                    lost.add(fed)
                    left.append(fed)
        return tuple(plan.steps[place].step_id for place in sorted(lost))
