"""Which files are searched: those of the index, as a step sees them with what is unsaved and staged."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from planloom.domain.changes import RenameFile
from planloom.domain.values import Uri
from planloom.tools.context import ToolContext
from planloom.workspace.globs import Glob, read_glob
from planloom.workspace.ignore import chain_of, top_chain
from planloom.workspace.index import MOST_FILES, FileIndex
from planloom.workspace.overlay import Overlay
from planloom.workspace.paths import ResolvedPath
from planloom.workspace.roots import Root
from planloom.workspace.scan import walked
from planloom.workspace.uris import child, is_below, normalized, to_path
from planloom.workspace.view import WorkspaceView

INDEX_SECONDS: Final = 20.0
"""How long a search waits for the first listing of the workspace before it lists the folder itself."""


class Places(NamedTuple):
    """Files below a folder: `names` relative to it, in order, on disk below `folder`; `live` are those, by the same
    names, whose text is not what the disk has. A name in both counts as live. `partial` says that not all are known.
    """

    folder: Path
    names: tuple[str, ...]
    live: dict[str, Uri]
    partial: bool = False


async def places_below(context: ToolContext, place: ResolvedPath) -> Places:
    """The files below a folder that no ignore rule hides, those made in this step among them.

    What may hold secrets is among them: to ask that of every name would cost more than all the rest.
    """
    index = context.index()
    known = await _of_index(index, place) if index is not None else None
    if known is None:
        known = await asyncio.to_thread(_walked, place)
    names = set(known)
    live: dict[str, Uri] = {}
    for old, new in _moves(context.files):
        moved = [name for name in names if _at(child(place.uri, name), old)]
        names.difference_update(moved)
        if new is not None and (is_below(new, place.uri) or new == place.uri):
            for name in moved:
                uri = Uri(new + child(place.uri, name).removeprefix(old))
                live[_relative(uri, place.uri)] = uri
    for uri in _changed(context.files):
        if not is_below(uri, place.uri):
            continue
        name = _relative(uri, place.uri)
        if (await context.files.peek(uri)).text is None:
            names.discard(name)
            live.pop(name, None)
        elif name in names or await asyncio.to_thread(_is_shown, place, name):
            live[name] = uri
    partial = index is not None and not index.complete
    return Places(place.path, tuple(sorted(names)), live, partial)


async def _of_index(index: FileIndex, place: ResolvedPath) -> tuple[str, ...] | None:
    if not await index.built(INDEX_SECONDS):
        return None
    folder = index.path_of(place.uri)
    if folder is None:
        return None
    found = await index.below(folder.rstrip("/"), MOST_FILES)
    if not found and folder:
        # A folder that is hidden is searched all the same when it is named.
        return None
    prefix = f"{folder.rstrip('/')}/" if folder else ""
    return tuple(path.removeprefix(prefix) for path in found if not path.endswith("/"))


def _walked(place: ResolvedPath) -> tuple[str, ...]:
    return tuple(name for batch in walked(place.path, ()) for name in batch)


def _moves(files: Overlay) -> Iterator[tuple[Uri, Uri | None]]:
    for change in files.changeset().changes:
        if isinstance(change, RenameFile):
            yield change.uri, change.new_uri
        elif change.kind == "delete":
            yield change.uri, None


def _changed(files: Overlay) -> Iterable[Uri]:
    """Every file whose text may not be that of the disk: staged, open, or only acknowledged."""
    under: Overlay | WorkspaceView = files
    found: dict[Uri, None] = {}
    while isinstance(under, Overlay):
        for change in under.changeset().changes:
            found.update(
                dict.fromkeys((change.uri, change.new_uri) if change.kind == "rename" else (change.uri,))
            )
        under = under.under
    for document in under.documents.all():
        if to_path(document.uri) is not None:
            found[normalized(document.uri)] = None
    found.update(dict.fromkeys(under.acknowledged()))
    return found


def _is_shown(place: ResolvedPath, name: str) -> bool:
    """Whether no ignore rule hides a file that the index does not know."""
    root: Root = place.root
    relative = f"{place.relative}/{name}" if place.relative != "." else name
    folder, _, last = relative.rpartition("/")
    chain = chain_of(root.path, folder, top_chain(root.path, ()))
    return chain is not None and not chain.inside(f"{folder}/" if folder else "")(last, False)


def _at(uri: Uri, place: Uri) -> bool:
    return uri == place or is_below(uri, place)


def _relative(uri: Uri, folder: Uri) -> str:
    path, base = to_path(uri), to_path(folder)
    assert path is not None and base is not None
    return path.relative_to(base).as_posix()


def chunks(names: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    """The names, so many at a time."""
    for at in range(0, len(names), size):
        yield names[at : at + size]


class NameGlob:
    """Whether a path matches a glob: its name if the glob has no slash, else the whole."""

    def __init__(self, glob: str) -> None:
        found = read_glob(glob.lstrip("!#").removeprefix("./"))
        self._glob: Glob | None = found

    def __call__(self, path: str) -> bool:
        return self._glob is not None and self._glob.matches(path, path.rpartition("/")[2], folder=False)


def matching(places: Places, glob: str | None) -> Places:
    """Those of the files that match a glob, all if there is none."""
    wanted = NameGlob(glob) if glob else None
    if wanted is None:
        return places
    return places._replace(
        names=tuple(name for name in places.names if wanted(name)),
        live={name: uri for name, uri in places.live.items() if wanted(name)},
    )
