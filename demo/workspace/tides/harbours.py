"""Harbours and their harmonic constants."""

from __future__ import annotations

from typing import NamedTuple


class Constant(NamedTuple):
    """One wave of the tide: hours for a turn, amplitude in metres, phase in degrees."""

    period: float
    amplitude: float
    phase: float


HARBOURS = {
    "saltholm": (Constant(12.4206, 1.62, 218.0), Constant(12.0, 0.54, 261.0)),
    "grimsey": (Constant(12.4206, 0.88, 104.0), Constant(12.0, 0.31, 140.0)),
}
