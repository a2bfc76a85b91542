"""The rows of events: what is written is read back, and no flipped bit gives another event."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from planloom.domain.events import catalog as ev
from planloom.domain.values import PlanId, SessionId
from planloom.storage.event_rows import as_event, as_row, instant
from tests.storage.test_ledger import START

EVENTS: tuple[ev.Event, ...] = (
    START.model_copy(update={"request": "Rename the ä to 😀"}),
    ev.Log(level="info", message="a\nb"),
    ev.PlanApproved(version=1, review="each"),
)


def recorded(event: ev.Event, seq: int) -> ev.Recorded:
    at = instant("2026-01-02T03:04:05.678901+00:00")
    return ev.Recorded(seq=seq, plan_id=PlanId("p"), session_id=SessionId("s"), at=at, event=event)


@pytest.mark.parametrize("number", range(len(EVENTS)))
def test_a_row_is_read_back_and_no_flipped_bit_of_it_is_missed(number: int) -> None:
    event = recorded(EVENTS[number], number + 1)
    plan_id, seq, at, kind, body = as_row(event)
    assert as_event((plan_id, seq, at, kind, body.encode()), "s") == event
    fields = [plan_id.encode(), at.encode(), kind.encode(), body.encode()]
    for place, whole in enumerate(fields):
        for bit in range(8 * len(whole)):
            flipped = bytearray(whole)
            flipped[bit // 8] ^= 1 << bit % 8
            row = [*fields[:place], bytes(flipped), *fields[place + 1 :]]
            texts = [each.decode("utf-8", "surrogateescape") for each in row[:3]]
            with pytest.raises((ValueError, TypeError, ValidationError)):
                as_event((texts[0], seq, texts[1], texts[2], row[3]), "s")
    with pytest.raises(ValueError, match="checksum"):
        as_event((plan_id, seq + 1, at, kind, body.encode()), "s")


def test_a_row_of_an_older_version_has_no_checksum_and_is_read() -> None:
    event = recorded(EVENTS[1], 7)
    plan_id, seq, at, _, body = as_row(event)
    assert as_event((plan_id, seq, at, "log", body.encode()), "s") == event
    with pytest.raises(ValueError, match="checksum"):
        as_event((plan_id, seq, at, "plan_start", body.encode()), "s")
