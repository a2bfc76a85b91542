"""Executing plans: order, failures, pauses, cancels. The steps are scripted, everything else is real."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any

import pytest

from planloom.domain.errors import DEFECT, ModelFailed, ModelProblem
from planloom.domain.events import catalog as ev
from planloom.domain.plans.plan import Detection, Plan, PlanStatus, Step
from planloom.domain.scheduling import directives as do
from planloom.domain.values import PlanId, SessionId, StepId, Uri
from planloom.execution.conductor import Conductor
from planloom.execution.jobs import Jobs, only_logged
from planloom.execution.plan_store import PlanStore
from planloom.execution.resources import Resources
from planloom.execution.step_outcomes import Asked, Done, Failed, Outcome, Skipped
from tests.support.memory import MemoryStore

DETECTION = Detection(planned=True, rule="numbered_list", score=50, ambiguous=False)
PLAN = PlanId("plan")
DONE = Done(summary="done")


class ScriptedSteps:
    """Steps that end with scripted outcomes, each once and the last repeatedly."""

    def __init__(
        self, script: dict[str, list[Outcome | Exception | Callable[[], Awaitable[Outcome]]]]
    ) -> None:
        self.script = script
        self.begun: list[str] = []
        self.running = 0
        self.most = 0

    async def run(self, plan_id: PlanId, step_id: StepId) -> Outcome:
        self.begun.append(step_id)
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            await asyncio.sleep(0)
            outcomes = self.script.get(step_id, [DONE])
            outcome = outcomes.pop(0) if len(outcomes) > 1 else outcomes[0]
            if isinstance(outcome, Exception):
                raise outcome
            return outcome if not callable(outcome) else await outcome()
        finally:
            self.running -= 1

    def leading(self, plan: Plan) -> StepId | None:
        return None

    async def seen(self, _plan: Plan) -> frozenset[Uri]:
        return frozenset()

    async def before_end(self, plan_id: PlanId) -> bool:
        return True


class LockedStore(MemoryStore):
    """A store that another program has locked until `unlocked` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting = asyncio.Event()
        self.unlocked = asyncio.Event()

    async def ready(self) -> None:
        self.waiting.set()
        await self.unlocked.wait()


class World:
    """An approved plan, and what is needed to execute it."""

    store: type[MemoryStore] = MemoryStore

    def __init__(
        self, steps: Iterable[Step], runner: ScriptedSteps, sequential: bool = False, **limits: Any
    ) -> None:
        self.plan_store = PlanStore(self.store())
        self.jobs = Jobs(self.failed, self.wait)
        self.runner = runner
        self.waits: list[float] = []
        self.conductor = Conductor(self.plan_store, self.jobs, runner, lambda: do.Limits(**limits))
        self.plan_store.listen(self.conductor.on_event)
        self.plan_store.open(
            PLAN, SessionId("s"), ev.PlanStart(request="r", route="plan", detection=DETECTION)
        )
        self.plan_store.record(
            PLAN,
            ev.PlanReady(version=1, steps=tuple(steps), summary="", sequential=sequential, author="rules"),
            ev.PlanApproved(version=1, review="each"),
        )

    async def wait(self, seconds: float) -> None:
        self.waits.append(seconds)

    async def failed(self, name: str, error: Exception) -> None:
        self.conductor.pause_on_error(PLAN, error)

    @property
    def plan(self) -> Plan:
        plan = self.plan_store.find(PLAN)
        assert plan is not None
        return plan

    def statuses(self) -> dict[str, str]:
        return {step.step_id: step.status for step in self.plan.steps}

    async def until(self, *statuses: PlanStatus) -> Plan:
        self.conductor.conduct(PLAN)
        async with asyncio.timeout(5):
            while self.plan.status not in statuses:
                await asyncio.sleep(0)
        return self.plan


def step(step_id: str, *depends_on: str, **more: object) -> Step:
    return Step.model_validate(
        {"step_id": step_id, "description": step_id, "instruction": step_id, "depends_on": depends_on, **more}
    )


