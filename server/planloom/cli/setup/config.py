"""`planloom config`: shows the user's settings and where they come from, and sets one for all commands and editors."""

from __future__ import annotations

import json
import os
import sys
from argparse import Namespace
from typing import Any, Final

from planloom.cli.arguments import usage
from planloom.cli.exit_codes import DONE, FAILED
from planloom.cli.terminal import show
from planloom.settings import (
    NO_SUCH,
    Settings,
    Source,
    dotted,
    fields,
    from_text,
    resolve,
    source_of,
)
from planloom.user_settings import (
    from_environment,
    from_user_file,
    set_in_user_file,
    user_file,
    variable_of,
)

_EXAMPLE: Final = "planloom config set model.baseUrl http://localhost:8080/v1"


def config(args: Namespace) -> int:
    """Show the settings, or get, set or unset one. Returns the exit code."""
    if args.action == "path":
        sys.stdout.write(f"{user_file()}\n")
        return DONE
    if args.action == "show":
        return _show()
    name = _known(args.name)
    if args.action == "get":
        return _get(name)
    return _set(name, args.value)


def _show() -> int:
    found, problem = sources()
    path = user_file()
    show.say(f"{path}{'' if path.exists() else '  (there is no such file yet)'}", "bold")
    resolved = resolve(found)
    defaults = _values(Settings())
    changed = {name: value for name, value in _values(resolved.settings).items() if value != defaults[name]}
    for name, value in changed.items():
        where = variable_of(name) if source_of(found, name) == "environment" else path.name
        show.say(f"  {name} = {written(value)}  ({where})")
    if not changed:
        show.say("  Every setting has its default.")
    problems = [
        *([problem] if problem else []),
        *(f"{each.field}: {each.reason}" for each in resolved.problems),
    ]
    for each in problems:
        show.say(f"  {each}", "bold red", stderr=True)
    show.say(f"`{_EXAMPLE}` sets one; docs/settings.md has all. An editor may set more.", "dim")
    return FAILED if problems else DONE


def _get(name: str) -> int:
    found, _ = sources()
    value = _values(resolve(found).settings)[name]
    sys.stdout.write(f"{value if isinstance(value, str) else written(value)}\n")
    return DONE


def _set(name: str, text: str | None) -> int:
    """Set a setting in the user's file, or with None take it out."""
    value = None if text is None else from_text(text)
    if isinstance(text, str) and fields()[name].annotation is str:
        # A text that looks like a number is meant as it is written.
        value = text if not isinstance(value, str) else value
    problems = resolve({"user": {name: value}}).problems
    if problems:
        usage(f"{name}: {problems[0].reason.rstrip('.')}.")
    try:
        set_in_user_file(user_file(), name, value)
    except (OSError, ValueError) as error:
        show.say(f"{user_file()} cannot be changed: {error}", "bold red", stderr=True)
        return FAILED
    what = "has its default again" if value is None else f"is {written(value)}"
    show.say(f"{name} {what}, in {user_file()}.")
    if (variable := variable_of(name)) in os.environ:
        show.say(f"{variable} is set in the environment, and counts instead where it is.", "yellow")
    return DONE


def sources() -> tuple[dict[Source, Any], str | None]:
    """The user's own sources, and the problem of the file."""
    values, problem = from_user_file(user_file())
    if not isinstance(values, dict):
        values, problem = {}, f"the configuration file {user_file()} holds no object of settings"
    return {"environment": from_environment(os.environ), "user": values}, problem


def _known(name: str) -> str:
    """The name of a setting in its one spelling; wrong usage if there is none."""
    ((known, _),) = dotted({name: ""})
    if known not in fields():
        problems = resolve({"user": {name: ""}}).problems
        usage(f"{name}: {problems[0].reason if problems else NO_SUCH}.")
    return known


def _values(settings: Settings) -> dict[str, Any]:
    """Each setting by its dotted name."""
    return dict(dotted(settings.model_dump(by_alias=True)))


def written(value: Any) -> str:
    """A value as it is written in the file."""
    return json.dumps(value, ensure_ascii=False)
