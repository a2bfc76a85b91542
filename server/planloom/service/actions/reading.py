"""The requests that read plans: one, a list, its steps, events and texts. They change nothing and wait for no turn."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress

from planloom.domain.errors import (
    InvalidParams,
    PlanloomError,
    PlanUnreadable,
    StorageFailed,
    UnknownThing,
    WrongState,
)
from planloom.domain.events import catalog as ev
from planloom.domain.plans.agents import Agent
from planloom.domain.plans.graph import execution_order, shown_statuses
from planloom.domain.plans.outcome import Ended, Prices, Spent, Stats, prices_of, spent, stats
from planloom.domain.plans.plan import (
    ENDED,
    ExecutedTool,
    Plan,
    PlanStatus,
    PlanSummary,
    Step,
    StepStatus,
    summary,
)
from planloom.domain.values import EditId, Instant, PlanId, SessionId, Sha256, StepId, Uri
from planloom.execution.plan_store import PlanStore
from planloom.execution.session import Session
from planloom.execution.summary import changes_of_file
from planloom.intake.languages import language_of
from planloom.service.actions.export import as_markdown, as_raw_json, sentence
from planloom.service.actions.moving import as_document
from planloom.service.requests import FileDiff, Until
from planloom.storage.leases import owned_elsewhere
from planloom.storage.ledger import Ledger, PlanRow, workspace_key
from planloom.workspace.paths.uris import display_name

LIST_LIMIT = 1_000
_ALL = 10**9


class PlanReader:
    """Reads plans of this workspace, or of `all_workspaces`.

    Every method for one plan raises UnknownThing, PlanElsewhere, StorageFailed, and but for `raw` PlanUnreadable.
    """

    def __init__(
        self, session: Session, plan_store: PlanStore, ledger: Ledger, *, all_workspaces: bool = False
    ) -> None:
        self._session = session
        self._plan_store = plan_store
        self._ledger = ledger
        self._all_workspaces = all_workspaces

    def among(self, *, all_workspaces: bool) -> PlanReader:
        """The reader of the plans of this workspace, or of all."""
        return PlanReader(self._session, self._plan_store, self._ledger, all_workspaces=all_workspaces)

    def _read(self, plan_id: PlanId) -> Plan:
        return self._plan_store.read(plan_id, all_workspaces=self._all_workspaces)

    def run_elsewhere(self, plan_id: PlanId) -> str | None:
        """Who runs a plan, in a sentence, if that is another live server. Raises StorageFailed only."""
        lease = self._ledger.held_by_another(plan_id)
        return None if lease is None else owned_elsewhere(lease).message

    def get(self, plan_id: PlanId | None, session_id: SessionId | None) -> Plan | None:
        """A plan, or without an id the current one of a session: the newest that has not ended, else the newest.

        None if the session has no plan.
        """
        if plan_id is not None:
            return self._read(plan_id)
        listed = self.list(session_id or self._session.session_id, (), LIST_LIMIT, all_workspaces=True)
        found = [each for each in listed if self._all_workspaces or self._plan_store.is_here(each)]
        current = next((each for each in found if each.status not in ENDED), found[0] if found else None)
        return None if current is None else self._read(current.plan_id)

    def list(
        self,
        session_id: SessionId | None,
        statuses: Sequence[PlanStatus],
        limit: int | None,
        all_workspaces: bool,
    ) -> tuple[PlanSummary, ...]:
        """Plans, the newest first, without unreadable ones. `limit` is 100 by default. Raises StorageFailed."""
        listed = self._ledger.summaries(
            workspace=None if all_workspaces else workspace_key(self._session.folders),
            session_id=session_id,
            statuses=statuses,
            limit=min(limit or 100, LIST_LIMIT),
        )
        return tuple(found for each in listed if (found := self._summary(each)) is not None)

    def _summary(self, listed: PlanRow) -> PlanSummary | None:
        """The summary stored in the ledger. If it has no progress, the plan is read for it: one that is running, or
        was written by an older version."""
        if listed.plan_id in self._plan_store.unreadable:
            return None
        if listed.counted:
            return listed.summary
        try:
            plan = self._plan_store.find(listed.plan_id)
        except PlanUnreadable:
            return None
        if plan is None:
            return None
        if plan.status not in ("draft", "executing"):
            with suppress(StorageFailed):
                self._ledger.keep_state(plan)
        return summary(plan)

    def stats(self, since: Instant | None = None, until: Instant | None = None) -> Stats:
        """The figures of the ended plans of this user that were created in this time span, `until` exclusive.

        Days are those of this machine's time zone. Raises StorageFailed.
        """
        found = self._ledger.ended(since, until)
        return stats((Ended(at.astimezone(), outcome) for at, outcome in found), self._prices())

    def spent(self, plan: Plan) -> Spent:
        """The use of models by this plan so far, with its cost at the user's prices."""
        return spent(plan, self._prices(), self._session.context_tokens)

    def _prices(self) -> Prices:
        return prices_of(self._session.settings.model.prices)

    def tasks(
        self,
        plan_id: PlanId | None,
        session_id: SessionId | None,
        statuses: Sequence[StepStatus],
        agent: Agent | None,
    ) -> tuple[Plan, tuple[Step, ...]]:
        """The steps of a plan in execution order, filtered by the status shown to users and by agent if given."""
        plan = self.get(plan_id, session_id)
        if plan is None:
            raise InvalidParams("There is no plan yet.", details=[{"field": "planId", "problem": "no plan"}])
        shown = dict(zip((step.step_id for step in plan.steps), shown_statuses(plan), strict=True))
        return plan, tuple(
            step
            for step in execution_order(plan.steps)
            if (not statuses or shown[step.step_id] in statuses) and (agent is None or step.agent == agent)
        )

    def commands_of(self, plan_id: PlanId, step_id: StepId) -> tuple[ExecutedTool, ...]:
        """The calls of a step whose command has ended. Raises UnknownThing."""
        step = self._read(plan_id).step(step_id)
        if step is None:
            raise UnknownThing("step", step_id)
        return tuple(call for call in step.tools_executed if call.command == "ended")

    def events(self, plan_id: PlanId, after: int, limit: int | None) -> tuple[tuple[ev.Recorded, Plan], ...]:
        """At most `limit` events with a `seq` above `after`, each with the plan after it."""
        self._read(plan_id)
        return self._plan_store.history(plan_id, after, limit)

    async def wait(self, plan_id: PlanId, until: Until, timeout_seconds: float | None) -> tuple[Plan, bool]:
        """Wait until the plan has reached `until`. The bool is False if the timeout came first; None waits forever.

        A plan that was stopped, because its events cannot be written, ends the wait with the reason: StorageFailed or
        OwnedElsewhere.
        """
        plan = self._read(plan_id)
        changed = asyncio.Event()

        def on_event(recorded: ev.Recorded, _: Plan) -> None:
            if recorded.plan_id == plan_id:
                changed.set()

        def on_stop(stopped: PlanId, _: PlanloomError) -> None:
            if stopped == plan_id:
                changed.set()

        unsubscribes = (self._plan_store.listen(on_event), self._plan_store.on_stop(on_stop))
        try:
            async with asyncio.timeout(timeout_seconds):
                while not reached(plan, until):
                    self._refuse_stopped(plan_id)
                    await changed.wait()
                    changed.clear()
                    plan = self._read(plan_id)
        except TimeoutError:
            return self._read(plan_id), False
        finally:
            for unsubscribe in unsubscribes:
                unsubscribe()
        return plan, True

    def _refuse_stopped(self, plan_id: PlanId) -> None:
        reason = self._plan_store.stop_reason(plan_id)
        if reason is not None:
            raise reason
        if self._ledger.has_lost(plan_id):
            raise StorageFailed(self._ledger.problem or "")

    def diff(self, plan_id: PlanId, uri: Uri, edit_id: EditId | None) -> FileDiff:
        """A file before and after all that stands of the plan, or one edit of it. Raises UnknownThing."""
        found = changes_of_file(self._read(plan_id), uri, edit_id)
        if found is None:
            raise UnknownThing("edit", uri)
        before, after = (self._text(plan_id, digest, uri) for digest in (found.before, found.after))
        return FileDiff(uri=uri, before=before, after=after, language_id=language_of(display_name(uri)))

    def _text(self, plan_id: PlanId, digest: Sha256 | None, uri: Uri) -> str | None:
        """The text with a hash; None without one. Raises WrongState if it was compacted, UnknownThing if it is lost."""
        text = None if digest is None else self._ledger.text(digest)
        if digest is not None and text is None:
            compaction = self._ledger.compaction(plan_id)
            if compaction is not None:
                status = self._read(plan_id).status
                raise WrongState(
                    f"{sentence(compaction)} What changed can no longer be shown.", status=status
                )
            raise UnknownThing("edit", uri)
        return text

    def markdown(self, plan_id: PlanId) -> str:
        """The plan as Markdown."""
        plan = self._read(plan_id)
        return as_markdown(plan, self._ledger.compaction(plan_id))

    def full(self, plan_id: PlanId) -> str:
        """The plan with its events and texts, for `Plans.import_plan`. Raises WrongState while it is at work."""
        plan = self._read(plan_id)
        return as_document(plan, self._ledger.events(plan_id), self._ledger.texts(plan_id))

    def raw(self, plan_id: PlanId) -> str:
        """The events of an unreadable plan as they are in the ledger, as JSON."""
        here = workspace_key(self._session.folders)
        if not self._all_workspaces and plan_id not in self._ledger.plans(workspace=here, limit=_ALL):
            raise UnknownThing("plan", plan_id)
        return as_raw_json(plan_id, self._ledger.raw_events(plan_id))


def reached(plan: Plan, until: Until) -> bool:
    """Whether a plan has reached the state that a client waits for."""
    ended = plan.status in ENDED or plan.status == "rejected"
    match until:
        case "ended":
            return ended
        case "ready":
            return plan.status != "draft"
        case "attention":
            pending = plan.pending
            asks = pending.approvals or pending.questions or pending.recoveries or pending.conflicts
            return ended or plan.status in ("pending_approval", "paused") or bool(asks)
