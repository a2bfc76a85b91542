"""The commands on plans that exist, among them `plans`, `show`, `diff`, `resume` and `undo`, and on their templates."""

from __future__ import annotations

import sys
from argparse import ArgumentTypeError, Namespace
from pathlib import Path
from typing import get_args, get_type_hints

from planloom.cli.client.server_process import Server
from planloom.cli.options import (
    MODEL,
    PARAMETERS,
    SET,
    TRUST,
    WORKSPACE,
    YES,
    YES_COMMANDS,
    Option,
    Work,
    command,
    flag,
    folders,
    is_terminal,
    parameters,
    several,
    usage,
    whole_number,
)

PLAN = Option("plan", metavar="PLAN", nargs="?", help="the beginning of its id (default: the newest plan)")
JSON = flag("--json", help="the answer of the server as JSON, for programs")


def _status(text: str) -> str:
    """The type of an option whose value is the status of a plan."""
    from planloom.cli.client.messages import PlanSummary

    known = get_args(get_type_hints(PlanSummary)["status"])
    status = text.replace(" ", "_")
    if status not in known:
        raise ArgumentTypeError(f"{text!r} is none of {', '.join(known)}")
    return status


@command(
    "plans",
    WORKSPACE,
    several(
        "--status",
        metavar="STATUS",
        type=_status,
        help="only those that are paused, completed …; may be repeated",
    ),
    flag("--all", dest="everywhere", help="those of all folders"),
    Option("--here", dest="everywhere", action="store_false", help="those of this folder (the default)"),
    Option(
        *("-n", "--limit"),
        metavar="N",
        type=whole_number(1, 1000),
        default=20,
        help="at most so many (default: %(default)s)",
    ),
    SET,
    JSON,
)
def plans(given: Namespace) -> Work:
    """List the plans of this folder, newest first."""
    where = folders(given.workspace)

    async def work(server: Server) -> int:
        from planloom.cli.history import Wanted, list_plans

        wanted = Wanted(given.status, given.everywhere, given.limit)
        return await list_plans(server, wanted, folders=where, as_json=given.json)

    return work


@command("show", PLAN, WORKSPACE, SET, JSON)
def show(given: Namespace) -> Work:
    """Show a plan: its request, its steps and their results, and what it has changed and run."""
    where = folders(given.workspace)

    async def work(server: Server) -> int:
        from planloom.cli.history import show_plan

        return await show_plan(server, given.plan, folders=where, as_json=given.json)

    return work


@command("diff", PLAN, WORKSPACE, SET)
def diff(given: Namespace) -> Work:
    """Show all that a plan has changed, as a unified diff."""
    where = folders(given.workspace)

    async def work(server: Server) -> int:
        from planloom.cli.changes import show_changes

        return await show_changes(server, given.plan, folders=where)

    return work


@command(
    "stats",
    Option(
        "--days",
        metavar="N",
        type=whole_number(1, 36_500),
        help="only the plans of the last so many days",
    ),
    WORKSPACE,
    SET,
    JSON,
)
def stats(given: Namespace) -> Work:
    """Show the figures of all plans that have ended: success, undone, requests, tokens and time by model."""
    where = folders(given.workspace)

    async def work(server: Server) -> int:
        from planloom.cli.stats import show_stats

        return await show_stats(server, folders=where, days=given.days, as_json=given.json)

    return work


@command(
    "memory",
    Option("words", metavar="WORDS", nargs="*", help="only those with one of these words"),
    Option("--forget", metavar="PLAN", help="delete what is kept of the plan with this id"),
    flag("--forget-all", help="delete what is kept of all plans of this folder"),
    WORKSPACE,
    SET,
    JSON,
)
def memory(given: Namespace) -> Work:
    """Show what earlier plans of this folder found and did; models get it with a similar request."""
    where = folders(given.workspace)
    if sum((bool(given.words), given.forget is not None, given.forget_all)) > 1:
        usage("Give words, --forget or --forget-all.")

    async def work(server: Server) -> int:
        from planloom.cli import memory as shown

        if given.forget is not None or given.forget_all:
            return await shown.forget(server, given.forget, folders=where)
        return await shown.search_memory(server, " ".join(given.words), folders=where, as_json=given.json)

    return work


