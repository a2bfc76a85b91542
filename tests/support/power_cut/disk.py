"""Takes back from a folder what a power cut would lose, by the record that `recorder.c` has made of a server.

    library = recorder(folder)                       # for LD_PRELOAD; None if it cannot be built here
    before = Snapshot.of(folder)                     # before the server starts
    ...                                              # the server works, with PLANLOOM_DISK_LOG, and is killed
    lost = cut(log, before, folder, random.Random(7))

What is kept is what POSIX and journaling file systems promise. Written bytes are on the disk after `fsync` of their
file; before that any of its sectors may be there or not. Names change in their order, and are on the disk after
`fsync` of a folder; before that some of the latest changes may be lost. What others than the recorded server write
(the editor, a command) counts as kept: it is theirs to synchronize.
"""

from __future__ import annotations

import os
import random
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from tests.support.preload import built

SECTOR = 512
_HEAD = struct.Struct("<cQQqBII")
Inode = tuple[int, int]
"""Device and inode."""


class Record(NamedTuple):
    """One call of the server; see `recorder.c`. `paths` has one or two, `data` what was written or lost."""

    kind: str
    inode: Inode
    number: int
    flag: bool
    paths: tuple[Path, ...]
    data: bytes


@dataclass
class _File:
    """A file as it surely is on the disk, and what was written since. `synced` is None if that is unknown."""

    synced: bytes | None
    pending: list[Record] = field(default_factory=list)


class Snapshot(NamedTuple):
    """What the files of a folder hold."""

    contents: dict[Inode, bytes]

    @classmethod
    def of(cls, folder: Path) -> Snapshot:
        """Read every file below the folder."""
        return cls({inode: path.read_bytes() for inode, path in _files(folder)})


def recorder(folder: Path) -> Path | None:
    """The library for LD_PRELOAD, built into `folder`; None where there is no C compiler or no LD_PRELOAD."""
    return built(Path(__file__).with_name("recorder.c"), folder)


def cut(log: Path, before: Snapshot, folder: Path, rng: random.Random) -> list[str]:
    """Make the folder what the disk may hold after a power cut now. Returns what was taken back, a line each.

    The server must be dead. How much of what was not synchronized is kept is drawn: nothing, all, or a part.
    """
    files: dict[Inode, _File] = {}
    names: list[Record] = []
    for record in _records(log):
        if record.kind in "CRLUMD":
            names.append(record)
        if record.kind == "C":
            files[record.inode] = _File(b"")
        elif record.kind in "WT":
            files.setdefault(record.inode, _File(before.contents.get(record.inode))).pending.append(record)
        elif record.kind == "S" and record.flag:
            names = []
        elif record.kind == "S" and record.inode in files:
            file = files[record.inode]
            file.synced = _after(file.synced, file.pending)
            file.pending = []
    lost = []
    kept = rng.choice((0, len(names), rng.randint(0, len(names))))
    for record in reversed(names[kept:]):
        if folder in record.paths[0].parents and _take_back(record, files):
            lost.append(f"{record.kind} {' '.join(path.name for path in record.paths)}")
    share = rng.choice((0.0, 0.5, 1.0))
    for inode, path in list(_files(folder)):
        found = files.get(inode)
        if path.name.endswith("-shm"):
            # Shared memory of SQLite, which it makes anew; it has no meaning after a restart.
            path.unlink()
        elif found is not None and found.pending and _is_ours(path, found):
            assert found.synced is not None
            path.write_bytes(_torn(found.synced, found.pending, share, rng))
            lost.append(f"{len(found.pending)} writes of {path.name}, {share:.0%} kept")
    return lost


def _records(log: Path) -> Iterator[Record]:
    data = log.read_bytes() if log.exists() else b""
    place = 0
    while place + _HEAD.size <= len(data):
        kind, device, inode, number, flag, text_size, data_size = _HEAD.unpack_from(data, place)
        place += _HEAD.size
        text = data[place : place + text_size]
        place += text_size
        paths = tuple(_real(Path(os.fsdecode(each))) for each in text.split(b"\0") if each)
        yield Record(
            kind.decode(), (device, inode), number, bool(flag), paths, data[place : place + data_size]
        )
        place += data_size


def _real(path: Path) -> Path:
    """The path without links in its folder; the last name may be a link itself, or gone."""
    return path.parent.resolve() / path.name


def _files(folder: Path) -> Iterator[tuple[Inode, Path]]:
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink():
            found = path.stat()
            yield (found.st_dev, found.st_ino), path


def _after(content: bytes | None, writes: list[Record]) -> bytes | None:
    if content is None:
        return None
    made = bytearray(content)
    for record in writes:
        _write(made, record, 0, len(record.data))
    return bytes(made)


def _write(content: bytearray, record: Record, start: int, end: int) -> None:
    """Make a part of a write, or cut the content to the new size."""
    if record.kind == "T":
        size = record.number
        content[size:] = bytes(max(0, size - len(content)))
        return
    first = record.number + start
    if len(content) < first:
        content.extend(bytes(first - len(content)))
    content[first : first + end - start] = record.data[start:end]


def _torn(synced: bytes, writes: list[Record], share: float, rng: random.Random) -> bytes:
    """The content with a share of the sectors that were written since it was synchronized."""
    made = bytearray(synced)
    for record in writes:
        start = 0
        while start < len(record.data) or (record.kind == "T" and start == 0):
            end = min(len(record.data), start + SECTOR - (record.number + start) % SECTOR)
            if rng.random() < share:
                _write(made, record, start, end)
            start = max(end, 1)
    return bytes(made)


def _is_ours(path: Path, file: _File) -> bool:
    """Whether the file holds what the server has written, and nobody else has written to it since."""
    return file.synced is not None and path.read_bytes() == _after(file.synced, file.pending)


def _take_back(record: Record, files: dict[Inode, _File]) -> bool:
    """Undo a change of names. False if somebody else has gone on with what it has made."""
    first, last = record.paths[0], record.paths[-1]
    if record.kind in "CLR":
        if not last.exists():
            return False
        found = last.stat()
        ours = files.get((found.st_dev, found.st_ino))
        if ours is not None and not _is_ours(last, ours):
            return False
        if record.kind == "R":
            last.rename(first)
            if record.flag:
                last.write_bytes(record.data)
        else:
            last.unlink()
        return True
    if record.kind == "U":
        if first.exists() or not record.flag:
            return False
        first.write_bytes(record.data)
        return True
    if record.kind == "M":
        empty = first.is_dir() and not any(first.iterdir())
        if empty:
            first.rmdir()
        return empty
    if first.exists():
        return False
    first.mkdir()
    return True
