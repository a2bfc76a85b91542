"""The tool `run_command`: checks the arguments, and passes the command to the step's `CommandRunner`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from planloom.domain.plans.commands import CommandOutcome, outcome_line
from planloom.domain.safety.command_needs import Lack, LackKind
from planloom.tools.catalog import RunCommand
from planloom.tools.context import ToolContext
from planloom.tools.processes.commands import Command, CommandState, NoCommand, how_ended
from planloom.tools.tool import NO_OUTPUT, ToolResult, failed, shortened
from planloom.workspace.paths.resolver import PathRefused, ResolvedPath

_TOO_LONG: Final = " Give a larger timeout_seconds. A server or a watcher never ends: run it with background."
_HIDDEN: Final = " Its output states failures, so it counts as failed."
_LACKED: Final[Mapping[LackKind, str]] = {
    "network": "It ran without the network, which it seems to need.",
    "git": "It ran without leave to change git's folder.",
    "folder": "It ran confined: it may write in the workspace, and in the home and the temporary folder of the plan, "
    "but not in {}.",
    "protected": "It ran confined: git's settings and hooks, and names that programs read by themselves, stay as they "
    "are. Give settings of git by `git -c name=value`. Only the user can let it run without confinement.",
    "credentials": "It ran confined, so that it saw none of the credentials of {}.",
    "socket": "It ran confined, so that it reached no socket of a service such as docker or an agent. Only the user "
    "can let it run without confinement.",
}
_ASKED_NEXT: Final = " If it is run again, the user is asked for that; if they do not give it, do without."
_RUNS_ON: Final = "runs in the background as {}, at most until the plan ends."


async def run_command(args: RunCommand, context: ToolContext) -> ToolResult:
    """Run a command in the workspace after a person or the policy has allowed it."""
    if context.commands is None:
        return failed("Commands cannot be run here.")
    command = await command_of(args, context)
    if isinstance(command, NoCommand):
        return failed(command.reason)
    shell = isinstance(args.command, str)
    if command.background:
        state = await context.commands.start(command)
        return failed(state.reason) if isinstance(state, NoCommand) else _started(state)
    ended = await context.commands.run(command)
    if ended.problem is not None:
        hint = (
            ""
            if shell
            else " Give a shell command as one string; a list must begin with an installed program."
        )
        return failed(f"{ended.problem}{hint}")
    result = _ended(
        command.name,
        how_ended(ended, args.timeout_seconds),
        ended.code,
        ended.output,
        timed_out=ended.timed_out,
        lacked=ended.lacked,
    )
    return result._replace(text=f"{result.text.rstrip()}\n{ended.note}") if ended.note else result


async def command_of(args: RunCommand, context: ToolContext) -> Command | NoCommand:
    """The command of a call, in its folder of the workspace."""
    place = await context.resolve(args.cwd or ".", "read")
    if isinstance(place, PathRefused):
        return NoCommand(reason=f"cwd: {place.reason}")
    if not place.path.is_dir():
        return NoCommand(
            reason=f"cwd: {place.relative} is not a folder. Give an existing folder of the workspace."
        )
    is_limited = not args.background or "timeout_seconds" in args.model_fields_set
    return Command(
        line=args.command if isinstance(args.command, str) else None,
        argv=() if isinstance(args.command, str) else args.command,
        cwd=place.path,
        folder=_shown_folder(place, context),
        timeout_seconds=args.timeout_seconds if is_limited else None,
        background=args.background,
    )


def _shown_folder(place: ResolvedPath, context: ToolContext) -> str:
    """The folder as a person knows it; among several workspace folders it begins with the name of its own."""
    names = [place.root.name] if len(context.roots.folders) > 1 else []
    return "/".join(names + ([] if place.relative == "." else [place.relative]))


def _ended(
    name: str,
    how: str,
    code: int | None,
    output: str,
    *,
    timed_out: bool = False,
    lacked: Lack | None = None,
) -> ToolResult:
    line = outcome_line(output)
    outcome = CommandOutcome(exit_code=code, line=line if code is not None else f"it {how}", lacked=lacked)
    hidden = _HIDDEN if code == 0 and not outcome.succeeded else ""
    text = f"The command {how}.{_TOO_LONG if timed_out else hidden}\n"
    text += output if output.strip() else NO_OUTPUT
    if lacked is not None:
        asked = _ASKED_NEXT if lacked.can_be_given else ""
        text += f"\n[{_LACKED[lacked.kind].format(lacked.place)}{asked}]"
    return ToolResult(
        ok=outcome.succeeded,
        summary=shortened(f"`{name}` {how}{f': {line}' if line else ''}"),
        text=text,
        value={"exit_code": code, "output": output, "timed_out": timed_out},
        ended=True,
        outcome=outcome,
    )


def _started(state: CommandState) -> ToolResult:
    if state.end is not None:
        return _ended(state.name, state.end, state.code, state.output)
    line = outcome_line(state.output)
    text = f"The command {_RUNS_ON.format(state.command_id)} {state.reach}\n" + (
        state.output or "(no output yet)"
    )
    return ToolResult(
        ok=True,
        summary=shortened(
            f"`{state.name}` runs in the background as {state.command_id}{f': {line}' if line else ''}"
        ),
        text=text,
        value={"command_id": state.command_id, "output": state.output},
        in_background=True,
    )
