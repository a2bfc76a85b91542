"""The work of a command that asks the server a few things: a session for it, its failure in words, and JSON."""

from __future__ import annotations

import contextlib
import functools
import sys
from argparse import Namespace
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from functools import partial
from typing import Any, TypeAlias

from planloom.cli.client.connection import ServerError, ServerLost
from planloom.cli.client.server_process import Server
from planloom.cli.client.session import Session, session
from planloom.cli.exit_codes import DONE, FAILED
from planloom.cli.plain import as_json
from planloom.cli.terminal import show

Work: TypeAlias = Callable[[Server, Namespace], Coroutine[Any, Any, int]]
"""The work of a command with the started server and the values of its options; its result is the exit code."""
Show: TypeAlias = Callable[[str, str | None, Any], None]
"""Prints a message, its hint, and the problems in its details, as `show.failure` does."""


Ask: TypeAlias = Callable[[Session, Namespace], Awaitable[int]]
"""As `Work`, in a session that is there."""


def answered(ask: Ask, *, trusted: bool = False) -> Work:
    """The work of a command that asks in a session of its own; a failure of it is printed."""

    @functools.wraps(ask)
    async def work(server: Server, args: Namespace) -> int:
        code = FAILED
        with reported(partial(show.failure, show.console(stderr=True))):
            async with session(server, args.workspace, trusted=trusted) as running:
                code = await ask(running, args)
        return code

    return work


@contextlib.contextmanager
def reported(show_failure: Show) -> Iterator[dict[str, str]]:
    """Print the ServerError or ServerLost that ends the block, instead of raising it; the dict names it then."""
    failure: dict[str, str] = {}
    try:
        yield failure
    except ServerError as error:
        failure |= {"code": error.code, "message": error.message}
        show_failure(error.words, error.hint, error.details)
    except ServerLost as error:
        failure |= {"code": "server_lost", "message": str(error)}
        show_failure(str(error), error.tail or None, None)


def print_json(answer: Any) -> int:
    """Print an answer of the server for programs, in ASCII at a terminal. Returns the exit code."""
    sys.stdout.write(as_json(answer, indent=2) + "\n")
    return DONE
