"""The texts of files as a language server sees them: those of the editor's unsaved buffers, else those on disk."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from lsprotocol import types

from planloom.domain.values import Uri
from planloom.workspace.paths.uris import from_path, to_path

MOST_BYTES: Final = 2 << 20
"""Larger files are not opened at a language server."""
MOST_LOOKED_AT: Final = 5_000
"""How many files of a project are looked at for changes that nobody tells of, such as those of a command."""
MOST_READ: Final = 50 << 20
"""How many bytes are looked through for a name."""
_LEFT_OUT: Final = frozenset(
    {"node_modules", "__pycache__", "target", "dist", "build", "site-packages", "venv", "env"}
)

Stamps = dict[Path, tuple[int, int]]
"""When each file was last changed, in nanoseconds, and its size."""


async def text_on_disk(uri: Uri) -> str | None:
    """The text of a file; None if there is none, or none that a language server should have."""
    path = to_path(uri)
    return None if path is None else await asyncio.to_thread(_read, path)


def _read(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
        return None if len(data) > MOST_BYTES else data.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError, ValueError):
        return None


def stamps(root: Path, suffixes: frozenset[str]) -> Stamps:
    """The files of a project with these suffixes, of many the first. Blocks on file I/O."""
    return dict(_stamped(root, suffixes))


def _stamped(root: Path, suffixes: frozenset[str]) -> Iterator[tuple[Path, tuple[int, int]]]:
    folders, looked_at = [root], 0
    while folders and looked_at < MOST_LOOKED_AT:
        try:
            entries = [*os.scandir(folders.pop())]
        except OSError:
            continue
        looked_at += len(entries)
        for entry in entries:
            try:
                if entry.is_dir(follow_symlinks=False):
                    if not entry.name.startswith(".") and entry.name not in _LEFT_OUT:
                        folders.append(Path(entry.path))
                elif os.path.splitext(entry.name)[1] in suffixes:  # noqa: PTH122 - one of thousands
                    found = entry.stat(follow_symlinks=False)
                    yield Path(entry.path), (found.st_mtime_ns, found.st_size)
            except OSError:
                continue


def files_with(roots: Iterable[Path], suffixes: frozenset[str], name: str, most: int) -> list[Uri]:
    """The files with a name in them, those first that seem to declare it; of many the first. Blocks on file I/O."""
    if not name:
        return []
    word = re.compile(rf"\b{re.escape(name)}\b")
    declared = re.compile(
        rf"(?m)(?:\w+[ \t]+|^[ \t]*){re.escape(name)}\s*[(:={{<]|\bclass\s+{re.escape(name)}\b"
    )
    found: list[tuple[bool, Path]] = []
    read = 0
    for root in roots:
        for path, (_, size) in _stamped(root, suffixes):
            read += size
            if read > MOST_READ:
                break
            text = _read(path)
            if text is not None and word.search(text):
                found.append((declared.search(text) is None, path))
    return [from_path(path) for _, path in sorted(found)[:most]]


def differences(before: Stamps, now: Stamps) -> Iterator[tuple[Path, types.FileChangeType]]:
    """What has happened to files between two looks."""
    for path, stamp in now.items():
        if path not in before:
            yield path, types.FileChangeType.Created
        elif before[path] != stamp:
            yield path, types.FileChangeType.Changed
    for path in before.keys() - now.keys():
        yield path, types.FileChangeType.Deleted
