"""The author that has a request looked at from three sides first: strategy, then code and operations side by side."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from functools import partial
from typing import NamedTuple

from planloom.agent.investigation import Investigation, Report, inquire
from planloom.agent.read_only import ReadOnlyToolRunner
from planloom.agent.result_budget import FixedContextWindow
from planloom.agent.task import GaveUp, RunLimits
from planloom.domain.errors import DEFECT, BudgetExhausted, PlanloomError
from planloom.domain.plans.agents import NAMES
from planloom.domain.plans.perspectives import Agent, Perspective
from planloom.domain.plans.plan import Usage
from planloom.domain.values import Instant
from planloom.models.port import UNKNOWN_CONTEXT, Model
from planloom.models.tokens import TokenCounter
from planloom.planning.model.prompt_budget import SMALL_CONTEXT, fitting_prompt
from planloom.planning.perspective_reports import find_report, report_in_words, report_of, report_spec
from planloom.planning.perspectives.prompts import perspective_prompt
from planloom.planning.port import (
    PerspectiveBegun,
    PerspectiveSeen,
    Planner,
    PlannerEvent,
    PlanningRequest,
    ThoughtSeen,
    ToolUsed,
    UsageSeen,
)
from planloom.tools.context import ToolContext
from planloom.tools.registry import READ_ONLY, Registry

FIRST: Agent = "chapo"
BESIDE: tuple[Agent, ...] = ("koda", "devo")
"""Those who look at a request side by side, with the first one's report before them."""
ANSWER_TOKENS = 2_048
"""Tokens of one answer; a report needs fewer, and a weak model that goes round in circles is cut."""
_RESULTS_SHARE = 0.35
_SMALL_SHARE = 0.2

log = logging.getLogger(__name__)
Tell = Callable[[PlannerEvent], None]


class Limits(NamedTuple):
    """How far the looks at one request may go: calls and seconds each, seconds a call; requests and tokens
    together, where 0 tokens stand for any number."""

    calls: int = 25
    seconds: float = 600
    call_seconds: float = 30
    requests: int = 200
    tokens: int = 0


NO_LIMITS_SET = Limits()
"""What holds where nobody says how far the looks may go."""


