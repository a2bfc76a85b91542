"""Commits what a step has staged, or holds it until the end of the plan: later steps see it, one edit makes it all."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Literal

from planloom.domain.changes import Changeset
from planloom.domain.errors import PlanloomError
from planloom.domain.events import catalog as ev
from planloom.domain.plans.plan import ENDED, Plan
from planloom.domain.safety.approvals import Grant
from planloom.domain.text.counted import counted
from planloom.domain.values import PlanId, StepId, Uri
from planloom.execution.effects.applied_edits import AppliedEdits
from planloom.execution.effects.gate import Gate, grant_of
from planloom.execution.effects.proposals import (
    ChangeProposal,
    CommitResult,
    Committed,
    Denied,
    NotMade,
)
from planloom.execution.plan_store import PlanStore
from planloom.execution.step_run import StepRun
from planloom.shielded import uninterrupted
from planloom.tools.context import ToolContext
from planloom.workspace.moves import with_later_names
from planloom.workspace.paths.names import listed
from planloom.workspace.paths.uris import display_name
from planloom.workspace.staged.overlay import Overlay, Unmerged
from planloom.workspace.view import WorkspaceView

_NAMED = 5


class _Area:
    """The staged changes of one plan; `steps` are those that have staged any."""

    def __init__(self, view: WorkspaceView) -> None:
        self.overlay = Overlay(view)
        self.replaced_unread: set[Uri] = set()
        self.incomplete: set[Uri] = set()
        self.steps: dict[StepId, None] = {}
        self.lock = asyncio.Lock()

    def clear(self) -> None:
        self.overlay.clear()
        self.replaced_unread.clear()
        self.incomplete.clear()
        self.steps.clear()


class StagingArea:
    """The staged changes of plans with the review mode `end`; with other modes nothing stays here.

    They are in memory only: a server that ends loses them, and their steps run again (`reconcile.drop_staged`).
    """

    def __init__(self, plan_store: PlanStore, view: WorkspaceView, gate: Gate, applied: AppliedEdits) -> None:
        self._plan_store = plan_store
        self._view = view
        self._gate = gate
        self._applied = applied
        self._areas: dict[PlanId, _Area] = {}

    def base(self, plan: Plan) -> WorkspaceView | Overlay:
        """The base of a step's own overlay: what its plan has staged, or the workspace itself."""
        if plan.review != "end" and plan.plan_id not in self._areas:
            return self._view
        return self._area(plan.plan_id).overlay

    async def commit(self, proposal: ChangeProposal, grant: Grant, files: Overlay) -> CommitResult:
        """Make a step's changes, staged in `files`; with the review mode `end`, stage them for its plan instead.

        Raises UntrustedWorkspace.
        """
        if not isinstance(files.under, Overlay):
            verdict = await self._gate.commit(proposal, grant)
            if isinstance(verdict, Committed):
                await self._applied.followed_up(proposal.plan_id)
            return verdict
        denial = await self._gate.denied_by_policy(proposal)
        if denial is not None:
            return denial
        area = self._area(proposal.plan_id)
        async with area.lock:
            # A step that is stopped here must not leave changes that are staged but not recorded.
            refused = await uninterrupted(self._stage(area, proposal, files))
        if refused is not None:
            return NotMade(reason=refused)
        plan = self._plan_store.load(proposal.plan_id)
        if plan is not None and plan.review != "end":
            return await self.commit_staged(proposal.plan_id) or Committed()
        return Committed()

    async def _stage(self, area: _Area, proposal: ChangeProposal, files: Overlay) -> str | None:
        """Stage a step's changes for its plan, and record that. Returns why some clashed with other steps' changes."""
        unsettled = await files.merge_down()
        clashed = frozenset(each.uri for each in unsettled)
        refused = _refusal(unsettled) if unsettled else None
        area.replaced_unread |= proposal.replaced_unread - clashed
        area.incomplete |= proposal.incomplete - clashed
        if proposal.step_id is None:
            return refused
        area.steps[proposal.step_id] = None
        happened = [ev.StepUpdate(step_id=proposal.step_id, status="running", held="staged")]
        if refused is not None:
            left = ev.StepUpdate(
                step_id=proposal.step_id,
                status="running",
                held="refused",
                files=tuple(clashed),
                reason=refused,
            )
            happened.insert(0, left)
        self._plan_store.record(proposal.plan_id, *happened)
        return refused

    async def commit_staged(self, plan_id: PlanId) -> CommitResult | None:
        """Ask for everything that the plan has staged, and make it as one edit; None if nothing is staged.

        Called at the end of a plan, and before a command, which needs the changes on disk. Steps whose changes
        are all denied become skipped. Changes that cannot be made stay staged. Raises UntrustedWorkspace.
        """
        area = self._areas.get(plan_id)
        if area is None:
            return None
        async with area.lock:
            changes = area.overlay.changeset()
            plan = self._plan_store.load(plan_id)
            if plan is None or not area.steps:
                return None
            if not changes.changes:
                # One step undid the changes of another.
                self._record_outcome(plan_id, area, Committed())
                return None
            verdict = await self._gate.commit(_proposal(plan, area, changes), grant_of(plan))
            if isinstance(verdict, Committed) or (isinstance(verdict, Denied) and not verdict.cancelled):
                self._record_outcome(plan_id, area, verdict)
            if isinstance(verdict, Committed):
                await self._applied.followed_up(plan_id)
            return verdict

    async def commit_at_end(self, plan_id: PlanId) -> bool:
        """Commit what a plan has staged before it ends. False if it must not end yet.

        If the changes cannot be made, the plan pauses, so that nothing is lost while the user removes the cause.
        """
        try:
            verdict = await self.commit_staged(plan_id)
        except PlanloomError as error:
            verdict = NotMade(reason=error.message)
        if isinstance(verdict, NotMade):
            detail = f"The changes could not be made: {verdict.reason} Resume the plan to try again."
            self._plan_store.record(plan_id, ev.PlanPaused(reason="error", detail=detail))
            return False
        if isinstance(verdict, Denied) and verdict.cancelled:
            # The cancel is in progress and stops this job; until then the plan must not end.
            await asyncio.Event().wait()
        return True

    def _record_outcome(self, plan_id: PlanId, area: _Area, verdict: Committed | Denied) -> None:
        """Record the outcome for the steps that had staged changes, and clear the area."""
        plan = self._plan_store.load(plan_id)
        fate: Literal["made", "denied"] = "denied" if isinstance(verdict, Denied) else "made"
        happened: list[ev.Event] = []
        others: list[StepId] = []
        for step_id in area.steps:
            step = plan.step(step_id) if plan is not None else None
            if step is None:
                continue
            if step.was_turned_down or (step.staged and isinstance(verdict, Denied)):
                why = verdict.reason if isinstance(verdict, Denied) else None
                happened.append(ev.StepSkipped(step_id=step_id, reason="approval_denied", detail=why))
            elif step.status == "running":
                # It may have staged more by now, so the outcome is that of the plan's staged files only.
                files = [
                    uri for call in step.tools_executed for uri in call.files if call.files[uri] == "staged"
                ]
                if files:
                    uris = tuple(Uri(uri) for uri in dict.fromkeys(files))
                    update = ev.StepUpdate(step_id=step_id, status="running", held=fate, files=uris)
                    happened.append(update)
            elif step.staged:
                # The files already had the step's content before the edit.
                happened.append(ev.StepUpdate(step_id=step_id, status="completed"))
            elif step.waits:
                others.append(step_id)
        if others:
            happened.append(ev.StepsList(settled=tuple(others), staged=fate))
        if isinstance(verdict, Denied):
            happened.append(ev.Log(level="info", message=f"The changes were not made: {verdict.reason}"))
        elif verdict.denied:
            names = listed(sorted(display_name(uri) for uri in verdict.denied), _NAMED)
            happened.append(ev.Log(level="info", message=f"Not allowed, so not changed: {names}."))
        area.clear()
        if plan is not None and plan.status in ("executing", "paused"):
            self._plan_store.record(plan_id, *happened)

    def _area(self, plan_id: PlanId) -> _Area:
        return self._areas.setdefault(plan_id, _Area(self._view))

    def forget(self, plan_id: PlanId) -> None:
        """Drop what is staged of a plan that is no longer live here: its steps must stage it again."""
        self._areas.pop(plan_id, None)

    def on_event(self, recorded: ev.Recorded, plan: Plan) -> None:
        """Take what is made out of what is staged, and forget a plan that has ended."""
        area = self._areas.get(plan.plan_id)
        if area is not None and isinstance(recorded.event, ev.EditApplied):
            # What is made must not be asked for again, whatever becomes of the rest.
            area.overlay.settle(recorded.event.files)
        if plan.status in ENDED:
            self._areas.pop(plan.plan_id, None)


