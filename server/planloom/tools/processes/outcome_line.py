"""Finds the line of a command's output that states its outcome: the counts of a test run, else the last line."""

from __future__ import annotations

import re
from typing import Final

from planloom.domain.patterns import pattern

_SEARCHED_LINES: Final = 60
_LONGEST: Final = 200
_FRAME: Final = "=-─━═*# \t"
"""What test runners draw around their last line."""
_COUNTS: Final = pattern(
    r"\b\d+ (?:tests? |examples? |specs? )?(?:passed|passing|failed|failing|failures?|errors?|problems?|warnings?)\b"
    r"|\bRan \d+ tests?\b|\bTests run: \d+|\bno (?:issues|problems|errors)\b|\ball checks passed\b"
    r"|\bbuild (?:success|failed|failure)",
    re.IGNORECASE,
)
_VERDICT: Final = pattern(r"(?:OK|FAILED)(?: \([^()]*\))?")


def outcome_line(output: str) -> str:
    """The last line with counts of tests or problems, else the last line that is not empty; empty without output."""
    lines = [line.strip(_FRAME) for line in output.rsplit("\n", _SEARCHED_LINES)[-_SEARCHED_LINES:]]
    lines = [line for line in lines if line]
    if not lines:
        return ""
    found = next((line for line in reversed(lines) if _COUNTS.search(line)), lines[-1])
    if found.startswith("Ran ") and _VERDICT.fullmatch(lines[-1]):
        found = f"{found}: {lines[-1]}"
    return found if len(found) <= _LONGEST else found[: _LONGEST - 1] + "…"
