"""Draws the workspace as a tree in few lines: source first, entries that are alike as one line with their count."""

from __future__ import annotations

import heapq
import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final, NamedTuple

from planloom.domain.text.counted import counted
from planloom.intake.languages import language_of
from planloom.workspace.paths.names import visible

MOST_ENTRIES: Final = 30
"""The most entries of one folder that are shown; the rest is counted."""
_ALIKE: Final = 4
"""From how many on entries that are alike share a line."""
_NAMED: Final = 3
"""How many of them are named."""
_DEEPEST: Final = 30
"""The level from which on the rest of a path is one name."""
_LANGUAGES: Final = 6
_MOST_COMPARED: Final = 12
"""The most paths by which folders of source files are compared."""
_MOST_NAMES: Final = 200
"""The most characters of a name that are shown."""
_NOT_CODE: Final = frozenset(
    {
        *("plaintext", "json", "jsonc", "jsonl", "ini", "diff", "toml", "yaml", "ignore"),
        *("markdown", "restructuredtext", "xml"),
    }
)
"""Languages of data, settings and prose."""
_COUNTED: Final = _NOT_CODE - {"markdown", "restructuredtext", "xml"}
"""Languages that are not worth counting."""


class _Folder:
    """The contents of a folder, in the order in which they are shown: what holds source before what does not."""

    def __init__(self) -> None:
        self.folders: dict[str, _Folder] = {}
        self.names: list[str] = []
        self.open = False

    @cached_property
    def files(self) -> int:
        """How many files lie below it at any depth."""
        return len(self.names) + sum(folder.files for folder in self.folders.values())

    @cached_property
    def source(self) -> int:
        """How many of them are source code."""
        own = sum(map(_is_source, self.names))
        return own + sum(folder.source for folder in self.folders.values())

    @cached_property
    def likeness(self) -> tuple[str, ...]:
        """The common trait of folders that are shown on one line: their paths, or without source their endings."""
        paths = sorted(itertools.islice(self._paths(), _MOST_COMPARED))
        if self.source:
            return (*paths, str(self.files))
        return tuple(sorted({f"{path.rpartition('/')[0]}/*{_ending(path)}" for path in paths}))

    @cached_property
    def groups(self) -> tuple[_Group, ...]:
        """Its entries."""
        folders = _grouped({name: folder.likeness for name, folder in self.folders.items()})
        ranked = sorted(folders, key=lambda names: (not self.folders[names[0]].source, names[0]))
        endings = {name: (name,) if _is_source(name) else (_ending(name),) for name in self.names}
        files = sorted(_grouped(endings), key=lambda names: (not _is_source(names[0]), names[0]))
        groups = [_Group(names, self.folders[names[0]]) for names in ranked]
        return (*groups, *(_Group(names, None) for names in files))

    def _paths(self) -> Iterator[str]:
        yield from self.names
        for name, folder in self.folders.items():
            yield from (f"{name}/{path}" for path in folder._paths())


class _Group(NamedTuple):
    """One entry of a folder, or several that are alike; `folder` is the first one's contents, None for files."""

    names: tuple[str, ...]
    folder: _Folder | None

    def line(self, depth: int) -> str:
        """The line of the entry while it is closed."""
        if self.folder is None:
            ending = f" *{_ending(self.names[0])}" if len(self.names) > 1 else ""
            return f"{'  ' * depth}{self._named('')}{ending}"
        return f"{self.heading(depth)} ({counted(self.folder.files, 'file')}{' each' if len(self.names) > 1 else ''})"

    def heading(self, depth: int) -> str:
        """The line of a folder, or of several that are alike, without their contents."""
        alike = " folders alike" if len(self.names) > 1 else ""
        return f"{'  ' * depth}{self._named('/')}{alike}"

    def _named(self, mark: str) -> str:
        shown = ", ".join(f"{visible(name, _MOST_NAMES)}{mark}" for name in self.names[:_NAMED])
        return shown + (f" and {len(self.names) - _NAMED} more" if len(self.names) > _NAMED else "")


