"""Finds every path that a changeset touches, and which of them are refused or always need approval."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Final, NamedTuple

from planloom.domain.changes import CreateFile, CreateFolder, DeleteFile, EditFile, FileChange, RenameFile
from planloom.domain.safety.protected import danger, is_secret, never_written
from planloom.domain.safety.remote_schemas import remote_schemas
from planloom.domain.values import Uri
from planloom.workspace.disk import is_held
from planloom.workspace.paths.names import listed, quoted
from planloom.workspace.paths.resolver import PathRefused, ResolvedPath, holds_git
from planloom.workspace.paths.roots import Root, path_of
from planloom.workspace.paths.uris import after_rename, is_below, relative
from planloom.workspace.view import Places, ResolvedSnapshot, WorkspaceView, confined_path

MOST_INSIDE: Final = 50_000
"""Most names of one folder that are checked; a larger folder counts as protected."""
_NAMED: Final = 3
"""Most secrets that a warning names."""


class TouchedPlace(NamedTuple):
    """The places that a change touches. `target` is the new path of a rename.

    `dangers` are sentences that say why the change always needs approval. `refused` says why it cannot be made. Both
    follow from everything that is touched: both ends with their links resolved, the place on disk of a file above
    which earlier changes rename a folder, the folders that they lie in or that are made for them, the other names of a
    file, the names that a rename moves, and what a folder becomes.
    """

    place: ResolvedPath | PathRefused
    target: ResolvedPath | PathRefused | None = None
    dangers: tuple[str, ...] = ()
    refused: str | None = None

    def is_wider_than(self, approved: TouchedPlace) -> bool:
        """Whether it touches more than when it was approved. Looks at the disk: call it from a thread."""
        ends = zip((self.place, self.target), (approved.place, approved.target), strict=True)
        return not {*self.dangers} <= {*approved.dangers} or any(_is_other(now, then) for now, then in ends)


Touches = Mapping[tuple[Uri, ...], TouchedPlace]
"""The places that each change of a changeset touches, by its URIs."""


def _is_other(now: ResolvedPath | PathRefused | None, then: ResolvedPath | PathRefused | None) -> bool:
    """Whether a path leads elsewhere than when it was judged, or lies in another folder of the same name."""
    if not isinstance(now, ResolvedPath) or not isinstance(then, ResolvedPath):
        # A refused path has no approval to hold.
        return False
    return now.path != then.path or not is_held(confined_path(then))


class Look(NamedTuple):
    """The files of some changes as one look found them.

    `files` and `touched` have one entry for each change; `targets` is what is at the new name of each rename.
    `is_wider`: a change touches more than was approved of it.
    """

    files: tuple[ResolvedSnapshot, ...]
    targets: Mapping[RenameFile, ResolvedSnapshot]
    touched: tuple[TouchedPlace, ...]
    is_wider: bool


async def look_at(
    view: WorkspaceView, changes: Sequence[FileChange], approved: Touches | None = None
) -> Look:
    """Read the files of changes, and judge what each touches if they are made in this order, in one thread."""
    renames = [change for change in changes if isinstance(change, RenameFile)]
    origins = [_origin(change.uri, changes[:number]) for number, change in enumerate(changes)]
    named = (change.uri for change in changes), (rename.new_uri for rename in renames), origins
    uris = tuple(dict.fromkeys(chain(*named)))
    extra_files = tuple(document.uri for document in view.documents.all()) + view.acknowledged()

    def judged(places: Places) -> tuple[tuple[TouchedPlace, ...], bool]:
        at = dict(zip(uris, places, strict=True))
        ends = [_ends(change, origin, at) for change, origin in zip(changes, origins, strict=True)]
        touched = _judged(changes, ends, extra_files)
        return touched, approved is not None and _is_wider(changes, touched, approved)

    files, (touched, is_wider) = await view.resolve_with(uris, judged, for_="write")
    found = dict(zip(uris, files, strict=True))
    targets = {rename: found[rename.new_uri] for rename in renames}
    return Look(tuple(found[change.uri] for change in changes), targets, touched, is_wider)


class _Ends(NamedTuple):
    """The path of a change, where its file lies on disk before earlier changes, and the new path of a rename."""

    place: ResolvedPath | PathRefused
    origin: ResolvedPath | PathRefused
    target: ResolvedPath | PathRefused | None

    @property
    def resolved(self) -> tuple[ResolvedPath, ...]:
        return tuple(end for end in self if isinstance(end, ResolvedPath))


def _ends(change: FileChange, origin: Uri, at: Mapping[Uri, ResolvedPath | PathRefused]) -> _Ends:
    return _Ends(at[change.uri], at[origin], at[change.new_uri] if isinstance(change, RenameFile) else None)


def _origin(uri: Uri, earlier: Sequence[FileChange]) -> Uri:
    """The name on disk of what has this name after earlier changes of the same set."""
    for before in reversed(earlier):
        if isinstance(before, RenameFile):
            uri = after_rename(uri, before.new_uri, before.uri)
    return uri


def _is_wider(changes: Sequence[FileChange], touched: Sequence[TouchedPlace], approved: Touches) -> bool:
    return any(
        change.ends in approved and now.is_wider_than(approved[change.ends])
        for change, now in zip(changes, touched, strict=True)
    )


def _judged(
    changes: Sequence[FileChange], ends: Sequence[_Ends], extra_files: Iterable[Uri]
) -> tuple[TouchedPlace, ...]:
    """Judge changes whose paths are resolved; `extra_files` are files that may not be on disk."""
    found: list[TouchedPlace] = []
    folders = tuple({each.place.root for each in ends if isinstance(each.place, ResolvedPath)})
    after = _Afterwards(changes, ends, [path_of(uri, folders) for uri in extra_files])
    for number, change in enumerate(changes):
        inside: tuple[str, ...] | None = ()
        if isinstance(change, RenameFile):
            inside = _inside(change, changes[:number], extra_files, folders)
        found.append(_judge(change, ends[number], inside, after))
    return tuple(found)


def _judge(
    change: FileChange, ends: _Ends, inside: tuple[str, ...] | None, after: _Afterwards
) -> TouchedPlace:
    """Judge one change; `inside` are the names that a rename moves, None if there are too many to check."""
    place, _, target = ends
    refused = next((end.reason for end in ends if isinstance(end, PathRefused)), None)
    dangers = dict.fromkeys(end.protected for end in ends.resolved if end.protected is not None)
    names = [f"{end.relative}/{name}" for end in ends.resolved for name in inside or ()]
    dangers |= dict.fromkeys(sentence for name in names if (sentence := danger(name)) is not None)
    forbidden = next((name for name in names if never_written(name) is not None), None)
    if refused is None and forbidden is not None:
        refused = f"{quoted(forbidden)}: {never_written(forbidden)}"
    schemas = _new_schemas(change, place, target)
    if schemas:
        dangers[
            f"It names a remote schema ({listed([quoted(name) for name in schemas], _NAMED)}): an editor that opens"
            " the file fetches that address by itself."
        ] = None
    if inside is None:
        dangers[f"It contains more than {MOST_INSIDE} files, not all of whose names were checked."] = None
    if target is not None:
        secrets = [end.relative for end in ends.resolved if end.secret]
        secrets += [name for name in names if is_secret(name)]
        if secrets:
            dangers[_moved_secrets(secrets)] = None
    return TouchedPlace(place, target, tuple(dangers), refused or _becomes_git(ends.resolved, after))


def _new_schemas(
    change: FileChange, place: ResolvedPath | PathRefused, target: ResolvedPath | PathRefused | None
) -> tuple[str, ...]:
    """The addresses of remote schemas that no editor has read from the file before the change."""
    if isinstance(place, PathRefused) or isinstance(change, DeleteFile | CreateFolder):
        return ()
    before = "" if isinstance(change, CreateFile) else change.before or ""
    known = remote_schemas(place.relative, before)
    if isinstance(change, CreateFile | EditFile):
        named = remote_schemas(place.relative, change.after)
    else:
        named = remote_schemas(target.relative, before) if isinstance(target, ResolvedPath) else ()
    return tuple(name for name in named if name not in known)


class _Afterwards:
    """Which paths are there after the changes, unsaved files included; what they delete still counts."""

    def __init__(
        self,
        changes: Sequence[FileChange],
        ends: Sequence[_Ends],
        extra_files: Iterable[Path | None],
    ) -> None:
        self._renames: list[tuple[str, str]] = []
        paths = set(filter(None, extra_files))
        for change, (place, _, target) in zip(changes, ends, strict=True):
            if isinstance(place, ResolvedPath) and isinstance(target, ResolvedPath):
                self._renames.append((str(place.path), str(target.path)))
            end = place if target is None else target
            if isinstance(end, ResolvedPath) and not isinstance(change, DeleteFile):
                paths.add(end.path)
        self._created = {str(folder).casefold() for path in paths for folder in (path, *path.parents)}

    def has(self, path: str) -> bool:
        """Whether there is something at a path, under its new name or under the one before the renames."""
        path = os.path.normpath(path)
        for old, new in reversed(self._renames):
            if path.casefold() in self._created:
                return True
            if path == new or path.startswith(new + os.sep):
                path = old + path[len(new) :]
        return path.casefold() in self._created or os.path.lexists(path)


def _becomes_git(ends: Sequence[ResolvedPath], after: _Afterwards) -> str | None:
    """Why a change is refused that would make a git folder, under whatever name, out of one that is none."""
    for end in ends:
        names = end.relative.split("/")
        for folder in end.path.parents[: len(names)]:
            if holds_git(str(folder), after.has):
                return f"{quoted(end.relative)}: with it the folder would be git's own, whose files are never touched."
    return None


def _moved_secrets(names: Sequence[str]) -> str:
    files = listed([quoted(name) for name in sorted(names)], _NAMED)
    return (
        f"This renames a file that by its name holds keys or passwords, or gives such a name to another file"
        f" ({files}): a model can read any file whose name does not protect it."
    )


def _inside(
    change: RenameFile, earlier: Sequence[FileChange], extra_files: Iterable[Uri], folders: Sequence[Root]
) -> tuple[str, ...] | None:
    """The paths that a rename moves, relative to it; None if there are too many.

    Accounts for `earlier` changes of the same set, which have not been made yet.
    """
    found: dict[str, None] = {}
    for before in reversed(earlier):
        if isinstance(before, RenameFile):
            if is_below(before.new_uri, change.uri):
                found[relative(before.new_uri, change.uri) or ""] = None
        elif is_below(before.uri, change.uri):
            found[relative(before.uri, change.uri) or ""] = None
    origin = _origin(change.uri, earlier)
    found |= dict.fromkeys(name for uri in extra_files if (name := relative(uri, origin)))
    start = path_of(origin, folders)
    if start is None:
        return tuple(found)
    for folder, inner, files in os.walk(start):
        prefix = "" if Path(folder) == start else Path(folder).relative_to(start).as_posix() + "/"
        found |= dict.fromkeys(prefix + name for name in (*inner, *files))
        if len(found) > MOST_INSIDE:
            return None
    return tuple(found)
