"""Limits the working time of steps and plans. Time in which they wait for the user or the model does not count.

The loop's clock measures it, which nobody sets and which stands still while a Linux or macOS machine sleeps.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol

from planloom.domain.events import catalog as ev
from planloom.domain.plans.plan import ENDED, Plan
from planloom.domain.text.counted import duration
from planloom.domain.values import PlanId, StepId
from planloom.execution.effects.previous_calls import changed_so_far
from planloom.execution.plan_store import PlanStore
from planloom.execution.session import Session
from planloom.execution.step_outcomes import Interrupted, Outcome
from planloom.execution.step_run import StepRun


class Timers(Protocol):
    """The part of the event loop that time limits use."""

    def time(self) -> float:
        """Seconds of a monotonic clock."""

    def call_later(self, delay: float, callback: Callable[[], None]) -> asyncio.TimerHandle:
        """Call `callback` after `delay` seconds."""


def waits_for_person(plan: Plan, step_id: StepId) -> bool:
    """Whether a running step has an approval or a conflict that waits for the user."""
    pending = plan.pending
    return any(each.step_id == step_id for each in pending.approvals) or any(
        each.step_id == step_id for each in pending.conflicts
    )


class StepClock:
    """The time that one run of a step may work. It stands still while the step waits for the user or the model.

    `at_limit` settles what the step has staged when its time is over.
    """

    def __init__(self, seconds: float) -> None:
        self.limit = asyncio.timeout(seconds)
        self.at_limit: Callable[[], Awaitable[object]] | None = None
        self._left = seconds
        self._since: float | None = asyncio.get_running_loop().time()
        self._waits_for_person = False
        self._waits_for_model = False

    def on_model(self, *, waits: bool) -> None:
        """Stop or start the clock, as the step waits for the model or no longer."""
        self._waits_for_model = waits
        self._follow()

    def on_person(self, *, waits: bool) -> None:
        """Stop or start the clock, as the step waits for the user or no longer."""
        self._waits_for_person = waits
        self._follow()

    def _follow(self) -> None:
        now = asyncio.get_running_loop().time()
        waits = self._waits_for_person or self._waits_for_model
        if waits and self._since is not None:
            self._left -= now - self._since
            self._since = None
            self._reschedule(None)
        elif not waits and self._since is None:
            self._since = now
            self._reschedule(now + max(0.0, self._left))

    def _reschedule(self, when: float | None) -> None:
        # A limit that has been reached cancels the step, which may close a request on its way out.
        if not self.limit.expired():
            self.limit.reschedule(when)


async def within(
    plan_time: PlanTimeBudget, run: StepRun, work: Callable[[StepClock], Awaitable[Outcome]]
) -> Outcome:
    """Run a step's work, and interrupt it after `execution.stepTimeoutSeconds` of work.

    An edit in progress is finished and recorded before this returns.
    """
    seconds = run.session.settings.execution.step_timeout_seconds
    clock = StepClock(seconds)

    def on_model(waits: bool) -> None:
        clock.on_model(waits=waits)
        plan_time.on_model(run.plan_id, run.step_id, waits=waits)

    run.on_model = on_model

    def on_event(recorded: ev.Recorded, plan: Plan) -> None:
        if recorded.plan_id == run.plan_id:
            clock.on_person(waits=waits_for_person(plan, run.step_id))

    try:
        async with clock.limit:
            unsubscribe = run.plan_store.listen(on_event)
            try:
                return await work(clock)
            finally:
                unsubscribe()
    except TimeoutError:
        if not clock.limit.expired():
            raise
        if clock.at_limit is not None:
            await clock.at_limit()
        detail = (
            f"The step has worked for {duration(seconds)}, the most that one step may take "
            "(execution.stepTimeoutSeconds). Resume the plan to give it as much again. "
            f"{changed_so_far(run.plan, run.now)}"
        )
        return Interrupted(reason="budget", detail=detail)


class PlanTimeBudget:
    """Pauses a plan when its steps have worked for `budget.maxMinutes` since the budget was last granted."""

    def __init__(self, session: Session, plan_store: PlanStore, timers: Timers | None = None) -> None:
        self._plan_store = plan_store
        self._session = session
        self._loop = timers or asyncio.get_running_loop()
        self._clocks: dict[PlanId, WorkClock] = {}
        self._timers: dict[PlanId, asyncio.TimerHandle] = {}
        plan_store.on_stop(lambda plan_id, _: self._forget(plan_id))

    def on_model(self, plan_id: PlanId, step_id: StepId, *, waits: bool) -> None:
        """Stop or start the plan's clock, as one of its steps waits for the model or no longer."""
        plan, clock = self._plan_store.load(plan_id), self._clocks.get(plan_id)
        if plan is not None and clock is not None:
            clock.on_model(step_id, plan, self._loop.time(), waits=waits)
            self._set_timer(plan, clock)

    def on_event(self, recorded: ev.Recorded, plan: Plan) -> None:
        """Start or stop the clock of the plan; drop that of one that has ended."""
        if plan.status in ENDED:
            self._forget(plan.plan_id)
            return
        clock = self._clocks.get(plan.plan_id)
        if clock is None:
            clock = self._clocks[plan.plan_id] = self._clock_before(recorded, plan)
        clock.on_event(recorded.event, plan, self._loop.time())
        self._set_timer(plan, clock)

    def _clock_before(self, recorded: ev.Recorded, plan: Plan) -> WorkClock:
        """The clock of a plan before the first event that is seen here, from the events of earlier processes.

        `plan` is the plan after it. Before a step has begun there is no time to count, so a draft is not read again.
        """
        clock = WorkClock()
        begun = sum(step.attempts for step in plan.steps) - isinstance(recorded.event, ev.StepStarted)
        if begun:
            for earlier, after in self._plan_store.history(recorded.plan_id, 0, recorded.seq - 1):
                clock.on_event(earlier.event, after, earlier.at.timestamp())
                clock.deduct_model_time(earlier.event)
            clock.end_of_process()
        return clock

    def _forget(self, plan_id: PlanId) -> None:
        self._clocks.pop(plan_id, None)
        timer = self._timers.pop(plan_id, None)
        if timer is not None:
            timer.cancel()

    def _set_timer(self, plan: Plan, clock: WorkClock) -> None:
        timer = self._timers.get(plan.plan_id)
        due = plan.status == "executing" and clock.since is not None
        if timer is not None and not due:
            timer.cancel()
            del self._timers[plan.plan_id]
        elif timer is None and due:
            self._start(plan.plan_id, clock)

    def _start(self, plan_id: PlanId, clock: WorkClock) -> None:
        left = self._session.settings.budget.max_minutes * 60 - clock.seconds(self._loop.time())
        self._timers[plan_id] = self._loop.call_later(max(0.0, left), lambda: self._on_timer(plan_id))

    def _on_timer(self, plan_id: PlanId) -> None:
        """Pause the plan, unless waits have left it some time."""
        del self._timers[plan_id]
        plan, clock = self._plan_store.load(plan_id), self._clocks.get(plan_id)
        if plan is None or clock is None or plan.status != "executing" or clock.since is None:
            return
        minutes = self._session.settings.budget.max_minutes
        if clock.seconds(self._loop.time()) < minutes * 60:
            self._start(plan_id, clock)
            return
        detail = (
            f"The plan has worked for {duration(minutes * 60)}, its budget (budget.maxMinutes). "
            "Resume it to grant as much again."
        )
        self._plan_store.record(plan_id, ev.PlanPaused(reason="budget", detail=detail))


