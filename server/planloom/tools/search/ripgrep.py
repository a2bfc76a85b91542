"""Uses ripgrep, if installed, to find quickly which of many files can contain a match."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from planloom.workspace.index.programs import finished

_SECONDS: Final = 10.0
_MOST_BYTES: Final = 25_000 if os.name == "nt" else 500_000
"""Bytes of names on one command line, well below the system's limit."""


def files_containing(
    program: Path, folder: Path, names: Sequence[str], needle: str, *, ignore_case: bool
) -> frozenset[str] | None:
    """The files that contain the needle; None if ripgrep fails. Call it from a thread.

    The names are passed explicitly, so ripgrep's own ignore rules do not apply; its configuration is not read.
    """
    found: set[str] = set()
    options = (
        *("--no-config", "--files-with-matches", "--null", "--fixed-strings", "--text", "--no-messages"),
        "--ignore-case" if ignore_case else "--case-sensitive",
    )
    for batch in _batches(names):
        arguments = (*options, "-e", needle, "--", *(f"./{name}" for name in batch))
        done = finished(program, arguments, cwd=folder, seconds=_SECONDS)
        # Exit code 2 can mean that ripgrep could not read one file, which we may be able to read.
        if done is None or done.returncode not in (0, 1):
            return None
        found.update(os.fsdecode(name).removeprefix("./") for name in done.stdout.split(b"\0") if name)
    return frozenset(found)


def _batches(names: Sequence[str]) -> list[list[str]]:
    batches: list[list[str]] = [[]]
    size = 0
    for name in names:
        size += len(os.fsencode(name)) + 11
        if size > _MOST_BYTES and batches[-1]:
            batches.append([])
            size = len(os.fsencode(name)) + 11
        batches[-1].append(name)
    return [batch for batch in batches if batch]
