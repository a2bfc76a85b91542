"""Writes the names that the server announces, which it needs before it has loaded the modules that define them."""

from __future__ import annotations

from collections.abc import Iterable

from planloom.lsp.commands import COMMANDS
from planloom.lsp.wire.events import messages

_HEAD = '''\
"""The names that the answer to `initialize` announces. Written by `make generate`; a test compares it.

That answer must not wait for the modules that define the events (`domain/events/catalog`) and commands (`commands`).
"""
'''


def module() -> str:
    """The whole module."""
    return "\n".join(
        (
            _HEAD,
            _names("EVENT_TYPES", messages()),
            _names("COMMAND_NAMES", (command.name for command in COMMANDS)),
        )
    )


def _names(constant: str, names: Iterable[str]) -> str:
    return f"{constant} = (\n" + "".join(f'    "{name}",\n' for name in names) + ")\n"