class WorkClock:
    """Measures how long the steps of one plan have worked, in seconds of any clock.

    `since` is when it was started; None while it is stopped.
    """

    def __init__(self) -> None:
        self._before = 0.0
        self._running: set[StepId] = set()
        self._with_model: set[StepId] = set()
        """The steps that wait for the model now."""
        self._exhausted = False
        self._last = 0.0
        self.since: float | None = None

    def on_event(self, event: ev.Event, plan: Plan, time: float) -> None:
        """Start or stop the clock as an event of the plan requires. `plan` is the plan after it."""
        if isinstance(event, ev.PlanPaused) and event.reason in ("restart", "storage"):
            self.end_of_process()
        self._last = time
        self._follow(event)
        self._start_or_stop(plan, time)

    def end_of_process(self) -> None:
        """Stop at the last event of a server that has ended: how long it ran after that is unknown."""
        if self.since is not None:
            self._before += self._last - self.since
            self.since = None
        self._running.clear()

    def on_model(self, step_id: StepId, plan: Plan, time: float, *, waits: bool) -> None:
        """Start or stop the clock as a step waits for the model or no longer."""
        (self._with_model.add if waits else self._with_model.discard)(step_id)
        self._start_or_stop(plan, time)

    def deduct_model_time(self, event: ev.Event) -> None:
        """Deduct the time that a request took in an earlier process: of steps side by side each has its share."""
        if isinstance(event, ev.StepUpdate) and event.model_seconds:
            self._before -= event.model_seconds / max(1, len(self._running))

    def _start_or_stop(self, plan: Plan, time: float) -> None:
        at_work = self._running - self._with_model
        works = any(not waits_for_person(plan, step_id) for step_id in at_work)
        if works and self.since is None:
            self.since = time
        elif not works and self.since is not None:
            self._before += time - self.since
            self.since = None

    def _follow(self, event: ev.Event) -> None:
        """Track which steps run, by the events alone: looking at every step of a long plan would be too slow."""
        match event:
            case ev.StepStarted():
                self._running.add(event.step_id)
            case ev.StepUpdate() if event.status == "running":
                return
            case (
                ev.StepUpdate()
                | ev.StepCompleted()
                | ev.StepFailed()
                | ev.StepSkipped()
                | ev.ClarificationRequest()
            ):
                self._running.discard(event.step_id)
            case ev.PlanEdited() if event.step_id is not None:
                return
            case ev.PlanReady() | ev.PlanEdited() | ev.PlanDrafting():
                self._running.clear()
            case ev.PlanPaused():
                self._exhausted = self._exhausted or event.reason == "budget"
            case ev.PlanResumed() if self._exhausted:
                self._exhausted = False
                self._before = 0.0
                self.since = None
            case _:
                return

    def seconds(self, now: float) -> float:
        """The working time until `now`."""
        running = now - self.since if self.since is not None else 0.0
        return max(0.0, self._before + running)
