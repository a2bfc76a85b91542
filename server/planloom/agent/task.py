"""What the agent loop is given, what it asks of its surroundings, and how it can end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, Protocol

from planloom.agent.answer import Confidence
from planloom.agent.prompts import ToolNote
from planloom.domain.plans.plan import Plan, Step, Usage
from planloom.domain.values import Json, Value
from planloom.models.port import ModelRequest, ToolCall
from planloom.tools.registry import Registry
from planloom.tools.tool import ToolResult


class TaskDone(Value):
    """The task is done; `answer` is the text for the user where the whole request is."""

    kind: Literal["summed"] = "summed"
    summary: str
    answer: str | None = None
    confidence: Confidence | None = None


class NeedsAnswer(Value):
    """The task needs a person."""

    kind: Literal["asks"] = "asks"
    question: str
    options: tuple[str, ...] = ()


class ProposesPlan(Value):
    """A direct run would rather be a plan."""

    kind: Literal["plans"] = "plans"
    steps: tuple[Json, ...]


class TurnedDown(Value):
    """The task is over, and nobody allowed any of its changes; `answer` is the text for the user if there is one."""

    kind: Literal["turned_down"] = "turned_down"
    reason: str
    answer: str | None = None
    confidence: Confidence | None = None


class GaveUp(Value):
    """The task cannot be finished."""

    kind: Literal["stuck"] = "stuck"
    reason: str


Evidence = Literal["worked", "doubtful", "idle"]
"""How far the facts bear out that a task is done; an idle one is not, whatever the model says."""
LoopEnd = TaskDone | TurnedDown | NeedsAnswer | ProposesPlan | GaveUp


class CallRunner(Protocol):
    """What carries out calls."""

    async def call(self, call: ToolCall) -> ToolResult:
        """Run one call; a failed one is a result too."""
        ...


class ToolRunner(CallRunner, Protocol):
    """What carries out the calls of one step, and knows what it has really done."""

    async def settle(self) -> str | None:
        """Make what is staged happen, asking for it. If not all of it was made, what was not, and why."""
        ...

    async def missing(self) -> tuple[str, ...]:
        """What the step still lacks before it is done, a sentence each."""
        ...

    async def unproved(self) -> tuple[str, ...]:
        """What its checks still miss once its changes are made, a sentence each."""
        ...

    def turned_down(self) -> TurnedDown | None:
        """How the task ends once its model is done, if nobody allowed any of its changes."""
        ...

    def unmade(self) -> str:
        """Which files are not as the model wanted to change them, and why, in words; empty if none."""
        ...

    def worked(self) -> bool:
        """Whether the step's work is visibly done."""
        ...

    async def standing(self) -> Evidence:
        """What the calls of the step so far make of the claim that it is done."""
        ...


class ContextWindow(Protocol):
    """What keeps prompts within the model's context."""

    async def fit(self, results: Sequence[ToolNote]) -> Sequence[ToolNote]:
        """The results that a prompt shows in full; what goes is in the plan's summary from then on."""
        ...

    def learn(self, request: ModelRequest, prompt_tokens: int) -> None:
        """What the server counted for a prompt."""
        ...


class RunLimits(NamedTuple):
    """On what terms a model works: the tools it has, how far it may go, and whom it tells.

    `limit` counts tool calls. `allow` raises BudgetExhausted where no further request may be made. Calls that
    are open when the work could end get `completion_seconds`. With `fallback`, calls that the model prints
    as text count.
    """

    tools: Registry
    window: ContextWindow
    limit: int
    completion_seconds: float
    fallback: bool
    stream: Callable[[Literal["text", "reasoning"], str], None]
    spend: Callable[[Usage], None]
    allow: Callable[[], None]


class AgentTask(NamedTuple):
    """One task for the loop. `plan` gives the plan as it is now; `earlier` tells of the session's plan before.

    `results` are those of its calls in earlier runs, of which `calls` count against the limit.
    """

    plan: Callable[[], Plan]
    step: Step
    limits: RunLimits
    attachments: str
    extra_system: str
    earlier: str = ""
    results: tuple[ToolNote, ...] = ()
    calls: int = 0
