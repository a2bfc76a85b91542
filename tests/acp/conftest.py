"""The folder of the person whom a client serves."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The workspace of the person, who has settings and a state folder of the test."""
    monkeypatch.setenv("PLANLOOM_CONFIG", str(tmp_path / "settings.json"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "a.txt").write_text("old\n")
    return workspace
