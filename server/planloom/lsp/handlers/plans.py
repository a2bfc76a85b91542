"""Requests on plans: convert, one call, convert."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planloom.domain.errors import PlanUnreadable
from planloom.domain.values import EditId, PlanId, SessionId, StepId
from planloom.lsp.wire import from_wire, to_wire, to_wire_events
from planloom.lsp.wire import params as wire_params
from planloom.lsp.wire import results as wire_results
from planloom.lsp.wire.base import Empty
from planloom.lsp.wire.plan import PlanSummary

if TYPE_CHECKING:
    from planloom.domain.plans.plan import Plan
    from planloom.lsp.connection import Connection


async def create(connection: Connection, params: wire_params.CreateParams) -> wire_results.CreateResult:
    """Take a request: the answer has its draft at once, or the direct run; steps follow as events."""
    created = await connection.app.plans.create(from_wire.create_request(params))
    return wire_results.CreateResult.of(created, plan=to_wire.plan(created.plan))


async def get(connection: Connection, params: wire_params.GetParams) -> wire_results.GetResult:
    """A plan as it is now, or as it was after the event `atSeq`; without ids the session's current one."""
    plan = connection.app.plans.get(_plan_id(params.plan_id), _session_id(params.session_id))
    if plan is not None and params.at_seq is not None and params.at_seq < plan.seq:
        past = connection.app.plans.events(plan.plan_id, max(params.at_seq - 1, 0), 1)
        plan = past[0][1] if past else plan
    return wire_results.GetResult(plan=plan and to_wire.plan(plan), progress=to_wire.progress(plan))


async def list_plans(connection: Connection, params: wire_params.ListParams) -> wire_results.ListResult:
    """The plans of these workspace folders, newest first."""
    plans = connection.app.plans.list(
        _session_id(params.session_id), params.status or (), params.limit, params.all_workspaces
    )
    return wire_results.ListResult(plans=tuple(PlanSummary.of(plan) for plan in plans))


async def tasks(connection: Connection, params: wire_params.TasksParams) -> wire_results.TasksResult:
    """The steps of a plan in their order, as far as they are wanted."""
    plan, steps = connection.app.plans.tasks(
        _plan_id(params.plan_id), _session_id(params.session_id), params.status or (), params.agent
    )
    return wire_results.TasksResult(tasks=to_wire.steps(plan, steps), progress=to_wire.progress(plan))


async def events(connection: Connection, params: wire_params.EventsParams) -> wire_results.EventsResult:
    """What has happened to a plan after the event `after`: for a client that was away."""
    found = connection.app.plans.events(PlanId(params.plan_id), params.after or 0, params.limit)
    return wire_results.EventsResult(
        events=tuple(to_wire_events.event(event, after) for event, after in found)
    )


async def edit(connection: Connection, params: wire_params.EditParams) -> wire_results.PlanResult:
    """Change the steps of a plan, all edits or none; the version rises, and an approval that was given is revoked."""
    edits = tuple(from_wire.step_edit(each) for each in params.edits)
    return _plan(await connection.app.plans.edit(PlanId(params.plan_id), params.version, edits))


async def regenerate(connection: Connection, params: wire_params.RegenerateParams) -> wire_results.PlanResult:
    """Let the author write the plan anew, with feedback; finished steps stay."""
    return _plan(
        await connection.app.plans.regenerate(PlanId(params.plan_id), params.version, params.feedback)
    )


async def approve(connection: Connection, params: wire_params.ApproveParams) -> wire_results.PlanResult:
    """Approve exactly this version; the steps start and are told by events."""
    return _plan(await connection.app.plans.approve(PlanId(params.plan_id), params.version, params.review))


async def reject(connection: Connection, params: wire_params.RejectParams) -> wire_results.PlanResult:
    """Turn a plan down."""
    return _plan(await connection.app.plans.reject(PlanId(params.plan_id), params.reason))


async def direct(connection: Connection, params: wire_params.PlanParams) -> wire_results.PlanResult:
    """Leave planning out: the request itself is the approval, and it runs as it is."""
    return _plan(await connection.app.plans.direct(PlanId(params.plan_id)))


async def pause(connection: Connection, params: wire_params.PlanParams) -> wire_results.PlanResult:
    """Let nothing new start; running steps stop, an edit in hand is finished first."""
    return _plan(await connection.app.plans.pause(PlanId(params.plan_id)))


async def resume(connection: Connection, params: wire_params.PlanParams) -> wire_results.PlanResult:
    """Let a paused plan go on. After a budget was used up it grants the same amounts again."""
    return _plan(await connection.app.plans.resume(PlanId(params.plan_id)))


async def cancel(connection: Connection, params: wire_params.PlanParams) -> wire_results.PlanResult:
    """End a plan. The answer comes at once, `plan_cancelled` follows."""
    return _plan(await connection.app.plans.cancel(PlanId(params.plan_id)))


async def wait(connection: Connection, params: wire_params.WaitParams) -> wire_results.WaitResult:
    """Block until the plan is drafted (`ready`), wants a person or has ended (`attention`), has ended (`ended`)."""
    plan, reached = await connection.app.plans.wait(
        PlanId(params.plan_id), params.until, params.timeout_seconds
    )
    return wire_results.WaitResult(plan=to_wire.plan(plan), reached=reached)


async def undo(connection: Connection, params: wire_params.UndoParams) -> wire_results.UndoResult:
    """Take back the edits of a step or a plan, and keep what was typed since; `redo` takes back the last undo."""
    step_id = None if params.step_id is None else StepId(params.step_id)
    undone = await connection.app.plans.undo(PlanId(params.plan_id), step_id, params.redo)
    return wire_results.UndoResult.of(undone, plan=to_wire.plan(undone.plan))


async def delete(connection: Connection, params: wire_params.PlanParams) -> Empty:
    """Remove an ended plan with its events and texts."""
    await connection.app.plans.delete(PlanId(params.plan_id))
    return Empty()


async def export(connection: Connection, params: wire_params.ExportParams) -> wire_results.ExportResult:
    """A plan as a text for people, or as JSON; what the ledger holds of one that cannot be read."""
    plan_id = PlanId(params.plan_id)
    try:
        if params.format == "markdown":
            return wire_results.ExportResult(text=connection.app.plans.markdown(plan_id))
        plan = connection.app.plans.get(plan_id, None)
        assert plan is not None, "an id names a plan or fails"
        return wire_results.ExportResult(
            text=to_wire.plan(plan).model_dump_json(by_alias=True, indent=2) + "\n"
        )
    except PlanUnreadable:
        return wire_results.ExportResult(text=connection.app.plans.raw(plan_id))


async def resolve_conflict(
    connection: Connection, params: wire_params.ResolveConflictParams
) -> wire_results.PlanResult:
    """Say which text each conflicted file gets; files that are not named keep the user's."""
    choices = tuple(from_wire.conflict_choice(file) for file in params.files)
    return _plan(
        await connection.app.plans.resolve_conflict(PlanId(params.plan_id), EditId(params.edit_id), choices)
    )


def _plan(plan: Plan) -> wire_results.PlanResult:
    return wire_results.PlanResult(plan=to_wire.plan(plan))


def _plan_id(given: str | None) -> PlanId | None:
    return None if given is None else PlanId(given)


def _session_id(given: str | None) -> SessionId | None:
    return None if given is None else SessionId(given)
