"""The tables of the ledger, and the migrations from older versions."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

VERSION = 7

_SLICE = 200
"""How many plans one transaction of a `_PerPlan` migration changes, so that other servers need not wait for long."""


class _PerPlan(str):
    """Statements that are run for a slice of plans at a time, those with a rowid from `:first` to `:last`.

    What was changed may be changed again, since a migration that was cut off begins anew.
    """


_MIGRATIONS: tuple[str | _PerPlan, ...] = (
    """
    CREATE TABLE plans (
        plan_id TEXT PRIMARY KEY,
        session_id TEXT NOT NULL,
        workspace TEXT NOT NULL,
        created_at TEXT NOT NULL,
        updated_at TEXT NOT NULL,
        status TEXT NOT NULL,
        version INTEGER NOT NULL,
        seq INTEGER NOT NULL,
        request TEXT NOT NULL
    ) STRICT;
    CREATE INDEX plans_by_time ON plans (workspace, created_at DESC);
    CREATE INDEX plans_by_session ON plans (session_id, created_at DESC);
    CREATE TABLE events (
        plan_id TEXT NOT NULL,
        seq INTEGER NOT NULL,
        at TEXT NOT NULL,
        type TEXT NOT NULL,
        body TEXT NOT NULL,
        PRIMARY KEY (plan_id, seq)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE blobs (
        sha256 TEXT NOT NULL,
        plan_id TEXT NOT NULL,
        body BLOB NOT NULL,
        PRIMARY KEY (sha256, plan_id)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE leases (
        plan_id TEXT PRIMARY KEY,
        owner TEXT NOT NULL,
        pid INTEGER NOT NULL,
        since TEXT NOT NULL,
        renewed REAL NOT NULL
    ) STRICT;
    """,
    """
    CREATE TABLE templates (template_id TEXT PRIMARY KEY, body TEXT NOT NULL) STRICT;
    """,
    # A progress is valid only for the plan at exactly this `seq`. It has its own table, so that a server of the
    # previous version, which may still be running, can write plans as before. Plans are listed by rowid, since
    # their times are wrong when the clock was set back.
    """
    CREATE TABLE progress (plan_id TEXT PRIMARY KEY, seq INTEGER NOT NULL, body TEXT NOT NULL) STRICT;
    DROP INDEX plans_by_time;
    DROP INDEX plans_by_session;
    CREATE INDEX plans_by_workspace ON plans (workspace);
    CREATE INDEX plans_by_session ON plans (session_id);
    """,
    # Events have lost fields that were no longer used. A call that names no effect is read in ended plans only: such
    # plans show what happened, while in others it could happen again.
    _PerPlan(
        """
        CREATE TEMP TABLE slice AS SELECT plan_id FROM plans WHERE rowid BETWEEN :first AND :last;
        UPDATE events SET body = json_remove(body, '$.staged')
            WHERE plan_id IN slice AND type = 'task_completed' AND json_valid(body);
        UPDATE events SET body = json_remove(body, '$.usage')
            WHERE plan_id IN slice AND type = 'task_failed' AND json_valid(body);
        UPDATE events SET body = json_set(body, '$.effect', 'read')
            WHERE plan_id IN slice AND type = 'tool_started'
            AND CASE WHEN json_valid(body) THEN json_extract(body, '$.effect') IS NULL ELSE 0 END
            AND plan_id IN (SELECT plan_id FROM plans WHERE status IN ('completed', 'failed', 'cancelled'));
        DROP TABLE slice;
        """
    ),
    # `open_work` says of a paused plan at exactly this `seq` whether a server left questions, steps or intents open in
    # it. It has its own table for the reason given for `progress`. A plan with a row in `compactions` has lost texts.
    """
    CREATE TABLE open_work (plan_id TEXT PRIMARY KEY, seq INTEGER NOT NULL, is_open INTEGER NOT NULL) STRICT;
    CREATE TABLE compactions (
        plan_id TEXT PRIMARY KEY, at TEXT NOT NULL, texts INTEGER NOT NULL, bytes INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX plans_by_status ON plans (workspace, status);
    CREATE INDEX blobs_by_plan ON blobs (plan_id);
    """,
    # The figures of ended plans, for the user's own statistics. They have their own table for the reason given for
    # `progress`; plans that ended before have none.
    """
    CREATE TABLE outcomes (plan_id TEXT PRIMARY KEY, body TEXT NOT NULL) STRICT;
    """,
    # What ended plans found and did, and the terms of each entry; `words` is how many terms it has. Plans that ended
    # before have none.
    """
    CREATE TABLE memory (plan_id TEXT PRIMARY KEY, words INTEGER NOT NULL, body TEXT NOT NULL) STRICT;
    CREATE TABLE memory_terms (
        term TEXT NOT NULL, plan_id TEXT NOT NULL, count INTEGER NOT NULL, PRIMARY KEY (term, plan_id)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX memory_terms_by_plan ON memory_terms (plan_id);
    """,
)


class NewerSchema(Exception):
    """The ledger was written by a newer Planloom, and must not be changed."""


def migrate(connection: sqlite3.Connection, to: int = VERSION) -> None:
    """Bring the ledger to a version, in short transactions. Raises NewerSchema, sqlite3.Error."""
    found = version_of(connection)
    if found > VERSION:
        raise NewerSchema(f"the ledger has schema {found}, this Planloom knows {VERSION}")
    while found < to:
        migration = _MIGRATIONS[found]
        if isinstance(migration, _PerPlan):
            for first, last in _slices(connection):
                _step(connection, found, migration, {"first": first, "last": last})
            migration = ""
        _step(connection, found, migration, {}, up=True)
        found = version_of(connection)


def _step(
    connection: sqlite3.Connection, version: int, script: str, values: dict[str, int], *, up: bool = False
) -> None:
    """Run a script in one transaction, unless another server has left this version meanwhile."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        if version_of(connection) == version:
            for statement in script.split(";"):
                connection.execute(statement, values)
            if up:
                connection.execute(f"PRAGMA user_version = {version + 1}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _slices(connection: sqlite3.Connection) -> Iterator[tuple[int, int]]:
    """The first and the last rowid of each slice of plans."""
    (last,) = connection.execute("SELECT coalesce(max(rowid), 0) FROM plans").fetchone()
    return ((start, start + _SLICE - 1) for start in range(1, last + 1, _SLICE))


def version_of(connection: sqlite3.Connection) -> int:
    """The version of a ledger's schema, 0 for a new file. Raises sqlite3.Error."""
    (found,) = connection.execute("PRAGMA user_version").fetchone()
    return int(found)