async def test_steps_run_when_their_dependencies_are_done() -> None:
    runner = ScriptedSteps({})
    world = World([step("a"), step("b", "a"), step("c", "a"), step("d", "b", "c")], runner)
    plan = await world.until("completed")
    assert runner.begun[0] == "a" and runner.begun[-1] == "d"
    assert plan.execution_summary is not None and plan.execution_summary.startswith("4 of 4 steps done")


class LockedWorld(World):
    """A plan whose ledger is locked when a step is to begin."""

    store = LockedStore

    async def until_due(self) -> LockedStore:
        """Begin to carry the plan out, up to the first thing that waits for the ledger."""
        assert isinstance(self.plan_store.store, LockedStore)
        self.conductor.conduct(PLAN)
        async with asyncio.timeout(5):
            await self.plan_store.store.waiting.wait()
        return self.plan_store.store


async def test_a_step_that_was_due_before_a_pause_does_not_begin_when_the_ledger_is_unlocked(
    caplog: pytest.LogCaptureFixture,
) -> None:
    runner = ScriptedSteps({})
    world = LockedWorld([step("a")], runner)
    world.plan_store.record(PLAN, ev.PlanExecuting())
    store = await world.until_due()
    world.plan_store.record(PLAN, ev.PlanPaused(reason="user"))
    store.unlocked.set()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert runner.begun == [] and world.statuses() == {"a": "pending"} and not caplog.records
    world.plan_store.record(PLAN, ev.PlanResumed())
    await world.until("completed")


async def test_a_step_that_was_due_before_a_halt_begins_after_its_release() -> None:
    runner = ScriptedSteps({})
    world = LockedWorld([step("a")], runner)
    world.plan_store.record(PLAN, ev.PlanExecuting())
    store = await world.until_due()
    await world.conductor.halt(PLAN)
    store.unlocked.set()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert runner.begun == []
    world.conductor.release(PLAN)
    await world.until("completed")


async def test_a_plan_that_has_nothing_to_do_does_not_ask_for_the_ledger() -> None:
    world = LockedWorld([step("a")], ScriptedSteps({}))
    world.plan_store.record(PLAN, ev.PlanExecuting(), ev.PlanPaused(reason="user"))
    world.conductor.conduct(PLAN)
    for number in range(3):
        world.plan_store.record(PLAN, ev.Log(level="info", message=str(number)))
        await asyncio.sleep(0)
    assert isinstance(world.plan_store.store, LockedStore) and not world.plan_store.store.waiting.is_set()


async def test_no_more_steps_run_at_once_than_allowed() -> None:
    runner = ScriptedSteps({})
    await World([step(f"s{n}") for n in range(9)], runner, max_parallel_steps=3).until("completed")
    assert runner.most == 3


async def test_a_sequential_plan_keeps_its_order() -> None:
    runner = ScriptedSteps({})
    await World([step(f"s{n}") for n in range(6)], runner, sequential=True).until("completed")
    assert runner.begun == [f"s{n}" for n in range(6)] and runner.most == 1


async def test_dependants_of_a_denied_step_are_skipped_and_others_go_on() -> None:
    runner = ScriptedSteps({"a": [Skipped(reason="approval_denied")]})
    world = World([step("a"), step("b", "a"), step("c", "b"), step("d")], runner)
    await world.until("completed")
    assert world.statuses() == {"a": "skipped", "b": "skipped", "c": "skipped", "d": "completed"}


async def test_a_failed_step_pauses_the_plan_and_a_retry_carries_on() -> None:
    runner = ScriptedSteps({"a": [Failed(error="no luck"), DONE]})
    world = World([step("a"), step("b", "a")], runner)
    paused = await world.until("paused")
    assert paused.pause_reason == "recovery"
    assert [(r.step_id, r.error, r.options) for r in paused.pending.recoveries] == [
        ("a", "no luck", ("retry", "skip", "go_on", "abort"))
    ]
    world.plan_store.record(PLAN, ev.RecoveryChosen(step_id=StepId("a"), action="retry"))
    await world.until("completed")
    assert world.statuses() == {"a": "completed", "b": "completed"}


