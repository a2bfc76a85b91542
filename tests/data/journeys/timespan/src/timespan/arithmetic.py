"""Sums of spans, and rounding."""

from __future__ import annotations

import math
from collections.abc import Iterable

from timespan.parsing import parse
from timespan.units import unit_named


def total(spans: Iterable[str]) -> float:
    """The sum of spans in seconds.

    >>> total(["1h", "45m", "-15m"])
    5400.0
    """
    return math.fsum(parse(span) for span in spans)


def round_to(seconds: float, unit_name: str) -> float:
    """The nearest whole number of a unit, in seconds; a half is rounded away from zero.

    >>> round_to(5399, "minute")
    5400.0
    >>> round_to(-90, "minute")
    -120.0
    """
    unit = unit_named(unit_name)
    if unit is None:
        raise ValueError(f"unknown unit {unit_name!r}")
    count = math.floor(abs(seconds) / unit.seconds + 0.5)
    return math.copysign(count * unit.seconds, seconds)
