"""Writes what many messages say in the same way: numbers with their words, how far a step has come, a cut text."""

from __future__ import annotations


def counted(count: int, noun: str, *, or_more: bool = False) -> str:
    """`1 file`, `2 files`; with `or_more`, where the count may be too low, `1+ files`. The plural must end in s."""
    if or_more:
        return f"{count}+ {noun}s"
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def cut(text: str, most: int) -> str:
    """At most so many characters of a text."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def duration(seconds: float) -> str:
    """A time for people, in seconds or minutes."""
    if seconds >= 120:
        return f"{seconds / 60:g} minutes"
    return "1 second" if seconds == 1 else f"{seconds:g} seconds"
