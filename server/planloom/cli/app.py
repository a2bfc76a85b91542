"""Carries out one command line: checks its arguments, starts the server, and leaves the work to `commands`."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence

from planloom.cli.arguments import SESSION, check, parsed, server_options
from planloom.cli.client.server_process import SERVER_COMMAND, started
from planloom.cli.exit_codes import INTERRUPTED


def main(arguments: Sequence[str], *, server_command: Sequence[str] = SERVER_COMMAND) -> int:
    """Run one command line. Returns the exit code: 0 done, 1 failed, 2 wrong usage, 4 left for later, 130 interrupted,
    and 3 if a folder that is not trusted would have been changed. Raises SystemExit where the arguments end it at once.
    """
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot encode a character shows a question mark, instead of ending the run.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        return _carry_out(arguments, server_command)
    except KeyboardInterrupt:
        return INTERRUPTED


def _carry_out(arguments: Sequence[str], server_command: Sequence[str]) -> int:
    args = parsed(arguments)
    check(args)
    if not args.needs_server:
        from planloom.cli.setup.without_server import WITHOUT_SERVER

        return WITHOUT_SERVER[args.command](args)
    with started([*server_command, *server_options(args)]) as server:
        # Imported while the server starts, which takes longest.
        import asyncio

        if args.command == SESSION:
            from planloom.cli.interactive.conversation import converse

            return asyncio.run(converse(server, args))
        from planloom.cli.commands import COMMANDS

        return asyncio.run(COMMANDS[args.command](server, args))
