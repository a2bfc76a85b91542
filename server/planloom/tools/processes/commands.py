"""The port through which tools use a step's commands: to run one, or to start, read and stop one in the background."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from planloom.domain.safety.confinement import Confinement
from planloom.domain.text.counted import duration
from planloom.domain.values import Args
from planloom.tools.processes.child_process import ProcessResult, shell_argv
from planloom.tools.tool import shortened
from planloom.workspace.disk import Folder, FolderId

_SHOWN: Final = 120


class Command(NamedTuple):
    """A command: `line` for a shell, or `argv` without one. `cwd` is a real path, `folder` its workspace path,
    `folder_id` the very folder in which it was allowed.

    Without `timeout_seconds` a command in the background runs as long as the settings allow.
    """

    cwd: Path
    folder: str
    timeout_seconds: float | None
    line: str | None = None
    argv: tuple[str, ...] = ()
    folder_id: FolderId | None = None
    background: bool = False
    confinement: Confinement = Confinement()

    @property
    def text(self) -> str:
        """The command as one line; a list is quoted for a shell."""
        return self.line if self.line is not None else shlex.join(self.argv)

    @property
    def process_argv(self) -> tuple[str, ...]:
        """The arguments of its process, which is a shell for a line."""
        return self.argv if self.line is None else shell_argv(self.line)

    @property
    def working_folder(self) -> Folder:
        """The folder that its process enters."""
        return Folder(self.cwd, self.folder_id)

    @property
    def name(self) -> str:
        """The beginning of its text, on one line."""
        return shortened(" ".join(self.text.split()), _SHOWN)


class CalledCommand(NamedTuple):
    """A command and the arguments of its call."""

    command: Command
    args: Args


class CommandState(NamedTuple):
    """A background command as it is now. `output` is what it has printed since it was last read.

    `end` says in a few words how it ended, such as "ended with exit code 0"; None while it runs. `code` is the exit
    code if it ended by itself. `reach` says who reaches what it serves, if it has just started.
    """

    command_id: str
    name: str
    end: str | None = None
    code: int | None = None
    output: str = ""
    reach: str = ""


class NoCommand(NamedTuple):
    """Why a command cannot be started, read or stopped, and what to do instead."""

    reason: str


class CommandRunner(Protocol):
    """Asks for approval of a command, and runs it. `run` and `start` raise if it is not allowed."""

    def expect(self, following: Sequence[CalledCommand]) -> None:
        """The commands that are called after the next one, which are asked together with it."""
        ...

    def close(self) -> None:
        """No further command is called: withdraw what was asked ahead."""
        ...

    async def run(self, command: Command) -> ProcessResult:
        """Ask for approval, apply staged changes, and run the command to its end."""
        ...

    async def settle(self) -> Sequence[str]:
        """Have the user decide on what the commands have made of protected names; sentences on what is not kept."""
        ...

    async def start(self, command: Command) -> CommandState | NoCommand:
        """Like `run`, but return when the command has run for a moment, or has ended sooner."""
        ...

    async def read(self, command_id: str, wait_seconds: float) -> CommandState | NoCommand:
        """The state of a background command, as soon as it has new output or has ended, or after `wait_seconds`."""
        ...

    async def whole(self, command_id: str) -> bytes | NoCommand:
        """All that a command has printed: one in the background, or one whose output was long."""
        ...

    async def stop(self, command_id: str) -> CommandState | NoCommand:
        """End a background command with its whole process group."""
        ...


def how_ended(result: ProcessResult, seconds: float) -> str:
    """How a process that was limited to so many seconds has ended, in a few words."""
    if result.timed_out:
        return f"was ended after {duration(seconds)}"
    if result.signal is not None:
        return f"was ended by signal {result.signal}"
    return f"ended with exit code {result.code}"
