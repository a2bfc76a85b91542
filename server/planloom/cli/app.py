"""The commands `run`, `plan`, `diff` and `doctor`, with their arguments and options."""

from __future__ import annotations

import asyncio
import io
import json
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Annotated, Literal, NoReturn

import typer

from planloom.cli.client.connection import SERVER_COMMAND, Server, started
from planloom.providers import TerminalProviderChoice

USAGE, INTERRUPTED = 2, 130

app = typer.Typer(
    name="planloom",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Turn a request into a plan that you review, and the plan into edits of your files.",
    epilog="`planloom serve --stdio` is the language server, for editors.",
)

Text = Annotated[
    str, typer.Argument(metavar="TEXT", help="What should be done; - reads it from standard input.")
]
Workspace = Annotated[
    list[Path] | None,
    typer.Option(
        "--workspace", "-w", metavar="DIR", help="The folder to work in (default: this one); may be repeated."
    ),
]
Mode = Annotated[
    Literal["auto", "plan", "direct", "perspectives"],
    typer.Option(help="Plan if the request needs it, always, never, or always with perspectives."),
]
BaseUrl = Annotated[
    str | None, typer.Option(metavar="URL", help="The address of an OpenAI-compatible server.")
]
Model = Annotated[str | None, typer.Option(metavar="NAME", help="The model to ask there.")]
Provider = Annotated[
    TerminalProviderChoice | None,
    typer.Option(help="Who serves the model."),
]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="Any setting, such as execution.maxParallelSteps=2."),
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
    text: Text,
    *,
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
    base_url: BaseUrl = None,
    model: Model = None,
    provider: Provider = None,
    set_: Set = None,
    as_json: AsJson = False,
) -> None:
    """Plan the request, ask for approval, and execute the plan on the files of the workspace."""
    terminal = _is_terminal()
    if not terminal and not yes:
        _usage(
            "There is no terminal to ask at. Use --yes to approve the plan and its writes, or `planloom plan`."
        )
    request_text, folders = _request_text(text), _folders(workspace)

    async def work(server: Server) -> int:
        from planloom.cli.commands import run_request
        from planloom.cli.run import Request
        from planloom.cli.terminal.decisions import Flags

        flags = Flags(yes, yes_commands, terminal and text != "-")
        return await run_request(
            server,
            Request(request_text, mode, review, follows=continue_),
            folders=folders,
            flags=flags,
            as_json=as_json,
        )

    _finish(_server_command(context, base_url, model, provider, set_), work)


@app.command()
def plan(
    context: typer.Context,
    text: Text,
    *,
    workspace: Workspace = None,
    mode: Annotated[
        Literal["plan", "perspectives"],
        typer.Option(help="Without perspectives on the request, or with them."),
    ] = "plan",
    base_url: BaseUrl = None,
    model: Model = None,
    provider: Provider = None,
    set_: Set = None,
    as_json: AsJson = False,
) -> None:
    """Show the plan for a request; nothing is changed."""
    request_text, folders = _request_text(text), _folders(workspace)

    async def work(server: Server) -> int:
        from planloom.cli.commands import run_request
        from planloom.cli.run import Request
        from planloom.cli.terminal.decisions import Flags

        flags = Flags(terminal=_is_terminal() and text != "-")
        request = Request(request_text, mode, until_ready=True)
        return await run_request(server, request, folders=folders, flags=flags, as_json=as_json)

    _finish(_server_command(context, base_url, model, provider, set_), work)


@app.command()
def diff(
    context: typer.Context,
    plan_id: Annotated[
        str | None,
        typer.Argument(metavar="[PLAN]", help="The beginning of its id (default: the newest plan)."),
    ] = None,
    *,
    workspace: Workspace = None,
) -> None:
    """Show all that a plan has changed, as a unified diff."""
    folders = _folders(workspace)

    async def work(server: Server) -> int:
        from planloom.cli.changes import show_changes

        return await show_changes(server, plan_id, folders=folders)

    _finish(_server_command(context, None, None, None, None), work)


@app.command()
def doctor(
    context: typer.Context,
    *,
    workspace: Workspace = None,
    base_url: BaseUrl = None,
    model: Model = None,
    provider: Provider = None,
    set_: Set = None,
) -> None:
    """Check everything that Planloom needs, and say what is missing and what to do about it."""

    async def work(server: Server) -> int:
        from planloom.cli.doctor import examine

        folders = [folder.resolve() for folder in workspace or [Path()]]
        return await examine(server, folders=folders, model_needed=bool(base_url or model or provider))

    _finish(_server_command(context, base_url, model, provider, set_), work)


def main(arguments: Sequence[str], *, server_command: Sequence[str] = SERVER_COMMAND) -> int:
    """Run one command line. Returns the exit code: 0 done, 1 failed, 2 wrong usage, 130 interrupted."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot encode a character shows a question mark, instead of ending the run.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        app(list(arguments), prog_name="planloom", obj=tuple(server_command))
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0
    return 0


def _finish(command: Sequence[str], work: Callable[[Server], Awaitable[int]]) -> NoReturn:
    """Start the server, then do the work. Its imports take as long as the server's start, so the two overlap."""

    async def both() -> int:
        async with started(command) as server:
            return await work(server)

    try:
        code = asyncio.run(both())
    except KeyboardInterrupt:
        code = INTERRUPTED
    raise typer.Exit(code)


def _usage(sentence: str) -> NoReturn:
    typer.echo(f"planloom: {sentence}", err=True)
    raise typer.Exit(USAGE)


def _is_terminal() -> bool:
    """Whether a person can be asked: stdin is a terminal, and stdout or stderr is one."""
    return sys.stdin.isatty() and (sys.stdout.isatty() or sys.stderr.isatty())


def _request_text(text: str) -> str:
    text = sys.stdin.read() if text == "-" else text
    if not text.strip():
        _usage("The request is empty.")
    return text


def _folders(paths: list[Path] | None) -> list[Path]:
    folders = [folder.resolve() for folder in paths or [Path()]]
    for folder in folders:
        if not folder.is_dir():
            _usage(f"{folder} is not a folder.")
    return folders


def _server_command(
    context: typer.Context,
    base_url: str | None,
    model: str | None,
    provider: str | None,
    assignments: list[str] | None,
) -> list[str]:
    """The server's command with the settings of this command line, which override all others."""
    for assignment in assignments or []:
        name, equals, _ = assignment.partition("=")
        if not equals or not name:
            _usage(f"--set needs NAME=VALUE, not {assignment!r}.")
    values = {"model.baseUrl": base_url, "model.name": model, "model.provider": provider}
    # Quoted as JSON, a name that looks like a number stays a string.
    options = [f"{name}={json.dumps(value)}" for name, value in values.items() if value is not None]
    return [*context.obj, *(f"--setting={assignment}" for assignment in (assignments or []) + options)]
