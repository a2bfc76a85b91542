"""The application: every room put together for one connection, for an ideal client who has never heard of LSP."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path

from planloom import providers
from planloom.domain.errors import OwnedElsewhere, StorageFailed
from planloom.domain.events import catalog as ev
from planloom.domain.plans.outcome import RECENT, prices_of
from planloom.domain.plans.plan import Detection, Plan
from planloom.domain.safety.confinement import Abilities
from planloom.domain.values import PlanId, SessionId
from planloom.execution.commands.background import BackgroundCommands
from planloom.execution.commands.changes import CommandChanges
from planloom.execution.commands.running import Terminal
from planloom.execution.conductor import Conductor
from planloom.execution.effects.applied_edits import AppliedEdits
from planloom.execution.effects.gate import Gate
from planloom.execution.effects.staging_area import StagingArea
from planloom.execution.effects.unsaved import UnsavedFileSaver
from planloom.execution.jobs import Jobs
from planloom.execution.plan_store import PlanStore
from planloom.execution.prompting.threads import PlanThreads
from planloom.execution.recovery_proposals import ModelProposer
from planloom.execution.resources import Resources
from planloom.execution.session import AskTrust, Session
from planloom.execution.step_rules import StepRules
from planloom.execution.steps.attached_files import StepAttachments
from planloom.execution.steps.literal_calls import LiteralCalls
from planloom.execution.steps.model_work import ModelWork
from planloom.execution.steps.runner import Runner, Work
from planloom.execution.steps.tool_contexts import StepEffects, ToolContextFactory
from planloom.execution.workspace_index import WorkspaceIndex
from planloom.models.kept_keys import KeptKeys
from planloom.models.providers.editor_model import EditorCompletion
from planloom.providers import TRACES_HEADERS
from planloom.service.actions.approvals import Approvals
from planloom.service.actions.made_changes import MadeChanges
from planloom.service.actions.messages import Messages
from planloom.service.actions.plans import Plans
from planloom.service.actions.rules import Rules
from planloom.service.actions.steps import Steps
from planloom.service.drafts.direct import DirectRunPlans, direct_run
from planloom.service.drafts.drafts import Drafting, Drafts
from planloom.service.drafts.followup import FollowUp
from planloom.service.drafts.new_request import NewRequests
from planloom.service.drafts.plan_surroundings import PlanSurroundings
from planloom.service.drafts.planner_factory import PlannerFactory
from planloom.service.drafts.planning_conversations import PlanningConversations
from planloom.service.extensions import NO_EXTENSIONS, ExtensionReport, Extensions
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
from planloom.service.server_prompts import ServerPrompts
from planloom.service.templates import Templates
from planloom.service.tracing.export import TraceExporter, headers_of
from planloom.service.tracing.recorder import TraceRecorder
from planloom.settings import Settings
from planloom.storage.decisions import Decisions
from planloom.storage.ledger import Ledger
from planloom.tools.confinement.abilities import abilities
from planloom.tools.external_tools import ExternalTools, RemoteReport
from planloom.tools.registry import builtin
from planloom.workspace.editor import Editor
from planloom.workspace.language import Language, ServerReport
from planloom.workspace.view import WorkspaceView

MEMORABLE = frozenset(
    {"plan_completed", "plan_failed", "plan_cancelled", "plan_rejected", "edit_applied", "edit_reverted"}
)
"""The types of events after which what a plan found and did is kept for later ones (`service/memory.py`)."""
log = logging.getLogger(__name__)


class Application:
    """One connection's plans, on the ledger that all connections of the user share."""

    def __init__(  # noqa: PLR0915 - one construction, in the order of what needs what
        self,
        session: Session,
        ledger: Ledger,
        models: Models,
        trace_headers: Callable[[], Mapping[str, str]] = dict,
        extensions: Extensions = NO_EXTENSIONS,
    ) -> None:
        tools = builtin(session.tools_of_servers, extensions.tools)
        usable = tools.before_commands()
        jobs = Jobs(self._job_failed)
        plan_store = PlanStore(ledger, session.clock, models.known_keys, lambda: session.folders)
        feed = Feed(plan_store, models.known_keys, models.waits)
        warn = partial(feed.notice, "warning")
        templates = Templates(ledger, plan_store, ServerPrompts(session))
        rules = StepRules(session, tools, templates.find)
        index = WorkspaceIndex(session, jobs)
        references = WorkspaceReferences(session, index, ledger.text)
        memory = Memory(session, ledger, models.known_keys)

        # What changes files and runs commands.
        saver = UnsavedFileSaver(session, plan_store, jobs)
        applied_edits = AppliedEdits(jobs, (index.on_edit_applied, saver.on_edit_applied))
        gate = Gate(session, plan_store, warn)
        staging = StagingArea(plan_store, session.view, gate, applied_edits)
        changes = CommandChanges(session, plan_store, gate, index)
        background = BackgroundCommands(session, plan_store, jobs, index, changes)
        terminal = Terminal(gate, staging, saver, index, background, feed.waits)
        effects = StepEffects(gate, staging, terminal, self._warn_of)
        contexts = ToolContextFactory(session, index, effects, tools, rules, feed.stream_step)

        # From a request to a plan.
        follow_up = FollowUp(plan_store, ledger)
        surroundings = PlanSurroundings(session, index, references, follow_up, memory, warn)
        threads = PlanThreads()
        conversations = PlanningConversations(session, contexts, threads, terminal)
        planners = PlannerFactory(session, usable, models, templates, surroundings, conversations)
        planners.add(extensions.planners)
        drafting = Drafting(
            plan_store,
            feed,
            planners,
            rules,
            partial(ledger.outcomes, RECENT),
            lambda: prices_of(session.settings.model.prices),
        )
        submitted = DirectRunPlans(session, usable, surroundings, drafting, templates.find, plan_store.clock)

        # From a plan to its end.
        model_work = ModelWork(models, staging, contexts, surroundings.of, submitted, threads)
        runner = Runner(
            session,
            plan_store,
            staging,
            StepAttachments(session, plan_store, references, models.current),
            Work(LiteralCalls(tools, staging, contexts), model_work, gate, templates.find),
            contexts,
        )
        resources = Resources(partial(claims_of, tools), partial(capacity_of, models), feed.waits)
        proposer = ModelProposer(session, models.current, usable, rules)
        conductor = Conductor(plan_store, jobs, runner, session.limits, resources, proposer)

        # What a client can ask.
        self._ownership = Ownership(session, plan_store, ledger, jobs, conductor)
        turns = Turns(self._ownership, conductor, jobs)
        self.feed = feed
        self.models = models
        self.index = index
        self.references = references
        self.templates = templates
        self.memory = memory
        self._saver = saver
        self.user_undo = UserUndo(plan_store, session.view, jobs)
        self.requests = NewRequests(session, index, references, models, templates)
        direct = partial(direct_run, session, index, tools, rules)
        drafts = Drafts(plan_store, jobs, conductor, self.requests, drafting, direct)
        self.plans = Plans(session, plan_store, ledger, turns, drafts, rules)
        self.messages = Messages(plan_store, turns, jobs, self.plans, drafts, models)
        self.steps = Steps(plan_store, turns, conductor, rules)
        self.approvals = Approvals(gate, plan_store, turns, session.view)
        self.rules = Rules(session)
        self.made_changes = MadeChanges(session, plan_store)
        gate.on_cancel(self._cancel_soon)

        self.upkeep = Upkeep(session, ledger, jobs)
        self._traces = TraceExporter(lambda: session.settings.storage.traces, trace_headers, warn)
        recorder = TraceRecorder(lambda: bool(session.settings.storage.traces), self._traces.put)
        self._session = session
        self._ledger = ledger
        self._plan_store = plan_store
        self._background = background
        self._to_remember: set[PlanId] = set()
        self._jobs = jobs
        self._drafting = drafting
        self._conductor = conductor
        self._extensions = extensions
        self._health = HealthWatch(session, feed, plan_store, ledger, extensions.reports)
        models.on_selected(self._health.repeat)
        # Who hears which events, in this order. Clients subscribe behind these, so they hear of an event when
        # everything here knows it.
        for on_event, types in (
            (runner.plan_time.on_event, None),
            (feed.on_event, None),
            (staging.on_event, (ev.EditApplied, *ev.ENDS)),
            (changes.on_event, (ev.EditStarted, ev.EditApplied)),
            (conductor.on_event, None),
            (applied_edits.on_event, (ev.EditApplied,)),
            (self.user_undo.on_event, (ev.EditStarted, ev.EditApplied, ev.PlanPaused, *ev.ENDS)),
            (self.messages.on_event, (ev.PlanCompleted,)),
            (background.on_event, ev.ENDS),
            (self._keep_in_memory, None),
            (recorder.on_event, (ev.ToolStarted, ev.ToolCompleted, *ev.ENDS)),
            (self.upkeep.on_event, None),
        ):
            plan_store.listen(on_event, types)
        for forget in (staging.forget, self.user_undo.forget, follow_up.forget, recorder.forget):
            plan_store.on_forget(forget)

    @classmethod
    async def open(  # noqa: PLR0913 - programs outside this repository call it, with its parameters by name
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
        decisions: Decisions | None = None,
        base_url_is_users: Callable[[], bool] = lambda: True,
        kept_keys: KeptKeys | None = None,
        traces_are_users: Callable[[], bool] = lambda: True,
        language: Callable[[Session], Language] | None = None,
        session_id: SessionId | None = None,
        external: Callable[[Session], ExternalTools] | None = None,
        extensions: Extensions = NO_EXTENSIONS,
    ) -> Application:
        """Put the application together over the ledger at `storage`; None keeps everything in memory.

        It does nothing before `start`. Raises StorageFailed while another program has the ledger locked.

        `completion` is the editor's own language model, `decisions` are what the user has decided on folders,
        `record` a file for every exchange with a model, `kept_keys` the keys that the user keeps. A key of the
        environment goes to the base URL only where `base_url_is_users`, and headers for a collector of traces to its
        address only where `traces_are_users`. `language` makes what asks language servers, `external` what calls the
        tools of MCP servers, `extensions` are what enabled packages bring. `session_id` is that of a session which goes
        on, None for a new one.
        """
        for row in extensions.providers:
            providers.add(row)
        private = () if storage is None else (storage.parent,)
        session = Session(settings, view, editor, trusted=trusted, private=private)
        session.session_id = session_id or session.session_id
        session.decisions = decisions
        session.language = None if language is None else language(session)
        session.external = None if external is None else external(session)
        models = Models(session, environment, completion, record, base_url_is_users, kept_keys)
        headers = headers_of(environment.get(TRACES_HEADERS, ""))
        for value in headers.values():
            models.known_keys.add(value)
            # `Bearer …`: the key is also known by itself.
            models.known_keys.add(value.rpartition(" ")[2])
        # The ledger may have to wait for another program.
        ledger = await asyncio.to_thread(Ledger, storage)
        return cls(session, ledger, models, lambda: headers if traces_are_users() else {}, extensions)

    def start(self, listen: Callable[[Application], None]) -> None:
        """Begin what goes on in the background: leases, the index, and plans whose server has died.

        `listen` subscribes whoever wants to hear of it, before anything happens.
        """
        listen(self)
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
        self._jobs.start("checkpoints", self.upkeep.checkpoints())

    def _keep_in_memory(self, recorded: ev.Recorded, plan: Plan) -> None:
        if recorded.event.type in MEMORABLE:
            self._to_remember.add(plan.plan_id)
        # Of events that are recorded together only the last plan is kept.
        if plan.plan_id in self._to_remember and self._plan_store.find(plan.plan_id) is plan:
            self._to_remember.discard(plan.plan_id)
            self.memory.keep(plan)

    async def _job_failed(self, name: str, error: Exception) -> None:
        """Have the plan of a job say why it cannot go on, so that none stands still for ever."""
        await self._plan_store.wait_unlocked()
        plan = next((each for each in self._plan_store.live() if each.plan_id in name.split(":")), None)
        # A stopped plan accepts no event; it says so when it is reloaded from the ledger.
        with suppress(StorageFailed, OwnedElsewhere):
            if plan is not None and plan.status == "draft":
                self._drafting.give_up(plan, error)
            elif plan is not None:
                self._conductor.pause_on_error(plan.plan_id, error)

    async def save_and_resume(self, plan_id: PlanId) -> Plan:
        """Have the editor save the files that a paused plan waits for, and resume the plan.

        Raises WrongState if the editor cannot be asked to save, or has not saved one of them.
        """
        await self._saver.save_waiting(plan_id)
        return await self.plans.resume(plan_id)

    def _warn_of(self, plan_id: PlanId, sentence: str) -> None:
        self._plan_store.record(plan_id, ev.Log(level="warning", message=sentence))

    def _cancel_soon(self, plan_id: PlanId) -> None:
        self._jobs.start(f"cancel-asked:{plan_id}", self.plans.cancel(plan_id))

    def detect(self, text: str) -> Detection:
        """Whether the rules say that the text wants a plan."""
        return self.requests.detect(text)

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

    def extensions(self) -> tuple[ExtensionReport, ...]:
        """The packages that the user has enabled, and how each is."""
        return self._extensions.reports

    async def language_servers(self) -> tuple[ServerReport, ...]:
        """The language servers for files of the workspace."""
        language = self._session.language
        return () if language is None else await asyncio.to_thread(language.reports)

    async def mcp_servers(self) -> tuple[RemoteReport, ...]:
        """The user's MCP servers, started to find out how each is."""
        external = self._session.external
        if external is None:
            return ()
        await external.ready()
        return external.reports()

    async def command_abilities(self) -> Abilities:
        """The parts of a confinement that this machine can enforce."""
        return self._session.command_abilities(await asyncio.to_thread(abilities))

    async def close(self) -> None:
        """Stop every job, give leases back, close the ledger, export the last traces. Running plans are resumable."""
        self._background.close()
        await self._jobs.stop("")
        if self._ledger.path is None:
            # Nobody goes on with its plans.
            await self._background.forget_all()
        if self._session.language is not None:
            await self._session.language.close()
        if self._session.external is not None:
            await self._session.external.close()
        await self.models.forget()
        self._ledger.close()
        await self._traces.close()
