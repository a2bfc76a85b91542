"""High and low water in small bays: `python tides.py saltholm` prints a line for each turn of the tide in a day."""

import math
import sys

BAYS = {
    "saltholm": ((12.4206, 1.62, 218.0), (12.0, 0.54, 261.0)),
    "grimsey": ((12.4206, 0.88, 104.0), (12.0, 0.31, 140.0)),
}
"""The waves of each: hours for a turn, amplitude in metres, phase in degrees."""


def height(waves, hours):
    return sum(
        metres * math.cos(2 * math.pi * hours / turn - math.radians(phase)) for turn, metres, phase in waves
    )


def main():
    bay = sys.argv[1]
    waves = BAYS[bay]
    for tenth in range(240):
        before, now, after = (height(waves, (tenth + near) / 10) for near in (-1, 0, 1))
        if (now - before) * (after - now) < 0:
            print(f"{tenth // 10:02}:{tenth % 10 * 6:02}  {now:+.2f} m")


main()
