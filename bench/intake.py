"""Measures the index, completion, detection and adversarial texts, each against a naive implementation.

    python -m bench.intake [--files 100000] [--rounds 5]

Pairs are timed alternately and medians are compared, since machines are shared. The last line is JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from planloom.intake.completion import complete
from planloom.intake.detection import detect
from planloom.intake.qualification import qualify
from planloom.intake.references import find_references
from planloom.workspace.index.file_index import FileIndex
from planloom.workspace.paths.roots import root_at

WORDS = [
    *("alpha", "beta", "gamma", "delta", "core", "util", "view", "model", "service", "page", "form", "menu"),
    *(
        "order",
        "user",
        "auth",
        "data",
        "cache",
        "index",
        "router",
        "panel",
        "chart",
        "table",
        "widget",
        "store",
    ),
    *(
        "queue",
        "worker",
        "parser",
        "token",
        "stream",
        "event",
        "task",
        "plan",
        "step",
        "guest",
        "recipe",
        "basket",
    ),
]
SUFFIXES = (".ts", ".tsx", ".py", ".go", ".rs", ".md", ".json", ".css", ".test.ts", ".html")
MESSAGES = (
    "Create a recipe app with a form for guests and a page for orders",
    "What does @src/menu/order.ts do?",
    "Fix the typo in README.md",
    "1. Add the menu page\n2. Update @src/router.ts:10-20\n3. Write tests for it",
    "The login breaks when the token is old; look at @src/auth/token.ts and @diagnostics, then tell me what is"
    " going on in there before you touch anything, since the release is tomorrow and I would like to know the risk",
)
ADVERSARIAL = {
    "@ × 10,000": "@" * 10_000,
    "1. × 10,000": "1. " * 10_000,
    "1 M of @": "@" * 1_000_000,
    "1 M of '@a '": "@a " * 333_333,
    "1 M of '1. '": "1. " * 333_333,
    "1 M of '1.'": "1." * 500_000,
    "1 M of backticks": "`" * 1_000_000,
    "1 M of 'and '": "and " * 250_000,
}
QUERIES = tuple("order_menu12.ts"[:length] for length in range(1, 13)) + tuple(
    "src/form/page_core"[:length] for length in range(1, 13)
)


def main() -> None:
    """Run every measurement and print it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=5)
    chosen = parser.parse_args()
    figures: dict[str, Any] = {"files": chosen.files}
    with tempfile.TemporaryDirectory(prefix="intake-bench-") as folder:
        root = Path(folder, "workspace")
        generate(root, chosen.files)
        figures["listing"] = listing(root, chosen.rounds)
        figures["completion"] = asyncio.run(completion(root, chosen.rounds))
        figures["memory"] = memory(root)
    figures["messages"] = messages()
    figures["adversarial"] = adversarial()
    print(json.dumps(figures))


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


def listing(root: Path, rounds: int) -> dict[str, Any]:
    """Time the first listing against programs that only list."""
    variants: dict[str, Callable[[], Any]] = {
        "git ls-files -co": lambda: run("git", "-C", root, "ls-files", "-co", "--exclude-standard", "-z"),
        "index, through git": lambda: asyncio.run(indexed(root, git=True)),
        "index, own walk": lambda: asyncio.run(indexed(root, git=False)),
        "pathspec, pruned walk": lambda: pruned(root),
        "pathspec on every file": lambda: unpruned(root),
    }
    if shutil.which("rg"):
        variants["rg --files"] = lambda: run("rg", "--files", "--hidden", "--glob", "!.git", root)
    times: dict[str, list[float]] = {name: [] for name in variants}
    details: dict[str, list[dict[str, float]]] = {}
    for _ in range(rounds):
        for name, measure in variants.items():
            started = time.perf_counter()
            detail = measure()
            duration = time.perf_counter() - started
            if isinstance(detail, dict):
                duration = detail["listed"]
                details.setdefault(name, []).append(detail)
            times[name].append(duration)
    figures = {name: statistics.median(values) * 1000 for name, values in times.items()}
    print("\nListing, ms (median); ÷ git ls-files, ÷ pruned pathspec of the same rounds")
    for name in variants:
        cells = [f"{figures[name]:9.0f}"]
        for other in ("git ls-files -co", "pathspec, pruned walk"):
            pairs = zip(times[name], times[other], strict=True)
            cells.append(f"{statistics.median(one / two for one, two in pairs):6.2f}")
        row(name, *cells)
    for name, several in details.items():
        for what in several[0]:
            if what != "listed":
                figures[f"{name}: {what}"] = statistics.median(each[what] for each in several) * 1000
                row(f"{name}: {what}", f"{figures[f'{name}: {what}']:9.1f}")
    return {name: round(value, 1) for name, value in figures.items()}


def run(*command: object) -> None:
    subprocess.run([str(part) for part in command], check=True, stdout=subprocess.DEVNULL)


async def indexed(root: Path, *, git: bool) -> dict[str, float]:
    """Time the build of an index, its first completion, and the stalls of the loop against those of an idle loop."""
    index = FileIndex([root_at(root)], git="find" if git else None)
    started = time.perf_counter()
    building = asyncio.create_task(index.build())
    watching = asyncio.create_task(longest_stall())
    first = 0.0
    while not first:
        await asyncio.sleep(0.001)
        if index.files and (await complete("@me", 3, index)).items:
            first = time.perf_counter() - started
    await index.wait_until_listed(600)
    listed = time.perf_counter() - started
    await building
    ordered = time.perf_counter() - started
    watching.cancel()
    stall = await watching
    idle = asyncio.create_task(longest_stall())
    await asyncio.sleep(ordered)
    idle.cancel()
    return {
        "listed": listed,
        "first usable completion": first,
        "in order": ordered,
        "longest stall of the loop": stall,
        "longest stall of an idle loop": await idle,
    }


