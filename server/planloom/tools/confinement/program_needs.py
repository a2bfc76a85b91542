"""Names what a program needs to see of itself to run confined."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path


def needs_of(program: Path) -> Iterator[Path]:
    """The program itself, and the environment of Python or the packages of Node that it is a part of.

    Blocks on file I/O.
    """
    real = program.resolve()
    yield program
    yield real
    if (program.parent.parent / "pyvenv.cfg").is_file():
        yield program.parent.parent
    if "node_modules" in real.parts:
        yield Path(*real.parts[: real.parts.index("node_modules") + 1])
