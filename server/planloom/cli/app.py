"""The commands `run`, `plan` and `doctor`, with their arguments and options; those on earlier plans are added."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import typer

from planloom.cli import history_commands
from planloom.cli import trust as trust_command
from planloom.cli.client.connection import SERVER_COMMAND, Server
from planloom.cli.options import (
    BaseUrl,
    Model,
    Parameters,
    Provider,
    Set,
    TemplateName,
    Trust,
    Workspace,
    finish,
    folders,
    is_terminal,
    parameters,
    server_command,
    usage,
)

app = typer.Typer(
    name="planloom",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Turn a request into a plan that you review, and the plan into edits of your files.",
    epilog="`planloom serve --stdio` is the language server, for editors.",
)

Text = Annotated[
    str | None, typer.Argument(metavar="TEXT", help="What should be done; - reads it from standard input.")
]
Mode = Annotated[
    Literal["auto", "plan", "direct", "perspectives"],
    typer.Option(help="Plan if the request needs it, always, never, or always with perspectives."),
]
AsJson = Annotated[
    bool,
    typer.Option(
        "--json", help="Events as JSON lines on standard output, everything else on standard error."
    ),
]


@app.command()
def run(
    context: typer.Context,
    text: Text = None,
    *,
    template: TemplateName = None,
    param: Parameters = None,
    workspace: Workspace = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Approve the plan and its writes.")] = False,
    yes_commands: Annotated[
        bool,
        typer.Option("--yes-commands", help="Also allow commands, web pages, deletes and protected names."),
    ] = False,
    mode: Mode = "auto",
    continue_: Annotated[
        bool, typer.Option("--continue", "-c", help="Continue the latest ended plan of the workspace.")
    ] = False,
    review: Annotated[
        Literal["each", "end", "auto"] | None,
        typer.Option(help="Ask for each step's writes, once at the end, or only for what is dangerous."),
    ] = None,
    trust: Trust = False,
    base_url: BaseUrl = None,
    model: Model = None,
    provider: Provider = None,
    set_: Set = None,
    as_json: AsJson = False,
) -> None:
    """Plan the request, ask for approval, and execute the plan on the files of the workspace."""
    terminal = is_terminal()
    if not terminal and not yes:
        usage(
            "There is no terminal to ask at. Use --yes to approve the plan and its writes, or `planloom plan`."
        )
    if text is None and template is None:
        usage("Give a request, or --template NAME.")
    request_text, where = "" if text is None else _request_text(text), folders(workspace)
    values = parameters(param)

    async def work(server: Server) -> int:
        from planloom.cli.commands import run_request
        from planloom.cli.run import Request
        from planloom.cli.terminal.decisions import Flags

        flags = Flags(yes, yes_commands, terminal and text != "-", trust)
        return await run_request(
            server,
            Request(request_text, mode, review, follows=continue_, template=template, parameters=values),
            folders=where,
            flags=flags,
            as_json=as_json,
        )

    finish(server_command(context, base_url, model, provider, set_), work)


@app.command()
def plan(
    context: typer.Context,
    text: Text = None,
    *,
    from_: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="FILE",
            exists=True,
            dir_okay=False,
            help="Take the plan from a plan document, for example one that is kept in git.",
        ),
    ] = None,
    template: TemplateName = None,
    param: Parameters = None,
    workspace: Workspace = None,
    mode: Annotated[
        Literal["plan", "perspectives"],
        typer.Option(help="Without perspectives on the request, or with them."),
    ] = "plan",
    trust: Trust = False,
    base_url: BaseUrl = None,
    model: Model = None,
    provider: Provider = None,
    set_: Set = None,
    as_json: AsJson = False,
) -> None:
    """Show the plan for a request, or one from a document; nothing is changed. `planloom resume` runs it."""
    if (text is None and template is None) == (from_ is None):
        usage("Give either a request, --template NAME or --from FILE.")
    values = parameters(param)
    where = folders(workspace)
    source = None if from_ is None else _document(from_)
    request_text = "" if text is None else _request_text(text)

    async def work(server: Server) -> int:
        from planloom.cli.commands import run_request
        from planloom.cli.run import Request
        from planloom.cli.terminal.decisions import Flags

        flags = Flags(terminal=is_terminal() and text != "-", trust=trust)
        request = Request(
            request_text, mode, until_ready=True, document=source, template=template, parameters=values
        )
        return await run_request(server, request, folders=where, flags=flags, as_json=as_json)

    finish(server_command(context, base_url, model, provider, set_), work)


@app.command()
def doctor(
    context: typer.Context,
    *,
    workspace: Workspace = None,
    base_url: BaseUrl = None,
    model: Model = None,
    provider: Provider = None,
    set_: Set = None,
    repair: Annotated[
        bool, typer.Option("--repair", help="Check the plan ledger instead, and repair it if it is damaged.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Repair the ledger without asking.")] = False,
) -> None:
    """Check everything that Planloom needs, and say what is missing and what to do about it."""

    async def work(server: Server) -> int:
        if repair:
            from planloom.cli.repair import repair_ledger

            return await repair_ledger(server, yes=yes, terminal=is_terminal())
        from planloom.cli.doctor import examine

        where = [folder.resolve() for folder in workspace or [Path()]]
        return await examine(server, folders=where, model_needed=bool(base_url or model or provider))

    finish(server_command(context, base_url, model, provider, set_), work)


app.add_typer(history_commands.app)
app.add_typer(trust_command.app)


def main(arguments: Sequence[str], *, server_command: Sequence[str] = SERVER_COMMAND) -> int:
    """Run one command line. Returns the exit code: 0 done, 1 failed, 2 wrong usage, 130 interrupted, and 3 if a
    folder that is not trusted would have been changed.
    """
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot encode a character shows a question mark, instead of ending the run.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        app(list(arguments), prog_name="planloom", obj=tuple(server_command))
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0
    return 0


def _document(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        usage(f"{file} cannot be read: {error}.")


def _request_text(text: str) -> str:
    text = sys.stdin.read() if text == "-" else text
    if not text.strip():
        usage("The request is empty.")
    return text
