"""A workspace for every test, and a state of its own for every server."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.test_cli import own_state


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace with one file, next to a place for state."""
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "a.txt").write_text("old\n")
    for name, value in own_state(folder).items():
        monkeypatch.setenv(name, value)
    return folder
