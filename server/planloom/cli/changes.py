"""Prints all that a plan has changed, as a unified diff that `git apply` and `patch` can read."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import cast

from rich.console import Console
from rich.text import Text

from planloom.cli.client.connection import Connection, Server, ServerError, ServerLost
from planloom.cli.client.messages import DiffResult, Json, Plan, ReportedFile
from planloom.cli.client.session import session
from planloom.cli.plain import visible
from planloom.cli.terminal import show
from planloom.domain.text.diff import unified
from planloom.workspace.paths.uris import to_path

DONE, FAILED = 0, 1
_STYLES = {"+": "green", "-": "red", "@": "cyan", "d": "bold", "r": "bold"}


async def show_changes(server: Server, plan_id: str | None, *, folders: Sequence[Path]) -> int:
    """Print the changes of a plan, or of the newest one in these folders. Returns the exit code."""
    console = show.console()
    errors = show.console(stderr=True)
    try:
        async with session(server, folders, say=lambda *_: None) as running:
            plan = await _plan(running.connection, plan_id)
            if plan is None:
                asked = f"whose id begins with {plan_id!r}" if plan_id else "in this folder"
                errors.print(Text(f"There is no plan {visible(asked)}.", "bold red"))
                return FAILED
            report = plan.get("report")
            if report is None:
                errors.print(Text("The plan has no report: it has not ended, or has not run.", "yellow"))
                return FAILED
            roots = [path for uri in plan.get("workspaceFolders") or [] if (path := to_path(uri)) is not None]
            for file in report.get("files") or []:
                if file["change"] == "createFolder":
                    continue
                await _show(running.connection, console, plan, file, roots)
            return DONE
    except ServerError as error:
        errors.print(Text(visible(error.message), "bold red"))
    except ServerLost as error:
        errors.print(Text(visible(str(error)), "bold red"))
    return FAILED


async def _plan(connection: Connection, start: str | None) -> Plan | None:
    """The newest plan whose id begins with `start`, or the newest of the workspace."""
    listed = await connection.request(
        "planloom/plan/list", {"limit": 1000 if start else 1, "allWorkspaces": bool(start)}
    )
    ids = [plan["planId"] for plan in listed.get("plans") or []]
    found = next((plan_id for plan_id in ids if plan_id.startswith(start or "")), None)
    if found is None:
        return None
    return cast(Plan, (await connection.request("planloom/plan/get", {"planId": found}))["plan"])


async def _show(
    connection: Connection, console: Console, plan: Plan, file: ReportedFile, roots: Sequence[Path]
) -> None:
    params: Json = {"planId": plan["planId"], "uri": file["uri"]}
    # A file whose changes were undone since then has none.
    with contextlib.suppress(ServerError):
        diff = cast(DiffResult, await connection.request("planloom/plan/diff", params))
        text = "".join(_lines(file, diff, roots))
        if not console.is_terminal:
            sys.stdout.write(text)
            return
        for line in text.splitlines():
            console.print(Text(visible(line), _STYLES.get(line[:1], "")), soft_wrap=True)


def _lines(file: ReportedFile, diff: DiffResult, roots: Sequence[Path]) -> Iterator[str]:
    new = show.relative(file["uri"], roots)
    old = show.relative(file.get("oldUri") or file["uri"], roots)
    yield f"diff --git a/{old} b/{new}\n"
    before, after = diff.get("before"), diff.get("after")
    if file.get("change") == "create":
        yield "new file mode 100644\n"
    elif file.get("change") == "delete":
        yield "deleted file mode 100644\n"
    elif file.get("change") == "rename":
        yield f"rename from {old}\nrename to {new}\n"
    yield unified(before, after, f"a/{old}", f"b/{new}")
