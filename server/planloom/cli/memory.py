"""Shows and deletes what earlier plans of a folder found and did. Each function returns an exit code."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from planloom.cli.client.messages import Json
from planloom.cli.client.server_process import Server
from planloom.cli.exit_codes import DONE, FAILED
from planloom.cli.failures import Failure
from planloom.cli.history import answering, print_json
from planloom.cli.plain import one_line
from planloom.cli.terminal import show
from planloom.domain.text.counted import counted

_ALL = 200
_WHOLE_ID = 32


async def search_memory(server: Server, words: str, *, folders: Sequence[Path], as_json: bool) -> int:
    """Print the entries that share a word with these, else the newest, or the answer of the server as JSON."""
    failure = Failure()
    async with answering(server, folders, failure) as running:
        found = await running.connection.request("planloom/memory/search", {"words": words})
        if as_json:
            print_json(found)
            return DONE
        console = show.console()
        if not found["entries"]:
            console.print(
                Text(
                    "Nothing is kept of earlier plans of this folder"
                    + (" with these words." if words else ".")
                )
            )
        for entry in found["entries"]:
            _print(console, entry)
    return failure.code


async def forget(server: Server, plan: str | None, *, folders: Sequence[Path]) -> int:
    """Delete the entry of the plan whose id begins so, or all of this folder for None."""
    failure = Failure()
    async with answering(server, folders, failure) as running:
        params: Json = {}
        if plan is not None:
            found = await running.connection.request("planloom/memory/search", {"limit": _ALL})
            ids = [each["planId"] for each in found["entries"] if each["planId"].startswith(plan)]
            if len(plan) >= _WHOLE_ID:
                # It may be older than those that are listed.
                ids = [plan]
            if not plan or len(ids) != 1:
                what = "Nothing is kept of a plan" if not ids else "There are several plans"
                show.console(stderr=True).print(Text(f"{what} whose id begins with {one_line(plan, 40)}."))
                return FAILED
            params["planId"] = ids[0]
        answer = await running.connection.request("planloom/memory/forget", params)
        show.console().print(Text(f"Forgotten: what was kept of {counted(answer['forgotten'], 'plan')}."))
    return failure.code


def _print(console: Console, entry: Json) -> None:
    at, status = entry["at"][:10], entry["status"].replace("_", " ")
    console.print(
        Text(f"{entry['planId'][:8]}  {at}  {status}  {one_line(entry['request'], 200)}", style="bold")
    )
    for line in (*entry["decisions"], *entry["findings"]):
        console.print(Padding(Text(one_line(line, 400)), (0, 0, 0, 2)))
    if entry["files"]:
        console.print(Padding(Text(one_line(", ".join(entry["files"]), 400), style="dim"), (0, 0, 0, 2)))
