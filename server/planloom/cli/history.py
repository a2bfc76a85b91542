"""The commands on earlier plans: lists them, shows one and its changes, and writes one to a file or reads it."""

from __future__ import annotations

import contextlib
import os
import sys
from argparse import Namespace
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

from rich.console import Console
from rich.text import Text

from planloom.cli.answers import print_json
from planloom.cli.client import plans
from planloom.cli.client.connection import ServerError
from planloom.cli.client.messages import DiffResult, Json
from planloom.cli.client.session import Session
from planloom.cli.exit_codes import DONE, FAILED
from planloom.cli.plain import visible
from planloom.cli.terminal import show, show_history
from planloom.domain.text.diff import git_diff

_MOST_BYTES = 60_000_000
"""How long a document may be that is imported: one message to the server takes 64 MB."""
_NONE = "There is no plan in this folder. `planloom plans --all` lists those of all folders."
_STYLES = {"+": "green", "-": "red", "@": "cyan", "d": "bold", "r": "bold"}


async def list_plans(running: Session, args: Namespace) -> int:
    """Print the newest plans as a table."""
    params: Json = {"limit": args.limit, "allWorkspaces": args.everywhere}
    listed = await running.request(
        "planloom/plan/list", params | ({"status": args.status} if args.status else {})
    )
    if args.json:
        return print_json(listed)
    found = listed["plans"]
    if not found:
        show.say("There is no such plan in this folder." if args.status else _NONE)
        return DONE
    everything = await running.request("planloom/plan/list", {"limit": plans.MOST} | plans.EVERYWHERE)
    ids = plans.short_ids(
        (each["planId"] for each in found), (each["planId"] for each in everything["plans"])
    )
    table = show_history.plans_table(found, ids, datetime.now(UTC), with_folders=args.everywhere)
    show.console().print(table)
    return DONE


async def show_plan(running: Session, args: Namespace) -> int:
    """Print a plan with its steps and its report."""
    got = await plans.answer_for(running, args.plan)
    if args.json:
        return print_json(got)
    view = await running.view(got["plan"]["planId"])
    console = show.console()
    for part in show_history.plan_parts(view, plans.roots(view["plan"]), datetime.now(UTC)):
        console.print(part)
    return DONE


async def show_changes(running: Session, args: Namespace) -> int:
    """Print the changes of a plan as a unified diff that `git apply` and `patch` can read."""
    plan = await plans.named(running, args.plan)
    report = plan.get("report")
    if report is None:
        show.say("The plan has no report: it has not ended, or has not run.", "yellow", stderr=True)
        return FAILED
    for file in report.get("files") or []:
        if file["change"] != "createFolder":
            params: Json = {"planId": plan["planId"], "uri": file["uri"]} | plans.EVERYWHERE
            # A file whose changes were undone since then has none.
            with contextlib.suppress(ServerError):
                diff = cast(DiffResult, await running.request("planloom/plan/diff", params))
                roots = plans.roots(plan)
                old, new = (
                    show.relative(uri, roots) for uri in (file.get("oldUri") or file["uri"], file["uri"])
                )
                text = git_diff(diff.get("before"), diff.get("after"), old, new)
                _print_diff(show.console(), text)
    return DONE


def _print_diff(console: Console, text: str) -> None:
    if not console.is_terminal:
        sys.stdout.write(text)
        return
    for line in text.splitlines():
        console.print(Text(visible(line), _STYLES.get(line[:1], "")), soft_wrap=True)


async def export_plan(running: Session, args: Namespace) -> int:
    """Write a plan to a file that only its user can read, or to standard output."""
    plan = await plans.named(running, args.plan)
    params: Json = {"planId": plan["planId"], "format": args.format} | plans.EVERYWHERE
    text: str = (await running.request("planloom/plan/export", params))["text"]
    if args.output is None:
        sys.stdout.write(text)
    elif not _written(args.output, text):
        show.say(f"{args.output} could not be written, or exists already.", "bold red", stderr=True)
        return FAILED
    if args.format == "full":
        show.say(
            "It holds the texts of the files that the plan has changed or read, and what was said to it,"
            " secrets among them. Give it only to whom you would give these files.",
            "yellow",
            stderr=True,
        )
    return DONE


async def import_plan(running: Session, args: Namespace) -> int:
    """Have the server take over a plan, and say how to go on with it."""
    if len(args.text) > _MOST_BYTES:
        show.say("The file is too large: 60 MB can be imported.", "bold red", stderr=True)
        return FAILED
    got = await running.request("planloom/plan/import", {"text": args.text})
    show.console().print(show_history.imported_line(await running.view(got["plan"]["planId"])))
    return DONE


def _written(path: Path, text: str) -> bool:
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except OSError:
        return False
    return True
