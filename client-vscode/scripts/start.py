"""Starts the bundled server: the only folders on the path besides the standard library are the package's own."""

import sys
from pathlib import Path

here = Path(__file__).resolve().parent
sys.path += [str(here / "any"), str(here / f"cp{sys.version_info[0]}{sys.version_info[1]}")]

from planloom.__main__ import main  # noqa: E402 - the path has to be set first

main()
