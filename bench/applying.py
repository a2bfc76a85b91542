"""Measures how long it takes to resolve a path, and to apply a changeset to many files by the editor or on disk."""

from __future__ import annotations

import asyncio
import json
import platform
import statistics
import tempfile
import time
from pathlib import Path

from planloom.workspace.editor import EditorCapabilities
from planloom.workspace.paths.resolver import resolve_uri
from planloom.workspace.paths.roots import Roots, root_at
from tests.support.fake_editor import EVERYTHING
from tests.workspace.room import Room

FILES = 500


async def applied(capabilities: EditorCapabilities) -> tuple[float, float]:
    """Seconds of wall time and of processor time to change one line in each of many files."""
    with tempfile.TemporaryDirectory() as folder:
        names = [f"d/{number}" for number in range(FILES)]
        room = Room(Path(folder), dict.fromkeys(names, "old\n"), capabilities=capabilities, closed="disk")
        clock, process = time.perf_counter(), time.process_time()
        outcome = await room.apply(*(room.edit(name, "old\n", "new\n") for name in names), patience=2)
        assert outcome.kind == "applied"
        return time.perf_counter() - clock, time.process_time() - process


def resolved() -> float:
    """Microseconds to resolve a path with two components."""
    with tempfile.TemporaryDirectory() as folder:
        room = Room(Path(folder), {f"d/{number}": "" for number in range(200)})
        roots = Roots((root_at(folder),))
        times = []
        for number in range(200):
            started = time.perf_counter()
            resolve_uri(roots, room.uri(f"d/{number}"), for_="write")
            times.append(time.perf_counter() - started)
    return statistics.median(times) * 1e6


def main() -> None:
    by_editor, by_disk = asyncio.run(applied(EVERYTHING)), asyncio.run(applied(EditorCapabilities()))
    path = resolved()
    print(f"{'path resolved':32} {path:10.0f} us")
    print(
        f"{FILES} files through the editor    {by_editor[0]:10.2f} s   {by_editor[1]:6.2f} s of this process"
    )
    print(f"{FILES} files on disk               {by_disk[0]:10.2f} s   {by_disk[1]:6.2f} s of this process")
    figures = {"path_us": path, "files": FILES, "editor_s": by_editor[0], "disk_s": by_disk[0]}
    print(json.dumps({"bench": "applying", "python": platform.python_version(), **figures}))


if __name__ == "__main__":
    main()
