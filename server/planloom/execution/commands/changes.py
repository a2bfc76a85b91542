"""Finds what commands change in the workspace, by comparing its files before and after, and records it.

Files that programs read unasked (`runs_unasked`, and git's own in nested repositories) stay only if the user wants it:
what a command has made of them is set aside under a harmless name until then.
"""

from __future__ import annotations

import asyncio
import os
import stat
import time
import uuid
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import Any, Final, NamedTuple

from planloom.domain.changes import (
    Changeset,
    CreateFile,
    CreateFolder,
    EditedFile,
    EditFile,
    FileChange,
    sha256,
)
from planloom.domain.errors import StorageFailed
from planloom.domain.events import catalog as ev
from planloom.domain.plans.plan import Plan
from planloom.domain.safety.protected import is_secret
from planloom.domain.text.positions import Decoded, decode
from planloom.domain.values import EditId, Sha256, Uri
from planloom.execution.effects.gate import Gate
from planloom.execution.effects.proposals import ChangeProposal, Denied
from planloom.execution.plan_store import PlanStore
from planloom.execution.session import Session
from planloom.execution.step_run import StepRun
from planloom.execution.summary import command_name
from planloom.execution.workspace_index import WorkspaceIndex
from planloom.intake.surroundings.project_instructions import is_instruction_file
from planloom.shielded import uninterrupted
from planloom.workspace.disk import (
    NO_FOLLOW,
    TEXT_LIMIT,
    ConfinedPath,
    fingerprint_at,
    open_parent,
    read_bytes,
)
from planloom.workspace.disk_changes import delete_file, rename, write
from planloom.workspace.edits.outcomes import JournalFile
from planloom.workspace.index.file_index import Changed
from planloom.workspace.index.file_states import (
    GRAIN_NS,
    MOST_FILES,
    FileDifference,
    FileState,
    FileStates,
    IgnoredFolder,
    differences,
    file_states,
    parts_of_repository,
)
from planloom.workspace.index.git_state import CommittedFiles, committed_files
from planloom.workspace.paths.names import listed, quoted
from planloom.workspace.paths.roots import Root
from planloom.workspace.paths.uris import child, normalized
from planloom.workspace.snapshots import BOM

_MOST_LISTED: Final = 1_000
"""Most changed files of one command that are named."""
_MOST_TEXT: Final = 8_000_000
"""Most characters of their texts that are kept."""
_MOST_COPIES: Final = 2_000
_MOST_COPIED: Final = 20_000_000
"""Most files, and bytes of them, that are read before a command because no commit has them."""
_LARGEST_COPY: Final = 1_000_000
_MOST_ASKED: Final = 200
_NAMED: Final = 5


class _Before(NamedTuple):
    """The files of one workspace folder before a command, and where their contents are found."""

    root: Root
    states: FileStates
    committed: CommittedFiles | None
    copies: Mapping[str, bytes]
    since_ns: int


class _Change(NamedTuple):
    """One file that differs, with its content before and after; None where there is none or it is not known.

    `aside` is the name that it has until the user decides on it.
    """

    root: Root
    found: FileDifference
    before: bytes | None
    after: bytes | None
    mode: int
    is_guarded: bool
    aside: str | None = None

    @property
    def uri(self) -> Uri:
        return child(self.root.uri, self.found.path)

    @property
    def place(self) -> ConfinedPath:
        return ConfinedPath(self.root.path, tuple(self.found.path.split("/")))

    @property
    def place_aside(self) -> ConfinedPath:
        return ConfinedPath(self.root.path, (*self.place.names[:-1], self.aside or ""))

    def proposed(self) -> FileChange:
        """The difference that the command has made, as a change that the user may look at."""
        before, after = _text(self.before), _text(self.after)
        text = after.text if after is not None else ""
        if stat.S_ISDIR(self.mode):
            return CreateFolder(uri=self.uri)
        if before is not None:
            return EditFile(uri=self.uri, before=before.text, after=text)
        return CreateFile(uri=self.uri, after=text)


class Watched:
    """One command while its changes are looked for. `waiting` are those that the user decides on, each with the record
    that it belongs to.
    """

    def __init__(self, run: StepRun, name: str) -> None:
        self.run = run
        self.name = command_name(name)
        self.waiting: list[tuple[ev.CommandChanged, list[_Change]]] = []