async def test_a_pause_for_a_recovery_lets_running_steps_end() -> None:
    slow = asyncio.Event()

    async def slowly() -> Outcome:
        await slow.wait()
        return DONE

    world = World([step("a"), step("b")], ScriptedSteps({"a": [Failed(error="no")], "b": [slowly]}))
    await world.until("paused")
    assert world.statuses() == {"a": "failed", "b": "running"}
    slow.set()
    await world.jobs.join(f"step:{PLAN}:b")
    assert world.statuses() == {"a": "failed", "b": "completed"}


async def test_policy_retry_tries_three_times_with_waits_between() -> None:
    runner = ScriptedSteps({"a": [Failed(error="no")]})
    world = World([step("a"), step("b")], runner, on_failure="retry")
    await world.until("completed")
    assert runner.begun.count("a") == 3 and world.waits == [1.0, 2.0]
    assert world.statuses() == {"a": "failed", "b": "completed"}


async def test_an_interrupted_run_is_no_failed_attempt() -> None:
    gone = ModelFailed("model_unavailable", "gone")
    runner = ScriptedSteps({"a": [gone, gone, gone, Failed(error="e"), DONE]})
    world = World([step("a")], runner, on_failure="retry")
    for _ in range(3):
        await world.until("paused")
        world.plan_store.record(PLAN, ev.PlanResumed())
    await world.until("completed")
    failures = [
        recorded.event
        for recorded in world.plan_store.store.events(PLAN)
        if isinstance(recorded.event, ev.StepFailed)
    ]
    assert [failure.will_retry for failure in failures] == [True] and world.waits == [1.0]


@pytest.mark.parametrize(
    ("policy", "critical", "status"),
    [
        ("skip", False, "completed"),
        ("skip", True, "failed"),
        ("abort", False, "failed"),
        ("retry", True, "failed"),
    ],
)
async def test_what_a_failure_means_for_the_plan(policy: str, critical: bool, status: PlanStatus) -> None:
    runner = ScriptedSteps({"a": [Failed(error="no")]})
    world = World([step("a", critical=critical), step("b")], runner, on_failure=policy, max_parallel_steps=1)
    plan = await world.until("completed", "failed")
    assert plan.status == status


async def test_a_missing_model_pauses_the_plan_and_a_resume_tries_again() -> None:
    problem = ModelProblem(cause="unreachable", address="http://localhost:11434")
    gone = ModelFailed("model_unavailable", "No model.", hint="Start one.", problem=problem)
    world = World([step("a")], ScriptedSteps({"a": [gone, DONE]}))
    paused = await world.until("paused")
    assert paused.model_problem == problem
    assert (paused.pause_reason, paused.pause_detail) == ("model_unavailable", "No model. Start one.")
    assert world.statuses() == {"a": "pending"}
    world.plan_store.record(PLAN, ev.PlanResumed())
    await world.until("completed")


async def test_a_question_pauses_and_its_answer_carries_on() -> None:
    world = World([step("a"), step("b", "a")], ScriptedSteps({"a": [Asked(question="Which?"), DONE]}))
    paused = await world.until("paused")
    assert paused.pending.questions[0].question == "Which?"
    world.plan_store.record(PLAN, ev.ClarificationProvided(step_id=StepId("a"), answer="this"))
    await world.until("completed")


async def test_a_plan_that_is_resumed_beside_a_question_runs_what_does_not_wait_for_it() -> None:
    steps = [step("a"), step("b"), step("c", "a"), step("d", "b")]
    world = World(steps, ScriptedSteps({"a": [Asked(question="Which?"), DONE]}))
    paused = await world.until("paused")
    assert (paused.pause_reason, world.statuses()["d"]) == ("clarification", "pending")
    world.plan_store.record(PLAN, ev.PlanResumed())
    world.conductor.conduct(PLAN)
    async with asyncio.timeout(5):
        while world.statuses()["d"] != "completed":
            await asyncio.sleep(0)
    assert [*world.statuses().values()] == ["needs_clarification", "completed", "pending", "completed"]
    world.plan_store.record(PLAN, ev.ClarificationProvided(step_id=StepId("a"), answer="this"))
    await world.until("completed")


