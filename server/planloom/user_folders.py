"""The folders of the user for Planloom's own files, and how one of these is written."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

from platformdirs import user_config_path, user_state_path

_NAME = "planloom"


def state_folder() -> Path:
    """The default folder of the ledger, the log and the decisions."""
    return user_state_path(_NAME, appauthor=False)


def config_folder() -> Path:
    """The folder of the user's configuration."""
    return user_config_path(_NAME, appauthor=False)


def replace_file(path: Path, text: str, mode: int | None = None) -> None:
    """Replace a file whole, or leave it as it is, and nothing beside it. A link to it stays one.

    Without `mode` it keeps its own; a new one is for the user alone. Raises OSError, and ValueError if no file can
    hold the text.
    """
    real = Path(os.path.realpath(path))
    real.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if mode is None and real.exists():
        mode = real.stat().st_mode & 0o777
    handle, name = tempfile.mkstemp(dir=real.parent, prefix=f"{real.name}.")
    with contextlib.ExitStack() as on_failure:
        on_failure.callback(Path(name).unlink)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(mode or 0o600)
        Path(name).replace(real)
        on_failure.pop_all()
