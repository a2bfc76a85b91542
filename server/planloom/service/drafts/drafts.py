"""Takes a request to its steps: follows its route, and drafts in the background or has it run at once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from planloom.domain.errors import ModelProblem
from planloom.domain.events import catalog as ev
from planloom.domain.plans.plan import Plan, Step
from planloom.domain.values import PlanId
from planloom.execution.conductor import Conductor
from planloom.execution.jobs import Jobs
from planloom.execution.plan_store import PlanStore
from planloom.service.drafts.direct import DirectRuns
from planloom.service.drafts.drafting import Drafting
from planloom.service.drafts.new_request import NewRequests


class Drafts:
    """The plans that have a request and no steps yet. The job `draft:<plan id>` works on each."""

    def __init__(
        self,
        plan_store: PlanStore,
        jobs: Jobs,
        conductor: Conductor,
        requests: NewRequests,
        drafting: Drafting,
        direct_runs: DirectRuns,
    ) -> None:
        self._plan_store = plan_store
        self._jobs = jobs
        self._conductor = conductor
        self.requests = requests
        self._drafting = drafting
        self._direct_runs = direct_runs

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
        plan = self._direct_runs.begin(plan)
        self._conductor.conduct(plan.plan_id)
        return plan

    def restore(self, plan_id: PlanId, why: str) -> None:
        """Put the version before this draft to review again."""
        self._drafting.restore(plan_id, why)
