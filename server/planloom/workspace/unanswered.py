"""Edits that the editor was sent and has not answered in time: it may still make them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field

from planloom.domain.errors import PlanloomError
from planloom.domain.values import Uri
from planloom.workspace.documents import DocumentStore
from planloom.workspace.editor import EditAnswer
from planloom.workspace.path_locks import PathLocks
from planloom.workspace.paths.uris import normalized

log = logging.getLogger(__name__)


@dataclass(eq=False)
class UnansweredEdit:
    """One edit. `results` are the hashes of the texts that it leads to, by URI, None where there is none.

    `unversioned` are the files that it does not create and for which it named no version, so that the editor can make
    it on any text of theirs.
    `seconds` is how long its answer was waited for. `look` compares the files, given the answer if there is one, and
    records what became of the edit; it returns False while it may still be made.
    """

    results: Mapping[Uri, str | None]
    unversioned: frozenset[Uri]
    seconds: float
    answers: list[asyncio.Future[EditAnswer | None]]
    look: Callable[[EditAnswer | None, bool], Awaitable[bool]]
    settled: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def uris(self) -> frozenset[Uri]:
        """The files that it changes."""
        return frozenset(self.results)

    @property
    def is_answered(self) -> bool:
        """Whether the editor has answered it, however often it was sent, or can no longer answer."""
        return all(answer.done() for answer in self.answers)

    def answer(self) -> EditAnswer | None:
        """The editor's answer: that it was made, if any answer says so."""
        said = [answer.result() for answer in self.answers if answer.done() and not answer.cancelled()]
        given = [answer for answer in said if answer is not None]
        return next((answer for answer in given if answer.applied), given[0] if given else None)


class UnansweredEdits:
    """The edits of one connection that are out. Each is looked at when its files change or its answer arrives.

    None is looked at while a later edit of its files is made: their locks are held for both.
    """

    def __init__(self, documents: DocumentStore, locks: PathLocks) -> None:
        self._locks = locks
        self._edits: list[UnansweredEdit] = []
        self._news = asyncio.Event()
        documents.listen(self._on_document)

    def add(self, edit: UnansweredEdit) -> None:
        """Add an edit. One that leads to the same texts as another is the same change, sent once more."""
        same = next((each for each in self._edits if each.results == edit.results), None)
        if same is None:
            self._edits.append(edit)
        else:
            same.answers += edit.answers
        for answer in edit.answers:
            answer.add_done_callback(lambda _: self._news.set())
        self._news.set()

    def made_anew(self, results: Mapping[Uri, str | None]) -> None:
        """Forget the edits that lead to these texts: a later edit has led there."""
        for edit in [each for each in self._edits if each.results.items() <= results.items()]:
            self._drop(edit)

    def over(self, uris: Iterable[Uri]) -> tuple[UnansweredEdit, ...]:
        """The edits that are out and change one of these files."""
        wanted = frozenset(map(normalized, uris))
        return tuple(edit for edit in self._edits if edit.uris & wanted)

    async def wait(self, uris: Collection[Uri]) -> tuple[UnansweredEdit, ...]:
        """Wait for the edits of these files once more as long as their answers were waited for.

        Returns those that are still out.
        """
        await self.look(uris)
        for edit in self.over(uris):
            try:
                async with asyncio.timeout(edit.seconds):
                    await edit.settled.wait()
            except TimeoutError:
                continue
        return self.over(uris)

    async def look(self, uris: Collection[Uri]) -> None:
        """Look at the edits of these files now: a closed file may have changed without a word of the editor."""
        for edit in self.over(uris):
            await self._look(edit)

    async def watch(self) -> None:
        """Look at the edits that are out whenever there is news of them, until cancelled."""
        while True:
            await self._news.wait()
            self._news.clear()
            for edit in tuple(self._edits):
                await self._look(edit)

    async def _look(self, edit: UnansweredEdit) -> None:
        async with self._locks.lock(edit.uris):
            if edit.settled.is_set():
                return
            try:
                over = await edit.look(edit.answer(), edit.is_answered)
            except PlanloomError as error:
                # The plan was deleted or is not written to any more: its files are compared when it is read again.
                log.warning("What became of a late edit was not recorded: %s", error.message)
                over = True
            if over:
                self._drop(edit)

    def _drop(self, edit: UnansweredEdit) -> None:
        edit.settled.set()
        if edit in self._edits:
            self._edits.remove(edit)

    def _on_document(self, uri: Uri) -> None:
        if any(uri in edit.uris for edit in self._edits):
            self._news.set()