class CommandChanges:
    """The changes of all commands of a session. A change that was made while several ran names them all."""

    def __init__(self, session: Session, plan_store: PlanStore, gate: Gate, index: WorkspaceIndex) -> None:
        self._session = session
        self._index = index
        self._plan_store = plan_store
        self._gate = gate
        self._comparing = asyncio.Lock()
        self._running: list[Watched] = []
        self._before: tuple[_Before, ...] = ()
        self._copies: dict[Path, tuple[FileState, bytes]] = {}
        self._own: dict[Uri, set[Sha256 | None]] = {}
        self._saved: dict[Uri, Sha256] = {}
        self._held: list[Path] = []
        self._ignored: dict[Path, Mapping[str, IgnoredFolder]] = {}
        session.view.documents.listen(self._on_document_event)

    @asynccontextmanager
    async def watched(self, run: StepRun, name: str) -> AsyncGenerator[Watched]:
        """Record what has changed in the workspace between the beginning and the end of the block."""
        watched = Watched(run, name)
        async with self._comparing:
            if self._running:
                # Changes made until now belong to the commands that run already.
                await self._compare(self._running[0])
            else:
                self._saved = {each.uri: each.saved.sha256 for each in self._session.view.documents.all()}
                self._before = await self._look()
                await asyncio.to_thread(self._hold)
            self._running.append(watched)
        try:
            yield watched
        finally:
            await uninterrupted(self._end(watched))

    async def decide(self, watched: Watched) -> tuple[str, ...]:
        """Ask whether what the command has made of guarded files stays, and put back what does.

        Returns a sentence on each file that does not.
        """
        waiting, watched.waiting = watched.waiting, []
        return tuple([note for each in waiting for note in await self._decided(watched, *each)])

    async def _decided(
        self, watched: Watched, record: ev.CommandChanged, waiting: list[_Change]
    ) -> tuple[str, ...]:
        proposal = ChangeProposal(
            plan_id=watched.run.plan_id,
            step_id=watched.run.step_id,
            number=0,
            title=f"Keep what {watched.name} wrote where programs read it unasked",
            tool="run_command",
            changeset=Changeset(changes=tuple(each.proposed() for each in waiting)),
        )
        wanted = await self._gate.permit_kept(proposal)
        if isinstance(wanted, Denied):
            return record.notes
        kept = await uninterrupted(self._put_back([each for each in waiting if each.uri in wanted]))
        files, unknown = self._texts(watched, kept)
        notes = _note(watched, [each for each in waiting if each not in kept])
        settled = record.model_copy(update={"files": files, "unknown": unknown, "notes": notes})
        self._plan_store.record(watched.run.plan_id, settled)
        return notes

    async def _put_back(self, wanted: Sequence[_Change]) -> list[_Change]:
        async with self._comparing:
            if self._running:
                await self._compare(self._running[0])
            kept = await asyncio.to_thread(lambda: [each for each in wanted if _is_put_back(each)])
            if self._running:
                self._before = await self._look()
        await self._index.update(Changed(each.uri, "created") for each in kept)
        return kept

    async def _end(self, watched: Watched) -> None:
        async with self._comparing:
            try:
                await self._compare(watched)
            finally:
                self._running.remove(watched)
                if not self._running:
                    # What is written where nobody has looked stays unconfirmed.
                    searched = [each.root.path for each in self._before if each.states.searched]
                    await asyncio.to_thread(self._release, searched)
                    self._before = ()
                    self._own.clear()

    def _hold(self) -> None:
        """Have only the present instructions of the folders followed, also after a crash."""
        decisions = self._session.decisions
        for was in self._before:
            contents = (data for path, data in was.copies.items() if is_instruction_file(path))
            with suppress(StorageFailed):
                digests = filter(None, map(_hash, contents))
                if decisions is not None and decisions.hold_instructions(was.root.path, digests):
                    self._held.append(was.root.path)

    def _release(self, searched: Sequence[Path]) -> None:
        decisions = self._session.decisions
        for folder in self._held:
            with suppress(StorageFailed):
                if decisions is not None and folder in searched:
                    decisions.release_instructions(folder)
        self._held = []

    async def _compare(self, watched: Watched) -> None:
        """Record what has changed since the last look as the changes of this command, and look anew."""
        others = [each for each in self._running if each is not watched]
        before, self._before = self._before, ()
        self._before = await self._look(texts=bool(others) or watched not in self._running)
        changes: list[_Change] = []
        for was in before:
            now = next((each for each in self._before if each.root == was.root), None)
            if now is not None:
                changes += await self._changes(was, now)
        changes = [each for each in changes if not self._is_own(each)]
        waiting = await asyncio.to_thread(_set_aside, changes)
        if waiting:
            await self._index.update(Changed(each.uri, "deleted") for each in waiting if each.before is None)
            self._before = await self._look()
        aside = {each.uri for each in waiting}
        shown = [each for each in changes if each.uri not in aside]
        files, unknown = self._texts(watched, shown[:_MOST_LISTED])
        notes = self._notes(watched, before, shown)
        await self._plan_store.wait_unlocked()
        if files or unknown or notes:
            watched.run.record(_record(watched, files=files, unknown=unknown, notes=tuple(notes)))
        for part in [waiting[start : start + _MOST_ASKED] for start in range(0, len(waiting), _MOST_ASKED)]:
            record = _record(watched, notes=_note(watched, part))
            watched.run.record(record)
            watched.waiting.append((record, part))

    def _notes(self, watched: Watched, before: Sequence[_Before], shown: Sequence[_Change]) -> list[str]:
        notes = []
        others = [each.name for each in self._running if each is not watched]
        if others and shown:
            notes.append(f"{listed(others, _NAMED)} ran at the same time as {watched.name}.")
        for change in shown:
            document = self._session.view.buffer(change.uri)
            if document is not None and document.dirty:
                notes.append(
                    f"{watched.name} changed {quoted(change.found.path)} on disk, and the editor has unsaved text "
                    "in it: the two differ."
                )
            if change.is_guarded and change.found.change == "edit":
                notes.append(
                    f"{watched.name} changed {quoted(change.found.path)}, which programs read unasked; its content "
                    "from before is not known."
                )
        if len(shown) > _MOST_LISTED:
            notes.append(f"{watched.name} changed {len(shown) - _MOST_LISTED:,} more files.")
        for was in before:
            if not was.states.complete:
                notes.append(
                    f"{quoted(was.root.name)} has more than {MOST_FILES:,} files: what {watched.name} changed was "
                    "not found out, but for names that programs read unasked."
                )
            if not was.states.searched:
                notes.append(f"{quoted(was.root.name)} was not searched to its end for such names.")
        return notes

    async def _look(self, *, texts: bool = True) -> tuple[_Before, ...]:
        """The workspace folders as they are now, with their texts unless nothing is compared with them."""
        roots = [root for root in self._session.view.roots.folders if not root.is_virtual]
        folders = tuple(root.path for root in roots)
        exclude = self._session.settings.context.exclude
        found = []
        for root in roots:
            since = time.time_ns() - GRAIN_NS
            # Git looks for itself meanwhile.
            committing = committed_files(root.path, self._session.programs, folders) if texts else _nothing()
            committed, states = await asyncio.gather(
                committing,
                asyncio.to_thread(file_states, root.path, exclude, self._ignored.get(root.path, {})),
            )
            self._ignored[root.path] = states.ignored
            copies = await asyncio.to_thread(self._copied, root, states, committed) if texts else {}
            found.append(_Before(root, states, committed, copies, since))
        return tuple(found)

    def _copied(
        self, root: Root, states: FileStates, committed: CommittedFiles | None
    ) -> Mapping[str, bytes]:
        """The contents of small files that no commit has, the guarded ones first."""
        others = (path for path in states.files if path not in states.guarded)
        found: dict[str, bytes] = {}
        left = _MOST_COPIED
        for path in (*states.guarded, *others):
            state = states.files[path]
            is_committed = committed is not None and path not in states.guarded and committed.has(path)
            if is_committed or not stat.S_ISREG(state.mode) or state.size > min(_LARGEST_COPY, left):
                continue
            place = ConfinedPath(root.path, tuple(path.split("/")))
            known = self._copies.get(place.path)
            data = known[1] if known is not None and known[0] == state else read_bytes(place, state.size)
            if data is not None and len(data) == state.size:
                self._copies[place.path] = (state, data)
                found[path] = data
                left -= state.size
            if len(found) >= _MOST_COPIES:
                break
        kept = {root.path.joinpath(*path.split("/")) for path in found}
        for gone in [path for path in self._copies if path.is_relative_to(root.path) and path not in kept]:
            del self._copies[gone]
        return found

    async def _changes(self, was: _Before, now: _Before) -> list[_Change]:
        found = await asyncio.to_thread(
            lambda: list(differences(was.root.path, was.states, now.states, was.since_ns))
        )
        asked = [
            path
            for each in found
            if (path := each.old_path or each.path) in was.states.files and path not in was.copies
        ]
        contents = {**was.copies}
        if was.committed is not None and asked:
            contents |= await was.committed.contents(asked[:_MOST_LISTED])
        return await asyncio.to_thread(_changes, was, now, found, contents)

    def _is_own(self, change: _Change) -> bool:
        """Whether the change is an edit of a plan, or a save of the user, while the command ran."""
        own = self._own.get(normalized(change.uri), set())
        return (None if change.after is None else _hash(change.after)) in own

    def _texts(
        self, watched: Watched, changes: Sequence[_Change]
    ) -> tuple[tuple[EditedFile, ...], tuple[EditedFile, ...]]:
        """The files whose texts are known, which are kept in the ledger, and the others."""
        known: list[JournalFile] = []
        unknown: list[EditedFile] = []
        left = _MOST_TEXT
        for each in changes:
            file = None if is_secret(each.found.path) else _journal_file(each)
            size = len(file.before or "") + len(file.after or "") if file is not None else 0
            if file is None or size > left:
                unknown.append(EditedFile(uri=each.uri, change=each.found.change))
                continue
            left -= size
            known.append(file)
        texts = {
            sha256(text): text for file in known for text in (file.before, file.after) if text is not None
        }
        self._plan_store.store.keep(watched.run.plan_id, texts.items())
        return tuple(file.edited() for file in known), tuple(unknown)

    def on_event(self, recorded: ev.Recorded, _: Plan) -> None:
        """Note what a plan writes while a command runs."""
        assert isinstance(recorded.event, ev.EditStarted | ev.EditApplied), "it hears no others"
        if self._running:
            for file in recorded.event.files:
                if file.new_uri is not None or file.change == "delete":
                    self._own.setdefault(normalized(file.uri), set()).add(None)
                if file.after_sha256 is not None:
                    self._own.setdefault(normalized(file.new_uri or file.uri), set()).add(file.after_sha256)

    def _on_document_event(self, uri: Uri) -> None:
        """Note what the user saves while a command runs."""
        document = self._session.view.documents.get(uri) if self._running else None
        if document is None or self._saved.setdefault(uri, document.saved.sha256) == document.saved.sha256:
            return
        if not document.dirty:
            self._saved[uri] = document.saved.sha256
            self._own.setdefault(uri, set()).add(sha256(document.text.removeprefix(BOM)))


