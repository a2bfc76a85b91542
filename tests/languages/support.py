"""What the tests of language servers stand on: a folder, and the port over a server that behaves as it is told."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from planloom.domain.changes import Changeset, CreateFile, EditFile
from planloom.domain.values import Uri
from planloom.languages.language import Languages
from planloom.workspace.paths.uris import from_path
from tests.support.studio import a_session

_PYTHON = os.path.realpath(sys.executable)
SCRIPT = Path(__file__).with_name("scripted_server.py")


class Bench:
    """A workspace folder and what is known of its code."""

    def __init__(self, folder: Path, files: Mapping[str, str], servers: Sequence[str]) -> None:
        self.folder = folder / "workspace"
        self.folder.mkdir(exist_ok=True)
        for name, text in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        self.session = a_session({"language.servers": [*servers, "-"]}, [self.folder])
        self.languages = Languages(self.session, folder / "private" / "languages")

    def uri(self, name: str) -> Uri:
        return from_path(self.folder / name)

    def edit(self, name: str, after: str) -> Changeset:
        """A change of a file, or a new one."""
        path = self.folder / name
        if not path.exists():
            return Changeset(changes=(CreateFile(uri=self.uri(name), after=after),))
        return Changeset(changes=(EditFile(uri=self.uri(name), before=path.read_text("utf-8"), after=after),))


@asynccontextmanager
async def bench(folder: Path, files: Mapping[str, str], *servers: str) -> AsyncIterator[Bench]:
    """A bench, whose servers are ended."""
    found = Bench(folder, files, servers)
    try:
        yield found
    finally:
        await found.languages.close()


@asynccontextmanager
async def scripted(folder: Path, how: str, files: Mapping[str, str] = {}) -> AsyncIterator[Bench]:
    """A bench over the scripted server."""
    program = folder / "workspace" / "server"
    program.parent.mkdir(exist_ok=True)
    program.write_text(f"#!/bin/sh\nexec {_PYTHON} {program.parent}/server.py '{how}'\n")
    program.chmod(0o755)
    (program.parent / "server.py").write_bytes(SCRIPT.read_bytes())
    async with bench(folder, files, f".txt: {program}") as found:
        yield found
