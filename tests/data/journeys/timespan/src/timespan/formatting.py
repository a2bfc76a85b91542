"""From seconds to text."""

from __future__ import annotations

from typing import Literal

from timespan.units import UNITS, Unit

Style = Literal["long", "short", "clock"]


def show(seconds: float, *, style: Style = "long", most: int = 2) -> str:
    """The span in words; at most `most` units, the rest is cut off.

    >>> show(9000)
    '2 hours, 30 minutes'
    >>> show(9000, style="short")
    '2h 30m'
    >>> show(-5400, style="clock")
    '-1:30:00'
    """
    if most < 1:
        raise ValueError("most must be at least 1")
    sign = "-" if seconds < 0 else ""
    whole = int(abs(seconds))
    if style == "clock":
        return sign + _clock(whole)
    parts = split(whole)[:most]
    if style == "short":
        return sign + (" ".join(f"{count}{unit.short}" for count, unit in parts) or "0s")
    return sign + (", ".join(unit.words(count) for count, unit in parts) or "0 seconds")


def split(seconds: int) -> list[tuple[int, Unit]]:
    """The units of a whole number of seconds, without those that are zero.

    >>> [(count, unit.name) for count, unit in split(3661)]
    [(1, 'hour'), (1, 'minute'), (1, 'second')]
    """
    parts = []
    for unit in UNITS:
        count, seconds = divmod(seconds, unit.seconds)
        if count:
            parts.append((count, unit))
    return parts


def _clock(seconds: int) -> str:
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}"
