"""The state of one connection: its id, settings, trust, workspace and editor."""

from __future__ import annotations

import tempfile
import uuid
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from planloom.domain.errors import UntrustedWorkspace
from planloom.domain.safety.confinement import Abilities, Confinement
from planloom.domain.scheduling import directives as do
from planloom.domain.values import Instant, PlanId, SessionId, Uri
from planloom.settings import Settings
from planloom.tools.confinement.confined_command import Confined
from planloom.tools.confinement.places import Reach
from planloom.tools.external_tools import SEPARATOR, offered
from planloom.tools.tool import Tool
from planloom.workspace.editor import Editor
from planloom.workspace.index.programs import Programs
from planloom.workspace.language import Language
from planloom.workspace.view import WorkspaceView

if TYPE_CHECKING:
    from planloom.domain.safety.command_rules import CommandRule
    from planloom.storage.decisions import Decisions
    from planloom.tools.external_tools import ExternalTools

AskTrust = Callable[[], Awaitable[None]]
"""Asks the user whether they trust the workspace, and returns once they have answered or dismissed the question. The
answer comes by `Session.trust`."""


class Session:
    """One connection. Its parts keep the session and read each value when they need it: settings, trust and folders
    may change at any moment.

    `decisions` keep what the user has decided on folders, if it is kept. `language` is what language servers know of
    the code, if anything asks them; `external` are the tools of the user's MCP servers. `context_tokens` is how many
    the model that is used takes at a time, as far as that is known. Settings and trust change only by `configure` and
    `trust`; the view and its documents follow the editor.
    """

    def __init__(
        self,
        settings: Settings,
        view: WorkspaceView,
        editor: Editor,
        *,
        trusted: bool = True,
        clock: Callable[[], Instant] = lambda: datetime.now(UTC),
        private: tuple[Path, ...] = (),
    ) -> None:
        """`private` are the server's own folders, which no command sees."""
        self.session_id = SessionId(uuid.uuid4().hex)
        self.view = view
        self.editor = editor
        self.clock = clock
        self.programs = Programs(lambda: self._trusted)
        self._settings = settings
        self._trusted = trusted
        self._ask_trust: AskTrust | None = None
        self._dismissed: set[PlanId] = set()
        self._private = private
        self.decisions: Decisions | None = None
        self.language: Language | None = None
        self.external: ExternalTools | None = None
        self.context_tokens: int | None = None

    @property
    def settings(self) -> Settings:
        """The settings that hold now."""
        return self._settings

    @property
    def trusted(self) -> bool:
        """Whether the user trusts the workspace; without that nothing in it is changed, and no program runs."""
        return self._trusted

    def tools_of_servers(self) -> tuple[Tool, ...]:
        """The tools of the user's MCP servers that are known now."""
        if self.external is None or not self._trusted or not (known := self.external.tools()):
            return ()
        return offered(known)

    async def know_tools(self, names: Iterable[str | None]) -> tuple[str, ...]:
        """Know which tools the user's MCP servers have, if one of these names may be of them: after a restart none has
        been started yet. Returns what a person should know of it.
        """
        known = {tool.name for tool in self.tools_of_servers()}
        unknown = any(name and SEPARATOR in name and name not in known for name in names)
        return await self.external.ready() if unknown and self.external is not None else ()

    @property
    def folders(self) -> tuple[Uri, ...]:
        """The URIs of the workspace folders, as the client sent them."""
        return tuple(root.uri for root in self.view.roots.folders)

    def configure(self, settings: Settings) -> None:
        """Use these settings from now on."""
        self._settings = settings

    def trust(self, trusted: bool, ask: AskTrust | None = None) -> None:
        """The user trusts the workspace, or no longer does; with `ask`, they have not decided yet."""
        self._trusted = trusted
        self._ask_trust = ask

    async def settle_trust(self, plan_id: PlanId) -> None:
        """Have the user asked whether they trust the workspace, if they have not decided; once for each plan."""
        if self._trusted or self._ask_trust is None or plan_id in self._dismissed:
            return
        await self._ask_trust()
        self._dismissed.add(plan_id)

    def require_trust(self, consequence: str) -> None:
        """Raise UntrustedWorkspace, with the consequence in its message, unless the workspace is trusted."""
        if not self._trusted:
            raise UntrustedWorkspace(f"The workspace is not trusted, so {consequence}.")

    def confined(self, plan_id: PlanId, confinement: Confinement) -> Confined:
        """How a command of a plan that was allowed this is confined in the workspace as it is now."""
        roots = tuple(root.path for root in self.view.roots.folders)
        commands = self._settings.commands
        reach = Reach(roots, self._private, expanded(commands.writable), expanded(commands.readable))
        return Confined(confinement, reach, self.plan_folder(plan_id))

    def plan_folder(self, plan_id: PlanId) -> Path:
        """The folder of a plan's commands: long outputs, temporary files, home and caches. It goes with the plan."""
        return self.plan_folders / plan_id

    def rules(self, folder: Path) -> tuple[CommandRule, ...]:
        """The rules by which the user allows commands in the workspace folder that holds this one."""
        root = self._root_of(folder)
        return () if self.decisions is None or root is None else self.decisions.rules(root)

    def keep_rules(self, folder: Path, rules: Sequence[CommandRule]) -> None:
        """Keep rules for the workspace folder that holds this one. Raises StorageFailed."""
        root = self._root_of(folder)
        if self.decisions is not None and root is not None:
            self.decisions.keep_rules(root, rules)

    def forget_rules(self, folder: Uri, text: str | None) -> int:
        """Forget the rules of an open workspace folder, or that with this text. Raises StorageFailed."""
        root = next((each.path for each in self.view.roots.folders if each.uri == folder), None)
        return 0 if self.decisions is None or root is None else self.decisions.forget_rules(root, text)

    def _root_of(self, folder: Path) -> Path | None:
        roots = (root.path for root in self.view.roots.folders)
        return next((root for root in roots if folder.is_relative_to(root)), None)

    @property
    def plan_folders(self) -> Path:
        """Where the folders of plans are."""
        if self._private:
            return self._private[0] / "plans"
        return Path(tempfile.gettempdir(), f"planloom-{self.session_id}")

    def command_abilities(self, machine: Abilities) -> Abilities:
        """How commands are confined: by what the machine can do and the folders that the user lets them write."""
        return machine._replace(writable=self._settings.commands.writable)

    def limits(self) -> do.Limits:
        """The limits of the scheduling of steps, by the settings."""
        execution = self._settings.execution
        return do.Limits(
            max_parallel_steps=execution.max_parallel_steps,
            on_failure=execution.on_failure,
            pause_on_clarification=execution.pause_on_clarification,
        )


def expanded(folders: Iterable[str]) -> tuple[Path, ...]:
    """Folders of the settings, with `~` as the home."""
    found = []
    for each in folders:
        # Without a home there is nothing that `~` stands for.
        with suppress(RuntimeError):
            found.append(Path(each).expanduser())
    return tuple(found)
