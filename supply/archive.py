"""Writes a zip archive anew so that the same files give the same bytes: `python -m supply.archive FILE`.

Entries are ordered by name, have one time (`SOURCE_DATE_EPOCH`, or that which hatchling gives to wheels) and one mode,
and are compressed as far as possible.
"""

from __future__ import annotations

import os
import sys
import time
import zipfile
from pathlib import Path

EPOCH = 1580601600
"""The default of hatchling's `SOURCE_DATE_EPOCH`, in seconds."""
MODE = 0o100644 << 16
"""A regular file that its owner may write and everybody may read, where zip keeps it."""


def main() -> None:
    """Rewrite the archive that is named."""
    rewrite(Path(sys.argv[1]), int(os.environ.get("SOURCE_DATE_EPOCH", EPOCH)))


def rewrite(path: Path, seconds: int) -> None:
    """Replace the archive by one with the same files and nothing of the time, machine or order of its making."""
    date = time.gmtime(seconds)[:6]
    partial = path.with_suffix(".partial")
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(partial, "w") as new:
        for name in sorted(old.namelist()):
            entry = zipfile.ZipInfo(name, date)
            entry.create_system = 3
            entry.external_attr = MODE
            new.writestr(entry, old.read(name), zipfile.ZIP_DEFLATED, 9)
    partial.replace(path)


if __name__ == "__main__":
    main()
