"""Lets a model work on a step, with the tools of the step's agent."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Final, Protocol

from planloom.agent.answer_decoder import mode_of
from planloom.agent.conversation import Conversation, Thread
from planloom.agent.findings import changed_files, commands_section, files_read, reads_of, reports_text
from planloom.agent.loop import frame_of, work_on
from planloom.agent.prompts import TASK_LIST, Section
from planloom.agent.result_budget import head_and_tail
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
from planloom.domain.errors import BudgetExhausted, ModelFailed
from planloom.domain.events import catalog as ev
from planloom.domain.model_text.fences import fenced
from planloom.domain.plans.plan import FileRead, Plan, Step
from planloom.domain.plans.revision import check_line
from planloom.domain.values import Args, PlanId, Sha256, StepId, Uri
from planloom.execution.commands.running import CancelledByUser
from planloom.execution.effects.previous_calls import call_fate, changed_so_far, earlier_results, not_made
from planloom.execution.effects.proposals import Denied
from planloom.execution.effects.staging_area import StagingArea
from planloom.execution.prompting.context_window import StepContextWindow, opening_sections, shares_of
from planloom.execution.prompting.threads import PlanThreads
from planloom.execution.step_outcomes import Asked, Done, Failed, Interrupted, Outcome, Rerouted, Skipped
from planloom.execution.step_run import StepRun
from planloom.execution.steps.time_limits import StepClock
from planloom.execution.steps.tool_contexts import ToolContextFactory
from planloom.execution.steps.tool_runner import StepToolRunner
from planloom.intake.render import Rendered
from planloom.intake.surroundings.sections import Surroundings
from planloom.models.port import CallWritten, Capabilities, Model
from planloom.models.tokens import TokenCounter
from planloom.tools.catalog import READ_FILE
from planloom.tools.registry import Registry
from planloom.tools.tool import shortened

_WHAT_NOW: Final = (
    "The CURRENT TASK's own tool call has run, and this is its result: do not repeat it just to see it. If the task "
    "was only to see this, call task_completed, say what it shows and what later tasks must know. Else mend the "
    "cause and run it again; what failed before this plan and is not asked for, leave and name."
)
_APPROVED: Final = (
    "The user has approved the plan. It is carried out from here, beginning with the CURRENT TASK."
)
_CHANGED: Final = (
    "The user has changed the plan and approved it: TASK LIST and CURRENT TASK say how it is now. It is carried out "
    "from here."
)
_ANSWERED: Final = "The user was asked: COMPLETED TASKS has the answer."


class ModelSource(Protocol):
    """Gets the model that steps use."""

    async def current(self) -> Model | None:
        """The model to use now; None if there is none."""
        ...

    async def for_work(self, plan_id: PlanId, step_id: StepId) -> Model | None:
        """The model to use now for a step, whose waits are reported."""
        ...

    def no_model(self) -> ModelFailed:
        """The failure of what needs a model where there is none."""
        ...


class SubmittedPlans(Protocol):
    """Puts the plan that the model of a direct run has submitted to review."""

    def reader(self) -> Callable[[CallWritten | None], str]:
        """Reads what is written of a plan that is being submitted; the words are those of its steps."""
        ...

    def problem(self, plan: Plan, running: Step, submitted: Args) -> str:
        """Why the arguments of `submit_plan` are no plan, as a phrase; empty if they are one."""
        ...

    async def put_to_review(
        self, plan: Plan, running: Step, submitted: Args, model: str | None, reads: tuple[FileRead, ...]
    ) -> None:
        """Record the plan in place of the run, whose changes are settled. `reads` is what the run has read."""
        ...


class ModelWork:
    """Runs the agent's loop on steps.

    `surroundings` are what every prompt of a plan begins with; `submitted` turns a direct run into a plan under review.
    `threads` are the conversations of plans, which steps continue.
    """

    def __init__(
        self,
        models: ModelSource,
        staging: StagingArea,
        context_factory: ToolContextFactory,
        surroundings: Callable[[Plan], Awaitable[Surroundings]],
        submitted: SubmittedPlans,
        threads: PlanThreads,
    ) -> None:
        self._models = models
        self._staging = staging
        self._context_factory = context_factory
        self._surroundings = surroundings
        self._submitted = submitted
        self.threads = threads
        self._counters: dict[str, TokenCounter] = {}

    async def is_possible(self) -> bool:
        """Whether there is a model."""
        return await self._models.current() is not None

    async def run(self, run: StepRun, attachments: Rendered, clock: StepClock, output: str = "") -> Outcome:
        """Let the model work on the step with the tools of its agent. `output` is that of the step's literal call."""
        model = await self._models.for_work(run.plan_id, run.step_id)
        if model is None:
            raise self._models.no_model()
        step, settings = run.step, run.session.settings
        run.model = model.identity.label
        can = await model.capabilities()
        is_native = mode_of(can) == "native"
        factory = self._context_factory
        tools = await factory.for_models(run.plan, factory.tools_of(run))
        of_plan = await factory.for_models(run.plan, factory.offered_tools(run.plan))
        offered = of_plan if is_native else tools
        counter = self._counter(model)
        shares = shares_of(can, settings, counter.request(frame_of(run.plan, offered, can)))
        window = StepContextWindow(run, model, shares, counter)
        is_shared = is_native and settings.context.share_conversation
        if not_made(run.plan, step):
            # Its own thread shows these changes as made; the results of earlier runs tell what became of them.
            self.threads.forget_own(run.plan_id, run.step_id)
        # Its own thread has the output of its commands. It is asked for before `begin`, which gives it one.
        with_output = not (is_native and self.threads.has_own(run.plan_id, run.step_id))
        most = window.shared_characters if is_shared else 0
        thread = self.threads.begin(run.plan, run.step_id, model.identity, most)
        conversation = Conversation(
            window,
            thread,
            earlier_results(run.plan, step, with_output=with_output),
            lambda call_id: call_fate(run.plan, run.now, call_id),
            sees=can.images,
        )
        if thread.planned is not None and TASK_LIST not in thread.sent:
            conversation.tell(_become_of_the_plan(run.plan, thread))
        background = await self._background(
            run, can, tools, attachments, shows_planning=thread.planned is not None
        )
        if output:
            result = _command_section(run.plan, step, output, window.room // 3, window.text)
            background = (*background, result)
        limits = RunLimits(
            tools=offered,
            limit=settings.execution.max_tool_calls_per_step,
            completion_seconds=settings.execution.completion_timeout_seconds,
            fallback=settings.enable_fallback_function_parsing,
            stream=lambda kind, text: self._context_factory.stream(run.plan_id, run.step_id, kind, text),
            spend=run.spend,
            allow=run.require_budget,
            waiting=run.waiting,
            written=self._showing(run),
        )
        with self._context_factory.call_cache() as call_cache:
            runner = StepToolRunner(run, self._staging, tools, of_plan, self._context_factory, call_cache)
            runner.add_seen(thread.seen)
            task = AgentTask(
                plan=lambda: run.plan,
                step=step,
                limits=limits,
                conversation=conversation,
                background=background,
                read=lambda count: _read(run, count),
                revise=runner.revise,
                plan_problem=lambda args: self._submitted.problem(run.plan, run.step, args),
                calls=len(step.tools_executed) - step.calls_before,
            )
            clock.at_limit = runner.commit
            end: LoopEnd | None = None
            try:
                end = await work_on(task, model, runner)
            except BudgetExhausted as spent:
                await runner.commit()
                return Interrupted(
                    reason="budget", detail=f"{spent.message} {changed_so_far(run.plan, run.now)}"
                )
            finally:
                runner.close()
                kept = conversation.thread._replace(seen=runner.seen() if is_native else {})
                if isinstance(end, ProposesPlan):
                    # The plan's steps go on in the conversation in which it was made.
                    submitted = kept._replace(planned=run.plan.version + 1)
                    self.threads.planned(run.plan_id, submitted, model.identity)
                else:
                    self.threads.end(run.plan_id, run.step_id, kept, done=isinstance(end, TaskDone))
            if isinstance(end, ProposesPlan):
                return await self._put_to_review(run, end.plan, runner.seen())
            return self._outcome(run, end)

    async def _put_to_review(self, run: StepRun, submitted: Args, seen: Mapping[Uri, Sha256]) -> Rerouted:
        """Ask for what the run has staged, then put the plan to review by which it ends."""
        verdict = await self._staging.commit_staged(run.plan_id)
        if isinstance(verdict, Denied) and verdict.cancelled:
            raise CancelledByUser
        reads = await reads_of(run.now, seen, self._context_factory.reading(run.plan))
        await self._submitted.put_to_review(run.plan, run.step, submitted, run.model, reads)
        return Rerouted()

    async def _background(
        self, run: StepRun, can: Capabilities, tools: Registry, attachments: Rendered, *, shows_planning: bool
    ) -> tuple[Section, ...]:
        """The sections before the task; those that are the same for all steps come first.

        If the conversation `shows_planning`, it shows the files that were read, so only changed ones are named.
        """
        shares = shares_of(can, run.session.settings)
        opening = opening_sections(run.plan, await self._surroundings(run.plan), shares, attachments)
        if shows_planning:
            context = self._context_factory.reading(run.plan)
            own = {
                (file.uri, file.after_sha256)
                for edit in run.plan.edits
                if edit.state == "applied"
                for file in edit.files
            }
            return (*opening, *await changed_files(run.plan.files_read, context, own))
        return (*opening, *await self._planning_findings(run, tools, shares.planning_characters))

    async def _planning_findings(self, run: StepRun, tools: Registry, most: int) -> tuple[Section, ...]:
        """The reports of the agents, and the files and commands of the planner, within so many characters."""
        reports = reports_text(run.plan.perspectives, most // 2)
        may_read = tools.get(READ_FILE.name) is not None
        context = self._context_factory.reading(run.plan)
        commands = commands_section(run.plan.commands_run, (most - len(reports)) // 2)
        left = most - len(reports) - len(commands.text)
        files = await files_read(run.plan.files_read, context, left) if may_read else ()
        return (Section("PERSPECTIVES (data)", reports), *files, commands)

    def _showing(self, run: StepRun) -> Callable[[CallWritten | None], None]:
        """Shows the steps of a plan that the model of a direct run is writing."""
        read = self._submitted.reader()

        def show(piece: CallWritten | None) -> None:
            if words := read(piece):
                self._context_factory.stream(run.plan_id, run.step_id, "text", words)

        return show

    def _counter(self, model: Model) -> TokenCounter:
        """The model's token counter, which is kept with what it has learnt."""
        return self._counters.setdefault(model.identity.name, TokenCounter())

    def _outcome(self, run: StepRun, end: TaskDone | ChangesDenied | NeedsAnswer | GaveUp) -> Outcome:
        if isinstance(end, TaskDone | ChangesDenied) and end.answer is not None:
            answer = ev.Answer(step_id=run.step_id, text=end.answer, confidence=end.confidence)
            run.record(answer)
        match end:
            case ChangesDenied():
                return Skipped(reason="approval_denied", detail=end.reason)
            case TaskDone():
                step = run.now
                changed = (
                    f"Its checks were changed to: {'; '.join(map(check_line, step.checks)) or 'none'}.\n"
                )
                summary = f"{changed if step.checks_changed else ''}{end.summary}"
                brings = not step.checks and step.judged is not None and step.judged.errors
                caveat = end.caveat or ("unchecked" if brings else None)
                return Done(shortened(summary), end.answer or end.summary, caveat)
            case NeedsAnswer():
                return Asked(question=end.question, options=end.options)
            case GaveUp():
                return Failed(error=end.reason, code="model_output_invalid")


def _read(run: StepRun, count: int) -> None:
    """Record that the step's model has been sent the first messages of the plan, unless that is known."""
    if any(message.state == "open" for message in run.plan.messages[:count]):
        run.record(ev.MessagesRead(step_id=run.step_id, count=count))


def _become_of_the_plan(plan: Plan, thread: Thread) -> str:
    """The outcome of the plan that the model has submitted in this thread."""
    approved = _APPROVED if thread.planned == plan.approved_version else _CHANGED
    asked = any(call.name == "ask_user" for call in thread.open.values())
    return f"{_ANSWERED} {approved}" if asked else approved


def _command_section(plan: Plan, step: Step, output: str, most: int, count: Callable[[str], int]) -> Section:
    """The result of the step's own call within `most` tokens, and what the model is to make of it."""
    number = (plan.index_of(step.step_id) or 0) + 1
    shown = head_and_tail(output, most, count)
    text = f"Task {number}, {step.tool}:\n{fenced(shown)}\n{_WHAT_NOW}"
    return Section("RESULT OF THE STEP'S COMMAND", text, of_run=True)
