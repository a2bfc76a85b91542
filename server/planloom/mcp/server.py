"""Runs `planloom mcp`: one agent's client over stdin and stdout, until it disconnects."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server

from planloom.mcp.tools import INSTRUCTIONS, called, listed
from planloom.mcp.workspace import Options, Workspace
from planloom.private_process import forget_variables, make_private
from planloom.providers import SECRET_VARIABLES
from planloom.version import VERSION

CLOSE_SECONDS = 10.0
"""Seconds for which running work may continue at the end."""


def serve(options: Options) -> int:
    """Serve one client; returns the exit code."""
    # stdout belongs to the protocol. A client shows what stands on stderr, or keeps it.
    logging.basicConfig(
        stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s"
    )
    return asyncio.run(_serve(options))


async def _serve(options: Options) -> int:
    workspace = Workspace(options, _loaded)
    with contextlib.suppress(NotImplementedError):
        # The thread that reads stdin cannot be stopped: the process ends without it.
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, lambda: workspace.jobs.start("end", _end(workspace)))
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


def _loaded() -> None:
    # Before any command can run.
    make_private()
    forget_variables(SECRET_VARIABLES)


async def _close(workspace: Workspace) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(CLOSE_SECONDS):
            await workspace.close()


async def _end(workspace: Workspace) -> None:
    await _close(workspace)
    os._exit(128 + signal.SIGTERM)