@command(
    "templates",
    Option("name", metavar="NAME", nargs="?", help="show the steps of this one"),
    PARAMETERS,
    WORKSPACE,
    SET,
    JSON,
)
def templates(given: Namespace) -> Work:
    """List the templates of plans, or show one as its values fill it in. `planloom plan --template` plans by it."""
    where, values = folders(given.workspace), parameters(given.param)

    async def work(server: Server) -> int:
        from planloom.cli.templates import list_templates, show_template

        if given.name is None:
            return await list_templates(server, folders=where, as_json=given.json)
        return await show_template(server, given.name, values, folders=where, as_json=given.json)

    return work


@command(
    "resume",
    Option(
        "plan",
        metavar="PLAN",
        nargs="?",
        help="the beginning of its id (default: the newest that has not ended)",
    ),
    WORKSPACE,
    YES,
    YES_COMMANDS,
    TRUST,
    *MODEL,
    flag("--json", help="events as JSON lines, as those of `run --json`"),
)
def resume(given: Namespace) -> Work:
    """Go on with a plan that is paused or waits for approval. No effect is repeated."""
    terminal = is_terminal()
    if not terminal and not given.yes:
        usage("There is no terminal to ask at. Use --yes to approve the plan and its writes.")
    where = folders(given.workspace)

    async def work(server: Server) -> int:
        from planloom.cli.commands import resume_plan
        from planloom.cli.terminal.decisions import Flags

        flags = Flags(given.yes, given.yes_commands, terminal, given.trust)
        return await resume_plan(server, given.plan, folders=where, flags=flags, as_json=given.json)

    return work


@command(
    "undo",
    PLAN,
    WORKSPACE,
    Option("--step", metavar="N", type=whole_number(1), help="only what step N has changed"),
    flag("-y", "--yes", help="do not ask"),
    TRUST,
    SET,
)
def undo(given: Namespace) -> Work:
    """Take back what a plan or one of its steps has changed; what was typed since stays."""
    terminal = is_terminal()
    if not terminal and not given.yes:
        usage("There is no terminal to ask at. Use --yes to take the changes back.")
    where = folders(given.workspace)

    async def work(server: Server) -> int:
        from planloom.cli.terminal.decisions import Flags
        from planloom.cli.undo import undo_plan

        flags = Flags(given.yes, False, terminal, given.trust)
        return await undo_plan(server, given.plan, given.step, folders=where, flags=flags)

    return work


@command(
    "export",
    PLAN,
    WORKSPACE,
    Option(
        *("-f", "--format"),
        choices=("markdown", "json", "full"),
        default="markdown",
        help="to read (the default), for programs, or with all texts, to be imported elsewhere",
    ),
    Option("-o", "--output", metavar="FILE", type=Path, help="where to write it; never over a file"),
    SET,
)
def export(given: Namespace) -> Work:
    """Write a plan as Markdown or JSON, or in full, to move it to another machine."""
    where = folders(given.workspace)
    if given.output is not None and given.output.exists():
        usage(f"{given.output} exists already.")

    async def work(server: Server) -> int:
        from planloom.cli.history import export_plan

        return await export_plan(server, given.plan, given.format, given.output, folders=where)

    return work


@command(
    "import",
    Option("file", metavar="FILE", help="what `export --format full` wrote; - reads standard input"),
    WORKSPACE,
    SET,
)
def import_(given: Namespace) -> Work:
    """Take over a plan from a full export. Nothing of it runs, and no plan is overwritten."""
    where = folders(given.workspace)
    try:
        text = sys.stdin.read() if given.file == "-" else Path(given.file).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        usage(f"{given.file} cannot be read: {error}.")

    async def work(server: Server) -> int:
        from planloom.cli.history import import_plan

        return await import_plan(server, text, folders=where)

    return work


COMMANDS = (plans, show, diff, stats, memory, templates, resume, undo, export, import_)
