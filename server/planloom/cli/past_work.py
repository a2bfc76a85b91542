"""The commands on all earlier plans together: their figures, and what they found and did."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from planloom.cli.answers import print_json
from planloom.cli.client.messages import Json
from planloom.cli.client.session import Session
from planloom.cli.exit_codes import DONE, FAILED
from planloom.cli.plain import one_line
from planloom.cli.terminal import show
from planloom.domain.text.counted import counted

_ALL = 200
_WHOLE_ID = 32


async def show_stats(running: Session, args: Namespace) -> int:
    """Print the figures of the plans that have ended, of the last days if their number is given."""
    days = args.days
    span = {} if days is None else {"since": (datetime.now(UTC) - timedelta(days=days)).isoformat()}
    stats = await running.request("planloom/stats", span)
    if args.json:
        return print_json(stats)
    if not stats["plans"]:
        show.say("No plan has ended yet." if days is None else "No plan of these days has ended.")
        return DONE
    show.say("\n".join(_figures(stats)))
    if stats["models"]:
        show.console().print(_models(stats["models"], stats["costs"]))
    return DONE


def _figures(stats: Json) -> list[str]:
    ended = ", ".join(f"{count} {status}" for status, count in sorted(stats["statuses"].items()))
    used = stats["usage"]
    tokens = f"{used['promptTokens']:,} tokens read, {used['completionTokens']:,} written"
    return [
        f"{counted(stats['plans'], 'plan')}: {ended}; {stats['success']} % completed, {stats['undone']} % undone",
        f"{counted(stats['steps'], 'step')} done; {counted(used['requests'], 'request')} to models, {tokens}",
    ]


def _models(uses: Sequence[Json], costs: Json) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    table.add_column("Model")
    for heading in ("Requests", "Read", "Written", "Waited for", *(("Cost",) if costs else ())):
        table.add_column(heading, justify="right")
    for use in uses:
        used, cost = use["usage"], costs.get(use["model"])
        table.add_row(
            one_line(use["model"], 80),
            *(f"{used[each]:,}" for each in ("requests", "promptTokens", "completionTokens")),
            f"{use['seconds']:,.0f} s",
            *(("" if cost is None else f"{cost:,.4f}",) if costs else ()),
        )
    return table


async def show_memory(running: Session, args: Namespace) -> int:
    """Print the entries that share a word with those given, else the newest; or delete some."""
    if args.forget is not None or args.forget_all:
        return await _forget(running, args.forget)
    found = await running.request("planloom/memory/search", {"words": " ".join(args.words)})
    if args.json:
        return print_json(found)
    if not found["entries"]:
        more = " with these words." if args.words else "."
        show.say(f"Nothing is kept of earlier plans of this folder{more}")
    for entry in found["entries"]:
        _print_entry(show.console(), entry)
    return DONE


async def _forget(running: Session, plan: str | None) -> int:
    """Delete the entry of the plan whose id begins so, or all of this folder for None."""
    params: Json = {}
    if plan is not None:
        found = await running.request("planloom/memory/search", {"limit": _ALL})
        ids = [each["planId"] for each in found["entries"] if each["planId"].startswith(plan)]
        if len(plan) >= _WHOLE_ID:
            # It may be older than those that are listed.
            ids = [plan]
        if not plan or len(ids) != 1:
            what = "Nothing is kept of a plan" if not ids else "There are several plans"
            show.say(f"{what} whose id begins with {one_line(plan, 40)}.", stderr=True)
            return FAILED
        params["planId"] = ids[0]
    answer = await running.request("planloom/memory/forget", params)
    show.say(f"Forgotten: what was kept of {counted(answer['forgotten'], 'plan')}.")
    return DONE


def _print_entry(console: Console, entry: Json) -> None:
    at, status = entry["at"][:10], entry["status"].replace("_", " ")
    heading = f"{entry['planId'][:8]}  {at}  {status}  {one_line(entry['request'], 200)}"
    console.print(Text(heading, style="bold"))
    for line in (*entry["decisions"], *entry["findings"]):
        console.print(Padding(Text(one_line(line, 400)), (0, 0, 0, 2)))
    if entry["files"]:
        console.print(Padding(Text(one_line(", ".join(entry["files"]), 400), style="dim"), (0, 0, 0, 2)))
