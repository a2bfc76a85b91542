"""The bounds of what a language server sends, and its end."""

from __future__ import annotations

from typing import Final

MOST_MESSAGE: Final = 32 << 20
"""The most bytes of one message of a language server."""
MOST_AT_ONCE: Final = 128 << 20
"""The most bytes that a language server may send between two questions; one that sends more is ended."""


class ServerGone(Exception):
    """The language server has ended, or cannot be understood; the message says how, without its name."""
