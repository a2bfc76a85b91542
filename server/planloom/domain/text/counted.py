"""Writes a number with its noun, so that no text says "1 files"."""

from __future__ import annotations


def counted(count: int, noun: str, *, or_more: bool = False) -> str:
    """`1 file`, `2 files`; with `or_more`, where the count may be too low, `1+ files`. The plural must end in s."""
    if or_more:
        return f"{count}+ {noun}s"
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
