"""The state of one client's connection: capabilities, documents, settings, and the application that serves it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls.capabilities import get_capability

from planloom.domain.errors import PlanloomError
from planloom.execution.jobs import Jobs, only_logged
from planloom.lsp import commands
from planloom.lsp.editor.capabilities import Client, registrations
from planloom.lsp.editor.change_lenses import LensRefresh
from planloom.lsp.editor.event_stream import TextStream, send_events, send_spent, send_waits
from planloom.lsp.editor.language_model import LanguageModel
from planloom.lsp.editor.lsp_editor import LspEditor, capabilities
from planloom.lsp.editor.merged_documents import MergedDocuments
from planloom.lsp.editor.message_prompts import MessagePrompts
from planloom.lsp.editor.notices import Notices
from planloom.lsp.editor.progress import ProgressReporter
from planloom.lsp.editor.question_documents import QuestionDocuments
from planloom.lsp.editor.side_files import SideFiles
from planloom.lsp.editor.user_decisions import UserDecisions, can_ask
from planloom.lsp.editor.view_stream import Views
from planloom.lsp.language_server import ServerOptions
from planloom.lsp.plan_documents.shown_documents import DocumentAbilities, PlanDocuments
from planloom.lsp.transport import parent_process
from planloom.lsp.transport.codec import PlanloomProtocol
from planloom.lsp.transport.outgoing import CHOICES, LATER, ClientGone, ClientRefused
from planloom.lsp.wire.view import Explained
from planloom.models.kept_keys import keys_file
from planloom.service.application import Application
from planloom.serving import configuration as config
from planloom.serving import process
from planloom.serving.opening import ApplicationContext, MakeApplication
from planloom.tools.terminal_text import escaped
from planloom.user_settings import user_file
from planloom.view import problems
from planloom.view.words import Words
from planloom.workspace.documents import DocumentStore
from planloom.workspace.mirror import Mirror
from planloom.workspace.paths.roots import Root, Roots, root_of_uri
from planloom.workspace.paths.uris import scheme
from planloom.workspace.view import WorkspaceView

logger = logging.getLogger(__name__)

PULL_SECONDS = 2.0
"""Seconds for which the application waits for the client's settings before it opens without them."""
REFUSE_SECONDS = 0.5
"""Seconds for which the application waits for a client that refuses to ask its user, or a user who has answered."""
FILL_SECONDS = 10.0
"""Seconds for which the application waits until folders that only the editor can reach are fetched."""
MOST_PAUSED = 5
"""How many plans that were paused before the server was started the user is asked about."""


