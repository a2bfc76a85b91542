"""The tools `read_output` and `stop_command`, for commands in the background and for outputs that were long."""

from __future__ import annotations

import asyncio
from typing import Final

from planloom.domain.plans.commands import outcome_line
from planloom.tools.catalog import ReadOutput, StopCommand
from planloom.tools.context import ToolContext
from planloom.tools.files.reading import read_lines
from planloom.tools.processes.child_process import HEAD_BYTES, TAIL_BYTES
from planloom.tools.processes.commands import CommandState, NoCommand
from planloom.tools.search.search_files import search_output
from planloom.tools.terminal_text import plain
from planloom.tools.tool import ToolResult, failed, succeeded

_NO_COMMANDS: Final = "Commands cannot be run here."


async def read_output(args: ReadOutput, context: ToolContext) -> ToolResult:
    """The output of a background command since it was last read, and whether it runs; or parts of an output."""
    if context.commands is None:
        return failed(_NO_COMMANDS)
    if args.pattern or args.lines:
        whole = await context.commands.whole(args.command_id)
        if isinstance(whole, NoCommand):
            return failed(whole.reason)
        text = await asyncio.to_thread(plain, whole.decode("utf-8", "replace"))
        if args.pattern:
            return await search_output(args.command_id, text, args.pattern)
        return read_lines(args.command_id, text, args.spans(), how="lines", most=HEAD_BYTES + TAIL_BYTES)
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
