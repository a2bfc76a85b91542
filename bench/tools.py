"""Measures the search tools against ripgrep alone, and the cost of a gigabyte of command output."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import random
import resource
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from planloom.tools.context import ToolContext
from planloom.tools.processes.child_process import Launch, run_process, shell_argv
from planloom.tools.search.find_files import FindFiles, find_files
from planloom.tools.search.search_files import SearchText, search_text
from planloom.workspace.disk import Folder
from planloom.workspace.documents import DocumentStore
from planloom.workspace.edits.overlay import Overlay
from planloom.workspace.index.file_index import FileIndex
from planloom.workspace.index.programs import environment
from planloom.workspace.paths.roots import Roots, root_at
from planloom.workspace.view import WorkspaceView

WORDS = (
    "order",
    "price",
    "total",
    "user",
    "account",
    "ledger",
    "event",
    "plan",
    "step",
    "token",
    "reader",
    "cache",
)


class Row(NamedTuple):
    """One search in seconds; `lines` is the number of lines that our search returned."""

    search: str
    with_ripgrep: float
    without: float
    ripgrep_alone: float | None
    lines: int


def generate(folder: Path, files: int) -> None:
    """Create source files of about 2 kB, a hundred to a folder, with a rare word in one of a thousand."""
    chance = random.Random(1)
    for number in range(files):
        package = folder / f"pkg{number // 10_000}" / f"mod{number // 100}"
        if number % 100 == 0:
            package.mkdir(parents=True, exist_ok=True)
        lines = [
            f"def {chance.choice(WORDS)}_{n}(a, b):\n    return a + {chance.random()}\n" for n in range(40)
        ]
        if number % 1000 == 7:
            lines.append(f"# zanzibar_{number}\n")
        (package / f"file_{number}.py").write_text("".join(lines))


async def search_rows(folder: Path) -> list[Row]:
    """Each search with ripgrep, without it, and ripgrep alone in the same folder."""
    view = WorkspaceView(Roots((root_at(folder),)), DocumentStore())
    index = FileIndex(view.roots.folders)
    began = time.perf_counter()
    await index.build()
    print(f"index of {index.files} files: {time.perf_counter() - began:.2f} s")
    context = ToolContext(files=Overlay(view), roots=view.roots, index=lambda: index)
    cases = [
        ("rare word", SearchText(pattern="zanzibar", max_results=1000), ["-F", "zanzibar"]),
        ("no match", SearchText(pattern="nowhere_to_be_found"), ["-F", "nowhere_to_be_found"]),
        (
            "expression",
            SearchText(pattern=r"zanzibar_\d+7$", regex=True, max_results=1000),
            [r"zanzibar_\d+7$"],
        ),
        (
            "any case",
            SearchText(pattern="ZANZIBAR_", ignore_case=True, max_results=1000),
            ["-iF", "ZANZIBAR_"],
        ),
        ("common word, first 100", SearchText(pattern="return"), None),
    ]
    rows = []
    for name, args, alone in cases:
        quick, lines = await timed(lambda args=args: search_text(args, context))  # type: ignore[misc]
        path, os.environ["PATH"] = os.environ["PATH"], ""
        slow, same = await timed(lambda args=args: search_text(args, context))  # type: ignore[misc]
        os.environ["PATH"] = path
        assert lines == same, name
        rows.append(Row(name, quick, slow, ripgrep(folder, alone) if alone else None, lines))
    took, found = await timed(lambda: find_files(FindFiles(pattern="file_9999*.py"), context))
    rows.append(Row("find_files file_9999*.py", took, took, None, found))
    return rows


async def timed(search: Callable[[], Any]) -> tuple[float, int]:
    began = time.perf_counter()
    result = await search()
    assert result.ok, result.text
    return time.perf_counter() - began, len(result.value)


def ripgrep(folder: Path, options: list[str]) -> float | None:
    program = shutil.which("rg")
    if program is None:
        return None
    began = time.perf_counter()
    subprocess.run([program, "-n", *options, "."], cwd=folder, stdout=subprocess.DEVNULL, check=False)
    return time.perf_counter() - began


async def flood(megabytes: int) -> dict[str, float]:
    """Run a command that prints this much; returns its time, its speed and the growth of peak memory."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    received = 0

    def on_output(_: str, text: str) -> None:
        nonlocal received
        received += len(text)

    began = time.perf_counter()
    flood = f"yes 'a line of output that goes on and on' | head -c {megabytes * 1_000_000}"
    launch = Launch(shell_argv(flood), Folder(Path("/")), environment(os.environ))
    ended = await run_process(launch, timeout_seconds=600, on_output=on_output)
    took = time.perf_counter() - began
    assert ended.code == 0 and received == megabytes * 1_000_000
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    return {
        "megabytes": megabytes,
        "seconds": round(took, 2),
        "megabytes_a_second": round(megabytes / took),
        "memory_grown_megabytes": round(grown, 1),
        "kept_characters": len(ended.output),
        "received_characters": received,
    }


async def main(files: int, megabytes: int) -> None:
    flooded = await flood(megabytes)
    print(f"{megabytes} MB of output: {flooded}")
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        generate(folder, files)
        rows = await search_rows(folder)
    print(f"{'search':<28}{'ours, s':>10}{'without rg':>12}{'rg alone':>10}{'lines':>8}")
    for row in rows:
        alone = "" if row.ripgrep_alone is None else f"{row.ripgrep_alone:.2f}"
        print(f"{row.search:<28}{row.with_ripgrep:>10.2f}{row.without:>12.2f}{alone:>10}{row.lines:>8}")
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    print(
        json.dumps(
            {"bench": "tools", "machine": machine, "files": files, "output": flooded, "searches": rows}
        )
    )


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--files", type=int, default=100_000)
    options.add_argument("--megabytes", type=int, default=1_000)
    args = options.parse_args()
    asyncio.run(main(args.files, args.megabytes))
