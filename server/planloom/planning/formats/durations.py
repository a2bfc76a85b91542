"""Reads how long a model says that its plan takes, as a number of seconds or in words."""

from __future__ import annotations

import re
from math import inf

from planloom.domain.values import Json

_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
_PART = re.compile(
    r"([0-9]{1,6}(?:[.,][0-9]{1,3})?)\s{0,3}(s|m|h|d|sec|min|hr)(?:(?:ond|ute|our|ay)?s?\b)\.?", re.IGNORECASE
)
_RANGE = re.compile(r"[0-9.,]{1,9}\s{0,3}(?:-|–|to)\s{0,3}(?=[0-9])")
_MOST = 30 * 86_400


def seconds_in(value: Json) -> int | None:
    """Seconds of a number, or of words such as "20 minutes", "1h 30m" or "5-10 min" (its upper end); None of others."""
    if isinstance(value, str) and value.strip().replace(".", "", 1).isdecimal():
        value = float(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        seconds: float = value
    elif isinstance(value, str):
        parts = _PART.findall(_RANGE.sub("", value[:100]))
        seconds = sum(float(number.replace(",", ".")) * _UNITS[unit[0].lower()] for number, unit in parts)
    else:
        return None
    return round(min(seconds, _MOST)) if 0 < seconds < inf else None