def _proposal(plan: Plan, area: _Area, changes: Changeset) -> ChangeProposal:
    count = len(changes.changes)
    moves = area.overlay.view.moves
    return ChangeProposal(
        plan_id=plan.plan_id,
        step_id=None,
        number=0,
        title=f"all changes of the plan ({counted(count, 'file')})",
        tool=None,
        changeset=changes,
        replaced_unread=with_later_names(moves, area.replaced_unread),
        incomplete=with_later_names(moves, area.incomplete),
        steps=tuple(area.steps),
    )


def _refusal(unsettled: Iterable[Unmerged]) -> str:
    reasons = " ".join(dict.fromkeys(each.reason for each in unsettled))
    return f"{reasons} What was written to other files stays."


async def commit_step(run: StepRun, staging: StagingArea, context: ToolContext) -> CommitResult:
    """Commit the context's staged changes: they are asked for and made, or staged for the end of the plan.

    The outcome for every call is recorded when this returns. Raises UntrustedWorkspace.
    """
    plan, step, moves = run.plan, run.step, context.files.view.moves
    proposal = ChangeProposal(
        plan_id=run.plan_id,
        step_id=step.step_id,
        number=(plan.index_of(step.step_id) or 0) + 1,
        title=step.title,
        tool=step.tool if step.kind == "tool_call" else None,
        changeset=context.files.changeset(),
        replaced_unread=with_later_names(moves, context.replaced_unread),
        incomplete=with_later_names(moves, context.incomplete),
    )
    verdict = await staging.commit(proposal, grant_of(plan), context.files)
    if not (isinstance(verdict, Denied) and verdict.cancelled):
        _record(run, verdict)
    return verdict


def _record(run: StepRun, verdict: CommitResult) -> None:
    """Record the outcome of the changes of which no edit event has recorded one."""
    if not any("held" in call.fates for call in run.now.tools_executed):
        return
    run.update(
        held="made"
        if isinstance(verdict, Committed)
        else "denied"
        if isinstance(verdict, Denied)
        else "refused",
        reason=None if isinstance(verdict, Committed) else verdict.reason,
    )
