"""The paths of a workspace, compact and searchable: a hundred thousand of them in a few megabytes."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate, chain
from threading import Lock
from time import sleep
from typing import TYPE_CHECKING, Literal, NamedTuple
from unicodedata import normalize

if TYPE_CHECKING:
    from frizbee import Matcher

LONGEST_QUERY = 200
"""Characters of a query that are looked at."""

_NAME_BONUS = 24
"""What a match in the last name is worth more than one that needs the folders."""
_SLICE = 1000
"""Paths between which a long task gives way, so that the event loop's thread waits a millisecond for its turn."""
_SEPARATOR = b"\0"


class Hit(NamedTuple):
    """A path that matches a query; higher scores match better. Folders end with a slash."""

    path: str
    score: int


class PathTable:
    """Paths with forward slashes, files and the folders that hold them, in the order in which they came.

    Every call may come from another thread; each holds the lock for milliseconds at most.
    """

    def __init__(self) -> None:
        # The matcher is a compiled module that start-up need not load.
        from frizbee import Haystacks

        self._lock = Lock()
        self._blob = bytearray(_SEPARATOR)
        self._ends = array("I")
        self._paths = Haystacks()
        self._names = Haystacks()
        self._folders: set[str] = {""}
        self._dead: set[int] = set()
        self._waiting: list[Sequence[str]] = []
        self._files = 0

    @property
    def files(self) -> int:
        """How many files the table holds."""
        return self._files

    @property
    def dead(self) -> int:
        """How many entries were taken out and still take up room."""
        return len(self._dead)

    def extend(self, files: Sequence[str]) -> None:
        """Add files, and the folders that lead to them. No file may be there already.

        They are only taken down here; whoever looks something up first, or orders the table, puts them in.
        """
        with self._lock:
            self._waiting.append(files)
            self._files += len(files)

    def add_folder(self, folder: str) -> None:
        """Add a folder that may be empty, and those that lead to it."""
        with self._settled():
            self._put(self._new_folders(folder))

    def contains(self, path: str) -> bool:
        """Whether the file, or the folder with a slash after it, is there."""
        with self._settled():
            return self._index(path) is not None

    def remove(self, path: str) -> bool:
        """Take out a file, or a folder with everything in it ("" is everything); False if neither is there."""
        with self._settled():
            prefix = path + "/" if path else ""
            gone = self._starting_with(prefix)
            if gone:
                self._folders = {name for name in self._folders if not (name + "/").startswith(prefix)} | {""}
            index = self._index(path)
            if index is not None:
                gone.append(index)
            self._files -= sum(not self._path(at).endswith("/") for at in gone)
            self._dead.update(gone)
            return bool(gone)

    def below(self, folder: str, limit: int) -> tuple[str, ...]:
        """The paths inside a folder ("" is everything), in order, at most `limit`."""
        with self._settled():
            found = self._starting_with(f"{folder}/" if folder else "", limit)
            return tuple(sorted(path for at in found if (path := self._path(at)) != f"{folder}/"))

    def ending_with(self, tail: str, limit: int = 20) -> tuple[str, ...]:
        """The paths that are, or whose last names are, exactly `tail` (with a slash at its end: folders)."""
        with self._settled():
            return self._with_tail(self._blob, tail.encode("utf-8", "replace"), limit)

    def ending_with_folded(self, tail: str, limit: int = 20) -> tuple[str, ...]:
        """The same whatever the case of plain letters, and in either Unicode form of the others."""
        forms: tuple[Literal["NFC", "NFD"], ...] = ("NFC", "NFD")
        tails = dict.fromkeys(normalize(form, tail).encode("utf-8", "replace").lower() for form in forms)
        with self._settled():
            folded = self._blob.lower()
            found = [path for each in tails for path in self._with_tail(folded, each, limit)]
        return tuple(dict.fromkeys(found))[:limit]

    def search(self, query: str, limit: int) -> tuple[Hit, ...]:
        """The best matches, best first; of equal ones those that are first in the table."""
        from frizbee import Matcher

        query = query[:LONGEST_QUERY].encode("utf-8", "ignore").decode()
        if not query:
            return ()
        exact = Matcher(query, max_typos=0, casing="ignore", max_items=limit + len(self._dead))
        found = self._search(exact, in_names="/" not in query.rstrip("/"))
        if len(found) < 3 and len(query) > 3:
            typo = Matcher(query, max_typos=1, casing="ignore", max_items=limit + len(self._dead))
            found = {**self._search(typo, in_names=False), **found}
        best = sorted(found.items(), key=lambda item: (-item[1], item[0]))[:limit]
        with self._lock:
            return tuple(Hit(self._path(index), score) for index, score in best)

    @staticmethod
    def match(query: str, paths: Sequence[str]) -> tuple[Hit, ...]:
        """The same matcher over a few paths that need not be in the table; for tens of them, not thousands."""
        from frizbee import Matcher

        query = query[:LONGEST_QUERY].encode("utf-8", "ignore").decode()
        if not query or not paths:
            return ()
        matcher = Matcher(query, max_typos=0, casing="ignore")
        scores = {match.index: match.score for match in matcher.match_list(list(paths))}
        if "/" not in query.rstrip("/"):
            for match in matcher.match_list([path[path.rfind("/", 0, -1) + 1 :] for path in paths]):
                scores[match.index] = max(scores.get(match.index, 0), match.score + _NAME_BONUS)
        return tuple(Hit(paths[index], score) for index, score in scores.items())

    def ordered(self) -> PathTable:
        """The same paths, shorter ones first, so that they win where matches are equal."""
        with self._lock:
            count, waiting = len(self._ends), tuple(self._waiting)
        table = PathTable()
        table._folders.update(self._folders)
        buckets: dict[int, list[str]] = {}
        for path in self._stored(count):
            buckets.setdefault(len(path), []).append(path)
        for files in _slices(waiting):
            for path in chain(table._folders_of(files), files):
                buckets.setdefault(len(path), []).append(path)
        for paths in _slices(buckets.pop(length) for length in sorted(buckets)):
            table._put(paths)
        table._files = self._files
        return table

    def __iter__(self) -> Iterator[str]:
        with self._settled():
            count = len(self._ends)
        return self._stored(count)

    def __len__(self) -> int:
        with self._settled():
            return len(self._ends) - len(self._dead)

    def _stored(self, count: int) -> Iterator[str]:
        """The first `count` entries that are not dead, a slice at a time, so that others get their turn."""
        for at in range(0, count, _SLICE):
            with self._lock:
                stop = min(at + _SLICE, count)
                part = [self._path(index) for index in range(at, stop) if index not in self._dead]
            yield from part
            sleep(0)

    @contextmanager
    def _settled(self) -> Iterator[None]:
        """The lock, with everything put in that was only taken down."""
        with self._lock:
            while self._waiting:
                for files in _slices((self._waiting[0],)):
                    self._append(files)
                del self._waiting[0]
            yield

    def _append(self, files: Sequence[str]) -> None:
        self._put(self._folders_of(files))
        self._put(files)

    def _folders_of(self, files: Sequence[str]) -> list[str]:
        """The folders of these files that were not known, which they are now."""
        folders = {path[: path.rfind("/")] if "/" in path else "" for path in files} - self._folders
        return [path for folder in folders for path in self._new_folders(folder)]

    def _new_folders(self, folder: str) -> list[str]:
        new: list[str] = []
        while folder not in self._folders:
            self._folders.add(folder)
            new.append(folder + "/")
            folder = folder.rpartition("/")[0]
        return new

    def _put(self, paths: Sequence[str]) -> None:
        if not paths:
            return
        joined = "\0".join(paths)
        raw = joined.encode("utf-8", "replace")
        plain = len(raw) == len(joined)
        widths = map(len, paths if plain else [path.encode("utf-8", "replace") for path in paths])
        ends = accumulate(widths, lambda end, width: end + width + 1, initial=len(self._blob))
        next(ends)
        self._ends.extend(ends)
        self._blob += raw + _SEPARATOR
        self._paths.extend(paths)
        self._names.extend([path[path.rfind("/", 0, -1) + 1 :] for path in paths])

    def _path(self, index: int) -> str:
        start = self._ends[index - 1] if index else 1
        return self._blob[start : self._ends[index] - 1].decode("utf-8", "replace")

    def _index(self, path: str) -> int | None:
        raw = _SEPARATOR + path.encode("utf-8", "replace") + _SEPARATOR
        at = -1
        while (at := self._blob.find(raw, at + 1)) >= 0:
            index = bisect_right(self._ends, at + 1)
            if index not in self._dead:
                return index
        return None

    def _with_tail(self, blob: bytearray, tail: bytes, limit: int) -> tuple[str, ...]:
        """The paths whose last names are `tail` in `blob`, which may spell them in another way."""
        raw = tail + _SEPARATOR
        found: list[str] = []
        at = -1
        while len(found) < limit and (at := blob.find(raw, at + 1)) > 0:
            if blob[at - 1] in b"\0/":
                index = bisect_right(self._ends, at)
                if index not in self._dead:
                    found.append(self._path(index))
        return tuple(found)

    def _starting_with(self, prefix: str, limit: int | None = None) -> list[int]:
        raw = _SEPARATOR + prefix.encode("utf-8", "replace")
        found: list[int] = []
        at = -1
        while (at := self._blob.find(raw, at + 1)) >= 0 and at + 1 < len(self._blob):
            index = bisect_right(self._ends, at + 1)
            if index not in self._dead:
                found.append(index)
                if len(found) == limit:
                    break
        return found

    def _search(self, matcher: Matcher, *, in_names: bool) -> dict[int, int]:
        with self._settled():
            found = {match.index: match.score for match in matcher.match_list(self._paths)}
            if in_names:
                for match in matcher.match_list(self._names):
                    score = match.score + _NAME_BONUS
                    found[match.index] = max(found.get(match.index, 0), score)
        return {index: score for index, score in found.items() if index not in self._dead}


def _slices(several: Iterable[Sequence[str]]) -> Iterator[Sequence[str]]:
    """The sequences in slices, giving way after each."""
    for paths in several:
        for at in range(0, len(paths), _SLICE):
            yield paths[at : at + _SLICE]
            sleep(0)
