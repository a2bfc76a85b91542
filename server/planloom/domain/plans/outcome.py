"""The record of an ended plan for the user's figures, their sums over plans, and the forecast of the next plan."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from pydantic import Field

from planloom.domain.plans.plan import (
    Author,
    Forecast,
    ModelUse,
    Plan,
    PlanStatus,
    Reverted,
    Step,
    Usage,
    taken_back,
)
from planloom.domain.values import Instant, Value

_COUNTED = ("completed", "failed", "cancelled", "rejected")
"""The statuses of plans that have ended."""
RECENT = 200
"""How many of the newest plans are looked at for a forecast; it rests on those of the same model, at most `_NEWEST`."""
_NEWEST = 50


class Outcome(Value):
    """An ended plan in figures. `model_steps` counts the completed steps on which a model worked."""

    status: PlanStatus
    author: Author
    steps: int
    completed: int
    model_steps: int
    usage: Usage
    models: tuple[ModelUse, ...] = ()
    reverted: Reverted | None = None


class Ended(NamedTuple):
    """An ended plan in figures, with the time of its creation in the time zone in which days are counted."""

    created_at: Instant
    outcome: Outcome


class Price(NamedTuple):
    """The price of a model per million tokens that it reads and writes, in the user's currency.

    `cached` is the price of those that it reads from its server's cache, None for that of all others.
    """

    read: float
    written: float
    cached: float | None = None

    def of(self, usage: Usage) -> float:
        """The cost of this usage."""
        cached = self.read if self.cached is None else self.cached
        read = self.read * (usage.prompt_tokens - usage.cached_tokens) + cached * usage.cached_tokens
        return (read + self.written * usage.completion_tokens) / 1_000_000


Prices = Mapping[str, Price]
"""Prices by model, named `provider/name`."""


def prices_of(texts: Iterable[str]) -> Prices:
    """The prices in the form of the setting `model.prices`; of two of one model the later."""
    rows = (text.split(" ") for text in texts)
    return {model: Price(*map(float, prices)) for model, *prices in rows}


class Spent(Value):
    """The use of models, in all and by model, and the `costs` of those models that have a price.

    `context_tokens` is how many tokens the model takes at a time, None if nobody says so.
    `usage` may exceed the sum of `models`: ledgers of older versions do not name every model.
    """

    usage: Usage = Usage()
    models: tuple[ModelUse, ...] = ()
    costs: dict[str, float] = Field(default_factory=dict)
    context_tokens: int | None = None


class DayStats(Spent):
    """The figures of the plans that were created on a day, `2030-01-31`, and have ended."""

    day: str
    plans: int
    completed: int


class Stats(Spent):
    """The figures of many plans. `success` and `undone` are percentages of the ended ones, None without any.

    `days` are those with plans, the earliest first.
    """

    plans: int = 0
    statuses: dict[PlanStatus, int] = Field(default_factory=dict)
    authors: dict[Author, int] = Field(default_factory=dict)
    steps: int = 0
    success: int | None = None
    undone: int | None = None
    days: tuple[DayStats, ...] = ()


def outcome(plan: Plan) -> Outcome | None:
    """The figures of a plan; None if it has not ended."""
    if plan.status not in _COUNTED:
        return None
    worked = [step for step in plan.steps if step.usage is not None and step.status == "completed"]
    return Outcome(
        status=plan.status,
        author=plan.author,
        steps=len(plan.steps),
        completed=sum(step.status == "completed" for step in plan.steps),
        model_steps=len(worked),
        usage=plan.usage,
        models=plan.models,
        reverted=taken_back(plan),
    )


def spent(plan: Plan, prices: Prices, context_tokens: int | None = None) -> Spent:
    """The use of models by a plan so far."""
    costs = _costs(plan.models, prices)
    return Spent(usage=plan.usage, models=plan.models, costs=costs, context_tokens=context_tokens)


def _costs(uses: Iterable[ModelUse], prices: Prices) -> dict[str, float]:
    return {use.model: prices[use.model].of(use.usage) for use in uses if use.model in prices}


def stats(ended: Iterable[Ended], prices: Prices) -> Stats:
    """The figures of these plans together, and by the days on which they were created."""
    plans = tuple(ended)
    if not plans:
        return Stats()
    outcomes = [each.outcome for each in plans]
    statuses = Counter(each.status for each in outcomes)
    by_day: dict[str, list[Outcome]] = {}
    for each in sorted(plans, key=lambda plan: plan.created_at):
        by_day.setdefault(each.created_at.date().isoformat(), []).append(each.outcome)
    return Stats(
        plans=len(plans),
        statuses=dict(statuses),
        authors=dict(Counter(each.author for each in outcomes)),
        steps=sum(each.completed for each in outcomes),
        success=100 * statuses["completed"] // len(plans),
        undone=100 * sum(each.reverted is not None for each in outcomes) // len(plans),
        days=tuple(
            DayStats(
                day=day,
                plans=len(those),
                completed=sum(each.status == "completed" for each in those),
                **_used(those, prices),
            )
            for day, those in by_day.items()
        ),
        **_used(outcomes, prices),
    )


def _used(outcomes: Iterable[Outcome], prices: Prices) -> dict[str, Any]:
    """The use by all these plans, as the fields of `Spent`; the model with the most requests comes first."""
    usage, uses = Usage(), dict[str, ModelUse]()
    for each in outcomes:
        usage = usage.plus(each.usage)
        for use in each.models:
            uses[use.model] = uses.get(use.model, ModelUse(model=use.model)).plus(use.usage, use.seconds)
    models = tuple(sorted(uses.values(), key=lambda use: -use.usage.requests))
    return {"usage": usage, "models": models, "costs": _costs(models, prices)}


def forecast(
    steps: Sequence[Step], model: str, newest_first: Iterable[Outcome], prices: Prices
) -> Forecast | None:
    """The forecast of a model's use by these steps; None without work for it, or without a plan of that model alone."""
    to_do = sum(step.kind == "processing" for step in steps)
    known = [
        each
        for each in newest_first
        if each.model_steps and [use.model for use in each.models] == [model] and each.models[0].seconds
    ][:_NEWEST]
    worked = sum(each.model_steps for each in known)
    if not to_do or not worked:
        return None

    def share(total: float) -> int:
        return round(total * to_do / worked)

    usage = Usage(
        requests=share(sum(each.models[0].usage.requests for each in known)),
        prompt_tokens=share(sum(each.models[0].usage.prompt_tokens for each in known)),
        completion_tokens=share(sum(each.models[0].usage.completion_tokens for each in known)),
        cached_tokens=share(sum(each.models[0].usage.cached_tokens for each in known)),
    )
    return Forecast(
        plans=len(known),
        seconds=share(sum(each.models[0].seconds for each in known)),
        requests=usage.requests,
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
        cost=prices[model].of(usage) if model in prices else None,
    )
