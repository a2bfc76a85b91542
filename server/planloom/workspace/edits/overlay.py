"""Staged changes over the workspace: read as if they had happened, while nothing has."""

from __future__ import annotations

from collections import Counter
from pathlib import PurePosixPath
from typing import Final

from planloom.domain.changes import Changeset
from planloom.domain.text.positions import Eol, FileForm, adapt_eol, with_eol
from planloom.domain.values import Uri, Value
from planloom.workspace.edits.rebase import three_way
from planloom.workspace.edits.staging import Move, Stage, Staged, entry_at, named, seen
from planloom.workspace.paths.listings import Listing
from planloom.workspace.paths.uris import child, is_below, normalized, parent
from planloom.workspace.snapshots import BOM, Snapshot
from planloom.workspace.view import WorkspaceView

DELETE_LIMIT: Final = 1000
"""Files that one deletion of a folder may take along."""

_HABIT_FILES: Final = 8
_HABIT_BYTES: Final = 65_536


class StageRefused(Value):
    """A change that cannot be staged; the sentence says what to do instead."""

    reason: str


class Unsettled(Value):
    """A change that cannot be joined with what was staged meanwhile; the sentence says why, and what to do."""

    uri: Uri
    reason: str


class Overlay:
    """Staged → buffer → disk. An overlay may lie over another one: a step's over its plan's."""

    def __init__(self, under: WorkspaceView | Overlay) -> None:
        self.under = under
        self._stage = Stage()

    async def read(self, uri: str) -> Snapshot:
        """The file as the author of the changes sees it; this reading is the base of what it writes next."""
        found = await self.peek(uri)
        if found.uri not in self._stage.staged:
            self._stage.read[found.uri] = found
        return found

    async def peek(self, uri: str) -> Snapshot:
        """The same for Planloom's own eyes: what the author has read stays the base."""
        key = self._key(uri)
        staged = self._stage.staged.get(key)
        if staged is not None:
            return seen(key, staged)
        origin = self._stage.origin(key)
        if origin is None or self._stage.is_below_gone(key):
            return Snapshot(uri=key, exists=False, source="staged")
        if isinstance(self.under, Overlay):
            found = await self.under.peek(origin)
        else:
            found = await self.under.snapshot(origin)
        if origin != key:
            return found.model_copy(update={"uri": key, "version": None, "source": "staged"})
        if found.uri != key:
            # The file is open under another name, and that is its name from here on.
            self._stage.names[key] = found.uri
            staged = self._stage.staged.get(found.uri)
        return found if staged is None else seen(found.uri, staged)

    async def saved_text(self, uri: str) -> str | None:
        """The text on disk, whatever is staged or open; None if there is none."""
        return await self.under.saved_text(self._stage.origin(self._key(uri)) or uri)

    async def list_folder(self, uri: str) -> Listing:
        """The names in a folder, staged ones among them."""
        key = self._key(uri)
        listing = await self._listed_under(key)
        entries = {}
        for entry in listing.entries:
            here = child(key, entry.name)
            if self._stage.origin(here) is not None:
                entries[here] = entry.model_copy(update={"uri": here})
        there = listing.problem is None
        for move in self._stage.moves:
            if parent(move.new) == key:
                entries[move.new] = entry_at(move.new, folder=move.folder, text=move.before)
            elif is_below(move.new, key):
                direct = Uri(key + "/" + move.new[len(key) + 1 :].partition("/")[0])
                entries.setdefault(direct, entry_at(direct, folder=True))
            there = there or is_below(move.new, key)
        for place, staged in self._stage.staged.items():
            there = there or (not staged.gone and (place == key or is_below(place, key)))
            if not is_below(place, key):
                continue
            direct = Uri(key + "/" + place[len(key) + 1 :].partition("/")[0])
            if direct == place and staged.gone:
                entries.pop(place, None)
            elif direct == place:
                entries[place] = entry_at(place, folder=staged.folder, text=staged.text)
            elif direct not in entries and not staged.gone:
                entries[direct] = entry_at(direct, folder=True)
        if not there:
            return listing
        return Listing(uri=key, entries=tuple(sorted(entries.values(), key=lambda entry: entry.name)))

    def origin(self, uri: str) -> Uri:
        """Where a file lies in the workspace, whatever staged renames call it here; its own name if it is new."""
        key = self._key(uri)
        origin = self._stage.origin(key)
        if origin is None:
            return key
        return self.under.origin(origin) if isinstance(self.under, Overlay) else origin

    def has_read(self, uri: str) -> bool:
        """Whether the author of the changes has seen, or written, the text of this file."""
        key = self._key(uri)
        read = self._stage.read.get(key)
        return key in self._stage.staged or (read is not None and read.text is not None)

    async def stage_write(
        self,
        uri: str,
        text: str,
        *,
        notes: tuple[str, ...] = (),
        exact: bool = False,
        form: FileForm | None = None,
    ) -> StageRefused | None:
        """Let the file hold `text`; None when staged. A text that the file holds already stages nothing.

        Line ends become those of the file, or for a new file those of its neighbours, unless it is `exact`.
        With a `form` the change is staged even if the text is there, since the file may have another form.
        """
        found = await self.peek(uri)
        key = found.uri
        if found.problem is not None:
            return StageRefused(reason=_unwritable(found))
        above = self.file_above(key)
        if above is not None:
            return StageRefused(reason=f"{named(above)} is a file, so nothing can be written below it.")
        if self._stage.holds_below(key):
            return StageRefused(reason=f"{named(key)} is a folder, so it cannot be written as text.")
        earlier = self._stage.staged.get(key)
        if earlier is not None and earlier.base.problem == "folder":
            return StageRefused(
                reason=f"{named(key)} is a folder that goes in these same changes: choose another name."
            )
        base = earlier.base if earlier is not None else self._stage.read.get(key, found)
        self._stage.keep_folders(key)
        if not exact:
            text = text.removeprefix(BOM)
            eol = None if base.text is not None or "\n" not in text else await self._habit(key)
            text = with_eol(text, eol) if eol is not None else adapt_eol(text, base.text or "")
        form = form or (earlier.form if earlier is not None else None)
        if text == base.text and form is None:
            self._stage.staged.pop(key, None)
            self._stage.read[key] = base
        else:
            known = earlier.notes if earlier is not None else ()
            self._stage.staged[key] = Staged(
                base, text, notes=tuple(dict.fromkeys((*known, *notes))), form=form
            )
        return None

    async def stage_create_folder(self, uri: str) -> StageRefused | None:
        """Let the folder be there, and its parents; one that exists is fine."""
        missing = []
        found = await self.peek(uri)
        while found.problem != "folder":
            if found.exists:
                return StageRefused(reason=f"{named(found.uri)} is a file, so it cannot be a folder.")
            if found.problem is not None:
                return StageRefused(reason=found.detail)
            earlier = self._stage.staged.get(found.uri)
            if earlier is not None and earlier.base.exists and earlier.base.problem != "folder":
                return StageRefused(
                    reason=f"{named(found.uri)} is a file that goes in these same changes: choose another name."
                )
            missing.append(found)
            found = await self.peek(parent(found.uri))
        if missing:
            self._stage.keep_folders(missing[0].uri)
        for place in reversed(missing):
            if not (await self.peek(place.uri)).exists:
                self._stage.staged[place.uri] = Staged(place, folder=True)
        return None

    async def stage_delete(self, uri: str, *, recursive: bool = False) -> StageRefused | None:
        """Let a file go away, or a folder with, if `recursive`, everything in it.

        What could not be brought back, since it is no text, is refused.
        """
        found = await self.peek(uri)
        if not found.exists:
            return StageRefused(reason=found.detail or f"{named(found.uri)} is not there.")
        inside: tuple[Snapshot, ...] | StageRefused = ()
        if found.problem == "folder":
            inside = await self._inside(found.uri)
        if isinstance(inside, StageRefused):
            return inside
        if inside and not recursive:
            return StageRefused(
                reason=f"{named(found.uri)} is a folder with {len(inside)} entries: say that they go with it."
            )
        places = (*inside, found)
        unfit = next((place for place in places if place.problem not in (None, "folder")), None)
        if unfit is not None:
            return StageRefused(
                reason=f"{named(unfit.uri)} is {_kind(unfit)}, which could not be brought back:"
                " only a person can delete it."
            )
        for place in places:
            self._stage.remove(place)
        return None

    async def stage_rename(self, uri: str, new_uri: str) -> StageRefused | None:
        """Let a file or folder have another name; never over something that exists."""
        found, target = await self.peek(uri), await self.peek(new_uri)
        old, new = found.uri, self._key(new_uri)
        if not found.exists:
            return StageRefused(reason=found.detail or f"{named(old)} is not there.")
        if old == new:
            return None
        case_only = old.casefold() == new.casefold() and found.fingerprint == target.fingerprint is not None
        if (target.exists or self._stage.holds_below(new)) and not case_only:
            return StageRefused(reason=f"{named(new)} exists already: choose another name.")
        if target.problem is not None and not target.exists:
            return StageRefused(reason=target.detail)
        if is_below(new, old):
            return StageRefused(reason=f"{named(old)} cannot move into itself: choose another place.")
        if new in self._stage.staged:
            return StageRefused(reason=f"{named(new)} is deleted in these same changes: write to it instead.")
        above = self.file_above(new)
        if above is not None:
            return StageRefused(reason=f"{named(above)} is a file, so nothing can lie below it.")
        self._stage.keep_folders(new)
        self._stage.move(old, new, found)
        return None

    async def settle(self) -> tuple[Unsettled, ...]:
        """Hand what is staged down to the overlay below, and start afresh.

        What was staged there meanwhile is merged. What cannot be joined with it is returned, and stays staged
        here: whatever is not returned is in the overlay below.
        """
        assert isinstance(self.under, Overlay), "Only an overlay over an overlay can be settled."
        unsettled: list[Unsettled] = []
        moves: list[Move] = []
        kept: dict[Uri, Staged] = {}
        for move in self._stage.moves:
            refused = await self.under.take_move(move)
            if refused is not None:
                unsettled.append(refused)
                moves.append(move)
        for place, staged in self._stage.staged.items():
            stuck = next((move for move in moves if place == move.new or is_below(place, move.new)), None)
            if stuck is not None:
                reason = f"{named(place)} is not changed, since {named(stuck.old)} was not renamed."
                refused = Unsettled(uri=place, reason=reason)
            else:
                refused = await self.under.take(place, staged)
            if refused is not None:
                unsettled.append(refused)
                kept[place] = staged
        self._stage = Stage(read=self._stage.read, staged=kept, moves=moves, names=self._stage.names)
        return tuple(unsettled)

    async def take_move(self, move: Move) -> Unsettled | None:
        """Stage a rename that an overlay above has staged; what it says if this one has moved on."""
        if any((each.old, each.new) == (move.old, move.new) for each in self._stage.moves):
            return None
        refused = self._gone(move.new) or await self.stage_rename(move.old, move.new)
        return None if refused is None else Unsettled(uri=move.old, reason=refused.reason)

    async def take(self, place: Uri, staged: Staged) -> Unsettled | None:
        """Stage what an overlay above has staged at a place; what it says if this one has moved on."""
        if staged.folder:
            refused = self._gone(place) or await self.stage_create_folder(place)
        elif staged.text is None:
            refused = await self._take_deletion(place, staged.base)
        else:
            refused = await self._take_text(place, staged.text, staged)
        return None if refused is None else Unsettled(uri=place, reason=refused.reason)

    async def _take_deletion(self, place: Uri, base: Snapshot) -> StageRefused | None:
        found = await self.peek(place)
        if not found.exists:
            # What another step has deleted is gone; what it has renamed is somewhere else.
            moved = place not in self._stage.staged and not self._stage.is_below_gone(place)
            return StageRefused(reason=f"Another step has renamed {named(place)}.") if moved else None
        if found.problem == "folder" and (await self.list_folder(place)).entries:
            return StageRefused(reason=f"Another step has put something into {named(place)}.")
        if self._has_touched(place) and found.text != base.text:
            return StageRefused(
                reason=f"Another step has changed {named(place)}: read it again before you delete it."
            )
        if not self._has_touched(place):
            self._stage.read[place] = base.model_copy(update={"source": found.source})
        self._stage.remove(found)
        return None

    async def _take_text(self, place: Uri, text: str, staged: Staged) -> StageRefused | None:
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
            self._stage.read[place] = staged.base.model_copy(update={"source": found.source})
        return self._gone(place) or await self.stage_write(
            place, text, notes=staged.notes, exact=True, form=staged.form
        )

    def _gone(self, place: Uri) -> StageRefused | None:
        """Why nothing comes to a place, if another step has deleted the folder that it lies in."""
        if not self._stage.is_below_gone(place):
            return None
        return StageRefused(reason=f"Another step has deleted the folder of {named(place)}.")

    def _has_touched(self, place: Uri) -> bool:
        """Whether a place is not what it is below this overlay."""
        stage = self._stage
        return place in stage.staged or stage.origin(place) != place or stage.is_below_gone(place)

    def changeset(self) -> Changeset:
        """What is staged, one change a file, in the order in which it must happen."""
        return self._stage.changeset()

    def clear(self) -> None:
        """Forget what is staged and what was read."""
        self._stage = Stage()

    def file_above(self, key: Uri) -> Uri | None:
        """A place above this one that is staged as a file, here or below."""
        found = self._stage.file_above(key)
        return self.under.file_above(key) if found is None and isinstance(self.under, Overlay) else found

    def _key(self, uri: str) -> Uri:
        key = normalized(uri)
        return self._stage.names.get(key, key)

    async def _listed_under(self, key: Uri) -> Listing:
        origin = self._stage.origin(key)
        if origin is None or self._stage.is_below_gone(key):
            return Listing(uri=key, problem="missing", detail=f"{named(key)} is not there.")
        return (await self.under.list_folder(origin)).model_copy(update={"uri": key})

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

    async def _habit(self, key: Uri) -> Eol:
        """The line end that most files near a new one have, those of its own kind before all."""
        folder = parent(key)
        listing = await self.list_folder(folder)
        while listing.problem is not None and len(folder) > len("file:///"):
            folder = parent(folder)
            listing = await self.list_folder(folder)
            if listing.problem == "refused":
                return "\n"
        suffix = PurePosixPath(key).suffix
        files = [
            e for e in listing.entries if e.kind == "file" and 0 < e.size <= _HABIT_BYTES and e.uri != key
        ]
        files.sort(key=lambda entry: PurePosixPath(entry.name).suffix != suffix)
        ends = Counter([(await self.peek(entry.uri)).eol for entry in files[:_HABIT_FILES]])
        return "\r\n" if ends["\r\n"] > ends["\n"] else "\n"


def _kind(found: Snapshot) -> str:
    kinds = {
        "binary": "no text but binary",
        "undecodable": "text in an encoding that cannot be told",
        "too_large": "too large",
        "folder": "a folder",
        "special": "no regular file",
    }
    return kinds.get(found.problem or "", "unreadable")


def _unwritable(found: Snapshot) -> str:
    if found.problem == "refused":
        return found.detail
    detail = f" ({found.detail})" if found.detail else ""
    return f"{named(found.uri)} is {_kind(found)}{detail}: it cannot be written as text."
