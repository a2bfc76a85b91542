"""How results that no longer fit are shortened in prompts."""

from __future__ import annotations

import pytest

from planloom.agent.prompts import ToolNote
from planloom.agent.result_budget import in_one_line


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a.txt\nb.txt", ": a.txt"),
        ("It failed. " + "And this goes on and on " * 40, ": It failed."),
        ("one endless sentence " * 40, "."),
        ("", "."),
    ],
)
def test_no_sentence_is_cut_in_half(text: str, told: str) -> None:
    assert in_one_line(ToolNote(name="look", args="{}", ok=True, text=text)) == f"look {{}} succeeded{told}"
