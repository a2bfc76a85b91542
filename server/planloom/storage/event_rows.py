"""Events as rows of the ledger. Each has a checksum, so that a flipped bit is found even where it leaves a valid event.

The checksum stands behind the type, in a column that no version reads back. So a server of an older version, which may
still be running, goes on reading and writing the same table, and rows that it has written are valid without one.
"""

from __future__ import annotations

import zlib
from datetime import datetime
from typing import NamedTuple

from planloom.domain.events import catalog as ev
from planloom.domain.values import Instant, PlanId, SessionId

Row = tuple[str, int, str, str, str]
"""`plan_id`, `seq`, `at`, `type`, `body`."""


class RawEvent(NamedTuple):
    """The row of an event, whether it can be decoded or not."""

    seq: int
    at: str
    type: str
    body: str


def as_row(recorded: ev.Recorded) -> Row:
    """The row of an event."""
    plan_id, seq, at = recorded.plan_id, recorded.seq, recorded.at.isoformat()
    # By the event's own serializer: that of all events takes as long to build as a small plan to draft.
    body = recorded.event.model_dump_json().encode()
    kind = f"{recorded.event.type} {_checksum(plan_id, seq, at, body)}"
    return plan_id, seq, at, kind, body.decode()


def as_event(row: tuple[str, int, str, str, bytes], session_id: str) -> ev.Recorded:
    """The event of a row with its body as bytes. Raises ValueError, TypeError or ValidationError for a damaged row."""
    plan_id, seq, at, kind, body = row
    session_id.encode()
    event = ev.events.validate_json(body)
    word, _, checksum = kind.partition(" ")
    if word != event.type or (checksum and checksum != _checksum(plan_id, seq, at, body)):
        raise ValueError("its checksum is wrong")
    return ev.Recorded(
        seq=seq, plan_id=PlanId(plan_id), session_id=SessionId(session_id), at=instant(at), event=event
    )


def raw_event(seq: int, at: object, kind: object, body: object) -> RawEvent:
    """A row as text, without its checksum."""
    return RawEvent(seq, printable(at), printable(kind).partition(" ")[0], printable(body))


def _checksum(plan_id: str, seq: int, at: str, body: bytes) -> str:
    return f"{zlib.crc32(body, zlib.crc32(f'{plan_id} {seq} {at} '.encode())):08x}"


def printable(value: object) -> str:
    """A value of a damaged row as text that can be encoded."""
    if isinstance(value, str):
        value = value.encode("utf-8", "surrogateescape")
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def instant(text: str) -> Instant:
    """A time of a row. Raises ValueError for one without a time zone."""
    found = datetime.fromisoformat(text)
    if found.tzinfo is None:
        raise ValueError("a time without a time zone")
    return found
