"""The workspace folders, with the client's URIs and their real paths."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from planloom.domain.values import Uri
from planloom.workspace.paths.links import FileSystem, PathEnd, follow
from planloom.workspace.paths.uris import from_path, is_file, normalized, relative, to_path


class Root(NamedTuple):
    """A workspace folder; `uri` is the client's, normalised. `path` is that of its mirror if the folder is virtual."""

    name: str
    path: Path
    uri: Uri

    @property
    def is_virtual(self) -> bool:
        """Whether only the editor can reach the folder."""
        return not is_file(self.uri)

    @property
    def shown(self) -> str:
        """The folder as people and models know it."""
        return self.uri if self.is_virtual else str(self.path)


class Roots(NamedTuple):
    """The workspace folders; `private` are Planloom's own folders, which may lie inside them."""

    folders: tuple[Root, ...]
    private: tuple[Path, ...] = ()

    @property
    def any_virtual(self) -> bool:
        """Whether only the editor can reach one of the folders."""
        return any(root.is_virtual for root in self.folders)


def root_at(path: Path | str, *, name: str | None = None, uri: str | None = None) -> Root:
    """A workspace folder at an absolute path; name and URI default to those of the path."""
    # Links are not resolved: the editor opens documents under the client's own spelling of the folder.
    absolute = Path(os.path.abspath(path))  # noqa: PTH100
    return Root(name or absolute.name or str(absolute), absolute, normalized(uri or from_path(absolute)))


def root_of_uri(uri: str, name: str | None = None) -> Root | None:
    """The workspace folder of a client's URI; None if it is not on this machine."""
    path = to_path(uri)
    return root_at(path, name=name, uri=uri) if path is not None else None


def path_of(uri: str, folders: Sequence[Root]) -> Path | None:
    """The path of a file on this machine, or that of its mirror in a virtual workspace folder; else None."""
    path = to_path(uri)
    if path is not None:
        return path
    inside = ((root, name) for root in folders if (name := relative(uri, root.uri)) is not None)
    found = min(inside, key=lambda each: len(each[1]), default=None)
    return found[0].path / found[1] if found is not None else None


def real_path(path: Path, disk: FileSystem) -> Path:
    """The path with links resolved and in its real spelling; unchanged if it cannot be followed."""
    end = follow(Path(path.anchor), path.parts[1:], disk=disk)
    return end.path if isinstance(end, PathEnd) else path


def below(path: Path, folder: Path) -> tuple[str, ...] | None:
    """The names from a folder to a path inside it, compared name by name; None if the path is outside."""
    depth = len(folder.parts)
    return path.parts[depth:] if path.parts[:depth] == folder.parts else None


class ResolvedRoot(NamedTuple):
    """A workspace folder and its real path."""

    root: Root
    real: Path


def resolved_roots(roots: Roots, disk: FileSystem) -> tuple[ResolvedRoot, ...]:
    """The workspace folders with their current real paths."""
    return tuple(ResolvedRoot(root, real_path(root.path, disk)) for root in roots.folders)


def owner(path: Path, folders: Sequence[ResolvedRoot]) -> tuple[Root, tuple[str, ...]] | None:
    """The innermost workspace folder that contains a real path, and the names below it."""
    found = [(root, names) for root, real in folders if (names := below(path, real)) is not None]
    return min(found, key=lambda pair: len(pair[1]), default=None)
