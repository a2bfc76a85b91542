"""Requests on plans; each converts the params, calls the application once and converts the result."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planloom.domain.document.render import render
from planloom.domain.errors import PlanUnreadable
from planloom.domain.plans.editing import PlanWords
from planloom.domain.values import EditId, PlanId, SessionId, StepId, Uri
from planloom.lsp.wire import from_wire, to_wire, to_wire_events
from planloom.lsp.wire.base import Empty
from planloom.lsp.wire.methods import plans as wire
from planloom.lsp.wire.plan import PlanResult, Spent
from planloom.lsp.wire.review import DiffResult
from planloom.lsp.wire.view import ViewResult
from planloom.view.statistics import statistics

if TYPE_CHECKING:
    from planloom.domain.plans.plan import Plan
    from planloom.lsp.connection import Connection


async def create(connection: Connection, params: wire.CreateParams) -> wire.CreateResult:
    """Create a plan for a request, or run the request directly. The steps follow as events."""
    created = await connection.app.plans.create(from_wire.create_request(params))
    return wire.CreateResult.of(created, plan=to_wire.plan(created.plan))


async def get(connection: Connection, params: wire.GetParams) -> wire.GetResult:
    """A plan as it is now, or as it was after the event `atSeq`; without ids the current plan of the session."""
    reader = connection.app.plans.among(all_workspaces=params.all_workspaces)
    plan = reader.get(_plan_id(params.plan_id), _session_id(params.session_id))
    if plan is not None and params.at_seq is not None and params.at_seq < plan.seq:
        past = reader.events(plan.plan_id, max(params.at_seq - 1, 0), 1)
        plan = past[0][1] if past else plan
    spent = connection.app.plans.spent(plan) if plan is not None and plan.usage.requests else None
    return wire.GetResult(
        plan=plan and to_wire.plan(plan),
        progress=to_wire.progress(plan),
        spent=spent and Spent.of(spent),
    )


async def view(connection: Connection, params: wire.GetViewParams) -> ViewResult:
    """A plan as people see it, in the client's language. One that declares `views` gets patches from then on."""
    reader = connection.app.plans.among(all_workspaces=params.all_workspaces)
    plan = reader.get(PlanId(params.plan_id), None)
    assert plan is not None, "get() with an id returns a plan or raises"
    return connection.views.whole(plan)


async def list_plans(connection: Connection, params: wire.ListParams) -> wire.ListResult:
    """The plans of these workspace folders, newest first."""
    plans = connection.app.plans.list(
        _session_id(params.session_id), params.status or (), params.limit, params.all_workspaces
    )
    return wire.ListResult(plans=tuple(connection.views.summary(plan) for plan in plans))


async def stats(connection: Connection, params: wire.StatsParams) -> wire.StatsResult:
    """The figures of all plans of this user that have ended, of a time span if given; they never leave this machine."""
    found = connection.app.plans.stats(params.since, params.until)
    return wire.StatsResult.of(found, text=statistics(found, connection.words))


async def tasks(connection: Connection, params: wire.TasksParams) -> wire.TasksResult:
    """The steps of a plan in their order, filtered by status and agent."""
    plan, steps = connection.app.plans.tasks(
        _plan_id(params.plan_id), _session_id(params.session_id), params.status or (), params.agent
    )
    return wire.TasksResult(tasks=to_wire.steps(plan, steps), progress=to_wire.progress(plan))


async def events(connection: Connection, params: wire.EventsParams) -> wire.EventsResult:
    """The events of a plan after the event `after`, for a client that missed some."""
    reader = connection.app.plans.among(all_workspaces=params.all_workspaces)
    found = reader.events(PlanId(params.plan_id), params.after or 0, params.limit)
    return wire.EventsResult(
        events=tuple(to_wire_events.event(event, after).json_value() for event, after in found)
    )


async def output(connection: Connection, params: wire.StepParams) -> wire.OutputResult:
    """What the finished commands of a step have printed, as far as it is stored."""
    calls = connection.app.plans.commands_of(PlanId(params.plan_id), StepId(params.step_id))
    return wire.OutputResult(commands=tuple(to_wire.command_output(call, connection.words) for call in calls))


async def edit(connection: Connection, params: wire.EditParams) -> PlanResult:
    """Edit the steps of a plan, its request or its summary: all or nothing.

    The version rises, and an earlier approval is revoked.
    """
    edits = tuple(from_wire.step_edit(each) for each in params.edits)
    words = PlanWords(request=params.request, summary=params.summary)
    return _plan(await connection.app.plans.edit(PlanId(params.plan_id), params.version, edits, words))


async def rewrite(connection: Connection, params: wire.RewriteParams) -> PlanResult:
    """Make a plan what its document says, as `planloom/plan/export` writes it: all of its changes or none."""
    return _plan(await connection.app.plans.rewrite(PlanId(params.plan_id), params.version, params.text))


async def restore(connection: Connection, params: wire.RestoreParams) -> PlanResult:
    """Make a plan what an earlier version of it was, as a new version; finished steps stay."""
    return _plan(await connection.app.plans.restore(PlanId(params.plan_id), params.version, params.to))


async def regenerate(connection: Connection, params: wire.RegenerateParams) -> PlanResult:
    """Have the plan drafted again, with feedback; finished steps stay."""
    return _plan(
        await connection.app.plans.regenerate(PlanId(params.plan_id), params.version, params.feedback)
    )


async def message(connection: Connection, params: wire.MessageParams) -> wire.MessageResult:
    """Say something to a plan: it is revised, its steps read the message, or a new plan continues an ended one."""
    said = await connection.app.messages.send(PlanId(params.plan_id), params.text, from_wire.attached(params))
    return wire.MessageResult.of(said, plan_id=said.plan.plan_id, plan=to_wire.plan(said.plan))


