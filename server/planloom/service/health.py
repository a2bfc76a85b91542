"""Notifies listeners of problems with the ledger, once for each cause."""

from __future__ import annotations

from collections.abc import Callable

from planloom.domain.errors import OwnedElsewhere, PlanloomError
from planloom.domain.values import PlanId
from planloom.service.feed import Feed
from planloom.service.requests import Health

PASSED = "The plan ledger can be written again. Plans that were stopped are paused: resume them to continue."


class HealthWatch:
    """Reports problems that are new since the last report, and when all have passed."""

    def __init__(self, feed: Feed, now: Callable[[], Health]) -> None:
        self._feed = feed
        self._now = now
        self._reported = Health()

    def look(self) -> None:
        """Report what has changed."""
        before, now = self._reported, self._now()
        if now == before:
            return
        self._reported = now
        for problem in now.problems:
            if problem not in before.problems:
                self._feed.notice("error", problem)
        if not now.problems:
            self._feed.notice("info", PASSED)
        self._feed.health(now)

    def stopped(self, plan_id: PlanId, error: PlanloomError) -> None:
        """Report a plan that was stopped, unless a ledger fault is the cause, which `look` reports."""
        if isinstance(error, OwnedElsewhere):
            self._feed.notice("warning", f"The plan {plan_id} was stopped here. {error.message}")
        elif not self._now().problems:
            self._feed.notice("warning", f"The plan {plan_id} was stopped. {error.message}")
