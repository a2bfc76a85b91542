"""The figures of all plans are a text with a table by model and one by day."""

from __future__ import annotations

from planloom.domain.plans.outcome import DayStats, Stats
from planloom.domain.plans.plan import ModelUse, Usage
from planloom.view.statistics import statistics
from planloom.view.words import Words

USAGE = Usage(requests=4, prompt_tokens=9_000, completion_tokens=1_000, cached_tokens=6_000)
ONE = ModelUse(model="openai/a|b\u200b", usage=USAGE, seconds=12.5)
OTHER = ModelUse(model="ollama/c", usage=Usage(requests=1))
COSTS = {ONE.model: 0.0231}


def day(name: str, plans: int, completed: int) -> DayStats:
    return DayStats(day=name, plans=plans, completed=completed, usage=USAGE, models=(ONE,), costs=COSTS)


STATS = Stats(
    plans=5,
    statuses={"completed": 4, "failed": 1},
    authors={"model": 5},
    steps=12,
    success=80,
    undone=20,
    usage=USAGE,
    models=(ONE, OTHER),
    costs=COSTS,
    days=(day("2030-01-02", 2, 1), day("2030-01-31", 3, 3)),
)


def test_the_figures_are_tables_in_which_a_models_name_stays_in_its_cell() -> None:
    assert (
        statistics(STATS, Words())
        == """# Statistics

- 5 plans, 12 steps done
- Done: 4 (80 %)
- Failed: 1 (20 %)
- Undone, whole or in part: 20 %

| Model | Requests | Tokens read | Tokens written | From the cache | Waited | Cost |
| --- | ---: | ---: | ---: | ---: | ---: | ---: |
| All models | 4 | 9,000 | 1,000 | 6,000 | 12 s | 0.0231 |
| openai/a¦b<U+200B> | 4 | 9,000 | 1,000 | 6,000 | 12 s | 0.0231 |
| ollama/c | 1 | 0 | 0 | 0 | 0 ms |  |

| Day | Plans | Completed | Requests | Tokens read | Tokens written | From the cache | Waited | Cost |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
| 2030-01-31 | 3 | 3 | 4 | 9,000 | 1,000 | 6,000 | 12 s | 0.0231 |
| 2030-01-02 | 2 | 1 | 4 | 9,000 | 1,000 | 6,000 | 12 s | 0.0231 |

Counted from the plans on this machine, of all folders. These figures are sent nowhere.
"""
    )


def test_without_a_price_the_text_names_the_setting_and_without_plans_it_says_so() -> None:
    unpriced = STATS.model_copy(update={"costs": {}, "days": ()})
    assert "planloom.model.prices" in statistics(unpriced, Words())
    assert "Noch ist kein Plan zu Ende." in statistics(Stats(), Words("de"))
