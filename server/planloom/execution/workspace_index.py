"""The file index of the open folders: replaced when the folders change, updated when an edit is applied."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterable, Iterator

from planloom.domain.changes import EditedFile, EditRecord
from planloom.domain.plans.plan import Plan
from planloom.execution.jobs import Jobs
from planloom.execution.session import Session
from planloom.workspace.index.file_index import Changed, FileIndex

RESCAN_SECONDS = 5.0
"""How long a step waits for the index to be rebuilt after a command. After that it uses the old index until the
new one is complete."""

_LISTED_SECONDS = 2.0
"""How long the first look for files that somebody knows waits for the listing."""


class WorkspaceIndex:
    """The index of a session's folders, built in background jobs."""

    def __init__(self, session: Session, jobs: Jobs) -> None:
        self._session = session
        self._jobs = jobs
        self._index = FileIndex(())
        self._numbers = itertools.count(1)

    def current(self) -> FileIndex:
        """The index of the open folders; a new one if the folders or `context.exclude` have changed."""
        folders, exclude = self._session.view.roots.folders, self._session.settings.context.exclude
        if (self._index.folders, self._index.exclude) != (folders, exclude):
            self._index = FileIndex(folders, exclude=exclude, programs=self._session.programs)
            self.rescan()
        return self._index

    def language_serves(self) -> bool:
        """Whether somebody probably knows the code of some file that was found so far. Starts nothing."""
        language = self._session.language
        if language is None:
            return False
        opened = (document.uri for document in self._session.view.documents.all())
        return any(map(language.serves, itertools.chain(opened, self.current().kinds())))

    async def find_language(self) -> bool:
        """Like `language_serves`, once the files are listed, which is waited for in bounds."""
        if self._session.language is not None and not self.language_serves():
            await self.current().wait_until_listed(_LISTED_SECONDS)
        return self.language_serves()

    def rescan(self) -> asyncio.Task[None]:
        """Rebuild the index in the background, even if a build is running: that may have missed the latest changes."""
        return self._jobs.start(f"index:{next(self._numbers)}", self._index.build())

    async def rescan_after_command(self) -> None:
        """Rebuild the index, since it is unknown what a command has changed. Returns after `RESCAN_SECONDS` at most."""
        await asyncio.wait({self.rescan()}, timeout=RESCAN_SECONDS)

    async def update(self, changes: Iterable[Changed]) -> None:
        """Update the index with files that were created, deleted or changed."""
        await self.current().update(changes)

    async def on_edit_applied(self, _plan: Plan, edit: EditRecord) -> None:
        """Update the index with the files of an edit."""
        await self.update(change for file in edit.files for change in _changes(file))


def _changes(file: EditedFile) -> Iterator[Changed]:
    match file.change:
        case "create" | "createFolder":
            yield Changed(file.uri, "created")
        case "delete":
            yield Changed(file.uri, "deleted")
        case "rename":
            yield Changed(file.uri, "deleted")
            if file.new_uri is not None:
                yield Changed(file.new_uri, "created")
        case "edit":
            yield Changed(file.uri, "changed")
