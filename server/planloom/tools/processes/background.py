"""The tools `read_output` and `stop_command`, for commands that `run_command` has started in the background."""

from __future__ import annotations

from typing import Final

from planloom.domain.plans.command_outcomes import outcome_line
from planloom.tools.catalog import ReadOutput, StopCommand
from planloom.tools.context import ToolContext
from planloom.tools.processes.commands import CommandState, NoCommand
from planloom.tools.tool import ToolResult, failed, succeeded

_NO_COMMANDS: Final = "No command runs here."


async def read_output(args: ReadOutput, context: ToolContext) -> ToolResult:
    """What a background command has printed since it was last read, and whether it still runs."""
    if context.commands is None:
        return failed(_NO_COMMANDS)
    return _result(await context.commands.read(args.command_id, args.wait_seconds))


async def stop_command(args: StopCommand, context: ToolContext) -> ToolResult:
    """End a background command."""
    if context.commands is None:
        return failed(_NO_COMMANDS)
    return _result(await context.commands.stop(args.command_id))


def _result(state: CommandState | NoCommand) -> ToolResult:
    if isinstance(state, NoCommand):
        return failed(state.reason)
    now, line = state.end or "is running", outcome_line(state.output)
    return succeeded(
        f"{state.command_id} (`{state.name}`) {now}{f': {line}' if line else ''}",
        f"{state.command_id} {now}.\n" + (state.output if state.output.strip() else "(no new output)"),
        {
            "command_id": state.command_id,
            "running": state.end is None,
            "exit_code": state.code,
            "output": state.output,
        },
    )
