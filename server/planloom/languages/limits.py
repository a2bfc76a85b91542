"""The bounds of a language server, and its end."""

from __future__ import annotations

from typing import Final

MOST_MEMORY: Final = 2 << 30
"""The most bytes of memory of a language server, with all that it has started."""


class ServerGone(Exception):
    """The language server has ended, or cannot be understood; the message says how, without its name."""
