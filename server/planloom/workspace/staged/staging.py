"""The data of an overlay: staged operations in order, and the changeset they form."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from planloom.domain.changes import (
    Cause,
    Changeset,
    CreateFile,
    CreateFolder,
    DeleteFile,
    EditedFile,
    EditFile,
    FileChange,
    RenameFile,
    sha256,
)
from planloom.domain.text.positions import Eol, FileForm, dominant_eol
from planloom.domain.values import Uri
from planloom.workspace.moves import Move
from planloom.workspace.paths.listings import Entry
from planloom.workspace.paths.names import quoted
from planloom.workspace.paths.uris import after_rename, folders_of, is_below, to_path
from planloom.workspace.snapshots import Snapshot
from planloom.workspace.staged.order import in_order, overlap


class Staged(NamedTuple):
    """One operation on what has the name `place` after all operations before it.

    It gives the file a `text`, makes a `folder`, moves what is there to the name `to`, or else deletes it. `base` is
    the snapshot that its author read. `causes` are the calls that have staged it, or the edits that it takes back.
    `form` is the encoding to set; None keeps the file's own, or uses the default for a new file.
    """

    place: Uri
    base: Snapshot
    text: str | None = None
    folder: bool = False
    to: Uri | None = None
    notes: tuple[str, ...] = ()
    form: FileForm | None = None
    causes: tuple[Cause, ...] = ()

    @property
    def deleted(self) -> bool:
        """Whether the file or folder is staged for deletion."""
        return self.text is None and not self.folder and self.to is None

    @property
    def deletes_folder(self) -> bool:
        """Whether a folder is staged for deletion; what is in it has operations of its own."""
        return self.deleted and self.base.problem == "folder"

    @property
    def ends(self) -> tuple[Uri, ...]:
        """The URIs that it affects; a rename affects two."""
        return (self.place,) if self.to is None else (self.place, self.to)

    def with_causes(self, causes: Iterable[Cause]) -> Staged:
        """The operation, with more causes."""
        return self._replace(causes=tuple(dict.fromkeys((*self.causes, *causes))))


@dataclass
class Stage:
    """The state of an overlay: what was read, and the operations in order.

    `layers` hold the other operations by place, and each of `moves` comes after the layer of its number. `names` maps
    URIs to those under which documents are really open. `eols` are the line ends of new files by their folder and
    suffix.
    """

    read: dict[Uri, Snapshot] = field(default_factory=dict)
    layers: list[dict[Uri, Staged]] = field(default_factory=lambda: [{}])
    moves: list[Staged] = field(default_factory=list)
    names: dict[Uri, Uri] = field(default_factory=dict)
    eols: dict[tuple[Uri, str], Eol] = field(default_factory=dict)

    def operations(self) -> Iterator[Staged]:
        """All operations in order."""
        for number, layer in enumerate(self.layers):
            yield from layer.values()
            yield from self.moves[number : number + 1]

    def append(self, operation: Staged) -> None:
        """Add an operation after all others."""
        if operation.to is None:
            self.layers[-1][operation.place] = operation
        else:
            self.moves.append(operation)
            self.layers.append({})

    def look(self, key: Uri) -> Staged | Uri | None:
        """The operation that decides what is at the URI; else the URI below the overlay of what is there, or None if
        nothing is.
        """
        for number in range(len(self.moves), -1, -1):
            layer = self.layers[number]
            if key in layer:
                return layer[key]
            if layer and any(above in layer and layer[above].deleted for above in folders_of(key)):
                return None
            if number:
                move = self.moves[number - 1]
                if at_or_below(key, move.to or move.place):
                    key = after_rename(key, move.to or move.place, move.place)
                elif at_or_below(key, move.place):
                    return None
        return key

    def staged(self, key: Uri) -> Staged | None:
        """The operation that decides what is at the URI, if one does."""
        found = self.look(key)
        return found if isinstance(found, Staged) else None

    def origin(self, key: Uri) -> Uri | None:
        """The URI below the overlay of what is at a URI; None if that is staged, or if nothing is there."""
        found = self.look(key)
        return None if isinstance(found, Staged) else found

    def first_name(self, key: Uri) -> Uri:
        """The name that what is at the URI had before all operations, or was made under."""
        for each in reversed([*self.operations()]):
            if each.to is not None:
                key = after_rename(key, each.to, each.place)
            elif each.place == key and not each.base.exists:
                break
        return key

    def is_below_deleted(self, key: Uri) -> bool:
        """Whether the URI lies in a folder that is staged for deletion."""
        above = map(self.staged, folders_of(key))
        return any(staged is not None and staged.deleted for staged in above)

    def placed(self) -> Iterator[tuple[Uri, Staged]]:
        """The files and folders that the operations have put somewhere, each under the name that it has now."""
        for number, layer in enumerate(self.layers):
            for each in (*layer.values(), *self.moves[number : number + 1]):
                place = each.place if each.to is None else each.to
                for move in self.moves[number + (each.to is not None) :]:
                    place = after_rename(place, move.place, move.to or place)
                if not each.deleted:
                    yield place, each

    def holds_below(self, key: Uri) -> bool:
        """Whether something is or was staged below the URI, so that it must be a folder."""
        for number in range(len(self.moves), -1, -1):
            layer = self.layers[number]
            if any(place.startswith(f"{key}/") and not each.deleted for place, each in layer.items()):
                return True
            if key in layer and layer[key].deleted:
                return False
            if number:
                old, new = self.moves[number - 1].ends
                if is_below(new, key):
                    return True
                if at_or_below(key, old) and not at_or_below(key, new):
                    return False
                key = after_rename(key, new, old)
        return False

    def last(self, key: Uri) -> int | None:
        """The layer of the operation on this very name that a further one replaces; None if a rename came after it."""
        for number in range(len(self.moves), -1, -1):
            if key in self.layers[number]:
                return number
            if number and any(overlap(key, end) for end in self.moves[number - 1].ends):
                return None
        return None

    def put(self, operation: Staged) -> None:
        """Stage an operation that is no rename, in place of the one that it replaces."""
        place, number = operation.place, self.last(operation.place)
        if number is None:
            self.append(operation)
        else:
            self.layers[number][place] = operation.with_causes(self.layers[number][place].causes)

    def keep_folders(self, key: Uri) -> None:
        """Cancel staged deletions of folders at or above the URI."""
        for folder in (key, *folders_of(key)):
            number = self.last(folder)
            if number is not None and self.layers[number][folder].deletes_folder:
                del self.layers[number][folder]

    def file_above(self, key: Uri) -> Uri | None:
        """An ancestor of the URI that is staged as a file."""
        found = (folder for folder in folders_of(key) if (at := self.staged(folder)) and at.text is not None)
        return next(found, None)

    def move(self, old: Uri, new: Uri, found: Snapshot, causes: tuple[Cause, ...]) -> None:
        """Stage the rename of everything at and below `old`."""
        moved = {key: self.read.pop(key) for key in [*self.read] if at_or_below(key, old)}
        for key in [key for key in self.read if at_or_below(key, new)]:
            del self.read[key]
        for key, read in moved.items():
            # What is staged is the base of the next write, not what was read before.
            if self.staged(key) is None:
                place = after_rename(key, old, new)
                self.read[place] = read._replace(uri=place)
        self.append(Staged(old, found, to=new, causes=causes))

    def remove(self, found: Snapshot, causes: tuple[Cause, ...]) -> None:
        """Stage a deletion; a file that was only staged is dropped."""
        place, number = found.uri, self.last(found.uri)
        base = self.read.get(place, found) if number is None else self.layers[number][place].base
        if base.exists or number is None:
            self.put(Staged(place, base, causes=causes))
        else:
            del self.layers[number][place]

    def settle(self, files: Iterable[EditedFile]) -> None:
        """Drop the operations that were made."""
        for file in files:
            wanted = {*file.causes}
            for number, layer in enumerate(self.layers):
                made = layer.get(file.uri) if file.new_uri is None else None
                if made is not None and wanted.issuperset(made.causes):
                    del layer[file.uri]
                    break
                move = next(iter(self.moves[number : number + 1]), None)
                if move is not None and move.ends == file.uris and wanted.issuperset(move.causes):
                    del self.moves[number]
                    layer.update(self.layers.pop(number + 1))
                    break

    def follow(self, move: Move) -> Move:
        """Let the operations follow a rename by the user, which came before them; the rename as it is after them."""
        self.read = {
            move.renamed(uri): found._replace(uri=move.renamed(found.uri)) for uri, found in self.read.items()
        }
        self.names = {move.renamed(uri): move.renamed(name) for uri, name in self.names.items()}
        operations = [*self.operations()]
        self.layers, self.moves = [{}], []
        for operation in operations:
            ends, move = move.followed(operation.ends)
            base = operation.base._replace(uri=ends[0])
            self.append(
                operation._replace(place=ends[0], base=base, to=ends[1] if operation.to is not None else None)
            )
        return move

    def changeset(self) -> Changeset:
        """The staged changes, in the order in which they must be made."""
        changes = tuple(_change(staged) for staged in self.operations())
        return Changeset(changes=tuple(change for part in in_order(changes) for change in part.changes))


def changes_after(moves: Iterable[Move], changeset: Changeset) -> Changeset:
    """Changes of files that the user has renamed since they were staged."""
    changes = [*changeset.changes]
    for move in moves:
        for number, change in enumerate(changes):
            ends, move = move.followed(change.ends)  # noqa: PLW2901
            update = {"uri": ends[0], **({"new_uri": ends[1]} if change.kind == "rename" else {})}
            changes[number] = change.model_copy(update=update)
    return changeset.model_copy(update={"changes": tuple(changes)})


def at_or_below(key: Uri, place: Uri) -> bool:
    """Whether a normalised URI is that place or inside it."""
    return key == place or key.startswith(f"{place}/")


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


def _change(staged: Staged) -> FileChange:
    place, base, causes = staged.place, staged.base, staged.causes
    if staged.to is not None:
        return RenameFile(uri=place, new_uri=staged.to, before=base.text, causes=causes)
    if staged.folder:
        return CreateFolder(uri=place, causes=causes)
    if staged.text is None:
        return DeleteFile(uri=place, before=base.text, causes=causes)
    if base.text is None:
        return CreateFile(uri=place, after=staged.text, form=staged.form or FileForm(), causes=causes)
    return EditFile(
        uri=place, before=base.text, after=staged.text, notes=staged.notes, form=staged.form, causes=causes
    )
