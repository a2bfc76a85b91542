"""An overlay of staged changes: reads see them as if they had been made, while no file has changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath
from typing import Final, NamedTuple

from planloom.domain.changes import Cause, Changeset, EditedFile, sha256
from planloom.domain.text.positions import Eol, FileForm, adapt_eol, with_eol
from planloom.domain.values import Sha256, Uri
from planloom.workspace.moves import Move
from planloom.workspace.paths.listings import Listing
from planloom.workspace.paths.uris import child, is_below, normalized, parent
from planloom.workspace.snapshots import BOM, Snapshot
from planloom.workspace.staged.order import overlap
from planloom.workspace.staged.rebase import three_way
from planloom.workspace.staged.staging import Stage, Staged, entry_at, named, staged_snapshot
from planloom.workspace.view import WorkspaceView

DELETE_LIMIT: Final = 1000
"""Most entries of a folder that one deletion may remove."""

_SAMPLE_FILES: Final = 8
_SAMPLE_BYTES: Final = 65_536


class StageRefused(NamedTuple):
    """A change that cannot be staged; `reason` says what to do instead."""

    reason: str


class Unmerged(NamedTuple):
    """A change that conflicts with what another step has staged meanwhile; `reason` says what to do."""

    uri: Uri
    reason: str


class Overlay:
    """Reads in the order staged, buffer, disk. Overlays stack: a step's lies over its plan's.

    `ahead` are closed files that were read just before, each for the next read of it. `causes` are those of what
    is staged now.
    """

    def __init__(self, under: WorkspaceView | Overlay) -> None:
        self.under = under
        self.ahead: dict[Uri, Snapshot] = {}
        self.causes: tuple[Cause, ...] = ()
        self._staged = Stage()
        self._moves: list[Move] = []
        self._followed = len(under.moves)

    @property
    def moves(self) -> Sequence[Move]:
        """The user's renames since the overlay was made, as they are after what is staged here."""
        below = self.under.moves
        for move in below[self._followed :]:
            self._moves.append(self._staged.follow(move))
        self._followed = len(below)
        return self._moves

    @property
    def _stage(self) -> Stage:
        """The staged changes, under the names that the user has given to files by now."""
        _ = self.moves
        return self._staged

    @property
    def view(self) -> WorkspaceView:
        """The workspace below all overlays."""
        return self.under.view if isinstance(self.under, Overlay) else self.under

    async def read(self, uri: str) -> Snapshot:
        """Read a file; the snapshot becomes the merge base of the next write to it."""
        found = await self.peek(uri)
        self.note_read(found)
        return found

    def note_read(self, found: Snapshot) -> None:
        """Record a snapshot that `peek` has just returned as the merge base of the next write to its file."""
        if self._stage.staged(found.uri) is None:
            self._stage.read[found.uri] = found

    def last_read(self, uri: str) -> Snapshot | None:
        """The snapshot that was last read of a file which is not staged; None if there is none."""
        key = self._key(uri)
        return None if self._stage.staged(key) is not None else self._stage.read.get(key)

    async def peek(self, uri: str) -> Snapshot:
        """Like `read`, but does not record the snapshot as the merge base."""
        return (await self._peek_all((uri,)))[0]

    async def _peek_all(
        self, uris: Sequence[str], ahead: dict[Uri, Snapshot] | None = None
    ) -> tuple[Snapshot, ...]:
        """Like `peek`, for several files, with one look at the disk; `ahead` is that of the overlay on top."""
        ahead = self.ahead if ahead is None else ahead
        keys = [self._key(uri) for uri in uris]
        origins = {key: origin for key in keys if (origin := self._stage.origin(key)) is not None}
        under = self.under
        if isinstance(under, Overlay):
            snapshots = await under._peek_all(tuple(origins.values()), ahead)
        else:
            snapshots = await under.snapshots(tuple(origins.values()), ahead)
        found = dict(zip(origins, snapshots, strict=True))
        return tuple(self._seen_from_here(key, found.get(key)) for key in keys)

    def _seen_from_here(self, key: Uri, found: Snapshot | None) -> Snapshot:
        """A file as this overlay shows it, `found` below it; None if nothing was looked up."""
        at = self._stage.look(key)
        there = not at.deleted if isinstance(at, Staged) else found is not None and found.exists
        if not there and self._stage.holds_below(key):
            return Snapshot(uri=key, exists=True, problem="folder", source="implied")
        if isinstance(at, Staged):
            return staged_snapshot(key, at)
        if found is None or at is None:
            return Snapshot(uri=key, exists=False, source="staged")
        if at != key:
            return found._replace(uri=key, version=None, source="staged")
        if found.uri != key:
            # The file is open under another name: use that name from here on.
            self._stage.names[key] = found.uri
            staged = self._stage.staged(found.uri)
            return found if staged is None else staged_snapshot(found.uri, staged)
        return found

    async def saved_text(self, uri: str) -> str | None:
        """The text on disk, ignoring staged changes and buffers; None if there is none."""
        return await self.under.saved_text(self._stage.first_name(self._key(uri)))

    async def list_folder(self, uri: str) -> Listing:
        """The entries of a folder, including staged ones."""
        key = self._key(uri)
        listing = await self._listed_under(key)
        entries = {}
        for entry in listing.entries:
            here = child(key, entry.name)
            if self._stage.origin(here) == child(self._stage.origin(key) or key, entry.name):
                entries[here] = entry._replace(uri=here)
        for place, staged in self._stage.placed():
            if not is_below(place, key) or not (await self.peek(place)).exists:
                continue
            direct = Uri(key + "/" + place[len(key) + 1 :].partition("/")[0])
            if direct != place:
                entries.setdefault(direct, entry_at(direct, folder=True))
            else:
                is_folder = staged.folder or (staged.to is not None and staged.base.problem == "folder")
                text = staged.text if staged.to is None else staged.base.text
                entries[place] = entry_at(place, folder=is_folder, text=text)
        if listing.problem is not None and (await self.peek(key)).problem != "folder":
            return listing
        return Listing(uri=key, entries=tuple(sorted(entries.values(), key=lambda entry: entry.name)))

    def origin(self, uri: str) -> Uri:
        """The file's URI in the workspace, before staged renames; that under which it was made if it is new."""
        origin = self._stage.first_name(self._key(uri))
        return self.under.origin(origin) if isinstance(self.under, Overlay) else origin

    def texts(self) -> dict[Uri, str | None]:
        """The staged texts, here and below, by the URI that each file has here; None for a file that is gone."""
        below = self.under.texts() if isinstance(self.under, Overlay) else {}
        return self.changeset().texts(below)

    def has_read(self, uri: str) -> bool:
        """Whether the text of this file was read or written through this overlay."""
        key = self._key(uri)
        read = self._stage.read.get(key)
        return self._stage.staged(key) is not None or (read is not None and read.text is not None)

    def hashes(self) -> dict[Uri, Sha256]:
        """The hash of each text that was read or written through this overlay, the latest of each file."""
        read = {uri: found.sha256 for uri, found in self._stage.read.items() if found.sha256 is not None}
        written = {
            uri: sha256(staged.text) for uri, staged in self._stage.placed() if staged.text is not None
        }
        return {**read, **written}

    async def stage_write(
        self,
        file: str | Snapshot,
        text: str,
        *,
        notes: tuple[str, ...] = (),
        exact: bool = False,
        form: FileForm | None = None,
    ) -> StageRefused | None:
        """Stage `text` as the content of a file; returns None on success. An unchanged text stages nothing.

        `file` is its URI, or the snapshot that `read` or `peek` has just returned, which is not looked up again.
        Line ends are adapted to those of the file, or of neighbouring files for a new one, unless `exact`.
        With a `form` the change is staged even if the text is unchanged, since the encoding may change.
        """
        found = file if isinstance(file, Snapshot) else await self.peek(file)
        key = found.uri
        if found.problem is not None:
            return StageRefused(reason=_unwritable(found))
        above = self.file_above(key)
        if above is not None:
            return StageRefused(reason=f"{named(above)} is a file, so nothing can be written below it.")
        last = self._stage.last(key)
        earlier = None if last is None else self._stage.layers[last][key]
        if earlier is not None and earlier.base.problem == "folder":
            return StageRefused(
                reason=f"{named(key)} is a folder that these same changes delete: choose another name."
            )
        base = earlier.base if earlier is not None else self._stage.read.get(key, found)
        self._stage.keep_folders(key)
        if not exact:
            text = text.removeprefix(BOM)
            eol = None if base.text is not None or "\n" not in text else await self._usual_eol(key)
            text = with_eol(text, eol) if eol is not None else adapt_eol(text, base.text or "")
        form = form or (earlier.form if earlier is not None else None)
        if text != base.text or form is not None:
            notes = tuple(dict.fromkeys((*(earlier.notes if earlier is not None else ()), *notes)))
            self._stage.put(Staged(key, base, text, notes=notes, form=form, causes=self.causes))
        elif last is not None:
            del self._stage.layers[last][key]
            self._stage.read[key] = base
        return None

    async def stage_create_folder(self, uri: str) -> StageRefused | None:
        """Stage the creation of a folder and its missing parents; None on success, or if it exists. One that exists
        only by what is staged in it gets an operation of its own, since that may be denied.
        """
        missing = []
        found = await self.peek(uri)
        while not _is_made(found):
            if found.source == "implied":
                found = Snapshot(uri=found.uri, exists=False, source="staged")
            if found.exists:
                return StageRefused(reason=f"{named(found.uri)} is a file, so it cannot be a folder.")
            if found.problem is not None:
                return StageRefused(reason=found.detail)
            earlier = self._stage.staged(found.uri)
            if earlier is not None and earlier.base.exists and earlier.base.problem != "folder":
                return StageRefused(
                    reason=f"{named(found.uri)} is a file that these same changes delete: choose another name."
                )
            missing.append(found)
            found = await self.peek(parent(found.uri))
        if missing:
            self._stage.keep_folders(missing[0].uri)
        for place in reversed(missing):
            if not _is_made(await self.peek(place.uri)):
                self._stage.put(Staged(place.uri, place, folder=True, causes=self.causes))
        return None

    async def stage_delete(self, uri: str, *, recursive: bool = False) -> StageRefused | None:
        """Stage the deletion of a file, or of a folder, if `recursive` with everything in it.

        Refuses to delete anything that is not text, since an undo could not restore it.
        """
        found = await self.peek(uri)
        if not found.exists:
            return StageRefused(reason=found.detail or f"{named(found.uri)} does not exist.")
        inside: tuple[Snapshot, ...] | StageRefused = ()
        if found.problem == "folder":
            inside = await self._inside(found.uri)
        if isinstance(inside, StageRefused):
            return inside
        if inside and not recursive:
            return StageRefused(
                reason=f"{named(found.uri)} is a folder with {len(inside)} entries: delete it with its content."
            )
        places = (*inside, found)
        unfit = next((place for place in places if place.problem not in (None, "folder")), None)
        if unfit is not None:
            return StageRefused(
                reason=f"{named(unfit.uri)} is {_kind(unfit)}, which could not be brought back:"
                " only a person can delete it."
            )
        for place in places:
            if place.source != "implied" or (await self.peek(place.uri)).exists:
                self._stage.remove(place, self.causes)
        return None

    async def stage_rename(self, uri: str, new_uri: str) -> StageRefused | None:
        """Stage a rename of a file or folder; never over something that exists."""
        found, target = await self.peek(uri), await self.peek(new_uri)
        old, new = found.uri, self._key(new_uri)
        if not found.exists:
            return StageRefused(reason=found.detail or f"{named(old)} does not exist.")
        if old == new:
            return None
        case_only = old.casefold() == new.casefold() and found.fingerprint == target.fingerprint is not None
        if target.exists and not case_only:
            return StageRefused(reason=f"{named(new)} exists already: choose another name.")
        if target.problem is not None and not target.exists:
            return StageRefused(reason=target.detail)
        if is_below(new, old):
            return StageRefused(reason=f"{named(old)} cannot move into itself: choose another place.")
        above = self.file_above(new)
        if above is not None:
            return StageRefused(reason=f"{named(above)} is a file, so nothing can lie below it.")
        self._stage.keep_folders(parent(new))
        self._stage.move(old, new, found, self.causes)
        return None

    async def merge_down(self) -> tuple[Unmerged, ...]:
        """Move the staged changes to the overlay below, in order, merging them with what was staged there meanwhile.

        Conflicting changes, and those that come after one of the same file, are returned and stay staged here.
        """
        assert isinstance(self.under, Overlay), "Only an overlay over an overlay can be merged down."
        unmerged: list[Unmerged] = []
        kept: list[Staged] = []
        for staged in [*self._stage.operations()]:
            before = next((each for each in kept if _is_after(staged, each)), None)
            if before is not None:
                reason = f"{named(staged.place)} is not changed, since {named(before.place)} was not."
                refused: StageRefused | None = StageRefused(reason=reason)
            else:
                refused = await self.under.merge(staged, staged.causes or self.under.causes)
            if refused is not None:
                unmerged.append(Unmerged(uri=staged.place, reason=refused.reason))
                kept.append(staged)
        self._staged = Stage(read=self._stage.read, names=self._stage.names)
        for staged in kept:
            self._stage.append(staged)
        return tuple(unmerged)

    async def merge(self, staged: Staged, causes: tuple[Cause, ...]) -> StageRefused | None:
        """Merge a change that an overlay above has staged; returns why it conflicts."""
        place, mine, moves = staged.place, self.causes, self._stage.moves
        same = next((number for number, each in enumerate(moves) if each.ends == staged.ends), None)
        if same is not None and not (await self.peek(place)).exists:
            moves[same] = moves[same].with_causes(causes)
            return None
        self.causes = causes
        try:
            if staged.to is not None:
                return self._deleted_above(staged.to) or await self.stage_rename(place, staged.to)
            if staged.folder:
                return self._deleted_above(place) or await self.stage_create_folder(place)
            if staged.text is None:
                return await self._merge_deletion(place, staged.base)
            return await self._merge_text(place, staged.text, staged)
        finally:
            self.causes = mine

    async def _merge_deletion(self, place: Uri, base: Snapshot) -> StageRefused | None:
        found = await self.peek(place)
        if not found.exists:
            # If another step has deleted it, there is nothing to do; if it was renamed, that is a conflict.
            last = self._stage.last(place)
            if last is not None:
                self._stage.layers[last][place] = self._stage.layers[last][place].with_causes(self.causes)
            is_deleted = last is not None or self._stage.is_below_deleted(place)
            return None if is_deleted else StageRefused(reason=f"Another step has renamed {named(place)}.")
        if found.problem == "folder" and (await self.list_folder(place)).entries:
            return StageRefused(reason=f"Another step has added something to {named(place)}.")
        if self._has_touched(place) and found.text != base.text:
            return StageRefused(
                reason=f"Another step has changed {named(place)}: read it again before you delete it."
            )
        if not self._has_touched(place):
            self._stage.read[place] = base._replace(source=found.source)
        self._stage.remove(found, self.causes)
        return None

    async def _merge_text(self, place: Uri, text: str, staged: Staged) -> StageRefused | None:
        found = await self.peek(place)
        if self._has_touched(place):
            if not found.exists and staged.base.exists:
                return StageRefused(reason=f"Another step has deleted or renamed {named(place)}.")
            if found.text is not None and found.text != staged.base.text:
                merged = three_way(staged.base.text or "", found.text, text)
                if merged.kind == "conflicted":
                    return StageRefused(
                        reason=f"Another step has changed the same lines of {named(place)}: read it again,"
                        " then change it."
                    )
                text = merged.text
        else:
            self._stage.read[place] = staged.base._replace(source=found.source)
        return self._deleted_above(place) or await self.stage_write(
            place, text, notes=staged.notes, exact=True, form=staged.form
        )

    def _deleted_above(self, place: Uri) -> StageRefused | None:
        """The refusal of a change in a folder that another step has deleted, or None."""
        if not self._stage.is_below_deleted(place):
            return None
        return StageRefused(reason=f"Another step has deleted the folder of {named(place)}.")

    def _has_touched(self, place: Uri) -> bool:
        """Whether this overlay changes anything at the URI."""
        return self._stage.look(place) != place

    def settle(self, files: Iterable[EditedFile]) -> None:
        """Drop the staged changes that were made."""
        self._stage.settle(files)

    def changeset(self) -> Changeset:
        """The staged changes, one per file, in the order in which they must be made."""
        return self._stage.changeset()

    def clear(self) -> None:
        """Drop all staged changes and recorded reads."""
        self.ahead.clear()
        self._staged = Stage()

    def file_above(self, key: Uri) -> Uri | None:
        """An ancestor of this URI that is staged as a file, here or in an overlay below."""
        found = self._stage.file_above(key)
        return self.under.file_above(key) if found is None and isinstance(self.under, Overlay) else found

    def _key(self, uri: str) -> Uri:
        key = normalized(uri)
        return self._stage.names.get(key, key)

    async def _listed_under(self, key: Uri) -> Listing:
        origin = self._stage.origin(key)
        if origin is None:
            return Listing(uri=key, problem="missing", detail=f"{named(key)} does not exist.")
        return (await self.under.list_folder(origin))._replace(uri=key)

    async def _inside(self, folder: Uri) -> tuple[Snapshot, ...] | StageRefused:
        """Everything in a folder, the deepest first."""
        inside: list[Snapshot] = []
        for entry in (await self.list_folder(folder)).entries:
            if entry.kind == "link":
                return StageRefused(reason=f"{named(entry.uri)} is a link: only a person can delete it.")
            if entry.kind == "folder":
                deeper = await self._inside(entry.uri)
                if isinstance(deeper, StageRefused):
                    return deeper
                inside += deeper
            inside.append(await self.peek(entry.uri))
            if len(inside) > DELETE_LIMIT:
                return StageRefused(
                    reason=f"{named(folder)} holds more than {DELETE_LIMIT} files: delete smaller parts."
                )
        return tuple(inside)

    async def _usual_eol(self, key: Uri) -> Eol:
        """The line end of most files near a new one; files with the same suffix are sampled first."""
        near = parent(key), PurePosixPath(key).suffix
        if near not in self._stage.eols:
            self._stage.eols[near] = await self._sampled_eol(key)
        return self._stage.eols[near]

    async def _sampled_eol(self, key: Uri) -> Eol:
        folder = parent(key)
        listing = await self.list_folder(folder)
        while listing.problem is not None and len(folder) > len("file:///"):
            folder = parent(folder)
            listing = await self.list_folder(folder)
            if listing.problem == "refused":
                return "\n"
        suffix = PurePosixPath(key).suffix
        files = [
            e for e in listing.entries if e.kind == "file" and 0 < e.size <= _SAMPLE_BYTES and e.uri != key
        ]
        files.sort(key=lambda entry: PurePosixPath(entry.name).suffix != suffix)
        samples = await self._peek_all([entry.uri for entry in files[:_SAMPLE_FILES]])
        ends = Counter(sample.eol for sample in samples)
        return "\r\n" if ends["\r\n"] > ends["\n"] else "\n"


def _is_after(staged: Staged, before: Staged) -> bool:
    """Whether a change is of what an earlier one has changed, so that it needs that one."""
    return any(overlap(end, other) for end in staged.ends for other in before.ends)


def _is_made(found: Snapshot) -> bool:
    """Whether it is a folder that does not only exist by what is staged in it."""
    return found.problem == "folder" and found.source != "implied"


def _kind(found: Snapshot) -> str:
    kinds = {
        "binary": "binary",
        "undecodable": "text in an unknown encoding",
        "too_large": "too large",
        "folder": "a folder",
        "special": "not a regular file",
    }
    return kinds.get(found.problem or "", "unreadable")


def _unwritable(found: Snapshot) -> str:
    if found.problem == "refused":
        return found.detail
    detail = f" ({found.detail})" if found.detail else ""
    return f"{named(found.uri)} is {_kind(found)}{detail}: it cannot be written as text."
