"""Runs one step: a literal tool call, or a task for the model."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Literal, NamedTuple

from planloom.agent.conversation import Conversation
from planloom.agent.loop import frame_of, work_on
from planloom.agent.prompts import Section
from planloom.agent.task import (
    AgentTask,
    ChangesDenied,
    GaveUp,
    LoopEnd,
    NeedsAnswer,
    ProposesPlan,
    RunLimits,
    TaskDone,
)
from planloom.domain.errors import ModelFailed
from planloom.domain.events import catalog as ev
from planloom.domain.plans.agents import allowed_effects
from planloom.domain.plans.plan import Plan, Step, Usage
from planloom.domain.values import Args, Json, PlanId, StepId
from planloom.execution.budget import allow_request
from planloom.execution.effects.gate import Gate
from planloom.execution.effects.previous_calls import earlier_results
from planloom.execution.effects.proposals import Committed, Denied
from planloom.execution.effects.staging_area import StagingArea
from planloom.execution.effects.step_changes import commit_step
from planloom.execution.effects.unsaved import UnsavedFiles
from planloom.execution.plan_store import PlanStore
from planloom.execution.prompting.context_window import StepContextWindow, shares_of
from planloom.execution.steps.attached_files import StepAttachments
from planloom.execution.steps.call_records import recorded_call
from planloom.execution.steps.checks import StepChecks
from planloom.execution.steps.commands import CancelledByUser, CommandDenied
from planloom.execution.steps.outputs import NoOutput, resolved
from planloom.execution.steps.results import Asked, Done, Failed, Interrupted, Outcome, Rerouted, Skipped
from planloom.execution.steps.time_limits import within
from planloom.execution.steps.tool_contexts import ToolContextFactory
from planloom.execution.steps.tool_runner import StepToolRunner
from planloom.models.port import Model
from planloom.models.tokens import TokenCounter
from planloom.providers import WAYS_TO_A_MODEL
from planloom.settings import Settings
from planloom.tools.context import ToolContext
from planloom.tools.registry import READ_ONLY, Registry, argument_problems
from planloom.tools.tool import Tool, ToolResult, failed, shortened
from planloom.workspace.paths.uris import display_name

NO_MODEL = "This step needs a language model, and none is configured."
READS_DENIED = "The setting planloom.approvals.read denies reading."
NOT_ALLOWED = "{tool} is not among the tools of this step. A request that is a question only reads."
LONGEST_ERROR = 2_000
"""The longest tool output, in characters, that is shown whole as a step's error."""
Stream = Callable[[PlanId, StepId, Literal["text", "reasoning"], str], None]
Reroute = Callable[[Plan, Step, Sequence[Json]], None]


class StepDependencies(NamedTuple):
    """What the runner needs.

    `earlier` describes the session's previous plan; `reroute` turns a direct run into a plan under review.
    """

    plan_store: PlanStore
    gate: Gate
    staging: StagingArea
    context_factory: ToolContextFactory
    tools: Registry
    settings: Callable[[], Settings]
    model: Callable[[], Awaitable[Model | None]]
    attachments: StepAttachments
    earlier: Callable[[Plan], str]
    stream: Stream
    reroute: Reroute


