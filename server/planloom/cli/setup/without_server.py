"""The work of each command that needs no server."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Mapping

from planloom.cli.setup.completions import completions
from planloom.cli.setup.config import config
from planloom.cli.setup.keys import key
from planloom.cli.setup.trust import trust

WITHOUT_SERVER: Mapping[str, Callable[[Namespace], int]] = {
    "trust": trust,
    "key": key,
    "config": config,
    "completions": completions,
}
