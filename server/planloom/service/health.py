"""Reports how the server is: its status on request, and problems with the ledger once for each cause."""

from __future__ import annotations

from planloom.domain.errors import OwnedElsewhere, PlanloomError, StorageFailed
from planloom.domain.values import PlanId
from planloom.execution.plan_store import PlanStore
from planloom.execution.session import Session
from planloom.models.port import ModelIdentity
from planloom.providers import PROVIDERS
from planloom.service.extensions import ExtensionReport
from planloom.service.feed import Feed
from planloom.service.requests import Health, Status
from planloom.storage.ledger import Ledger, workspace_key
from planloom.version import VERSION

PASSED = "The plan ledger can be written again. Plans that were stopped are paused: resume them to continue."


class HealthWatch:
    """Publishes problems that are new since the last report, and when all have passed."""

    def __init__(
        self,
        session: Session,
        feed: Feed,
        plan_store: PlanStore,
        ledger: Ledger,
        extensions: tuple[ExtensionReport, ...] = (),
    ) -> None:
        self._extensions = extensions
        self._session = session
        self._feed = feed
        self._plan_store = plan_store
        self._ledger = ledger
        self._reported = Health()
        ledger.listen(self.report)
        plan_store.on_unreadable(self.report)
        plan_store.on_stop(self._on_stop)

    def begin(self) -> None:
        """Publish what there is to say at the start."""
        if self._ledger.note is not None:
            self._feed.notice("warning", self._ledger.note)
        for each in self._extensions:
            if each.state == "failed":
                self._feed.notice("warning", f"The package {each.name} is not used: {each.why}.")
        provider = self._session.settings.model.provider
        if ":" in provider and provider not in PROVIDERS:
            self._feed.notice("warning", f"No enabled package brings the model provider {provider}.")
        self.report()

    def report(self) -> None:
        """Publish what has changed."""
        before, now = self._reported, self._now()
        if now == before:
            return
        self._reported = now
        for problem in now.problems:
            if problem not in before.problems:
                self._feed.notice("error", problem)
        if not now.problems:
            self._feed.notice("info", PASSED)
        self._feed.health(now)

    def repeat(self) -> None:
        """Have clients read the status again, since something in it has changed."""
        self._feed.health(self._reported)

    def status(self, model: ModelIdentity, log_path: str) -> Status:
        """The whole state of the server; `model` is the one in use."""
        folders = self._session.folders
        try:
            paused = self._ledger.plans(workspace=workspace_key(folders), statuses=("paused",))
        except StorageFailed:
            paused = ()
        running = [
            plan for plan in self._plan_store.live() if plan.status in ("draft", "approved", "executing")
        ]
        health = self._now()
        return Status(
            version=VERSION,
            session_id=self._session.session_id,
            model_provider=model.provider,
            model_name=model.name,
            model_reason=model.reason,
            workspace_folders=folders,
            trusted=self._session.trusted,
            active=tuple(plan.plan_id for plan in running),
            resumable=tuple(plan_id for plan_id in paused if plan_id not in self._plan_store.unreadable),
            health=health.state,
            problems=health.problems,
            log_path=log_path,
            storage_path=str(self._ledger.path or ""),
            storage_note=self._ledger.note,
            approvals=self._session.settings.approvals,
            review=self._session.settings.execution.review,
        )

    def _now(self) -> Health:
        """The problems that there are now: those of the ledger, and each plan that cannot be read."""
        ledger = (self._ledger.problem,) if self._ledger.problem else ()
        unreadable = tuple(error.message for error in self._plan_store.unreadable.values())
        return Health(problems=(*ledger, *unreadable))

    def _on_stop(self, plan_id: PlanId, error: PlanloomError) -> None:
        """Report a plan that was stopped, unless a ledger fault is the cause, which `report` publishes."""
        if isinstance(error, OwnedElsewhere):
            self._feed.notice("warning", f"The plan {plan_id} was stopped here. {error.message}")
        elif not self._now().problems:
            self._feed.notice("warning", f"The plan {plan_id} was stopped. {error.message}")
