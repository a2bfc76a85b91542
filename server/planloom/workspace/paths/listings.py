"""Lists a folder on disk."""

from __future__ import annotations

import os
import stat
from typing import Literal, NamedTuple

from planloom.domain.safety.protected import is_git
from planloom.domain.values import Uri
from planloom.workspace.paths.names import quoted
from planloom.workspace.paths.resolver import ResolvedPath
from planloom.workspace.paths.uris import child


class Entry(NamedTuple):
    """One name in a folder; `size` in bytes."""

    name: str
    uri: Uri
    kind: Literal["file", "folder", "link", "special"]
    size: int = 0


class Listing(NamedTuple):
    """A folder's entries, sorted by name; `problem` says why it could not be listed, `detail` as a sentence."""

    uri: Uri
    entries: tuple[Entry, ...] = ()
    problem: Literal["missing", "not_a_folder", "unreadable", "refused"] | None = None
    detail: str = ""


def list_on_disk(place: ResolvedPath) -> Listing:
    """List a folder on disk, without git's own files; call it from a thread."""
    entries = []
    try:
        with os.scandir(place.path) as names:
            for found in names:
                entry = _entry(place, found)
                if entry is not None and not is_git(found.name):
                    entries.append(entry)
    except FileNotFoundError:
        return Listing(uri=place.uri, problem="missing", detail=f"{quoted(place.relative)} does not exist.")
    except NotADirectoryError:
        return Listing(
            uri=place.uri, problem="not_a_folder", detail=f"{quoted(place.relative)} is not a folder."
        )
    except OSError as error:
        return Listing(
            uri=place.uri, problem="unreadable", detail=f"{quoted(place.relative)}: {error.strerror}."
        )
    return Listing(uri=place.uri, entries=tuple(sorted(entries, key=lambda entry: entry.name)))


def _entry(place: ResolvedPath, found: os.DirEntry[str]) -> Entry | None:
    """The entry for a name; None if it was removed while the folder was listed."""
    uri = child(place.uri, found.name)
    if found.is_symlink():
        return Entry(name=found.name, uri=uri, kind="link")
    if found.is_dir(follow_symlinks=False):
        return Entry(name=found.name, uri=uri, kind="folder")
    try:
        info = found.stat(follow_symlinks=False)
    except FileNotFoundError:
        return None
    if stat.S_ISREG(info.st_mode):
        return Entry(name=found.name, uri=uri, kind="file", size=info.st_size)
    return Entry(name=found.name, uri=uri, kind="special")
