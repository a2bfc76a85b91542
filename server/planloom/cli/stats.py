"""Shows the figures of all plans of this user. The function returns an exit code."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from rich import box
from rich.table import Table
from rich.text import Text

from planloom.cli.client.messages import Json
from planloom.cli.client.server_process import Server
from planloom.cli.exit_codes import DONE
from planloom.cli.failures import Failure
from planloom.cli.history import answering, print_json
from planloom.cli.plain import one_line
from planloom.cli.terminal import show
from planloom.domain.text.counted import counted


async def show_stats(server: Server, *, folders: Sequence[Path], days: int | None, as_json: bool) -> int:
    """Print the figures of the plans that have ended, of the last `days` if given, or the answer as JSON."""
    failure = Failure()
    span = {} if days is None else {"since": (datetime.now(UTC) - timedelta(days=days)).isoformat()}
    async with answering(server, folders, failure) as running:
        stats = await running.connection.request("planloom/stats", span)
        if as_json:
            print_json(stats)
            return DONE
        console = show.console()
        if not stats["plans"]:
            console.print(
                Text("No plan has ended yet." if days is None else "No plan of these days has ended.")
            )
            return DONE
        console.print(Text("\n".join(_lines(stats))))
        if stats["models"]:
            console.print(_models(stats["models"], stats["costs"]))
    return failure.code


def _lines(stats: Json) -> list[str]:
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
        used = use["usage"]
        numbers = (used["requests"], used["promptTokens"], used["completionTokens"])
        name = one_line(use["model"], 80)
        cost = costs.get(use["model"])
        table.add_row(
            name,
            *(f"{number:,}" for number in numbers),
            f"{use['seconds']:,.0f} s",
            *(("" if cost is None else f"{cost:,.4f}",) if costs else ()),
        )
    return table
