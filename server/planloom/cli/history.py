"""Lists plans, shows one, writes one to a file and reads it from there. Each function returns an exit code."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from rich.text import Text

from planloom.cli.client import plans
from planloom.cli.client.messages import Json, Plan
from planloom.cli.client.plan_state import changed_files
from planloom.cli.client.server_process import Server
from planloom.cli.client.session import Session, session
from planloom.cli.exit_codes import DONE, FAILED
from planloom.cli.failures import Failure, reported
from planloom.cli.plain import as_json, visible
from planloom.cli.terminal import show, show_history
from planloom.cli.terminal.show_spent import spent_lines
from planloom.workspace.paths.uris import to_path

_MOST_BYTES = 60_000_000
"""How long a document may be that is imported: one message to the server takes 64 MB."""


class Wanted(NamedTuple):
    """Which plans are listed; no status means all of them."""

    statuses: Sequence[str]
    everywhere: bool
    limit: int


@contextlib.asynccontextmanager
async def answering(
    server: Server, folders: Sequence[Path], failure: Failure, *, trusted: bool = False
) -> AsyncIterator[Session]:
    """A session for a few requests. A failure of it is printed, and noted in `failure`."""
    with reported(failure, partial(show.failure, show.console(stderr=True))):
        async with session(server, folders, trusted=trusted) as running:
            yield running


async def list_plans(server: Server, wanted: Wanted, *, folders: Sequence[Path], as_json: bool) -> int:
    """Print the newest plans as a table, or the answer of the server as JSON."""
    failure = Failure()
    async with answering(server, folders, failure) as running:
        params: Json = {"limit": wanted.limit, "allWorkspaces": wanted.everywhere}
        if wanted.statuses:
            params["status"] = list(wanted.statuses)
        listed = await running.connection.request("planloom/plan/list", params)
        if as_json:
            print_json(listed)
            return DONE
        found = listed["plans"]
        if not found:
            show.console().print(Text("There is no such plan in this folder." if wanted.statuses else _NONE))
            return DONE
        everything = await running.connection.request(
            "planloom/plan/list", {"limit": plans.MOST} | plans.EVERYWHERE
        )
        ids = plans.short_ids(
            [plan["planId"] for plan in found], (plan["planId"] for plan in everything["plans"])
        )
        table = show_history.plans_table(found, ids, datetime.now(UTC), with_folders=wanted.everywhere)
        show.console().print(table)
    return failure.code


_NONE = "There is no plan in this folder. `planloom plans --all` lists those of all folders."


async def show_plan(server: Server, start: str | None, *, folders: Sequence[Path], as_json: bool) -> int:
    """Print a plan with its steps and its report, or the answer of the server as JSON."""
    failure = Failure()
    async with answering(server, folders, failure) as running:
        got = await plans.answer_for(running, start)
        plan = got["plan"]
        if as_json:
            print_json(got)
            return DONE
        files: dict[str, str] = {}
        if not plan.get("report"):
            listed = await running.connection.request(
                "planloom/plan/events", {"planId": plan["planId"]} | plans.EVERYWHERE
            )
            for event in listed["events"]:
                files = dict(changed_files(files, event))
        roots = [path for uri in plan.get("workspaceFolders") or [] if (path := to_path(uri)) is not None]
        console = show.console()
        for part in show_history.plan_parts(plan, roots, files, datetime.now(UTC)):
            console.print(part)
        for line in spent_lines(got.get("spent")):
            console.print(line)
    return failure.code


async def export_plan(
    server: Server, start: str | None, format_: str, output: Path | None, *, folders: Sequence[Path]
) -> int:
    """Write a plan to a file that only its user can read, or to standard output."""
    failure = Failure()
    async with answering(server, folders, failure) as running:
        plan = await plans.named(running, start)
        params: Json = {"planId": plan["planId"], "format": format_} | plans.EVERYWHERE
        text: str = (await running.connection.request("planloom/plan/export", params))["text"]
        errors = show.console(stderr=True)
        if output is None:
            sys.stdout.write(text)
        elif not _written(output, text):
            errors.print(Text(visible(f"{output} could not be written, or exists already."), "bold red"))
            return FAILED
        if format_ == "full":
            errors.print(
                Text(
                    "It holds the texts of the files that the plan has changed or read, and what was said to it,"
                    " secrets among them. Give it only to whom you would give these files.",
                    "yellow",
                )
            )
    return failure.code


async def import_plan(server: Server, text: str, *, folders: Sequence[Path]) -> int:
    """Have the server take over a plan, and say how to go on with it."""
    failure = Failure()
    if len(text) > _MOST_BYTES:
        show.console(stderr=True).print(Text("The file is too large: 60 MB can be imported.", "bold red"))
        return FAILED
    async with answering(server, folders, failure) as running:
        got = await running.connection.request("planloom/plan/import", {"text": text})
        plan: Plan = got["plan"]
        console = show.console()
        console.print(show_history.imported_line(plan))
    return failure.code


def print_json(value: Any) -> None:
    """Print an answer of the server, in ASCII at a terminal."""
    sys.stdout.write(as_json(value, indent=2) + "\n")


def _written(path: Path, text: str) -> bool:
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except OSError:
        return False
    return True
