"""A coverage-guided fuzzer over everything that reads texts of models and users.

`python -m bench.fuzz --target plans|calls|detection|references|rules|patches --seconds 60` needs atheris
(`pip install -e '.[fuzz]'`), which guides by the edges of the readers' own code. Texts grow from the tests' own
examples and messy outputs by splicing, repeating and the words of the formats. `bench/fuzz_targets.py` says what
must hold. The first text of each failure is made smaller and printed as a test case; time is tried afterwards, by
blowing up the slowest texts and all that reached new code, against prose of the same size read in the same run.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

PACKAGES = {
    "plans": ("planloom.planning.formats", "planloom.planning.assemble"),
    "calls": ("planloom.agent.toolcalls",),
    "detection": ("planloom.intake.detection", "planloom.intake.qualification", "planloom.intake.words"),
    "references": ("planloom.intake.references",),
    "rules": tuple(
        f"planloom.planning.{name}"
        for name in ("rules", "calls", "call_patterns", "clauses", "literals", "written_paths", "wording")
    ),
    "patches": tuple(f"planloom.tools.{name}" for name in ("patches", "patching", "replacing", "passages")),
}
"""The code that each target is guided by."""
LONGEST = 1_500
PROSE = (
    "The parser reads a line, and then it looks at what comes next.\nIt is written in src, where a is b.\n"
)
SMALL, LARGE = 15_000, 60_000
GROWTH = 2.0
"""How much more than linearly the time of a text four times as long may grow before it is told."""
BUDGET = 60.0
"""How many times slower than prose a character may be."""
LIMIT = 10.0
"""Seconds after which a reading is given up."""
KEPT = 12


def main() -> None:
    """Fuzz one target in a process of its own, then minimise and print what was found."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--target", choices=tuple(PACKAGES), required=True)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--corpus", type=Path, help="a folder that keeps texts between runs")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child is not None:
        _fuzz(given.target, given.seconds, given.corpus, given.child)
    else:
        sys.exit(run(given.target, given.seconds, given.corpus))


def run(target: str, seconds: int, corpus: Path | None = None) -> int:
    """Fuzz a target and print what was found; the number of findings."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder)
        corpus = corpus or out / "corpus"
        corpus.mkdir(parents=True, exist_ok=True)
        arguments = [
            "--target",
            target,
            "--seconds",
            str(seconds),
            "--corpus",
            str(corpus),
            "--child",
            folder,
        ]
        child = subprocess.run(
            [sys.executable, "-m", "bench.fuzz", *arguments],
            check=False,
            cwd=Path(__file__).parents[1],
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
        )
        return _report(target, corpus, out, child)


def _decoded(data: bytes) -> str:
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace")


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _chance(text: str) -> random.Random:
    """The same division into chunks whenever the same text is checked."""
    return random.Random(zlib.crc32(_encoded(text)))


def _signature(error: BaseException) -> str:
    """What tells one finding from another: the kind of error, its place, and what it says of it."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    said = str(error).partition("\n")[0][:60] if isinstance(error, AssertionError) else ""
    return f"{type(error).__name__} {Path(place.filename).name}:{place.lineno} {said}".strip()


def _fuzz(name: str, seconds: int, corpus: Path, out: Path) -> None:
    """The process that fuzzes: it notes what it finds and goes on, until the fuzzer ends it."""
    import atheris

    with atheris.instrument_imports(include=list(PACKAGES[name])):
        from bench.fuzz_targets import TARGETS
    target = TARGETS[name]
    seen: set[str] = set()
    slowest = [0.0] * KEPT

    def one(data: bytes) -> None:
        text = _decoded(data)
        began = time.thread_time()
        try:
            target.read(text)
            pace = (time.thread_time() - began) / (len(text) + 200)
            target.check(text, _chance(text))
        except Exception as error:
            signature = _signature(error)
            if signature not in seen:
                seen.add(signature)
                (out / f"found-{len(seen)}").write_bytes(data)
            return
        if pace > slowest[0]:
            slowest[0] = pace
            slowest.sort()
            (out / f"slow-{int(pace * 1e9):012}").write_bytes(data)

    seeds = tuple(target.seeds())
    for text in seeds:
        data = _encoded(text)
        (corpus / hashlib.sha1(data).hexdigest()).write_bytes(data)

    def mutate(data: bytes, size: int, seed: int) -> bytes:
        chance = random.Random(seed)
        if chance.random() < 0.3:
            return bytes(atheris.Mutate(data, size))
        changed = _changed(_decoded(data), seeds, target.words, chance)
        return _encoded(changed)[:size]

    flags = [f"-max_total_time={seconds}", f"-max_len={LONGEST}", "-timeout=60", "-print_final_stats=1"]
    atheris.Setup(["fuzz", *flags, f"-artifact_prefix={out}/", str(corpus)], one, custom_mutator=mutate)
    atheris.Fuzz()


