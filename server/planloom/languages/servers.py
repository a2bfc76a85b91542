"""The language servers that are started for the open folders, and what they are asked: always over the staged texts."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, Final, NamedTuple, TypeVar

from planloom.domain.changes import Changeset, RenameFile, sha256, sides
from planloom.domain.problems import MOST_PROBLEMS, Judged
from planloom.domain.safety.confinement import Confinement
from planloom.domain.text.positions import LineIndex, Position
from planloom.domain.values import Uri
from planloom.execution.session import Session, expanded
from planloom.languages import spoken
from planloom.languages.finding import Found, found, project_root
from planloom.languages.judging import Change, Judge
from planloom.languages.server import START_SECONDS, Server
from planloom.languages.table import chosen
from planloom.languages.texts import files_with, stamps, text_on_disk
from planloom.tools.confinement.abilities import abilities
from planloom.tools.confinement.confined_command import Confined, Prepared, prepared
from planloom.tools.confinement.places import Reach
from planloom.tools.processes.server_process import MOST_MEMORY
from planloom.workspace.index.programs import environment
from planloom.workspace.language import ENCODING, NotKnown, ServerReport, ServerState, Symbol, Texts
from planloom.workspace.paths.uris import to_path

MOST_OPENED: Final = 200
"""How many files with a name are opened at a server that is asked where it is used."""
MOST_DECLARING: Final = 8
_SECONDS_FOR_PROGRAMS: Final = 60.0
"""How long it is believed that a program is there, or is not."""
T = TypeVar("T")
Work = Callable[[spoken.Ask, Mapping[Uri, str]], Awaitable[T]]
"""Asks questions of LSP, with the texts that are open at whoever is asked."""
logger = logging.getLogger(__name__)


class _Programs(NamedTuple):
    """The servers that were found for some settings and folders, by suffix."""

    looked_at: float
    wanted: tuple[Any, ...]
    by_suffix: Mapping[str, Found]


class Servers:
    """Starts the servers of a session as they are needed, in a trusted workspace alone, and ends them with it."""

    def __init__(self, session: Session, folder: Path) -> None:
        """`folder` is one of our own, for the homes of the servers; nobody else may write there."""
        self._session = session
        self._folder = folder
        self._servers: dict[tuple[str, Path], Server] = {}
        self._prepared_for: set[str] = set()
        self._starting: set[asyncio.Future[None]] = set()
        self._programs = _Programs(0.0, (), {})
        self._judge = Judge()

    def serves(self, uri: Uri) -> bool:
        """Whether a server for such files is there, or runs. Starts nothing."""
        return self._found_for(uri) is not None

    def prepare(self, uri: Uri) -> None:
        """Begin to start the server for such files, if there is one and it does not run."""
        suffix = PurePosixPath(uri).suffix
        if suffix not in self._prepared_for and self.serves(uri):
            self._prepared_for.add(suffix)
            self._starting.add(task := asyncio.ensure_future(self._start(uri)))
            task.add_done_callback(self._starting.discard)

    async def _start(self, uri: Uri) -> None:
        with suppress(NotKnown):
            server = await self._server_of(uri)
            await server.within(START_SECONDS, lambda: asyncio.sleep(0))

    async def ask(
        self, uri: Uri, texts: Texts, work: Work[T], seconds: float, about: Position | None = None
    ) -> T:
        """Do something that asks about a file, with the texts that are open. Raises NotKnown.

        It is asked where the name at `about` is used: the files with that name are opened, since a server that still
        reads its project answers from what it knows.
        """
        server = await self._server_of(uri)
        opened = self._opened(texts)
        if uri not in opened:
            opened[uri] = await self._text(uri)
        if about is not None:
            name = _word_at(opened[uri], about)
            suffixes = frozenset(server.found.kind.languages)
            for each in await asyncio.to_thread(files_with, [server.root], suffixes, name, MOST_OPENED):
                if (
                    each not in texts
                    and each not in opened
                    and (text := await text_on_disk(each)) is not None
                ):
                    opened[each] = text

        async def asking() -> T:
            await server.look_at_disk()
            server.show(opened)
            return await work(server.ask, opened)

        return await server.within(seconds, asking)

    async def named(self, name: str, texts: Texts, seconds: float) -> tuple[Symbol, ...]:
        """The symbols of the workspace by name, of each language that the workspace has. Raises NotKnown.

        A server may not have read its project yet, so it is asked about the files, too, that seem to declare the name.
        """
        roots = [root.path for root in self._session.view.roots.folders]
        symbols: list[Symbol] = []
        programs = [*self._all_found()] if self._session.trusted else []
        problem = (
            None if programs else NotKnown("There is no language server for the files of this workspace.")
        )
        for each in programs:
            files = await asyncio.to_thread(
                files_with, roots, frozenset(each.kind.languages), name, MOST_DECLARING
            )
            uris = [*(uri for uri, text in texts.items() if text is not None and name in text), *files]
            uris = [uri for uri in dict.fromkeys(uris) if self._found_for(uri) == each]
            if not uris:
                continue
            try:
                symbols += await self.ask(uris[0], texts, lambda ask, _: spoken.named(ask, name), seconds)
            except NotKnown as error:
                problem = error
            known = {symbol.uri for symbol in symbols if symbol.name == name}
            with suppress(NotKnown):
                for uri in [uri for uri in uris if uri not in known]:
                    declared = await self.ask(uri, texts, partial(_symbols_of, uri), seconds)
                    symbols += [symbol for symbol in declared if symbol.name == name]
        if not symbols and problem is not None:
            raise problem
        return tuple(dict.fromkeys(symbols))

    async def judge(self, changes: Changeset, under: Texts, seconds: float) -> Judged | None:
        """The problems that changes would bring; None if no server judges any of their files."""
        before = self._opened(under)
        moved = {each.new_uri: each.uri for each in changes.changes if isinstance(each, RenameFile)}
        for change in changes.changes:
            text, _ = sides(change)
            if text is not None and change.uri not in moved:
                before.setdefault(change.uri, text)
        after = {uri: text for uri, text in changes.texts(before).items() if text is not None}
        unseen = _unseen(uri for uri in after if uri not in before)
        by_server: dict[Server, dict[Uri, Uri]] = {}
        for uri in dict.fromkeys(changes.uris()):
            if uri in after and self.serves(uri) and (uri in moved or after[uri] != before.get(uri)):
                by_server.setdefault(await self._server_of(uri), {})[uri] = moved.get(uri, uri)
        if not by_server:
            return None
        works = [Change(server, files, before, after, unseen) for server, files in by_server.items()]
        answers = await asyncio.gather(*(self._judge.problems(each, seconds) for each in works))
        problems = [problem for found, _ in answers for problem in found]
        problems.sort(key=lambda each: each.severity != "error")
        return Judged(
            by=", ".join(server.name for server in by_server),
            problems=tuple(problems[:MOST_PROBLEMS]),
            total=len(problems),
            unknown=" ".join(dict.fromkeys(unknown for _, unknown in answers if unknown)) or None,
        )

    def reports(self) -> tuple[ServerReport, ...]:
        """The servers for the files of the workspace: how each is that is there, and where one is missing."""
        settings = self._session.settings.language
        roots = [root.path for root in self._session.view.roots.folders if not root.is_virtual]
        kinds = chosen(settings.servers) if settings.enabled else ()
        known = frozenset(suffix for kind in kinds for suffix in kind.languages)
        present = {path.suffix for root in roots for path in stamps(root, known)}
        found = [*self._all_found()]
        lines = []
        for each in found:
            running = next(
                (server for server in self._servers.values() if server.found.kind == each.kind), None
            )
            if running is not None:
                lines.append(ServerReport(each.kind.name, each.command[0], running.state, running.why))
            elif not present.isdisjoint(each.kind.languages):
                why = "" if self._session.trusted else "The folder is not trusted."
                state: ServerState = "not started" if why else "ready to start"
                lines.append(ServerReport(each.kind.name, each.command[0], state, why))
        served = {suffix for each in found for suffix in each.kind.languages}
        for kind in kinds:
            if kind.install and kind.languages.keys() & present - served:
                served |= kind.languages.keys()
                unserved = " ".join(sorted(kind.languages.keys() & present))
                lines.append(ServerReport(kind.name, unserved, "missing", kind.install))
        return tuple(lines)

    async def close(self) -> None:
        """End all servers."""
        for task in [*self._starting]:
            task.cancel()
        await asyncio.gather(*self._starting, return_exceptions=True)
        servers, self._servers = [*self._servers.values()], {}
        await asyncio.gather(*(server.close() for server in servers))

    # Which server.

    async def _server_of(self, uri: Uri) -> Server:
        program, path = self._found_for(uri), to_path(uri)
        folder = next(
            (
                root.path
                for root in self._session.view.roots.folders
                if path is not None and path.is_relative_to(root.path)
            ),
            None,
        )
        if program is None or path is None or folder is None:
            raise NotKnown("There is no language server for such files.")
        root = await asyncio.to_thread(project_root, program.kind, path, folder)
        key = program.kind.name, root
        if key not in self._servers:
            self._servers[key] = Server(program, root, self._prepared)
        return self._servers[key]

    def _found_for(self, uri: Uri) -> Found | None:
        return self._by_suffix().get(PurePosixPath(uri).suffix) if self._session.trusted else None

    def _all_found(self) -> Iterable[Found]:
        """The servers that are there, one for each language, whether or not the workspace is trusted."""
        return {id(each): each for each in self._by_suffix().values()}.values()

    def _by_suffix(self) -> Mapping[str, Found]:
        """The server for each suffix; looked for anew where the settings or folders have changed, or after a while."""
        settings = self._session.settings.language
        roots = tuple(root.path for root in self._session.view.roots.folders if not root.is_virtual)
        if not settings.enabled or not roots:
            return {}
        now, wanted = time.monotonic(), (settings.servers, roots)
        if wanted != self._programs.wanted or now - self._programs.looked_at >= _SECONDS_FOR_PROGRAMS:
            by_suffix: dict[str, Found] = {}
            for kind in chosen(settings.servers):
                if (
                    by_suffix.keys().isdisjoint(kind.languages)
                    and (program := found(kind, roots)) is not None
                ):
                    by_suffix |= dict.fromkeys(kind.languages, program)
            self._programs = _Programs(now, wanted, by_suffix)
        return self._programs.by_suffix

    def _prepared(self, program: Found, root: Path) -> Prepared:
        """The process of a server: it reads the workspace, changes nothing in it, and has no network."""
        held = abilities().hold(Confinement())
        if not held and (program.is_projects or program.kind.runs_code):
            raise NotKnown(
                f"{program.kind.name} is not started: it can run code of the project, and nothing confines it here."
            )
        roots = tuple(each.path for each in self._session.view.roots.folders)
        commands = self._session.settings.commands
        readable = (*expanded(commands.readable), *program.needs)
        reach = Reach(roots, (self._folder.parent,), (), readable)
        own = self._folder / f"{program.kind.name}-{sha256(str(root))[:12]}"
        confined = Confined(Confinement(), reach, own, memory_bytes=MOST_MEMORY, reads_only=True)
        return prepared(program.command, root, environment(os.environ), confined)

    # Texts.

    def _opened(self, texts: Texts) -> dict[Uri, str]:
        """The texts that may differ from the disk: unsaved ones of the editor, over them the staged ones."""
        documents = self._session.view.documents
        unsaved = {each.uri: each.text for each in documents.all() if not documents.is_saved(each.uri)}
        return {uri: text for uri, text in {**unsaved, **texts}.items() if text is not None}

    async def _text(self, uri: Uri) -> str:
        text = await text_on_disk(uri)
        if text is None:
            raise NotKnown("The file cannot be read as text.")
        return text


async def _symbols_of(uri: Uri, ask: spoken.Ask, _: object) -> tuple[Symbol, ...]:
    return await spoken.symbols(ask, uri)


def _word_at(text: str, position: Position) -> str:
    """The name at a position; empty if there is none."""
    index = LineIndex(text)
    line, column = (
        index.line_text(position.line),
        index.offset(position, ENCODING) - index.line_start(position.line),
    )
    words = (each for each in re.finditer(r"[\w$]+", line) if each.start() <= column <= each.end())
    return next((each[0] for each in words), "")


def _unseen(uris: Iterable[Uri]) -> frozenset[str]:
    """The names by which other files would import new ones."""
    found: set[str] = set()
    for uri in uris:
        path = PurePosixPath(uri)
        found |= {path.stem, path.parent.name} if path.stem in ("__init__", "index", "mod") else {path.stem}
    return frozenset(found)
