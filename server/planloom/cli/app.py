"""The commands `run`, `plan` and `doctor`, and what carries out a command: those on earlier plans are added here."""

from __future__ import annotations

import io
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path

from planloom.cli import history_commands
from planloom.cli import trust as trust_command
from planloom.cli.client.server_process import SERVER_COMMAND, Server, started
from planloom.cli.exit_codes import DONE, FAILED, INTERRUPTED, USAGE
from planloom.cli.options import (
    MODEL,
    PARAMETERS,
    TEMPLATE,
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
    server_options,
    usage,
)

TEXT = Option("text", metavar="TEXT", nargs="?", help="what should be done; - reads it from standard input")
JSON = flag("--json", help="events as JSON lines on standard output, everything else on standard error")


@command(
    "run",
    TEXT,
    TEMPLATE,
    PARAMETERS,
    WORKSPACE,
    YES,
    YES_COMMANDS,
    Option(
        "--mode",
        choices=("auto", "plan", "direct", "perspectives"),
        default="auto",
        help="plan if the request needs it (the default), always, never, or always with perspectives",
    ),
    flag("-c", "--continue", dest="follows", help="continue the latest ended plan of the workspace"),
    Option(
        "--review",
        choices=("each", "end", "auto"),
        help="ask for each step's writes, once at the end, or only for what is dangerous",
    ),
    TRUST,
    *MODEL,
    JSON,
)
def run(given: Namespace) -> Work:
    """Plan the request, ask for approval, and execute the plan on the files of the workspace."""
    terminal = is_terminal()
    if not terminal and not given.yes:
        usage(
            "There is no terminal to ask at. Use --yes to approve the plan and its writes, or `planloom plan`."
        )
    if given.text is None and given.template is None:
        usage("Give a request, or --template NAME.")
    text, where, values = _request_text(given.text), folders(given.workspace), parameters(given.param)

    async def work(server: Server) -> int:
        from planloom.cli.commands import run_request
        from planloom.cli.run import Request
        from planloom.cli.terminal.decisions import Flags

        flags = Flags(given.yes, given.yes_commands, terminal and given.text != "-", given.trust)
        request = Request(
            text, given.mode, given.review, follows=given.follows, template=given.template, parameters=values
        )
        return await run_request(server, request, folders=where, flags=flags, as_json=given.json)

    return work


@command(
    "plan",
    TEXT,
    Option(
        "--from",
        metavar="FILE",
        dest="document",
        type=Path,
        help="take the plan from a plan document, for example one that is kept in git",
    ),
    TEMPLATE,
    PARAMETERS,
    WORKSPACE,
    Option(
        "--mode",
        choices=("plan", "perspectives"),
        default="plan",
        help="without perspectives on the request (the default), or with them",
    ),
    TRUST,
    *MODEL,
    JSON,
)
def plan(given: Namespace) -> Work:
    """Show the plan for a request, or one from a document; nothing is changed. `planloom resume` runs it."""
    if (given.text is None and given.template is None) == (given.document is None):
        usage("Give either a request, --template NAME or --from FILE.")
    values, where = parameters(given.param), folders(given.workspace)
    document = None if given.document is None else _document(given.document)
    text = _request_text(given.text)

    async def work(server: Server) -> int:
        from planloom.cli.commands import run_request
        from planloom.cli.run import Request
        from planloom.cli.terminal.decisions import Flags

        flags = Flags(terminal=is_terminal() and given.text != "-", trust=given.trust)
        request = Request(
            text, given.mode, until_ready=True, document=document, template=given.template, parameters=values
        )
        return await run_request(server, request, folders=where, flags=flags, as_json=given.json)

    return work


@command(
    "doctor",
    WORKSPACE,
    *MODEL,
    flag("--repair", help="check the plan ledger instead, and repair it if it is damaged"),
    flag("-y", "--yes", help="repair the ledger without asking"),
)
def doctor(given: Namespace) -> Work:
    """Check everything that Planloom needs, and say what is missing and what to do about it."""

    async def work(server: Server) -> int:
        if given.repair:
            from planloom.cli.repair import repair_ledger

            return await repair_ledger(server, yes=given.yes, terminal=is_terminal())
        from planloom.cli.doctor import examine

        where = [folder.resolve() for folder in given.workspace or [Path()]]
        model_needed = bool(given.base_url or given.model or given.provider)
        return await examine(server, folders=where, model_needed=model_needed)

    return work


COMMANDS = {each.name: each for each in (run, plan, doctor, *history_commands.COMMANDS, trust_command.trust)}


def main(arguments: Sequence[str], *, server_command: Sequence[str] = SERVER_COMMAND) -> int:
    """Run one command line. Returns the exit code: 0 done, 1 failed, 2 wrong usage, 130 interrupted, and 3 if a
    folder that is not trusted would have been changed.
    """
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot encode a character shows a question mark, instead of ending the run.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        code = _carry_out(arguments, server_command)
        sys.stdout.flush()
        return code
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # Nobody reads the output any more.
        return FAILED
    except OSError as error:
        if error.filename is not None:
            raise
        # Only a stream has no name.
        sys.stderr.write(f"planloom: The output cannot be written: {error.strerror}.\n")
        return FAILED


def _carry_out(arguments: Sequence[str], server_command: Sequence[str]) -> int:
    name, *rest = arguments or [""]
    if name in ("", "-h", "--help"):
        _overview().print_help(None if name else sys.stderr)
        return DONE if name else USAGE
    if name not in COMMANDS:
        usage(
            f"There is no command {name!r}. `planloom run TEXT` carries out a request; `planloom --help` lists the "
            "commands."
        )
    chosen = COMMANDS[name]
    given = chosen.parsed(rest)
    work = chosen.perform(given)
    if isinstance(work, int):
        return work
    with started([*server_command, *server_options(given)]) as server:
        # Imported while the server starts, as is all that the work needs.
        import asyncio

        return asyncio.run(work(server))


def _overview() -> ArgumentParser:
    """What `--help` shows without a command."""
    parser = ArgumentParser(
        "planloom",
        description="Turn a request into a plan that you review, and the plan into edits of your files.",
        epilog="`planloom COMMAND --help` tells more. `planloom serve --stdio` is the language server, for editors.",
    )
    parser.add_argument("-V", "--version", action="store_true", help="show the version and exit")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND [options]", prog="planloom")
    for each in COMMANDS.values():
        commands.add_parser(each.name, help=each.help)
    return parser


def _document(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        usage(f"{file} cannot be read: {error}.")


def _request_text(text: str | None) -> str:
    """The request, read from standard input for `-`; empty if there is none, as with a template."""
    if text is None:
        return ""
    text = sys.stdin.read() if text == "-" else text
    if not text.strip():
        usage("The request is empty.")
    return text