def _changed(text: str, seeds: tuple[str, ...], words: tuple[str, ...], chance: random.Random) -> str:
    """The text after one or a few changes that keep its structure: words, lines and pieces of other texts."""
    for _ in range(chance.choice((1, 1, 2, 4))):
        a, b = sorted(chance.randrange(len(text) + 1) for _ in range(2))
        b = min(b, a + 80) if chance.random() < 0.7 else b
        match chance.randrange(7):
            case 0 | 1:
                text = text[:a] + chance.choice(words) + text[a:]
            case 2:
                text = text[:a] + chance.choice(words) + text[b:]
            case 3:
                text = text[:a] + text[b:]
            case 4:
                text = text[:a] + text[a:b] * chance.choice((2, 3, 20)) + text[b:]
            case 5:
                other = chance.choice(seeds)
                c, d = sorted(chance.randrange(len(other) + 1) for _ in range(2))
                text = text[:a] + other[c:d] + text[b:]
            case _:
                lines = text.split("\n")
                chance.shuffle(lines)
                text = "\n".join(lines)
    return text


def _report(name: str, corpus: Path, out: Path, child: subprocess.CompletedProcess[str]) -> int:
    """Print what a run came to; the number of findings."""
    from bench.fuzz_targets import TARGETS

    target = TARGETS[name]
    stopped = [path for path in out.iterdir() if path.name.split("-")[0] in ("crash", "timeout", "oom")]
    runs = re.search(r"number_of_executed_units:\s*(\d+)", child.stderr)
    edges = re.findall(r"cov: (\d+)", child.stderr)
    if not edges:
        print(child.stderr[-3_000:])
        sys.exit("the fuzzer did not run: pip install -e '.[fuzz]'")
    findings = 0
    for path in sorted((*out.glob("found-*"), *stopped)):
        findings += 1
        _print_finding(target.check, _decoded(path.read_bytes()))
    texts = [_decoded(path.read_bytes()) for path in (*sorted(out.glob("slow-*"))[-KEPT:], *corpus.iterdir())]
    worst = _slow(target.read, texts, seconds=60)
    findings += worst[0] > 1
    if worst[0] > 1:
        print(f"SLOW, {worst[0]:.1f} times what is allowed: {worst[1]}")
    reached, lines = _lines_reached(PACKAGES[name], target.check, texts)
    figures = {
        "bench": f"fuzz {name}",
        "executions": int(runs[1]) if runs else 0,
        "edges": int(edges[-1]),
        "lines_reached": f"{reached}/{lines}",
        "corpus": len(texts),
        "findings": findings,
        "slowest": round(worst[0], 2),
    }
    print(json.dumps(figures))
    return findings


def _print_finding(check: Callable[[str, random.Random], None], text: str) -> None:
    signature = _failure(check, text)
    if signature is None:
        print(f"did not happen again, or took too long: {text[:300]!r}")
        return
    text = _smaller(text, lambda other: _failure(check, other) == signature)
    print(f"{signature}\n    check({text!r})")


def _failure(check: Callable[[str, random.Random], None], text: str) -> str | None:
    try:
        check(text, _chance(text))
    except Exception as error:
        return _signature(error)
    return None


