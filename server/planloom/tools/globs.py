"""The globs of every tool that takes one: gitignore's, with braces as shells and editors have them."""

from __future__ import annotations

import itertools
from typing import Final

from planloom.workspace.index.ignore_globs import read_glob

_MOST: Final = 100
"""Globs that the braces of one may stand for; what is more is left out."""
_SIGNS: Final = "*?["


class NameGlob:
    """Whether a path matches: its name if the glob has no slash, else the whole; a path as it is matches itself."""

    def __init__(self, glob: str) -> None:
        plain = glob.lstrip("!#").removeprefix("./")
        # What is asked for are files, and a folder is said to mean those in it.
        plain = f"{plain}**" if plain.endswith("/") else plain
        self._literal = plain.removeprefix("/")
        self._globs = [found for each in expand_braces(plain) if (found := read_glob(each)) is not None]

    @property
    def is_glob(self) -> bool:
        """Whether it can match more than the path that it is."""
        return bool(self._globs)

    def __call__(self, path: str, *, folder: bool = False) -> bool:
        name = path.rpartition("/")[2]
        if self._literal in (path, name):
            return True
        return any(glob.matches(path, name, folder=folder) for glob in self._globs)


def is_glob_pattern(pattern: str) -> bool:
    """Whether a pattern is meant as a glob and not as a part of a name."""
    return any(sign in pattern for sign in _SIGNS) or len(expand_braces(pattern)) > 1


def invalid_glob(pattern: str) -> str:
    """What to say of a text that can match nothing."""
    return f"{pattern[:80]!r} is no glob: give one such as *.py, *.{{ts,tsx}} or src/**/test_*.ts."


def expand_braces(glob: str) -> tuple[str, ...]:
    """The globs that one with braces stands for; braces without a comma, or behind a backslash, are themselves."""
    found = [glob]
    done: list[str] = []
    while found and len(done) + len(found) <= _MOST:
        parts = _first_braces(each := found.pop(0))
        if parts is None:
            done.append(each)
        else:
            before, inside, after = parts
            found[:0] = [before + one + after for one in inside[: _MOST - len(done)]]
    return tuple(done + found)[:_MOST]


def _first_braces(glob: str) -> tuple[str, list[str], str] | None:
    """What stands before, in and behind the first braces that have several parts."""
    opened: list[int] = []
    commas: dict[int, list[int]] = {}
    best: tuple[int, int] | None = None
    at = 0
    while at < len(glob):
        match glob[at]:
            case "\\":
                at += 1
            case "{":
                opened.append(at)
            case "," if opened:
                commas.setdefault(opened[-1], []).append(at)
            case "}" if opened:
                start = opened.pop()
                if start in commas and (best is None or start < best[0]):
                    best = (start, at)
            case _:
                pass
        at += 1
    if best is None:
        return None
    start, end = best
    cuts = [start, *commas[start], end]
    return glob[:start], [glob[a + 1 : b] for a, b in itertools.pairwise(cuts)], glob[end + 1 :]
