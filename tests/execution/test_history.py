"""Reading the events of a plan page by page: each is read from the ledger once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from planloom.domain.events import catalog as ev
from planloom.domain.values import PlanId
from planloom.storage.ledger import Ledger
from tests.support.studio import studio


class CountingLedger(Ledger):
    """A ledger that counts the events that are read from it."""

    reads = 0

    def events(self, plan_id: PlanId, after: int = 0, limit: int | None = None) -> Iterator[ev.Recorded]:
        for recorded in super().events(plan_id, after, limit):
            self.reads += 1
            yield recorded


async def test_pages_of_events_cost_their_own_events_and_are_those_of_the_whole(tmp_path: Path) -> None:
    ledger = CountingLedger(tmp_path / "ledger.db")
    async with studio(tmp_path, ledger=ledger) as at:
        plan = await at.run("\n".join(f"{number}. Create folder made{number}" for number in range(1, 9)))
        whole = at.app.plans.events(plan.plan_id, 0, None)
        ledger.reads = 0
        pages: list[tuple[ev.Recorded, object]] = []
        while page := at.app.plans.events(plan.plan_id, len(pages), 7):
            pages += page
        assert tuple(pages) == whole
        assert ledger.reads == len(whole)
        # A page from the middle, which no reader has come to by pages, is read from the start.
        assert at.app.plans.events(plan.plan_id, 11, 3) == whole[11:14]
