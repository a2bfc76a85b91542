"""Runs `planloom mcp`: one agent's client over stdin and stdout, until it disconnects."""

from __future__ import annotations

import asyncio
import contextlib
import os
from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server

from planloom.mcp.tools import INSTRUCTIONS, called, listed
from planloom.mcp.workspace import Options, Workspace
from planloom.serving import process
from planloom.version import VERSION


def serve(options: Options) -> int:
    """Serve one client; returns the exit code."""
    # stdout belongs to the protocol. A client shows what stands on stderr, or keeps it.
    process.log_to_stderr("info")
    return asyncio.run(_serve(options))


async def _serve(options: Options) -> int:
    workspace = Workspace(options, process.loaded)
    # The thread that reads stdin cannot be stopped: the process ends without it.
    process.on_ending_signals(lambda code: workspace.jobs.start("end", _end(workspace, code)))
    server = make_server(workspace)
    try:
        async with stdio_server() as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())
    finally:
        await _close(workspace)
    return 0


def make_server(workspace: Workspace) -> Server[Any]:
    """The server over a workspace, for any transport."""

    async def list_tools(
        _: ServerRequestContext[Any], __: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=listed())

    async def call_tool(
        context: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        return await called(workspace, context, params)

    return Server(
        "planloom",
        version=VERSION,
        title="Planloom",
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


async def _close(workspace: Workspace) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(process.CLOSE_SECONDS):
            await workspace.close()


async def _end(workspace: Workspace, code: int) -> None:
    await _close(workspace)
    os._exit(code)
