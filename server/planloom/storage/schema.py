"""The tables of the ledger, and the migrations from older versions."""

from __future__ import annotations

import sqlite3

VERSION = 4

_MIGRATIONS: tuple[str, ...] = (
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
    """
    UPDATE events SET body = json_remove(body, '$.staged') WHERE type = 'task_completed' AND json_valid(body);
    UPDATE events SET body = json_remove(body, '$.usage') WHERE type = 'task_failed' AND json_valid(body);
    UPDATE events SET body = json_set(body, '$.effect', 'read')
        WHERE type = 'tool_started'
        AND CASE WHEN json_valid(body) THEN json_extract(body, '$.effect') IS NULL ELSE 0 END
        AND plan_id IN (SELECT plan_id FROM plans WHERE status IN ('completed', 'failed', 'cancelled'));
    """,
)


class NewerSchema(Exception):
    """The ledger was written by a newer Planloom, and must not be changed."""


def migrate(connection: sqlite3.Connection) -> None:
    """Bring the ledger to `VERSION`, each step in its own transaction. Raises NewerSchema, sqlite3.Error."""
    found = _version(connection)
    if found > VERSION:
        raise NewerSchema(f"the ledger has schema {found}, this Planloom knows {VERSION}")
    while found < VERSION:
        connection.execute("BEGIN IMMEDIATE")
        try:
            # Another server may have made this step while this one waited for the lock.
            found = _version(connection)
            if found < VERSION:
                for statement in _MIGRATIONS[found].split(";"):
                    connection.execute(statement)
                found += 1
                connection.execute(f"PRAGMA user_version = {found}")
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise


def _version(connection: sqlite3.Connection) -> int:
    (found,) = connection.execute("PRAGMA user_version").fetchone()
    return int(found)
