"""The commands on plans that exist, among them `plans`, `show`, `diff`, `resume` and `undo`, and on their templates."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from planloom.cli.client.connection import Server
from planloom.cli.options import (
    BaseUrl,
    Model,
    Parameters,
    Provider,
    Set,
    Trust,
    Workspace,
    finish,
    folders,
    is_terminal,
    parameters,
    server_command,
    usage,
)

app = typer.Typer()

PlanName = Annotated[
    str | None, typer.Argument(metavar="[PLAN]", help="The beginning of its id (default: the newest plan).")
]
AsJson = Annotated[bool, typer.Option("--json", help="The answer of the server as JSON, for programs.")]


@app.command()
def plans(
    context: typer.Context,
    *,
    workspace: Workspace = None,
    status: Annotated[
        list[str] | None,
        typer.Option(metavar="STATUS", help="Only those that are paused, completed …; may be repeated."),
    ] = None,
    everywhere: Annotated[
        bool, typer.Option("--all/--here", help="Those of all folders, or of this one.")
    ] = False,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=1000, help="At most so many.")] = 20,
    set_: Set = None,
    as_json: AsJson = False,
) -> None:
    """List the plans of this folder, newest first."""
    where = folders(workspace)

    async def work(server: Server) -> int:
        from planloom.cli.history import Wanted, list_plans

        wanted = Wanted(tuple(each.replace(" ", "_") for each in status or ()), everywhere, limit)
        return await list_plans(server, wanted, folders=where, as_json=as_json)

    finish(server_command(context, assignments=set_), work)


@app.command()
def show(
    context: typer.Context,
    plan: PlanName = None,
    *,
    workspace: Workspace = None,
    set_: Set = None,
    as_json: AsJson = False,
) -> None:
    """Show a plan: its request, its steps and their results, and what it has changed and run."""
    where = folders(workspace)

    async def work(server: Server) -> int:
        from planloom.cli.history import show_plan

        return await show_plan(server, plan, folders=where, as_json=as_json)

    finish(server_command(context, assignments=set_), work)


@app.command()
def diff(
    context: typer.Context, plan: PlanName = None, *, workspace: Workspace = None, set_: Set = None
) -> None:
    """Show all that a plan has changed, as a unified diff."""
    where = folders(workspace)

    async def work(server: Server) -> int:
        from planloom.cli.changes import show_changes

        return await show_changes(server, plan, folders=where)

    finish(server_command(context, assignments=set_), work)


@app.command()
def stats(
    context: typer.Context,
    *,
    days: Annotated[
        int | None, typer.Option("--days", min=1, max=36_500, help="Only the plans of the last so many days.")
    ] = None,
    workspace: Workspace = None,
    set_: Set = None,
    as_json: AsJson = False,
) -> None:
    """Show the figures of all plans that have ended: success, undone, requests, tokens and time by model."""
    where = folders(workspace)

    async def work(server: Server) -> int:
        from planloom.cli.stats import show_stats

        return await show_stats(server, folders=where, days=days, as_json=as_json)

    finish(server_command(context, assignments=set_), work)


@app.command()
def memory(
    context: typer.Context,
    words: Annotated[
        list[str] | None, typer.Argument(metavar="[WORDS]...", help="Only those with one of these words.")
    ] = None,
    *,
    forget: Annotated[
        str | None, typer.Option(metavar="PLAN", help="Delete what is kept of the plan with this id.")
    ] = None,
    forget_all: Annotated[
        bool, typer.Option("--forget-all", help="Delete what is kept of all plans of this folder.")
    ] = False,
    workspace: Workspace = None,
    set_: Set = None,
    as_json: AsJson = False,
) -> None:
    """Show what earlier plans of this folder found and did; models get it with a similar request."""
    where = folders(workspace)
    if sum((bool(words), forget is not None, forget_all)) > 1:
        usage("Give words, --forget or --forget-all.")

    async def work(server: Server) -> int:
        from planloom.cli import memory as shown

        if forget is not None or forget_all:
            return await shown.forget(server, forget, folders=where)
        return await shown.search_memory(server, " ".join(words or ()), folders=where, as_json=as_json)

    finish(server_command(context, assignments=set_), work)


@app.command()
def templates(
    context: typer.Context,
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Show the steps of this one.")] = None,
    *,
    param: Parameters = None,
    workspace: Workspace = None,
    set_: Set = None,
    as_json: AsJson = False,
) -> None:
    """List the templates of plans, or show one as its values fill it in. `planloom plan --template` plans by it."""
    where, values = folders(workspace), parameters(param)

    async def work(server: Server) -> int:
        from planloom.cli.templates import list_templates, show_template

        if name is None:
            return await list_templates(server, folders=where, as_json=as_json)
        return await show_template(server, name, values, folders=where, as_json=as_json)

    finish(server_command(context, assignments=set_), work)


@app.command()
def resume(
    context: typer.Context,
    plan: Annotated[
        str | None,
        typer.Argument(
            metavar="[PLAN]", help="The beginning of its id (default: the newest that has not ended)."
        ),
    ] = None,
    *,
    workspace: Workspace = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Approve the plan and its writes.")] = False,
    yes_commands: Annotated[
        bool,
        typer.Option("--yes-commands", help="Also allow commands, web pages, deletes and protected names."),
    ] = False,
    trust: Trust = False,
    base_url: BaseUrl = None,
    model: Model = None,
    provider: Provider = None,
    set_: Set = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Events as JSON lines, as those of `run --json`.")
    ] = False,
) -> None:
    """Go on with a plan that is paused or waits for approval. No effect is repeated."""
    terminal = is_terminal()
    if not terminal and not yes:
        usage("There is no terminal to ask at. Use --yes to approve the plan and its writes.")
    where = folders(workspace)

    async def work(server: Server) -> int:
        from planloom.cli.commands import resume_plan
        from planloom.cli.terminal.decisions import Flags

        flags = Flags(yes, yes_commands, terminal, trust)
        return await resume_plan(server, plan, folders=where, flags=flags, as_json=as_json)

    finish(server_command(context, base_url, model, provider, set_), work)


@app.command()
def undo(
    context: typer.Context,
    plan: PlanName = None,
    *,
    workspace: Workspace = None,
    step: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Only what step N has changed.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    trust: Trust = False,
    set_: Set = None,
) -> None:
    """Take back what a plan or one of its steps has changed; what was typed since stays."""
    terminal = is_terminal()
    if not terminal and not yes:
        usage("There is no terminal to ask at. Use --yes to take the changes back.")
    where = folders(workspace)

    async def work(server: Server) -> int:
        from planloom.cli.terminal.decisions import Flags
        from planloom.cli.undo import undo_plan

        return await undo_plan(server, plan, step, folders=where, flags=Flags(yes, False, terminal, trust))

    finish(server_command(context, assignments=set_), work)


@app.command()
def export(
    context: typer.Context,
    plan: PlanName = None,
    *,
    workspace: Workspace = None,
    format_: Annotated[
        Literal["markdown", "json", "full"],
        typer.Option(
            "--format", "-f", help="To read, for programs, or with all texts, to be imported elsewhere."
        ),
    ] = "markdown",
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Where to write it; never over a file."),
    ] = None,
    set_: Set = None,
) -> None:
    """Write a plan as Markdown or JSON, or in full, to move it to another machine."""
    where = folders(workspace)
    if output is not None and output.exists():
        usage(f"{output} exists already.")

    async def work(server: Server) -> int:
        from planloom.cli.history import export_plan

        return await export_plan(server, plan, format_, output, folders=where)

    finish(server_command(context, assignments=set_), work)


@app.command("import")
def import_(
    context: typer.Context,
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="What `export --format full` wrote; - reads standard input."),
    ],
    *,
    workspace: Workspace = None,
    set_: Set = None,
) -> None:
    """Take over a plan from a full export. Nothing of it runs, and no plan is overwritten."""
    where = folders(workspace)
    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        usage(f"{file} cannot be read: {error}.")

    async def work(server: Server) -> int:
        from planloom.cli.history import import_plan

        return await import_plan(server, text, folders=where)

    finish(server_command(context, assignments=set_), work)
