"""Direct runs: turns a request into steps that run without review, and a plan that their model submits into one that
is reviewed in place of the run.
"""

from __future__ import annotations

from collections.abc import Callable

from planloom.domain.events import catalog as ev
from planloom.domain.plans.agents import allowed_effects
from planloom.domain.plans.plan import FileRead, Plan, Step, StepResult
from planloom.domain.plans.unrolling import TemplateOf
from planloom.domain.values import Args, Instant, StepId
from planloom.execution.session import Session
from planloom.execution.step_rules import StepRules
from planloom.execution.workspace_index import WorkspaceIndex
from planloom.models.port import CallWritten
from planloom.planning.investigations.plan_tool import plan_report
from planloom.planning.investigations.planner import WrittenSteps
from planloom.planning.model.finished_plan import PlanAssembler
from planloom.planning.port import PlanDrafted
from planloom.planning.rules.planner import plan_by_rules
from planloom.service.drafts.drafts import Drafting
from planloom.service.drafts.plan_surroundings import PlanSurroundings
from planloom.tools.registry import Registry
from planloom.tools.tool import shortened

HEADLINE = 80
"""Most characters of a description that is made of a longer text."""


def direct_run(
    session: Session, index: WorkspaceIndex, tools: Registry, rules: StepRules, plan: Plan
) -> ev.PlanDirect:
    """The request as literal tool calls, if it consists of calls that are allowed; else as one step for the model."""

    # "Could you delete a.txt?" is an order, but its words alone do not suffice to delete.
    may_ask = plan.only_asks or (plan.detection is not None and plan.detection.rule == "question")

    def allowed(step: Step) -> bool:
        tool = tools.get(step.tool or "")
        if tool is None or (may_ask and tool.effect != "read"):
            return False
        return tool.effect in allowed_effects(plan, step.agent)

    review = session.settings.execution.review
    known = tools if index.language_serves() else tools.where({"language"})
    steps = plan_by_rules(plan.request, known, plan.attachments, session.view.has)
    if steps and all(map(allowed, steps)):
        return ev.PlanDirect(
            steps=rules.with_approvals(steps), sequential=True, author="rules", review=review
        )
    whole = Step(
        step_id=StepId("step_1"),
        description=headline(plan.request),
        instruction=plan.request,
        active_form="Working on the request",
    )
    return ev.PlanDirect(steps=(whole,), sequential=True, author="user", review=review)


def headline(text: str) -> str:
    """The first line of a request, short enough for a list."""
    line = text.strip().splitlines()[0].strip() if text.strip() else "Request"
    return line if len(line) <= HEADLINE else line[: HEADLINE - 1].rstrip() + "…"


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

    async def put_to_review(
        self, plan: Plan, running: Step, submitted: Args, model: str | None, reads: tuple[FileRead, ...]
    ) -> None:
        """Record the plan in place of the run, whose changes are settled. `reads` is what the run has read."""
        drafted = self._read(plan, running, submitted)
        assert not isinstance(drafted, str), "the plan was read before the changes were settled"
        done = done_so_far(plan, running, self._clock())
        await self._drafting.put_to_review(plan.plan_id, drafted._replace(files_read=reads), model, done)

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
