"""Chooses who is asked about code: the editor, where nothing is staged, else a server of our own."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Final, TypeVar, cast, get_args

from planloom.domain.changes import Changeset
from planloom.domain.problems import Judged
from planloom.domain.text.positions import Position, Range
from planloom.domain.values import Args, Json, Uri
from planloom.execution.session import Session
from planloom.languages import spoken
from planloom.languages.servers import Servers, Work
from planloom.languages.table import SUFFIXES
from planloom.languages.texts import text_on_disk
from planloom.workspace.editor import Diagnostic, EditorSilent, FileDiagnostics, LanguageMethod
from planloom.workspace.language import (
    CodeAction,
    CodeChange,
    Nearby,
    NotKnown,
    Place,
    ServerReport,
    Symbol,
    Texts,
)
from planloom.workspace.paths.uris import normalized

ASK_SECONDS: Final = 10.0
"""How long a question may take, but for a judgement."""
T = TypeVar("T")


class Languages:
    """What is known of the code of a session's workspace; see `workspace/language.py`."""

    def __init__(self, session: Session, folder: Path) -> None:
        """`folder` is one of our own."""
        self._session = session
        self._servers = Servers(session, folder)

    def serves(self, uri: Uri) -> bool:
        """Whether somebody can probably answer for a file like this one."""
        by_editor = self._editor_answers and PurePosixPath(uri).suffix in SUFFIXES
        return by_editor or self.judges(uri)

    def judges(self, uri: Uri) -> bool:
        """Whether staged text of a file like this one can probably be judged."""
        return self._servers.serves(normalized(uri))

    def prepare(self, uri: Uri) -> None:
        """Begin to start whoever judges files like this one."""
        self._servers.prepare(normalized(uri))

    async def symbols(self, uri: Uri, texts: Texts) -> tuple[Symbol, ...]:
        """The symbols of a file."""
        key = normalized(uri)
        return await self._ask(key, texts, lambda ask, _: spoken.symbols(ask, key))

    async def named(self, name: str, texts: Texts) -> tuple[Symbol, ...]:
        """The symbols of the workspace that a name finds."""
        if self._editor_answers and not texts:
            with suppress(NotKnown):
                if by_editor := await self._within(spoken.named(self._ask_editor, name)):
                    return by_editor
        return await self._servers.named(name, texts, ASK_SECONDS)

    async def nearby(self, what: Nearby, uri: Uri, position: Position, texts: Texts) -> tuple[Place, ...]:
        """The places that have to do with the name at a position."""
        key = normalized(uri)
        return await self._ask(key, texts, lambda ask, _: spoken.nearby(ask, what, key, position), position)

    async def hover(self, uri: Uri, position: Position, texts: Texts) -> str:
        """What is known of the name at a position."""
        key = normalized(uri)
        return await self._ask(key, texts, lambda ask, _: spoken.hover(ask, key, position))

    async def rename(self, uri: Uri, position: Position, new_name: str, texts: Texts) -> CodeChange:
        """The edits that rename the name at a position wherever it is used."""
        key = normalized(uri)
        return await self._ask(
            key, texts, lambda ask, opened: spoken.rename(ask, key, position, new_name, opened), position
        )

    async def actions(self, uri: Uri, range_: Range, texts: Texts) -> tuple[CodeAction, ...]:
        """What is offered for a stretch of a file."""
        key = normalized(uri)
        return await self._ask(key, texts, lambda ask, opened: spoken.actions(ask, key, range_, opened))

    async def formatted(self, uri: Uri, texts: Texts) -> CodeChange:
        """The edits that format a file."""
        key = normalized(uri)
        return await self._ask(key, texts, lambda ask, opened: spoken.formatted(ask, key, opened))

    async def diagnostics(self, uris: tuple[Uri, ...], texts: Texts) -> tuple[FileDiagnostics, ...]:
        """The problems of files as they are staged."""
        keys = tuple(map(normalized, uris))
        if not all(map(self.judges, keys)):
            raise NotKnown("There is no language server for such files.")
        found = [await self._problems(key, texts) for key in keys]
        return tuple(FileDiagnostics(uri, items) for uri, items in zip(uris, found, strict=True))

    async def _problems(self, uri: Uri, texts: Texts) -> tuple[Diagnostic, ...]:
        return await self._servers.ask(uri, texts, lambda ask, _: spoken.problems(ask, uri), ASK_SECONDS)

    async def judge(self, changes: Changeset, under: Texts, seconds: float) -> Judged | None:
        """The problems that changes would bring."""
        return await self._servers.judge(changes, under, seconds)

    def reports(self) -> tuple[ServerReport, ...]:
        """The language servers that we have started, or can start."""
        return self._servers.reports()

    async def close(self) -> None:
        """End whatever was started."""
        await self._servers.close()

    async def _ask(self, uri: Uri, texts: Texts, work: Work[T], about: Position | None = None) -> T:
        """Ask the editor, which does not know what is staged; where that matters, or it cannot tell, our own server."""
        own = self.judges(uri)
        if not self._editor_answers or (texts and own):
            return await self._servers.ask(uri, texts, work, ASK_SECONDS, about)
        if uri in texts:
            raise NotKnown("The editor's language servers do not know the staged text of this file.")
        try:
            return await self._within(work(self._ask_editor, await self._known_to_editor(uri)))
        except NotKnown:
            if not own:
                raise
            return await self._servers.ask(uri, texts, work, ASK_SECONDS, about)

    @property
    def _editor_answers(self) -> bool:
        return self._session.editor.capabilities.language

    async def _ask_editor(self, method: str, params: Args) -> Json:
        if method not in get_args(LanguageMethod):
            raise NotKnown("The editor is not asked that.")
        try:
            return await self._session.editor.language(cast("LanguageMethod", method), params)
        except EditorSilent as silent:
            raise NotKnown(str(silent)) from silent

    async def _within(self, answer: Awaitable[T]) -> T:
        """The editor's answer, if it comes in time. Raises NotKnown."""
        try:
            async with asyncio.timeout(ASK_SECONDS):
                return await answer
        except TimeoutError as late:
            raise NotKnown(f"The editor did not answer within {ASK_SECONDS:g} seconds.") from late

    async def _known_to_editor(self, uri: Uri) -> dict[Uri, str]:
        """The texts of the editor's buffers, and of the file that is asked about."""
        known = {each.uri: each.text for each in self._session.view.documents.all()}
        if uri not in known and (text := await text_on_disk(uri)) is not None:
            known[uri] = text
        return known