async def _nothing() -> None:
    """In place of what is not needed."""


def _changes(
    was: _Before, now: _Before, found: Sequence[FileDifference], contents: Mapping[str, bytes]
) -> list[_Change]:
    """The differences with their contents, without those that are none. Blocks on file I/O."""
    guarded = now.states.guarded | was.states.guarded
    made = [each.path for each in found if each.change == "create" and each.path in guarded]
    of_new_repository = {part for path in made for part in parts_of_repository(path)}
    changes = []
    for each in found:
        if not of_new_repository.isdisjoint((each.path, *map(str, PurePosixPath(each.path).parents))):
            # The repository is new as a whole.
            continue
        old, state = was.states.files.get(each.old_path or each.path), now.states.files.get(each.path)
        before = contents.get(each.old_path or each.path)
        before = next((data for data in _as_checked_out(before) if old and len(data) == old.size), None)
        place = ConfinedPath(was.root.path, tuple(each.path.split("/")))
        after = read_bytes(place, TEXT_LIMIT) if state is not None else None
        is_guarded = each.path in guarded
        if each.change == "edit" and old is not None and state is not None:
            is_same = before == after and (old.mode == state.mode or not is_guarded)
            if is_same if before is not None else old._replace(changed_ns=0) == state._replace(changed_ns=0):
                continue
        elif each.change == "create":
            # A renamed file has the content that it had.
            before, is_guarded = None, is_guarded and each.old_path is None
        mode = (
            old.mode if old is not None and each.change == "edit" else state.mode if state is not None else 0
        )
        changes.append(_Change(was.root, each, before, after, mode, is_guarded))
    return changes


