"""The tables of the ledger, and the steps that bring an older one up to date."""

from __future__ import annotations

import sqlite3

VERSION = 2

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
)


class NewerSchema(Exception):
    """The ledger was written by a newer Planloom; it is left as it is."""


def migrate(connection: sqlite3.Connection) -> None:
    """Bring the ledger to `VERSION`, one step a transaction. Raises NewerSchema, sqlite3.Error."""
    (found,) = connection.execute("PRAGMA user_version").fetchone()
    if found > VERSION:
        raise NewerSchema(f"the ledger has schema {found}, this Planloom knows {VERSION}")
    for number, script in enumerate(_MIGRATIONS[found:], start=found + 1):
        connection.executescript(f"BEGIN IMMEDIATE;{script}PRAGMA user_version = {number};COMMIT;")
