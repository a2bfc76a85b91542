"""Text of others can neither hide nor command."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planloom.cli.plain import one_line, visible

SHOWN = [
    ("plain text", "plain text"),
    ("tab\tand\nline", "tab\tand\nline"),
    ("windows\r\nline", "windows\nline"),
    ("over\rwritten", "over<U+000D>written"),
    ("\x1b[31mred", "<U+001B>[31mred"),
    ("\x1b]8;;http://x\x07link", "<U+001B>]8;;http://x<U+0007>link"),
    ("\x9b31m", "<U+009B>31m"),
    ("user\u202etxt.exe", "user<U+202E>txt.exe"),
    ("a\u200bb\u2060c\ufeffd", "a<U+200B>b<U+2060>c<U+FEFF>d"),
    ("tag\U000e0041", "tag<U+E0041>"),
    ("hangul\u3164filler", "hangul<U+3164>filler"),
    ("lone\ud800", "lone<U+D800>"),
    ("line\u2028sep", "line<U+2028>sep"),
    ("grüße 日本 😀 e\u0301", "grüße 日本 😀 e\u0301"),
    ("[bold]markup[/bold] :smile:", "[bold]markup[/bold] :smile:"),
]


@pytest.mark.parametrize(("text", "shown"), SHOWN)
def test_hidden_characters_are_written_out(text: str, shown: str) -> None:
    assert visible(text) == shown


@given(st.text(), st.integers(1, 50))
def test_one_line_is_one_short_line(text: str, limit: int) -> None:
    line = one_line(text, limit)
    assert "\n" not in line
    assert len(line) <= limit
    assert visible(line) == line