def tree(paths: Sequence[str], most_characters: int, *, whole: bool = True) -> str:
    """The tree in at most `most_characters`: first counts and languages, then entries; empty without paths.

    Folders are opened as long as there is space, those with source code first, then upper levels before deeper ones.
    `paths` are relative and sorted, folders end with a slash; `whole`: the list is complete.
    """
    if not paths:
        return ""
    head = "".join(f"{line}\n" for line in _facts(paths, whole=whole))
    root = _folders(paths)
    _open(root, most_characters - len(head))
    lines = [*head.splitlines(), *_lines(root, 0)]
    return "".join(f"{line}\n" for line in _fitting(lines, most_characters))


def _facts(paths: Sequence[str], *, whole: bool) -> Iterator[str]:
    files = [path for path in paths if not path.endswith("/")]
    files_of = Counter(language for path in files if (language := language_of(path)) is not None)
    languages = [each for each in files_of.most_common() if each[0] not in _COUNTED][:_LANGUAGES]
    listed = ", ".join(f"{language} {count}" for language, count in languages)
    yield counted(len(files), "file") + ("" if whole else " and more") + (f": {listed}" if listed else "")


def _folders(paths: Sequence[str]) -> _Folder:
    """The tree of the paths; a folder with nothing but one folder in it is one entry with that."""
    root = _Folder()
    for path in paths:
        *above, name = path.removesuffix("/").split("/", _DEEPEST)
        folder = root
        for each in above:
            folder = folder.folders.setdefault(each, _Folder())
        if path.endswith("/"):
            folder.folders.setdefault(name, _Folder())
        else:
            folder.names.append(name)
    _join(root)
    return root


def _join(folder: _Folder) -> None:
    joined: dict[str, _Folder] = {}
    for name, inner in folder.folders.items():
        joined_name, end = name, inner
        while len(end.folders) == 1 and not end.names:
            ((below, end),) = end.folders.items()
            joined_name += f"/{below}"
        _join(end)
        joined[joined_name] = end
    folder.folders = joined


def _grouped(likeness: Mapping[str, tuple[str, ...]]) -> list[tuple[str, ...]]:
    """The names, together where enough of them are alike."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for name, each in likeness.items():
        alike.setdefault(each, []).append(name)
    groups: list[tuple[str, ...]] = []
    for names in alike.values():
        groups += [tuple(names)] if len(names) >= _ALIKE else [(name,) for name in names]
    return groups


def _open(root: _Folder, available: int) -> None:
    """Open folders as long as their contents fit."""
    order = itertools.count()
    queue = [(False, 0, next(order), root)]
    while queue:
        _, depth, _, folder = heapq.heappop(queue)
        cost = sum(len(line) + 1 for line in _entries(folder, depth))
        if cost > available and depth:
            continue
        folder.open = True
        available -= cost
        for group in folder.groups[:MOST_ENTRIES]:
            if group.folder is not None:
                heapq.heappush(queue, (not group.folder.source, depth + 1, next(order), group.folder))


def _entries(folder: _Folder, depth: int) -> Iterator[str]:
    """The lines of a folder's own entries, all closed."""
    yield from (group.line(depth) for group in folder.groups[:MOST_ENTRIES])
    more = sum(len(group.names) for group in folder.groups[MOST_ENTRIES:])
    if more:
        yield f"{'  ' * depth}… {more} more"


def _lines(folder: _Folder, depth: int) -> Iterator[str]:
    for line, group in itertools.zip_longest(_entries(folder, depth), folder.groups[:MOST_ENTRIES]):
        if group is None or group.folder is None or not group.folder.open:
            yield line
            continue
        yield group.heading(depth)
        yield from _lines(group.folder, depth + 1)


def _fitting(lines: Sequence[str], most: int) -> Iterator[str]:
    """The first lines that fit with a note on the rest; all if they fit."""
    if sum(len(line) + 1 for line in lines) <= most:
        yield from lines
        return
    note = f"… {counted(len(lines), 'more line')}"
    left = most - len(note) - 1
    for number, line in enumerate(lines):
        left -= len(line) + 1
        if left < 0:
            if number:
                yield f"… {counted(len(lines) - number, 'more line')}"
            return
        yield line


def _is_source(name: str) -> bool:
    language = language_of(name)
    return language is not None and language not in _NOT_CODE


def _ending(path: str) -> str:
    """The suffix of a file name, with the dot; the whole name if there is none."""
    name = path.rpartition("/")[2]
    stem, dot, suffix = name.rpartition(".")
    return f".{suffix}" if stem and dot else name
