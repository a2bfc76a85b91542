"""The version stands once, and everything else tells the same."""

from __future__ import annotations

import json
from importlib import metadata
from pathlib import Path

from planloom.version import VERSION

PROJECT = Path(__file__).parents[1]


def test_the_installed_package_has_this_version() -> None:
    assert metadata.version("planloom") == VERSION, "`make setup` installs it anew"


def test_the_extension_is_of_the_same_version() -> None:
    manifest = json.loads((PROJECT / "client-vscode" / "package.json").read_text(encoding="utf-8"))
    assert manifest["version"] == VERSION
