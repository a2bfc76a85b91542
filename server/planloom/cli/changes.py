"""Prints all that a plan has changed, as a unified diff that `git apply` and `patch` can read."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import cast

from rich.console import Console
from rich.text import Text

from planloom.cli.client import plans
from planloom.cli.client.connection import Connection, ServerError
from planloom.cli.client.messages import DiffResult, Json, Plan, ReportedFile
from planloom.cli.client.server_process import Server
from planloom.cli.exit_codes import FAILED
from planloom.cli.failures import Failure
from planloom.cli.history import answering
from planloom.cli.plain import visible
from planloom.cli.terminal import show
from planloom.domain.text.diff import unified
from planloom.workspace.paths.uris import to_path

_STYLES = {"+": "green", "-": "red", "@": "cyan", "d": "bold", "r": "bold"}


async def show_changes(server: Server, start: str | None, *, folders: Sequence[Path]) -> int:
    """Print the changes of a plan, or of the newest one in these folders. Returns the exit code."""
    failure = Failure()
    async with answering(server, folders, failure) as running:
        plan = await plans.named(running, start)
        report = plan.get("report")
        if report is None:
            words = "The plan has no report: it has not ended, or has not run."
            show.console(stderr=True).print(Text(words, "yellow"))
            return FAILED
        roots = [path for uri in plan.get("workspaceFolders") or [] if (path := to_path(uri)) is not None]
        for file in report.get("files") or []:
            if file["change"] != "createFolder":
                await _show(running.connection, show.console(), plan, file, roots)
    return failure.code


async def _show(
    connection: Connection, console: Console, plan: Plan, file: ReportedFile, roots: Sequence[Path]
) -> None:
    params: Json = {"planId": plan["planId"], "uri": file["uri"]} | plans.EVERYWHERE
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
