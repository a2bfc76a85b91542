"""What the commands share: how they are declared, their common options, and the checks of their arguments."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, TypeAlias

from planloom.cli.client.server_process import Server
from planloom.cli.exit_codes import USAGE
from planloom.providers import TERMINAL_PROVIDER_CHOICES

Work: TypeAlias = Callable[[Server], Coroutine[Any, Any, int]]
"""What is done with the server, once it is started; its result is the exit code."""
Perform: TypeAlias = Callable[[Namespace], Work | int]
"""Checks the arguments of a command; its result is the work for which a server is started, or the exit code."""


class Option:
    """An option or argument of a command, in the words of `ArgumentParser.add_argument`."""

    def __init__(self, *names: str, **keywords: Any) -> None:
        self._names = names
        self._keywords = keywords

    @property
    def in_usage(self) -> str:
        """An argument as the line on usage shows it; empty for an option."""
        if self._names[0].startswith("-"):
            return ""
        forms = {"?": " [{}]", "*": " [{}]..."}
        return forms.get(self._keywords.get("nargs", ""), " {}").format(self._keywords["metavar"])

    def add_to(self, parser: ArgumentParser) -> None:
        """Declare it for a parser."""
        parser.add_argument(*self._names, **self._keywords)


class Command(NamedTuple):
    """A command, its one-sentence help, and its options in the order in which `--help` shows them."""

    name: str
    help: str
    options: Sequence[Option]
    perform: Perform

    def parsed(self, arguments: Sequence[str]) -> Namespace:
        """The values of its options. Raises SystemExit where they are wrong, or if help is all that was wanted."""
        parser = ArgumentParser(f"planloom {self.name}", description=self.help, allow_abbrev=False)
        parser.usage = f"%(prog)s [options]{''.join(each.in_usage for each in self.options)}"
        for option in self.options:
            option.add_to(parser)
        # Options may stand between arguments; but in Python 3.11 arguments are then read as options even after `--`.
        return parser.parse_args(arguments) if "--" in arguments else parser.parse_intermixed_args(arguments)


def command(name: str, *options: Option) -> Callable[[Perform], Command]:
    """Make a command of a function; its docstring is the help."""
    return lambda perform: Command(name, perform.__doc__ or "", options, perform)


def flag(*names: str, **keywords: Any) -> Option:
    """An option without a value, False unless it is given."""
    return Option(*names, action="store_true", **keywords)


def several(*names: str, **keywords: Any) -> Option:
    """An option that may be repeated; an empty list unless it is given."""
    return Option(*names, action="append", default=[], **keywords)


def whole_number(least: int, most: int | None = None) -> Callable[[str], int]:
    """The type of an option whose value is a whole number within bounds."""

    def parsed(text: str) -> int:
        number = int(text) if text.isdecimal() else -1
        if number < least or (most is not None and number > most):
            bounds = f"from {least} to {most}" if most is not None else f"of at least {least}"
            raise ArgumentTypeError(f"{text!r} is not a whole number {bounds}")
        return number

    return parsed


WORKSPACE = several(
    *("-w", "--workspace"),
    metavar="DIR",
    type=Path,
    help="the folder to work in (default: this one); may be repeated",
)
SET = several(
    *("--set", "--setting"), metavar="NAME=VALUE", help="any setting, such as execution.maxParallelSteps=2"
)
MODEL = (
    Option("--base-url", metavar="URL", help="the address of an OpenAI-compatible server"),
    Option("--model", metavar="NAME", help="the model to ask there"),
    Option("--provider", choices=TERMINAL_PROVIDER_CHOICES, help="who serves the model"),
    SET,
)
TEMPLATE = Option("--template", metavar="NAME", help="plan by this template; `planloom templates` lists them")
PARAMETERS = several("-p", "--param", metavar="NAME=VALUE", help="a value of the template; may be repeated")
TRUST = flag("--trust", help="trust the folder in this run, without asking")
YES = flag("-y", "--yes", help="approve the plan and its writes")
YES_COMMANDS = flag("--yes-commands", help="also allow commands, web pages, deletes and protected names")


def usage(sentence: str) -> NoReturn:
    """End with the exit code for wrong usage."""
    sys.stderr.write(f"planloom: {sentence}\n")
    raise SystemExit(USAGE)


def is_terminal() -> bool:
    """Whether a person can be asked: stdin is a terminal, and stdout or stderr is one."""
    return sys.stdin.isatty() and (sys.stdout.isatty() or sys.stderr.isatty())


def folders(paths: Sequence[Path]) -> list[Path]:
    """The folders to work in, resolved; wrong usage if one is none."""
    found = [folder.resolve() for folder in paths or [Path()]]
    for folder in found:
        if not folder.is_dir():
            usage(f"{folder} is not a folder.")
    return found


def parameters(assignments: Sequence[str]) -> dict[str, str]:
    """The values of a template; wrong usage if one has no name."""
    return dict(_assignment("--param", assignment) for assignment in assignments)


def server_options(given: Namespace) -> list[str]:
    """The options of the server with the settings of this command line, which override all others."""
    if given.set:
        _check_settings(dict(_assignment("--set", assignment) for assignment in given.set))
    named = vars(given)
    values = {f"model.{name}": named.get(option) for name, option in _MODEL_SETTINGS}
    # Quoted as JSON, a name that looks like a number stays a string.
    options = [f"{name}={json.dumps(value)}" for name, value in values.items() if value is not None]
    # A plan that a flag has approved was read by nobody, so its approval covers no command.
    unread = ["approvals.plan=none"] if getattr(given, "yes", False) else []
    return [f"--setting={assignment}" for assignment in given.set + options + unread]


_MODEL_SETTINGS = (("baseUrl", "base_url"), ("name", "model"), ("provider", "provider"))
"""The settings of the model, and the options that fill them."""


def _check_settings(values: Mapping[str, str]) -> None:
    """Wrong usage if one is no setting, or its value is none."""
    # Imported here, with pydantic, since few command lines set anything.
    from planloom.settings import from_text, resolve

    problems = resolve({"command_line": {name: from_text(value) for name, value in values.items()}}).problems
    if problems:
        usage("; ".join(f"--set {field}: {reason.rstrip('.')}" for field, reason in problems) + ".")


def _assignment(option: str, text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        usage(f"{option} needs NAME=VALUE, not {text!r}.")
    return name, value
