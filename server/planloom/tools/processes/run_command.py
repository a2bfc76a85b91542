"""The tool `run_command`: checks the arguments, and passes the command to the step's `CommandRunner`."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Final, Protocol

from pydantic import BaseModel, ConfigDict, Field, field_validator

from planloom.domain.plans.plan import CommandOutcome
from planloom.domain.values import Value
from planloom.tools.context import ToolContext
from planloom.tools.processes.child_process import ProcessResult
from planloom.tools.processes.outcome_line import outcome_line
from planloom.tools.tool import Tool, ToolResult, failed, shortened
from planloom.workspace.paths.resolver import PathRefused

DEFAULT_SECONDS: Final = 120.0
MOST_SECONDS: Final = 3600.0
MAX_COMMAND: Final = 20_000
_SHOWN: Final = 120


class RunCommand(BaseModel):
    """Arguments of `run_command`."""

    model_config = ConfigDict(extra="forbid")

    command: str | tuple[str, ...] = Field(description="A shell command, or a list of program and arguments.")
    cwd: str = Field("", description="Folder to run it in.", max_length=4096)
    timeout_seconds: float = Field(
        DEFAULT_SECONDS, gt=0, le=MOST_SECONDS, description="Seconds until it is ended."
    )

    @field_validator("command")
    @classmethod
    def _usable(cls, command: str | tuple[str, ...]) -> str | tuple[str, ...]:
        words = (command,) if isinstance(command, str) else command
        if not words or not words[0].strip():
            raise ValueError("it is empty: give the command to run")
        if any("\0" in word for word in words):
            raise ValueError("it contains a NUL character, which no command can")
        if sum(map(len, words)) > MAX_COMMAND:
            raise ValueError(f"it is longer than {MAX_COMMAND} characters: write a script and run that")
        return command


class Command(Value):
    """A command: `line` for a shell, or `argv` without one. `cwd` is a real path, `folder` its workspace path."""

    line: str | None = None
    argv: tuple[str, ...] = ()
    cwd: Path
    folder: str
    timeout_seconds: float

    @property
    def text(self) -> str:
        """The command as one line; a list is quoted for a shell."""
        return self.line if self.line is not None else shlex.join(self.argv)


class CommandRunner(Protocol):
    """Asks for approval of a command, and runs it."""

    async def run(self, command: Command) -> ProcessResult:
        """Ask for approval, apply staged changes, and run the command to its end. Raises if it is not allowed."""
        ...


async def run_command(args: RunCommand, context: ToolContext) -> ToolResult:
    """Run a command in the workspace after a person or the policy has allowed it."""
    if context.commands is None:
        return failed("Commands cannot be run here. Use the other tools.")
    place = await context.resolve(args.cwd or ".", "read")
    if isinstance(place, PathRefused):
        return failed(f"cwd: {place.reason}")
    if not place.path.is_dir():
        return failed(f"cwd: {place.relative} is not a folder. Give an existing folder of the workspace.")
    shell = isinstance(args.command, str)
    command = Command(
        line=args.command if isinstance(args.command, str) else None,
        argv=() if isinstance(args.command, str) else args.command,
        cwd=place.path,
        folder="" if place.relative == "." else place.relative,
        timeout_seconds=args.timeout_seconds,
    )
    ended = await context.commands.run(command)
    if ended.problem is not None:
        hint = (
            ""
            if shell
            else " Give a shell command as one string; a list must begin with an installed program."
        )
        return failed(f"{ended.problem}{hint}")
    return _tool_result(command, ended)


def _tool_result(command: Command, ended: ProcessResult) -> ToolResult:
    name = shortened(" ".join(command.text.split()), _SHOWN)
    if ended.timed_out:
        how = f"was ended after {command.timeout_seconds:g} seconds"
    elif ended.signal is not None:
        how = f"was ended by signal {ended.signal}"
    else:
        how = f"ended with exit code {ended.code}"
    ok = ended.code == 0
    line = outcome_line(ended.output)
    text = f"The command {how}."
    if ended.timed_out:
        text += (
            " Give a larger timeout_seconds, or a command that ends by itself: servers and watchers never do."
        )
    text += f"\n{ended.output}" if ended.output.strip() else "\n(no output)"
    summary = shortened(f"`{name}` {how}{f': {line}' if line else ''}")
    value = {"exit_code": ended.code, "output": ended.output, "timed_out": ended.timed_out}
    outcome = CommandOutcome(exit_code=ended.code, line=line if ended.code is not None else f"it {how}")
    return ToolResult(ok=ok, summary=summary, text=text, value=value, ended=True, outcome=outcome)


RUN_COMMAND = Tool(
    name="run_command",
    description=(
        "Run a command and return its exit code and output. It gets no input and must end by itself; the user is "
        "asked first. Read and change files with the other tools."
    ),
    arguments=RunCommand,
    effect="execute",
    run=run_command,
    paths=("cwd",),
)
