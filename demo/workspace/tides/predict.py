"""The height of the water at any time, and when it turns."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from tides.harbours import Constant

STEP_MINUTES = 6


def height(constants: Iterable[Constant], hours: float) -> float:
    """Metres above mean level, `hours` after midnight at Greenwich."""
    return sum(
        wave.amplitude * math.cos(2 * math.pi * hours / wave.period - math.radians(wave.phase))
        for wave in constants
    )


def turns(constants: tuple[Constant, ...]) -> Iterator[tuple[float, float]]:
    """Hours and height of each high and low water of a day."""
    step = STEP_MINUTES / 60
    before, now = height(constants, -step), height(constants, 0)
    for number in range(int(24 / step)):
        after = height(constants, (number + 1) * step)
        if (now - before) * (after - now) < 0:
            yield number * step, now
        before, now = now, after
