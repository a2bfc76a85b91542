"""Takes a request to its steps: follows its route, has it run at once, or drafts and puts the plan to review."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from functools import partial

from planloom.domain.errors import (
    DEFECT,
    ModelFailed,
    ModelProblem,
    PlanloomError,
    StorageFailed,
)
from planloom.domain.events import catalog as ev
from planloom.domain.plans.agents import NAMES
from planloom.domain.plans.attachments import not_shown
from planloom.domain.plans.outcome import Outcome, Prices, forecast
from planloom.domain.plans.outputs import unused_id
from planloom.domain.plans.plan import Author, Forecast, Plan, PlanError, Step
from planloom.domain.plans.validation import Problem
from planloom.domain.values import PlanId
from planloom.execution.conductor import Conductor
from planloom.execution.jobs import Jobs
from planloom.execution.plan_store import PlanStore
from planloom.execution.step_rules import StepRules
from planloom.execution.summary import execution_summary
from planloom.planning.port import (
    DraftText,
    PerspectiveReported,
    PerspectiveStarted,
    PlanDrafted,
    PlannerEvent,
    RequestUsage,
    StepDrafted,
    ThinkingText,
    ToolUsed,
)
from planloom.service.drafts.new_request import NewRequests
from planloom.service.drafts.planner_factory import PlannerFactory
from planloom.service.drafts.revision import changed_by_hand, with_kept_ids
from planloom.service.feed import Feed
from planloom.service.requests import StreamDelta

log = logging.getLogger(__name__)


class Drafting:
    """Writes drafts: announces steps while the planner writes them, then puts the finished plan to review."""

    def __init__(
        self,
        plan_store: PlanStore,
        feed: Feed,
        planners: PlannerFactory,
        rules: StepRules,
        outcomes: Callable[[], Sequence[Outcome]],
        prices: Callable[[], Prices],
    ) -> None:
        """`outcomes` are the figures of ended plans, the newest first, and `prices` the user's."""
        self._plan_store = plan_store
        self._feed = feed
        self._planners = planners
        self._rules = rules
        self._outcomes = outcomes
        self._prices = prices

    async def draft(self, plan_id: PlanId) -> None:
        """Draft a new plan."""
        self._plan_store.record(plan_id, ev.PlanDrafting(version=0))
        await self.redraft(plan_id, None)

    async def redraft(self, plan_id: PlanId, feedback: str | None) -> None:
        """Draft a plan whose PlanDrafting event is recorded. Its planner also reads the plan's unread messages."""
        plan = self._plan_store.plan(plan_id)
        planner, request = await self._planners.planner_for(plan)
        said = (*(message.text for message in plan.unread), *filter(None, (feedback,)))
        request = request._replace(feedback="\n".join(said) or None)
        if request.unseen:
            self._plan_store.record(plan.plan_id, ev.Log(level="warning", message=not_shown(request.unseen)))
        if request.model is not None and (replaced := (await self._planners.outlook()).replaces) is not None:
            words = f"Planned with {request.model}, since {replaced}"
            self._plan_store.record(plan.plan_id, ev.Log(level="warning", message=words))
        drafted: PlanDrafted | None = None
        async with aclosing(planner.draft(request)) as events:
            async for event in events:
                await self._plan_store.wait_unlocked()
                match event:
                    case RequestUsage() if event.usage.requests:
                        used = ev.ModelUsed(usage=event.usage, model=request.model)
                        self._plan_store.record(plan.plan_id, used)
                    case PlanDrafted():
                        drafted = event
                    case _:
                        await self._publish(plan.plan_id, event)
        if drafted is None:
            raise ModelFailed("model_output_invalid", "The planner wrote no plan.")
        finished = tuple(
            step for step in self._plan_store.plan(plan.plan_id).steps if step.status == "completed"
        )
        problem = await self.problem_of(drafted.steps, drafted.author)
        await self.put_to_review(plan.plan_id, drafted, request.model, finished, problem)

    async def problem_of(self, steps: Sequence[Step], author: Author) -> ModelProblem | None:
        """Why no model can be used for a plan; None if one can, or if none has planned it and no step needs one."""
        needed = author == "rules" or any(step.kind == "processing" for step in steps)
        return (await self._planners.outlook()).problem if needed else None

    async def _publish(self, plan_id: PlanId, event: PlannerEvent) -> None:
        """Record or stream what a planner reports while it works."""
        match event:
            case StepDrafted():
                await self._announce(plan_id, event.step)
            case DraftText():
                self._feed.stream(StreamDelta(plan_id=plan_id, delta=event.text))
            case ThinkingText():
                self._feed.stream(StreamDelta(plan_id=plan_id, kind="reasoning", delta=event.text))
            case PerspectiveStarted():
                self._plan_store.record(plan_id, ev.PerspectiveStart(agent=event.agent))
            case PerspectiveReported():
                seen = ev.PerspectiveComplete(
                    agent=event.agent, perspective=event.perspective, error=event.error
                )
                self._plan_store.record(plan_id, seen)
            case ToolUsed():
                who = "" if event.agent is None else f"{NAMES[event.agent]}: "
                self._plan_store.record(plan_id, ev.Log(level="info", message=f"{who}{event.summary}"))
            case _:
                return

    async def _announce(self, plan_id: PlanId, step: Step) -> None:
        (step,) = await self._rules.for_review((step,))
        plan = self._plan_store.plan(plan_id)
        if plan.step(step.step_id) is not None:
            used = {each.step_id for each in plan.steps}
            step = step.model_copy(update={"step_id": unused_id(used, 2, stem=step.step_id)})
        self._plan_store.record(plan_id, ev.StepCreated(step=step))

    async def put_to_review(
        self,
        plan_id: PlanId,
        drafted: PlanDrafted,
        model: str | None,
        finished: Sequence[Step],
        problem: ModelProblem | None = None,
    ) -> None:
        """Record the plan after its finished steps, and ask for its approval."""
        plan = self._plan_store.plan(plan_id)
        ids = {step.step_id for step in finished}
        fresh = tuple(step for step in drafted.steps if step.step_id not in ids)
        before = plan.before_draft
        warnings = [*map(_warning, drafted.warnings)]
        if before is not None:
            fresh = with_kept_ids(before, fresh)
            warnings += (ev.Log(level="warning", message=each) for each in changed_by_hand(before, fresh))
        fresh = await self._rules.for_review(fresh)
        await self._plan_store.wait_unlocked()
        ready = ev.PlanReady(
            version=plan.version + 1,
            steps=(*finished, *fresh),
            summary=drafted.summary,
            sequential=drafted.sequential,
            author=drafted.author,
            estimated_duration=drafted.estimated_duration,
            overall_risk=drafted.overall_risk,
            stated_duration=drafted.stated_duration,
            model=model,
            model_problem=problem,
            forecast=self._forecast(fresh, model),
            files_read=drafted.files_read,
            commands_run=drafted.commands_run,
        )
        self._plan_store.record(plan_id, ready, *warnings, ev.PlanApprovalRequest())

    def _forecast(self, steps: Sequence[Step], model: str | None) -> Forecast | None:
        """The probable use of the model by the steps, as far as the ledger can be read."""
        if model is None:
            return None
        try:
            return forecast(steps, model, self._outcomes(), self._prices())
        except StorageFailed as error:
            log.warning("no forecast: %s", error.message)
            return None

    def give_up(self, plan: Plan, error: Exception) -> None:
        """End a draft whose job has failed; the version before it is restored if there is one."""
        if not isinstance(error, PlanloomError):
            error = PlanloomError(DEFECT)
        if plan.before_draft is not None:
            self.restore(plan.plan_id, f"The new draft failed: {error.message}")
            return
        failure = PlanError(code=error.code, message=error.message, hint=error.hint)
        if isinstance(error, ModelFailed):
            failure = failure.model_copy(update={"raw_text": error.raw_text, "model_problem": error.problem})
        self._plan_store.record(plan.plan_id, ev.PlanFailed(summary=execution_summary(plan), error=failure))

    def restore(self, plan_id: PlanId, reason: str) -> Plan:
        """Restore the version before a regeneration that failed or was cancelled."""
        before = self._plan_store.plan(plan_id).before_draft
        assert before is not None, "only a regeneration has an earlier version"
        restored = ev.PlanReady(
            version=before.version,
            steps=tuple(before.steps),
            summary=before.summary,
            sequential=before.sequential,
            author=before.author,
            estimated_duration=before.estimated_duration,
            overall_risk=before.overall_risk,
            stated_duration=before.stated_duration,
            forecast=before.forecast,
            restored=True,
        )
        warning = ev.Log(level="warning", message=f"{reason} The previous plan is restored.")
        return self._plan_store.record(plan_id, restored, warning)


