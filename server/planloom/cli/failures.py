"""The one place that prints what the server refused or that it has ended."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from planloom.cli.client.connection import ServerError, ServerLost
from planloom.cli.exit_codes import DONE, FAILED

Show = Callable[[str, str | None, Any], None]
"""Prints a message, its hint, and the problems in its details, as `show.failure` does."""


class Failure:
    """How a `reported` block has ended: the exit code, and the error for programs if there was one."""

    def __init__(self) -> None:
        self.code: int = FAILED
        self.error: dict[str, str] | None = None


@contextlib.contextmanager
def reported(failure: Failure, show: Show) -> Iterator[None]:
    """Print the ServerError or ServerLost that ends the block, and note it in `failure`, instead of raising it."""
    try:
        yield
        failure.code = DONE
    except ServerError as error:
        failure.error = {"code": error.code, "message": error.message}
        show(error.message, error.hint, error.details)
    except ServerLost as error:
        failure.error = {"code": "server_lost", "message": str(error)}
        show(str(error), error.tail or None, None)
