"""The glob argument of a tool: a pattern of `workspace/index/ignore_globs` with braces, matched against paths."""

from __future__ import annotations

from typing import Final

from planloom.workspace.index.ignore_globs import expand_braces, read_glob

_SIGNS: Final = "*?["


class NameGlob:
    """Whether a glob matches a path: by name if it has no slash, else as a whole; a literal path matches itself."""

    def __init__(self, glob: str) -> None:
        plain = glob.lstrip("!#").removeprefix("./")
        # Tools match files, so a folder means the files in it.
        plain = f"{plain}**" if plain.endswith("/") else plain
        self._literal = plain.removeprefix("/")
        self._globs = [found for each in expand_braces(plain) if (found := read_glob(each)) is not None]

    @property
    def is_glob(self) -> bool:
        """Whether it can match anything but its literal path."""
        return bool(self._globs)

    def __call__(self, path: str, *, folder: bool = False) -> bool:
        name = path.rpartition("/")[2]
        if self._literal in (path, name):
            return True
        return any(glob.matches(path, folder=folder) for glob in self._globs)


def is_glob_pattern(pattern: str) -> bool:
    """Whether a pattern is a glob rather than a part of a name."""
    return any(sign in pattern for sign in _SIGNS) or len(expand_braces(pattern)) > 1


def invalid_glob(pattern: str) -> str:
    """The message for a glob that can match nothing."""
    return f"{pattern[:80]!r} is not a glob: give one such as *.py, *.{{ts,tsx}} or src/**/test_*.ts."
