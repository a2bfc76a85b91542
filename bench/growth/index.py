"""Measures the index of a workspace beside `git ls-files` and a plain walk, and the completion of `@`."""

from __future__ import annotations

import asyncio
import gc
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final

from bench.figures import Figure, Measured, main, milliseconds, percentile
from bench.stalls import longest_stall
from planloom.intake.completion import complete
from planloom.workspace.index.file_index import FileIndex
from planloom.workspace.index.path_table import PathTable
from planloom.workspace.paths.roots import root_at

GIT: Final = "git ls-files"
WALK: Final = "a walk with pathspec"
FIGURES: Final = {
    "git": Figure(name="index through git", anchor=GIT, goal=1.1),
    "first": Figure(name="index through git, to the first completion", anchor=GIT),
    "ordered": Figure(name="index through git, until it is sorted", anchor=GIT),
    "walk": Figure(name="index by its own walk", anchor=WALK, goal=0.6),
}
STALL: Final = Figure(name="longest stall of the loop while the index is built", goal=15)
WORDS: Final = [
    *("alpha", "beta", "gamma", "delta", "core", "util", "view", "model", "service", "page", "form"),
    *("menu", "order", "user", "auth", "data", "cache", "index", "router", "panel", "chart", "table"),
    *("widget", "store", "queue", "worker", "parser", "token", "stream", "event", "task", "plan"),
    *("step", "guest", "recipe", "basket"),
]
SUFFIXES: Final = (".ts", ".tsx", ".py", ".go", ".rs", ".md", ".json", ".css", ".test.ts", ".html")
FAST: Final = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
"""A folder in memory, so that the disk of the machine does not matter."""
QUERIES: Final = tuple("order_menu12.ts"[:length] for length in range(1, 13)) + tuple(
    "src/form/page_core"[:length] for length in range(1, 13)
)


