"""The data of an overlay: staged changes by URI, and the changeset they form."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from planloom.domain.changes import (
    Changeset,
    CreateFile,
    CreateFolder,
    DeleteFile,
    EditFile,
    FileChange,
    RenameFile,
    sha256,
)
from planloom.domain.text.positions import Eol, FileForm, dominant_eol
from planloom.domain.values import Uri
from planloom.workspace.paths.listings import Entry
from planloom.workspace.paths.names import quoted
from planloom.workspace.paths.uris import after_rename, is_at_or_below, is_below, to_path
from planloom.workspace.snapshots import Snapshot


class Staged(NamedTuple):
    """The staged state of a URI: a `text`, a folder, or deleted; `base` is the snapshot that its author read.

    `form` is the encoding to set; None keeps the file's own, or uses the default for a new file.
    """

    base: Snapshot
    text: str | None = None
    folder: bool = False
    notes: tuple[str, ...] = ()
    form: FileForm | None = None

    @property
    def deleted(self) -> bool:
        """Whether the file or folder is staged for deletion."""
        return self.text is None and not self.folder


class Move(NamedTuple):
    """A staged rename: the underlying file is at `old`, readers of this overlay see it at `new`.

    `before` is the text of a file.
    """

    old: Uri
    new: Uri
    before: str | None
    folder: bool


@dataclass
class Stage:
    """The state of an overlay; `names` maps URIs to those under which documents are really open.

    `eols` are the line ends of new files by their folder and suffix.
    """

    read: dict[Uri, Snapshot] = field(default_factory=dict)
    staged: dict[Uri, Staged] = field(default_factory=dict)
    moves: list[Move] = field(default_factory=list)
    names: dict[Uri, Uri] = field(default_factory=dict)
    eols: dict[tuple[Uri, str], Eol] = field(default_factory=dict)

    def origin(self, key: Uri) -> Uri | None:
        """The URI below the overlay; None if a staged rename moved the file away."""
        for move in reversed(self.moves):
            if is_at_or_below(key, move.new):
                key = after_rename(key, move.new, move.old)
            elif is_at_or_below(key, move.old):
                return None
        return key

    def is_below_deleted(self, key: Uri) -> bool:
        """Whether the URI lies in a folder that is staged for deletion."""
        return any(
            staged.deleted and staged.base.problem == "folder" and is_below(key, place)
            for place, staged in self.staged.items()
        )

    def keep_folders(self, key: Uri) -> None:
        """Cancel staged deletions of folders at or above the URI."""
        for place in [p for p, staged in self.staged.items() if staged.deleted and is_at_or_below(key, p)]:
            if self.staged[place].base.problem == "folder":
                del self.staged[place]

    def holds_below(self, key: Uri) -> bool:
        """Whether something is staged below the URI, so that it must be a folder."""
        return any(not staged.deleted and is_below(p, key) for p, staged in self.staged.items()) or any(
            is_below(move.new, key) for move in self.moves
        )

    def file_above(self, key: Uri) -> Uri | None:
        """An ancestor of the URI that is staged as a file."""
        found = (p for p, staged in self.staged.items() if staged.text is not None and is_below(key, p))
        return next(found, None)

    def move(self, old: Uri, new: Uri, found: Snapshot) -> None:
        """Stage the rename of everything at and below `old`, including what is staged there."""
        here = self.staged.get(old)
        if here is None or here.base.exists:
            before = here.base.text if here is not None else found.text
            earlier = next((move for move in self.moves if move.new == old), None)
            if earlier is not None:
                self.moves.remove(earlier)
                before = earlier.before
            start = earlier.old if earlier is not None else old
            if start != new:
                self.moves.append(Move(start, new, before, folder=found.problem == "folder"))
        for key in [key for key in self.staged if is_at_or_below(key, old)]:
            self._restage(key, after_rename(key, old, new))
        for key in [key for key in self.read if is_at_or_below(key, old)]:
            place = after_rename(key, old, new)
            self.read[place] = self.read.pop(key)._replace(uri=place)

    def _restage(self, key: Uri, place: Uri) -> None:
        """Keep what is staged at `key` under another URI."""
        staged = self.staged.pop(key)
        self.staged[place] = staged._replace(base=staged.base._replace(uri=place))

    def remove(self, found: Snapshot) -> None:
        """Stage a deletion; a file that was only staged is dropped."""
        earlier = self.staged.pop(found.uri, None)
        base = earlier.base if earlier is not None else self.read.get(found.uri, found)
        if earlier is not None and not base.exists:
            return
        place = found.uri
        base = base if base.exists else found
        move = next((move for move in self.moves if move.new == place), None)
        if move is None:
            self.staged[place] = Staged(base)
            return
        # A renamed file that is then deleted is deleted at its old URI; a new file staged there becomes an edit.
        self.moves.remove(move)
        for key in [key for key in self.staged if is_below(key, move.new)]:
            self._restage(key, after_rename(key, move.new, move.old))
        base = base._replace(uri=move.old)
        successor = self.staged.get(move.old)
        self.staged[move.old] = Staged(base) if successor is None else successor._replace(base=base)

    def changeset(self) -> Changeset:
        """The staged changes, one per file, in the order in which they must be made."""
        places = [place for move in self.moves for place in (move.old, move.new)]
        renames = tuple(RenameFile(uri=m.old, new_uri=m.new, before=m.before) for m in self.moves)
        # A change at a URI that a rename frees or fills must come after that rename.
        early = any(is_at_or_below(key, place) for key in self.staged for place in places)
        changes = [_change(place, staged) for place, staged in self.staged.items()]
        folders = _of_kind(changes, "createFolder")
        moved = tuple(f for f in folders if any(is_at_or_below(f.uri, place) for place in places))
        deleted = sorted(_of_kind(changes, "delete"), key=_deletion_order)
        # Files are moved out of a folder before it is deleted.
        emptied = tuple(c for c in deleted if c.kind == "delete" and c.before is None)
        return Changeset(
            changes=(
                *(folder for folder in folders if folder not in moved),
                *(renames if early else ()),
                *moved,
                *_of_kind(changes, "create"),
                *_of_kind(changes, "edit"),
                *(change for change in deleted if change not in emptied),
                *(() if early else renames),
                *emptied,
            )
        )


def staged_snapshot(key: Uri, staged: Staged) -> Snapshot:
    """The snapshot of a URI as if its staged change had been made."""
    if staged.folder:
        return Snapshot(uri=key, exists=True, problem="folder", source="staged")
    if staged.text is None:
        return Snapshot(uri=key, exists=False, source="staged")
    return staged.base._replace(
        uri=key,
        exists=True,
        text=staged.text,
        sha256=sha256(staged.text),
        eol=dominant_eol(staged.text),
        source="staged",
    )


def entry_at(uri: Uri, *, folder: bool, text: str | None = None) -> Entry:
    """The folder entry of a staged file or folder."""
    size = len((text or "").encode("utf-8", "surrogatepass"))
    return Entry(name=_name(uri), uri=uri, kind="folder" if folder else "file", size=0 if folder else size)


def named(uri: Uri) -> str:
    """The last name of a URI in quotes, for use in a sentence."""
    return quoted(_name(uri))


def _name(uri: Uri) -> str:
    path = to_path(uri)
    return uri if path is None else path.name or str(path)


def _change(place: Uri, staged: Staged) -> FileChange:
    base = staged.base
    if staged.folder:
        return CreateFolder(uri=place)
    if staged.text is None:
        return DeleteFile(uri=place, before=base.text)
    if base.text is None:
        return CreateFile(uri=place, after=staged.text, form=staged.form or FileForm())
    return EditFile(uri=place, before=base.text, after=staged.text, notes=staged.notes, form=staged.form)


def _of_kind(changes: Iterable[FileChange], kind: str) -> tuple[FileChange, ...]:
    return tuple(change for change in changes if change.kind == kind)


def _deletion_order(change: FileChange) -> tuple[bool, int]:
    """Files before the folders that hold them, inner folders before outer ones."""
    folder = change.kind == "delete" and change.before is None
    return folder, -change.uri.count("/") if folder else 0
