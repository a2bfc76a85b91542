"""Mirrors workspace folders that only the editor can reach, so that their files are read on disk like all others.

The mirror is only read. Edits go to the editor, and what it has made of them is fetched before it is looked at.
"""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final, Literal, Protocol

from planloom.domain.values import Uri
from planloom.running_process import is_running
from planloom.workspace.disk import TEXT_LIMIT
from planloom.workspace.editor import EditorSilent, FileThere
from planloom.workspace.paths.roots import Root, root_at
from planloom.workspace.paths.uris import child, is_file, normalized, relative

logger = logging.getLogger(__name__)

MOST_FILES: Final = 20_000
"""Most files and folders of a workspace folder that are listed."""
MOST_BYTES: Final = 64 * 1024 * 1024
"""Most bytes of a workspace folder that are fetched ahead; a file beyond it is empty until it is read by name."""
_AT_ONCE: Final = 16
_NOT_ENTERED: Final = frozenset({".git", "node_modules", ".venv", "__pycache__"})
_PREFIX: Final = "planloom-mirror-"


class EditorFiles(Protocol):
    """The editor's file systems. Each call may raise `EditorSilent`."""

    async def list_folder(self, uri: Uri) -> tuple[tuple[str, Literal["file", "folder"]], ...]: ...

    async def read_file(self, uri: Uri) -> FileThere: ...


class Mirror:
    """The mirrors of one connection, in a folder that only this user can read and that is removed at the end."""

    def __init__(self, files: EditorFiles) -> None:
        self._files = files
        self._roots: dict[Uri, Root] = {}
        self._top: Path | None = None
        self._requests = asyncio.Semaphore(_AT_ONCE)
        self._fetching = asyncio.Lock()

    def root(self, uri: str, name: str) -> Root:
        """The workspace folder of a URI, with the folder of its mirror, which is empty at first."""
        key = Uri(normalized(uri).rstrip("/"))
        if key not in self._roots:
            if self._top is None:
                _remove_left_over()
                self._top = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-"))
            place = self._top / str(len(self._roots))
            place.mkdir()
            self._roots[key] = root_at(place, name=name, uri=key)
        return self._roots[key]

    async def fill(self, folder: Uri) -> None:
        """Fetch what is in a folder, nearest first and within bounds."""
        left, bytes_left, level = MOST_FILES, MOST_BYTES, [folder]
        while level and left > 0:
            listings = await asyncio.gather(*map(self._listed, level))
            found = [
                (child(at, name), kind)
                for at, names in zip(level, listings, strict=True)
                for name, kind in names
            ]
            del found[left:]
            left -= len(found)
            for start in range(0, len(found), _AT_ONCE):
                some = found[start : start + _AT_ONCE]
                files = [uri for uri, kind in some if kind == "file"]
                folders = [(uri, FileThere("folder")) for uri, kind in some if kind == "folder"]
                # What is read first is put first, so that nothing older replaces what an edit has made meanwhile.
                async with self._fetching:
                    if bytes_left > 0:
                        there = await asyncio.gather(*map(self._read, files))
                    else:
                        there = [None if self._is_mirrored(uri) else FileThere("file", b"") for uri in files]
                    await asyncio.to_thread(self._put_all, [*folders, *zip(files, there, strict=True)])
                bytes_left -= sum(len(each.content or b"") for each in there if each is not None)
            level = [
                uri for uri, kind in found if kind == "folder" and uri.rpartition("/")[2] not in _NOT_ENTERED
            ]
        if left <= 0 or bytes_left <= 0:
            logger.warning("%s is too large to be searched as a whole", folder)

    async def refresh(self, uris: Iterable[Uri]) -> frozenset[Uri]:
        """Fetch what is at these URIs now. Returns those of which the editor cannot tell."""
        ours = [uri for uri in dict.fromkeys(uris) if not is_file(uri) and self._place(uri) is not None]
        if not ours:
            return frozenset()
        async with self._fetching:
            found = await asyncio.gather(*map(self._read, ours))
            new = await asyncio.to_thread(self._put_all, list(zip(ours, found, strict=True)))
        for folder in new:
            await self.fill(folder)
        return frozenset(uri for uri, there in zip(ours, found, strict=True) if there is None)

    def remove(self) -> None:
        """Remove the mirrors from the disk."""
        if self._top is not None:
            shutil.rmtree(self._top, ignore_errors=True)

    async def _listed(self, folder: Uri) -> tuple[tuple[str, Literal["file", "folder"]], ...]:
        try:
            async with self._requests:
                found = await self._files.list_folder(folder)
        except EditorSilent as silent:
            logger.warning("%s could not be listed: %s", folder, silent)
            return ()
        return tuple(
            (name, kind)
            for name, kind in found
            if name not in ("", ".", "..") and not set(name) & set("/\\\0")
        )

    async def _read(self, uri: Uri) -> FileThere | None:
        try:
            async with self._requests:
                return await self._files.read_file(uri)
        except EditorSilent as silent:
            logger.warning("%s could not be read: %s", uri, silent)
            return None

    def _is_mirrored(self, uri: Uri) -> bool:
        place = self._place(uri)
        return place is not None and place.exists()

    def _place(self, uri: Uri) -> Path | None:
        """The path of a URI in its mirror; None outside of every folder."""
        for key, root in self._roots.items():
            name = relative(uri, key)
            if name is not None and ".." not in name.split("/") and "\0" not in name:
                return root.path / name
        return None

    def _put_all(self, found: Iterable[tuple[Uri, FileThere | None]]) -> list[Uri]:
        """Make the mirror so. Returns the folders that were not there; call it from a thread."""
        new: list[Uri] = []
        for uri, there in found:
            place = self._place(uri)
            if place is None or there is None:
                continue
            if there.kind == "folder" and not place.is_dir():
                new.append(uri)
            _put(place, there)
        return new


def _put(place: Path, there: FileThere) -> None:
    if there.kind != "folder" and place.is_dir():
        shutil.rmtree(place)
    if there.kind != "file" and place.is_file():
        place.unlink()
    if there.kind == "absent":
        return
    folder = place if there.kind == "folder" else place.parent
    for above in (folder, *folder.parents):
        if above.is_file():
            above.unlink()
    folder.mkdir(parents=True, exist_ok=True)
    if there.kind == "file" and not _is_there(place, there):
        # A reader sees the old text or the new one, never a part.
        beside = place.with_name(f".{place.name[:100]}.fetched")
        with beside.open("wb") as file:
            file.write(there.content or b"")
            if there.content is None:
                file.truncate(max(there.size, TEXT_LIMIT + 1))
        beside.replace(place)


def _is_there(place: Path, there: FileThere) -> bool:
    try:
        return there.content is not None and place.read_bytes() == there.content
    except OSError:
        return False


def _remove_left_over() -> None:
    """Remove the mirrors of servers that were killed."""
    for left in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(ValueError):
            if not is_running(int(left.name.removeprefix(_PREFIX).partition("-")[0])):
                shutil.rmtree(left, ignore_errors=True)
