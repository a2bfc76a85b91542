"""Puts the plan that a model submits during a direct run to review, in place of the run."""

from __future__ import annotations

from collections.abc import Callable

from planloom.domain.plans.plan import FileRead, Plan, Step, StepResult
from planloom.domain.plans.unrolling import TemplateOf
from planloom.domain.values import Args, Instant
from planloom.execution.session import Session
from planloom.models.port import CallWritten
from planloom.planning.investigations.plan_tool import plan_report
from planloom.planning.investigations.planner import WrittenSteps
from planloom.planning.model.finished_plan import PlanAssembler
from planloom.planning.port import PlanDrafted
from planloom.service.drafts.direct import HEADLINE
from planloom.service.drafts.drafting import Drafting
from planloom.service.drafts.plan_surroundings import PlanSurroundings
from planloom.tools.registry import Registry
from planloom.tools.tool import shortened


class DirectRunPlans:
    """Reads the plans that models submit during direct runs, as those that planners submit."""

    def __init__(
        self,
        session: Session,
        tools: Registry,
        surroundings: PlanSurroundings,
        drafting: Drafting,
        template_of: TemplateOf,
        clock: Callable[[], Instant],
    ) -> None:
        self._session = session
        self._tools = tools
        self._surroundings = surroundings
        self._drafting = drafting
        self._template_of = template_of
        self._clock = clock

    def reader(self) -> Callable[[CallWritten | None], str]:
        """Reads what is written of a plan that is being submitted; the words are those of its steps."""
        written = WrittenSteps(self._tools)

        def read(piece: CallWritten | None) -> str:
            before = written.count
            steps = written.steps(piece)
            return "".join(f"\n{number}. {step.title}" for number, step in enumerate(steps, before + 1))

        return read

    def problem(self, plan: Plan, running: Step, submitted: Args) -> str:
        """Why the arguments of `submit_plan` are no plan, as a phrase; empty if they are one."""
        read = self._read(plan, running, submitted)
        return read if isinstance(read, str) else ""

    def put_to_review(
        self, plan: Plan, running: Step, submitted: Args, model: str | None, reads: tuple[FileRead, ...]
    ) -> None:
        """Record the plan in place of the run, whose changes are settled. `reads` is what the run has read."""
        drafted = self._read(plan, running, submitted)
        assert not isinstance(drafted, str), "the plan was read before the changes were settled"
        done = done_so_far(plan, running, self._clock())
        self._drafting.put_to_review(plan.plan_id, drafted._replace(files_read=reads), model, done)

    def _read(self, plan: Plan, running: Step, submitted: Args) -> PlanDrafted | str:
        done = done_so_far(plan, running, self._clock())
        parallel = self._session.settings.execution.max_parallel_steps
        assembler = PlanAssembler(self._tools, parallel, self._template_of)
        request = self._surroundings.request(plan)._replace(finished=done)
        return plan_report(self._tools, assembler, request, lambda: None).read(submitted)


def done_so_far(plan: Plan, running: Step, at: Instant) -> tuple[Step, ...]:
    """The work that a direct run has done, and only that, as completed steps: the request itself is not done."""
    now = plan.step(running.step_id) or running
    done = tuple(
        step for step in plan.steps if step.status == "completed" and step.step_id != running.step_id
    )
    calls = [call for call in now.tools_executed if call.has_effect or call.command == "ended"]
    if not calls:
        return done
    summary = shortened("; ".join(call.summary for call in calls))
    so_far = {
        "description": shortened(f"Done before the plan: {summary}", HEADLINE),
        "instruction": summary,
        "status": "completed",
        "result": StepResult(ok=True, summary=summary, duration_ms=0, timestamp=at),
        "completed_at": at,
        "progress": 100,
    }
    return (*done, now.model_copy(update=so_far))
