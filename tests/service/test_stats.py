"""The user's own figures of ended plans, and what they say of the next plan."""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from planloom.domain.plans.outcome import Ended, Outcome, forecast, prices_of, stats
from planloom.domain.plans.plan import ModelUse, Step, Usage
from planloom.domain.values import StepId
from planloom.models.offline.scripted import ScriptedModel, makes, says
from planloom.models.port import Capabilities
from planloom.settings import resolve
from planloom.storage.ledger import Ledger
from tests.service.test_model_work import allowed, planned
from tests.support.studio import studio

PRICES = prices_of(("local/a 1 1", "local/a 2.5 10", "other/b 9 9"))
SPENT = Usage(requests=2, prompt_tokens=100, completion_tokens=10)


def ended(**more: object) -> Outcome:
    use = ModelUse(model="local/a", usage=SPENT, seconds=6)
    fields = {"status": "completed", "author": "model", "steps": 2, "completed": 2, "model_steps": 2}
    return Outcome.model_validate({**fields, "usage": SPENT, "models": (use,), **more})


def steps(*kinds: str) -> list[Step]:
    return [
        Step.model_validate(
            {"step_id": StepId(f"s{n}"), "description": "x", "instruction": "x", "kind": kind}
        )
        for n, kind in enumerate(kinds)
    ]


def test_stats_count_plans_by_their_end() -> None:
    outcomes = [
        ended(),
        ended(status="failed", completed=1, reverted="part"),
        ended(models=(), author="rules"),
    ]
    times = [datetime(2030, 1, day, 23, 59, tzinfo=UTC) for day in (31, 30, 31)]
    found = stats(map(Ended, times, outcomes), PRICES)
    assert (found.plans, found.success, found.undone, found.steps) == (3, 66, 33, 5)
    assert found.authors == {"model": 2, "rules": 1}
    assert [(use.model, use.usage.requests, use.seconds) for use in found.models] == [("local/a", 4, 12)]
    assert found.costs == {"local/a": pytest.approx((200 * 2.5 + 20 * 10) / 1_000_000)}
    assert [(day.day, day.plans, day.completed) for day in found.days] == [
        ("2030-01-30", 1, 0),
        ("2030-01-31", 2, 2),
    ]
    assert found.days[1].costs == {"local/a": pytest.approx((100 * 2.5 + 10 * 10) / 1_000_000)}
    assert stats([], {}).success is None


def test_tokens_from_the_cache_cost_their_own_price_where_the_user_has_set_one() -> None:
    used = Usage(requests=1, prompt_tokens=1_000_000, completion_tokens=0, cached_tokens=800_000)
    prices = prices_of(("a/plain 2 8", "a/cached 2 8 0.5"))
    assert [prices[name].of(used) for name in ("a/plain", "a/cached")] == [2, pytest.approx(0.4 + 0.4)]
    plan = ended(models=(ModelUse(model="a/cached", usage=used, seconds=6),))
    found = forecast(steps("processing", "processing"), "a/cached", [plan], prices)
    assert found is not None and found.cost == pytest.approx(0.8)
    for text in ("a/b 1 2 3", "a/b 1 2"):
        assert resolve({"user": {"model.prices": [text]}}).settings.model.prices == (text,)
    for text in ("a/b 1", "a/b 1 2 3 4", "a/b 1 2 x"):
        assert resolve({"user": {"model.prices": [text]}}).problems


