"""Runs the benches, each in a process of its own, prints their table and names what got worse since the baseline.

`python -m bench [NAME …]` runs all, or those named; `--quick` takes fewer rounds and smaller sizes. The figures go to
`dist/bench.json`. `--keep` makes them the new baseline and writes them into docs/performance.md. The exit code is 1
where a figure got worse or a bench failed.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from bench.figures import HEADS, Measured, row, short, table, worse

ROOT: Final = Path(__file__).resolve().parents[1]
BASELINE: Final = ROOT / "bench" / "baseline.json"
PAGE: Final = ROOT / "docs" / "performance.md"
LAST: Final = ROOT / "dist" / "bench.json"
BENCHES: Final = {
    "startup": "start",
    "warm": "run",
    "prompts": "models",
    "load": "run",
    "index": "growth",
    "ledger": "growth",
    "growth": "growth",
    "execution": "run",
    "model_calls": "run",
    "edits": "run",
    "parsing": "models",
    "tools": "run",
    "judging": "run",
}
"""All that `make bench` runs, in this order, each with the package of its module."""
SECONDS: Final = 400
"""The most that one bench may take."""
Found = dict[str, list[Measured]]


def module_of(name: str) -> str:
    """The module of a bench."""
    return f"bench.{BENCHES[name]}.{name}"


def ran(name: str, quick: bool) -> tuple[list[Measured], str]:
    """The figures of one bench, and what went wrong; figures that were ready before a failure are kept."""
    with tempfile.TemporaryDirectory() as folder:
        written = Path(folder, "figures.json")
        command = [
            sys.executable,
            "-m",
            f"bench.{BENCHES[name]}.{name}",
            "--json",
            str(written),
            *["--quick"] * quick,
        ]
        try:
            ended = subprocess.run(
                command, cwd=ROOT, capture_output=True, text=True, timeout=SECONDS, check=False
            )
            problem = "" if ended.returncode == 0 else ended.stderr[-2000:] or f"exit code {ended.returncode}"
        except subprocess.TimeoutExpired:
            problem = f"it did not end within {SECONDS} seconds"
        figures = json.loads(written.read_text(encoding="utf-8")) if written.exists() else []
    return [Measured.model_validate(each) for each in figures], problem


def machine() -> str:
    """What the figures depend on: processor, cores, memory, system, Python, and the load of other work."""
    model = ""
    if (info := Path("/proc/cpuinfo")).exists():
        names = re.findall(r"model name\s*: (.*)", info.read_text(encoding="utf-8"))
        model = names[0] if names else ""
    parts = [model or platform.processor() or platform.machine(), f"{os.cpu_count()} cores"]
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        parts.append(f"{os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') / 2**30:.0f} GB")
    parts += [f"{platform.system()} {platform.release()}", f"Python {platform.python_version()}"]
    if hasattr(os, "getloadavg"):
        parts.append(f"load {os.getloadavg()[1]:.1f} over the last five minutes")
    return ", ".join(parts)


Kept = Mapping[str, Mapping[str, Measured]]
"""The figures of the baseline, by bench and name."""


def got_worse(found: Found, baseline: Kept) -> list[str]:
    """A line for each figure that is worse than in the baseline."""
    return [
        f"{name}: {each.name}: {short(earlier.score)} in the baseline, {short(each.score)} in this run"
        for name, figures in found.items()
        for each in figures
        if (earlier := baseline.get(name, {}).get(each.name)) is not None and worse(each, earlier)
    ]


def missing(found: Found, baseline: Kept) -> list[str]:
    """A line for each figure that this run has not measured, for want of another program, or since a bench failed."""
    return [
        f"{name}: {kept}"
        for name, figures in found.items()
        for kept in sorted(baseline.get(name, {}).keys() - {each.name for each in figures})
    ]


def read_baseline(mode: str) -> dict[str, dict[str, Measured]]:
    """The figures of the kept run, by bench and name; none where nothing was kept."""
    if not BASELINE.exists():
        return {}
    kept = json.loads(BASELINE.read_text(encoding="utf-8")).get(mode, {})
    return {
        name: {each["name"]: Measured.model_validate(each) for each in figures}
        for name, figures in kept.items()
    }


def keep(mode: str, found: Found) -> None:
    """Make the figures the baseline of their mode, and those of a full run the table of docs/performance.md."""
    kept = json.loads(BASELINE.read_text(encoding="utf-8")) if BASELINE.exists() else {}
    scored = {
        name: [each.model_dump(exclude_defaults=True) for each in figures if each.score is not None]
        for name, figures in found.items()
    }
    kept[mode] = {**kept.get(mode, {}), **scored}
    BASELINE.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    if mode == "full":
        page = PAGE.read_text(encoding="utf-8")
        for name, figures in found.items():
            page = between(page, name, _markdown(figures))
        PAGE.write_text(between(page, "machine", f"{machine()}."), encoding="utf-8")


def between(page: str, name: str, text: str) -> str:
    """The page with this text between the marks of a bench; as it is, where it has no such marks."""
    marks = rf"(<!-- figures: {name} -->\n).*?(<!-- end -->)"
    return re.sub(marks, lambda found: f"{found[1]}{text}\n{found[2]}", page, flags=re.DOTALL)


def _markdown(figures: Iterable[Measured]) -> str:
    lines = ["| " + " | ".join(HEADS[:-1]) + " |", "|" + "---|" * (len(HEADS) - 1)]
    lines += ["| " + " | ".join(row(each)[:-1]) + " |" for each in figures]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(BENCHES))
    parser.add_argument("--quick", action="store_true", help="fewer rounds and smaller sizes")
    parser.add_argument("--keep", action="store_true", help="make this run the baseline, and write the page")
    options = parser.parse_args(arguments)
    if unknown := set(options.names) - set(BENCHES):
        parser.error(f"no bench: {', '.join(sorted(unknown))}")
    found: Found = {}
    problems = []
    print(machine(), flush=True)
    for name in options.names or BENCHES:
        began = time.perf_counter()
        found[name], problem = ran(name, options.quick)
        if problem:
            problems.append(f"{name} failed: {problem}")
        print(f"\n{name}, {time.perf_counter() - began:.0f} s")
        print(table(map(row, found[name])), flush=True)
    mode = "quick" if options.quick else "full"
    LAST.parent.mkdir(exist_ok=True)
    data = {name: [each.model_dump() for each in figures] for name, figures in found.items()}
    LAST.write_text(
        json.dumps({"machine": machine(), "mode": mode, "figures": data}, indent=1), encoding="utf-8"
    )
    baseline = read_baseline(mode)
    changed = got_worse(found, baseline)
    if options.keep:
        keep(mode, found)
    lines = ["Worse than the baseline:", *changed] if changed else ["Nothing is worse than the baseline."]
    print("\n" + "\n".join(lines if baseline else [f"No {mode} run is kept as a baseline."]))
    if absent := missing(found, baseline):
        print("\n".join(["Not measured in this run:", *absent]))
    print("\n".join(problems))
    return 1 if changed or problems else 0


if __name__ == "__main__":
    sys.exit(main())
