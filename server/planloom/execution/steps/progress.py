"""How far a step has come: by its expected files, its expected calls, or the percentages that a command prints."""

from __future__ import annotations

from collections import Counter
from urllib.parse import unquote

from planloom.domain.patterns import pattern
from planloom.domain.plans.plan import Step
from planloom.domain.safety.lexical_paths import normal_path

_PERCENT = pattern(r"(?<![\d.,%])(\d{1,3})(?:[.,]\d{1,3})?[ ]?%")
_LONGEST_PERCENT = 8
LEAST_RISE = 5
"""The least rise of a percentage in a command's output that is reported."""


def has_touched(step: Step, path: str) -> bool:
    """Whether a call of the step that stands has changed the file at this path, or at one that ends with it."""
    written = [uri for call in step.tools_executed if call.stands for uri in call.files]
    ending = f"/{normal_path(path)}"
    return any(f"/{unquote(uri)}".endswith(ending) for uri in written)


def percent_done(step: Step) -> int | None:
    """How many of the files that a step expects it has written, or how many of the calls it has made, in percent.

    None if it expects fewer than two of either.
    """
    files = len(step.expected_files)
    if files > 1:
        return 100 * sum(has_touched(step, path) for path in step.expected_files) // files
    expected = Counter(each.tool for each in step.tools_to_execute)
    made = Counter(call.tool for call in step.tools_executed[step.calls_closed :] if call.ok)
    if expected.total() < 2:
        return None
    return 100 * (expected & made).total() // expected.total()


class PercentReader:
    """Reads how far a command has come in its output, where that prints a rising percentage.

    One percentage alone says nothing, such as that of a coverage report; after one that falls no more are read.
    """

    def __init__(self) -> None:
        self._held = ""
        self._seen: int | None = None
        self._told = 0
        self._rising = True

    def feed(self, text: str) -> int | None:
        """Read more output. Returns the percentage if it has risen by at least `LEAST_RISE`."""
        if not self._rising:
            return None
        text = self._held + text
        percent, end = None, 0
        for found in _PERCENT.finditer(text):
            value, end = int(found[1]), found.end()
            self._rising = self._rising and value <= 100 and (self._seen is None or value >= self._seen)
            if self._rising and self._seen is not None and value > self._seen:
                percent = value
            self._seen = value
        self._held = text[max(end, len(text) - _LONGEST_PERCENT) :]
        if percent is None or not self._rising or percent < self._told + LEAST_RISE:
            return None
        self._told = percent
        return percent
