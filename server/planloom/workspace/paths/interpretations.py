"""Lists what a path can mean in one or several workspace folders, and picks one meaning."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from planloom.domain.safety.protected import folded
from planloom.workspace.paths.links import FileSystem, PathEnd, ResolveError, follow
from planloom.workspace.paths.names import PathProblem, normalized_parts, parse_path, quoted
from planloom.workspace.paths.roots import ResolvedRoot, Root, below, owner


class Interpretation(NamedTuple):
    """One meaning of a path: `parts` below a workspace folder, and where they end on disk.

    `named`: the text begins with the folder's own name.
    """

    root: Root
    parts: tuple[str, ...]
    end: PathEnd | ResolveError
    named: bool = False

    @property
    def exists(self) -> bool:
        """Whether something exists at its end, usable or not."""
        return isinstance(self.end, ResolveError) or not self.end.missing

    @property
    def usable(self) -> bool:
        """Whether a file or folder exists at its end."""
        return isinstance(self.end, PathEnd) and not self.end.missing

    @property
    def depth(self) -> int:
        """How many of its parts exist."""
        return len(self.parts) - len(self.end.missing) if isinstance(self.end, PathEnd) else 0

    @property
    def qualified(self) -> str:
        """The path with the folder's name in front; unambiguous unless two folders share a name."""
        return "/".join((self.root.name, *self.parts))


class Ambiguous(NamedTuple):
    """Several meanings are equally good; `choices` are unambiguous spellings, `exists` says if the files exist."""

    choices: tuple[str, ...]
    exists: bool


def interpretations(
    folders: Sequence[ResolvedRoot], text: str, disk: FileSystem
) -> tuple[Interpretation, ...] | PathProblem:
    """Every meaning of a path, the most literal first; empty if it leads outside every workspace folder."""
    drives = any(folder.root.path.drive for folder in folders)
    # On POSIX a backslash may be part of a name: read it so first, and as a separator if no such file exists.
    separators = (True,) if drives or "\\" not in text else (False, True)
    found: tuple[Interpretation, ...] = ()
    for backslash in separators:
        parsed = parse_path(text, drives=drives, backslash=backslash)
        if isinstance(parsed, PathProblem):
            return parsed
        if parsed.anchor:
            found = _absolute(folders, parsed.anchor, parsed.parts, disk)
        else:
            found = _relative(folders, parsed.parts, disk)
        if any(each.usable for each in found):
            break
    return found


def choose(found: Sequence[Interpretation], home: Root | None) -> Interpretation | Ambiguous:
    """Pick one meaning: one that exists; else the one in `home`; else the folder that the text names; else the one
    with most existing parts."""
    there = [each for each in found if each.exists]
    if len(found) == 1:
        return found[0]
    if len({each.root.path for each in found}) == 1:
        # The literal reading comes first; the folder's own name in front counts only if the file exists.
        return next((c for c in there if c.usable), there[0] if there else found[0])
    if not found[0].parts and home is not None:
        return next((c for c in found if c.root.path == home.path), found[0])
    if len({c.end.path for c in there}) == 1:
        return there[0]
    if there:
        return Ambiguous(_qualified(there), exists=True)
    decided = [c for c in found if c.named] or [
        c for c in found if home is not None and c.root.path == home.path
    ]
    if len(decided) != 1:
        deepest = max(each.depth for each in found)
        decided = [each for each in found if each.depth == deepest > 0]
    return decided[0] if len(decided) == 1 else Ambiguous(_qualified(found), exists=False)


def _absolute(
    folders: Sequence[ResolvedRoot], anchor: str, parts: Sequence[str], disk: FileSystem
) -> tuple[Interpretation, ...]:
    names = normalized_parts(parts)
    if names is None:
        return ()
    path = Path(anchor, *names)
    inside = [(folder, rest) for folder in folders if (rest := below(path, folder.root.path)) is not None]
    if inside:
        # With nested workspace folders, the innermost one owns the path.
        folder, rest = min(inside, key=lambda pair: len(pair[1]))
        return (_interpretation(folder, rest, disk),)
    end = follow(Path(anchor), names, disk=disk)
    owned = owner(end.path, folders) if isinstance(end, PathEnd) else None
    return (Interpretation(*owned, end),) if owned is not None else ()


def _relative(
    folders: Sequence[ResolvedRoot], parts: Sequence[str], disk: FileSystem
) -> tuple[Interpretation, ...]:
    found = []
    for folder in folders:
        path = folder.root.path
        names = normalized_parts((*path.parts[1:], *parts))
        rest = below(Path(path.anchor, *names), path) if names is not None else None
        if rest is not None:
            found.append(_interpretation(folder, rest, disk))
    named = normalized_parts(parts)
    if named:
        found += [
            _interpretation(folder, named[1:], disk, named=True)
            for folder in folders
            if folded(folder.root.name) == folded(named[0])
        ]
    return tuple(found)


def _interpretation(
    folder: ResolvedRoot, parts: tuple[str, ...], disk: FileSystem, *, named: bool = False
) -> Interpretation:
    return Interpretation(folder.root, parts, follow(folder.real, parts, disk=disk), named)


def _qualified(found: Sequence[Interpretation]) -> tuple[str, ...]:
    if len({each.root.name for each in found}) == len({each.root.path for each in found}):
        return tuple(dict.fromkeys(each.qualified for each in found))
    return tuple(str(each.root.path.joinpath(*each.parts)) for each in found)


def ambiguity_message(text: str, ambiguous: Ambiguous) -> str:
    """The sentence that asks the model for an unambiguous path."""
    choices = " or ".join(quoted(path) for path in ambiguous.choices[:5])
    what = "is in several workspace folders" if ambiguous.exists else "could be in several workspace folders"
    return f"{quoted(text)} {what}: say which one you mean, {choices}."
