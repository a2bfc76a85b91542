"""The whole application over an editor in memory and a real folder: what most tests of behaviour stand on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

from planloom.domain.errors import ModelFailed
from planloom.domain.events import catalog as ev
from planloom.domain.plans.plan import Plan
from planloom.domain.safety.approvals import Approval
from planloom.domain.safety.known_keys import KnownKeys
from planloom.domain.values import PlanId, StepId
from planloom.execution.model_waits import ModelWaits
from planloom.execution.session import Session
from planloom.models.offline.scripted import ScriptedModel, Turn
from planloom.models.port import Model, ModelEvent, ModelIdentity, ModelRequest
from planloom.service.application import Application
from planloom.service.models import AvailableModels, Outlook, TestAnswer, no_model
from planloom.service.requests import CreateRequest, Until
from planloom.settings import ModelSettings, resolve
from planloom.storage.decisions import Decisions
from planloom.storage.ledger import Ledger
from planloom.tools.external_tools import ExternalTools
from planloom.workspace.documents import DocumentStore
from planloom.workspace.editor import EditorCapabilities
from planloom.workspace.language import Language
from planloom.workspace.paths.roots import Roots, root_at
from planloom.workspace.view import WorkspaceView
from tests.support.fake_editor import EVERYTHING, Behaviour, FakeEditor


class OneModel:
    """Stands where models are chosen: always this one, or none."""

    def __init__(self, model: Model | None) -> None:
        self.model = model
        self.failure: ModelFailed | None = None
        self.parallelism = 4
        self.known_keys = KnownKeys()
        self.waits = ModelWaits()

    @property
    def identity(self) -> ModelIdentity:
        if self.model is not None:
            return self.model.identity
        return ModelIdentity(provider="embedded", name="rules", reason="a test has no model")

    @property
    def chosen(self) -> ModelSettings:
        return ModelSettings()

    def on_selected(self, listener: Callable[[], None]) -> None:
        """The model stays the same."""

    @property
    def at_hand(self) -> bool:
        return self.model is not None

    async def current(self) -> Model | None:
        return self.model

    async def for_work(self, plan_id: PlanId, step_id: StepId | None = None) -> Model | None:
        model = await self.current()
        return None if model is None else self.waits.watched(model, plan_id, step_id)

    def no_model(self) -> ModelFailed:
        return no_model(self.failure)

    async def outlook(self) -> Outlook:
        return Outlook() if self.model is not None else Outlook(problem=self.no_model().problem)

    async def list(self, *, select: bool = False) -> AvailableModels:
        return AvailableModels((), self.identity)

    async def test(self) -> TestAnswer:
        return TestAnswer(self.identity, "Ready.", 1)

    async def set_secret(self, provider: str, value: str | None) -> None:
        """Nothing is asked for a key."""

    async def forget(self) -> None:
        """The one model stays."""


def a_session(settings: Mapping[str, Any] = {}, folders: Sequence[Path] = ()) -> Session:
    """A session of its own, with these settings of the user."""
    view = WorkspaceView(Roots(tuple(map(root_at, folders))), DocumentStore("utf-16"))
    return Session(resolve({"user": settings}).settings, view, FakeEditor(view.documents))


class InterruptedModel(ScriptedModel):
    """A scripted model. While it writes its answer of this number, counted from 1, `meanwhile` happens."""

    def __init__(
        self, turns: Sequence[Turn], meanwhile: Mapping[int, Callable[[], Awaitable[Any]]], **more: Any
    ) -> None:
        super().__init__(turns, **more)
        self._meanwhile = meanwhile

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent]:
        happens = self._meanwhile.get(len(self.requests) + 1)
        async with aclosing(super().stream(request)) as events:
            async for event in events:
                if happens is not None:
                    await happens()
                    happens = None
                yield event


class Studio:
    """One user at work: a folder, an editor, the application, and what was heard of it."""

    def __init__(
        self,
        folder: Path,
        files: Mapping[str, str | bytes] = {},
        *,
        model: Model | None = None,
        settings: Mapping[str, Any] = {},
        capabilities: EditorCapabilities = EVERYTHING,
        script: Sequence[Behaviour] = (),
        ledger: Path | Ledger | None = None,
        patience: float = 10,
        trusted: bool = True,
        decisions: Decisions | None = None,
        private: tuple[Path, ...] = (),
        language: Language | Callable[[Session], Language] | None = None,
        external: Callable[[Session], ExternalTools] | None = None,
    ) -> None:
        """`patience` is how many seconds anything may take, `decisions` what the user has decided on folders."""
        self.patience = patience
        self.folder = folder / "workspace"
        self.folder.mkdir(exist_ok=True)
        for name, content in files.items():
            self.path(name).parent.mkdir(parents=True, exist_ok=True)
            self.path(name).write_bytes(content.encode() if isinstance(content, str) else content)
        self.documents = DocumentStore(capabilities.encoding)
        self.editor = FakeEditor(self.documents, capabilities, script=script)
        self.view = WorkspaceView(Roots((root_at(self.folder),)), self.documents)
        self.model = OneModel(model)
        # Most tests are about what is asked, so each literal call is, unless a test says otherwise.
        settings = {"approvals.plan": "none", **settings}
        resolved = resolve({"user": settings}).settings
        session = Session(resolved, self.view, self.editor, trusted=trusted, private=private)
        session.decisions = decisions
        session.language = language(session) if callable(language) else language
        session.external = None if external is None else external(session)
        self.app = Application(
            session,
            ledger if isinstance(ledger, Ledger) else Ledger(ledger),
            self.model,  # type: ignore[arg-type]
        )
        self.events: list[ev.Recorded] = []
        self.notices: list[tuple[str, str]] = []
        self.app.start(self._listen)

    def _listen(self, app: Application) -> None:
        app.feed.subscribe(lambda recorded, _: self.events.append(recorded))
        app.feed.subscribe_notices(lambda level, message: self.notices.append((level, message)))

    def path(self, name: str) -> Path:
        return self.folder / name

    def uri(self, name: str) -> str:
        return str(self.view.roots.folders[0].uri) + "/" + name

    def text(self, name: str) -> str:
        """What the user sees of a file."""
        return self.editor.text(self.path(name))

    def types(self) -> list[str]:
        """The types of the events heard so far."""
        return [recorded.event.type for recorded in self.events]

    async def ask(self, text: str, **more: Any) -> Plan:
        """Put a request; the plan as soon as it waits for a person, or has ended."""
        created = await self.app.plans.create(CreateRequest(text=text, **more))
        return await self.reach(created.plan, "attention")

    async def reach(self, plan: Plan, until: Until) -> Plan:
        """Wait for the plan."""
        now, reached = await self.app.plans.wait(plan.plan_id, until, self.patience)
        assert reached, f"still {now.status}"
        return now

    async def approve(self, plan: Plan, **more: Any) -> Plan:
        """Approve the version at hand; the plan as soon as it waits for a person again, or has ended."""
        await self.app.plans.approve(plan.plan_id, plan.version, more.get("review"))
        return await self.reach(plan, "attention")

    async def respond(self, plan: Plan, decision: Any = "allow", **more: Any) -> Plan:
        """Answer the first approval that waits."""
        approval = plan.pending.approvals[0]
        await self.app.approvals.respond(
            approval.approval_id,
            decision,
            more.get("reason"),
            more.get("files"),
            more.get("confinement"),
            more.get("edits", ()),
        )
        return await self.settled(plan, approval)

    async def settled(self, plan: Plan, answered: Approval) -> Plan:
        """Wait until something else than `answered` waits for a person, or the plan has ended."""
        return await self.until(
            plan,
            lambda now: (
                answered not in now.pending.approvals
                and (
                    now.status in ("completed", "failed", "cancelled", "paused", "pending_approval")
                    or bool(now.pending.approvals or now.pending.conflicts)
                )
            ),
        )

    async def until(self, plan: Plan, holds: Callable[[Plan], bool]) -> Plan:
        """Wait until something holds of the plan."""
        news = asyncio.Event()
        quiet = self.app.feed.subscribe(lambda *_: news.set())
        try:
            async with asyncio.timeout(self.patience):
                while not holds(now := self.now(plan)):
                    await news.wait()
                    news.clear()
        finally:
            quiet()
        return now

    def now(self, plan: Plan) -> Plan:
        """The plan as it is now."""
        found = self.app.plans.get(plan.plan_id, None)
        assert found is not None
        return found

    async def run(self, text: str, **more: Any) -> Plan:
        """Put a request and allow everything it asks, to the end."""
        plan = await self.ask(text, **more)
        if plan.status == "pending_approval":
            plan = await self.approve(plan)
        while plan.pending.approvals:
            plan = await self.respond(plan)
        return plan


@asynccontextmanager
async def studio(folder: Path, files: Mapping[str, str | bytes] = {}, **more: Any) -> AsyncIterator[Studio]:
    """A studio that is closed at the end."""
    made = Studio(folder, files, **more)
    try:
        yield made
    finally:
        await made.app.close()
