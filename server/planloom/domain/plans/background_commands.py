"""Commands that a plan has started in the background: they run on after their call, until they end or are stopped."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from planloom.domain.values import Args, StepId, Value

if TYPE_CHECKING:
    from planloom.domain.plans.plan import Plan

BackgroundReason = Literal["exit", "stopped", "time_limit", "plan_ended", "server_ended", "crash"]
"""Why a background command ended. `exit`: by itself. `server_ended`: stopped when the server was shut down.
`crash`: it ran when the server died, so its end was not seen; `line` says what became of its process.
"""


class BackgroundEnd(Value):
    """How a background command ended: its exit code, None unless it ended by itself, and a line that says so."""

    reason: BackgroundReason
    exit_code: int | None = None
    line: str = ""


class CommandProcess(Value):
    """The process of a command. `pid` is also the id of its process group. `stamp` tells it from a later one with the
    same id; None where the system does not say.
    """

    pid: int
    stamp: str | None = None


class BackgroundCommand(Value):
    """A command in the background. `end` is None while it runs.

    `command_id` is unique in the plan. `pid` is also the id of its process group. `process` tells the process from a
    later one with the same id; None where the system does not say.
    """

    command_id: str
    command: str
    pid: int
    process: str | None = None
    end: BackgroundEnd | None = None

    @property
    def state(self) -> str:
        """The state in a few words."""
        if self.end is None:
            return "running"
        if self.end.exit_code is None:
            return self.end.line
        code = f"ended with exit code {self.end.exit_code}"
        return f"{code}: {self.end.line}" if self.end.line else code


def background_calls(plan: Plan) -> Iterator[tuple[StepId, Args, BackgroundCommand]]:
    """The background commands, each with its step and the arguments of its call; those of open calls come last."""
    for step in plan.steps:
        for call in step.tools_executed:
            if call.background is not None:
                yield step.step_id, call.args, call.background
    for opened in plan.open_calls:
        if opened.background is not None:
            yield opened.step_id, opened.args, opened.background


def running_in_background(plan: Plan) -> tuple[tuple[StepId, BackgroundCommand], ...]:
    """The background commands that have not ended, each with its step."""
    return tuple((step_id, command) for step_id, _, command in background_calls(plan) if command.end is None)
