"""Asks the user what `initializationOptions` do not prove: that a folder is trusted, and that settings are the user's.

Several editors fill these options from a file of the opened folder, and the server cannot tell. Answers are kept in the
user's state, so that each is asked once.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pygls.capabilities import get_capability

from planloom.domain.errors import StorageFailed
from planloom.storage.decisions import FILE, Decisions

if TYPE_CHECKING:
    from planloom.lsp.editor.capabilities import Client
    from planloom.lsp.transport.codec import PlanloomProtocol
    from planloom.lsp.transport.outgoing import MessageKind
    from planloom.view.words import Words

logger = logging.getLogger(__name__)

_ASKING: Final = frozenset({"eglot", "emacs", "helix", "kate", "zed"})
"""Names of editors for people, in small letters, that show messages with buttons and do not declare it."""
_SHOWN: Final = 10
"""How many options one question names."""
_LONGEST: Final = 120
"""Characters of an option's value in the question."""


class UserDecisions:
    """The decisions of the user of one client. The asking methods raise ClientGone and ClientRefused."""

    def __init__(self, protocol: PlanloomProtocol, client: Client, state: Path, words: Words) -> None:
        self._protocol = protocol
        self._words = words
        self._editor = client.name
        self._kept = Decisions(state / FILE)

    async def are_trusted(self, folders: Sequence[Path]) -> bool | None:
        """Whether all folders are trusted; None if the user has not decided on one of them, and refused none."""
        answers = [await asyncio.to_thread(self._kept.is_trusted, folder) for folder in folders]
        return False if False in answers else None if None in answers else True

    async def ask_trust(self, folders: Sequence[Path]) -> bool | None:
        """Ask whether the folders are trusted; None if the question was dismissed."""
        t = self._words
        question = t(
            "Planloom: do you trust {0}? In a trusted folder Planloom follows its instructions (AGENTS.md), runs git,"
            " and makes the changes and runs the commands that you allow. Else it only reads.",
            ", ".join(map(str, folders)),
        )
        trusted = await self._asked("info", question, t("Trust"), t("Only read"))
        if trusted is not None:
            await self.decide(folders, trusted=trusted)
        return trusted

    async def decide(self, folders: Sequence[Path], *, trusted: bool) -> None:
        """Keep the user's decision on folders."""
        for folder in folders:
            await self._keep(self._kept.decide_folder, folder, trusted=trusted)

    async def are_kept(self, options: Mapping[str, Any]) -> bool | None:
        """Whether the user keeps these options of this editor; None if they have not decided."""
        return await asyncio.to_thread(self._kept.are_kept, self._digest(options))

    async def ask_to_keep(self, options: Mapping[str, Any]) -> bool | None:
        """Ask whether these options are the user's own; None if the question was dismissed."""
        lines = [f"{name}: {_shown(value)}" for name, value in sorted(options.items())]
        t = self._words
        if len(lines) > _SHOWN:
            lines[_SHOWN:] = [t("and {0} more", len(lines) - _SHOWN)]
        question = t(
            "Planloom: this editor sends settings that an opened folder must not set."
            " Keep them if they are from your own configuration."
        )
        kept = await self._asked("warning", "\n".join([question, *lines]), t("Keep them"), t("Ignore them"))
        if kept is not None:
            await self._keep(self._kept.decide_options, self._digest(options), kept=kept)
        return kept

    async def ask_for_server(self, name: str, line: str, folder: str) -> bool | None:
        """Ask about an MCP server that a folder proposes; None if the question was dismissed. Who asks keeps it."""
        t = self._words
        question = t(
            "Planloom: the folder {0} wants to start the MCP server {1}, so that plans use its tools. Its whole command"
            " line or address:\n{2}\nIt starts confined, with the first plan; what it does beyond that is up to it.",
            folder,
            name,
            line,
        )
        return await self._asked("warning", question, t("Use it"), t("Ignore it"))

    async def _asked(self, kind: MessageKind, question: str, yes: str, no: str) -> bool | None:
        chosen = await self._protocol.ask_by_message(kind, question, [yes, no])
        return None if chosen is None else chosen == yes

    async def _keep(self, keep: Any, *subject: Any, **answer: bool) -> None:
        try:
            await asyncio.to_thread(keep, *subject, **answer)
        except StorageFailed as error:
            self._protocol.show_message("warning", f"Planloom: {error.message}")

    def _digest(self, options: Mapping[str, Any]) -> str:
        return hashlib.sha256(json.dumps([self._editor, options], sort_keys=True).encode()).hexdigest()


def can_ask(client: Client) -> bool:
    """Whether a person can be asked: the client is known to show messages with buttons, or declares it.

    LSP's own declaration counts only with a name, since programs copy it without a person behind them.
    """
    if client.declared.messages or client.name.casefold() in _ASKING:
        return True
    shows = get_capability(client.capabilities, "window.show_message.message_action_item", None)
    return bool(client.name) and bool(shows)


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
