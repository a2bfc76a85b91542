"""Reports a run of the fuzzer: minimised findings, slow texts, and the number of lines reached."""

from __future__ import annotations

import json
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType
from typing import Any

from bench.fuzzing.targets import TARGETS
from bench.fuzzing.texts import chance_of, decoded, signature_of

Check = Callable[[str, random.Random], None]

PROSE = (
    "The parser reads a line, and then it looks at what comes next.\nIt is written in src, where a is b.\n"
)
SMALL, LARGE = 15_000, 60_000
GROWTH = 2.0
"""The most by which time may grow beyond linear when a text becomes four times as long."""
BUDGET = 60.0
"""The most by which a character may be slower than one of prose."""
SLOWEST = 12
"""How many of the slowest texts are repeated to a large size."""
LIMIT = 10.0
"""Seconds after which parsing a text is stopped."""


def report(
    name: str, packages: tuple[str, ...], corpus: Path, out: Path, child: subprocess.CompletedProcess[str]
) -> int:
    """Print the report of a run; returns the number of findings."""
    target = TARGETS[name]

    def check(text: str, chance: random.Random) -> None:
        target.read(text)
        target.check(text, chance)

    stopped = [path for path in out.iterdir() if path.name.split("-")[0] in ("crash", "timeout", "oom")]
    runs = re.search(r"number_of_executed_units:\s*(\d+)", child.stderr)
    edges = re.findall(r"cov: (\d+)", child.stderr)
    if not edges:
        print(child.stderr[-3_000:])
        sys.exit("the fuzzer did not run: pip install -e '.[fuzz]'")
    findings = 0
    for path in sorted((*out.glob("found-*"), *stopped)):
        findings += 1
        _print_finding(check, decoded(path.read_bytes()))
    texts = [
        decoded(path.read_bytes()) for path in (*sorted(out.glob("slow-*"))[-SLOWEST:], *corpus.iterdir())
    ]
    worst = _slow(target.read, texts, seconds=60)
    findings += worst[0] > 1
    if worst[0] > 1:
        print(f"SLOW, {worst[0]:.1f} times what is allowed: {worst[1]}")
    reached, lines = _lines_reached(packages, target.check, texts)
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


def _print_finding(check: Check, text: str) -> None:
    signature = _failure(check, text)
    if signature is None:
        print(f"not reproduced, or too slow: {text[:300]!r}")
        return
    text = _smaller(text, lambda other: _failure(check, other) == signature)
    print(f"{signature}\n    check({text!r})")


def _failure(check: Check, text: str) -> str | None:
    try:
        check(text, chance_of(text))
    except Exception as error:
        return signature_of(error)
    return None


def _smaller(text: str, fails: Callable[[str], bool], seconds: float = 20.0) -> str:
    """The text without the parts that the failure does not need."""
    until = time.monotonic() + seconds
    size = len(text) // 2
    while size and time.monotonic() < until:
        start = 0
        while start < len(text) and time.monotonic() < until:
            shorter = text[:start] + text[start + size :]
            if fails(shorter):
                text = shorter
            else:
                start += size
        size //= 2
    return text


class TooLong(BaseException):
    """Parsing a text took longer than LIMIT."""


def _stop(_number: int, _frame: object) -> None:
    raise TooLong


def _seconds(read: Callable[[str], object], text: str) -> float:
    """Seconds to parse a text, at most about `LIMIT`."""
    signal.setitimer(signal.ITIMER_REAL, LIMIT)
    began = time.thread_time()
    try:
        read(text)
    except TooLong:
        return LIMIT
    except Exception as error:
        # The repeated text found another failure.
        print(f"{signature_of(error)}\n    read({text[:500]!r})")
        return 1_000.0
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return time.thread_time() - began


def _slow(read: Callable[[str], object], texts: list[str], seconds: float) -> tuple[float, str]:
    """The slowest repeated text: its time as a multiple of what is allowed, and how to build it."""
    signal.signal(signal.SIGALRM, _stop)
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
                # A busy machine can make one measurement slow, so the best of five counts.
                short, long = (min(_seconds(read, size) for _ in range(5)) for size in (small, large))
                growth = long / short / (len(large) / len(small)) / GROWTH
                over = max(growth if long > 0.1 else 0.0, long / len(large) / prose / BUDGET)
            worst = max(worst, (over, f"{before!r} + {piece!r} * n + {after!r}, {long:.2f} s for {LARGE}"))
    return worst


def _pieces(text: str, chance: random.Random) -> Iterator[tuple[str, str, str]]:
    """Ways to lengthen a text as before, repeated piece, after: the whole text, or a piece in its middle."""
    if not text:
        return
    yield "", text, ""
    for longest in (3, 20, 100):
        a = chance.randrange(len(text))
        b = min(len(text), a + chance.randint(1, longest))
        yield text[:a], text[a:b], text[b:]


def _lines_reached(packages: tuple[str, ...], check: Check, texts: list[str]) -> tuple[int, int]:
    """The number of lines of the parsers that the texts reach, and the number of all lines."""
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
    """The functions in a code object at any depth, without the bodies of classes."""
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            if inner.co_flags & 0x2:
                yield inner
            yield from _functions(inner)
