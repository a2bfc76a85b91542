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
from pathlib import Path
from typing import Final, NamedTuple

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
from planloom.domain.safety.approvals import Approval, ApprovalFile
from planloom.domain.safety.protected import is_secret
from planloom.domain.text.diff import changed_lines
from planloom.domain.text.positions import Decoded, decode, encode
from planloom.domain.values import ApprovalId, EditId, Sha256, Uri
from planloom.execution.effects.gate import Gate
from planloom.execution.effects.pending_approvals import ApprovalResponse
from planloom.execution.effects.proposals import Denied
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
    MOST_FILES,
    FileDifference,
    FileState,
    FileStates,
    differences,
    file_states,
    git_folder_of,
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
_GRAIN_NS: Final = 2_000_000_000
"""How coarse the times of a file system may be."""
_NAMED: Final = 5


class _Before(NamedTuple):
    """The files of one workspace folder before a command, and where their texts are found."""

    root: Root
    states: FileStates
    committed: CommittedFiles | None
    copies: Mapping[str, bytes]
    since_ns: int


class _Change(NamedTuple):
    """One file that differs, with its content before and after; None where there is none or it is not known."""

    root: Root
    found: FileDifference
    before: bytes | None
    after: bytes | None
    mode: int
    is_guarded: bool

    @property
    def uri(self) -> Uri:
        return child(self.root.uri, self.found.path)

    @property
    def place(self) -> ConfinedPath:
        return ConfinedPath(self.root.path, tuple(self.found.path.split("/")))

    @property
    def aside(self) -> ConfinedPath:
        """A place beside it, whose name no program reads."""
        *above, name = self.found.path.split("/")
        return ConfinedPath(self.root.path, (*above, f"taken-back-{uuid.uuid4().hex[:6]}-{name}.txt"))

    @property
    def is_folder(self) -> bool:
        return stat.S_ISDIR(self.mode)


class _SetAside(NamedTuple):
    """What a command has made of a guarded file, and where it is until the user decides."""

    change: _Change
    aside: ConfinedPath


class Compared(NamedTuple):
    """What a command has changed: the record of it, and what waits for the user's decision."""

    record: ev.CommandChanged
    waiting: tuple[_SetAside, ...] = ()


