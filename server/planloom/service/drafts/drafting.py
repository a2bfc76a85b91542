"""Drafts plans: announces steps while the planner writes them, then puts the finished plan to review."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import aclosing

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
from planloom.service.drafts.planner_factory import PlannerFactory
from planloom.service.drafts.revision import changed_by_hand, with_kept_ids
from planloom.service.feed import Feed
from planloom.service.requests import StreamDelta

log = logging.getLogger(__name__)


class Drafting:
    """Drafts plans of this process."""

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
                        self._publish(plan.plan_id, event)
        if drafted is None:
            raise ModelFailed("model_output_invalid", "The planner wrote no plan.")
        finished = tuple(
            step for step in self._plan_store.plan(plan.plan_id).steps if step.status == "completed"
        )
        problem = await self.problem_of(drafted.steps, drafted.author)
        await self._plan_store.wait_unlocked()
        self.put_to_review(plan.plan_id, drafted, request.model, finished, problem)

    async def problem_of(self, steps: Sequence[Step], author: Author) -> ModelProblem | None:
        """Why no model can be used for a plan; None if one can, or if none has planned it and no step needs one."""
        needed = author == "rules" or any(step.kind == "processing" for step in steps)
        return (await self._planners.outlook()).problem if needed else None

    def _publish(self, plan_id: PlanId, event: PlannerEvent) -> None:
        """Record or stream what a planner reports while it works."""
        match event:
            case StepDrafted():
                self._announce(plan_id, event.step)
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

    def _announce(self, plan_id: PlanId, step: Step) -> None:
        plan = self._plan_store.plan(plan_id)
        if plan.step(step.step_id) is not None:
            used = {each.step_id for each in plan.steps}
            step = step.model_copy(update={"step_id": unused_id(used, 2, stem=step.step_id)})
        self._plan_store.record(plan_id, ev.StepCreated(step=self._rules.with_approvals((step,))[0]))

    def put_to_review(
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
        ready = ev.PlanReady(
            version=plan.version + 1,
            steps=(*finished, *self._rules.with_approvals(fresh)),
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


def _warning(problem: Problem) -> ev.Log:
    return ev.Log(level="warning", message=problem.sentence, step_id=problem.step_id)
