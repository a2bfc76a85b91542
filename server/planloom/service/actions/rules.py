"""The rules by which the user allows commands in the open workspace folders: listed and taken back."""

from __future__ import annotations

import asyncio
from typing import NamedTuple

from planloom.domain.safety.confinement_choices import confinement_line
from planloom.domain.values import Uri
from planloom.execution.session import Session
from planloom.tools.confinement.abilities import abilities


class FolderRule(NamedTuple):
    """A rule of a workspace folder. `line` says how the commands that it allows are confined."""

    folder: Uri
    text: str
    line: str


class Rules:
    """The commands that the user has allowed by "allow in this folder"."""

    def __init__(self, session: Session) -> None:
        self._session = session

    async def list_rules(self) -> tuple[FolderRule, ...]:
        """The rules of the open folders."""
        return await asyncio.to_thread(self._listed)

    async def revoke(self, folder: Uri, text: str | None) -> int:
        """Take back the rule of a folder with this text, or all. Raises StorageFailed."""
        return await asyncio.to_thread(self._session.forget_rules, folder, text)

    def _listed(self) -> tuple[FolderRule, ...]:
        has = self._session.command_abilities(abilities())
        return tuple(
            FolderRule(root.uri, rule.text, confinement_line(rule.confinement, has))
            for root in self._session.view.roots.folders
            for rule in self._session.rules(root.path)
        )
