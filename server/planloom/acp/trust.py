"""Whether the folders of a session are trusted: by the decision that the command line keeps, or by the person's answer.

A client opens whatever folder its user works in, and a folder can say nothing for itself. So it counts as in the
command line: what was decided there holds here, and what is undecided is asked once a plan needs it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from acp import schema

from planloom.acp import shown
from planloom.acp.client import CannotAsk, Client
from planloom.domain.errors import StorageFailed
from planloom.storage.decisions import FILE, Decisions
from planloom.user_folders import state_folder

if TYPE_CHECKING:
    from planloom.service.application import Application
    from planloom.view.words import Words

logger = logging.getLogger(__name__)
_YES = "trust"


class Trust:
    """The trust in the folders of one session."""

    def __init__(self, client: Client, session_id: str, folders: Sequence[Path], t: Words) -> None:
        self._client = client
        self._session_id = session_id
        self._folders = folders
        self._words = t
        self._decisions = Decisions(state_folder() / FILE)
        self._undecided: list[Path] = []
        self._app: Application | None = None
        self._asking = asyncio.Lock()

    async def settle(self, app: Application) -> None:
        """Apply what has been decided; what has not is asked when a plan first needs it."""
        self._app = app
        decided = {each: await asyncio.to_thread(self._decisions.is_trusted, each) for each in self._folders}
        self._undecided = (
            [] if False in decided.values() else [f for f, trusted in decided.items() if trusted is None]
        )
        app.set_trusted(all(decided.values()), self.ask if self._undecided else None)

    async def ask(self) -> None:
        """Ask the person, unless they have decided; returns once they have answered or dismissed the question."""
        async with self._asking:
            if self._undecided and self._app is not None:
                await self._ask(self._app)

    async def _ask(self, app: Application) -> None:
        t, names = self._words, ", ".join(map(str, self._undecided))
        text = t(
            "Planloom: do you trust {0}? In a trusted folder Planloom follows its instructions (AGENTS.md), runs git,"
            " and makes the changes and runs the commands that you allow. Else it only reads.",
            names,
        )
        answers = {_YES: t("Trust"), "read": t("Only read")}
        chosen = await self._chosen("ask-trust", t("Trust {0}?", names), text, answers)
        if chosen is None:
            return
        for folder in self._undecided:
            try:
                await asyncio.to_thread(self._decisions.decide_folder, folder, trusted=chosen == _YES)
            except StorageFailed as error:
                logger.warning("%s", error.message)
        self._undecided = []
        app.set_trusted(chosen == _YES)

    async def ask_server(self, name: str, line: str, folder: str) -> bool | None:
        """Whether the person lets an MCP server be used that the client or a folder names; None if they dismiss it."""
        t = self._words
        text = t(
            "Planloom: use the MCP server {0} in {1}? Models may call its tools, and you are asked each time.\n\n{2}",
            name,
            folder,
            line,
        )
        answers = {_YES: t("Use it"), "no": t("Do not use it")}
        chosen = await self._chosen(f"ask-server-{name}", t("Use the MCP server {0}?", name), text, answers)
        return None if chosen is None else chosen == _YES

    async def _chosen(self, ident: str, title: str, text: str, answers: dict[str, str]) -> str | None:
        """The answer of the person, of which the first allows; None if they dismiss the question, or are not asked."""
        about = schema.ToolCallUpdate(
            tool_call_id=ident,
            title=shown.title(title),
            kind="other",
            status="pending",
            content=list(shown.content(text)),
        )
        options = [
            schema.PermissionOption(
                option_id=answer, name=name, kind="allow_always" if answer == _YES else "reject_always"
            )
            for answer, name in answers.items()
        ]
        try:
            return await self._client.ask(self._session_id, about, options)
        except (CannotAsk, ConnectionError) as error:
            logger.info("The client does not ask: %s", error)
            return None
