"""The process that matches a model's regular expression: it reads texts, and writes where matches begin.

A pattern can take any time and memory, when it is compiled too. So the process limits itself before it reads one, and
its parent ends it when it takes too long (`matching_process.py`). It imports nothing else of Planloom.
"""

from __future__ import annotations

import json
import struct
import sys
from array import array
from typing import Any, BinaryIO, Final

MOST_MATCHES: Final = 1_000_000
"""Matches in one text after which the others are not told."""
_MEMORY: Final = 600_000_000
"""Bytes of memory; a text of 20 MB takes about a quarter of it."""
_CPU_SECONDS: Final = 60
HEAD: Final = struct.Struct("<dQ")
"""Before each text: the seconds that it may take, and its length in bytes of UTF-8."""
COUNT: Final = struct.Struct("<bQ")
"""Before the offsets (unsigned, of 8 bytes) of each answer: 1 if all were found in time, and how many there are."""


def main() -> None:
    """Read the pattern, answer whether it compiles, then answer each text until the input ends."""
    _limit()
    source, out = sys.stdin.buffer, sys.stdout.buffer
    asked = json.loads(source.readline())
    problem, compiled = _compiled(asked["pattern"], ignore_case=asked["ignoreCase"])
    out.write(json.dumps(problem).encode() + b"\n")
    out.flush()
    while compiled is not None and len(head := source.read(HEAD.size)) == HEAD.size:
        _answer(compiled, source, out, *HEAD.unpack(head))


def _limit() -> None:
    if sys.platform == "win32":
        # It has no such limits; there the parent's time limit alone holds.
        return
    import resource

    for limit, most in (
        (resource.RLIMIT_AS, _MEMORY),
        (resource.RLIMIT_CPU, _CPU_SECONDS),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        try:
            resource.setrlimit(limit, (most, most))
        except (OSError, ValueError):
            # A lower limit holds already, or the system has none of this kind.
            continue


def _compiled(pattern: str, *, ignore_case: bool) -> tuple[str | None, Any]:
    import regex

    flags = regex.MULTILINE | (regex.IGNORECASE if ignore_case else 0)
    try:
        return None, regex.compile(pattern, flags)
    except MemoryError:
        return "it takes too much memory", None
    except (regex.error, RecursionError, OverflowError, ValueError) as error:
        return str(error), None


def _blank(match: Any) -> int:
    """How far the first word of a match is from its start: `^\\s*def` begins with the empty lines before it."""
    if not match.string[match.start() : match.start() + 1].isspace():
        return 0
    matched = match.group()
    return len(matched) - len(matched.lstrip() or matched)


def _answer(compiled: Any, source: BinaryIO, out: BinaryIO, seconds: float, length: int) -> None:
    found = array("Q")
    complete = 1
    try:
        text = source.read(length).decode("utf-8", "surrogatepass")
        for match in compiled.finditer(text, timeout=seconds):
            found.append(match.start() + _blank(match))
            if len(found) == MOST_MATCHES:
                break
    except (TimeoutError, MemoryError):
        complete = 0
    out.write(COUNT.pack(complete, len(found)) + found.tobytes())
    out.flush()
