"""Programs that Planloom itself runs: never one that an opened folder brings along."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path


def find_program(name: str, roots: Sequence[Path]) -> Path | None:
    """A program of the search path, at an absolute path outside every one of the folders, behind links too."""
    inside = [root.resolve() for root in roots]
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        if not Path(folder).is_absolute():
            continue
        program = Path(folder, f"{name}.exe" if os.name == "nt" else name)
        real = program.resolve()
        if any(real.is_relative_to(root) or program.is_relative_to(root) for root in inside):
            continue
        if real.is_file() and os.access(real, os.X_OK):
            return program
    return None
