"""Renders what was used of models: requests, tokens, and money where the user has set prices."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from planloom.cli.client.messages import Json
from planloom.cli.plain import one_line
from planloom.domain.text.counted import counted


def spent_lines(spent: Json | None) -> Iterator[Text]:
    """A line on all that a plan has used; with several models, one for each, with its share of the tokens.

    None has no line.
    """
    if spent is None:
        return
    costs, uses = spent["costs"], spent["models"]
    used = [f"Used {counted(spent['usage']['requests'], 'request')}", *_tokens(spent["usage"])]
    names = uses[0]["model"] if len(uses) == 1 else ""
    line = f"{', '.join(used)}{_cost(sum(costs.values()) if costs else None)}"
    yield Text(f"{line}  {one_line(names, 80)}".rstrip(), "dim")
    whole = sum(_count(use) for use in uses)
    for use in uses if len(uses) > 1 else ():
        share = f"{round(100 * _count(use) / whole)} %" if whole else ""
        words = [counted(use["usage"]["requests"], "request"), *_tokens(use["usage"])]
        line = f"  {one_line(use['model'], 80)}: {', '.join(words)}{_cost(costs.get(use['model']))}"
        yield Text(f"{line}  {share}".rstrip(), "dim")


def _tokens(usage: Json) -> Iterator[str]:
    read, written, cached = usage["promptTokens"], usage["completionTokens"], usage.get("cachedTokens")
    if read or written:
        yield f"{read:,} tokens read" + (f" ({cached:,} from the cache)" if cached else "")
        yield f"{written:,} written"


def _cost(cost: float | None) -> str:
    return "" if cost is None else f"; {cost:,.4f} at your prices"


def _count(use: Json) -> int:
    usage = use["usage"]
    return int(usage["promptTokens"] + usage["completionTokens"])
