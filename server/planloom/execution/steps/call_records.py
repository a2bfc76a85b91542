"""Records every tool call when it starts and when it ends, however it ends, and how far its step has come."""

from __future__ import annotations

import time
import uuid
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

from planloom.agent.result_budget import head_and_tail
from planloom.domain.changes import Changeset, FileChange
from planloom.domain.events import catalog as ev
from planloom.domain.plans.plan import CommandEnd, Step
from planloom.domain.safety.lexical_paths import normal_path
from planloom.domain.values import Args, CallId, Uri
from planloom.execution.commands.running import CallDenied
from planloom.execution.step_run import StepRun
from planloom.tools.tool import Tool, ToolResult, shortened

_INTERRUPTED: Final = "Interrupted"
"""The summary of a call that was cut off."""
_MOST_OUTPUT: Final = 8_000
"""Characters of a command's output that the ledger keeps, for a model that goes on after a restart."""
_NOTHING: Final = Changeset.model_construct()


@dataclass
class CallRecord:
    """The outcome of a running call. A call without a result counts as cut off, unless it was `denied`, with a reason.

    The ledger knows the call by `call_id`. `before` and `after` are the staged changes of its step before and after
    it. `same` are files that already had the content that the call writes. `deduplicated`: the result is that of an
    earlier call.
    """

    call_id: CallId
    result: ToolResult | None = None
    denied: str | None = None
    before: Changeset = _NOTHING
    after: Changeset = _NOTHING
    same: tuple[Uri, ...] = ()
    deduplicated: bool = False

    @property
    def summary(self) -> str:
        """The outcome in one sentence."""
        if self.denied is not None:
            return shortened(self.denied)
        return _INTERRUPTED if self.result is None else self.result.summary


@asynccontextmanager
async def recorded_call(run: StepRun, tool: Tool, args: Args) -> AsyncIterator[CallRecord]:
    """Record the start and the end of the call in its block. The end is left out if the plan has closed the call."""
    call = CallRecord(CallId(uuid.uuid4().hex))
    started = ev.ToolStarted(
        step_id=run.step_id, call_id=call.call_id, tool=tool.name, args=args, effect=tool.effect
    )
    await run.plan_store.wait_unlocked()
    run.record(started)
    began = time.monotonic()
    try:
        yield call
    except CallDenied as denied:
        call.denied = denied.reason
        raise
    finally:
        await run.plan_store.wait_unlocked()
        plan = run.plan_store.load(run.plan_id)
        opened = (
            next((each for each in plan.open_calls if each.call_id == call.call_id), None) if plan else None
        )
        if opened is not None:
            changes, replaces = _differences(call.before, call.after)
            ended = ev.ToolCompleted(
                step_id=run.step_id,
                call_id=call.call_id,
                ok=call.result is not None and call.result.ok,
                deduplicated=call.deduplicated,
                summary=call.summary,
                duration_ms=int((time.monotonic() - began) * 1000),
                changes=changes,
                replaces=replaces,
                same=call.same,
                command=_end(call, running=opened.running) if tool.effect == "execute" else None,
                outcome=call.result.outcome if call.result is not None else None,
                output=_output(call.result),
            )
            run.record(ended)
            percent = percent_done(run.now)
            if percent is not None and percent != run.now.progress:
                run.update(progress=percent)


def _output(result: ToolResult | None) -> str | None:
    """The stored part of the output of a command that has ended."""
    return head_and_tail(result.text, _MOST_OUTPUT, len) if result is not None and result.ended else None


def _end(call: CallRecord, *, running: bool) -> CommandEnd:
    if call.denied is not None or (call.result is not None and call.result.refused):
        return "denied"
    if call.result is None:
        return "cut_off" if running else "not_run"
    if call.result.in_background:
        return "background"
    return "ended" if call.result.ended else "not_run"


def _differences(before: Changeset, after: Changeset) -> tuple[tuple[Uri, ...], tuple[Uri, ...]]:
    """The files whose staged change is new or different, and those that no longer have one."""
    old, new = _by_file(before), _by_file(after)
    return (
        tuple(uri for uri, change in new.items() if old.get(uri) != change),
        tuple(uri for uri in old if uri not in new),
    )


def _by_file(changes: Changeset) -> dict[Uri, FileChange]:
    found: dict[Uri, FileChange] = {}
    for change in changes.changes:
        found[change.uri] = change
        if change.kind == "rename":
            found[change.new_uri] = change
    return found


def has_touched(step: Step, path: str) -> bool:
    """Whether a call of the step that stands has changed the file at this path, or at one that ends with it."""
    written = [uri for call in step.tools_executed if call.stands for uri in call.files]
    ending = f"/{normal_path(path)}"
    return any(f"/{unquote(uri)}".endswith(ending) for uri in written)


def percent_done(step: Step) -> int | None:
    """How many of the files that a step expects it has written, or how many of the calls it has made, in percent.

    None if it expects fewer than two of either.
    """
    files = len(step.expected_files)
    if files > 1:
        return 100 * sum(has_touched(step, path) for path in step.expected_files) // files
    expected = Counter(each.tool for each in step.tools_to_execute)
    made = Counter(call.tool for call in step.tools_executed[step.calls_closed :] if call.ok)
    if expected.total() < 2:
        return None
    return 100 * (expected & made).total() // expected.total()
