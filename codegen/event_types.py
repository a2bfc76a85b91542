"""Writes the types of events as plain strings, which the server needs before it has loaded the models of events."""

from __future__ import annotations

from planloom.lsp.wire.events import MESSAGES

_HEAD = '''\
"""The types of events, in the order of the catalogue. Written by `python -m codegen`; a test compares it with the code.

They are listed here because the answer to `initialize` names them and must not wait for the models of events.
"""

EVENT_TYPES = (
'''


def module() -> str:
    """The whole module."""
    return _HEAD + "".join(f'    "{name}",\n' for name in MESSAGES) + ")\n"
