"""Tool calls as facts: each is recorded when it starts and when it ends, however it ends."""

from __future__ import annotations

import time
import uuid
from collections.abc import Awaitable, Callable

from planloom.domain import events as ev
from planloom.domain.values import Args, CallId, PlanId, StepId
from planloom.execution.book import Book
from planloom.execution.commands import INTERRUPTED
from planloom.tools.tool import ToolResult, failed


async def recorded_call(
    book: Book,
    plan_id: PlanId,
    step_id: StepId,
    name: str,
    args: Args,
    run: Callable[[], Awaitable[ToolResult]],
) -> ToolResult:
    """Run a call between its two events; one that is cut off is recorded as failed."""
    call_id = CallId(uuid.uuid4().hex)
    book.record(plan_id, ev.ToolStarted(task_id=step_id, call_id=call_id, tool=name, args=args))
    began = time.monotonic()
    result = failed(INTERRUPTED)
    try:
        result = await run()
        return result
    finally:
        plan = book.load(plan_id)
        if plan is not None and any(call.call_id == call_id for call in plan.open_calls):
            ended = ev.ToolCompleted(
                task_id=step_id,
                call_id=call_id,
                ok=result.ok,
                summary=result.summary,
                duration_ms=int((time.monotonic() - began) * 1000),
            )
            book.record(plan_id, ended)
