"""Requests on plans: convert, one call, convert."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planloom.domain.errors import PlanUnreadable
from planloom.domain.values import EditId, PlanId, SessionId, StepId
from planloom.lsp import from_wire, to_wire, to_wire_events
from planloom.lsp import wire_params as take
from planloom.lsp import wire_results as give
from planloom.lsp.wire_base import Empty
from planloom.lsp.wire_plan import PlanSummary

if TYPE_CHECKING:
    from planloom.domain.plan import Plan
    from planloom.lsp.connection import Connection


async def create(at: Connection, params: take.CreateParams) -> give.CreateResult:
    """Take a request: the answer has its draft at once, or the direct run; steps follow as events."""
    created = await at.app.plans.create(from_wire.create_request(params))
    return give.CreateResult.of(created, plan=to_wire.plan(created.plan))


async def get(at: Connection, params: take.GetParams) -> give.GetResult:
    """A plan as it is now, or as it was after the event `atSeq`; without ids the session's current one."""
    plan = at.app.plans.get(_plan_id(params.plan_id), _session_id(params.session_id))
    if plan is not None and params.at_seq is not None and params.at_seq < plan.seq:
        past = at.app.plans.events(plan.plan_id, max(params.at_seq - 1, 0), 1)
        plan = past[0][1] if past else plan
    return give.GetResult(plan=plan and to_wire.plan(plan), progress=to_wire.progress(plan))


async def list_plans(at: Connection, params: take.ListParams) -> give.ListResult:
    """The plans of these workspace folders, newest first."""
    plans = at.app.plans.list(
        _session_id(params.session_id), params.status or (), params.limit, params.all_workspaces
    )
    return give.ListResult(plans=tuple(PlanSummary.of(plan) for plan in plans))


async def tasks(at: Connection, params: take.TasksParams) -> give.TasksResult:
    """The steps of a plan in their order, as far as they are wanted."""
    plan, steps = at.app.plans.tasks(
        _plan_id(params.plan_id), _session_id(params.session_id), params.status or (), params.agent
    )
    return give.TasksResult(tasks=to_wire.steps(plan, steps), progress=to_wire.progress(plan))


async def events(at: Connection, params: take.EventsParams) -> give.EventsResult:
    """What has happened to a plan after the event `after`: for a client that was away."""
    found = at.app.plans.events(PlanId(params.plan_id), params.after or 0, params.limit)
    return give.EventsResult(events=tuple(to_wire_events.event(event, after) for event, after in found))


async def edit(at: Connection, params: take.EditParams) -> give.PlanResult:
    """Change the steps of a plan, all edits or none; the version rises, and an approval that was given is revoked."""
    edits = tuple(from_wire.step_edit(each) for each in params.edits)
    return _plan(await at.app.plans.edit(PlanId(params.plan_id), params.version, edits))


async def regenerate(at: Connection, params: take.RegenerateParams) -> give.PlanResult:
    """Let the author write the plan anew, with feedback; finished steps stay."""
    return _plan(await at.app.plans.regenerate(PlanId(params.plan_id), params.version, params.feedback))


async def approve(at: Connection, params: take.ApproveParams) -> give.PlanResult:
    """Approve exactly this version; the steps start and are told by events."""
    return _plan(await at.app.plans.approve(PlanId(params.plan_id), params.version, params.review))


async def reject(at: Connection, params: take.RejectParams) -> give.PlanResult:
    """Turn a plan down."""
    return _plan(await at.app.plans.reject(PlanId(params.plan_id), params.reason))


async def direct(at: Connection, params: take.PlanParams) -> give.PlanResult:
    """Leave planning out: the request itself is the approval, and it runs as it is."""
    return _plan(await at.app.plans.direct(PlanId(params.plan_id)))


async def pause(at: Connection, params: take.PlanParams) -> give.PlanResult:
    """Let nothing new start; running steps stop, an edit in hand is finished first."""
    return _plan(await at.app.plans.pause(PlanId(params.plan_id)))


async def resume(at: Connection, params: take.PlanParams) -> give.PlanResult:
    """Let a paused plan go on. After a budget was used up it grants the same amounts again."""
    return _plan(await at.app.plans.resume(PlanId(params.plan_id)))


async def cancel(at: Connection, params: take.PlanParams) -> give.PlanResult:
    """End a plan. The answer comes at once, `plan_cancelled` follows."""
    return _plan(await at.app.plans.cancel(PlanId(params.plan_id)))


async def wait(at: Connection, params: take.WaitParams) -> give.WaitResult:
    """Block until the plan is drafted (`ready`), wants a person or has ended (`attention`), has ended (`ended`)."""
    plan, reached = await at.app.plans.wait(PlanId(params.plan_id), params.until, params.timeout_seconds)
    return give.WaitResult(plan=to_wire.plan(plan), reached=reached)


async def undo(at: Connection, params: take.UndoParams) -> give.UndoResult:
    """Take back the edits of a step or a plan, and keep what was typed since; `redo` takes back the last undo."""
    step_id = None if params.step_id is None else StepId(params.step_id)
    undone = await at.app.plans.undo(PlanId(params.plan_id), step_id, params.redo)
    return give.UndoResult.of(undone, plan=to_wire.plan(undone.plan))


async def delete(at: Connection, params: take.PlanParams) -> Empty:
    """Remove an ended plan with its events and texts."""
    await at.app.plans.delete(PlanId(params.plan_id))
    return Empty()


async def export(at: Connection, params: take.ExportParams) -> give.ExportResult:
    """A plan as a text for people, or as JSON; what the ledger holds of one that cannot be read."""
    plan_id = PlanId(params.plan_id)
    try:
        if params.format == "markdown":
            return give.ExportResult(text=at.app.plans.markdown(plan_id))
        plan = at.app.plans.get(plan_id, None)
        assert plan is not None, "an id names a plan or fails"
        return give.ExportResult(text=to_wire.plan(plan).model_dump_json(by_alias=True, indent=2) + "\n")
    except PlanUnreadable:
        return give.ExportResult(text=at.app.plans.raw(plan_id))


async def resolve_conflict(at: Connection, params: take.ResolveConflictParams) -> give.PlanResult:
    """Say which text each conflicted file gets; files that are not named keep the user's."""
    choices = tuple(from_wire.conflict_choice(file) for file in params.files)
    return _plan(await at.app.plans.resolve_conflict(PlanId(params.plan_id), EditId(params.edit_id), choices))


def _plan(plan: Plan) -> give.PlanResult:
    return give.PlanResult(plan=to_wire.plan(plan))


def _plan_id(given: str | None) -> PlanId | None:
    return None if given is None else PlanId(given)


def _session_id(given: str | None) -> SessionId | None:
    return None if given is None else SessionId(given)
