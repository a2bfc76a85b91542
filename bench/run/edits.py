"""Measures the edits between two texts beside difflib, and the application of a changeset to many files."""

from __future__ import annotations

import asyncio
import difflib
import os
import random
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from bench.figures import Figure, Measured, in_turn, main, milliseconds, processor_milliseconds
from planloom.domain.text.diff import text_edits
from planloom.domain.text.lines import split_lines
from planloom.domain.text.positions import apply_edits
from planloom.workspace.editor import EditorCapabilities
from planloom.workspace.paths.resolver import resolve_uri
from planloom.workspace.paths.roots import Roots, root_at
from tests.support.fake_editor import EVERYTHING
from tests.workspace.room import Room

MOST_FOR_DIFFLIB: Final = 300_000
"""Characters; difflib is at least quadratic, so it is not run on longer texts."""
FILES: Final = 200
PATHS: Final = 200


class Case(NamedTuple):
    name: str
    before: str
    after: str


def cases() -> list[Case]:
    chance = random.Random(1)
    lines = [f"    value_{number} = compute({number % 7}, {chance.random()})\n" for number in range(5000)]
    small, edited, scattered = "".join(lines), list(lines), list(lines)
    edited[2500] = "    value = another(1)\n"
    for number in range(0, 5000, 100):
        scattered[number] = f"    changed_{number}\n"
    many = "".join(f"entry {number} {'x' * chance.randrange(60)}\n" for number in range(480_000))
    middle = len(many) // 2
    long = "lorem ipsum 😀 " * (20_000_000 // 14)
    repetitive = [f"{chance.randrange(3)}\n" for _ in range(6000)]
    reworked = list(repetitive)
    for number in chance.sample(range(6000), 600):
        reworked[number] = "0\n"
    unrelated = [f"{chance.randrange(3)}\n" for _ in range(6000)]
    return [
        Case("5,000 lines, one changed", small, "".join(edited)),
        Case("5,000 lines, 50 changed", small, "".join(scattered)),
        Case("20 MB of lines, one changed", many, many[:middle] + "changed" + many[middle:]),
        Case("20 MB of CRLF lines, one changed", *_crlf(many, middle)),
        Case("20 MB of lines, first and last changed", many, "X" + many[1:-2] + "Y\n"),
        Case("one line of 20 MB, one word", long, long[:9_000_000] + "changed" + long[9_000_000:]),
        Case("6,000 repetitive lines, 600 changed", "".join(repetitive), "".join(reworked)),
        Case("6,000 repetitive lines, unrelated", "".join(repetitive), "".join(unrelated)),
    ]


def _crlf(text: str, middle: int) -> tuple[str, str]:
    before = text.replace("\n", "\r\n")
    return before, before[:middle] + "changed" + before[middle:]


def peak(work: Callable[[], object]) -> int:
    tracemalloc.start()
    work()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most


def by_difflib(case: Case) -> None:
    difflib.SequenceMatcher(
        None, split_lines(case.before), split_lines(case.after), autojunk=False
    ).get_opcodes()


def between_texts(case: Case, rounds: int) -> Iterator[Measured]:
    """The number and the size of the edits, their time beside difflib where that ends, and their memory."""
    edits = text_edits(case.before, case.after, "utf-16")
    assert apply_edits(case.before, edits, "utf-16") == case.after
    yield Figure(name=f"edits, {case.name}", unit="edits").counted(len(edits))
    sent = sum(len(edit.new_text) for edit in edits)
    whole = Figure(name=f"characters sent, {case.name}", unit="characters", anchor="the whole text")
    yield whole.paired([sent], [len(case.after)])
    work = partial(text_edits, case.before, case.after, "utf-16")
    ours = [processor_milliseconds(work) for _ in range(rounds)]
    if len(case.before) <= MOST_FOR_DIFFLIB:
        theirs = [processor_milliseconds(partial(by_difflib, case))] * rounds
        yield Figure(name=f"time, {case.name}", anchor="difflib", goal=1).paired(ours, theirs)
    else:
        yield Figure(name=f"time, {case.name}", goal=1000).timed(ours)
    yield Figure(name=f"memory, {case.name}", unit="kB").timed([peak(work) / 1000])


async def applied(capabilities: EditorCapabilities, folder: Path) -> float:
    """Milliseconds to change one line in each of many files."""
    names = [f"d/{number}" for number in range(FILES)]
    room = Room(folder, dict.fromkeys(names, "old\n"), capabilities=capabilities, closed="disk")
    began = time.perf_counter()
    outcome = await room.apply(*(room.edit(name, "old\n", "new\n") for name in names), patience=2)
    assert outcome.kind == "applied"
    return (time.perf_counter() - began) * 1000


def written(folder: Path) -> None:
    """What a program does that replaces as many files safely, and nothing else."""
    for number in range(FILES):
        path = folder / str(number)
        with path.with_suffix(".new").open("w", encoding="utf-8") as file:
            file.write("new\n")
            file.flush()
            os.fsync(file.fileno())
        path.with_suffix(".new").replace(path)


def to_files(rounds: int) -> Iterator[Measured]:
    """Many files through the editor and on disk, and the check of where a path leads."""
    found: dict[str, list[float]] = {"editor": [], "disk": [], "plain": []}
    for _ in range(rounds):
        for name, capabilities in (("editor", EVERYTHING), ("disk", EditorCapabilities())):
            with tempfile.TemporaryDirectory() as folder:
                found[name].append(asyncio.run(applied(capabilities, Path(folder))))
        with tempfile.TemporaryDirectory() as folder:
            found["plain"].append(milliseconds(partial(written, Path(folder))))
    for name, title in (("editor", "through the editor"), ("disk", "on disk")):
        figure = Figure(name=f"{FILES} files changed {title}", anchor="files written and replaced")
        yield figure.paired(found[name], found["plain"])
    with tempfile.TemporaryDirectory() as folder:
        room = Room(Path(folder), {f"d/{number}": "" for number in range(PATHS)})
        roots = Roots((root_at(folder),))
        uris = [room.uri(f"d/{number}") for number in range(PATHS)]
        paths = [Path(folder, f"d/{number}") for number in range(PATHS)]
        work = {
            "ours": lambda: milliseconds(lambda: [resolve_uri(roots, uri, for_="write") for uri in uris]),
            "theirs": lambda: milliseconds(lambda: [path.resolve() for path in paths]),
        }
        rows = in_turn(rounds, work)
    figure = Figure(name=f"{PATHS} paths resolved and confined", anchor="Path.resolve")
    yield figure.paired(rows["ours"], rows["theirs"])


def figures(quick: bool) -> Iterator[Measured]:
    """Quick: without the texts of 20 MB."""
    for case in cases():
        if len(case.before) <= MOST_FOR_DIFFLIB or not quick:
            yield from between_texts(case, 3)
    yield from to_files(2 if quick else 5)


if __name__ == "__main__":
    main(__doc__, figures)
