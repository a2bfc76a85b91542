"""The exit codes of every command."""

from __future__ import annotations

from typing import Final

DONE: Final = 0
"""All that was asked for is done."""
FAILED: Final = 1
"""It is not done: the plan failed, was cancelled or stopped, or the server refused the request or has ended."""
USAGE: Final = 2
"""The arguments are wrong. Nothing was started."""
UNTRUSTED: Final = 3
"""Something was to be written or run in a folder that is not trusted."""
INTERRUPTED: Final = 130
"""A person pressed Ctrl-C. A running plan was cancelled."""
