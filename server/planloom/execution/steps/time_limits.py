"""How long a step and a plan may work: what a person takes to answer never counts."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime

from planloom.domain.events import catalog as ev
from planloom.domain.plans.plan import ENDED, Plan
from planloom.domain.values import PlanId, StepId
from planloom.execution.plan_store import PlanStore
from planloom.execution.steps.results import Interrupted, Outcome

Later = Callable[[float, Callable[[], None]], asyncio.TimerHandle]


def waits_for_person(plan: Plan, step_id: StepId) -> bool:
    """Whether a running step has put something to a person and has no answer yet."""
    pending = plan.pending
    return any(each.step_id == step_id for each in pending.approvals) or any(
        each.step_id == step_id for each in pending.conflicts
    )


async def within(
    plan_store: PlanStore, plan_id: PlanId, step_id: StepId, seconds: float, work: Awaitable[Outcome]
) -> Outcome:
    """Do the work, or interrupt it when it has taken `seconds` without those in which it waited for a person.

    An edit in hand is finished and recorded before this returns.
    """
    loop = asyncio.get_running_loop()
    left = seconds
    since: float | None = loop.time()

    def heard(recorded: ev.Recorded, plan: Plan) -> None:
        nonlocal left, since
        if recorded.plan_id != plan_id:
            return
        waits = waits_for_person(plan, step_id)
        if waits and since is not None:
            left -= loop.time() - since
            since = None
            limit.reschedule(None)
        elif not waits and since is None:
            since = loop.time()
            limit.reschedule(since + max(0.0, left))

    limit = asyncio.timeout(seconds)
    try:
        async with limit:
            quiet = plan_store.listen(heard)
            try:
                return await work
            finally:
                quiet()
    except TimeoutError:
        if not limit.expired():
            raise
        detail = (
            f"The step has worked for {_lasting(seconds)}, the most that one step may take "
            "(execution.stepTimeoutSeconds). Resume the plan to give it as much again."
        )
        return Interrupted(reason="budget", detail=detail)


class PlanTimeBudget:
    """Pauses plans whose steps have worked for `budget.maxMinutes` since that was last granted."""

    def __init__(
        self, plan_store: PlanStore, minutes: Callable[[], float], later: Later | None = None
    ) -> None:
        self._plan_store = plan_store
        self._minutes = minutes
        self._later = later
        self._spent: dict[PlanId, WorkClock] = {}
        self._timers: dict[PlanId, asyncio.TimerHandle] = {}
        plan_store.listen(self._heard)
        plan_store.on_stop(lambda plan_id, _: self._forget(plan_id))

    def _heard(self, recorded: ev.Recorded, plan: Plan) -> None:
        if plan.status in ENDED:
            self._forget(plan.plan_id)
            return
        worked = self._spent.get(plan.plan_id)
        if worked is None:
            worked = self._spent[plan.plan_id] = self._until_now(recorded)
        worked.heard(recorded.event, plan, recorded.at)
        self._set_timer(plan, worked)

    def _until_now(self, recorded: ev.Recorded) -> WorkClock:
        """What the plan has worked before an event that is the first one heard of it: in an earlier process."""
        worked = WorkClock()
        if recorded.seq > 1:
            for earlier, after in self._plan_store.history(recorded.plan_id, 0, recorded.seq - 1):
                worked.heard(earlier.event, after, earlier.at)
        return worked

    def _forget(self, plan_id: PlanId) -> None:
        self._spent.pop(plan_id, None)
        timer = self._timers.pop(plan_id, None)
        if timer is not None:
            timer.cancel()

    def _set_timer(self, plan: Plan, worked: WorkClock) -> None:
        timer = self._timers.get(plan.plan_id)
        due = plan.status == "executing" and worked.since is not None
        if timer is not None and not due:
            timer.cancel()
            del self._timers[plan.plan_id]
        elif timer is None and due:
            self._start(plan.plan_id, worked)

    def _start(self, plan_id: PlanId, worked: WorkClock) -> None:
        left = self._minutes() * 60 - worked.seconds(self._plan_store.clock())
        later = self._later or asyncio.get_running_loop().call_later
        self._timers[plan_id] = later(max(0.0, left), lambda: self._look(plan_id))

    def _look(self, plan_id: PlanId) -> None:
        """Time should be over; if a person was waited for meanwhile there is some left."""
        del self._timers[plan_id]
        plan, worked = self._plan_store.load(plan_id), self._spent.get(plan_id)
        if plan is None or worked is None or plan.status != "executing" or worked.since is None:
            return
        minutes = self._minutes()
        if worked.seconds(self._plan_store.clock()) < minutes * 60:
            self._start(plan_id, worked)
            return
        detail = (
            f"The plan has worked for {_lasting(minutes * 60)}, its budget (budget.maxMinutes). "
            "Resume it to grant as much again."
        )
        self._plan_store.record(plan_id, ev.PlanPaused(reason="budget", detail=detail))


class WorkClock:
    """How long the steps of one plan have worked. `since` is when the time that runs now began."""

    def __init__(self) -> None:
        self._before = 0.0
        self._running: set[StepId] = set()
        self._used_up = False
        self._last: datetime | None = None
        self.since: datetime | None = None

    def heard(self, event: ev.Event, plan: Plan, at: datetime) -> None:
        """Something happened to the plan."""
        last, self._last = self._last, at
        if isinstance(event, ev.PlanPaused) and event.reason in ("restart", "storage"):
            # Nobody knows for how long the server went on after the last event that it has written.
            if self.since is not None and last is not None:
                self._before += (last - self.since).total_seconds()
            self.since = None
            self._running.clear()
        self._follow(event)
        works = any(not waits_for_person(plan, step_id) for step_id in self._running)
        if works and self.since is None:
            self.since = at
        elif not works and self.since is not None:
            self._before += (at - self.since).total_seconds()
            self.since = None

    def _follow(self, event: ev.Event) -> None:
        """Which steps run, by the events alone: looking at every step of a long plan would cost too much."""
        match event:
            case ev.TaskStarted():
                self._running.add(event.task_id)
            case ev.TaskUpdate() if event.status == "running":
                return
            case (
                ev.TaskUpdate()
                | ev.TaskCompleted()
                | ev.TaskFailed()
                | ev.TaskSkipped()
                | ev.ClarificationRequest()
            ):
                self._running.discard(event.task_id)
            case ev.PlanReady() | ev.PlanEdited() | ev.PlanDrafting():
                self._running.clear()
            case ev.PlanPaused():
                self._used_up = self._used_up or event.reason == "budget"
            case ev.PlanResumed() if self._used_up:
                self._used_up = False
                self._before = 0.0
                self.since = None
            case _:
                return

    def seconds(self, now: datetime) -> float:
        """The time worked until now."""
        return self._before + ((now - self.since).total_seconds() if self.since is not None else 0.0)


def _lasting(seconds: float) -> str:
    if seconds >= 120:
        return f"{seconds / 60:g} minutes"
    return f"{seconds:g} seconds"
