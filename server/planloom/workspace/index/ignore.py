"""Decides which files .gitignore, .ignore and `context.exclude` hide; fast enough for every name of a large folder."""

from __future__ import annotations

import re
import stat
from collections.abc import Callable, Iterable, Sequence, Set
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

from planloom.workspace.index.ignore_globs import FolderGlob, Glob, expand_braces, read_glob

_SUFFIX = re.compile(r"\.\*((?:[\w-]|\\[^\w\s])+)\\Z")
"""The regular expression that `*.suffix` compiles to."""

IGNORE_FILES: Final = (".gitignore", ".ignore")
"""In rising order of precedence, as in ripgrep."""

_MOST_BYTES = 1_000_000
_MOST_PATTERNS = 10_000


Hides = Callable[[str, bool], bool]
"""Whether a name is hidden; the second argument says whether it is a folder."""


class FolderRules(NamedTuple):
    """The rules of one ignore file, specialised to the names in one folder."""

    exact: Set[str]
    folders: Set[str]
    suffixes: tuple[str, ...]
    globs: tuple[FolderGlob, ...]

    def verdict(self, relative: str, name: str, folder: bool) -> bool | None:
        """As `Rules.verdict`."""
        if name in self.exact or (folder and name in self.folders) or name.endswith(self.suffixes):
            return True
        for glob in self.globs:
            if glob.matches(relative, name, folder=folder):
                return not glob.glob.negated
        return None


class Rules:
    """The patterns of one ignore file, for paths relative to its folder.

    Without negations any match decides, so plain names and `*.suffix` patterns are matched by set lookup.
    """

    __slots__ = ("_exact", "_folders", "_globs", "_suffixes", "negates")

    def __init__(self, lines: Iterable[str]) -> None:
        """`lines` are gitignore patterns; an invalid one hides nothing."""
        globs = [glob for line in islice(lines, _MOST_PATTERNS) if (glob := read_glob(line)) is not None]
        self.negates: Final = any(glob.negated for glob in globs)
        self._exact: set[str] = set()
        self._folders: set[str] = set()
        self._globs: list[Glob] = []
        suffixes: list[str] = []
        for glob in reversed(globs):
            name = glob.segments[-1]
            if self.negates or not glob.anywhere:
                self._globs.append(glob)
            elif isinstance(name, str):
                (self._folders if glob.folders_only else self._exact).add(name)
            elif not glob.folders_only and name is not None and (suffix := _SUFFIX.fullmatch(name.pattern)):
                suffixes.append(suffix[1].replace("\\", ""))
            else:
                self._globs.append(glob)
        self._suffixes: tuple[str, ...] = tuple(suffixes)

    def verdict(self, relative: str, name: str, *, folder: bool) -> bool | None:
        """True if these rules hide the path, False if they show it, None if no rule matches."""
        return self.inside(relative.split("/")[:-1]).verdict(relative, name, folder)

    def inside(self, names: Sequence[str]) -> FolderRules:
        """These rules specialised to one folder; `names` lead to it from the folder of the rules."""
        globs = tuple(inside for glob in self._globs if (inside := glob.inside(names)) is not None)
        return FolderRules(self._exact, self._folders, self._suffixes, globs)

    def __bool__(self) -> bool:
        return bool(self._exact or self._folders or self._suffixes or self._globs)


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
        layers = [(depth, rules.inside(_names(prefix[depth:]))) for depth, rules in reversed(self.layers)]
        excluded = self.excludes.inside(_names(prefix)) if self.excludes is not None else None
        if not any(rules.globs for _, rules in layers) and not (excluded and excluded.globs):
            return _hides_by_name([rules for _, rules in layers] + ([excluded] if excluded else []))

        def hides(name: str, folder: bool) -> bool:
            if name == ".git":
                return True
            path = prefix + name
            if excluded is not None and excluded.verdict(path, name, folder):
                return True
            for depth, rules in layers:
                verdict = rules.verdict(path[depth:], name, folder)
                if verdict is not None:
                    return verdict
            return False

        return hides

    def within(self, prefix: str, rules: Iterable[Rules]) -> IgnoreChain:
        """The chain for the folder at `prefix` (with a trailing slash), with the folder's own rules added."""
        own = tuple(Layer(len(prefix), each) for each in rules if each)
        return self._replace(layers=self.layers + own) if own else self


def _hides_by_name(several: Sequence[FolderRules]) -> Hides:
    """The test when all rules are plain names and suffixes."""
    exact = {".git"}.union(*(rules.exact for rules in several))
    folders: set[str] = set().union(*(rules.folders for rules in several))
    suffixes = tuple(suffix for rules in several for suffix in rules.suffixes)

    def hides(name: str, folder: bool) -> bool:
        return name in exact or (folder and name in folders) or name.endswith(suffixes)

    return hides


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