class Watched:
    """One command while its changes are looked for; `compared` is what was found."""

    def __init__(self, run: StepRun, name: str) -> None:
        self.run = run
        self.name = command_name(name)
        self.compared: list[Compared] = []


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
        plan_store.listen(self._on_event)
        session.view.documents.listen(self._on_document_event)

    @asynccontextmanager
    async def watched(self, run: StepRun, name: str) -> AsyncGenerator[Watched]:
        """Record what has changed in the workspace between the beginning and the end of the block."""
        watched = Watched(run, name)
        async with self._comparing:
            if self._running:
                # What has changed until now is not this command's.
                await self._compare(self._running[0], texts=True)
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
        return tuple([note for each in watched.compared for note in await self._decided(watched, each)])

    async def _decided(self, watched: Watched, compared: Compared) -> tuple[str, ...]:
        record, waiting = compared
        if not waiting:
            return ()
        changeset = Changeset(changes=tuple(_proposed(each.change) for each in waiting))
        response = await self._gate.permit_kept(_approval(watched, waiting), changeset)
        if isinstance(response, Denied):
            return record.notes[: len(waiting)]
        wanted = [each for each in waiting if _is_wanted(each, response)]
        kept = await uninterrupted(asyncio.to_thread(_put_back, wanted, response.changeset))
        await self._index.update(Changed(each.uri, "created") for each in kept)
        files, _ = self._texts(watched, kept)
        left = [each for each in waiting if all(each.change.uri != change.uri for change in kept)]
        notes = tuple(_note(watched, each) for each in left)
        changes = {"files": (*record.files, *files), "notes": (*notes, *record.notes[len(waiting) :])}
        self._plan_store.record(watched.run.plan_id, record.model_copy(update=changes))
        return notes

    async def _end(self, watched: Watched) -> None:
        async with self._comparing:
            try:
                await self._compare(watched, texts=len(self._running) > 1)
                # What is written where nobody has looked stays unconfirmed.
                self._held = [each for each in self._held if self._is_searched(each)]
            except BaseException:
                self._held = []
                raise
            finally:
                self._running.remove(watched)
                if not self._running:
                    self._before = ()
                    self._own.clear()
                    await asyncio.to_thread(self._release)

    def _hold(self) -> None:
        """Have only the present instructions of the folders followed, also after a crash."""
        decisions = self._session.decisions
        for was in self._before:
            contents = (data for path, data in was.copies.items() if is_instruction_file(path))
            digests = filter(None, map(_hash, contents))
            with suppress(StorageFailed):
                if decisions is not None and decisions.hold_instructions(was.root.path, digests):
                    self._held.append(was.root.path)

    def _is_searched(self, folder: Path) -> bool:
        return any(each.root.path == folder and each.states.searched for each in self._before)

    def _release(self) -> None:
        decisions, held = self._session.decisions, self._held
        self._held = []
        for folder in held:
            with suppress(StorageFailed):
                if decisions is not None:
                    decisions.release_instructions(folder)

    async def _compare(self, watched: Watched, *, texts: bool) -> None:
        """Record what has changed since the last look as the changes of this command, and look anew."""
        before, self._before = self._before, await self._look(texts=texts)
        changes: list[_Change] = []
        for was in before:
            now = next((each for each in self._before if each.root == was.root), None)
            if now is not None:
                changes += await self._changes(was, now)
        changes = [each for each in changes if not self._is_own(each)]
        guarded = [each for each in changes if each.is_guarded and each.found.change in ("create", "edit")]
        aside = await asyncio.to_thread(_set_aside, guarded)
        waiting = {each.change for each in aside}
        shown = [each for each in changes if each not in waiting]
        notes = [_note(watched, each) for each in aside]
        files, unknown = self._texts(watched, shown[:_MOST_LISTED])
        notes += self._notes(watched, before, shown)
        if not files and not unknown and not notes:
            return
        record = ev.CommandChanged(
            task_id=watched.run.step_id,
            edit_id=EditId(uuid.uuid4().hex),
            command=watched.name,
            files=files,
            unknown=unknown,
            notes=tuple(notes),
        )
        await self._plan_store.wait_unlocked()
        watched.run.record(record)
        watched.compared.append(Compared(record, tuple(aside[:_MOST_ASKED])))

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
            since = time.time_ns() - _GRAIN_NS
            if not texts:
                states = await asyncio.to_thread(file_states, root.path, exclude)
                found.append(_Before(root, states, None, {}, since))
                continue
            # Git looks for itself meanwhile.
            committing = asyncio.ensure_future(committed_files(root.path, self._session.programs, folders))
            states = await asyncio.to_thread(file_states, root.path, exclude)
            committed = await committing
            copies = await asyncio.to_thread(self._copied, root, states, committed)
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

    def _on_event(self, recorded: ev.Recorded, _: Plan) -> None:
        """Note what a plan writes while a command runs."""
        if self._running and isinstance(recorded.event, ev.EditStarted | ev.EditApplied):
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


def _changes(
    was: _Before, now: _Before, found: Sequence[FileDifference], contents: Mapping[str, bytes]
) -> list[_Change]:
    """The differences with their contents, without those that are none. Blocks on file I/O."""
    guarded = now.states.guarded | was.states.guarded
    made = [each.path for each in found if each.change == "create" and each.path in guarded]
    repositories = tuple(git_folder_of(path) for path in made if path.endswith((".git", "/HEAD")))
    changes = []
    for each in found:
        if each.path in guarded and each.path.startswith(repositories) and not each.path.endswith("/HEAD"):
            # The repository is new as a whole.
            continue
        old, state = was.states.files.get(each.old_path or each.path), now.states.files.get(each.path)
        before = contents.get(each.old_path or each.path)
        before = next((data for data in _as_checked_out(before) if old and len(data) == old.size), None)
        place = ConfinedPath(was.root.path, tuple(each.path.split("/")))
        after = read_bytes(place, TEXT_LIMIT) if state is not None else None
        if each.change == "edit" and old is not None and state is not None:
            if (
                before == after
                and before is not None
                and (old.mode == state.mode or each.path not in guarded)
            ):
                continue
            if before is None and old._replace(changed_ns=0) == state._replace(changed_ns=0):
                continue
        mode = (state or old or FileState(0, 0, 0, 0, 0)).mode
        mode = old.mode if each.change == "edit" and old is not None else mode
        is_moved = each.change == "create" and each.old_path is not None
        if each.change == "create":
            before = None
        changes.append(_Change(was.root, each, before, after, mode, each.path in guarded and not is_moved))
    return changes


