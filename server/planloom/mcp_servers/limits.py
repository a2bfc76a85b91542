"""The bounds of an MCP server."""

from __future__ import annotations

from typing import Final

MOST_MESSAGE: Final = 8 << 20
"""The most bytes of one message."""
MOST_AT_ONCE: Final = 32 << 20
"""The most bytes that a server may send between two messages of ours; one that sends more is ended."""
START_SECONDS: Final = 30.0
"""How long the first request of a plan waits for servers to start."""
LIST_SECONDS: Final = 10.0
"""How long a server may take to list what it has."""
MOST_STARTS: Final = 2
MOST_PAGES: Final = 20
MOST_PROGRESS: Final = 200
"""The most reports of progress of one call that are shown."""
