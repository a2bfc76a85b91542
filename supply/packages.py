"""Builds what goes to PyPI into `dist/`: the sdist, the wheel that it gives, and the bill of what that is tested with.

The same files give the same bytes: hatchling orders them, and takes their time from `SOURCE_DATE_EPOCH` or its default.
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from supply.bundle import own_wheel
from supply.sbom import of_server, write
from supply.targets import PROJECT


def main() -> None:
    """Build all three."""
    to = PROJECT / "dist"
    made = sdist(PROJECT, to)
    wheel = wheel_of(made, to)
    bill = wheel.with_suffix(".cdx.json")
    write(of_server(), bill)
    for each in (made, wheel, bill):
        print(f"{each} {each.stat().st_size / 1e6:.2f} MB")


def sdist(project: Path, to: Path) -> Path:
    """Build the source distribution with the build back-end that is installed here."""
    to.mkdir(parents=True, exist_ok=True)
    for old in to.glob("planloom-*.tar.gz"):
        old.unlink()
    # The back-end logs to stdout what it has made.
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--target", "sdist", "--directory", str(to)],
        cwd=project,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return next(to.glob("planloom-*.tar.gz"))


def wheel_of(source: Path, to: Path) -> Path:
    """Build the wheel from nothing but a source distribution."""
    for old in to.glob("planloom-*.whl"):
        old.unlink()
    with tempfile.TemporaryDirectory() as scratch:
        with tarfile.open(source) as archive:
            archive.extractall(scratch, filter="data")
        return own_wheel(next(Path(scratch).iterdir()), to)


if __name__ == "__main__":
    main()