async def longest_stall() -> float:
    """The longest delay of the event loop in seconds, until this is cancelled."""
    worst = 0.0
    try:
        while True:
            before = time.perf_counter()
            await asyncio.sleep(0.001)
            worst = max(worst, time.perf_counter() - before - 0.001)
    except asyncio.CancelledError:
        return worst


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


def unpruned(root: Path) -> None:
    """The most naive walk: every file is matched against the root's patterns."""
    from pathspec import GitIgnoreSpec

    spec = GitIgnoreSpec.from_lines((root / ".gitignore").read_text().splitlines())
    base = len(str(root)) + 1
    paths = (os.path.join(folder, name)[base:] for folder, _, names in os.walk(root) for name in names)  # noqa: PTH118
    list(spec.match_files(paths, negate=True))


async def completion(root: Path, rounds: int) -> dict[str, Any]:
    """Time every query against fzf and a naive filter on the same list."""
    index = FileIndex([root_at(root)])
    await index.build()
    paths = [path for path in await index.below("", 10_000_000) if not path.endswith("/")]
    ours, engine, fzf, naive = [], [], [], []
    lines = "\n".join(paths).encode()
    has_fzf = shutil.which("fzf") is not None
    gc.freeze()
    for number in range(rounds):
        for query in QUERIES:
            ours.append(await timed(complete(f"@{query}", 1 + len(query), index)))
            engine.append(await timed(index.search(query, 50)))
            if has_fzf and number < 2:
                fzf.append(await timed(asyncio.to_thread(filtered, query, lines)))
            if number == 0:
                started = time.perf_counter()
                sorted((path for path in paths if subsequence(query, path)), key=len)[:50]
                naive.append(time.perf_counter() - started)
    print(f"\nCompletion over {len(paths):,} paths, queries of 1 to 12 characters, ms")
    result = {}
    for name, values in {"complete()": ours, "engine": engine, "fzf --filter": fzf, "naive": naive}.items():
        if values:
            p50, p95 = percentile(values, 50), percentile(values, 95)
            row(name, f"p50 {p50:8.1f}", f"p95 {p95:8.1f}")
            result[name] = {"p50": round(p50, 1), "p95": round(p95, 1)}
    if fzf:
        row("engine ÷ fzf", f"p50 {percentile(engine, 50) / percentile(fzf, 50):8.3f}", "")
    return result


def filtered(query: str, lines: bytes) -> None:
    subprocess.run(["fzf", "--filter", query], input=lines, stdout=subprocess.PIPE, check=False)


async def timed(awaitable: Any) -> float:
    started = time.perf_counter()
    await awaitable
    return time.perf_counter() - started


def subsequence(query: str, path: str) -> bool:
    rest = iter(path.lower())
    return all(letter in rest for letter in query)


def memory(root: Path) -> dict[str, float]:
    """Memory that the index adds to a fresh process, against a list of the same paths."""
    script = """
import asyncio, gc, os, sys
from functools import partial
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
    paths = list(await index.below("", 10_000_000)) if sys.argv[2] == "list" else None
    print(built - before, resident() - built)
asyncio.run(main())
"""
    if not Path("/proc/self/statm").exists():
        return {}
    done = subprocess.run(
        [sys.executable, "-c", script, str(root), "list"], check=True, stdout=subprocess.PIPE, text=True
    )
    index, plain = map(float, done.stdout.split())
    print("\nMemory, MB")
    row("index", f"{index:9.1f}")
    row("a list of the same paths besides", f"{plain:9.1f}")
    return {"index_mb": round(index, 1), "list_mb": round(plain, 1)}


def messages() -> dict[str, float]:
    """Microseconds for each message of what runs at every keystroke or request."""
    print("\nMicroseconds a message (median of messages)")
    variants: dict[str, Callable[[str], object]] = {
        "detect": detect,
        "find_references": find_references,
        "qualify": lambda text: qualify(text, (), detect(text)),
    }
    result = {}
    for name, measure in variants.items():
        values = []
        for message in MESSAGES:
            measure(message)
            values.append(min(repeated(partial(measure, message)) for _ in range(5)))
        result[name] = round(statistics.median(values) * 1e6, 1)
        row(name, f"{result[name]:9.1f}", f"slowest {max(values) * 1e6:8.1f}")
    return result


def repeated(call: Callable[[], object], times: int = 200) -> float:
    started = time.perf_counter()
    for _ in range(times):
        call()
    return (time.perf_counter() - started) / times


def adversarial() -> dict[str, float]:
    """Milliseconds for adversarial texts at full and half length; linear time gives a ratio of about 2."""
    print("\nAdversarial text, ms; doubled ÷ single")
    result = {}
    for name, text in ADVERSARIAL.items():
        cells = []
        for parse in (detect, find_references):
            half = min(repeated(partial(parse, text[: len(text) // 2]), 1) for _ in range(3))
            whole = min(repeated(partial(parse, text), 1) for _ in range(3))
            cells.append(f"{parse.__name__} {whole * 1000:8.1f} (× {whole / half:4.1f})")
            result[f"{name}, {parse.__name__}"] = round(whole * 1000, 2)
        row(name, *cells)
    return result


def percentile(values: Sequence[float], percent: int) -> float:
    return statistics.quantiles(values, n=100, method="inclusive")[percent - 1] * 1000


def row(name: str, *cells: Iterable[str]) -> None:
    print(f"  {name:44s}", *cells)


if __name__ == "__main__":
    main()
