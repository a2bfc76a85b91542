"""The planner with three reports, by itself: its limits and how it is closed."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from datetime import UTC, datetime

import pytest

from planloom.models.offline.scripted import ScriptedModel, Turn, fails, makes
from planloom.planning.investigations.draft_investigations import DraftInvestigations, InvestigationOptions
from planloom.planning.perspectives.planner import PerspectivesPlanner
from planloom.planning.port import PerspectiveReported, PlannerEvent, PlanningRequest
from planloom.tools.registry import builtin

NO_REPORT = makes(("report", {}), prompt_tokens=90, completion_tokens=20, repeat=True)


class NoSynthesis:
    """Writes no plan."""

    async def draft(self, request: PlanningRequest) -> AsyncGenerator[PlannerEvent, None]:
        for each in ():
            yield each


def planner(turn: Turn, options: InvestigationOptions) -> PerspectivesPlanner:
    investigations = DraftInvestigations(
        ScriptedModel([turn]),
        builtin(),
        lambda: None,  # type: ignore[arg-type, return-value]
        options,
    )
    return PerspectivesPlanner(investigations, NoSynthesis(), lambda: datetime(2026, 1, 1, tzinfo=UTC))


@pytest.mark.parametrize(
    ("options", "setting"),
    [
        (InvestigationOptions(requests=2), "budget.maxRequests"),
        (InvestigationOptions(tokens=200), "budget.maxTokens"),
    ],
)
async def test_all_reports_together_stay_within_the_budget(
    options: InvestigationOptions, setting: str
) -> None:
    drafted = planner(NO_REPORT, options).draft(PlanningRequest(text="Change it"))
    seen = [event async for event in drafted if isinstance(event, PerspectiveReported)]
    assert [event.perspective for event in seen] == [None, None, None]
    assert all(setting in (event.error or "") for event in seen[1:])


async def test_the_error_of_its_reader_closes_a_draft() -> None:
    """Recording an event may fail while agents still work in parallel."""
    drafted = planner(fails("hang", repeat=True), InvestigationOptions(seconds=60)).draft(
        PlanningRequest(text="Change it")
    )
    with pytest.raises(OSError, match="the disk is full"):
        async with aclosing(drafted) as events:
            async for _ in events:
                raise OSError("the disk is full")