def generate(root: Path, count: int) -> None:
    """Create a git repository of `count` visible files, 12 to a folder, and a quarter as many ignored ones."""
    rng = random.Random(20261122)
    folders = sorted(
        {
            "/".join(
                ["src", "lib", "packages"][rng.randrange(3) : rng.randrange(3) + 1]
                + [rng.choice(WORDS) for _ in range(rng.randrange(1, 5))]
            )
            for _ in range(count // 9)
        }
    )
    made = 0
    while made < count:
        for folder in folders:
            (root / folder).mkdir(parents=True, exist_ok=True)
            for _ in range(min(12, count - made)):
                name = f"{rng.choice(WORDS)}_{rng.choice(WORDS)}{made}{rng.choice(SUFFIXES)}"
                (root / folder / name).touch()
                made += 1
            if made == count:
                break
    hidden = [folders[rng.randrange(len(folders))] for _ in range(max(1, count // 1000))]
    for index, folder in enumerate(hidden):
        (root / folder).mkdir(parents=True, exist_ok=True)
        (root / folder / ".gitignore").write_text("*.log\n/out/\n!keep.log\ncache_*/\n")
        out = root / folder / ("out" if index % 2 else "node_modules")
        out.mkdir(exist_ok=True)
        for number in range(250):
            (out / f"generated{number}.js").touch()
    (root / ".gitignore").write_text("node_modules/\n*.tmp\n/dist\n**/coverage/**\n")
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "-c", "user.name=b", "-c", "user.email=b@example.org", "commit", "-qm", "files")
    for number in range(200):
        (root / "src" / f"untracked{number}.ts").touch()


def git(root: Path, *arguments: str) -> None:
    subprocess.run(["git", "-C", str(root), *arguments], check=True, stdout=subprocess.DEVNULL)


def through_git(root: Path) -> float:
    """What git alone needs for the same list."""
    command = ("git", "-C", str(root), "ls-files", "-co", "--exclude-standard", "-z")
    return milliseconds(lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL))


def pruned(root: Path) -> None:
    """A naive walk that matches folders by pathspec before it enters them."""
    from pathspec import GitIgnoreSpec

    stack: list[tuple[str, list[tuple[str, GitIgnoreSpec]]]] = [("", [])]
    found = []
    while stack:
        prefix, specs = stack.pop()
        here = root / prefix
        ignore = here / ".gitignore"
        if ignore.exists():
            specs = [*specs, (prefix, GitIgnoreSpec.from_lines(ignore.read_text().splitlines()))]
        for entry in os.scandir(here):
            path = prefix + entry.name + "/" * entry.is_dir(follow_symlinks=False)
            if entry.name == ".git" or any(spec.match_file(path[len(base) :]) for base, spec in specs):
                continue
            if path.endswith("/"):
                stack.append((path, specs))
            else:
                found.append(path)


async def listed(root: Path, *, git: bool) -> tuple[float, float]:
    """Milliseconds until everything is listed, and until the list is sorted."""
    index = FileIndex([root_at(root)], git="find" if git else None)
    began = time.perf_counter()
    building = asyncio.create_task(index.build())
    await index.wait_until_listed(600)
    found = time.perf_counter()
    await building
    return (found - began) * 1000, (time.perf_counter() - began) * 1000


async def used_early(root: Path) -> tuple[float, float]:
    """Milliseconds until a completion finds something, and of the longest stall of the loop during the build."""
    index = FileIndex([root_at(root)])
    began = time.perf_counter()
    building = asyncio.create_task(index.build())
    async with longest_stall() as stall:
        while not (index.files and (await complete("@me", 3, index)).items):
            await asyncio.sleep(0.001)
        first = time.perf_counter() - began
        await building
    return first * 1000, stall.seconds * 1000


def listing(root: Path, rounds: int) -> Iterator[Measured]:
    """All in turn; the first round is dropped."""
    found: dict[str, list[float]] = {name: [] for name in (*FIGURES, "stall", GIT, WALK)}
    for each in range(rounds + 1):
        row = {GIT: through_git(root)}
        row["git"], row["ordered"] = asyncio.run(listed(root, git=True))
        row[WALK] = milliseconds(lambda: pruned(root))
        row["walk"], _ = asyncio.run(listed(root, git=False))
        row["first"], row["stall"] = asyncio.run(used_early(root))
        if each:
            for name, value in row.items():
                found[name].append(value)
    for name, figure in FIGURES.items():
        yield figure.paired(found[name], found[figure.anchor])
    yield STALL.timed(found["stall"])


async def completion(root: Path, rounds: int) -> Iterator[Measured]:
    """Every query against fzf, where it is installed, and against a filter in Python on the same list."""
    index = FileIndex([root_at(root)])
    await index.build()
    paths = [path for path in await index.below("", 10_000_000) if not path.endswith("/")]
    lines = "\n".join(paths).encode()
    gc.freeze()

    def fzf(query: str) -> None:
        subprocess.run(["fzf", "--filter", query], input=lines, stdout=subprocess.PIPE, check=False)

    def naive(query: str) -> None:
        sorted((path for path in paths if subsequence(query, path)), key=len)[:50]

    anchor = ("fzf", fzf) if shutil.which("fzf") else ("a filter in Python", naive)
    ours, theirs = [], []
    for _ in range(rounds):
        began: list[float] = []
        for query in QUERIES:
            start = time.perf_counter()
            await complete(f"@{query}", 1 + len(query), index)
            began.append((time.perf_counter() - start) * 1000)
        ours.append(percentile(began, 0.95))
        theirs.append(percentile([milliseconds(partial(anchor[1], query)) for query in QUERIES[::4]], 0.95))
    figure = Figure(name="`@` completion, p95", anchor=anchor[0], goal=0.15 if anchor[0] == "fzf" else None)
    return iter([figure.paired(ours, theirs)])


def subsequence(query: str, path: str) -> bool:
    rest = iter(path.lower())
    return all(letter in rest for letter in query)


MEMORY: Final = """
import asyncio, gc, os, sys
from pathlib import Path
from planloom.workspace.index.file_index import FileIndex
from planloom.workspace.paths.roots import root_at
import frizbee
def resident():
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
async def main():
    index = FileIndex([root_at(sys.argv[1])])
    before = resident()
    await index.build()
    built = resident()
    paths = list(await index.below("", 10_000_000))
    print(built - before, resident() - built)
asyncio.run(main())
"""


def memory(root: Path) -> Iterator[Measured]:
    """Memory that the index adds to a fresh process, against a list of the same paths."""
    if Path("/proc/self/statm").exists():
        command = (sys.executable, "-c", MEMORY, str(root))
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        index, plain = map(float, done.stdout.split())
        yield Figure(name="memory of the index", unit="MB", anchor="a list of the paths").paired(
            [index], [plain]
        )


def inserted(table: PathTable, paths: list[str]) -> None:
    table.extend(paths)
    # The table inserts what was queued when somebody looks.
    len(table)


def table_growth(sizes: tuple[int, ...]) -> Iterator[Measured]:
    """A table without a disk behind it, up to a million paths: what is inserted, and what a search costs."""
    made, searched = [], []
    for size in sizes:
        paths = [
            f"src/{WORDS[number % len(WORDS)]}/{number // 12}/{number}_{WORDS[number % 7]}.ts"
            for number in range(size)
        ]
        table = PathTable()
        made.append((size, milliseconds(partial(inserted, table, paths))))
        searches = [milliseconds(partial(table.search, "orderwidget", 50)) for _ in range(5)]
        searched.append((size, statistics.median(searches)))
    yield Figure(name="paths inserted, by their number", goal=1.1).grown(made)
    yield Figure(name="a fuzzy search, by the number of paths", goal=1.1).grown(searched)


def figures(quick: bool) -> Iterator[Measured]:
    """On 100,000 files (quick: 10,000), 12 to a folder, with ignore files."""
    with tempfile.TemporaryDirectory(prefix="index-bench-", dir=FAST) as folder:
        root = Path(folder, "workspace")
        generate(root, 10_000 if quick else 100_000)
        yield from listing(root, 5 if quick else 9)
        yield from asyncio.run(completion(root, 2 if quick else 5))
        yield from memory(root)
    yield from table_growth((1_000, 3_000, 10_000) if quick else (1_000, 10_000, 100_000, 1_000_000))


if __name__ == "__main__":
    main(__doc__, figures)
