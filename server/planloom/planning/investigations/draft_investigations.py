"""Runs the read-only investigations of one draft, which share its budget, its token counts and what they have read."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from typing import Generic, NamedTuple, TypeVar

from planloom.agent.conversation import NEW_THREAD
from planloom.agent.findings import changed_files, commands_section, files_read, with_read
from planloom.agent.investigation import Investigation, Opening, Report, investigate
from planloom.agent.prompts import Section
from planloom.agent.result_budget import FixedContextWindow
from planloom.agent.task import GaveUp, RunLimits
from planloom.domain.errors import BudgetExhausted
from planloom.domain.plans.agents import Agent
from planloom.domain.plans.plan import Plan, Usage
from planloom.models.port import CallWritten, Model, ToolCall, ToolSpec
from planloom.models.tokens import TokenCounter
from planloom.planning.estimates import ModelSpeed
from planloom.planning.investigations.read_only import ReadOnlyToolRunner
from planloom.planning.model.prompt_budget import CHARACTERS_PER_TOKEN, SMALL_CONTEXT, fitting_prompt
from planloom.planning.model.prompts import request_details
from planloom.planning.model.stopwatch import Stopwatch
from planloom.planning.port import PlannerEvent, PlanningRequest, RequestUsage, ThinkingText, ToolUsed
from planloom.tools.context import ToolContext
from planloom.tools.registry import Registry
from planloom.tools.tool import ToolResult

WEAK_ANSWER_TOKENS = 2_048
"""The most tokens of an answer where tools are not native; a weak model that repeats itself is cut off."""
_MOST_ANSWER_TOKENS = 16_000
"""The most tokens of the context that are kept free for an answer without a limit of its own."""
_RESULTS_SHARE = 0.35
_SMALL_SHARE = 0.2

Emit = Callable[[PlannerEvent], None]
R = TypeVar("R")


class InvestigationOptions(NamedTuple):
    """How the settings want the investigations of one draft to be made.

    `calls` limits each investigation, `seconds` each agent's report, `call_seconds` each call; `requests` and
    `tokens` limit all together, 0 tokens means unlimited. `fallback`: calls may also be written into the text of
    an answer.
    """

    calls: int = 25
    seconds: float = 600
    call_seconds: float = 30
    requests: int = 200
    tokens: int = 0
    fallback: bool = True


DEFAULT_OPTIONS = InvestigationOptions()
"""The options of the default settings."""


class InvestigationKind(NamedTuple, Generic[R]):
    """Who investigates a request and for what: an agent for its report, or without an agent the planner for the plan.

    `turns` and `calls` are the most that it makes. With an `opening` the steps of the plan continue its conversation.
    `written` gets what is written of calls, see `RunLimits`.
    """

    system: str
    report: Report[R]
    turns: int
    calls: int
    agent: Agent | None = None
    opening: Opening | None = None
    written: Callable[[CallWritten | None], None] = lambda _: None


class DraftInvestigations:
    """The investigations of one draft. `context` makes the context of their tools, of which they get those that read.

    `files_read` and `commands_run` are what they have read and run so far, `speed` how fast the model wrote its last
    answer.
    """

    def __init__(
        self,
        model: Model,
        tools: Registry,
        context: Callable[[], ToolContext],
        options: InvestigationOptions = DEFAULT_OPTIONS,
        earlier: Plan | None = None,
    ) -> None:
        """`earlier` is the plan whose draft is made anew."""
        self.model = model
        self._tools = tools
        self.options = options
        self.files_read = () if earlier is None else earlier.files_read
        self.commands_run = () if earlier is None else earlier.commands_run
        self.speed: ModelSpeed | None = None
        self._context = context
        self._counter = TokenCounter()
        self._requests = 0
        self._tokens = 0

    async def run(self, kind: InvestigationKind[R], request: PlanningRequest, emit: Emit) -> R | GaveUp:
        """Let the model look until it reports. Raises ModelFailed, ContextOverflow and BudgetExhausted."""
        opening = kind.opening
        runner = ReadOnlyToolRunner(
            self._tools if opening is None else opening.tools,
            self._context(),
            self.options.call_seconds,
            lambda call, result: emit(ToolUsed(_told(call, result), kind.agent)),
            offers_all=opening is not None,
        )
        can = await self.model.capabilities()
        whole = can.usable_context
        answer = min(_MOST_ANSWER_TOKENS if can.tools else WEAK_ANSWER_TOKENS, whole // 5)
        results = int(whole * (_RESULTS_SHARE if whole >= SMALL_CONTEXT else _SMALL_SHARE))
        if opening is not None and opening.thread != NEW_THREAD:
            # The conversation shows what was read for the draft before.
            seen = await changed_files(self.files_read, self._context())
        else:
            most = whole // 4 * CHARACTERS_PER_TOKEN
            seen = await files_read(self.files_read, self._context(), most)
            seen = (*seen, commands_section(self.commands_run))
        if opening is not None:
            details = tuple(Section(*each) for each in request_details(request))
            question = (*opening.sections, *details, *seen)
        else:
            frame = (*runner.tools.specs(), *kind.report.controls())
            others = len(kind.system) + _characters(frame) + sum(len(section.shown) for section in seen)
            bounded = can._replace(context_tokens=whole)
            prompt = fitting_prompt(request, others, bounded, kept_tokens=results + answer)
            question = (Section("", prompt.text, prompt.images), *seen)
        investigation = Investigation(
            kind.system,
            question,
            kind.report,
            FixedContextWindow(whole - answer, results, self._counter),
            self._run_limits(kind, runner, emit),
            answer_tokens=None if can.tools else answer,
            turns=kind.turns,
            opening=opening,
        )
        try:
            return await investigate(investigation, self.model, runner)
        finally:
            for read in runner.reads:
                self.files_read = with_read(self.files_read, read)
            self.commands_run += tuple(runner.runs)

    def _run_limits(self, kind: InvestigationKind[R], runner: ReadOnlyToolRunner, emit: Emit) -> RunLimits:
        watch = Stopwatch()

        def allow() -> None:
            self._allow()
            watch.restart()

        def stream(_: str, text: str) -> None:
            watch.received()
            emit(ThinkingText(text=text))

        def spend(usage: Usage) -> None:
            watch.received()
            self.speed = watch.speed("", usage.completion_tokens)
            self._tokens += usage.prompt_tokens + usage.completion_tokens
            emit(RequestUsage(usage=usage))

        return RunLimits(
            tools=runner.tools,
            limit=min(kind.calls, self.options.calls),
            completion_seconds=self.options.call_seconds,
            fallback=self.options.fallback,
            stream=stream,
            spend=spend,
            allow=allow,
            written=kind.written,
        )

    def _allow(self) -> None:
        """Count one more request. Raises BudgetExhausted."""
        if self._requests >= self.options.requests:
            raise BudgetExhausted(
                f"The draft has used up its budget of {self._requests} requests to the model (budget.maxRequests)."
            )
        if self.options.tokens and self._tokens >= self.options.tokens:
            raise BudgetExhausted(
                f"The draft has used up its token budget with {self._tokens} tokens (budget.maxTokens)."
            )
        self._requests += 1


def _told(call: ToolCall, result: ToolResult) -> str:
    """A call for the user; the reason why one failed does not say which it was."""
    return result.summary if result.ok or result.ended else f"{call.name}: {result.summary}"


def _characters(tools: Sequence[ToolSpec]) -> int:
    """The size of tools in a request."""
    return sum(len(spec.description) + len(json.dumps(spec.parameters)) for spec in tools)


async def events_of(jobs: Sequence[Callable[[Emit], Awaitable[None]]]) -> AsyncGenerator[PlannerEvent, None]:
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