def _smaller(text: str, fails: Callable[[str], bool], seconds: float = 20.0) -> str:
    """The text with everything left out that the failure does not need."""
    until = time.monotonic() + seconds
    size = len(text) // 2
    while size and time.monotonic() < until:
        at = 0
        while at < len(text) and time.monotonic() < until:
            shorter = text[:at] + text[at + size :]
            if fails(shorter):
                text = shorter
            else:
                at += size
        size //= 2
    return text


class TooLong(BaseException):
    """A reading that is given up."""


def _give_up(_number: int, _frame: object) -> None:
    raise TooLong


def _seconds(read: Callable[[str], object], text: str) -> float:
    """How long a reading takes, at most about `LIMIT`."""
    signal.setitimer(signal.ITIMER_REAL, LIMIT)
    began = time.thread_time()
    try:
        read(text)
    except TooLong:
        return LIMIT
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return time.thread_time() - began


def _slow(read: Callable[[str], object], texts: list[str], seconds: float) -> tuple[float, str]:
    """The worst of the texts blown up: how many times what is allowed, and what it was."""
    signal.signal(signal.SIGALRM, _give_up)
    until = time.monotonic() + seconds
    chance = random.Random(1)
    prose = max(_seconds(read, PROSE * (LARGE // len(PROSE))), 1e-4) / LARGE
    worst = (0.0, "")
    for text in texts:
        if time.monotonic() > until:
            break
        for before, piece, after in _pieces(text, chance):
            small = before + piece * (SMALL // len(piece)) + after
            short = max(_seconds(read, small), 1e-3)
            if short / len(small) < prose * 4 and worst[0] > 0.2:
                continue
            large = before + piece * (LARGE // len(piece)) + after
            long = _seconds(read, large)
            growth = long / short / (len(large) / len(small)) / GROWTH
            over = max(growth if long > 0.1 else 0.0, long / len(large) / prose / BUDGET)
            if over > 1:
                # A busy machine looks the same as a slow reader, once.
                short, long = (min(_seconds(read, size) for _ in range(5)) for size in (small, large))
                growth = long / short / (len(large) / len(small)) / GROWTH
                over = max(growth if long > 0.1 else 0.0, long / len(large) / prose / BUDGET)
            worst = max(worst, (over, f"{before!r} + {piece!r} * n + {after!r}, {long:.2f} s for {LARGE}"))
    return worst


def _pieces(text: str, chance: random.Random) -> Iterator[tuple[str, str, str]]:
    """Ways to blow a text up: as a whole, or a stretch in its middle."""
    if not text:
        return
    yield "", text, ""
    for longest in (3, 20, 100):
        a = chance.randrange(len(text))
        b = min(len(text), a + chance.randint(1, longest))
        yield text[:a], text[a:b], text[b:]


def _lines_reached(
    packages: tuple[str, ...], check: Callable[[str, random.Random], None], texts: list[str]
) -> tuple[int, int]:
    """How many lines of the readers the texts reach, and how many there are."""
    every: set[tuple[str, int]] = set()
    for name, module in tuple(sys.modules.items()):
        if name.startswith(packages) and module.__file__ is not None:
            source = compile(Path(module.__file__).read_text(encoding="utf-8"), module.__file__, "exec")
            for code in _functions(source):
                every |= {(code.co_filename, line) for _, _, line in code.co_lines() if line}
    reached: set[tuple[str, int]] = set()
    files = {path for path, _ in every}

    def trace(frame: Any, _event: str, _argument: object) -> Any:
        if frame.f_code.co_filename not in files:
            return None
        reached.add((frame.f_code.co_filename, frame.f_lineno))
        return trace

    sys.settrace(trace)
    try:
        for text in texts:
            _failure(check, text)
    finally:
        sys.settrace(None)
    return len(reached & every), len(every)


def _functions(code: CodeType) -> Iterator[CodeType]:
    """The functions inside of some code, at any depth, but not the code that makes classes."""
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            if inner.co_flags & 0x2:
                yield inner
            yield from _functions(inner)


if __name__ == "__main__":
    main()
