"""What the text of a path may mean in one or several workspace folders, and which meaning is taken."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from planloom.domain.safety.protected import folded
from planloom.workspace.paths.links import FileSystem, PathEnd, ResolveError, follow
from planloom.workspace.paths.names import Problem, asked, normalized_parts, shown
from planloom.workspace.paths.roots import ResolvedRoot, Root, below, owner


class Interpretation(NamedTuple):
    """One meaning: names below a workspace folder, and where they end.

    `named` says that the text begins with the folder's own name.
    """

    root: Root
    parts: tuple[str, ...]
    place: PathEnd | ResolveError
    named: bool = False

    @property
    def there(self) -> bool:
        """Whether it leads to something that exists, usable or not."""
        return isinstance(self.place, ResolveError) or not self.place.missing

    @property
    def usable(self) -> bool:
        """Whether it leads to a file or folder that exists."""
        return isinstance(self.place, PathEnd) and not self.place.missing

    @property
    def depth(self) -> int:
        """How many of the names are there."""
        return len(self.parts) - len(self.place.missing) if isinstance(self.place, PathEnd) else 0

    @property
    def written(self) -> str:
        """The path as it is unambiguous, unless two folders have one name."""
        return "/".join((self.root.name, *self.parts))


class Ambiguous(NamedTuple):
    """Meanings between which nothing decides, each as it can be written instead."""

    written: tuple[str, ...]
    there: bool


def candidates(
    folders: Sequence[ResolvedRoot], text: str, disk: FileSystem
) -> tuple[Interpretation, ...] | Problem:
    """Every meaning of a text, the plainest first; none if it leads outside every workspace folder."""
    drives = any(ground.root.path.drive for ground in folders)
    # A backslash may be part of a name where it does not separate names; only a file that is there proves it.
    readings = (True,) if drives or "\\" not in text else (False, True)
    found: tuple[Interpretation, ...] = ()
    for backslash in readings:
        taken = asked(text, drives=drives, backslash=backslash)
        if isinstance(taken, Problem):
            return taken
        if taken.anchor:
            found = _absolute(folders, taken.anchor, taken.parts, disk)
        else:
            found = _relative(folders, taken.parts, disk)
        if any(candidate.usable for candidate in found):
            break
    return found


def choose(found: Sequence[Interpretation], home: Root | None) -> Interpretation | Ambiguous:
    """The meaning that is taken: what is there, else what `home` or the text itself decides."""
    there = [candidate for candidate in found if candidate.there]
    if len(found) == 1:
        return found[0]
    if len({candidate.root.path for candidate in found}) == 1:
        # The plain reading comes first; the folder's own name in front counts only for what is there.
        return next((c for c in there if c.usable), there[0] if there else found[0])
    if not found[0].parts and home is not None:
        return next((c for c in found if c.root.path == home.path), found[0])
    places = {str(c.place.path if isinstance(c.place, PathEnd) else c.place.at) for c in there}
    if len(places) == 1:
        return there[0]
    if there:
        return Ambiguous(_written(there), there=True)
    decided = [c for c in found if c.named] or [
        c for c in found if home is not None and c.root.path == home.path
    ]
    if len(decided) != 1:
        deepest = max(candidate.depth for candidate in found)
        decided = [candidate for candidate in found if candidate.depth == deepest > 0]
    return decided[0] if len(decided) == 1 else Ambiguous(_written(found), there=False)


def _absolute(
    folders: Sequence[ResolvedRoot], anchor: str, parts: Sequence[str], disk: FileSystem
) -> tuple[Interpretation, ...]:
    names = normalized_parts(parts)
    if names is None:
        return ()
    path = Path(anchor, *names)
    inside = [(ground, rest) for ground in folders if (rest := below(path, ground.root.path)) is not None]
    if inside:
        # Of folders inside each other the innermost one owns the path.
        ground, rest = min(inside, key=lambda pair: len(pair[1]))
        return (_candidate(ground, rest, disk),)
    place = follow(Path(anchor), names, disk=disk)
    owned = owner(place.path, folders) if isinstance(place, PathEnd) else None
    return (Interpretation(*owned, place),) if owned is not None else ()


def _relative(
    folders: Sequence[ResolvedRoot], parts: Sequence[str], disk: FileSystem
) -> tuple[Interpretation, ...]:
    found = []
    for ground in folders:
        path = ground.root.path
        names = normalized_parts((*path.parts[1:], *parts))
        rest = below(Path(path.anchor, *names), path) if names is not None else None
        if rest is not None:
            found.append(_candidate(ground, rest, disk))
    named = normalized_parts(parts)
    if named:
        found += [
            _candidate(ground, named[1:], disk, named=True)
            for ground in folders
            if folded(ground.root.name) == folded(named[0])
        ]
    return tuple(found)


def _candidate(
    ground: ResolvedRoot, parts: tuple[str, ...], disk: FileSystem, *, named: bool = False
) -> Interpretation:
    return Interpretation(ground.root, parts, follow(ground.real, parts, disk=disk), named)


def _written(found: Sequence[Interpretation]) -> tuple[str, ...]:
    written = tuple(dict.fromkeys(candidate.written for candidate in found))
    if len({candidate.root.name for candidate in found}) == len({candidate.root.path for candidate in found}):
        return written
    return tuple(str(candidate.root.path.joinpath(*candidate.parts)) for candidate in found)


def told(text: str, ambiguous: Ambiguous) -> str:
    """The sentence that asks for a path that leads to one place alone."""
    choices = " or ".join(shown(path) for path in ambiguous.written[:5])
    what = "is in several workspace folders" if ambiguous.there else "could be in several workspace folders"
    return f"{shown(text)} {what}: say which one you mean, {choices}."
