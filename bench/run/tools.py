"""Measures the search tools beside grep or ripgrep, and the output of a command beside a program that only reads it."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final

from bench.figures import Figure, Measured, main, milliseconds
from bench.growth.index import FAST
from planloom.tools.catalog import FindFiles, SearchText
from planloom.tools.context import ToolContext
from planloom.tools.processes.child_process import Launch, run_process, shell_argv
from planloom.tools.search.find_files import find_files
from planloom.tools.search.search_files import search_text
from planloom.workspace.disk import Folder
from planloom.workspace.documents import DocumentStore
from planloom.workspace.index.file_index import FileIndex
from planloom.workspace.index.programs import environment
from planloom.workspace.paths.roots import Roots, root_at
from planloom.workspace.staged.overlay import Overlay
from planloom.workspace.view import WorkspaceView

WORDS: Final = (
    *("order", "price", "total", "user", "account", "ledger", "event", "plan", "step", "token"),
    *("reader", "cache"),
)
SEARCHES: Final = {
    "a rare word": (SearchText(pattern="zanzibar", max_results=1000), ("-F", "zanzibar")),
    "no match": (SearchText(pattern="nowhere_to_be_found"), ("-F", "nowhere_to_be_found")),
    "an expression": (
        SearchText(pattern=r"zanzibar_[0-9]+7$", regex=True, max_results=1000),
        ("-E", r"zanzibar_[0-9]+7$"),
    ),
    "any case": (SearchText(pattern="ZANZIBAR_", ignore_case=True, max_results=1000), ("-iF", "ZANZIBAR_")),
}


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


async def took(search: SearchText | FindFiles, context: ToolContext) -> float:
    """Milliseconds of one call of a tool."""
    began = time.perf_counter()
    if isinstance(search, SearchText):
        result = await search_text(search, context)
    else:
        result = await find_files(search, context)
    assert result.ok, result.text
    return (time.perf_counter() - began) * 1000


def alone(folder: Path, options: tuple[str, ...]) -> float:
    """Milliseconds of the same search by a program alone."""
    program = ("rg", "-n") if shutil.which("rg") else ("grep", "-rn")
    command = (*program, *options, ".")
    return milliseconds(lambda: subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, check=False))


async def searches(folder: Path, rounds: int) -> Iterator[Measured]:
    view = WorkspaceView(Roots((root_at(folder),)), DocumentStore())
    index = FileIndex(view.roots.folders)
    await index.build()
    context = ToolContext(files=Overlay(view), roots=view.roots, index=lambda: index)
    anchor = "ripgrep" if shutil.which("rg") else "grep"
    found = []
    for name, (search, options) in SEARCHES.items():
        rows = [(await took(search, context), alone(folder, options)) for _ in range(rounds + 1)][1:]
        figure = Figure(name=f"search of {index.files:,} files, {name}", anchor=anchor)
        found.append(figure.paired([row[0] for row in rows], [row[1] for row in rows]))
    names = [await took(FindFiles(pattern="file_9999*.py"), context) for _ in range(rounds)]
    found.append(Figure(name=f"find_files in {index.files:,} files").timed(names))
    return iter(found)


async def flood(megabytes: int) -> float:
    """Milliseconds of a command that prints so much."""
    began = time.perf_counter()
    launch = Launch(shell_argv(printing(megabytes)), Folder(Path("/")), environment(os.environ))
    ended = await run_process(launch, timeout_seconds=600)
    assert ended.code == 0
    return (time.perf_counter() - began) * 1000


def printing(megabytes: int) -> str:
    return f"yes 'a line of output that goes on and on' | head -c {megabytes * 1_000_000}"


def read_only(megabytes: int) -> None:
    """What a program does that only reads the output."""
    with subprocess.Popen(printing(megabytes), shell=True, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        while process.stdout.read(1 << 16):
            pass


def figures(quick: bool) -> Iterator[Measured]:
    megabytes, rounds = (50, 2) if quick else (300, 3)
    ours, theirs = [], []
    for _ in range(rounds):
        ours.append(asyncio.run(flood(megabytes)))
        theirs.append(milliseconds(partial(read_only, megabytes)))
    yield Figure(name=f"{megabytes} MB of output of a command", anchor="a loop that reads").paired(
        ours, theirs
    )
    with tempfile.TemporaryDirectory(dir=FAST) as made:
        generate(Path(made), 2_000 if quick else 10_000)
        yield from asyncio.run(searches(Path(made), rounds))


if __name__ == "__main__":
    main(__doc__, figures)