async def test_a_clarification_step_asks_its_question() -> None:
    world = World([step("a", kind="clarification", question="Who?")], ScriptedSteps({}))
    paused = await world.until("paused")
    assert paused.pending.questions[0].question == "Who?"
    assert world.statuses() == {"a": "needs_clarification"}


async def test_a_defect_fails_the_step_and_the_plan_lives_on() -> None:
    world = World([step("a"), step("b")], ScriptedSteps({"a": [ZeroDivisionError("x")]}), on_failure="skip")
    plan = await world.until("completed")
    assert world.statuses() == {"a": "failed", "b": "completed"}
    assert "internal" not in str(plan.execution_summary)


async def test_halting_brings_running_steps_back_and_nothing_starts_until_released() -> None:
    forever = asyncio.Event()

    async def hang() -> Outcome:
        await forever.wait()
        return DONE

    world = World([step("a"), step("b")], ScriptedSteps({"a": [hang, DONE]}))
    world.conductor.conduct(PLAN)
    async with asyncio.timeout(5):
        while world.statuses() != {"a": "running", "b": "completed"}:
            await asyncio.sleep(0)
    await world.conductor.halt(PLAN)
    assert world.statuses() == {"a": "pending", "b": "completed"}
    for _ in range(20):
        await asyncio.sleep(0)
    assert world.statuses() == {"a": "pending", "b": "completed"}
    world.conductor.release(PLAN)
    await world.until("completed")


async def test_a_step_that_is_stopped_before_it_has_begun_is_pending_and_holds_nothing() -> None:
    """A pause requested just as a step starts takes effect before the step's job begins."""
    world = World([step("a")], ScriptedSteps({}))
    resources = Resources(lambda _plan, _step: ["thing"])
    jobs, plan_store = world.jobs, world.plan_store
    conductor = Conductor(plan_store, jobs, world.runner, do.Limits, resources=resources)
    plan_store.listen(conductor.on_event)
    halts: list[asyncio.Task[None]] = []

    def heard(recorded: ev.Recorded, _plan: Plan) -> None:
        if recorded.event.type == "task_started" and not halts:
            halts.append(asyncio.create_task(conductor.halt(PLAN)))

    plan_store.listen(heard)
    conductor.conduct(PLAN)
    async with asyncio.timeout(5):
        while not halts:
            await asyncio.sleep(0)
        await halts[0]
    assert world.statuses() == {"a": "pending"} and resources.free(world.plan, world.plan.steps[0])
    conductor.release(PLAN)
    async with asyncio.timeout(5):
        await jobs.join("conduct:")
    assert world.plan.status == "completed"


async def test_what_happened_is_what_the_ledger_folds_to() -> None:
    runner = ScriptedSteps({"b": [Failed(error="no")]})
    world = World([step("a"), step("b", "a"), step("c", "b")], runner, on_failure="skip")
    await world.until("completed")
    assert world.plan_store.replay(PLAN) == world.plan


async def test_steps_that_need_the_same_thing_alone_run_one_after_another_across_plans() -> None:
    runner = ScriptedSteps({})
    plan_store = PlanStore(MemoryStore())
    resources = Resources(lambda _plan, step: [step.step_id[0]], lambda name: 2 if name == "m" else 1)
    conductor = Conductor(plan_store, Jobs(only_logged), runner, do.Limits, resources=resources)
    plan_store.listen(conductor.on_event)
    for number in (1, 2):
        plan_id = PlanId(f"plan{number}")
        plan_store.open(plan_id, SessionId("s"), ev.PlanStart(request="r", route="plan", detection=DETECTION))
        steps = tuple(step(f"a{n}") for n in range(4))
        ready = ev.PlanReady(version=1, steps=steps, summary="", sequential=False, author="rules")
        plan_store.record(plan_id, ready, ev.PlanApproved(version=1, review="each"))
        conductor.conduct(plan_id)
    async with asyncio.timeout(5):
        while any(plan.status != "completed" for plan in plan_store.live()):
            await asyncio.sleep(0)
    assert runner.most == 1


