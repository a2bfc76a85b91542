"""The planner for models that take tools: they look with read-only tools, and end by `submit_plan`."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from planloom.agent.investigation import Opening
from planloom.agent.plan_spec import SUBMIT_PLAN
from planloom.agent.prompts import SYSTEM
from planloom.agent.task import GaveUp
from planloom.domain.errors import PlanloomError
from planloom.domain.plans.plan import Step
from planloom.models.port import CallWritten
from planloom.planning.formats.stream import PlanStream
from planloom.planning.investigations.draft_investigations import (
    DraftInvestigations,
    Emit,
    InvestigationKind,
    events_of,
)
from planloom.planning.investigations.plan_tool import plan_report
from planloom.planning.model.assemble import StepBuilder
from planloom.planning.model.finished_plan import PlanAssembler, no_usable_plan
from planloom.planning.model.planner import DEFAULT_OPTIONS, DraftOptions
from planloom.planning.model.prompts import investigation_prompt
from planloom.planning.port import PlanDrafted, PlannerEvent, PlanningRequest, StepDrafted
from planloom.tools.registry import Registry

MAX_TURNS = 24
MAX_CALLS = 60


class WrittenSteps:
    """Reads the steps of a plan while a model writes them as the arguments of `submit_plan`.

    Each place in the plan is announced once: the steps of a plan that is written again come with the finished one.
    `count` steps were.
    """

    def __init__(self, tools: Registry, finished: Sequence[Step] = ()) -> None:
        """`finished` are steps of the plan that stay."""
        self._tools = tools
        self._builder = StepBuilder(tools.rules(), [step.step_id for step in finished])
        self._stream = PlanStream(tools.names())
        self._read = self.count = 0

    def steps(self, piece: CallWritten | None) -> tuple[Step, ...]:
        """The steps that are complete with this piece; None where an answer begins, or begins again."""
        if piece is None:
            self._stream, self._read = PlanStream(self._tools.names()), 0
            return ()
        if piece.name != SUBMIT_PLAN:
            return ()
        drafted = self._stream.feed(piece.text)
        fresh = drafted[max(0, self.count - self._read) :]
        self._read += len(drafted)
        self.count = max(self.count, self._read)
        return tuple(map(self._builder.add, fresh))


class InvestigatingPlanner:
    """Drafts with a model that first looks where it needs to; a request that needs no look is one request to it.

    `tools` are those that steps may call; of these, the investigation has those that read. `synthesis` makes the
    plan from the agents' reports in the request. With an `opening` the steps of the plan continue the conversation.
    """

    def __init__(
        self,
        investigations: DraftInvestigations,
        tools: Registry,
        options: DraftOptions = DEFAULT_OPTIONS,
        *,
        synthesis: bool = False,
        opening: Opening | None = None,
    ) -> None:
        self._investigations = investigations
        self._tools = tools
        self._system = SYSTEM
        if opening is None:
            self._system = investigation_prompt(
                tools, options.extra, synthesis=synthesis, templates=options.templates
            )
        self._opening = opening
        self._assembler = PlanAssembler(tools, options.parallel, options.template_of)

    async def draft(self, request: PlanningRequest) -> AsyncGenerator[PlannerEvent, None]:
        """Yield what is looked up, then the steps and the plan.

        Raises ModelFailed (`model_output_invalid`, with the model's last text, if it submits no usable plan; or any
        failure of the model), ContextOverflow and BudgetExhausted.
        """
        ended: list[PlanDrafted | GaveUp | PlanloomError] = []
        written = WrittenSteps(self._tools, request.finished)

        async def look(emit: Emit) -> None:
            def announce(piece: CallWritten | None) -> None:
                for step in written.steps(piece):
                    emit(StepDrafted(step=step))

            report = plan_report(self._tools, self._assembler, request, lambda: self._investigations.speed)
            kind = InvestigationKind(
                self._system,
                report,
                MAX_TURNS,
                MAX_CALLS,
                opening=self._opening,
                written=announce,
            )
            try:
                end = await self._investigations.run(kind, request, emit)
                ended.append(end)
            except PlanloomError as error:
                # Raised below, since the group of tasks would wrap it.
                ended.append(error)

        async with aclosing(events_of([look])) as events:
            async for event in events:
                yield event
        (outcome,) = ended
        if isinstance(outcome, PlanloomError):
            raise outcome
        if isinstance(outcome, GaveUp):
            raise no_usable_plan(outcome.reason, outcome.text)
        for step in outcome.steps[written.count :]:
            yield StepDrafted(step=step)
        looked = self._investigations
        yield outcome._replace(files_read=looked.files_read, commands_run=looked.commands_run)
