"""Executes plans: carries out the directives of each plan's schedule, records events, and repeats until it ends."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol, assert_never

from tenacity import RetryCallState, Retrying, wait_exponential

from planloom.domain.errors import (
    DEFECT,
    BudgetExhausted,
    ModelFailed,
    OwnedElsewhere,
    PlanloomError,
    StorageFailed,
)
from planloom.domain.events import catalog as ev
from planloom.domain.plans.plan import Plan, PlanError, Step, StepResult
from planloom.domain.scheduling import directives as do
from planloom.domain.scheduling.schedule import Schedule
from planloom.domain.values import PlanId, StepId, Uri
from planloom.execution.jobs import Jobs, background_jobs
from planloom.execution.plan_store import PlanStore
from planloom.execution.resources import DRAFT, MODEL, Resources
from planloom.execution.step_outcomes import Asked, Done, Failed, Interrupted, Outcome, Rerouted, Skipped
from planloom.execution.step_questions import Proposer, StepQuestions
from planloom.execution.summary import ending_of, failed

RETRY_WAIT = wait_exponential(multiplier=1.0)
"""The seconds before each automatic retry of a step: 1, 2, …"""
log = logging.getLogger(__name__)


class StepRunner(Protocol):
    """Runs single steps."""

    async def run(self, plan_id: PlanId, step_id: StepId) -> Outcome:
        """Run one step to its end. Raises PlanloomError if it cannot be run."""
        ...

    def leading(self, plan: Plan) -> StepId | None:
        """The one step of a model that may start now; None if each that is ready may."""
        ...

    async def seen(self, plan: Plan) -> frozenset[Uri]:
        """The files with unverified changes that show them now."""
        ...

    async def before_end(self, plan_id: PlanId) -> bool:
        """Finish the plan's work after its last step has ended. False if the plan must not end yet."""
        ...


