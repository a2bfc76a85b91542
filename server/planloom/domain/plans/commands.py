"""Commands of a plan: how far one has come, how it ended and whether it succeeded, and those in the background."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, Literal

from planloom.domain.patterns import pattern
from planloom.domain.safety.command_needs import Lack
from planloom.domain.values import Args, StepId, Value

if TYPE_CHECKING:
    from planloom.domain.plans.plan import Plan

_SEARCHED_LINES: Final = 60
_LONGEST: Final = 200
_FRAME: Final = "=-─━═*#ℹ \t"
"""The characters that test runners draw around their last line."""
_COUNTS: Final = pattern(
    r"\b\d+ (?:tests? |examples? |specs? )?(?:passed|passing|failed|failing|failures?|errors?|problems?|warnings?)\b"
    r"|\bRan \d+ tests?\b|\bTests run: \d+|\bno (?:issues|problems|errors)\b|\ball checks passed\b"
    r"|\bbuild (?:success|failed|failure)",
    re.IGNORECASE,
)
_VERDICT: Final = pattern(r"(?:OK|FAILED)(?: \([^()]*\))?")
_FAILURES: Final = pattern(
    r"(?i:\b0*[1-9]\d* (?:tests? |examples? |specs? )?(?:failed|failing|failures?|errors?)\b"
    r"|(?<!expected )\b(?:failures?|errors?|failed|failing)[:=] *0*[1-9]|^fail 0*[1-9]\d*$)"
    r"|\b(?:FAIL|FAILED|FAILURE)\b"
)
_WORD: Final = pattern(r"[^\W\d_]+")
_OUTCOME_WORDS: Final = """
a an and are in of ok out ran run runs s ms m sec secs second seconds time elapsed duration took with total
result results summary info test tests suite suites files file example examples spec specs subtests snapshots
assertions todo passed passing pass failed failing fail fails failure failures error errors problem problems
warning warnings informations found checked source skipped skips skip pending ignored measured filtered
finished completed executed deselected xfailed xpassed rerun reruns expected unexpected successes build flaky
cancelled
"""
"""The words that lines of outcomes are made of."""
_KNOWN: Final = frozenset(_OUTCOME_WORDS.split())
_PERCENT = pattern(r"(?<![\d.,%])(\d{1,3})(?:[.,]\d{1,3})?[ ]?%")
_LONGEST_PERCENT = 8
LEAST_RISE = 5
"""The least rise of a percentage in a command's output that is reported."""


class CommandOutcome(Value):
    """How a command ended: its exit code, None if it did not end by itself, and the outcome line of its output.

    `lacked` is what it did not get and seems to have failed for want of. Older ledgers have `lacked_network` instead.
    """

    exit_code: int | None = None
    line: str = ""
    lacked: Lack | None = None
    lacked_network: bool = False

    @property
    def lack(self) -> Lack | None:
        """The permissions that it seems to have failed without."""
        return Lack(kind="network") if self.lacked_network else self.lacked

    @property
    def succeeded(self) -> bool:
        """Whether it ended with exit code 0, and its output states no failures: `|| true` and `; echo` hide them."""
        return self.exit_code == 0 and not _states_failures(self.line)

    @property
    def is_telling(self) -> bool:
        """Whether its line states an outcome, such as the counts of a test run."""
        return _is_outcome(self.line)


def outcome_line(output: str) -> str:
    """The last line that states failures, else the last with counts of tests or problems, else the last that is not
    empty; empty without output.
    """
    lines = [line.strip(_FRAME) for line in output.rsplit("\n", _SEARCHED_LINES)[-_SEARCHED_LINES:]]
    lines = [line for line in lines if line]
    if not lines:
        return ""
    # Of several runs one may have failed. A bare verdict says less than counts.
    failing = sorted(filter(_states_failures, lines), key=lambda line: _COUNTS.search(line) is not None)
    counted = [line for line in lines if _COUNTS.search(line)]
    found = (failing or counted or lines)[-1]
    verdict = found if failing else lines[-1]
    if counted and counted[-1].startswith("Ran ") and _VERDICT.fullmatch(verdict):
        found = f"{counted[-1]}: {verdict}"
    return found if len(found) <= _LONGEST else found[: _LONGEST - 1] + "…"


def _states_failures(line: str) -> bool:
    return _FAILURES.search(line) is not None and _is_outcome(line)


def _is_outcome(line: str) -> bool:
    """Whether a line has only counts and verdicts. A sentence that mentions some is no outcome."""
    words = _WORD.findall(line.lower())
    is_counted = _COUNTS.search(line) or _FAILURES.search(line) or _VERDICT.fullmatch(line)
    return bool(is_counted) and _KNOWN.issuperset(words)


BackgroundReason = Literal["exit", "stopped", "time_limit", "plan_ended", "server_ended", "crash"]
"""Why a background command ended. `exit`: by itself. `server_ended`: stopped when the server was shut down.
`crash`: it ran when the server died, so its end was not seen; `line` says what became of its process.
"""


class BackgroundEnd(Value):
    """How a background command ended: its exit code, None unless it ended by itself, and a line that says so."""

    reason: BackgroundReason
    exit_code: int | None = None
    line: str = ""


class CommandProcess(Value):
    """The process of a command. `pid` is also the id of its process group. `stamp` tells it from a later one with the
    same id; None where the system does not say.
    """

    pid: int
    stamp: str | None = None


class BackgroundCommand(Value):
    """A command in the background. `end` is None while it runs.

    `command_id` is unique in the plan. `pid` is also the id of its process group. `process` tells the process from a
    later one with the same id; None where the system does not say.
    """

    command_id: str
    command: str
    pid: int
    process: str | None = None
    end: BackgroundEnd | None = None

    @property
    def state(self) -> str:
        """The state in a few words."""
        if self.end is None:
            return "running"
        if self.end.exit_code is None:
            return self.end.line
        code = f"ended with exit code {self.end.exit_code}"
        return f"{code}: {self.end.line}" if self.end.line else code


def background_calls(plan: Plan) -> Iterator[tuple[StepId, Args, BackgroundCommand]]:
    """The background commands, each with its step and the arguments of its call; those of open calls come last."""
    for step in plan.steps:
        for call in step.tools_executed:
            if call.background is not None:
                yield step.step_id, call.args, call.background
    for opened in plan.open_calls:
        if opened.background is not None:
            yield opened.step_id, opened.args, opened.background


def running_in_background(plan: Plan) -> tuple[tuple[StepId, BackgroundCommand], ...]:
    """The background commands that have not ended, each with its step."""
    return tuple((step_id, command) for step_id, _, command in background_calls(plan) if command.end is None)


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