@pytest.mark.parametrize(
    ("earlier", "to_do", "seconds"),
    [
        ([ended(), ended()], ["processing"] * 4 + ["tool_call"], 12),
        ([ended()], ["processing"], 3),
        ([ended()], ["tool_call"], None),
        ([], ["processing"], None),
        ([ended(models=(ModelUse(model="other/b", usage=SPENT, seconds=9),))], ["processing"], None),
        ([ended(model_steps=0)], ["processing"], None),
    ],
)
def test_a_forecast_rests_on_plans_of_the_same_model(
    earlier: list[Outcome], to_do: list[str], seconds: int | None
) -> None:
    found = forecast(steps(*to_do), "local/a", earlier, PRICES)
    assert (found.seconds if found else None) == seconds
    if found is not None:
        assert found.cost == pytest.approx(
            (2.5 * found.prompt_tokens + 10 * found.completion_tokens) / 1_000_000
        )
        assert forecast(steps(*to_do), "local/a", earlier, {}) == found.model_copy(update={"cost": None})
        assert found.prompt_tokens == 50 * to_do.count("processing") and found.plans == len(earlier)


async def test_an_ended_plan_is_counted_and_counts_again_when_it_is_undone(tmp_path: Path) -> None:
    write = ("write_file", {"path": "a.txt", "content": "a\n"})
    ledger = tmp_path / "ledger.sqlite3"
    async with studio(tmp_path, ledger=ledger) as at:
        plan = await planned(at, "Write a note", ("Write it", "write a.txt"))
        at.model.model = ScriptedModel(
            [makes(write, ("task_completed", {"summary": "Done."}), prompt_tokens=40, completion_tokens=5)]
        )
        plan = await allowed(at, plan)
        assert plan.status == "completed"
        found = at.app.plans.stats()
        assert (found.plans, found.success, found.undone) == (1, 100, 0)
        (use,) = found.models
        assert use.usage == Usage(requests=1, prompt_tokens=40, completion_tokens=5)
        await at.app.plans.undo(plan.plan_id, None, False)
        assert at.app.plans.stats().undone == 100
        assert plan.created_at is not None
        after = plan.created_at + timedelta(microseconds=1)
        assert [at.app.plans.stats(*span).plans for span in ((plan.created_at, after), (after,))] == [1, 0]
        assert at.app.plans.stats(None, plan.created_at).plans == 0
    again = Ledger(ledger)
    assert [each.model_steps for each in again.outcomes()] == [1]
    again.close()


async def test_a_deleted_plan_leaves_no_figures(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.sqlite3"
    async with studio(tmp_path, ledger=ledger) as at:
        plan = await at.run("Create folder x")
        assert at.app.plans.stats().plans == 1
        await at.app.plans.delete(plan.plan_id)
        assert at.app.plans.stats().plans == 0
    with sqlite3.connect(ledger) as raw:
        assert raw.execute("SELECT count(*) FROM outcomes").fetchone() == (0,)
    raw.close()


async def test_a_draft_brings_a_forecast_from_earlier_plans_of_its_model(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.sqlite3")
    text = "---PLAN-START---\nSTEP 1: Write it\nDO: Write a.txt.\n---PLAN-END---"
    model = ScriptedModel([says(text), says(text)], capabilities=Capabilities())
    priced = {"model.prices": [f"{model.identity.label} 2 8"]}
    async with studio(tmp_path, model=model, ledger=ledger, settings=priced) as at:
        before = await at.ask("Write a note", mode="plan")
        assert before.models[0].model == model.identity.label and before.forecast is None
        use = ModelUse(model=model.identity.label, usage=SPENT, seconds=8)
        figures = ended(models=(use,)).model_dump_json()
        with sqlite3.connect(tmp_path / "ledger.sqlite3") as raw:
            raw.execute("INSERT INTO outcomes VALUES (?, ?)", (before.plan_id, figures))
        raw.close()
        plan = await at.ask("Write a second note", mode="plan")
        assert plan.forecast is not None
        assert (plan.forecast.seconds, plan.forecast.requests, plan.forecast.plans) == (4, 1, 1)
        assert plan.forecast.cost == pytest.approx((50 * 2 + 5 * 8) / 1_000_000)
        assert at.app.plans.stats().costs == {
            model.identity.label: pytest.approx((100 * 2 + 10 * 8) / 1_000_000)
        }
