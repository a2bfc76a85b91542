"""Runs `planloom serve --stdio`: options, logging, and the server's life from start to exit.

What the answer to `initialize` does not need is imported after it, or before it if the client is slow to ask.
"""

from __future__ import annotations

import asyncio
import gc
import os
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from planloom.lsp.transport import deferred_types
from planloom.serving import process
from planloom.user_folders import state_folder

if TYPE_CHECKING:
    from planloom.serving.opening import MakeApplication

OPTIONS = "PLANLOOM_OPTIONS"
"""With the value `user`, whoever starts the server vouches for `initializationOptions`: no folder fills them."""
QUIET_SECONDS = 0.05
"""Seconds for which a server that has just started waits for `initialize` before it imports the rest."""
_WHAT_IT_IS = (
    "planloom serve: the language server; an editor starts it and speaks LSP over its stdin and stdout."
)


def serve(argv: Sequence[str], make_application: MakeApplication | None = None) -> int:
    """Serve one editor over stdin and stdout until it disconnects; returns the exit code that LSP defines."""
    # Garbage collection would delay the start: it is enabled when that is over.
    gc.disable()
    # Before anything imports lsprotocol.
    deferred_types.load()
    from planloom.lsp import language_server
    from planloom.lsp.transport.frames import FrameReader
    from planloom.serving import stdio

    command_line = process.parsed(argv, "planloom serve", "The language server, for editors.")
    options = language_server.ServerOptions(
        settings=tuple(command_line.settings),
        on_loaded=process.loaded,
        open_log=partial(process.log_to_file, command_line.log_file, command_line.log_level),
        storage=command_line.storage,
        record=command_line.record,
        state=state_folder,
        options_are_users=os.environ.get(OPTIONS) == "user",
    )
    process.log_to_stderr(command_line.log_level)
    process.refuse_terminal(_WHAT_IT_IS)
    server = language_server.make_server(make_application, options)

    def end(code: int) -> None:
        server.messages.on_exit(code)

    async def run() -> int:
        process.on_ending_signals(end)
        # The command line sends `initialize` only when its own imports are done; the server imports meanwhile.
        asyncio.get_running_loop().call_later(QUIET_SECONDS, language_server.load)
        try:
            return await stdio.converse(server.messages, FrameReader)
        finally:
            await server.close()

    try:
        return asyncio.run(run())
    except KeyboardInterrupt:
        return 130
