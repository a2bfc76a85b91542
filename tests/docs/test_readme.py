"""The targets that pages name are in the Makefile, and every page is listed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md"])
def test_the_targets_are_in_the_makefile(page: str) -> None:
    named = re.findall(r"(?:`|^|= )make (\w[\w-]*)", (PROJECT / page).read_text("utf-8"), re.MULTILINE)
    targets = re.findall(r"^([a-z0-9-]+):", (PROJECT / "Makefile").read_text("utf-8"), re.MULTILINE)
    assert named and set(named) <= set(targets)


def test_every_page_is_listed() -> None:
    listed = set(re.findall(r"\]\(([\w-]+\.md)\)", (PROJECT / "docs" / "README.md").read_text("utf-8")))
    assert listed == {path.name for path in (PROJECT / "docs").glob("*.md")} - {"README.md"}
