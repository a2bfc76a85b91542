"""`planloom completions`: the completion of the command line for a shell, made of the declaration of its arguments."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Mapping
from typing import Any, Final

import shtab

from planloom.cli.arguments import COMMANDS, PARSER
from planloom.cli.exit_codes import DONE

_PATHS: Final[Mapping[str, Any]] = {"DIR": shtab.DIRECTORY, "FILE": shtab.FILE}
"""What is completed for an argument, by its name in the help."""


def completions(args: Namespace) -> int:
    """Print the completions for a shell."""
    for command in COMMANDS.choices.values():
        for action in command._actions:
            if action.metavar in _PATHS:
                action.complete = _PATHS[str(action.metavar)]  # type: ignore[attr-defined]
    sys.stdout.write(shtab.complete(PARSER, shell=args.shell))
    return DONE
