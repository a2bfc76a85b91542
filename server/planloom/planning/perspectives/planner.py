"""The planner that first asks three agents for reports: strategy, then code and operations in parallel."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from functools import partial
from typing import NamedTuple

from planloom.agent.investigation import Investigation, Report, investigate
from planloom.agent.read_only import ReadOnlyToolRunner
from planloom.agent.result_budget import FixedContextWindow
from planloom.agent.task import GaveUp, RunLimits
from planloom.domain.errors import DEFECT, BudgetExhausted, PlanloomError
from planloom.domain.plans.agents import NAMES
from planloom.domain.plans.perspectives import Agent, Perspective
from planloom.domain.plans.plan import Usage
from planloom.domain.values import Instant
from planloom.models.port import Model
from planloom.models.tokens import TokenCounter
from planloom.planning.model.prompt_budget import SMALL_CONTEXT, fitting_prompt
from planloom.planning.perspective_reports import find_report, report_in_words, report_of, report_spec
from planloom.planning.perspectives.prompts import perspective_prompt
from planloom.planning.port import (
    PerspectiveReported,
    PerspectiveStarted,
    Planner,
    PlannerEvent,
    PlanningRequest,
    RequestUsage,
    ThinkingText,
    ToolUsed,
)
from planloom.tools.context import ToolContext
from planloom.tools.registry import READ_ONLY, Registry

FIRST: Agent = "chapo"
PARALLEL: tuple[Agent, ...] = ("koda", "devo")
"""The agents that report in parallel, with the report of the first one in their prompt."""
ANSWER_TOKENS = 2_048
"""The most tokens of one answer; a report needs fewer, and a weak model that repeats itself is cut off."""
_RESULTS_SHARE = 0.35
_SMALL_SHARE = 0.2

log = logging.getLogger(__name__)
Emit = Callable[[PlannerEvent], None]


class ReportOptions(NamedTuple):
    """How the settings want the reports of one draft to be made.

    The limits are calls and seconds of each agent, seconds of a call, and requests and tokens of all agents together;
    0 tokens means unlimited. `fallback`: calls may also be written into the text of an answer. `extra` is the user's
    addition to the prompts.
    """

    calls: int = 25
    seconds: float = 600
    call_seconds: float = 30
    requests: int = 200
    tokens: int = 0
    fallback: bool = True
    extra: str = ""


DEFAULT_OPTIONS = ReportOptions()
"""The options of the default settings."""


class PerspectivesPlanner:
    """Drafts from the reports of three agents, which have read-only tools.

    The plan is written without reports that fail. Reports in the request are not made again. `synthesis` writes the
    plan; `context` makes the context of the agents' tools.
    """

    def __init__(
        self,
        model: Model,
        tools: Registry,
        synthesis: Planner,
        context: Callable[[], ToolContext],
        clock: Callable[[], Instant],
        options: ReportOptions = DEFAULT_OPTIONS,
    ) -> None:
        self._model = model
        self._tools = tools.only(READ_ONLY)
        self._synthesis = synthesis
        self._context = context
        self._clock = clock
        self._options = options

    async def draft(self, request: PlanningRequest) -> AsyncGenerator[PlannerEvent, None]:
        """Yield the events of the reports, then those of the synthesis. Raises what the synthesis raises."""
        progress = _Progress(self._options, {each.agent: each for each in request.perspectives})
        slots = asyncio.Semaphore(max(1, (await self._model.capabilities()).parallelism))
        for agents in ((FIRST,), PARALLEL):
            needed = tuple(agent for agent in agents if agent not in progress.reports)
            async with aclosing(self._reports(needed, request, progress, slots)) as events:
                async for event in events:
                    yield event
        reports = tuple(progress.reports[agent] for agent in (FIRST, *PARALLEL) if agent in progress.reports)
        drafted = self._synthesis.draft(request.model_copy(update={"perspectives": reports}))
        async with aclosing(drafted) as plan:
            async for event in plan:
                yield event

    async def _reports(
        self, agents: Sequence[Agent], request: PlanningRequest, progress: _Progress, slots: asyncio.Semaphore
    ) -> AsyncGenerator[PlannerEvent, None]:
        async def one(agent: Agent, emit: Emit) -> None:
            async with slots:
                emit(PerspectiveStarted(agent=agent))
                report = await self._one_report(agent, request, progress, emit)
                if report.perspective is not None:
                    progress.reports[agent] = report.perspective
                emit(report)

        jobs = [partial(one, agent) for agent in agents]
        async with aclosing(_in_parallel(jobs)) as events:
            async for event in events:
                yield event

    async def _one_report(
        self, agent: Agent, request: PlanningRequest, progress: _Progress, emit: Emit
    ) -> PerspectiveReported:
        """Make one agent's report; a failure does not affect the others."""
        limit = asyncio.timeout(self._options.seconds)
        try:
            async with limit:
                found = await self._report(agent, request, progress, emit)
        except PlanloomError as error:
            return PerspectiveReported(agent=agent, error=error.message)
        except TimeoutError:
            if not limit.expired():
                raise
            reason = f"{NAMES[agent]} made no report within {self._options.seconds:g} seconds."
            return PerspectiveReported(agent=agent, error=reason)
        except Exception:
            log.exception("the report of %s failed unexpectedly", agent)
            return PerspectiveReported(agent=agent, error=DEFECT)
        if isinstance(found, GaveUp):
            return PerspectiveReported(agent=agent, error=found.reason)
        return PerspectiveReported(agent=agent, perspective=found)

    async def _report(
        self, agent: Agent, request: PlanningRequest, progress: _Progress, emit: Emit
    ) -> Perspective | GaveUp:
        capabilities = await self._model.capabilities()
        whole = capabilities.usable_context
        results = int(whole * (_RESULTS_SHARE if whole >= SMALL_CONTEXT else _SMALL_SHARE))
        tools = self._tools.specs()
        system = perspective_prompt(agent, self._options.extra)
        known = tuple(view for view in progress.reports.values() if view.agent == FIRST)
        informed = request.model_copy(update={"perspectives": known})
        bounded = capabilities.model_copy(update={"context_tokens": whole, "images": False})
        kind = self._report_kind(agent)
        shown = sum(len(spec.description) + len(json.dumps(spec.parameters)) for spec in (*tools, kind.spec))
        answer = min(ANSWER_TOKENS, whole // 5)
        prompt = fitting_prompt(informed, len(system) + shown, bounded, kept_tokens=results + answer)
        runner = ReadOnlyToolRunner(
            self._tools,
            self._context(),
            self._options.call_seconds,
            lambda call, result: emit(
                ToolUsed(agent=agent, ok=result.ok, summary=f"{call.name}: {result.summary}")
            ),
        )

        def spend(usage: Usage) -> None:
            progress.spend(usage)
            emit(RequestUsage(usage=usage))

        limits = RunLimits(
            tools=runner.tools,
            limit=self._options.calls,
            completion_seconds=self._options.call_seconds,
            fallback=self._options.fallback,
            stream=lambda _, text: emit(ThinkingText(text=text)),
            spend=spend,
            allow=progress.allow,
        )
        window = FixedContextWindow(whole - answer, results, progress.counter)
        return await investigate(
            Investigation(system, prompt.text, kind, window, limits, answer), self._model, runner
        )

    def _report_kind(self, agent: Agent) -> Report[Perspective]:
        return Report(
            report_spec(agent),
            read=lambda args: report_of(agent, args, self._clock()),
            find=lambda text: find_report(agent, text, self._clock()),
            from_words=lambda text: report_in_words(agent, text, self._clock()),
        )


class _Progress:
    """The reports of one draft so far, and the budget that the agents share."""

    def __init__(self, options: ReportOptions, reports: dict[Agent, Perspective]) -> None:
        self.reports = reports
        self.counter = TokenCounter()
        self._options = options
        self._requests = 0
        self._tokens = 0

    def allow(self) -> None:
        """Count one more request. Raises BudgetExhausted."""
        if self._requests >= self._options.requests:
            raise BudgetExhausted(
                f"The draft has used up its budget of {self._requests} requests to the model (budget.maxRequests)."
            )
        if self._options.tokens and self._tokens >= self._options.tokens:
            raise BudgetExhausted(
                f"The draft has used up its token budget with {self._tokens} tokens (budget.maxTokens)."
            )
        self._requests += 1

    def spend(self, usage: Usage) -> None:
        """Count the usage of a request."""
        self._tokens += usage.prompt_tokens + usage.completion_tokens


async def _in_parallel(
    jobs: Sequence[Callable[[Emit], Awaitable[None]]],
) -> AsyncGenerator[PlannerEvent, None]:
    """The events of jobs that run in parallel; closing the generator cancels them."""
    events: asyncio.Queue[PlannerEvent | None] = asyncio.Queue()

    async def run(job: Callable[[Emit], Awaitable[None]]) -> None:
        try:
            await job(events.put_nowait)
        finally:
            events.put_nowait(None)

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(run(job)) for job in jobs]
        left = len(jobs)
        try:
            while left:
                event = await events.get()
                if event is None:
                    left -= 1
                else:
                    yield event
        except GeneratorExit:
            # Leaving the group with this exception would raise an exception group; the group still waits for its tasks.
            for task in tasks:
                task.cancel()