async def approve(connection: Connection, params: wire.ApproveParams) -> PlanResult:
    """Approve exactly this version and start its steps; progress follows as events."""
    return _plan(await connection.app.plans.approve(PlanId(params.plan_id), params.version, params.review))


async def reject(connection: Connection, params: wire.RejectParams) -> PlanResult:
    """Reject a plan."""
    return _plan(await connection.app.plans.reject(PlanId(params.plan_id), params.reason))


async def direct(connection: Connection, params: wire.PlanParams) -> PlanResult:
    """Run the request without a plan; the request itself counts as the approval."""
    return _plan(await connection.app.plans.direct(PlanId(params.plan_id)))


async def pause(connection: Connection, params: wire.PlanParams) -> PlanResult:
    """Leave a plan for later: no step starts, and running steps stop after the edit that is being applied.

    A draft stops, and a plan under review is kept.
    """
    return _plan(await connection.app.plans.pause(PlanId(params.plan_id)))


async def resume(connection: Connection, params: wire.PlanParams) -> PlanResult:
    """Take up a paused plan: it is drafted anew, reviewed, or goes on. A budget that was used up is granted again."""
    return _plan(await connection.app.plans.resume(PlanId(params.plan_id)))


async def review(connection: Connection, params: wire.PlanParams) -> PlanResult:
    """Put a plan that runs or is paused back to review, as a new version. What is done stays done."""
    return _plan(await connection.app.plans.review(PlanId(params.plan_id)))


async def cancel(connection: Connection, params: wire.PlanParams) -> PlanResult:
    """Cancel a plan. The answer comes at once; `plan_cancelled` follows."""
    return _plan(await connection.app.plans.cancel(PlanId(params.plan_id)))


async def wait(connection: Connection, params: wire.WaitParams) -> wire.WaitResult:
    """Block until the plan is drafted (`ready`), needs the user or has ended (`attention`), or has ended (`ended`).

    A plan that was stopped because the ledger cannot take its events ends the wait with `storage_failed`.
    """
    plan, reached = await connection.app.plans.wait(
        PlanId(params.plan_id), params.until, params.timeout_seconds
    )
    return wire.WaitResult(plan=to_wire.plan(plan), reached=reached)


async def undo(connection: Connection, params: wire.UndoParams) -> wire.UndoResult:
    """Revert the edits of a step or a plan and keep what the user typed since; `redo` reverts its last undo."""
    step_id = None if params.step_id is None else StepId(params.step_id)
    undone = await connection.app.plans.undo(PlanId(params.plan_id), step_id, params.redo)
    return wire.UndoResult.of(undone, plan=to_wire.plan(undone.plan))


async def diff(connection: Connection, params: wire.PlanDiffParams) -> DiffResult:
    """One file before and after the plan, or one edit of it; a text is null if the file does not exist."""
    edit_id = None if params.edit_id is None else EditId(params.edit_id)
    reader = connection.app.plans.among(all_workspaces=params.all_workspaces)
    found = reader.diff(PlanId(params.plan_id), Uri(params.uri), edit_id)
    return DiffResult.of(found)


async def delete(connection: Connection, params: wire.PlanParams) -> Empty:
    """Delete an ended plan with its events and texts."""
    await connection.app.plans.delete(PlanId(params.plan_id))
    return Empty()


async def export(connection: Connection, params: wire.ExportParams) -> wire.ExportResult:
    """A plan as Markdown or JSON, as the `document` that `planloom/plan/adopt` takes, or `full` for
    `planloom/plan/import`, with its events and the texts of its files.

    For an unreadable plan, its rows in the ledger as they are.
    """
    plan_id = PlanId(params.plan_id)
    reader = connection.app.plans.among(all_workspaces=params.all_workspaces)
    try:
        if params.format == "full":
            return wire.ExportResult(text=reader.full(plan_id))
        if params.format == "markdown":
            return wire.ExportResult(text=reader.markdown(plan_id))
        plan = reader.get(plan_id, None)
        assert plan is not None, "get() with an id returns a plan or raises"
        if params.format == "document":
            return wire.ExportResult(text=render(plan))
        return wire.ExportResult(text=to_wire.plan(plan).model_dump_json(by_alias=True, indent=2) + "\n")
    except PlanUnreadable:
        return wire.ExportResult(text=reader.raw(plan_id))


async def import_plan(connection: Connection, params: wire.ImportParams) -> PlanResult:
    """Take over a plan of another machine from its full export. Nothing runs; an open plan waits for approval."""
    return _plan(await connection.app.plans.import_plan(params.text))


async def adopt(connection: Connection, params: wire.AdoptParams) -> PlanResult:
    """Make a new plan under review of a plan that is written as a document. Nothing of it runs."""
    return _plan(await connection.app.plans.adopt_document(params.text))


async def document(connection: Connection, params: wire.PlanParams) -> wire.DocumentResult:
    """The document of a plan, which is written unless it is there: `*.plan.md`, where the plan can be edited."""
    plan = connection.app.plans.get(PlanId(params.plan_id), None)
    assert plan is not None, "get() with an id returns a plan or raises"
    return wire.DocumentResult(uri=await connection.plan_documents.address(plan))


def _plan(plan: Plan) -> PlanResult:
    return PlanResult(plan=to_wire.plan(plan))


def _plan_id(text: str | None) -> PlanId | None:
    return None if text is None else PlanId(text)


def _session_id(text: str | None) -> SessionId | None:
    return None if text is None else SessionId(text)
