"""The application: every room put together for one connection, for an ideal client who has never heard of LSP."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from planloom.domain.errors import StorageFailed
from planloom.domain.plans.outcome import RECENT, prices_of
from planloom.domain.plans.plan import Detection
from planloom.domain.safety.confinement import Abilities
from planloom.domain.values import PlanId
from planloom.execution.conductor import Conductor
from planloom.execution.effects.applied_edits import AppliedEdits
from planloom.execution.effects.gate import Gate
from planloom.execution.effects.staging_area import StagingArea
from planloom.execution.effects.unsaved import UnsavedFileSaver
from planloom.execution.jobs import Jobs
from planloom.execution.plan_store import PlanStore
from planloom.execution.recovery_proposals import ModelProposer
from planloom.execution.resources import Resources
from planloom.execution.session import AskTrust, Session
from planloom.execution.step_rules import StepRules
from planloom.execution.steps.attached_files import StepAttachments
from planloom.execution.steps.background import BackgroundCommands
from planloom.execution.steps.commands import Terminal
from planloom.execution.steps.literal_calls import LiteralCalls
from planloom.execution.steps.model_work import ModelWork
from planloom.execution.steps.runner import Runner, Work
from planloom.execution.steps.tool_contexts import StepEffects, ToolContextFactory
from planloom.execution.workspace_index import WorkspaceIndex
from planloom.providers import TRACES_HEADERS
from planloom.service.actions.approvals import Approvals
from planloom.service.actions.messages import Messages
from planloom.service.actions.plans import Plans
from planloom.service.actions.steps import Steps
from planloom.service.drafts.direct import DirectRuns
from planloom.service.drafts.drafting import Drafting
from planloom.service.drafts.drafts import Drafts
from planloom.service.drafts.followup import FollowUp
from planloom.service.drafts.new_request import Intake
from planloom.service.drafts.planner_factory import PlannerFactory
from planloom.service.drafts.planning_conversations import PlanningConversations
from planloom.service.drafts.planning_requests import PlanningRequests
from planloom.service.drafts.surroundings import PlanSurroundings
from planloom.service.feed import Feed
from planloom.service.health import HealthWatch
from planloom.service.memory import Memory
from planloom.service.models import Models
from planloom.service.references import WorkspaceReferences
from planloom.service.requests import Status
from planloom.service.running.ownership import Ownership
from planloom.service.running.resource_claims import capacity_of, claims_of
from planloom.service.running.turns import Turns
from planloom.service.running.upkeep import Upkeep
from planloom.service.running.user_undo import UserUndo
from planloom.service.templates import Templates
from planloom.service.tracing.export import TraceExporter, headers_of
from planloom.service.tracing.recorder import TraceRecorder
from planloom.settings import Settings
from planloom.storage.ledger import Ledger
from planloom.tools.confinement.abilities import abilities
from planloom.tools.registry import builtin
from planloom.workspace.editor import Editor
from planloom.workspace.view import WorkspaceView

if TYPE_CHECKING:
    from planloom.models.providers.editor_model import EditorCompletion

log = logging.getLogger(__name__)


class Application:
    """One connection's plans, on the ledger that all connections of the user share."""

    def __init__(
        self,
        session: Session,
        ledger: Ledger,
        models: Models,
        trace_headers: Callable[[], Mapping[str, str]] = dict,
    ) -> None:
        tools = builtin()
        jobs = Jobs()
        plan_store = PlanStore(ledger, session.clock, models.known_keys)
        feed = Feed(plan_store, models.known_keys)
        templates = Templates(ledger, plan_store)
        rules = StepRules(session, tools, templates.find)

        # Effects, and what follows up on an edit.
        index = WorkspaceIndex(session, jobs)
        saver = UnsavedFileSaver(session, plan_store, jobs)
        applied_edits = AppliedEdits(plan_store, jobs)
        applied_edits.listen(index.on_edit_applied)
        applied_edits.listen(saver.on_edit_applied)
        UserUndo(plan_store, session.view)
        gate = Gate(session, plan_store)
        staging = StagingArea(plan_store, session.view, gate, applied_edits)
        background = BackgroundCommands(session, plan_store, jobs, index)
        terminal = Terminal(gate, staging, saver, index, background, feed.waits)
        context_factory = ToolContextFactory(
            session, index, StepEffects(gate, staging, terminal), tools, rules, feed.stream_step
        )

        # From a request to a plan.
        references = WorkspaceReferences(session, index, ledger.text)
        direct_runs = DirectRuns(session, plan_store, tools, rules)
        self.memory = Memory(session, ledger, models.known_keys)
        surroundings = PlanSurroundings(session, index, references, FollowUp(plan_store, ledger), self.memory)
        model_work = ModelWork(
            models.current,
            staging,
            context_factory,
            surroundings.of,
            feed.stream_step,
            direct_runs.reroute,
        )
        planners = PlannerFactory(
            session,
            tools.before_commands(),
            models,
            templates,
            PlanningRequests(references, surroundings),
            PlanningConversations(session, context_factory, model_work.threads),
        )
        drafting = Drafting(
            plan_store,
            feed,
            planners.planner_for,
            rules,
            partial(ledger.outcomes, RECENT),
            lambda: prices_of(session.settings.model.prices),
        )

        # From an approved plan to its effects.
        runner = Runner(
            session,
            plan_store,
            staging,
            StepAttachments(session, plan_store, references, models.current),
            Work(LiteralCalls(tools, staging, context_factory), model_work, gate, templates.find),
            context_factory,
        )
        resources = Resources(partial(claims_of, tools), partial(capacity_of, models), feed.waits)
        conductor = Conductor(
            plan_store,
            jobs,
            runner,
            session.limits,
            resources,
            ModelProposer(session, models.current, tools.before_commands(), rules),
        )

        # What a client can ask.
        ownership = Ownership(session, plan_store, ledger, jobs, conductor, staging)
        turns = Turns(ownership, conductor, jobs)
        self.feed = feed
        self.models = models
        self.index = index
        self.references = references
        self.templates = templates
        self.intake = Intake(session, references, models, templates)
        drafts = Drafts(plan_store, jobs, conductor, self.intake, drafting, direct_runs)
        self.plans = Plans(session, plan_store, ledger, turns, drafts, rules)
        gate.on_cancel(self._cancel_soon)
        self.messages = Messages(plan_store, turns, jobs, self.plans, drafts, models.current)
        self.steps = Steps(plan_store, turns, conductor, rules)
        self.approvals = Approvals(gate, plan_store, turns, session.view)

        self.upkeep = Upkeep(session, ledger, jobs)
        self._traces = TraceExporter(
            lambda: session.settings.storage.traces, trace_headers, partial(feed.notice, "warning")
        )
        self._session = session
        self._ledger = ledger
        self._plan_store = plan_store
        self._jobs = jobs
        self._ownership = ownership
        self._background = background
        self._health = HealthWatch(session, feed, plan_store, ledger)

    @classmethod
    async def open(
        cls,
        settings: Settings,
        editor: Editor,
        view: WorkspaceView,
        *,
        storage: Path | None,
        trusted: bool = True,
        environment: Mapping[str, str],
        completion: EditorCompletion | None = None,
        record: Path | None = None,
        base_url_is_users: Callable[[], bool] = lambda: True,
        traces_are_users: Callable[[], bool] = lambda: True,
    ) -> Application:
        """Put the application together over the ledger at `storage`; None keeps everything in memory.

        It does nothing before `start`. Raises StorageFailed while another program has the ledger locked.

        `completion` is the editor's own language model, `record` a file for every exchange with a model. A key of
        the environment goes to the base URL only where `base_url_is_users`, and headers for a collector of traces to
        its address only where `traces_are_users`.
        """
        private = () if storage is None else (storage.parent,)
        session = Session(settings, view, editor, trusted=trusted, private=private)
        models = Models(session, environment, completion, record, base_url_is_users)
        headers = headers_of(environment.get(TRACES_HEADERS, ""))
        for value in headers.values():
            models.known_keys.add(value)
            # `Bearer …`: the key is also known by itself.
            models.known_keys.add(value.rpartition(" ")[2])
        # The ledger may have to wait for another program.
        ledger = await asyncio.to_thread(Ledger, storage)
        return cls(session, ledger, models, lambda: headers if traces_are_users() else {})

    def start(self, listen: Callable[[Application], None]) -> None:
        """Begin what goes on in the background: leases, the index, and plans whose server has died.

        `listen` subscribes whoever wants to hear of it, before anything happens.
        """
        listen(self)
        self.feed.subscribe(self.memory.on_event)
        recorder = TraceRecorder(lambda: bool(self._session.settings.storage.traces), self._traces.put)
        self.feed.subscribe(recorder.on_event)
        self._plan_store.on_forget(recorder.forget)
        self._health.begin()
        self.index.current()
        self._jobs.start("leases", self._ownership.keep_leases())
        try:
            self._ownership.adopt_crashed()
        except StorageFailed as error:
            log.warning("plans of servers that have died are not looked for: %s", error.message)
        self._jobs.start("reconcile", self._ownership.reconcile_adopted())
        self._jobs.start("take-over", self._ownership.take_over())
        self._jobs.start("unanswered", self._session.view.unanswered.watch())
        self._jobs.start("upkeep", self.upkeep.run())

    def _cancel_soon(self, plan_id: PlanId) -> None:
        self._jobs.start(f"cancel-asked:{plan_id}", self.plans.cancel(plan_id))

    def detect(self, text: str) -> Detection:
        """Whether the rules say that the text wants a plan."""
        return self.intake.detect(text)

    def configure(self, settings: Settings) -> None:
        """Settings that hold from now on."""
        changed = settings.model != self._session.settings.model
        self._session.configure(settings)
        if changed:
            self._jobs.start("forget-model", self.models.forget())

    async def set_secret(self, provider: str, value: str | None) -> None:
        """Keep a key in memory, or forget it."""
        await self.models.set_secret(provider, value)

    def set_trusted(self, trusted: bool, ask: AskTrust | None = None) -> None:
        """Whether the user trusts the workspace; without that nothing in it is changed, and git is not asked.

        With `ask`, the user has not decided, and is asked when a plan first needs it.
        """
        before = self._session.trusted
        self._session.trust(trusted, ask)
        if trusted and not before:
            self.index.rescan()

    def status(self, log_path: str = "") -> Status:
        """How the server is."""
        return self._health.status(self.models.identity, log_path)

    async def command_abilities(self) -> Abilities:
        """What commands can be held to on this machine."""
        return self._session.command_abilities(await asyncio.to_thread(abilities))

    async def close(self) -> None:
        """Stop every job, give leases back, close the ledger, export the last traces. Running plans are resumable."""
        self._background.close()
        await self._jobs.stop("")
        await self.models.forget()
        self._ledger.close()
        await self._traces.close()