class PerspectivesPlanner:
    """Drafts from the reports of three agents, which look with tools that read and nothing else.

    A report that fails is told and done without. Reports that the request brings along are not asked for again.
    `synthesis` writes the plan; `context` is what the agents' tools see.
    """

    def __init__(
        self,
        model: Model,
        tools: Registry,
        synthesis: Planner,
        context: Callable[[], ToolContext],
        clock: Callable[[], Instant],
        *,
        limits: Limits = NO_LIMITS_SET,
        fallback: bool = True,
        extra: str = "",
    ) -> None:
        self._model = model
        self._tools = tools.only(READ_ONLY)
        self._synthesis = synthesis
        self._context = context
        self._clock = clock
        self._limits = limits
        self._fallback = fallback
        self._extra = extra

    async def draft(self, request: PlanningRequest) -> AsyncGenerator[PlannerEvent, None]:
        """Say who looks and what they report, then what the synthesis says. Raises as that does."""
        look = _Look(self._limits, {each.agent: each for each in request.perspectives})
        side_by_side = asyncio.Semaphore(max(1, (await self._model.capabilities()).parallelism))
        for agents in ((FIRST,), BESIDE):
            asked = tuple(agent for agent in agents if agent not in look.seen)
            told = self._asked(asked, request, look, side_by_side)
            async with aclosing(told) as events:
                async for event in events:
                    yield event
        views = tuple(look.seen[agent] for agent in (FIRST, *BESIDE) if agent in look.seen)
        drafted = self._synthesis.draft(request.model_copy(update={"perspectives": views}))
        async with aclosing(drafted) as plan:
            async for event in plan:
                yield event

    async def _asked(
        self, agents: Sequence[Agent], request: PlanningRequest, look: _Look, side_by_side: asyncio.Semaphore
    ) -> AsyncGenerator[PlannerEvent, None]:
        async def one(agent: Agent, tell: Tell) -> None:
            async with side_by_side:
                tell(PerspectiveBegun(agent=agent))
                seen = await self._looked(agent, request, look, tell)
                if seen.perspective is not None:
                    look.seen[agent] = seen.perspective
                tell(seen)

        works = [partial(one, agent) for agent in agents]
        async with aclosing(_side_by_side(works)) as events:
            async for event in events:
                yield event

    async def _looked(
        self, agent: Agent, request: PlanningRequest, look: _Look, tell: Tell
    ) -> PerspectiveSeen:
        """One agent's look; whatever becomes of it, the others go on."""
        limit = asyncio.timeout(self._limits.seconds)
        try:
            async with limit:
                found = await self._report(agent, request, look, tell)
        except PlanloomError as error:
            return PerspectiveSeen(agent=agent, error=error.message)
        except TimeoutError:
            if not limit.expired():
                raise
            told = f"{NAMES[agent]} had no report after {self._limits.seconds:g} seconds."
            return PerspectiveSeen(agent=agent, error=told)
        except Exception:
            log.exception("the look of %s failed on a defect", agent)
            return PerspectiveSeen(agent=agent, error=DEFECT)
        if isinstance(found, GaveUp):
            return PerspectiveSeen(agent=agent, error=found.reason)
        return PerspectiveSeen(agent=agent, perspective=found)

    async def _report(
        self, agent: Agent, request: PlanningRequest, look: _Look, tell: Tell
    ) -> Perspective | GaveUp:
        capabilities = await self._model.capabilities()
        whole = capabilities.context_tokens or UNKNOWN_CONTEXT
        results = int(whole * (_RESULTS_SHARE if whole >= SMALL_CONTEXT else _SMALL_SHARE))
        tools = self._tools.specs()
        system = perspective_prompt(agent, self._extra)
        known = tuple(view for view in look.seen.values() if view.agent == FIRST)
        asked = request.model_copy(update={"perspectives": known})
        bounded = capabilities.model_copy(update={"context_tokens": whole, "images": False})
        form = self._form(agent)
        shown = sum(len(spec.description) + len(json.dumps(spec.parameters)) for spec in (*tools, form.spec))
        answer = min(ANSWER_TOKENS, whole // 5)
        told = fitting_prompt(asked, len(system) + shown, bounded, kept_tokens=results + answer)
        runner = ReadOnlyToolRunner(
            self._tools,
            self._context(),
            self._limits.call_seconds,
            lambda call, result: tell(
                ToolUsed(agent=agent, ok=result.ok, summary=f"{call.name}: {result.summary}")
            ),
        )

        def spend(usage: Usage) -> None:
            look.spend(usage)
            tell(UsageSeen(usage=usage))

        limits = RunLimits(
            tools=runner.tools,
            window=FixedContextWindow(results, look.counter),
            limit=self._limits.calls,
            completion_seconds=self._limits.call_seconds,
            fallback=self._fallback,
            stream=lambda _, text: tell(ThoughtSeen(text=text)),
            spend=spend,
            allow=look.allow,
        )
        return await inquire(Investigation(system, told.text, form, limits, answer), self._model, runner)

    def _form(self, agent: Agent) -> Report[Perspective]:
        return Report(
            report_spec(agent),
            read=lambda args: report_of(agent, args, self._clock()),
            find=lambda text: find_report(agent, text, self._clock()),
            from_words=lambda text: report_in_words(agent, text, self._clock()),
        )


class _Look:
    """What the agents of one draft have seen and used together."""

    def __init__(self, limits: Limits, seen: dict[Agent, Perspective]) -> None:
        self.seen = seen
        self.counter = TokenCounter()
        self._limits = limits
        self._requests = 0
        self._tokens = 0

    def allow(self) -> None:
        """Let one more request be made."""
        if self._requests >= self._limits.requests:
            raise BudgetExhausted(
                f"The draft has made {self._requests} requests to the model, its budget (budget.maxRequests)."
            )
        if self._limits.tokens and self._tokens >= self._limits.tokens:
            raise BudgetExhausted(f"The draft has used {self._tokens} tokens, its budget (budget.maxTokens).")
        self._requests += 1

    def spend(self, usage: Usage) -> None:
        """Take note of what a request cost."""
        self._tokens += usage.prompt_tokens + usage.completion_tokens


async def _side_by_side(
    works: Sequence[Callable[[Tell], Awaitable[None]]],
) -> AsyncGenerator[PlannerEvent, None]:
    """What works that go on side by side tell, as they tell it; closing this ends them all."""
    told: asyncio.Queue[PlannerEvent | None] = asyncio.Queue()

    async def ended(work: Callable[[Tell], Awaitable[None]]) -> None:
        try:
            await work(told.put_nowait)
        finally:
            told.put_nowait(None)

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(ended(work)) for work in works]
        left = len(works)
        try:
            while left:
                event = await told.get()
                if event is None:
                    left -= 1
                else:
                    yield event
        except GeneratorExit:
            # The group would make a failure of it that nobody expects; its tasks are waited for all the same.
            for task in tasks:
                task.cancel()
