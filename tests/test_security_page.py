"""The page on security names tests that are there."""

from __future__ import annotations

import re
from pathlib import Path

PROJECT = Path(__file__).parents[1]
PAGE = (PROJECT / "docs" / "security.md").read_text(encoding="utf-8")


def test_every_test_that_is_named_exists() -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE)
    assert len(named) > 50
    for file, test in named:
        source = (PROJECT / file).read_text(encoding="utf-8")
        assert re.search(rf"def {test}\(", source), f"{file}::{test}"


def test_every_file_that_is_named_exists() -> None:
    for file in re.findall(r"`((?:client-vscode|tests)/[\w./-]+\.\w+)`", PAGE):
        assert (PROJECT / file).is_file(), file