def _as_checked_out(data: bytes | None) -> tuple[bytes, ...]:
    """The contents that git may have written for one that it keeps."""
    return () if data is None else (data, data.replace(b"\n", b"\r\n"))


def _text(data: bytes | None) -> Decoded | None:
    found = decode(data) if data is not None else None
    return found if isinstance(found, Decoded) else None


def _hash(data: bytes) -> Sha256 | None:
    found = _text(data)
    return sha256(found.text) if found is not None else None


def _journal_file(change: _Change) -> JournalFile | None:
    """The change with its texts; None if one that there was is not known."""
    found = change.found
    before, after = _text(change.before), _text(change.after)
    if found.change == "rename":
        assert found.old_path is not None
        uri = child(change.root.uri, found.old_path)
        text = after.text if after is not None else None
        return JournalFile(uri, "rename", new_uri=change.uri, before=text, after=text)
    if (before is None and found.change != "create") or (after is None and found.change != "delete"):
        return None
    differ = before is not None and after is not None
    is_reformed = differ and (before.encoding, before.bom) != (after.encoding, after.bom)  # type: ignore[union-attr]
    return JournalFile(
        change.uri,
        found.change,
        before=before.text if before is not None else None,
        after=after.text if after is not None else None,
        form=before if is_reformed else None,
    )


