"""The planner for models that take tools: they look with read-only tools, and end by `submit_plan`."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from planloom.agent.investigation import Opening
from planloom.agent.prompts import SYSTEM
from planloom.agent.task import GaveUp
from planloom.domain.errors import PlanloomError
from planloom.planning.investigations.draft_investigations import (
    DraftInvestigations,
    Emit,
    InvestigationKind,
    events_of,
)
from planloom.planning.investigations.plan_tool import plan_report
from planloom.planning.model.finished_plan import PlanAssembler, no_usable_plan
from planloom.planning.model.planner import DEFAULT_OPTIONS, DraftOptions
from planloom.planning.model.prompts import investigation_prompt
from planloom.planning.port import PlanDrafted, PlannerEvent, PlanningRequest, StepDrafted
from planloom.tools.registry import Registry

MAX_TURNS = 24
MAX_CALLS = 60


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

        async def look(emit: Emit) -> None:
            report = plan_report(self._tools, self._assembler, request, lambda: self._investigations.speed)
            kind = InvestigationKind(self._system, report, MAX_TURNS, MAX_CALLS, opening=self._opening)
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
        for step in outcome.steps:
            yield StepDrafted(step=step)
        looked = self._investigations
        yield outcome._replace(files_read=looked.files_read, commands_run=looked.commands_run)
