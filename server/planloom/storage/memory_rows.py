"""The rows of what earlier plans found and did: an entry for each plan, and the terms by which it is found.

The index is a table like the others: SQLite's own full text search is missing from some builds, and knows neither parts
of identifiers nor paths.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from planloom.domain.memory.entries import MemoryEntry
from planloom.domain.memory.ranking import Hit
from planloom.domain.values import PlanId

TABLES = ("memory", "memory_terms")
_MOST_COUNTED = 1_000
"""More entries tell no better how rare a term is."""
log = logging.getLogger(__name__)
Statement = tuple[str, tuple[object, ...]]
"""A statement with its values."""


def put(connection: sqlite3.Connection, entry: MemoryEntry, terms: Mapping[str, int]) -> None:
    """Write an entry with its terms in place of the plan's earlier one."""
    drop(connection, (entry.plan_id,))
    connection.execute(
        "INSERT INTO memory VALUES (?, ?, ?)", (entry.plan_id, sum(terms.values()), entry.model_dump_json())
    )
    connection.executemany(
        "INSERT INTO memory_terms VALUES (?, ?, ?)",
        [(term, entry.plan_id, count) for term, count in terms.items()],
    )


def drop(connection: sqlite3.Connection, plan_ids: Iterable[PlanId]) -> None:
    """Delete the entries of plans."""
    ids = [(plan_id,) for plan_id in plan_ids]
    for table in TABLES:
        connection.executemany(f"DELETE FROM {table} WHERE plan_id = ?", ids)


def newest(workspace: str, limit: int) -> Statement:
    """The statement for the entries of a workspace, the newest first."""
    return (
        "SELECT m.body FROM memory m JOIN plans p USING (plan_id) WHERE p.workspace = ?"
        " ORDER BY p.rowid DESC LIMIT ?",
        (workspace, limit),
    )


def remembered(workspace: str) -> Statement:
    """The statement for the ids of the plans of a workspace that have an entry."""
    return "SELECT m.plan_id FROM memory m JOIN plans p USING (plan_id) WHERE p.workspace = ?", (workspace,)


def of_plans(plan_ids: Sequence[PlanId]) -> Statement:
    """The statement for the entries of these plans."""
    return f"SELECT body FROM memory WHERE plan_id IN ({_places(plan_ids)})", tuple(plan_ids)


def hits(workspace: str, terms: Iterable[str]) -> Statement:
    """The statement for which entries of a workspace have which of the terms."""
    wanted = sorted(terms)
    return (
        # SQLite takes the tables of a cross join in this order: from the few rows of the terms to their plans.
        "SELECT t.term, t.plan_id, t.count, m.words FROM memory_terms t"
        " CROSS JOIN plans p USING (plan_id) CROSS JOIN memory m USING (plan_id)"
        f" WHERE p.workspace = ? AND t.term IN ({_places(wanted)})",
        (workspace, *wanted),
    )


def count(workspace: str) -> Statement:
    """The statement for how many entries a workspace has, at most `_MOST_COUNTED`."""
    return (
        "SELECT count(*) FROM"
        " (SELECT 1 FROM plans p CROSS JOIN memory m USING (plan_id) WHERE p.workspace = ? LIMIT ?)",
        (workspace, _MOST_COUNTED),
    )


def entries(rows: Iterable[tuple[Any, ...]]) -> tuple[MemoryEntry, ...]:
    """The entries in rows, without those that are damaged or of a newer version."""
    found = []
    for (body,) in rows:
        try:
            found.append(MemoryEntry.model_validate_json(body))
        except ValueError as error:
            log.warning("what is remembered of a plan cannot be read: %s", error)
    return tuple(found)


def as_hits(rows: Iterable[tuple[Any, ...]]) -> tuple[Hit, ...]:
    """The hits in rows."""
    return tuple(Hit(*row) for row in rows)


def _places(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))
