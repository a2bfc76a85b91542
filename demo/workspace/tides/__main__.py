"""The command line: one harbour, one line for each turn of the tide."""

from __future__ import annotations

import sys

from tides.harbours import HARBOURS
from tides.predict import turns


def main() -> None:
    harbour = sys.argv[1]
    for hours, metres in turns(HARBOURS[harbour]):
        print(f"{int(hours):02}:{int(hours * 60) % 60:02}  {metres:+.2f} m")


if __name__ == "__main__":
    main()
