"""Runs `planloom acp`: options, logging, and the agent's life from start to end.

What the answer to `initialize` does not need is imported after it, or before it if the client is slow to ask.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Sequence
from typing import TYPE_CHECKING

from planloom.acp.wire import LineReader, Wire
from planloom.serving import process, stdio

if TYPE_CHECKING:
    from planloom.acp.agent import Agent
    from planloom.serving.opening import MakeApplication

QUIET_SECONDS = 0.05
"""Seconds for which an agent that has just started waits for `initialize` before it imports the rest."""
_WHAT_IT_IS = (
    "planloom acp: the agent; a client of the Agent Client Protocol starts it and speaks over its pipes."
)


def acp(argv: Sequence[str], make_application: MakeApplication | None = None) -> int:
    """Serve one client over stdin and stdout until it disconnects; returns the exit code."""
    # Garbage collection would delay the start: it is enabled when that is over.
    gc.disable()
    options = process.parsed(argv, "planloom acp", "The agent, for clients of the Agent Client Protocol.")
    process.log_to_stderr(options.log_level)
    process.refuse_terminal(_WHAT_IT_IS)
    agents: list[Agent] = []

    def load() -> None:
        from planloom.acp import agent  # noqa: F401

    def begin() -> None:
        from planloom.acp.agent import Agent

        agents.append(Agent(wire, options, make_application, process.loaded))
        agents[0].start()

    def end(code: int) -> None:
        wire.on_exit(code)

    async def run() -> int:
        process.on_ending_signals(end)
        asyncio.get_running_loop().call_later(QUIET_SECONDS, load)
        try:
            code = await stdio.converse(wire, LineReader)
        finally:
            for agent in agents:
                await agent.close()
        # The protocol has no farewell: a client closes the pipes.
        return 0 if code == 1 else code

    def on_initialized() -> None:
        asyncio.get_running_loop().call_soon(begin)

    wire = Wire(on_initialized)
    try:
        return asyncio.run(run())
    except KeyboardInterrupt:
        return 130
