"""Escapes untrusted text for the terminal, so that nothing in it is hidden, reordered or run as a control sequence."""

from __future__ import annotations

import json
import sys
from typing import Any

from planloom.domain.text import hidden_characters


def visible(text: str) -> str:
    """Replace each control, invisible and bidirectional character by its code, such as `<U+202E>`.

    Line feeds and tabs stay. A carriage return before a line feed is removed, since it has no effect there.
    """
    return hidden_characters.visible(text.replace("\r\n", "\n"), keep="\n\t")


def one_line(text: str, limit: int = 200) -> str:
    """Like `visible`, but on one line of at most `limit` characters, cut with an ellipsis."""
    line = " ".join(visible(text[: limit * 4]).split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def as_json(value: Any, *, indent: int | None = None) -> str:
    """JSON for standard output; in ASCII if that is a terminal, which would obey what stands in the strings."""
    return json.dumps(value, ensure_ascii=sys.stdout.isatty(), indent=indent)
