"""Reads message headers that name a recipient, in the Harmony (gpt-oss) and Functionary formats."""

from __future__ import annotations

import re
from typing import NamedTuple

from planloom.domain.model_text.cursor import Cursor

_LONGEST = 300
_MESSAGE = "<|message|>"
_RECIPIENT = re.compile(r"to=([\w.:-]{1,120})")
_ROLE = re.compile(r"<\|start\|>\s*([\w.:-]{0,120})")
_CHANNEL = re.compile(r"<\|channel\|>\s*([a-z]{0,20})")
_BREAKS = ("<|start|>", "<|end|>", "<|return|>", "<|call|>", "\n\n")
_NAME = re.compile(r"[A-Za-z_][\w.-]*")
_FREE_TEXT = ("all\n", "all\r\n")
"""The Functionary header of free text."""


class Header(NamedTuple):
    """A Harmony header that ends at `end`; a part that it does not name is empty."""

    end: int
    role: str
    channel: str
    recipient: str


def read_header(cursor: Cursor) -> Header | None:
    """The Harmony header at the cursor, which does not move; None if there is none."""
    start = cursor.at
    window = cursor.text[start : start + _LONGEST]
    stop = min((index for word in _BREAKS if (index := window.find(word, 1)) >= 0), default=len(window))
    message = window.find(_MESSAGE, 0, stop)
    ends = [index for index in (window.find("{", 0, stop), message) if index >= 0]
    if not ends:
        if stop == len(window) < _LONGEST:
            cursor.require_final()
        return None
    end = min(ends)
    head = window[:end]
    role, channel, recipient = _ROLE.search(head), _CHANNEL.search(head), _RECIPIENT.search(head)
    if channel is None and recipient is None and role is None:
        return None
    return Header(
        end=start + end + (len(_MESSAGE) if end == message else 0),
        role=role[1] if role else "",
        channel=channel[1] if channel else "",
        recipient=recipient[1] if recipient else "",
    )


def free_text_header(cursor: Cursor) -> int:
    """The length of the Functionary header for free text at the cursor, 0 if there is none."""
    return next((len(header) for header in _FREE_TEXT if cursor.looking_at(header)), 0)


def names_call(cursor: Cursor) -> bool:
    """Whether a name on a line of its own and then an object follow, as after Functionary's `>>>`."""
    ahead = cursor.ahead()
    if ahead.match(_NAME) is None or ahead.peek() not in ("\n", "\r"):
        return False
    ahead.skip_space()
    return ahead.peek() == "{"
