"""The commands that an ended plan has run, with the outcome of each in words."""

from __future__ import annotations

from typing import NamedTuple

from planloom.domain.plans.plan import Plan
from planloom.domain.plans.report import ReportedCommand
from planloom.view.words import Words


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
