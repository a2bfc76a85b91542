"""The planner that first asks three agents for reports: strategy, then code and operations in parallel."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from functools import partial

from planloom.agent.investigation import MAX_TURNS, Report
from planloom.agent.task import GaveUp
from planloom.domain.errors import DEFECT, PlanloomError
from planloom.domain.plans.agents import NAMES, Agent, Perspective
from planloom.domain.values import Instant
from planloom.planning.investigations.draft_investigations import (
    DraftInvestigations,
    Emit,
    InvestigationKind,
    events_of,
)
from planloom.planning.perspective_reports import find_report, report_in_words, report_of, report_spec
from planloom.planning.perspectives.prompts import perspective_prompt
from planloom.planning.port import (
    PerspectiveReported,
    PerspectiveStarted,
    Planner,
    PlannerEvent,
    PlanningRequest,
)

FIRST: Agent = "chapo"
PARALLEL: tuple[Agent, ...] = ("koda", "devo")
"""The agents that report in parallel, with the report of the first one, and what it has read, in their prompt."""

log = logging.getLogger(__name__)


class PerspectivesPlanner:
    """Drafts from the reports of three agents, which have read-only tools.

    The plan is written without reports that fail. Reports in the request are not made again. `synthesis` writes the
    plan; what the agents have read goes to it by the `investigations` that it shares with them.
    """

    def __init__(
        self,
        investigations: DraftInvestigations,
        synthesis: Planner,
        clock: Callable[[], Instant],
        *,
        extra: str = "",
    ) -> None:
        self._investigations = investigations
        self._synthesis = synthesis
        self._clock = clock
        self._extra = extra

    async def draft(self, request: PlanningRequest) -> AsyncGenerator[PlannerEvent, None]:
        """Yield the events of the reports, then those of the synthesis. Raises what the synthesis raises."""
        reports = {each.agent: each for each in request.perspectives}
        slots = asyncio.Semaphore((await self._investigations.model.capabilities()).parallelism)
        for agents in ((FIRST,), PARALLEL):
            needed = tuple(agent for agent in agents if agent not in reports)
            first = (reports[FIRST],) if FIRST in reports else ()
            informed = request._replace(perspectives=first)
            async with aclosing(self._reports(needed, informed, slots)) as events:
                async for event in events:
                    if isinstance(event, PerspectiveReported) and event.perspective is not None:
                        reports[event.agent] = event.perspective
                    yield event
        known = tuple(reports[agent] for agent in (FIRST, *PARALLEL) if agent in reports)
        drafted = self._synthesis.draft(request._replace(perspectives=known))
        async with aclosing(drafted) as plan:
            async for event in plan:
                yield event

    async def _reports(
        self, agents: Sequence[Agent], request: PlanningRequest, slots: asyncio.Semaphore
    ) -> AsyncGenerator[PlannerEvent, None]:
        async def one(agent: Agent, emit: Emit) -> None:
            async with slots:
                emit(PerspectiveStarted(agent=agent))
                emit(await self._one_report(agent, request, emit))

        async with aclosing(events_of([partial(one, agent) for agent in agents])) as events:
            async for event in events:
                yield event

    async def _one_report(self, agent: Agent, request: PlanningRequest, emit: Emit) -> PerspectiveReported:
        """Make one agent's report; a failure does not affect the others."""
        options = self._investigations.options
        system = perspective_prompt(agent, self._extra)
        kind = InvestigationKind(system, self._report_kind(agent), MAX_TURNS, options.calls, agent)
        limit = asyncio.timeout(options.seconds)
        try:
            async with limit:
                found = await self._investigations.run(kind, request, emit)
        except PlanloomError as error:
            return PerspectiveReported(agent=agent, error=error.message)
        except TimeoutError:
            if not limit.expired():
                raise
            reason = f"{NAMES[agent]} made no report within {options.seconds:g} seconds."
            return PerspectiveReported(agent=agent, error=reason)
        except Exception:
            log.exception("the report of %s failed unexpectedly", agent)
            return PerspectiveReported(agent=agent, error=DEFECT)
        if isinstance(found, GaveUp):
            return PerspectiveReported(agent=agent, error=found.reason)
        return PerspectiveReported(agent=agent, perspective=found)

    def _report_kind(self, agent: Agent) -> Report[Perspective]:
        return Report(
            report_spec(agent),
            read=lambda args: report_of(agent, args, self._clock()),
            find=lambda text: find_report(agent, text, self._clock()),
            from_words=lambda text: report_in_words(agent, text, self._clock()),
        )