def _as_checked_out(data: bytes | None) -> tuple[bytes, ...]:
    """What git may have written of a content that it keeps."""
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


def _set_aside(guarded: Sequence[_Change]) -> list[_SetAside]:
    """Take what commands have made of guarded files out of the way, and write what was there before.

    Without the content from before a changed file stays. Blocks on file I/O.
    """
    done = []
    for change in guarded:
        place, aside = change.place, change.aside
        if change.found.change == "edit" and change.before is None:
            continue
        if rename(place, aside) is not None:
            continue
        if change.before is not None and write(place, change.before, over=None) is None:
            _set_mode(place, change.mode)
        done.append(_SetAside(change, aside))
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


def _is_wanted(each: _SetAside, response: ApprovalResponse) -> bool:
    """Whether the user wants what a command has made of a file."""
    uri = each.change.uri
    is_named = response.files is None or uri in response.files
    return is_named and (response.changeset is None or uri in response.changeset.uris())


def _put_back(wanted: Sequence[_SetAside], edited: Changeset | None) -> list[_Change]:
    """Make what was set aside the files that they were, with the texts that the user has given them.

    Returns those that are back: what was changed again meanwhile stays. Blocks on file I/O.
    """
    changes = edited.changes if edited is not None else ()
    texts = {each.uri: each.after for each in changes if isinstance(each, CreateFile | EditFile)}
    back = []
    for change, aside in wanted:
        found = fingerprint_at(change.place)
        if found is not None and read_bytes(change.place, TEXT_LIMIT) == change.before is not None:
            delete_file(change.place, was=found)
        if rename(aside, change.place) is not None:
            continue
        text, made = texts.get(change.uri), _text(change.after)
        data = encode(made, text) if made is not None and text is not None else change.after
        if data is not None and data != change.after:
            write(change.place, data, over=fingerprint_at(change.place))
        back.append(change._replace(after=data))
    return back


def _proposed(change: _Change) -> FileChange:
    """What the command has made, as a change that the user may look at."""
    before, after = _text(change.before), _text(change.after)
    if change.is_folder:
        return CreateFolder(uri=change.uri)
    text = after.text if after is not None else ""
    if before is not None:
        return EditFile(uri=change.uri, before=before.text, after=text)
    return CreateFile(uri=change.uri, after=text)


def _approval(watched: Watched, waiting: Sequence[_SetAside]) -> Approval:
    files = []
    for change, _ in waiting:
        proposed = _proposed(change)
        before, after = _text(change.before), _text(change.after)
        added, removed = changed_lines(before.text if before else "", after.text if after else "")
        files.append(
            ApprovalFile(
                uri=change.uri,
                change=proposed.kind,
                added=added,
                removed=removed,
                resolved_path=str(change.place.path),
            )
        )
    rows = [
        [file.uri, each.change.after and _hash(each.change.after)]
        for file, each in zip(files, waiting, strict=True)
    ]
    return Approval(
        approval_id=ApprovalId(uuid.uuid4().hex),
        plan_id=watched.run.plan_id,
        step_id=watched.run.step_id,
        tool="run_command",
        proposal=sha256(repr(rows)),
        effect="write",
        title=f"Keep what {watched.name} wrote where programs read it unasked",
        warning="It has been set aside. Allowed, it is put back; denied, it stays aside.",
        protected=True,
        files=tuple(files),
    )


def _note(watched: Watched, each: _SetAside) -> str:
    did = "made" if each.change.found.change == "create" else "changed"
    return (
        f"{watched.name} {did} {quoted(each.change.found.path)}, which programs read unasked: it was not kept, and is "
        f"now {quoted(each.aside.names[-1])} beside it."
    )
