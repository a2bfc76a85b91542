"""Each editor has a page with a configuration of at most ten lines, and what was not run is said to be so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
FOLDER = PROJECT / "docs" / "editors"
TRIED = {"neovim": "make editors", "emacs": "make editors", "vscode": "make e2e"}
BY_HAND = ("kate",)
NOT_RUN = ("helix", "sublime", "zed", "jetbrains")


@pytest.mark.parametrize("name", [*TRIED, *BY_HAND, *NOT_RUN])
def test_a_page_says_how_it_was_tried_and_its_configuration_is_short(name: str) -> None:
    page = (FOLDER / f"{name}.md").read_text(encoding="utf-8")
    tried = TRIED.get(name)
    if tried:
        assert f"`{tried}`" in page and "Tried with" in page
    else:
        words = r"Tried by hand on \d{4}-\d\d-\d\d with \w+ \d" if name in BY_HAND else "Not run here"
        assert re.search(words, page)
    assert f"]({name}.md)" in (FOLDER / "README.md").read_text(encoding="utf-8")
    if name == "vscode":
        return
    blocks = re.findall(r"^```\w*\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert blocks
    for block in blocks:
        assert "planloom" in block and len([line for line in block.splitlines() if line]) <= 10


@pytest.mark.parametrize("name", [name for name, by in TRIED.items() if by == "make editors"])
def test_the_journeys_use_the_configuration_of_the_page(name: str) -> None:
    journeys = (PROJECT / "tests" / "editors" / f"test_{name}.py").read_text(encoding="utf-8")
    assert f'configuration_of("{name}.md")' in journeys