def _set_aside(changes: Sequence[_Change]) -> list[_Change]:
    """Take what commands have made of guarded files out of the way, and write what was there before.

    Without the content from before a changed file stays. Blocks on file I/O.
    """
    done = []
    for change in changes:
        is_made = change.found.change == "create"
        if not change.is_guarded or not (
            is_made or (change.found.change == "edit" and change.before is not None)
        ):
            continue
        moved = change._replace(aside=f"taken-back-{uuid.uuid4().hex[:6]}-{change.place.names[-1]}.txt")
        if rename(moved.place, moved.place_aside) is None:
            if change.before is not None and write(change.place, change.before, over=None) is None:
                _set_mode(change.place, change.mode)
            done.append(moved)
    return done


def _set_mode(place: ConfinedPath, mode: int) -> None:
    if not hasattr(os, "fchmod"):
        return
    with suppress(OSError), open_parent(place) as (name, folder):
        handle = os.open(name, os.O_RDONLY | NO_FOLLOW, dir_fd=folder)
        try:
            os.fchmod(handle, stat.S_IMODE(mode))
        finally:
            os.close(handle)


def _is_put_back(change: _Change) -> bool:
    """Give what was set aside its name again, unless something else has it by now. Blocks on file I/O."""
    found = fingerprint_at(change.place)
    if found is not None and read_bytes(change.place, TEXT_LIMIT) == change.before is not None:
        delete_file(change.place, was=found)
    return rename(change.place_aside, change.place) is None


def _record(watched: Watched, **found: Any) -> ev.CommandChanged:
    return ev.CommandChanged(
        step_id=watched.run.step_id, edit_id=EditId(uuid.uuid4().hex), command=watched.name, **found
    )


def _note(watched: Watched, changes: Sequence[_Change]) -> tuple[str, ...]:
    """A sentence on what is aside; empty for nothing."""
    if not changes:
        return ()
    names = [f"{quoted(each.found.path)} (now {quoted(each.aside or '')})" for each in changes]
    return (
        f"{watched.name} wrote {listed(names, _NAMED)}, which programs read unasked: it is not kept, but set aside "
        "in the same folder.",
    )
