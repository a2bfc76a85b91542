"""The folders of the user for Planloom's own files."""

from __future__ import annotations

from pathlib import Path

from platformdirs import user_config_path, user_state_path

_NAME = "planloom"


def state_folder() -> Path:
    """The default folder of the ledger, the log and the decisions."""
    return user_state_path(_NAME, appauthor=False)


def config_folder() -> Path:
    """The folder of the user's configuration."""
    return user_config_path(_NAME, appauthor=False)
