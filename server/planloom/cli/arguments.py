"""The commands with their options, and the checks of their arguments before a server is started."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NoReturn, get_args, get_type_hints

from planloom.cli.client.messages import PlanSummary
from planloom.cli.exit_codes import USAGE
from planloom.providers import PROVIDERS, TERMINAL_PROVIDER_CHOICES


def usage(sentence: str) -> NoReturn:
    """End with the exit code for wrong usage."""
    sys.stderr.write(f"planloom: {sentence}\n")
    raise SystemExit(USAGE)


def parsed(words: Sequence[str]) -> Namespace:
    """The values of a command line; `command` is its name, and at a `terminal` a person can be asked.

    Raises SystemExit where they are wrong, or if help is all that was wanted.
    """
    name, *rest = words or [""]
    at_terminal = sys.stdin.isatty() and (sys.stdout.isatty() or sys.stderr.isatty())
    if name in ("-h", "--help") or not (name or at_terminal):
        PARSER.print_help(None if name else sys.stderr)
        raise SystemExit(0 if name else USAGE)
    if not name or (name.startswith("-") and at_terminal):
        name, rest = SESSION, [*words]
    elif name not in COMMANDS.choices and (" " in name.strip() or "@" in name):
        # A request, as no command is.
        name, rest = "run", [name, *rest]
    if name not in COMMANDS.choices:
        near = get_close_matches(name, COMMANDS.choices, 1)
        meant = f"Did you mean `planloom {near[0]}`? " if near else ""
        usage(
            f"There is no command {name!r}. {meant}`planloom 'what should be done'` carries out a request; "
            "`planloom --help` lists the commands."
        )
    chosen = COMMANDS.choices[name]
    # Options may stand between arguments; but in Python 3.11 arguments are then read as options even after `--`.
    args = chosen.parse_args(rest) if "--" in rest else chosen.parse_intermixed_args(rest)
    args.command = name
    args.terminal = at_terminal
    args.workspace = getattr(args, "workspace", None) or [Path()]
    return args


def sentence(name: str) -> str:
    """The sentence on a command."""
    return COMMANDS.choices[name].description or ""


def check(args: Namespace) -> None:
    """End with the exit code for wrong usage where the values do not go together; read the texts that they name."""
    if args.command == "doctor":
        # A folder that is missing is what it looks for.
        args.workspace = [path.resolve() for path in args.workspace]
    else:
        args.workspace = [folder(path) for path in args.workspace]
    args.check(args)


def folder(path: Path) -> Path:
    """A folder to work in, resolved; wrong usage if it is none."""
    found = path.resolve()
    if not found.is_dir():
        usage(f"{found} is not a folder.")
    return found


def server_options(args: Namespace) -> list[str]:
    """The options of the server with the settings of this command line, which override all others."""
    if args.set:
        _check_settings(args.set)
    named = vars(args)
    if url := named.get("base_url"):
        _check_address(url)
    options = [f"{name}={value}" for name, value in model_settings(args)]
    # A plan that a flag has approved was read by nobody, so its approval covers no command.
    unread = ["approvals.plan=none"] if named.get("yes") else []
    settings = [f"{name}={value}" for name, value in args.set]
    return [f"--setting={assignment}" for assignment in settings + options + unread]


def model_settings(args: Namespace) -> list[tuple[str, str]]:
    """The settings of the model that options name. Quoted as JSON, a name that looks like a number stays a string."""
    values = {name: vars(args).get(option) for name, option in MODEL_SETTINGS}
    return [(name, json.dumps(value)) for name, value in values.items() if value is not None]


MODEL_SETTINGS = (("model.baseUrl", "base_url"), ("model.name", "model"), ("model.provider", "provider"))
"""The settings of the model, and the options that fill them."""


def _check_settings(assignments: Sequence[tuple[str, str]]) -> None:
    """Wrong usage if one is no setting, or its value is none."""
    # Imported here, with pydantic, since few command lines set anything.
    from planloom.settings import from_text, resolve

    problems = resolve({"command_line": {name: from_text(value) for name, value in assignments}}).problems
    if problems:
        usage("; ".join(f"--set {field}: {reason.rstrip('.')}" for field, reason in problems) + ".")


def _check_address(url: str) -> None:
    """Wrong usage if no model server can have this address."""
    # Imported here, with pydantic, since few command lines have an address.
    from planloom.domain.errors import ModelFailed
    from planloom.models.http.endpoint import endpoint_of

    try:
        endpoint_of(url)
    except ModelFailed as failure:
        usage(f"--base-url: {failure.message}")


def _assignment(option: str) -> Callable[[str], tuple[str, str]]:
    def split(text: str) -> tuple[str, str]:
        name, equals, value = text.partition("=")
        if not equals or not name:
            usage(f"{option} needs NAME=VALUE, not {text!r}.")
        return name, value

    return split


def _whole_number(least: int, most: int | None = None) -> Callable[[str], int]:
    def number(text: str) -> int:
        found = int(text) if text.isdecimal() else -1
        if found < least or (most is not None and found > most):
            bounds = f"from {least} to {most}" if most is not None else f"of at least {least}"
            raise ArgumentTypeError(f"{text!r} is not a whole number {bounds}")
        return found

    return number


def _status(text: str) -> str:
    known = get_args(get_type_hints(PlanSummary)["status"])
    status = text.replace(" ", "_")
    if status not in known:
        raise ArgumentTypeError(f"{text!r} is none of {', '.join(known)}")
    return status


def _text_of(file: str) -> str:
    """The text of a file, or of standard input for `-`; wrong usage if it cannot be read."""
    try:
        return sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        usage(f"{file} cannot be read: {error}.")


def _new_file(text: str) -> Path:
    if Path(text).exists():
        usage(f"{text} exists already.")
    return Path(text)


def _read_request(args: Namespace) -> None:
    """Read the request from standard input for `-`, where nobody can be asked then; no text is empty."""
    args.terminal &= args.text != "-"
    if args.text == "-":
        args.text = sys.stdin.read()
    if args.text is not None and not args.text.strip():
        usage("The request is empty.")
    args.text = args.text or ""


def _check_run(args: Namespace) -> None:
    if not args.terminal and not args.yes:
        usage(
            "There is no terminal to ask at. Use --yes to approve the plan and its writes, or `planloom plan`."
        )
    if args.text is None and args.template is None:
        usage("Give a request, or --template NAME.")
    _read_request(args)


def _check_plan(args: Namespace) -> None:
    if (args.text is None and args.template is None) == (args.document is None):
        usage("Give either a request, --template NAME or --from FILE.")
    if args.document is not None:
        args.document = _text_of(args.document)
    _read_request(args)


def _check_memory(args: Namespace) -> None:
    if sum((bool(args.words), args.forget is not None, args.forget_all)) > 1:
        usage("Give words, --forget or --forget-all.")


def _check_import(args: Namespace) -> None:
    args.text = _text_of(args.text)


def _check_key(args: Namespace) -> None:
    if (args.action == "list") != (args.provider is None):
        usage("`key set` and `key remove` take a PROVIDER, `key list` takes none.")


def _check_config(args: Namespace) -> None:
    wanted = {"set": 2, "get": 1, "unset": 1}.get(args.action, 0)
    if sum(each is not None for each in (args.name, args.value)) != wanted:
        usage(
            "Give `config`, `config path`, `config get NAME`, `config set NAME VALUE` or `config unset NAME`."
        )


def _check_trust(args: Namespace) -> None:
    if args.list and not (args.rules or args.rule) and (args.paths or args.revoke):
        usage("--list takes no folder and no other option.")


def _check_answerable(what: str) -> Callable[[Namespace], None]:
    def check(args: Namespace) -> None:
        if not args.terminal and not args.yes:
            usage(f"There is no terminal to ask at. Use --yes to {what}.")

    return check


def _check_mcp(args: Namespace) -> None:
    if sys.stdin.isatty():
        usage("An agent's client starts `planloom mcp` and speaks MCP with it: docs/mcp-server.md says how.")
    args.roots = [folder(path) for path in args.roots]


def _check_session(args: Namespace) -> None:
    if not args.terminal:
        usage("A session needs a terminal. `planloom run TEXT` carries out one request.")


def _option(*names: str, **keywords: Any) -> ArgumentParser:
    """A parser of one option, which is a parent of each command that has it."""
    parent = ArgumentParser(add_help=False)
    parent.add_argument(*names, **keywords)
    return parent


_FOLDERS = _option(
    "-w",
    "--workspace",
    metavar="DIR",
    type=Path,
    action="append",
    help="the folder to work in (default: this one); may be repeated",
)
_SET = _option(
    *("--set", "--setting"),
    metavar="NAME=VALUE",
    type=_assignment("--set"),
    action="append",
    default=[],
    help="any setting, such as execution.maxParallelSteps=2",
)
_MODEL = (
    _option("--base-url", metavar="URL", help="the address of an OpenAI-compatible server"),
    _option("--model", metavar="NAME", help="the model to ask there"),
    _option("--provider", choices=TERMINAL_PROVIDER_CHOICES, help="who serves the model"),
    _SET,
)
_TEXT = _option("text", metavar="TEXT", nargs="?", help="what should be done; - reads it from standard input")
_TEMPLATE = _option(
    "--template", metavar="NAME", help="plan by this template; `planloom templates` lists them"
)
_VALUES = _option(
    "-p",
    "--param",
    metavar="NAME=VALUE",
    type=_assignment("--param"),
    action="append",
    default=[],
    help="a value of the template; may be repeated",
)
_TRUST = _option("--trust", action="store_true", help="trust the folder in this run, without asking")
_YES = _option("-y", "--yes", action="store_true", help="approve the plan and its writes")
_YES_COMMANDS = _option(
    "--yes-commands",
    action="store_true",
    help="also allow commands, web pages, deletes and protected names, but not again what a crash has cut off",
)
_PLAN = _option("plan", metavar="PLAN", nargs="?", help="the beginning of its id (default: the newest plan)")
_EVENTS = _option(
    "--json",
    action="store_true",
    help="events as JSON lines on standard output, everything else on standard error",
)
_ANSWER = _option("--json", action="store_true", help="the answer of the server as JSON, for programs")

PARSER = ArgumentParser(
    "planloom",
    description="Turn a request into a plan that you review, and the plan into edits of your files.",
    epilog="`planloom COMMAND --help` tells more. `planloom serve --stdio` is the language server, for editors, "
    "`planloom acp` the agent for clients of the Agent Client Protocol.",
)
PARSER.add_argument("-V", "--version", action="store_true", help="show the version and exit")
COMMANDS = PARSER.add_subparsers(title="commands", metavar="COMMAND [options]", prog="planloom")


def _command(
    name: str,
    sentence: str,
    *options: ArgumentParser,
    arguments: str = "",
    check: Callable[[Namespace], None] = lambda _: None,
    needs_server: bool = True,
) -> ArgumentParser:
    """Add a command; `arguments` is what stands behind its options in the line on usage."""
    parser = COMMANDS.add_parser(
        name,
        usage=f"%(prog)s [options]{arguments}",
        help=sentence,
        description=sentence,
        parents=options,
        allow_abbrev=False,
    )
    parser.set_defaults(check=check, needs_server=needs_server)
    return parser


SESSION = "session"
"""The command of an interactive session."""
_command(
    SESSION,
    "Open an interactive session; `planloom` alone does so at a terminal.",
    *(_FOLDERS, _TRUST, *_MODEL),
    check=_check_session,
)
_command(
    "run",
    "Plan the request, ask for approval, and execute the plan on the files of the workspace.",
    *(_TEXT, _TEMPLATE, _VALUES, _FOLDERS, _YES, _YES_COMMANDS),
    _option(
        "--mode",
        choices=("auto", "plan", "direct", "perspectives"),
        default="auto",
        help="plan if the request needs it (the default), always, never, or always with perspectives",
    ),
    _option(
        "-c",
        "--continue",
        action="store_true",
        dest="follows",
        help="continue the latest ended plan of the workspace",
    ),
    _option(
        "--review",
        choices=("each", "end", "auto"),
        help="ask for each step's writes, once at the end, or only for what is dangerous",
    ),
    *(_TRUST, *_MODEL, _EVENTS),
    arguments=" [TEXT]",
    check=_check_run,
).set_defaults(document=None)
_command(
    "plan",
    "Show the plan for a request, or one from a document; nothing is changed. `planloom resume` runs it.",
    _TEXT,
    _option(
        "--from",
        metavar="FILE",
        dest="document",
        help="take the plan from a plan document, for example one that is kept in git",
    ),
    *(_TEMPLATE, _VALUES, _FOLDERS),
    _option(
        "--mode",
        choices=("plan", "perspectives"),
        default="plan",
        help="without perspectives on the request (the default), or with them",
    ),
    *(_TRUST, *_MODEL, _EVENTS),
    arguments=" [TEXT]",
    check=_check_plan,
).set_defaults(yes=False, yes_commands=False, follows=False, review=None)
_command(
    "doctor",
    "Check everything that Planloom needs, and say what is missing and what to do about it.",
    *(_FOLDERS, *_MODEL),
    _option(
        "--repair", action="store_true", help="check the plan ledger instead, and repair it if it is damaged"
    ),
    _option("-y", "--yes", action="store_true", help="repair the ledger without asking"),
    _option(
        "--report",
        metavar="FILE",
        nargs="?",
        const="planloom-report.txt",
        type=_new_file,
        help="also write it all, without secrets and names, into a file for an issue; never over a file"
        " (default: planloom-report.txt)",
    ),
)
_command(
    "plans",
    "List the plans of this folder, newest first.",
    _FOLDERS,
    _option(
        "--status",
        metavar="STATUS",
        type=_status,
        action="append",
        help="only those that are paused, completed …; may be repeated",
    ),
    _option("--all", dest="everywhere", action="store_true", help="those of all folders"),
    _option(
        "--here",
        dest="everywhere",
        action="store_false",
        default=False,
        help="those of this folder (the default)",
    ),
    _option(
        "-n",
        "--limit",
        metavar="N",
        type=_whole_number(1, 1000),
        default=20,
        help="at most so many (default: %(default)s)",
    ),
    *(_SET, _ANSWER),
)
_command(
    "show",
    "Show a plan: its request, its steps and their results, and what it has changed and run.",
    *(_PLAN, _FOLDERS, _SET, _ANSWER),
    arguments=" [PLAN]",
)
_command(
    "diff",
    "Show all that a plan has changed, as a unified diff.",
    *(_PLAN, _FOLDERS, _SET),
    arguments=" [PLAN]",
)
_command(
    "stats",
    "Show the figures of all plans that have ended: success, undone, requests, tokens and time by model.",
    _option(
        "--days", metavar="N", type=_whole_number(1, 36_500), help="only the plans of the last so many days"
    ),
    *(_FOLDERS, _SET, _ANSWER),
)
_command(
    "memory",
    "Show what earlier plans of this folder found and did; models get it with a similar request.",
    _option("words", metavar="WORDS", nargs="*", help="only those with one of these words"),
    _option("--forget", metavar="PLAN", help="delete what is kept of the plan with this id"),
    _option("--forget-all", action="store_true", help="delete what is kept of all plans of this folder"),
    *(_FOLDERS, _SET, _ANSWER),
    arguments=" [WORDS]...",
    check=_check_memory,
)
_command(
    "templates",
    "List the templates of plans, or show one as its values fill it in. `planloom plan --template` plans by it.",
    _option("name", metavar="NAME", nargs="?", help="show the steps of this one"),
    *(_VALUES, _FOLDERS, _SET, _ANSWER),
    arguments=" [NAME]",
)
_command(
    "resume",
    "Go on with a plan that is paused or waits for approval. No effect is repeated.",
    _option(
        "plan",
        metavar="PLAN",
        nargs="?",
        help="the beginning of its id (default: the newest that has not ended)",
    ),
    *(_FOLDERS, _YES, _YES_COMMANDS, _TRUST, *_MODEL),
    _option("--json", action="store_true", help="events as JSON lines, as those of `run --json`"),
    arguments=" [PLAN]",
    check=_check_answerable("approve the plan and its writes"),
)
_command(
    "undo",
    "Take back what a plan or one of its steps has changed; what was typed since stays.",
    *(_PLAN, _FOLDERS),
    _option("--step", metavar="N", type=_whole_number(1), help="only what step N has changed"),
    _option("--redo", action="store_true", help="make again what the last undo has taken back"),
    _option("-y", "--yes", action="store_true", help="do not ask"),
    *(_TRUST, _SET),
    arguments=" [PLAN]",
    check=_check_answerable("take the changes back"),
)
_command(
    "export",
    "Write a plan as a document for `plan --from`, as a report, as JSON, or in full, to move it to another machine.",
    *(_PLAN, _FOLDERS),
    _option(
        "-f",
        "--format",
        choices=("document", "markdown", "json", "full"),
        default="document",
        help="for `plan --from` (the default), to read, for programs, or with all texts, to be imported elsewhere",
    ),
    _option("-o", "--output", metavar="FILE", type=_new_file, help="where to write it; never over a file"),
    _SET,
    arguments=" [PLAN]",
)
_command(
    "import",
    "Take over a plan from a full export. Nothing of it runs, and no plan is overwritten.",
    _option("text", metavar="FILE", help="what `export --format full` wrote; - reads standard input"),
    *(_FOLDERS, _SET),
    arguments=" FILE",
    check=_check_import,
)
_command(
    "trust",
    "Trust a folder, so that Planloom may follow its instructions, run git in it and, if you allow it, change it.",
    _option("paths", metavar="DIR", nargs="*", type=Path, help="the folders (default: this one)"),
    _option("--revoke", action="store_true", help="forget what was decided on them"),
    _option("--list", action="store_true", help="show the decisions on all folders"),
    _option(
        "--rules",
        action="store_true",
        help="show the commands that run in the folders without asking, always confined",
    ),
    _option(
        "--rule",
        metavar="COMMAND",
        action="append",
        default=[],
        help="allow it, or with --revoke take it back; `pytest …` for any arguments",
    ),
    _option(
        "--import",
        dest="imports",
        action="store_true",
        help="with --rules: allow what your own settings of Claude Code and Codex allow there",
    ),
    arguments=" [DIR]...",
    check=_check_trust,
    needs_server=False,
)
_command(
    "models",
    "List the models that can be used, and mark the one that would be.",
    *(_FOLDERS, *_MODEL, _ANSWER),
)
_command(
    "key",
    "Keep the key of a model service, list what is kept, or remove one. A key is read unseen, and never shown.",
    _option("action", metavar="set|list|remove", choices=("set", "list", "remove"), help="what to do"),
    _option(
        "provider",
        metavar="PROVIDER",
        nargs="?",
        choices=tuple(PROVIDERS),
        help="the service: openai, anthropic …",
    ),
    _option(
        "--base-url", metavar="URL", help="the server that the key is for, if it is not the service's own"
    ),
    arguments=" set|list|remove [PROVIDER]",
    check=_check_key,
    needs_server=False,
)
_command(
    "config",
    "Show your settings and where they come from, or set one for all commands and editors.",
    _option(
        "action",
        metavar="show|path|get|set|unset",
        nargs="?",
        choices=("show", "path", "get", "set", "unset"),
        default="show",
        help="what to do (default: show)",
    ),
    _option("name", metavar="NAME", nargs="?", help="a setting, such as model.baseUrl"),
    _option("value", metavar="VALUE", nargs="?", help="its value"),
    arguments=" [show|path|get|set|unset] [NAME] [VALUE]",
    check=_check_config,
    needs_server=False,
)
_command(
    "mcp",
    "Serve another agent by the Model Context Protocol over standard input and output; its client starts this.",
    _option(
        "-w",
        "--workspace",
        metavar="DIR",
        dest="roots",
        type=Path,
        action="append",
        default=[],
        help="the folder to work in (default: those that the client names, else this one); may be repeated",
    ),
    _option(
        "--ask-elsewhere",
        action="store_true",
        help="never ask through the client: plans wait for `planloom resume` or an editor",
    ),
    *(_TRUST, *_MODEL),
    check=_check_mcp,
    needs_server=False,
)
_command(
    "completions",
    "Print the completion of this command line for a shell.",
    _option("shell", metavar="bash|zsh|fish", choices=("bash", "zsh", "fish"), help="the shell"),
    arguments=" bash|zsh|fish",
    needs_server=False,
)
