"""Opens the ledger's file, which other servers may be opening, reading or bringing up to date at the same time."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

from tenacity import Retrying, retry_if_exception, stop_after_delay, wait_fixed

from planloom.storage.faults import fault_of
from planloom.storage.schema import migrate, version_of

BUSY_MS = 250
"""How long one statement waits for another server's transaction. Short, since it blocks the event loop."""
BUSY_STEP = 0.05
"""Seconds between two looks at a lock."""
MOST_SECONDS = 2.0
"""The longest wait of an opening. Short, since it blocks the event loop."""
Connect = Callable[..., sqlite3.Connection]
SQLITE: Connect = sqlite3.connect
"""How a connection is opened, unless a test stands in between."""


def connected(
    where: Path | str, connect: Connect = SQLITE, journal: str | None = None, patience: float = MOST_SECONDS
) -> sqlite3.Connection:
    """Open a file and bring its tables up to date. Raises sqlite3.Error, NewerSchema.

    `patience` is how many seconds it waits for another program's locks in all, at most `MOST_SECONDS`. The opening is
    retried, since SQLite refuses some locks at once: a change of the journal while another program reads.
    """
    retrying = Retrying(
        retry=retry_if_exception(is_busy),
        stop=stop_after_delay(min(patience, MOST_SECONDS)),
        wait=wait_fixed(BUSY_STEP),
        reraise=True,
    )
    return retrying(_opened, where, connect, journal)


def is_busy(error: BaseException) -> bool:
    """Whether another program has a lock of the file."""
    return isinstance(error, sqlite3.Error) and fault_of(error, None).kind == "busy"


def _opened(where: Path | str, connect: Connect, journal: str | None) -> sqlite3.Connection:
    connection = connect(where, isolation_level=None, check_same_thread=False)
    try:
        _prepare(connection, journal)
    except BaseException:
        connection.close()
        raise
    return connection


def _prepare(connection: sqlite3.Connection, journal: str | None) -> None:
    # Invalid text fails where it is used, instead of making every row of its query unreadable.
    connection.text_factory = lambda text: text.decode("utf-8", "surrogateescape")
    connection.execute(f"PRAGMA busy_timeout = {BUSY_MS}")
    if version_of(connection) == 0:
        # Of use for a new file only, and it would change one of a newer version.
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    if journal is not None:
        connection.execute(f"PRAGMA journal_mode = {journal}")
    migrate(connection)
