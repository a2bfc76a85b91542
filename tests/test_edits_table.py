"""What docs/edits.md says of Planloom is what happens."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.reproduce_edits_table import SITUATIONS, table


def test_the_page_says_what_is_shown_here() -> None:
    assert table() == {situation: said for situation, (said, _) in SITUATIONS.items()}


@pytest.mark.parametrize("situation", SITUATIONS)
async def test_it_happens_as_the_page_says(tmp_path: Path, situation: str) -> None:
    await SITUATIONS[situation][1](tmp_path)