class Connection:
    """The state of one connection. `app`, `views`, `plan_documents` and `merged` exist once `application()` has been
    awaited.
    """

    def __init__(
        self,
        protocol: PlanloomProtocol,
        client: Client,
        make_application: MakeApplication,
        options: ServerOptions,
    ) -> None:
        self.protocol = protocol
        self.client = client
        self.options = options
        self.words = Words(client.locale)
        protocol.explain = self._explained
        protocol.later = self.words(LATER)
        if get_capability(client.capabilities, "window.show_message", None) is None:
            protocol.choices = self.words(CHOICES)
        self.app: Application
        self.views: Views
        self.plan_documents: PlanDocuments
        self.lenses: LensRefresh
        self.merged: MergedDocuments
        self.progress: ProgressReporter | None = None
        self.log_path = options.open_log()
        self.jobs = Jobs(only_logged)
        self.documents = DocumentStore(client.encoding)
        can = capabilities(client.capabilities, client.declared, client.encoding)
        self.editor = LspEditor(protocol, can, self.documents.spelling)
        self.mirror = Mirror(self.editor)
        self.view = WorkspaceView(self._roots(), self.documents, refresh=self.mirror.refresh)
        self.side_files = SideFiles(protocol, client, self.view)
        self.configuration = config.of_connection(options.settings, os.environ, client.options)
        self.decisions = self._user_decisions()
        self._make_application = make_application
        self._opening: asyncio.Task[None] | None = None
        self._turn = asyncio.Lock()
        self._trusted: bool | None = client.declared.trusted
        self._trust_is_stated = False
        self._trust_question: asyncio.Task[None] | None = None
        self._closing = asyncio.Lock()

    def _user_decisions(self) -> UserDecisions | None:
        """Who asks the user what the options of `initialize` do not prove; None if they count, or nobody can ask."""
        state = self.options.state()
        if state is None or self.options.options_are_users or not can_ask(self.client):
            return None
        return UserDecisions(self.protocol, self.client, state, self.words)

    def _explained(self, error: BaseException) -> dict[str, Any]:
        return Explained.of(problems.of_failure(error, datetime.now(UTC), self.words)).json_value()

    # Start and end of the connection.

    def initialized(self) -> None:
        """The client is ready: ask for its settings, open the application."""
        self._begin()
        self.jobs.start("parent", self._leave_with_parent())
        if wanted := registrations(self.client.capabilities):
            self.jobs.start("register", self._register(wanted))

    async def _leave_with_parent(self) -> None:
        if self.client.process is not None and await parent_process.wait_until_ended(self.client.process):
            logger.warning("The editor's process %d has ended", self.client.process)
            self.protocol.on_exit(1)

    async def application(self) -> Application:
        """The application, once it is open. Opens it if the client never sent `initialized`, or if opening failed.

        Whoever asks first goes on first.
        """
        opening = self._begin()
        async with self._turn:
            await asyncio.shield(opening)
        return self.app

    def _begin(self) -> asyncio.Task[None]:
        """The opening of the application, which is begun unless it is under way or done."""
        opening = self._opening
        if opening is None or (opening.done() and (opening.cancelled() or opening.exception() is not None)):
            opening = self._opening = self.jobs.start("open", self._open())
        return opening

    async def _open(self) -> None:
        pull = self.jobs.start("settings", self.pull()) if self._can_pull() else None
        if pull is not None:
            await asyncio.wait({pull}, timeout=PULL_SECONDS)
        await self._settle_options()
        await self._settle_trust()
        settings, problems = self.configuration.resolve()
        self.warn(problems)
        if filling := self._fill(self.view.roots.folders):
            await asyncio.wait({filling}, timeout=FILL_SECONDS)
        context = ApplicationContext(
            settings=settings,
            editor=self.editor,
            view=self.view,
            trusted=self.client.declared.trusted,
            completion=LanguageModel(self.protocol) if self.client.declared.language_model else None,
            log_path=self.log_path,
            storage=self.options.storage,
            record=self.options.record,
            source_of=self.configuration.source_of,
            ask_proposal=None if self.decisions is None else self._ask_proposal,
        )
        app = await self._make_application(context)
        self.app = app
        self._apply_trust()
        app.start(self._listen)
        self.options.on_loaded()

    def _listen(self, app: Application) -> None:
        app.feed.subscribe_notices(
            lambda level, message: self.protocol.show_message(level, f"Planloom: {message}")
        )
        self.views = Views(
            self.protocol.notify,
            self._congested,
            app.plans.spent,
            self.words,
            can_save=self.editor.capabilities.save,
        )
        self.lenses = LensRefresh(
            self.protocol,
            self.jobs,
            is_supported=bool(
                get_capability(self.client.capabilities, "workspace.code_lens.refresh_support", False)
            ),
        )
        self.plan_documents = self._plan_documents(app)
        self.merged = MergedDocuments(app, self.side_files, self.words)
        if self.client.declared.events:
            app.feed.subscribe_health(
                lambda health: self.protocol.notify(
                    "planloom/health", {"health": health.state, "problems": list(health.problems)}
                )
            )
            if self.client.declared.views:
                app.feed.subscribe_stream(self.views.before_text)
            stream = TextStream(self.protocol.notify, self._congested)
            app.feed.subscribe_stream(stream.on_delta)
            app.feed.subscribe(stream.before_event)
            app.feed.subscribe(send_events(self.protocol))
            app.feed.subscribe(send_spent(self.protocol, app.plans.spent))
            app.feed.waits.listen(send_waits(self.protocol))
        if self.client.declared.views:
            app.feed.subscribe(self.views.on_event)
            app.feed.waits.listen(self.views.on_waits)
            app.feed.model_waits.listen(self.views.on_model_waits)
        if get_capability(self.client.capabilities, "window.work_done_progress", False):
            self.progress = ProgressReporter(
                self.protocol, self.jobs, app.plans.cancel, self._congested, self.words
            )
            app.feed.subscribe(self.progress.on_event)
        app.feed.subscribe(self.plan_documents.on_event)
        app.feed.subscribe(self.lenses.on_event)
        if self.client.declared.left_questions:
            documents = QuestionDocuments(
                self.protocol, app, self.plan_documents, self.side_files, self.merged, self.words
            )
            prompts = MessagePrompts(
                self.protocol,
                self.jobs,
                self.client.declared,
                documents,
                lambda button: commands.press(self, button.command, button.arguments),
                self.words,
            )
            app.feed.subscribe(prompts.on_event)
            self.jobs.start("ask-paused", self._ask_about_paused(app, prompts))
        if not self.client.declared.events:
            notices = Notices(self.protocol, self.jobs, self.side_files, self.words)
            app.feed.subscribe(notices.on_event)

    async def _ask_about_paused(self, app: Application, prompts: MessagePrompts) -> None:
        """Ask what waits in plans that were paused before the server was started."""
        for found in app.plans.list(None, ("paused",), MOST_PAUSED, False):
            try:
                plan = app.plans.get(found.plan_id, None)
            except PlanloomError as error:
                logger.info("The paused plan %s is not asked about: %s", found.plan_id, error.message)
                continue
            if plan is not None and app.plans.run_elsewhere(found.plan_id) is None:
                prompts.look(plan)

    def _plan_documents(self, app: Application) -> PlanDocuments:
        def supports(capability: str) -> bool:
            return bool(get_capability(self.client.capabilities, capability, False))

        abilities = DocumentAbilities(
            show=supports("window.show_document.support"),
            document_changes=self.editor.capabilities.document_changes,
            refresh_lenses=self.lenses.now,
            asks_by_message=not self.client.declared.approvals,
            words=self.words,
        )
        return PlanDocuments(self.protocol, app, self.view, self.jobs, abilities, self.editor)

    def _congested(self) -> bool:
        return bool(getattr(self.protocol.writer, "congested", False))

    async def close(self) -> None:
        """End all work in bounded time: at `shutdown`, or when the client has disconnected.

        Returns when nothing is left to end, also where an earlier call is still at it: an `exit` may follow at once.
        """
        async with self._closing:
            await self.jobs.stop("")
            if "app" in vars(self):
                app = vars(self).pop("app")
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(process.CLOSE_SECONDS):
                        await app.close()
            await asyncio.to_thread(self.mirror.remove)

    # Settings, folders and trust.

    async def pull(self) -> None:
        """Ask the client for its settings, and apply them when they arrive."""
        params = {"items": [{"section": config.SECTION}]}
        try:
            answer = await self.protocol.request(types.WORKSPACE_CONFIGURATION, params)
        except (ClientGone, ClientRefused) as error:
            logger.info("The client did not send its settings: %s", error)
            return
        self.configuration.put("workspace", answer[0] if isinstance(answer, list) and answer else None)
        self.configure()

    def configure(self) -> None:
        """Resolve the settings again and apply them."""
        settings, problems = self.configuration.resolve()
        self.warn(problems)
        if "app" in vars(self):
            self.app.configure(settings)

    def configuration_changed(self, params: Any) -> None:
        """The client's settings have changed: ask for them, or apply those that it pushed."""
        if self._can_pull():
            self.jobs.start("settings-changed", self.pull())
        elif (pushed := config.pushed(getattr(params, "settings", None))) is not None:
            self.configuration.put("workspace", pushed)
            self.configure()

    def folders_changed(self, event: types.WorkspaceFoldersChangeEvent) -> None:
        """Workspace folders were opened or closed."""
        for removed in event.removed:
            self.client.folders.pop(removed.uri, None)
        for added in event.added:
            self.client.folders[added.uri] = added.name
        known = self.view.roots.folders
        self.view.roots = self._roots()
        self._fill(root for root in self.view.roots.folders if root not in known)
        if event.added and self.decisions is not None and not self._trust_is_stated:
            self._trusted = None
            self._apply_trust()
            self.jobs.start("trust-of-folders", self._settle_trust())

    def trust(self, trusted: bool) -> None:
        """The user trusts the workspace, or no longer does."""
        self._trusted, self._trust_is_stated = trusted, True
        self._apply_trust()
        if self._trust_question is not None:
            self._trust_question.cancel()

    async def trust_folders(self) -> None:
        """The user trusts the opened folders, as the answer of "Trust" to the question would say."""
        if self.decisions is not None:
            await self.decisions.decide(self._folder_paths(), trusted=True)
        self.trust(True)

    @property
    def asks_trust(self) -> bool:
        """Whether the user has yet to say that they trust the folders."""
        return self._trusted is None

    async def _settle_trust(self) -> None:
        """Take the user's decision on the folders, where the options of `initialize` do not prove it."""
        if self.decisions is None or self._trust_is_stated:
            return
        decided = await self.decisions.are_trusted(self._folder_paths())
        if not self._trust_is_stated:
            self._trusted = decided if self.client.declared.trusted else False
            self._apply_trust()

    def _apply_trust(self) -> None:
        if "app" in vars(self):
            self.app.set_trusted(self._trusted is True, self._ask_trust if self._trusted is None else None)

    async def _ask_trust(self) -> None:
        """Ask the user, once at a time; returns when they have answered or dismissed the question."""
        if self._trust_question is None or self._trust_question.done():
            self._trust_question = self.jobs.start("ask-trust", self._put_trust_question())
        # Who waits may be cancelled; the question stays open.
        await asyncio.wait({self._trust_question})

    async def _put_trust_question(self) -> None:
        assert self.decisions is not None
        try:
            answer = await self.decisions.ask_trust(self._folder_paths())
        except ClientRefused as error:
            # If it never asks, what it said in `initialize` counts, as for every such client. A refusal for another
            # reason, such as a prompt that is open, is no answer of the user.
            answer = self.client.declared.trusted if error.is_unknown else None
        except ClientGone:
            return
        if answer is not None and not self._trust_is_stated:
            self._trusted = answer
            self._apply_trust()

    async def _settle_options(self) -> None:
        """Hold back what the options of `initialize` do not prove to be the user's, and ask the user once."""
        if self.decisions is None or not (beyond := self.configuration.hold_back_options()):
            return
        kept = await self.decisions.are_kept(beyond)
        if kept:
            self.configuration.accept_options()
        elif kept is None:
            asking = self.jobs.start("ask-options", self._ask_to_keep(self.decisions, beyond))
            # A client that refuses to ask does so at once, and its options then count from the start.
            await asyncio.wait({asking}, timeout=REFUSE_SECONDS)

    async def _ask_proposal(self, name: str, line: str, folder: str) -> bool | None:
        """Ask about an MCP server that a folder proposes; nobody to ask is no answer."""
        assert self.decisions is not None
        try:
            return await self.decisions.ask_for_server(name, escaped(line), folder)
        except (ClientGone, ClientRefused):
            return None

    async def _ask_to_keep(self, decisions: UserDecisions, beyond: dict[str, Any]) -> None:
        try:
            kept = await decisions.ask_to_keep(beyond)
        except ClientRefused as error:
            kept = error.is_unknown
        except ClientGone:
            return
        if kept:
            self.configuration.accept_options()
            self.configure()

    def warn(self, problems: tuple[str, ...]) -> None:
        """Show the problems with the settings to the user."""
        for problem in problems:
            self.protocol.show_message("warning", f"Planloom: {problem}. The setting keeps its default.")

    def _can_pull(self) -> bool:
        return bool(get_capability(self.client.capabilities, "workspace.configuration", False))

    async def _register(self, wanted: list[dict[str, Any]]) -> None:
        try:
            await self.protocol.request(types.CLIENT_REGISTER_CAPABILITY, {"registrations": wanted})
        except (ClientGone, ClientRefused) as error:
            logger.info("The client did not register for changes: %s", error)

    def _roots(self) -> Roots:
        found = [
            self.mirror.root(uri, name) if self._is_virtual(uri) else root_of_uri(uri, name)
            for uri, name in self.client.folders.items()
        ]
        own = (self.options.storage, self.log_path, self.options.state(), user_file(), keys_file())
        private = tuple(path for path in own if path is not None)
        return Roots(tuple(root for root in found if root is not None), private)

    def _is_virtual(self, uri: str) -> bool:
        """Whether only the editor can reach a workspace folder, and makes every edit there."""
        if scheme(uri) == "file" or not self.client.declared.files:
            return False
        can = self.editor.capabilities.creating("auto")
        return all(
            (can.create_files, can.create_contents, can.create_folders, can.rename_files, can.delete_files)
        )

    def _fill(self, folders: Iterable[Root]) -> asyncio.Task[None] | None:
        """Fetch what is in folders that only the editor can reach; None if there are none."""
        virtual = [root.uri for root in folders if root.is_virtual]
        if not virtual:
            return None

        async def fill() -> None:
            for folder in virtual:
                await self.mirror.fill(folder)
            if "app" in vars(self):
                self.app.index.rescan()

        return self.jobs.start(f"fill:{' '.join(virtual)}", fill())

    def _folder_paths(self) -> tuple[Path, ...]:
        """The folders that a user decides about; a virtual one is trusted as the client declares."""
        return tuple(root.path for root in self._roots().folders if not root.is_virtual)
