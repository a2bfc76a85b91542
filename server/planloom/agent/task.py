"""The agent loop's input, the interfaces it calls, and the ways in which it can end."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Literal, NamedTuple, Protocol

from planloom.agent.answer import Confidence
from planloom.agent.conversation import Conversation
from planloom.agent.prompts import Section
from planloom.domain.plans.plan import Plan, Step, Usage
from planloom.domain.plans.report import StepCaveat
from planloom.domain.values import Args
from planloom.models.port import CallWritten, ToolCall
from planloom.tools.registry import Registry
from planloom.tools.tool import ToolResult


class TaskDone(NamedTuple):
    """The task is done; `answer` is the text for the user if it was the plan's last one."""

    summary: str
    caveat: StepCaveat | None = None
    answer: str | None = None
    confidence: Confidence | None = None
    kind: Literal["task_done"] = "task_done"


class NeedsAnswer(NamedTuple):
    """The model has a question for the user."""

    question: str
    options: tuple[str, ...] = ()
    kind: Literal["needs_answer"] = "needs_answer"


class ProposesPlan(NamedTuple):
    """The model of a direct run submits a plan instead, by these arguments of `submit_plan`."""

    plan: Args
    kind: Literal["proposes_plan"] = "proposes_plan"


class ChangesDenied(NamedTuple):
    """The task is over, and the user denied all its changes; `answer` is the text for the user, if any."""

    reason: str
    answer: str | None = None
    confidence: Confidence | None = None
    kind: Literal["changes_denied"] = "changes_denied"


class GaveUp(NamedTuple):
    """The task cannot be finished. `text` is what the model wrote last, if a person may want to read it."""

    reason: str
    text: str = ""
    kind: Literal["gave_up"] = "gave_up"


LoopEnd = TaskDone | ChangesDenied | NeedsAnswer | ProposesPlan | GaveUp


class CallRunner(Protocol):
    """Runs tool calls."""

    async def call(self, call: ToolCall, following: Sequence[ToolCall] = (), /) -> ToolResult:
        """Run one call; `following` are those after it in the same answer.

        A failure is returned as a result, not raised.
        """
        ...


class ToolRunner(CallRunner, Protocol):
    """Runs the calls of one step, and answers from its records what they have done."""

    async def commit(self) -> str | None:
        """Ask for the staged changes and make them. Returns what was not made and why, None if all was."""
        ...

    async def missing(self) -> tuple[str, ...]:
        """Unmet requirements of the step before its changes are committed, one sentence each, without checks."""
        ...

    async def failed_checks(self, *, committed: bool) -> tuple[str, ...]:
        """The checks that fail, of those that see `committed` changes or of the others: a sentence and output each."""
        ...

    async def new_errors(self) -> str:
        """The errors that a step without checks of its own brings, a line each; empty if none is known.

        The last step of a plan has those that earlier ones have left, too.
        """
        ...

    def denial(self) -> ChangesDenied | None:
        """How the task ends once its model is done, if the user denied all its changes."""
        ...

    def failed_changes(self) -> str:
        """Sentences that name the files whose changes could not be made, and why; empty if there are none."""
        ...

    def looks_done(self) -> bool:
        """Whether an answer in words may end the step: it has changed something or run a command."""
        ...

    def has_worked(self) -> bool:
        """Whether the step has changed something, if its plan states that it does; else whether a call succeeded."""
        ...


def _nobody_reads(_: CallWritten | None) -> None:
    pass


class RunLimits(NamedTuple):
    """The tools and limits of one run, and the callbacks for its output and cost.

    `limit` is the most tool calls. `allow` raises BudgetExhausted if no further request may be made. A call made
    together with the end of the task gets `completion_seconds`. With `fallback`, calls printed as text are run.
    `waiting` is open while a request to the model is, since that time is no work of the task. `written` gets the pieces
    of calls that are still being written; None where an answer begins, or begins again.
    """

    tools: Registry
    limit: int
    completion_seconds: float
    fallback: bool
    stream: Callable[[Literal["text", "reasoning"], str], None]
    spend: Callable[[Usage], None]
    allow: Callable[[], None]
    waiting: Callable[[], AbstractContextManager[object]] = nullcontext
    written: Callable[[CallWritten | None], None] = _nobody_reads


class AgentTask(NamedTuple):
    """One task for the loop. `plan` returns the current plan; `background` are the sections before the task.

    `calls` of the step's earlier runs count against the limit. `read` is called with the number of the plan's
    messages that the model has been sent. `revise` changes the rest of the plan by the arguments of `submit_plan`, and
    returns the outcome as a text for the model; in a direct run `plan_problem` says why they are no plan.
    """

    plan: Callable[[], Plan]
    step: Step
    limits: RunLimits
    conversation: Conversation
    background: tuple[Section, ...]
    read: Callable[[int], None]
    revise: Callable[[Args], Awaitable[str]]
    plan_problem: Callable[[Args], str]
    calls: int = 0