class FailingStore(MemoryStore):
    """A store with a defect: it refuses the first events of one type."""

    def __init__(self, type_: str, times: int = 1) -> None:
        super().__init__()
        self.type = type_
        self.times = times

    def append(self, recorded: Sequence[ev.Recorded], plan: Plan, *, durable: bool = True) -> None:
        if self.times and any(each.event.type == self.type for each in recorded):
            self.times -= 1
            raise RuntimeError("a defect")
        super().append(recorded, plan, durable=durable)


@pytest.mark.parametrize("type_", ["task_started", "task_completed", "plan_completed"])
async def test_one_event_that_cannot_be_recorded_pauses_the_plan_with_the_reason(type_: str) -> None:
    world = World([step("a"), step("b", "a")], ScriptedSteps({}))
    resources = Resources(lambda _plan, _step: ["thing"])
    world.conductor = Conductor(world.plan_store, world.jobs, world.runner, do.Limits, resources=resources)
    world.plan_store.listen(world.conductor.on_event)
    store = FailingStore(type_)
    store.recorded = dict(world.plan_store.store.recorded)  # type: ignore[attr-defined]
    world.plan_store.store = store
    paused = await world.until("paused")
    await world.jobs.join("step:")
    assert paused.pause_reason == "error" and DEFECT in (paused.pause_detail or "")
    assert world.statuses()["a"] in ("pending", "completed")
    assert all(resources.free(world.plan, each) for each in world.plan.steps)
    world.plan_store.record(PLAN, ev.PlanResumed())
    await world.until("completed")


async def test_a_step_whose_end_could_not_be_recorded_at_all_runs_again_after_a_halt() -> None:
    """Neither the step's end nor the pause for the error can be recorded; a pause by the user repairs it."""

    class Dead(MemoryStore):
        def append(self, recorded: Sequence[ev.Recorded], plan: Plan, *, durable: bool = True) -> None:
            if recorded[0].event.type in ("task_completed", "plan_paused", "task_update"):
                raise RuntimeError("a defect")
            super().append(recorded, plan, durable=durable)

    world = World([step("a")], ScriptedSteps({}))
    healthy, dead = world.plan_store.store, Dead()
    dead.recorded = healthy.recorded  # type: ignore[attr-defined]
    world.plan_store.store = dead
    world.conductor.conduct(PLAN)
    async with asyncio.timeout(5):
        while not world.runner.begun or world.jobs.names("step:"):
            await asyncio.sleep(0)
    assert world.statuses() == {"a": "running"}
    world.plan_store.store = healthy
    await world.conductor.halt(PLAN)
    assert world.statuses() == {"a": "pending"}
    world.conductor.release(PLAN)
    await world.until("completed")


async def test_a_defect_at_the_end_of_a_plan_is_no_pause_by_the_user() -> None:
    class Broken(ScriptedSteps):
        async def before_end(self, plan_id: PlanId) -> bool:
            raise RuntimeError("a defect")

    paused = await World([step("a")], Broken({})).until("paused")
    assert paused.pause_reason == "error" and "Resume the plan" in (paused.pause_detail or "")


async def test_a_failed_step_that_the_setting_skips_is_not_told_as_skipped_by_the_user() -> None:
    runner = ScriptedSteps({"a": [Failed(error="no")]})
    world = World([step("a"), step("b")], runner, on_failure="skip")
    await world.until("completed")
    skipped = [
        each.event for each in world.plan_store.store.events(PLAN) if isinstance(each.event, ev.StepSkipped)
    ]
    assert [each.reason for each in skipped] == ["policy"]
