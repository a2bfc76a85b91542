"""Tool calls as facts: each is recorded when it starts and when it ends, however it ends."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from planloom.domain import events as ev
from planloom.domain.values import Args, CallId, PlanId, StepId
from planloom.execution.book import Book

INTERRUPTED: Final = "Interrupted"
"""The summary of a call whose end nobody has seen."""


class Call:
    """What a running call comes to; until it is told, the call counts as cut off."""

    def __init__(self) -> None:
        self.ok = False
        self.summary = INTERRUPTED
        self.deduplicated = False

    def came_to(self, *, ok: bool, summary: str, deduplicated: bool = False) -> None:
        """Tell how the call ended; `deduplicated` that an earlier one has answered for it."""
        self.ok, self.summary, self.deduplicated = ok, summary, deduplicated


@contextmanager
def recorded_call(book: Book, plan_id: PlanId, step_id: StepId, tool: str, args: Args) -> Iterator[Call]:
    """Stands around a call and records both of its ends, unless the plan has settled it meanwhile."""
    call, call_id = Call(), CallId(uuid.uuid4().hex)
    book.record(plan_id, ev.ToolStarted(task_id=step_id, call_id=call_id, tool=tool, args=args))
    began = time.monotonic()
    try:
        yield call
    finally:
        plan = book.load(plan_id)
        if plan is not None and any(each.call_id == call_id for each in plan.open_calls):
            ended = ev.ToolCompleted(
                task_id=step_id,
                call_id=call_id,
                ok=call.ok,
                deduplicated=call.deduplicated,
                summary=call.summary,
                duration_ms=int((time.monotonic() - began) * 1000),
            )
            book.record(plan_id, ended)
