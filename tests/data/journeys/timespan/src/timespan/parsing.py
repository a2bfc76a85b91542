"""From text to seconds."""

from __future__ import annotations

import re

from timespan.errors import SpanError
from timespan.units import unit_named

_PART = re.compile(r"(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>[A-Za-z]+)")
_CLOCK = re.compile(r"(?:(?P<hours>\d+):)?(?P<minutes>\d{1,2}):(?P<seconds>\d{2}(?:\.\d+)?)")
_BETWEEN = re.compile(r"\s*(?:,|and\b)?\s*")


def parse(text: str) -> float:
    """The seconds of a span of time. Raises SpanError if the text is none.

    >>> parse("2h 30m")
    9000.0
    >>> parse("1:30:00")
    5400.0
    """
    start = len(text) - len(text.lstrip())
    sign = 1.0
    if text[start : start + 1] in ("-", "+"):
        sign = -1.0 if text[start] == "-" else 1.0
        start += 1
    end = len(text.rstrip())
    if start >= end:
        raise SpanError(text, start, "nothing to read")
    clock = _CLOCK.fullmatch(text, start, end)
    if clock is not None:
        return sign * _clock_seconds(clock)
    return sign * _sum_of_parts(text, start, end)


def _clock_seconds(clock: re.Match[str]) -> float:
    hours = int(clock["hours"] or 0)
    return hours * 3600 + int(clock["minutes"]) * 60 + float(clock["seconds"])


def _sum_of_parts(text: str, start: int, end: int) -> float:
    seconds = 0.0
    position = start
    while position < end:
        part = _PART.match(text, position, end)
        if part is None:
            raise SpanError(text, position, "a number with a unit is missing")
        unit = unit_named(part["unit"])
        if unit is None:
            raise SpanError(text, part.start("unit"), f"unknown unit {part['unit']!r}")
        seconds += float(part["number"]) * unit.seconds
        between = _BETWEEN.match(text, part.end(), end)
        position = between.end() if between else part.end()
    return seconds
