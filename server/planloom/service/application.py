"""The application: every room put together for one connection, for an ideal client who has never heard of LSP."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from planloom.domain.changes import Changeset
from planloom.domain.errors import StorageFailed
from planloom.domain.events import catalog as ev
from planloom.domain.plans.attachments import Attachment, ResolvedAttachment, Unresolved
from planloom.domain.plans.plan import Detection, Plan, Step
from planloom.domain.plans.validation import Problem, problems
from planloom.domain.scheduling import directives as do
from planloom.domain.values import Json, PlanId, SessionId, StepId
from planloom.execution.conductor import Conductor
from planloom.execution.effects.gate import Gate
from planloom.execution.effects.staging_area import StagingArea
from planloom.execution.jobs import Jobs
from planloom.execution.plan_store import PlanStore
from planloom.execution.prompting.context_window import shares_of
from planloom.execution.recovery_proposals import ModelProposer
from planloom.execution.steps.attached_files import StepAttachments
from planloom.execution.steps.resources import Resources
from planloom.execution.steps.runner import Runner, StepDependencies
from planloom.execution.steps.time_limits import PlanTimeBudget
from planloom.execution.steps.tool_contexts import ToolContextFactory
from planloom.intake.render import render
from planloom.models.port import Capabilities
from planloom.service.actions.approvals import Approvals
from planloom.service.actions.plans import Plans, PlanServices
from planloom.service.actions.steps import Steps
from planloom.service.actions.undo import UndoService
from planloom.service.drafts.direct import put_to_review
from planloom.service.drafts.drafting import Drafting
from planloom.service.drafts.followup import FollowUp
from planloom.service.drafts.new_request import Intake, decided
from planloom.service.drafts.planner_factory import PlannerFactory
from planloom.service.feed import Feed
from planloom.service.health import HealthWatch
from planloom.service.models import Models
from planloom.service.references import WorkspaceReferences
from planloom.service.requests import Health, Status, StreamDelta
from planloom.service.running.ownership import Ownership
from planloom.service.running.resource_claims import MODEL, claims_of
from planloom.service.running.turns import Turns
from planloom.service.running.user_undo import UserUndo
from planloom.service.templates import Templates
from planloom.settings import Settings
from planloom.storage.ledger import Ledger, workspace_key
from planloom.tools.registry import builtin
from planloom.version import VERSION
from planloom.workspace.editor import Editor
from planloom.workspace.index.file_index import FileIndex
from planloom.workspace.index.programs import Programs
from planloom.workspace.view import WorkspaceView

if TYPE_CHECKING:
    from planloom.models.providers.editor_model import EditorCompletion

log = logging.getLogger(__name__)


class Application:
    """One connection's plans, on the ledger that all connections of the user share."""

    def __init__(
        self,
        settings: Settings,
        editor: Editor,
        view: WorkspaceView,
        ledger: Ledger,
        models: Callable[[Callable[[], Settings]], Models],
        *,
        trusted: bool = True,
    ) -> None:
        self.session_id = SessionId(uuid.uuid4().hex)
        self.trusted = trusted
        self._programs = Programs(lambda: self.trusted)
        self._settings = settings
        self._view = view
        self._ledger = ledger
        self._tools = builtin()
        self.models = models(lambda: self._settings)
        self._plan_store = PlanStore(ledger)
        self._jobs = Jobs()
        self.feed = Feed(self._plan_store)
        self._gate = Gate(
            self._plan_store, view, editor, lambda: self._settings, lambda: self.trusted, self._cancel_soon
        )
        self._user_undo = UserUndo(self._plan_store, view)
        self._staging = StagingArea(self._plan_store, view, self._gate, self._made)
        self._context_factory = self._kit_of(view, editor)
        follow_up = FollowUp(self._plan_store, ledger)
        runner = Runner(
            StepDependencies(
                plan_store=self._plan_store,
                gate=self._gate,
                context_factory=self._context_factory,
                staging=self._staging,
                tools=self._tools,
                settings=lambda: self._settings,
                model=self.models.current,
                attachments=StepAttachments(
                    self._plan_store,
                    look=self._look_again,
                    find=self._found,
                    kept=lambda attachment: self.references.attached((attachment,), ledger.text)[0],
                    render=self._rendered,
                ),
                earlier=follow_up.of,
                stream=self._stream,
                reroute=self._reroute,
            )
        )
        resources = Resources(partial(claims_of, self._tools), self._capacity)
        PlanTimeBudget(self._plan_store, lambda: self._settings.budget.max_minutes)
        proposer = ModelProposer(self.models.current, self._tools, lambda: self._settings, self._problems)
        conductor = Conductor(
            self._plan_store, self._jobs, runner, self._limits, resources=resources, proposer=proposer
        )
        self._conductor = conductor
        self._ownership = Ownership(self._plan_store, ledger, view, self._jobs, self._halt)
        self.references = WorkspaceReferences(
            view, editor, lambda: self._settings, self._jobs, self._programs
        )
        self.intake = Intake(
            self.references, lambda: view.roots, lambda: self._settings, lambda: self.models.at_hand
        )
        self.templates = Templates(ledger, self._ownership.see)
        planner_factory = PlannerFactory(
            self.models,
            self.templates,
            self.references,
            self._tools,
            lambda: self._settings,
            lambda: self.trusted,
            ledger.text,
            follow_up.of,
            self._context_factory.reading,
            self._plan_store.clock,
        )
        drafting = Drafting(self._plan_store, self.feed, planner_factory.author, self._prepared)
        turns = Turns(self._ownership, conductor, self._jobs)
        services = PlanServices(
            plan_store=self._plan_store,
            ledger=ledger,
            jobs=self._jobs,
            conductor=conductor,
            gate=self._gate,
            undo_service=UndoService(self._plan_store, turns, view, editor, lambda: self.trusted),
            drafting=drafting,
            ownership=self._ownership,
            turns=turns,
            intake=self.intake,
            problems=self._problems,
            prepared=self._prepared,
            review=lambda: self._settings.execution.review,
            decided=self._decided,
            tools=self._tools,
            session_id=self.session_id,
        )
        self.plans = Plans(services)
        self.steps = Steps(services)
        self.approvals = Approvals(self._gate, self._plan_store.ready)
        self._health = HealthWatch(self.feed, self._problems_now)
        ledger.listen(self._health.look)
        self._plan_store.on_unreadable(self._health.look)
        self._plan_store.on_stop(self._health.stopped)

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
    ) -> Application:
        """Put the application together over the ledger at `storage`; None keeps everything in memory.

        It does nothing before `start`. Raises StorageFailed while another program has the ledger locked.

        `completion` is the editor's own language model, `record` a file for every exchange with a model. A key of
        the environment goes to the base URL only where `base_url_is_users`.
        """

        def models(current: Callable[[], Settings]) -> Models:
            return Models(current, environment, completion, record, base_url_is_users)

        # The ledger may have to wait for another program.
        return cls(settings, editor, view, await asyncio.to_thread(Ledger, storage), models, trusted=trusted)

    def start(self, listen: Callable[[Application], None]) -> None:
        """Begin what goes on in the background: leases, the index, and plans whose server has died.

        `listen` subscribes whoever wants to hear of it, before anything happens.
        """
        listen(self)
        self._health.look()
        self.references.index()
        self._jobs.start("leases", self._ownership.keep())
        try:
            orphans = self._left_by_dead_servers()
        except StorageFailed as error:
            log.warning("plans of servers that have died are not looked for: %s", error.message)
        else:
            self._ownership.take_orphans(orphans)
        self._jobs.start("settle", self._ownership.settle())
        self._jobs.start("model", self.models.current())

    def detect(self, text: str) -> Detection:
        """Whether the rules say that the text wants a plan."""
        return self.intake.detect(text)

    def configure(self, settings: Settings) -> None:
        """Settings that hold from now on."""
        changed = settings.model != self._settings.model
        self._settings = settings
        if changed:
            self._jobs.start("forget-model", self.models.forget())

    async def set_secret(self, provider: str, value: str | None) -> None:
        """Keep a key in memory, or forget it."""
        await self.models.set_secret(provider, value)

    def set_trusted(self, trusted: bool) -> None:
        """Whether the user trusts the workspace; without that nothing in it is changed, and git is not asked."""
        before, self.trusted = self.trusted, trusted
        if trusted and not before:
            self.references.rescan()

    def status(self, log_path: str = "") -> Status:
        """How the server is."""
        live = self._plan_store.live()
        identity = self.models.identity
        folders = self.intake.folders()
        try:
            paused = self._ledger.plans(workspace=workspace_key(folders), statuses=("paused",))
        except StorageFailed:
            paused = ()
        health = self._problems_now()
        return Status(
            version=VERSION,
            session_id=self.session_id,
            model_provider=identity.provider,
            model_name=identity.name,
            model_reason=identity.reason,
            workspace_folders=folders,
            trusted=self.trusted,
            active=tuple(plan.plan_id for plan in live if plan.status in ("draft", "approved", "executing")),
            resumable=tuple(plan_id for plan_id in paused if plan_id not in self._plan_store.unreadable),
            health=health.state,
            problems=health.problems,
            log_path=log_path,
            storage_path=str(self._ledger.path or ""),
        )

    async def close(self) -> None:
        """Stop every job, give leases back, close the ledger. Running plans are resumable."""
        await self._jobs.stop("")
        await self.models.forget()
        self._ledger.close()

    def _problems_now(self) -> Health:
        ledger = (self._ledger.problem,) if self._ledger.problem else ()
        unreadable = tuple(error.message for error in self._plan_store.unreadable.values())
        return Health(problems=(*ledger, *unreadable))

    async def _halt(self, plan_id: PlanId) -> None:
        """Stop everything that runs of a plan, and drop what only this process knew of it."""
        for name in ("cancel-asked", "cancel", "draft", "end"):
            await self._jobs.stop(f"{name}:{plan_id}")
        await self._conductor.halt(plan_id)
        await self._jobs.stop(f"conduct:{plan_id}")
        self._staging.forget(plan_id)
        self._conductor.release(plan_id)

    def _left_by_dead_servers(self) -> list[PlanId]:
        """Plans that a server may have left in the middle: those that moved, and paused ones that still ask.

        Raises StorageFailed.
        """
        workspace = workspace_key(self.intake.folders())
        moving = self._ledger.plans(workspace=workspace, statuses=("draft", "approved", "executing"))
        paused = self._ledger.plans(workspace=workspace, statuses=("paused",))
        return [*moving, *filter(self._ownership.is_left_open, paused)]

    def _limits(self) -> do.Limits:
        execution = self._settings.execution
        return do.Limits(
            max_parallel_steps=execution.max_parallel_steps,
            on_failure=execution.on_failure,
            pause_on_clarification=execution.pause_on_clarification,
        )

    def _capacity(self, resource: str) -> int:
        """How many steps may use a resource at a time: one, but for a model that takes several requests."""
        return self.models.parallelism if resource == MODEL else 1

    async def _decided(self, plan: Plan) -> ev.PlanRouted:
        return await decided(plan, await self.models.current(), self._settings)

    def _cancel_soon(self, plan_id: PlanId) -> None:
        self._jobs.start(f"cancel-asked:{plan_id}", self._cancel(plan_id))

    async def _cancel(self, plan_id: PlanId) -> None:
        await self.plans.cancel(plan_id)

    def _problems(self, plan: Plan, steps: Sequence[Step]) -> tuple[Problem, ...]:
        return problems(steps, self._tools.rules(), sequential=plan.sequential)

    def _prepared(self, steps: Sequence[Step]) -> tuple[Step, ...]:
        """Steps that say whether their effect will be asked for."""
        policy = self._settings.approvals.policy()
        prepared: list[Step] = []
        for step in steps:
            tool = self._tools.get(step.tool or "")
            asks = tool is not None and policy.verdict(tool.effect) == "ask"
            prepared.append(
                step
                if step.requires_approval == asks
                else step.model_copy(update={"requires_approval": asks})
            )
        return tuple(prepared)

    async def _look_again(self, attachment: Attachment) -> ResolvedAttachment | Unresolved | None:
        return await self.references.look_again(attachment)

    async def _found(self, reference: str) -> tuple[ResolvedAttachment, ...]:
        """What a reference names now, once more with its text."""
        return (await self.references.resolve(reference, None)).attachments

    async def _rendered(self, attached: Sequence[ResolvedAttachment]) -> str:
        model = await self.models.current()
        shares = shares_of(await model.capabilities() if model else Capabilities(), self._settings)
        return render(tuple(attached), most_characters=shares.attached_characters).text

    def _index(self) -> FileIndex:
        return self.references.index()

    def _rescan(self) -> asyncio.Task[None]:
        return self.references.rescan()

    def _kit_of(self, view: WorkspaceView, editor: Editor) -> ToolContextFactory:
        """What steps' tools use; the index is asked for late, as the workspace folders may change."""
        return ToolContextFactory(
            plan_store=self._plan_store,
            gate=self._gate,
            staging=self._staging,
            view=view,
            editor=editor,
            settings=lambda: self._settings,
            index=self._index,
            stream=self._stream,
            tools=self._tools,
            programs=self._programs,
            rescan=self._rescan,
            jobs=self._jobs,
        )

    async def _made(self, plan_id: PlanId, changes: Changeset) -> None:
        await self._context_factory.made(plan_id, changes)

    def _stream(
        self,
        plan_id: PlanId,
        step_id: StepId,
        kind: Literal["text", "reasoning", "stdout", "stderr"],
        delta: str,
    ) -> None:
        self.feed.stream(StreamDelta(plan_id=plan_id, step_id=step_id, kind=kind, delta=delta))

    def _reroute(self, plan: Plan, step: Step, wanted: Sequence[Json]) -> None:
        """Put a direct run to review."""
        ready = put_to_review(plan, step, wanted, self._plan_store.clock())
        steps = self._prepared(ready.steps)
        self._plan_store.record(
            plan.plan_id, ready.model_copy(update={"steps": steps}), ev.PlanApprovalRequest()
        )
