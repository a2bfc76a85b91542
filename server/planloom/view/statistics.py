"""The figures of all ended plans as a Markdown text: how plans went, and what they have used of models."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planloom.domain.plans.outcome import Spent, Stats
from planloom.domain.text.hidden_characters import visible
from planloom.view.states import status_words
from planloom.view.words import Words


def statistics(stats: Stats, t: Words) -> str:
    """The figures in a few words, then by model, and by day with the last one first."""
    parts = list(_parts(stats, t)) if stats.plans else [t("No plan has ended yet.")]
    kept = t("Counted from the plans on this machine, of all folders. These figures are sent nowhere.")
    return "\n\n".join((f"# {t('Statistics')}", *parts, kept)) + "\n"


def _parts(stats: Stats, t: Words) -> Iterator[str]:
    plans = t.plural(stats.plans, "1 plan", "{0} plans")
    lines = [f"- {plans}, {t.plural(stats.steps, '1 step done', '{0} steps done')}"]
    for status, count in stats.statuses.items():
        share = t("{0} %", round(100 * count / stats.plans))
        lines.append(f"- {status_words(status, t)}: {t.number(count)} ({share})")
    lines.append(f"- {t('Undone, whole or in part: {0}', t('{0} %', stats.undone or 0))}")
    yield "\n".join(lines)
    models = [
        _row(
            (use.model,),
            Spent(
                usage=use.usage,
                models=(use,),
                costs={name: cost for name, cost in stats.costs.items() if name == use.model},
            ),
            t,
        )
        for use in stats.models
    ]
    yield _table((t("Model"),), (_row((t("All models"),), stats, t), *models), t)
    days = [_row((day.day, t.number(day.plans), t.number(day.completed)), day, t) for day in stats.days]
    yield _table((t("Day"), t("Plans"), t("Completed")), days[::-1], t)
    if not stats.costs:
        yield t("The setting planloom.model.prices says what your models cost.")


def _row(names: Sequence[str], spent: Spent, t: Words) -> Sequence[str]:
    """What was used, after the cells that name it."""
    used = spent.usage
    counts = (used.requests, used.prompt_tokens, used.completion_tokens, used.cached_tokens or 0)
    waited = t.duration(1000 * sum(use.seconds for use in spent.models))
    cost = t.money(sum(spent.costs.values())) if spent.costs else ""
    return (*(visible(name).replace("|", "¦") for name in names), *map(t.number, counts), waited, cost)


def _table(names: Sequence[str], rows: Sequence[Sequence[str]], t: Words) -> str:
    used = (t("Requests"), t("Tokens read"), t("Tokens written"), t("From the cache"), t("Waited"), t("Cost"))
    head = (*names, *used)
    rule = ("---", *("---:" for _ in head[1:]))
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, rule, *rows))
