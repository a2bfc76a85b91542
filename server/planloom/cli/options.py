"""What the commands share: options, the check of their arguments, and the server that each of them starts."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from planloom.cli.client.connection import Server, started
from planloom.cli.failures import INTERRUPTED, USAGE
from planloom.providers import TerminalProviderChoice

Workspace = Annotated[
    list[Path] | None,
    typer.Option(
        "--workspace", "-w", metavar="DIR", help="The folder to work in (default: this one); may be repeated."
    ),
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

TemplateName = Annotated[
    str | None,
    typer.Option(
        "--template", metavar="NAME", help="Plan by this template; `planloom templates` lists them."
    ),
]
Parameters = Annotated[
    list[str] | None,
    typer.Option("--param", "-p", metavar="NAME=VALUE", help="A value of the template; may be repeated."),
]

Trust = Annotated[bool, typer.Option("--trust", help="Trust the folder in this run, without asking.")]


def finish(command: Sequence[str], work: Callable[[Server], Awaitable[int]]) -> NoReturn:
    """Start the server, then do the work. Its imports take as long as the server's start, so the two overlap."""

    async def both() -> int:
        async with started(command) as server:
            return await work(server)

    try:
        code = asyncio.run(both())
    except KeyboardInterrupt:
        code = INTERRUPTED
    raise typer.Exit(code)


def usage(sentence: str) -> NoReturn:
    """End with the exit code for wrong usage."""
    typer.echo(f"planloom: {sentence}", err=True)
    raise typer.Exit(USAGE)


def is_terminal() -> bool:
    """Whether a person can be asked: stdin is a terminal, and stdout or stderr is one."""
    return sys.stdin.isatty() and (sys.stdout.isatty() or sys.stderr.isatty())


def folders(paths: list[Path] | None) -> list[Path]:
    """The folders to work in, resolved; wrong usage if one is none."""
    found = [folder.resolve() for folder in paths or [Path()]]
    for folder in found:
        if not folder.is_dir():
            usage(f"{folder} is not a folder.")
    return found


def parameters(assignments: list[str] | None) -> dict[str, str]:
    """The values of a template; wrong usage if one has no name."""
    values: dict[str, str] = {}
    for assignment in assignments or []:
        name, equals, value = assignment.partition("=")
        if not equals or not name:
            usage(f"--param needs NAME=VALUE, not {assignment!r}.")
        values[name] = value
    return values


def server_command(
    context: typer.Context,
    base_url: str | None = None,
    model: str | None = None,
    provider: str | None = None,
    assignments: list[str] | None = None,
) -> list[str]:
    """The server's command with the settings of this command line, which override all others."""
    for assignment in assignments or []:
        name, equals, _ = assignment.partition("=")
        if not equals or not name:
            usage(f"--set needs NAME=VALUE, not {assignment!r}.")
    values = {"model.baseUrl": base_url, "model.name": model, "model.provider": provider}
    # Quoted as JSON, a name that looks like a number stays a string.
    options = [f"{name}={json.dumps(value)}" for name, value in values.items() if value is not None]
    return [*context.obj, *(f"--setting={assignment}" for assignment in (assignments or []) + options)]
