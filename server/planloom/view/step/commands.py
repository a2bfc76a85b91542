"""The commands of plans in words: the outcome of each, and of a test run, as far as its output shows it.

Read are pytest, jest, vitest, cargo test and go test.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from planloom.domain.patterns import pattern
from planloom.domain.plans.plan import Plan
from planloom.domain.plans.report import ReportedCommand
from planloom.view.words import Words

_SHOWN: Final = 10


class RanCommand(NamedTuple):
    """A command and the outcome of its last run.

    `good` is None if it did not end by itself: it need not have failed.
    """

    command: str
    good: bool | None
    words: str


def commands(plan: Plan, t: Words) -> tuple[RanCommand, ...]:
    """The commands in the report of a plan."""
    ran = () if plan.report is None else plan.report.commands
    return tuple(RanCommand(each.command, _good(each), _words(each, t)) for each in ran)


def _good(ran: ReportedCommand) -> bool | None:
    return None if ran.exit_code is None else ran.exit_code == 0 and not ran.failed


def _words(ran: ReportedCommand, t: Words) -> str:
    found = []
    if ran.exit_code:
        found.append(t("exit code {0}", ran.exit_code))
    found.append(ran.outcome)
    if ran.runs > 1:
        found.append(t.plural(ran.runs, "run once", "run {0} times"))
    if ran.failed_before:
        found.append(t.plural(ran.failed_before, "failed once before", "failed {0} times before"))
    found.append(ran.confinement or "")
    return " · ".join(filter(None, found))


class RanTests(NamedTuple):
    """How a test run went, in words. `failures` names the tests that failed, `more` says how many it leaves out."""

    words: str
    good: bool
    failures: tuple[str, ...]
    more: str | None


class Counts(NamedTuple):
    """How many tests had each outcome, and the names of those that failed, in the order of the output."""

    passed: int
    failed: int
    skipped: int
    failures: tuple[str, ...]


class _Runner(NamedTuple):
    """How a runner prints: the line with its `totals`, the counts in it, and a line that names a failed test.

    The last line with totals counts, or `each` of them where every package has its own.
    """

    totals: re.Pattern[str]
    passed: re.Pattern[str]
    failed: re.Pattern[str]
    skipped: re.Pattern[str]
    failure: re.Pattern[str]
    each: bool = False


_PASSED: Final = pattern(r"(\d+) passed")
_FAILED: Final = pattern(r"(\d+) failed")
_RUNNERS: Final = (
    # pytest: === 1 failed, 2 passed, 1 skipped in 0.12s ===
    _Runner(
        totals=pattern(
            r"=* ?(?:\d+ (?:failed|passed|skipped|errors?|xfailed|xpassed|deselected|warnings?|rerun)(?:, )?)+"
            r" in [\d.]+s(?: \([\d:]+\))? ?=*"
        ),
        passed=_PASSED,
        failed=pattern(r"(\d+) (?:failed|errors?)"),
        skipped=pattern(r"(\d+) skipped"),
        failure=pattern(r"(?:FAILED|ERROR) (.+?)(?: - .*)?"),
    ),
    # jest: Tests:  1 failed, 1 skipped, 2 passed, 4 total
    _Runner(
        totals=pattern(r"Tests: +.*\d+ total"),
        passed=_PASSED,
        failed=_FAILED,
        skipped=pattern(r"(\d+) (?:skipped|todo)"),
        failure=pattern(r" *● (.+ › .+)"),
    ),
    # vitest: Tests  1 failed | 2 passed (3)
    _Runner(
        totals=pattern(r" *Tests +\d+ (?:failed|passed|skipped|todo).*\(\d+\)"),
        passed=_PASSED,
        failed=_FAILED,
        skipped=pattern(r"(\d+) (?:skipped|todo)"),
        failure=pattern(r" *FAIL +(.+ > .+)"),
    ),
    # cargo: test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out
    _Runner(
        totals=pattern(r"test result: (?:ok|FAILED)\. \d+ passed; \d+ failed; \d+ ignored;.*"),
        passed=_PASSED,
        failed=_FAILED,
        skipped=pattern(r"(\d+) ignored"),
        failure=pattern(r"test (\S+) \.\.\. FAILED"),
        each=True,
    ),
)
_GO_END: Final = pattern(r"(?:ok|FAIL|---|\?) *\t\S+(?:\t.*)?")
_GO_TEST: Final = pattern(r" *--- (PASS|FAIL|SKIP): (\S+) \([\d.]+s\)")


def ran_tests(output: str, t: Words) -> RanTests | None:
    """How the tests went whose run has printed this; None if it is not surely a test run."""
    found = counts(output)
    if found is None:
        return None
    outcomes = [t("{0} passed", found.passed)]
    if found.failed:
        outcomes.insert(0, t("{0} failed", found.failed))
    if found.skipped:
        outcomes.append(t("{0} skipped", found.skipped))
    left = len(found.failures) - _SHOWN
    return RanTests(
        t("Tests: {0}", t.list(outcomes)),
        not found.failed,
        found.failures[:_SHOWN],
        t("and {0} more", left) if left > 0 else None,
    )


def counts(output: str) -> Counts | None:
    """The counts of a test run; None if the output is not surely one."""
    lines = [line.rstrip() for line in output.split("\n")]
    for runner in _RUNNERS:
        totals = [line for line in lines if runner.totals.fullmatch(line)]
        if totals:
            counted = totals if runner.each else totals[-1:]
            passed, failed, skipped = (
                _sum(counted, each) for each in (runner.passed, runner.failed, runner.skipped)
            )
            return Counts(passed, failed, skipped, _names(map(runner.failure.fullmatch, lines), 1))
    return _of_go(lines)


def _of_go(lines: Sequence[str]) -> Counts | None:
    """`go test` counts nothing; with `-v`, or where tests fail, it names each. Its last line identifies it."""
    found = [match for match in map(_GO_TEST.fullmatch, lines) if match is not None]
    if not found or not any(map(_GO_END.fullmatch, lines)):
        return None
    outcomes = [match[1] for match in found]
    failures = _names((match for match in found if match[1] == "FAIL"), 2)
    return Counts(outcomes.count("PASS"), outcomes.count("FAIL"), outcomes.count("SKIP"), failures)


def _sum(lines: Iterable[str], count: re.Pattern[str]) -> int:
    return sum(int(found) for line in lines for found in count.findall(line))


def _names(matches: Iterable[re.Match[str] | None], group: int) -> tuple[str, ...]:
    """The names that were found, each once."""
    return tuple(dict.fromkeys(match[group] for match in matches if match is not None))
