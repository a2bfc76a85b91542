"""Compares a text with its golden file, which `make generate` writes anew after a change that is meant."""

from __future__ import annotations

import os
from pathlib import Path

_UPDATE = bool(os.environ.get("PLANLOOM_UPDATE_GOLDEN"))


def check_golden(path: Path, text: str) -> None:
    """Compare a text with its golden file, or write the file where golden files are written anew."""
    if _UPDATE:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    found = path.read_text(encoding="utf-8") if path.exists() else ""
    assert text == found, f"{path} differs: if the change is meant, run `make generate` and read its diff"
