"""Lists the files to search: those of the index, with the step's staged and the user's unsaved changes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from planloom.domain.changes import RenameFile
from planloom.domain.safety.protected import is_secret
from planloom.domain.values import Uri
from planloom.tools.context import ToolContext
from planloom.tools.globs import NameGlob
from planloom.workspace.index.file_index import MOST_FILES, FileIndex
from planloom.workspace.index.ignore import IgnoreChain, chain_of, top_chain
from planloom.workspace.index.scan import walk_files
from planloom.workspace.paths.resolver import ResolvedPath
from planloom.workspace.paths.roots import path_of
from planloom.workspace.paths.uris import after_rename, child, is_at_or_below, normalized, relative
from planloom.workspace.staged.overlay import Overlay
from planloom.workspace.view import WorkspaceView

INDEX_SECONDS: Final = 20.0
"""How long a search waits for the first listing of the index before it walks the folder itself."""


class SearchScope(NamedTuple):
    """The files below a folder, which is `folder` on disk and `relative` to its workspace folder.

    `names` are paths below the folder, sorted, of files on disk; `live` maps paths of files whose text differs from
    the disk to their URIs, and takes precedence; `secrets` are those of them that may hold secrets. `partial`: the
    index is not complete.
    """

    folder: Path
    names: tuple[str, ...]
    live: dict[str, Uri]
    relative: str = "."
    secrets: frozenset[str] = frozenset()
    partial: bool = False

    def shows(self, name: str) -> bool:
        """Whether a file may be shown: its path does not suggest secrets."""
        whole = name if self.relative == "." else f"{self.relative}/{name}"
        return name not in self.secrets and not is_secret(whole)

    def all_names(self) -> list[str]:
        """The names of all files in the scope, in their order."""
        return sorted({*self.names, *self.live})


async def scope_below(context: ToolContext, place: ResolvedPath) -> SearchScope:
    """The files below a folder that no ignore rule hides, including files created in this step.

    Includes files that may hold secrets, since checking every name would cost more than the rest; see `shows`.
    """
    index = context.index()
    listed = await _of_index(index, place) if index is not None else None
    if listed is None:
        listed = await asyncio.to_thread(_walk, place, excluded_of(context))
    names = set(listed)
    live: dict[str, Uri] = {}
    for old, new in _moves(context.files):
        moved = [name for name in names if is_at_or_below(child(place.uri, name), old)]
        names.difference_update(moved)
        if new is not None and is_at_or_below(new, place.uri):
            for name in moved:
                uri = after_rename(child(place.uri, name), old, new)
                live[relative(uri, place.uri) or ""] = uri
    for uri in changed_uris(context.files):
        name = relative(uri, place.uri) or ""
        if not name:
            continue
        if (await context.files.peek(uri)).text is None:
            names.discard(name)
            live.pop(name, None)
        elif name in names or await asyncio.to_thread(_is_shown, place, name, excluded_of(context)):
            live[name] = uri
    partial = index is not None and not index.complete
    secrets = frozenset([name for name, uri in live.items() if await context.holds_secret(uri)])
    return SearchScope(place.path, tuple(sorted(names)), live, place.relative, secrets, partial)


def changed_uris(files: Overlay) -> Iterable[Uri]:
    """Every file whose text may differ from the disk: staged, open, or acknowledged by the editor."""
    under: Overlay | WorkspaceView = files
    found: dict[Uri, None] = {}
    while isinstance(under, Overlay):
        for change in under.changeset().changes:
            found.update(
                dict.fromkeys((change.uri, change.new_uri) if change.kind == "rename" else (change.uri,))
            )
        under = under.under
    for document in under.documents.all():
        if path_of(document.uri, under.roots.folders) is not None:
            found[normalized(document.uri)] = None
    found.update(dict.fromkeys(under.acknowledged()))
    return found


async def _of_index(index: FileIndex, place: ResolvedPath) -> tuple[str, ...] | None:
    if not await index.wait_until_listed(INDEX_SECONDS):
        return None
    folder = index.path_of(place.uri)
    if folder is None:
        return None
    found = await index.below(folder.rstrip("/"), MOST_FILES)
    if not found and folder:
        # The folder may be hidden; since it was named, it is searched anyway.
        return None
    prefix = f"{folder.rstrip('/')}/" if folder else ""
    return tuple(path.removeprefix(prefix) for path in found if not path.endswith("/"))


def excluded_of(context: ToolContext) -> tuple[str, ...]:
    """The exclude patterns of the settings."""
    index = context.index()
    return index.exclude if index is not None else ()


def chain_at(place: ResolvedPath, exclude: Sequence[str]) -> IgnoreChain | None:
    """The ignore rules for names in a folder; None if the folder is hidden. Reads files: call it from a thread."""
    folder = "" if place.relative == "." else place.relative
    return chain_of(place.root.path, folder, top_chain(place.root.path, exclude))


def _walk(place: ResolvedPath, exclude: Sequence[str]) -> tuple[str, ...]:
    if place.relative == "." or chain_at(place, exclude) is None:
        # A hidden folder that was named is searched anyway.
        within = exclude if place.relative == "." else ()
        return tuple(name for batch in walk_files(place.path, within) for name in batch)
    prefix = f"{place.relative}/"
    batches = walk_files(place.root.path, exclude, place.relative)
    return tuple(name.removeprefix(prefix) for batch in batches for name in batch)


def _moves(files: Overlay) -> Iterator[tuple[Uri, Uri | None]]:
    for change in files.changeset().changes:
        if isinstance(change, RenameFile):
            yield change.uri, change.new_uri
        elif change.kind == "delete":
            yield change.uri, None


def _is_shown(place: ResolvedPath, name: str, exclude: Sequence[str]) -> bool:
    """Whether no rule hides a file that is not in the index, in a folder that may itself be hidden."""
    root = place.root.path
    relative = f"{place.relative}/{name}" if place.relative != "." else name
    folder, _, last = relative.rpartition("/")
    top = top_chain(root, exclude) if chain_at(place, exclude) is not None else IgnoreChain()
    chain = chain_of(root, folder, top)
    return chain is not None and not chain.inside(f"{folder}/" if folder else "")(last, False)


def chunks(names: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    """The names in slices of `size`."""
    for start in range(0, len(names), size):
        yield names[start : start + size]


def matching(scope: SearchScope, wanted: NameGlob | None) -> SearchScope:
    """The files that match a glob; all if there is none."""
    if wanted is None:
        return scope
    return scope._replace(
        names=tuple(name for name in scope.names if wanted(name)),
        live={name: uri for name, uri in scope.live.items() if wanted(name)},
    )
