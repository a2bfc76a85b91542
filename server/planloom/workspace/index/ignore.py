"""What .gitignore, .ignore and `context.exclude` hide, fast enough to be asked for every name of a large folder."""

from __future__ import annotations

import re
import stat
from collections.abc import Callable, Iterable, Sequence, Set
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

from planloom.workspace.index.ignore_globs import Glob, Test, read_glob

_SUFFIX = re.compile(r"\.\*((?:[\w-]|\\[^\w\s])+)\\Z")
"""What `*.suffix` is compiled to."""

IGNORE_FILES: Final = (".gitignore", ".ignore")
"""In rising order of strength, as ripgrep has it."""

_MOST_BYTES = 1_000_000
_MOST_PATTERNS = 10_000


Hides = Callable[[str, bool], bool]
"""Of a name, and whether it is a folder."""


class FolderRules(NamedTuple):
    """What the rules of one file say of the names in one folder."""

    exact: Set[str]
    folders: Set[str]
    suffixes: tuple[str, ...]
    tests: tuple[Test, ...]

    def verdict(self, relative: str, name: str, folder: bool) -> bool | None:
        """As `Rules.verdict`."""
        if name in self.exact or (folder and name in self.folders) or name.endswith(self.suffixes):
            return True
        for test in self.tests:
            if test.fits(relative, name, folder=folder):
                return not test.glob.negated
        return None


class Rules:
    """The patterns of one ignore file, for paths relative to its folder.

    Without negations any match decides, so plain names and `*.suffix` are looked up all at once.
    """

    __slots__ = ("_exact", "_folders", "_globs", "_suffixes", "negates")

    def __init__(self, lines: Iterable[str]) -> None:
        """`lines` are gitignore patterns; one that is no pattern hides nothing."""
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
        """True if the path is hidden, False if it is shown whatever weaker rules say, else None."""
        return self.inside(relative.split("/")[:-1]).verdict(relative, name, folder)

    def inside(self, names: Sequence[str]) -> FolderRules:
        """The same for the names of one folder, which is `names` below the folder of these rules."""
        tests = tuple(test for glob in self._globs if (test := glob.inside(names)) is not None)
        return FolderRules(self._exact, self._folders, self._suffixes, tests)

    def __bool__(self) -> bool:
        return bool(self._exact or self._folders or self._suffixes or self._globs)


class Layer(NamedTuple):
    """The rules of one folder; `depth` is the length of its path below the root, with the slash after it."""

    depth: int
    rules: Rules


class IgnoreChain(NamedTuple):
    """Everything that decides on names: the rules of each folder on the way, the user's excludes above all."""

    layers: tuple[Layer, ...] = ()
    excludes: Rules | None = None

    def inside(self, prefix: str) -> Hides:
        """What hides names in the folder at `prefix` (with a slash after it; "" is the root)."""
        layers = [(depth, rules.inside(_names(prefix[depth:]))) for depth, rules in reversed(self.layers)]
        excluded = self.excludes.inside(_names(prefix)) if self.excludes is not None else None
        if not any(rules.tests for _, rules in layers) and not (excluded and excluded.tests):
            return _plainly([rules for _, rules in layers] + ([excluded] if excluded else []))

        def hides(name: str, folder: bool) -> bool:
            if name == ".git":
                return True
            path = prefix + name
            if excluded is not None and excluded.verdict(path, name, folder):
                return True
            for depth, rules in layers:
                said = rules.verdict(path[depth:], name, folder)
                if said is not None:
                    return said
            return False

        return hides

    def within(self, prefix: str, rules: Iterable[Rules]) -> IgnoreChain:
        """The chain for a folder at `prefix` (with a slash after it) that has these rules of its own."""
        own = tuple(Layer(len(prefix), each) for each in rules if each)
        return self._replace(layers=self.layers + own) if own else self


def _plainly(several: Sequence[FolderRules]) -> Hides:
    """The same where all rules are plain names and suffixes, of which any one decides."""
    exact = {".git"}.union(*(rules.exact for rules in several))
    folders: set[str] = set().union(*(rules.folders for rules in several))
    suffixes = tuple(suffix for rules in several for suffix in rules.suffixes)

    def hides(name: str, folder: bool) -> bool:
        return name in exact or (folder and name in folders) or name.endswith(suffixes)

    return hides


def _names(prefix: str) -> list[str]:
    return prefix.split("/")[:-1]


def top_chain(root: Path, exclude: Sequence[str]) -> IgnoreChain:
    """The chain above the root's own ignore files: `context.exclude`, and what git keeps outside the tree."""
    excludes = Rules(exclude)
    chain = IgnoreChain(excludes=excludes or None)
    return chain.within("", (read_rules(root / ".git" / "info" / "exclude"),))


def chain_of(root: Path, folder: str, top: IgnoreChain) -> IgnoreChain | None:
    """The chain for the names of one folder, given below the root ("" is the root); None if it is hidden.

    Reads the ignore files on the way, so call it from a thread.
    """
    chain = top.within("", _own_rules(root))
    prefix = ""
    for name in folder.split("/") if folder else ():
        if chain.inside(prefix)(name, True):
            return None
        prefix += name + "/"
        chain = deeper(chain, root, prefix)
    return chain


def deeper(chain: IgnoreChain, root: Path, prefix: str) -> IgnoreChain:
    """The chain for the names of a folder, from that of the folder which holds it. Reads files: for a thread."""
    return chain.within(prefix, _own_rules(root / prefix))


def read_rules(path: Path) -> Rules:
    """The rules of an ignore file; none if it is missing, not a plain file, too large or unreadable."""
    try:
        # A pipe would wait for ever, and git does not follow links here either.
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
