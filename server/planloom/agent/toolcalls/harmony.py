"""The headers of gpt-oss: who speaks, in which channel, and to whom."""

from __future__ import annotations

import re
from typing import NamedTuple

from planloom.agent.toolcalls.cursor import Cursor

_LONGEST = 300
_MESSAGE = "<|message|>"
_RECIPIENT = re.compile(r"to=([\w.:-]{1,120})")
_ROLE = re.compile(r"<\|start\|>\s*([\w.:-]{0,120})")
_CHANNEL = re.compile(r"<\|channel\|>\s*([a-z]{0,20})")
_BREAKS = ("<|start|>", "<|end|>", "<|return|>", "<|call|>", "\n\n")


class Header(NamedTuple):
    """A header that ends at `end`; what it does not say is empty."""

    end: int
    role: str
    channel: str
    recipient: str


def read_header(cursor: Cursor) -> Header | None:
    """The header at the cursor, which stays; None where there is none."""
    start = cursor.at
    window = cursor.text[start : start + _LONGEST]
    stop = min((at for word in _BREAKS if (at := window.find(word, 1)) >= 0), default=len(window))
    message = window.find(_MESSAGE, 0, stop)
    ends = [at for at in (window.find("{", 0, stop), message) if at >= 0]
    if not ends:
        if stop == len(window) < _LONGEST:
            cursor.wait()
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