class Drafts:
    """The plans that have a request and no steps yet. The job `draft:<plan id>` works on each."""

    def __init__(
        self,
        plan_store: PlanStore,
        jobs: Jobs,
        conductor: Conductor,
        requests: NewRequests,
        drafting: Drafting,
        direct_run: Callable[[Plan], ev.PlanDirect],
    ) -> None:
        self._plan_store = plan_store
        self._jobs = jobs
        self._conductor = conductor
        self.requests = requests
        self._drafting = drafting
        self._direct_run = direct_run

    async def problem_of(self, steps: Sequence[Step]) -> ModelProblem | None:
        """Why no model can be used for the steps of a plan that the user has written; None if none is needed."""
        return await self._drafting.problem_of(steps, "user")

    def begin(self, plan: Plan) -> Plan:
        """Follow the route of a new plan. An undecided one is chosen by the model first."""
        if plan.route == "direct":
            return self.run_directly(plan)
        undecided = plan.route == "undecided"
        self._start(
            plan.plan_id,
            partial(self._decide, plan) if undecided else partial(self._drafting.draft, plan.plan_id),
        )
        return plan

    def _start(self, plan_id: PlanId, work: Callable[[], Awaitable[None]]) -> None:
        """Start the job that works on a draft; the model counts as in use while the job runs."""

        async def works() -> None:
            with self._conductor.model_used_by_draft(plan_id):
                await work()

        self._jobs.start(f"draft:{plan_id}", works())

    async def _decide(self, plan: Plan) -> None:
        routed = self._plan_store.record(plan.plan_id, *await self.requests.choose_route(plan))
        if routed.route == "direct":
            self.run_directly(routed)
        else:
            await self._drafting.draft(plan.plan_id)

    def take_up(self, plan: Plan) -> Plan:
        """Draft a paused plan that has no version yet anew."""
        draft = self._plan_store.record(plan.plan_id, ev.PlanDrafting(version=0))
        undecided = draft.route == "undecided"
        self._start(
            plan.plan_id,
            partial(self._decide, draft)
            if undecided
            else partial(self._drafting.redraft, plan.plan_id, None),
        )
        return draft

    def begin_again(self, plan: Plan, feedback: str | None, message: ev.PlanMessage | None = None) -> Plan:
        """Draft a plan anew; its completed steps stay. `message` is what the user says to it for that."""
        said = () if message is None else (message,)
        begun = ev.PlanDrafting(version=plan.version, feedback=message.text if message else feedback)
        draft = self._plan_store.record(plan.plan_id, begun, *said)
        self._start(plan.plan_id, partial(self._drafting.redraft, plan.plan_id, feedback))
        return draft

    def run_directly(self, plan: Plan) -> Plan:
        """Run the request without a review."""
        plan = self._plan_store.record(plan.plan_id, self._direct_run(plan))
        self._conductor.conduct(plan.plan_id)
        return plan

    def restore(self, plan_id: PlanId, why: str) -> None:
        """Put the version before this draft to review again."""
        self._drafting.restore(plan_id, why)


def _warning(problem: Problem) -> ev.Log:
    return ev.Log(level="warning", message=problem.sentence, step_id=problem.step_id)