class Conductor:
    """Runs the plans of this process: one job for each plan, and one for each running step."""

    def __init__(
        self,
        plan_store: PlanStore,
        jobs: Jobs,
        runner: StepRunner,
        limits: Callable[[], do.Limits],
        resources: Resources | None = None,
        proposer: Proposer | None = None,
    ) -> None:
        self._plan_store = plan_store
        self._jobs = jobs
        self._runner = runner
        self._limits = limits
        self._resources = resources or Resources()
        self.questions = StepQuestions(plan_store, jobs, limits, proposer)
        self._wakeups: dict[PlanId, asyncio.Event] = {}
        self._schedules: dict[PlanId, Schedule] = {}
        self._halted: set[PlanId] = set()
        self._waiting: set[tuple[PlanId, StepId]] = set()

    def conduct(self, plan_id: PlanId) -> None:
        """Start the plan's job, or wake it, to carry the plan out as far as possible."""
        self._wakeups.setdefault(plan_id, asyncio.Event()).set()
        self._jobs.start(f"conduct:{plan_id}", self._conduct(plan_id))

    async def halt(self, plan_id: PlanId) -> None:
        """Stop the running steps: an edit in progress is finished and recorded, the steps become pending.

        Nothing starts until `release`.
        """
        self._halted.add(plan_id)
        await self._jobs.stop(f"step:{plan_id}:")
        plan = None if self._plan_store.is_stopped(plan_id) else self._plan_store.load(plan_id)
        for step in plan.steps if plan is not None else ():
            # Its job has ended without recording this.
            if step.status == "running":
                self._back_to_pending(plan_id, step.step_id)

    @contextmanager
    def model_used_by_draft(self, plan_id: PlanId) -> Iterator[None]:
        """Let the draft of a plan count as a step that uses the model, for as long as the context is open.

        Meanwhile a step for which the model has no room does not start, and is reported as waiting for the draft.
        """
        self._resources.claim_for_draft(plan_id, MODEL)
        try:
            yield
        finally:
            self._release(plan_id, DRAFT)

    async def end_background(self, plan_id: PlanId) -> None:
        """Stop the background commands of a plan that is about to end, so that its report tells their ends."""
        await self._jobs.stop(background_jobs(plan_id))

    def release(self, plan_id: PlanId) -> None:
        """Let steps start again after `halt`."""
        self._halted.discard(plan_id)
        if plan_id in self._wakeups:
            self._wakeups[plan_id].set()

    def _is_free(self, plan: Plan, step: Step, held_back: list[Step]) -> bool:
        if (plan.plan_id, step.step_id) in self._waiting:
            return False
        if step.kind == "processing" and self._runner.leading(plan) not in (None, step.step_id):
            return False
        free = self._resources.free(plan, step)
        if not free:
            held_back.append(step)
        return free

    def on_event(self, recorded: ev.Recorded, plan: Plan) -> None:
        """Update the schedule of the plan, and wake its job."""
        schedule = self._schedules.get(recorded.plan_id)
        if schedule is not None:
            schedule.update(recorded.event, plan)
        wakeup = self._wakeups.get(recorded.plan_id)
        if wakeup is not None:
            wakeup.set()

    async def _conduct(self, plan_id: PlanId) -> None:
        wakeup = self._wakeups[plan_id]
        try:
            while True:
                wakeup.clear()
                plan = self._plan_store.load(plan_id)
                if plan is None or plan.status not in ("approved", "executing", "paused"):
                    return
                if plan_id in self._halted or not await self._carry_out_due(plan):
                    await wakeup.wait()
        except (StorageFailed, OwnedElsewhere):
            # The plan store has stopped the plan, since an event could not be written.
            log.info("plan %s is no longer executed", plan_id)
        finally:
            if self._wakeups.get(plan_id) is wakeup:
                del self._wakeups[plan_id]
                self._schedules.pop(plan_id, None)
                self._resources.forget_waits(plan_id)

    def pause_on_error(self, plan_id: PlanId, error: Exception) -> None:
        """Pause a plan that cannot continue, so that the user sees the reason and can resume it."""
        reason = error.message if isinstance(error, PlanloomError) else DEFECT
        plan = self._plan_store.load(plan_id)
        if plan is not None and plan.status in ("approved", "executing"):
            paused = ev.PlanPaused(reason="error", detail=f"{reason} Resume the plan to try again.")
            self._plan_store.record(plan_id, paused)

    async def _carry_out_due(self, plan: Plan) -> bool:
        """Carry out the directives that are due. True if the plan has changed, so that others may be due."""
        schedule = self._schedules.get(plan.plan_id)
        if schedule is None:
            schedule = self._schedules[plan.plan_id] = Schedule(plan)
        held_back: list[Step] = []
        due = schedule.directives(plan, self._limits(), lambda step: self._is_free(plan, step, held_back))
        if due:
            await self._plan_store.wait_unlocked()
            if plan.plan_id in self._halted or self._plan_store.load(plan.plan_id) is not plan:
                # Something has happened while the ledger was locked: other directives may be due.
                return True
        changed = False
        for directive in due:
            if isinstance(directive, do.Complete):
                return await self._complete(plan)
            if isinstance(directive, do.RunStep):
                if self._start(plan, directive.step_id):
                    changed = True
                else:
                    held_back.append(_step(plan, directive.step_id))
                continue
            if (
                isinstance(directive, do.AskRecovery)
                and directive.of == "model"
                and self.questions.can_propose
            ):
                self.questions.propose(plan.plan_id, directive.step_id)
                continue
            self._carry_out(plan, directive)
            changed = True
        self._resources.report_waits(plan, held_back)
        return changed

    def _carry_out(self, plan: Plan, directive: do.Directive) -> None:
        plan_id = plan.plan_id
        match directive:
            case do.Begin():
                self._plan_store.record(plan_id, ev.PlanExecuting())
            case do.AskClarification():
                step = _step(plan, directive.step_id)
                self.questions.clarify(
                    plan,
                    ev.ClarificationRequest(step_id=step.step_id, question=step.asks, options=step.options),
                )
            case do.AskRecovery():
                self.questions.recover(plan, _step(plan, directive.step_id))
            case do.Skip():
                step_id, reason = directive.step_id, directive.reason
                skipped: list[ev.Event] = [ev.StepSkipped(step_id=step_id, reason=reason)]
                if reason == "policy":
                    skipped.insert(0, ev.RecoveryChosen(step_id=step_id, action="skip", by="policy"))
                self._plan_store.record(plan_id, *skipped)
            case do.Resume():
                self._plan_store.record(plan_id, ev.PlanResumed())
            case do.Fail():
                self._jobs.start(f"end:{plan_id}", self._fail(plan_id, directive))
                self._halted.add(plan_id)
            case do.Complete() | do.RunStep():
                raise AssertionError("handled by _carry_out_due")
            case _:
                assert_never(directive)

    async def _complete(self, plan: Plan) -> bool:
        # Named like the jobs of steps, so that a pause or a cancel stops it as well.
        ending = self._jobs.start(f"step:{plan.plan_id}:end", self._runner.before_end(plan.plan_id))
        await asyncio.wait({ending})
        if ending.cancelled():
            return True
        if (error := ending.exception()) is not None:
            raise error
        if not ending.result():
            return True
        await self.end_background(plan.plan_id)
        seen = await self._runner.seen(plan)
        now = self._plan_store.load(plan.plan_id)
        if now is None or now.status != "executing" or now.seq != plan.seq:
            return True
        self._plan_store.record(plan.plan_id, ending_of(now, self._plan_store.store.text, seen))
        return True

    async def _fail(self, plan_id: PlanId, failure: do.Fail) -> None:
        await self.halt(plan_id)
        await self.end_background(plan_id)
        plan = self._plan_store.load(plan_id)
        seen = await self._runner.seen(plan) if plan is not None else frozenset()
        self._halted.discard(plan_id)
        plan = self._plan_store.load(plan_id)
        if plan is not None and plan.status in ("executing", "paused"):
            error = PlanError(code=failure.code, message=failure.message)
            self._plan_store.record(plan_id, failed(plan, error, self._plan_store.store.text, seen))

    def _start(self, plan: Plan, step_id: StepId) -> bool:
        """Start a step and return True, or return False if a resource it needs is in use."""
        step = _step(plan, step_id)
        if (plan.plan_id, step_id) in self._waiting or not self._resources.claim(plan, step):
            return False
        try:
            self._plan_store.record(plan.plan_id, ev.StepStarted(step_id=step_id, agent=step.agent))
        except BaseException:
            self._release(plan.plan_id, step_id)
            raise
        # The job of the previous attempt may not have ended yet, so each attempt has its own name.
        name = f"step:{plan.plan_id}:{step_id}:{step.attempts + 1}"
        self._jobs.start(name, self._run(plan.plan_id, step_id))
        return True

    def _release(self, plan_id: PlanId, step_id: StepId) -> None:
        """Release the resources of a step, and wake every plan, since any may wait for them."""
        if self._resources.release(plan_id, step_id):
            for wakeup in self._wakeups.values():
                wakeup.set()

    async def _run(self, plan_id: PlanId, step_id: StepId) -> None:
        try:
            await self._run_to_end(plan_id, step_id)
        except (StorageFailed, OwnedElsewhere) as error:
            # The plan was stopped. When it is reloaded, the step is found done or runs again.
            log.info("the end of step %s of plan %s was not recorded: %s", step_id, plan_id, error.message)
        except Exception as error:
            # The outcome could not be recorded; the step's effects were, so that it can run again.
            self.pause_on_error(plan_id, error)
            self._back_to_pending(plan_id, step_id)
            raise
        finally:
            self._release(plan_id, step_id)

    async def _run_to_end(self, plan_id: PlanId, step_id: StepId) -> None:
        began = time.monotonic()
        try:
            outcome = await self._runner.run(plan_id, step_id)
            await self._plan_store.wait_unlocked()
        except asyncio.CancelledError:
            self._back_to_pending(plan_id, step_id)
            raise
        except ModelFailed as error:
            outcome = _model_failed(error)
        except BudgetExhausted as error:
            outcome = Interrupted(reason="budget", detail=error.message)
        except PlanloomError as error:
            outcome = Failed(error=error.message, code=error.code)
        except Exception:
            log.exception("step %s of plan %s failed because of a defect", step_id, plan_id)
            outcome = Failed(error=DEFECT, code="internal")
        self._record_outcome(plan_id, step_id, outcome, int((time.monotonic() - began) * 1000))

    def _back_to_pending(self, plan_id: PlanId, step_id: StepId) -> None:
        plan = self._plan_store.load(plan_id)
        step = plan.step(step_id) if plan else None
        if plan and step and plan.status in ("executing", "paused") and step.status == "running":
            self._plan_store.record(plan_id, ev.StepUpdate(step_id=step_id, status="pending"))

    def _record_outcome(self, plan_id: PlanId, step_id: StepId, outcome: Outcome, took_ms: int) -> None:
        plan = self._plan_store.load(plan_id)
        if plan is None or plan.status not in ("executing", "paused"):
            return
        match outcome:
            case Done():
                last = _step(plan, step_id).failed_command
                # What it printed stands in the report; later plans read this summary.
                failing = None if last is None else "Its last command failed."
                result = StepResult(
                    ok=True,
                    caveat=outcome.caveat or (failing and "command_failed"),
                    value=outcome.value,
                    summary=f"{outcome.summary} {failing}" if failing else outcome.summary,
                    duration_ms=took_ms,
                    timestamp=self._plan_store.clock(),
                )
                self._plan_store.record(
                    plan_id,
                    ev.StepCompleted(step_id=step_id, result=result, usage=_step(plan, step_id).usage),
                )
            case Failed():
                self._failed(plan, step_id, outcome, took_ms)
            case Skipped():
                self._skipped(plan_id, step_id, outcome)
            case Asked():
                question = ev.ClarificationRequest(
                    step_id=step_id, question=outcome.question, options=outcome.options
                )
                self.questions.clarify(plan, question)
            case Interrupted():
                back = ev.StepUpdate(step_id=step_id, status="pending")
                paused = ev.PlanPaused(
                    reason=outcome.reason, detail=outcome.detail, model_problem=outcome.model_problem
                )
                self._plan_store.record(plan_id, back, paused)
            case Rerouted():
                pass
            case _:
                assert_never(outcome)

    def _skipped(self, plan_id: PlanId, step_id: StepId, outcome: Skipped) -> None:
        happened: list[ev.Event] = [
            ev.StepSkipped(step_id=step_id, reason=outcome.reason, detail=outcome.detail or None)
        ]
        if outcome.detail:
            happened.append(ev.Log(level="info", message=outcome.detail, step_id=step_id))
        self._plan_store.record(plan_id, *happened)

    def _failed(self, plan: Plan, step_id: StepId, outcome: Failed, took_ms: int) -> None:
        step = _step(plan, step_id)
        is_round = do.is_round(plan, step)
        again = not is_round and do.will_retry(step, self._limits())
        failure = ev.StepFailed(
            step_id=step_id,
            error=outcome.error,
            code=outcome.code,
            will_retry=again,
            duration_ms=took_ms,
        )
        if again:
            self._waiting.add((plan.plan_id, step_id))
            # The attempts of a step are in the ledger, since they outlive this process.
            state = RetryCallState(Retrying(), None, (), {})
            state.attempt_number = step.failures + 1
            self._jobs.start(
                f"step:{plan.plan_id}:{step_id}:wait{step.attempts}",
                self._wait_to_retry(plan.plan_id, step_id, RETRY_WAIT(state)),
            )
        happened: list[ev.Event] = [failure]
        if is_round:
            # The loop decides whether there is another round.
            happened.append(ev.RecoveryChosen(step_id=step_id, action="go_on", by="policy"))
            happened.append(ev.StepSkipped(step_id=step_id, reason="policy"))
        self._plan_store.record(plan.plan_id, *happened)

    async def _wait_to_retry(self, plan_id: PlanId, step_id: StepId, seconds: float) -> None:
        try:
            await self._jobs.sleep(seconds)
        finally:
            self._waiting.discard((plan_id, step_id))
            if plan_id in self._wakeups:
                self._wakeups[plan_id].set()


def _model_failed(error: ModelFailed) -> Outcome:
    if error.code == "model_unavailable":
        detail = " ".join(filter(None, (error.message, error.hint)))
        return Interrupted(reason="model_unavailable", detail=detail, model_problem=error.problem)
    return Failed(error=error.message, code=error.code)


def _step(plan: Plan, step_id: StepId) -> Step:
    step = plan.step(step_id)
    assert step is not None, f"the plan has no step {step_id}"
    return step
