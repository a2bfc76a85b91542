"""The tool `run_command`: checks the arguments, and passes the command to the step's `CommandRunner`."""

from __future__ import annotations

from typing import Final

from planloom.domain.plans.command_outcomes import CommandOutcome, outcome_line
from planloom.tools.catalog import RunCommand
from planloom.tools.context import ToolContext
from planloom.tools.processes.commands import Command, CommandState, NoCommand, how_ended
from planloom.tools.tool import NO_OUTPUT, ToolResult, failed, shortened
from planloom.workspace.paths.resolver import PathRefused, ResolvedPath

_TOO_LONG: Final = " Give a larger timeout_seconds. A server or a watcher never ends: run it with background."
_HIDDEN: Final = " Its output states failures, so it counts as failed."
_WITHOUT_NETWORK: Final = (
    "It ran without the network, which it seems to need. If it is run again, the network is asked for; if nobody "
    "gives it then, there is none in this run: do without."
)
_RUNS_ON: Final = (
    "runs in the background as {}: read_output returns what it prints, stop_command ends it. It is stopped when the "
    "plan ends."
)


async def run_command(args: RunCommand, context: ToolContext) -> ToolResult:
    """Run a command in the workspace after a person or the policy has allowed it."""
    if context.commands is None:
        return failed("Commands cannot be run here. Use the other tools.")
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
        lacked_network=ended.lacked_network,
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
    lacked_network: bool = False,
) -> ToolResult:
    line = outcome_line(output)
    outcome = CommandOutcome(
        exit_code=code, line=line if code is not None else f"it {how}", lacked_network=lacked_network
    )
    hidden = _HIDDEN if code == 0 and not outcome.succeeded else ""
    text = f"The command {how}.{_TOO_LONG if timed_out else hidden}\n"
    text += output if output.strip() else NO_OUTPUT
    text += f"\n{_WITHOUT_NETWORK}" if lacked_network else ""
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
