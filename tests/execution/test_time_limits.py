"""A plan's working time is measured from its events, so that a restart does not renew its budget."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from planloom.domain.events import catalog as ev
from planloom.domain.plans.plan import Detection, Plan, Step, StepResult, Usage
from planloom.domain.values import PlanId, SessionId, StepId
from planloom.execution.plan_store import PlanStore
from planloom.execution.session import Session
from planloom.execution.steps.time_limits import PlanTimeBudget
from planloom.settings import resolve
from planloom.workspace.documents import DocumentStore
from planloom.workspace.paths.roots import Roots
from planloom.workspace.view import WorkspaceView
from tests.support.fake_editor import FakeEditor
from tests.support.memory import MemoryStore

PLAN = PlanId("p")
DETECTION = Detection(planned=True, rule="none", score=1, ambiguous=False)


VIEW = WorkspaceView(Roots(()), DocumentStore("utf-16"))
SETTINGS = resolve({"user": {"budget.maxMinutes": 10}}).settings
SESSION = Session(SETTINGS, VIEW, FakeEditor(VIEW.documents))


class Timers:
    """A fake for the loop's clock and timers, which records the delays in seconds."""

    def __init__(self) -> None:
        self.now = 0.0
        self.set: list[float] = []
        self.call: Callable[[], None] = lambda: None

    def time(self) -> float:
        return self.now

    def call_later(self, delay: float, callback: Callable[[], None]) -> Any:
        self.set.append(round(delay, 3))
        self.call = callback
        return self

    def cancel(self) -> None:
        """Does nothing."""


class Desk:
    """A process that follows a plan, with a clock of its own."""

    def __init__(self, store: MemoryStore, at: datetime) -> None:
        self.now = at
        self.timer = Timers()
        self.plan_store = PlanStore(store, lambda: self.now)
        self.budget = PlanTimeBudget(SESSION, self.plan_store, self.timer)
        self.plan_store.listen(self.budget.on_event)

    def work(self, seconds: float) -> None:
        """Let time pass on a machine that is awake."""
        self.now += timedelta(seconds=seconds)
        self.timer.now += seconds

    def later(self, seconds: float, *happened: ev.Event) -> Plan:
        self.work(seconds)
        return self.plan_store.record(PLAN, *happened)


def executing(desk: Desk, *steps: str) -> None:
    """Open a plan of these steps, approved and executing."""
    made = tuple(Step(step_id=StepId(name), description=name, instruction=name) for name in steps)
    desk.plan_store.open(PLAN, SessionId("s"), ev.PlanStart(request="r", route="plan", detection=DETECTION))
    ready = ev.PlanReady(version=1, steps=made, summary="", sequential=False, author="rules")
    desk.later(0, ready, ev.PlanApproved(version=1, review="each"), ev.PlanExecuting())


def test_only_time_in_which_some_step_works_counts() -> None:
    desk = Desk(MemoryStore(), datetime(2026, 1, 2, 12, tzinfo=UTC))
    executing(desk, "a", "b")
    a, b = StepId("a"), StepId("b")
    desk.later(0, ev.StepStarted(step_id=a, agent="koda"), ev.StepStarted(step_id=b, agent="koda"))
    desk.work(100)
    desk.budget.on_model(PLAN, a, waits=True)
    desk.work(100)
    desk.budget.on_model(PLAN, b, waits=True)
    desk.work(7200)
    desk.budget.on_model(PLAN, a, waits=False)
    assert desk.timer.set == [600, 400], "stopped while both wait, and begun again with what is left"


def test_the_models_time_before_a_restart_does_not_count() -> None:
    store, a = MemoryStore(), StepId("a")
    first = Desk(store, datetime(2026, 1, 2, 12, tzinfo=UTC))
    executing(first, "a")
    begin = ev.StepStarted(step_id=a, agent="koda")
    first.later(0, begin)
    answered = ev.StepUpdate(step_id=a, status="running", usage=Usage(requests=1), model_seconds=500)
    first.later(530, answered)
    first.later(20, ev.Log(level="info", message="works"))
    second = Desk(store, first.now + timedelta(hours=3))
    second.plan_store.load(PLAN)
    second.later(0, ev.PlanPaused(reason="restart"), ev.StepUpdate(step_id=a, status="pending"))
    second.later(60, ev.PlanResumed(), begin)
    assert second.timer.set == [550]


def test_what_was_worked_before_a_restart_counts() -> None:
    store = MemoryStore()
    first = Desk(store, datetime(2026, 1, 2, 12, tzinfo=UTC))
    executing(first, "a")
    begin, log = ev.StepStarted(step_id=StepId("a"), agent="koda"), ev.Log(level="info", message="works")
    first.later(0, begin)
    first.later(240, log)
    second = Desk(store, first.now + timedelta(hours=3))
    second.plan_store.load(PLAN)
    back = ev.StepUpdate(step_id=StepId("a"), status="pending")
    second.later(0, ev.PlanPaused(reason="restart"), back)
    second.later(60, ev.PlanResumed(), begin)
    assert first.timer.set == [600] and second.timer.set == [360]
    result = StepResult(ok=True, duration_ms=1, timestamp=second.now)
    second.later(100, ev.StepCompleted(step_id=StepId("a"), result=result), ev.PlanCompleted(summary=""))


def test_the_events_of_a_plan_that_has_not_begun_are_not_read_again() -> None:
    store, begin = MemoryStore(), ev.StepStarted(step_id=StepId("a"), agent="koda")
    executing(Desk(store, datetime(2026, 1, 2, 12, tzinfo=UTC)), "a", "b")
    second = Desk(store, datetime(2026, 1, 2, 13, tzinfo=UTC))
    second.plan_store.load(PLAN)
    store.read.clear()
    second.later(0, begin)
    assert second.timer.set == [600] and store.read == []


@pytest.mark.parametrize("hours", [2, 90_000, -90_000])
def test_a_machine_that_sleeps_or_whose_clock_is_set_does_not_work(hours: int) -> None:
    desk = Desk(MemoryStore(), datetime(2026, 1, 2, 12, tzinfo=UTC))
    executing(desk, "a", "b")
    a, b = StepId("a"), StepId("b")
    desk.later(0, ev.StepStarted(step_id=a, agent="koda"))
    desk.now += timedelta(hours=hours)
    result = StepResult(ok=True, duration_ms=1, timestamp=desk.now)
    desk.later(100, ev.StepCompleted(step_id=a, result=result), ev.StepStarted(step_id=b, agent="koda"))
    desk.work(400)
    desk.timer.call()
    assert desk.plan_store.read(PLAN).status == "executing" and desk.timer.set[-1] == 100
    desk.work(100)
    desk.timer.call()
    assert desk.plan_store.read(PLAN).pause_reason == "budget"
