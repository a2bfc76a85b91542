"""Weighs the recorded calls of a step against its wording: how well they support that the step is done."""

from __future__ import annotations

import re
from collections import Counter
from urllib.parse import unquote

from planloom.agent.task import Evidence
from planloom.domain.patterns import pattern
from planloom.domain.plans.agents import may_use
from planloom.domain.plans.plan import Step
from planloom.domain.safety.lexical_paths import normal_path
from planloom.execution.prompting.compaction import paths_in
from planloom.tools.registry import Registry

_WRITING = pattern(
    r"\b(?:write|create|add|implement|fix|change|update|edit|modify|refactor|rename|delete|remove|replace|append|"
    r"insert|generate|save|scaffold|set up|configure|convert|move|extract|rewrite|develop|introduce|migrate)\b",
    re.IGNORECASE,
)
_REMOVING = pattern(
    r"\b(?:delete|remove|rename|move|drop|merge|instead|no longer|without|not|don['’]t)\b", re.IGNORECASE
)
_PERCENT = pattern(r"(?<![\d.,%])(\d{1,3})(?:[.,]\d{1,3})?[ ]?%")
_LONGEST_PERCENT = 8
LEAST_RISE = 5
"""The least rise of a percentage in a command's output that is reported."""
_SEARCHED = 2_000
_MOST_FILES = 10


def should_write(step: Step, tools: Registry) -> bool:
    """Whether the step is meant to change files, by its expected files and tools, else by its wording.

    A literal call has done its own work before a model takes the step over.
    """
    if step.kind == "tool_call" or not may_use(step.agent, "write"):
        return False
    if step.expected_files:
        return True
    expected = [tools.get(each.tool) for each in step.tools_to_execute]
    if any(tool is not None and tool.writes for tool in expected):
        return True
    return _WRITING.search(_wording(step)) is not None


def files_to_write(step: Step) -> tuple[str, ...]:
    """The files that a step's wording names and that should exist after it."""
    wording = _wording(step)
    if _REMOVING.search(wording) is not None:
        return ()
    return tuple(path for path in paths_in(wording) if "/" in path and not path.endswith("/"))[:_MOST_FILES]


def has_written(step: Step, path: str) -> bool:
    """Whether a call of the step that stands has written the file at this path, or at one that ends with it."""
    written = [uri for call in step.tools_executed if call.stands for uri in call.files]
    ending = f"/{normal_path(path)}"
    return any(f"/{unquote(uri)}".endswith(ending) for uri in written)


def percent_done(step: Step) -> int | None:
    """How many of the files that a step expects it has written, or how many of the calls it has made, in percent.

    None if it expects fewer than two of either.
    """
    files = len(step.expected_files)
    if files > 1:
        return 100 * sum(has_written(step, path) for path in step.expected_files) // files
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


def _wording(step: Step) -> str:
    return f"{step.description}\n{step.instruction[:_SEARCHED]}"


def evidence_for(*, writes: bool, successes: int, effects: int, files_exist: bool) -> Evidence:
    """How much evidence there is that a step is done.

    `writes`: the step is meant to change files. `successes` and `effects` count calls. `files_exist`: the files
    that its wording names exist. A step that should write and has only read may have found nothing to change.
    """
    if not writes:
        return "worked" if successes > 0 else "doubtful"
    if effects > 0:
        return "worked" if files_exist else "doubtful"
    return "doubtful" if successes > 0 and files_exist else "idle"
