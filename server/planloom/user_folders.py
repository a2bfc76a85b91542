"""The folders of the user for Planloom's own files.

platformdirs knows those of every system. For Linux the XDG Base Directory Specification says them in two lines, so that
a server there does without the library: it imports tempfile and the modules of compression, 1.2 MB of an idle server.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

_NAME = "planloom"


def state_folder() -> Path:
    """The default folder of the ledger, the log and the decisions."""
    folder = _of_linux("XDG_STATE_HOME", ".local/state")
    if folder is not None:
        return folder
    from platformdirs import user_state_path

    return user_state_path(_NAME, appauthor=False)


def config_folder() -> Path:
    """The folder of the user's configuration."""
    folder = _of_linux("XDG_CONFIG_HOME", ".config")
    if folder is not None:
        return folder
    from platformdirs import user_config_path

    return user_config_path(_NAME, appauthor=False)


def _of_linux(variable: str, below_home: str) -> Path | None:
    """The folder by the environment; None if the library must look further, as on other systems."""
    if sys.platform != "linux" or "ANDROID_ROOT" in os.environ:
        return None
    named, home = os.environ.get(variable, ""), os.environ.get("HOME", "")
    # The specification ignores a relative path.
    if named.startswith("/"):
        return Path(named, _NAME)
    return Path(home, below_home, _NAME) if home.startswith("/") else None
