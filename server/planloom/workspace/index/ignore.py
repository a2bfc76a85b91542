"""Decides which files .gitignore, .ignore and `context.exclude` hide; fast enough for every name of a large folder."""

from __future__ import annotations

import re
import stat
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby, islice
from pathlib import Path
from typing import Final, NamedTuple

from planloom.workspace.index.ignore_globs import Glob, expand_braces, read_glob

IGNORE_FILES: Final = (".gitignore", ".ignore")
"""In rising order of precedence, as in ripgrep."""

_MOST_BYTES = 1_000_000
_MOST_PATTERNS = 10_000


Hides = Callable[[str, bool], bool]
"""Whether a name is hidden; the second argument says whether it is a folder."""


class FolderRule(NamedTuple):
    """Neighbouring patterns of one ignore file that all hide or all show, for the names in one folder."""

    hides: bool
    files: re.Pattern[str]
    folders: re.Pattern[str]


class Rules:
    """The patterns of one ignore file, for paths relative to its folder."""

    __slots__ = ("_globs", "_made")

    def __init__(self, lines: Iterable[str]) -> None:
        """`lines` are gitignore patterns; an invalid one hides nothing."""
        globs = [glob for line in islice(lines, _MOST_PATTERNS) if (glob := read_glob(line)) is not None]
        self._globs: Final = tuple(reversed(globs))
        self._made: dict[tuple[Glob, ...], tuple[FolderRule, ...]] = {}

    def inside(self, names: Sequence[str]) -> tuple[FolderRule, ...]:
        """These rules for the names in one folder, of which the first that matches decides; `names` lead to it from
        the folder of the rules."""
        globs = tuple(glob for glob in self._globs if glob.applies_in(names))
        if globs not in self._made:
            self._made[globs] = tuple(
                _folder_rule(negated, tuple(each))
                for negated, each in groupby(globs, lambda glob: glob.negated)
            )
        return self._made[globs]

    def __bool__(self) -> bool:
        return bool(self._globs)


def _folder_rule(negated: bool, globs: Sequence[Glob]) -> FolderRule:
    of_files = [glob.name.pattern for glob in globs if not glob.folders_only]
    return FolderRule(
        not negated,
        re.compile("|".join(of_files or [r"(?!)"])),
        re.compile("|".join(glob.name.pattern for glob in globs)),
    )


def _verdict(rules: Sequence[FolderRule], name: str, folder: bool) -> bool | None:
    """True if the rules hide the name, False if they show it, None if none matches."""
    for hides, of_files, of_folders in rules:
        if (of_folders if folder else of_files).match(name):
            return hides
    return None


class Layer(NamedTuple):
    """The rules of one folder; `depth` is the length of its path below the root, trailing slash included."""

    depth: int
    rules: Rules


class IgnoreChain(NamedTuple):
    """All rules that apply to a folder: those of each folder on the way, and the user's excludes, which win."""

    layers: tuple[Layer, ...] = ()
    excludes: Rules | None = None

    def inside(self, prefix: str) -> Hides:
        """The test for names in the folder at `prefix` (with a trailing slash; "" is the root)."""
        rules = [
            rule
            for layer in reversed(self.layers)
            for rule in layer.rules.inside(_names(prefix[layer.depth :]))
        ]
        excluded = self.excludes.inside(_names(prefix)) if self.excludes is not None else ()

        def hides(name: str, folder: bool) -> bool:
            return name == ".git" or bool(_verdict(excluded, name, folder) or _verdict(rules, name, folder))

        return hides

    def within(self, prefix: str, rules: Iterable[Rules]) -> IgnoreChain:
        """The chain for the folder at `prefix` (with a trailing slash), with the folder's own rules added."""
        own = tuple(Layer(len(prefix), each) for each in rules if each)
        return self._replace(layers=self.layers + own) if own else self


def _names(prefix: str) -> list[str]:
    return prefix.split("/")[:-1]


def exclude_rules(globs: Iterable[str]) -> Rules:
    """The rules of `context.exclude`, whose globs may have braces."""
    return Rules(each for glob in globs for each in expand_braces(glob))


def top_chain(root: Path, exclude: Sequence[str]) -> IgnoreChain:
    """The chain above the root's own ignore files: `context.exclude` and `.git/info/exclude`."""
    excludes = exclude_rules(exclude)
    chain = IgnoreChain(excludes=excludes or None)
    return chain.within("", (read_rules(root / ".git" / "info" / "exclude"),))


def chain_of(root: Path, folder: str, top: IgnoreChain) -> IgnoreChain | None:
    """The chain for the names in `folder`, a path below the root ("" is the root); None if the folder is hidden.

    Reads ignore files: call it from a thread.
    """
    chain = top.within("", _own_rules(root))
    prefix = ""
    for name in folder.split("/") if folder else ():
        if chain.inside(prefix)(name, True):
            return None
        prefix += name + "/"
        chain = child_chain(chain, root, prefix)
    return chain


def child_chain(chain: IgnoreChain, root: Path, prefix: str) -> IgnoreChain:
    """The chain for the names in a folder, from its parent's chain. Reads files: call it from a thread."""
    return chain.within(prefix, _own_rules(root / prefix))


def read_rules(path: Path) -> Rules:
    """The rules of an ignore file; empty if it is missing, not a regular file, too large or unreadable."""
    try:
        # Reading a pipe could block for ever, and git does not follow links here either.
        if not stat.S_ISREG(path.lstat().st_mode):
            return Rules(())
        with path.open("rb") as file:
            raw = file.read(_MOST_BYTES + 1)
    except OSError:
        return Rules(())
    if len(raw) > _MOST_BYTES:
        return Rules(())
    return Rules(raw.decode("utf-8", "replace").lstrip("\ufeff").splitlines())


def _own_rules(folder: Path) -> tuple[Rules, ...]:
    return tuple(read_rules(folder / name) for name in IGNORE_FILES)
