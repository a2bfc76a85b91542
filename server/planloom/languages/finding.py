"""Finds the program of a language server, and the folder of the project that it is started for."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from planloom.languages.table import Kind
from planloom.tools.confinement.program_needs import needs_of

_BIN: Final = "Scripts" if os.name == "nt" else "bin"
_ENVIRONMENTS: Final = (".venv", "venv", "env")


class Found(NamedTuple):
    """A language server that can be started. `is_projects`: its program lies in a workspace folder. `needs` are the
    files and folders without which it cannot run."""

    kind: Kind
    command: tuple[str, ...]
    is_projects: bool
    needs: tuple[Path, ...] = ()


def found(kind: Kind, roots: Sequence[Path]) -> Found | None:
    """The program of a language server: of the project itself, beside this server, or on the search path.

    Blocks on file I/O, for a fraction of a millisecond.
    """
    name, *arguments = kind.command
    if Path(name).is_absolute():
        return _found(kind, Path(name), arguments, roots) if os.access(name, os.X_OK) else None
    places = [*_of_project(roots), str(Path(sys.executable).parent), *_search_path()]
    path = shutil.which(name, path=os.pathsep.join(places))
    return None if path is None else _found(kind, Path(path), arguments, roots)


def _found(kind: Kind, program: Path, arguments: Sequence[str], roots: Sequence[Path]) -> Found:
    real = program.resolve()
    inside = any(place.is_relative_to(root) for root in map(Path.resolve, roots) for place in (program, real))
    return Found(kind, (str(program), *arguments), inside, tuple(needs_of(program)))


def _of_project(roots: Sequence[Path]) -> Iterator[str]:
    for root in roots:
        yield from (str(root / each / _BIN) for each in _ENVIRONMENTS)
        yield str(root / "node_modules" / ".bin")


def _search_path() -> Iterator[str]:
    if environment := os.environ.get("VIRTUAL_ENV"):
        yield str(Path(environment, _BIN))
    yield from (
        each for each in os.environ.get("PATH", os.defpath).split(os.pathsep) if Path(each).is_absolute()
    )


def project_root(kind: Kind, file: Path, folder: Path) -> Path:
    """The root of the project that a file belongs to: the outermost folder with a marker, in the workspace folder.

    Blocks on file I/O.
    """
    above = [each for each in file.parents if each.is_relative_to(folder)]
    marked = (each for each in reversed(above) if any((each / marker).exists() for marker in kind.markers))
    return next(marked, folder)
