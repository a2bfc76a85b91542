"""Starts the bundled server: the only folder on the path besides the standard library is the package's own."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent / "packages"))

from planloom.__main__ import main  # noqa: E402 - the path has to be set first

main()
