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
LEFT: Final = 4
"""The plan is left for later: it needs a person, or its person has left it. `planloom resume` takes it up again."""
INTERRUPTED: Final = 130
"""A person pressed Ctrl-C before there was a plan, or twice: then the plan was cancelled."""
