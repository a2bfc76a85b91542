"""The application of one process, opened for the folders of the first call and kept until the process ends."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from planloom.domain.errors import PlanloomError, WorkspaceRequired
from planloom.domain.events import catalog as ev
from planloom.domain.plans.plan import Plan
from planloom.execution.jobs import Jobs, only_logged
from planloom.mcp.no_editor import NoEditor
from planloom.service.application import Application
from planloom.serving.configuration import of_connection
from planloom.serving.opening import ApplicationContext, open_application
from planloom.shielded import uninterrupted
from planloom.storage.decisions import FILE, Decisions
from planloom.user_folders import state_folder
from planloom.workspace.documents import DocumentStore
from planloom.workspace.paths.roots import Roots, root_at
from planloom.workspace.view import WorkspaceView

log = logging.getLogger(__name__)


class Options(NamedTuple):
    """The command line. Without `folders` the client's roots are used, else the current folder."""

    folders: Sequence[Path] = ()
    trust: bool = False
    asks: bool = True
    settings: Sequence[str] = ()


class Workspace:
    """The folders that the calling agent works in, and the application over them.

    Between calls it holds no plan that waits for a person: the command line or an editor can go on with it.
    """

    def __init__(self, options: Options, loaded: Callable[[], None] = lambda: None) -> None:
        """`loaded` is called when everything is imported and the keys of the environment are read."""
        self.asks = options.asks
        self.jobs = Jobs(only_logged)
        self.folders: tuple[Path, ...] = ()
        self.untrusted: Path | None = None
        self._options = options
        self._loaded = loaded
        self._decisions = Decisions(state_folder() / FILE)
        self._app: Application | None = None
        self.dialog = asyncio.Lock()
        self._opening = asyncio.Lock()

    async def application(self, roots: Callable[[], Awaitable[Sequence[Path]]]) -> Application:
        """The application, opened by the first call; `roots` asks the client for its folders, if that is needed.

        Raises WorkspaceRequired, and StorageFailed while another program has the ledger locked.
        """
        async with self._opening:
            if self._app is None:
                folders = self._options.folders or await roots() or (Path.cwd(),)
                self._app = await uninterrupted(self._open(tuple(folders)))
            # The person may have decided on the folders since the last call.
            self.untrusted = self._first_untrusted()
            self._app.set_trusted(self.untrusted is None)
        return self._app

    async def _open(self, folders: tuple[Path, ...]) -> Application:
        if any(each == Path(each.anchor) for each in folders):
            raise WorkspaceRequired(
                "The folder to work in would be the whole disk.",
                hint="Start `planloom mcp` in a folder, or name one by `--workspace`.",
            )
        configuration = of_connection(self._options.settings, os.environ, None)
        settings, problems = configuration.resolve()
        for problem in problems:
            log.warning("settings: %s", problem)
        # A dialog of an agent's client may show less than the whole plan, so the approval covers no call of it.
        approvals = settings.approvals.model_copy(update={"plan": "none"})
        self.folders = folders
        app = await open_application(
            ApplicationContext(
                settings=settings.model_copy(update={"approvals": approvals}),
                editor=NoEditor(),
                view=WorkspaceView(Roots(tuple(map(root_at, folders))), DocumentStore("utf-16")),
                trusted=self._first_untrusted() is None,
                source_of=configuration.source_of,
            )
        )
        app.start(self._follow)
        self._loaded()
        return app

    def _first_untrusted(self) -> Path | None:
        if self._options.trust:
            return None
        return next((each for each in self.folders if not self._decisions.is_trusted(each)), None)

    def _follow(self, app: Application) -> None:
        def on_event(_: ev.Recorded, plan: Plan) -> None:
            if plan.status in ("pending_approval", "paused", "rejected"):
                self.jobs.start(f"give-back:{plan.plan_id}", _give_back(app, plan))

        app.feed.subscribe(on_event)
        app.feed.subscribe_notices(lambda level, message: log.warning("%s: %s", level, message))

    async def close(self) -> None:
        """End all work; running plans are paused, and can be resumed."""
        await self.jobs.stop("")
        if self._app is not None:
            await self._app.close()
            self._app = None


async def _give_back(app: Application, plan: Plan) -> None:
    with suppress(PlanloomError):
        await app.plans.give_back(plan.plan_id)