class Runner:
    """Runs steps for the conductor."""

    def __init__(self, dependencies: StepDependencies) -> None:
        self._deps = dependencies
        self._counters: dict[str, TokenCounter] = {}

    async def run(self, plan_id: PlanId, step_id: StepId) -> Outcome:
        """Run the step to its end. Raises PlanloomError if it cannot be run."""
        plan = self._deps.plan_store.plan(plan_id)
        step = plan.step(step_id)
        assert step is not None
        seconds = self._deps.settings().execution.step_timeout_seconds
        attachments = await self._deps.attachments.of(plan, step)
        if isinstance(attachments, Asked):
            return attachments
        run = self._run_call(plan, step) if step.kind == "tool_call" else self._work(plan, step, attachments)
        try:
            return await within(self._deps.plan_store, plan_id, step_id, seconds, run)
        except CancelledByUser:
            return Rerouted()
        except CommandDenied as denied:
            return Skipped(reason="approval_denied", detail=denied.reason)
        except UnsavedFiles as unsaved:
            return Interrupted(reason="unsaved_files", detail=unsaved.sentence)

    async def before_end(self, plan_id: PlanId) -> bool:
        """Commit what the plan has staged. False if the plan must not end yet."""
        return await self._deps.staging.commit_at_end(plan_id)

    async def _run_call(self, plan: Plan, step: Step) -> Outcome:
        tool = self._deps.tools.get(step.tool or "")
        if tool is None:
            return Failed(error=f"There is no tool {step.tool!r}.", code="invalid_plan")
        if self._tools_of(plan, step).get(tool.name) is None:
            detail = READS_DENIED if tool.effect == "read" else NOT_ALLOWED.format(tool=tool.name)
            return Skipped(reason="approval_denied", detail=detail)
        args = resolved(plan, step.args or {})
        if isinstance(args, NoOutput):
            return Failed(error=f"{args.argument}: {args.problem}.", code="invalid_plan")
        problems = argument_problems(tool, args)
        if problems:
            listed = "; ".join(f"{name or tool.name}: {problem}" for name, problem in problems)
            return Failed(error=f"The arguments are invalid: {listed}.", code="invalid_plan")
        context = self._deps.context_factory.context(plan, step)
        checks = self._deps.context_factory.checks(plan, step, context)
        outcome = await self._earlier_outcome(step, tool, args, context)
        if outcome is None:
            async with recorded_call(self._deps.plan_store, plan.plan_id, step.step_id, tool, args) as call:
                seconds = self._deps.settings().execution.completion_timeout_seconds
                result = await _run_tool(tool, args, context, None if tool.effect == "execute" else seconds)
                call.result, call.after = result, context.files.changeset()
            outcome = await self._commit(plan, step, result, context, checks)
        if not isinstance(outcome, Done):
            return outcome
        missing = (*await checks.staged(), *await checks.made())
        return Failed(error=" ".join(missing), code="check_failed") if missing else outcome

    async def _earlier_outcome(
        self, step: Step, tool: Tool, args: Args, context: ToolContext
    ) -> Outcome | None:
        """The outcome of this call in an earlier run of the step that was interrupted; None if it has to run."""
        same = [
            index
            for index, call in enumerate(step.tools_executed)
            if (call.tool, call.args) == (tool.name, args)
        ]
        if not same:
            return None
        call, is_open = step.tools_executed[same[-1]], same[-1] >= step.calls_closed
        if call.fates and call.fates <= {"made", "staged"}:
            # The earlier run made its changes and then failed, so only the checks remain.
            target = await context.resolve(str(args[tool.writes[-1]]), "read")
            value = None if target.kind == "refused" else target.relative
            return Done(summary="Done already, in an earlier run of the step.", value=value)
        if not is_open:
            return None
        if call.command == "ended":
            return Done(summary=call.summary) if call.ok else Failed(error=call.summary)
        if call.command == "denied" or (call.fates and call.fates <= {"denied"}):
            return Skipped(reason="approval_denied", detail=call.why)
        if "made" in call.fates:
            done = ", ".join(display_name(uri) for uri, fate in call.files.items() if fate == "made")
            missing = ", ".join(display_name(uri) for uri, fate in call.files.items() if fate != "made")
            return Failed(
                error=f"The server ended in the middle of this step. Made: {done}. Not made: {missing}."
            )
        return None

    async def _commit(
        self, plan: Plan, step: Step, result: ToolResult, context: ToolContext, checks: StepChecks
    ) -> Outcome:
        """Commit what the call has staged."""
        if not result.ok:
            # The output of a command may be long; its summary has the last lines, which matter in an error.
            return Failed(error=result.text if len(result.text) <= LONGEST_ERROR else result.summary)
        changes = context.files.changeset()
        if not changes.changes:
            return Done(summary=result.summary, value=result.value)
        await checks.before(changes)
        verdict = await commit_step(self._deps.plan_store, self._deps.staging, plan.plan_id, step, context)
        match verdict:
            case Committed():
                return Done(summary=result.summary, value=result.value)
            case Denied():
                if verdict.cancelled:
                    return Rerouted()
                return Skipped(reason="approval_denied", detail=verdict.reason)
            case _:
                return Failed(error=verdict.reason, code=verdict.code)

    async def _work(self, plan: Plan, step: Step, attachments: str) -> Outcome:
        """Let the model work on the step with the tools of its agent."""
        model = await self._deps.model()
        if model is None:
            raise ModelFailed(
                "model_unavailable",
                NO_MODEL,
                hint=f"{WAYS_TO_A_MODEL} Then resume the plan; or skip the step.",
            )
        tools = self._tools_of(plan, step)
        settings = self._deps.settings()

        limits = RunLimits(
            tools=tools,
            limit=settings.execution.max_tool_calls_per_step,
            completion_seconds=settings.execution.completion_timeout_seconds,
            fallback=settings.enable_fallback_function_parsing,
            stream=lambda kind, text: self._deps.stream(plan.plan_id, step.step_id, kind, text),
            spend=lambda usage: self._spend(plan.plan_id, step.step_id, usage),
            allow=lambda: self._allow(plan.plan_id),
        )
        task = AgentTask(
            plan=lambda: self._deps.plan_store.plan(plan.plan_id),
            step=step,
            limits=limits,
            conversation=Conversation(
                await self._context_window(plan, step, tools, model), results=earlier_results(step)
            ),
            background=self._background(plan, attachments),
            calls=len(step.tools_executed) - step.calls_before,
        )
        with self._deps.context_factory.call_cache() as call_cache:
            runner = StepToolRunner(
                self._deps.plan_store,
                self._deps.staging,
                tools,
                plan,
                step,
                self._deps.context_factory,
                call_cache,
            )
            return self._outcome(plan, step, await work_on(task, model, runner))

    def _background(self, plan: Plan, attachments: str) -> tuple[Section, ...]:
        """What the model is told before the task; what is the same for all steps comes first."""
        return (
            Section("EARLIER IN THIS SESSION (data)", self._deps.earlier(plan)),
            Section("USER REQUEST", plan.request.strip()),
            Section("ATTACHMENTS", attachments),
        )

    def _tools_of(self, plan: Plan, step: Step) -> Registry:
        """The tools that a step may use, in a literal call as in a model's calls."""
        allowed = allowed_effects(plan, step.agent)
        if self._deps.settings().approvals.read == "deny":
            allowed -= READ_ONLY
        return self._deps.tools.only(allowed)

    async def _context_window(
        self, plan: Plan, step: Step, tools: Registry, model: Model
    ) -> StepContextWindow:
        """The context window of one step. Each model's token counter is kept, with what it has learnt."""
        plan_id, step_id = plan.plan_id, step.step_id
        can = await model.capabilities()
        counter = self._counters.setdefault(model.identity.name, TokenCounter())
        frame = counter.request(frame_of(plan, tools, can))
        shares = shares_of(can, self._deps.settings(), frame)
        return StepContextWindow(
            self._deps.plan_store,
            plan_id,
            step_id,
            model,
            shares,
            counter,
            allow=lambda: self._allow(plan_id),
            spend=lambda usage: self._spend(plan_id, step_id, usage),
        )

    def _allow(self, plan_id: PlanId) -> None:
        allow_request(self._deps.plan_store.plan(plan_id), self._deps.settings().budget)

    def _outcome(self, plan: Plan, step: Step, end: LoopEnd) -> Outcome:
        if isinstance(end, TaskDone | ChangesDenied) and end.answer is not None:
            answer = ev.Answer(task_id=step.step_id, text=end.answer, confidence=end.confidence)
            self._deps.plan_store.record(plan.plan_id, answer)
        match end:
            case ChangesDenied():
                return Skipped(reason="approval_denied", detail=end.reason)
            case TaskDone():
                return Done(summary=shortened(end.summary), value=end.answer or end.summary)
            case NeedsAnswer():
                return Asked(question=end.question, options=end.options)
            case ProposesPlan():
                self._deps.reroute(self._deps.plan_store.plan(plan.plan_id), step, end.steps)
                return Rerouted()
            case GaveUp():
                return Failed(error=end.reason, code="model_output_invalid")

    def _spend(self, plan_id: PlanId, step_id: StepId, usage: Usage) -> None:
        """Record the cost of a request."""
        self._deps.plan_store.record(plan_id, ev.TaskUpdate(task_id=step_id, status="running", usage=usage))


async def _run_tool(tool: Tool, args: Args, context: ToolContext, seconds: float | None) -> ToolResult:
    """Run a tool; None is no time limit. A call that takes longer than `seconds` gives a failed result."""
    limit = asyncio.timeout(seconds)
    try:
        async with limit:
            return await tool.run(tool.arguments.model_validate(args), context)
    except TimeoutError as error:
        if not limit.expired():
            return failed(f"{tool.name} could not be carried out: {error.strerror or error}.")
        return failed(f"{tool.name} was still open after {seconds:g} seconds and was aborted.")
    except OSError as error:
        return failed(f"{tool.name} could not be carried out: {error.strerror or error}.")
