"""A compact, searchable table of paths: a hundred thousand of them in a few megabytes."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate, chain
from posixpath import splitext
from threading import Lock
from time import sleep
from typing import TYPE_CHECKING, Literal, NamedTuple
from unicodedata import normalize

if TYPE_CHECKING:
    from frizbee import Matcher

LONGEST_QUERY = 200
"""Characters of a query that are used."""

_NAME_BONUS = 24
"""Score added to a match within the last name."""
_SLICE = 1000
"""Paths after which a long task yields to other threads, so that the event loop waits about a millisecond."""
_SEPARATOR = b"\0"
_MOST_SUFFIXES = 1000


class Hit(NamedTuple):
    """A path that matches a query; higher scores match better. Folders end with a slash."""

    path: str
    score: int


class PathTable:
    """Paths with forward slashes: files and the folders that contain them, in insertion order. `suffixes` are those of
    all files that were ever added, within a bound.

    Thread-safe; each call holds the lock for milliseconds at most.
    """

    def __init__(self) -> None:
        # The matcher is a compiled module that start-up need not wait for.
        from frizbee import Haystacks

        self._lock = Lock()
        self._blob = bytearray(_SEPARATOR)
        self._ends = array("I")
        self._paths = Haystacks()
        self._names = Haystacks()
        self._folders: set[str] = {""}
        self._dead: set[int] = set()
        self._pending: list[Sequence[str]] = []
        self._files = 0
        self.suffixes: set[str] = set()

    @property
    def files(self) -> int:
        """How many files the table holds."""
        return self._files

    @property
    def dead(self) -> int:
        """How many removed entries still occupy memory."""
        return len(self._dead)

    def extend(self, files: Sequence[str]) -> None:
        """Add files that are not in the table yet, and the folders that lead to them.

        They are only queued here; the next lookup, or `ordered`, inserts them.
        """
        with self._lock:
            self._pending.append(files)
            self._files += len(files)
        if len(self.suffixes) < _MOST_SUFFIXES:
            self.suffixes.update({splitext(path)[1] for path in files})

    def add_folder(self, folder: str) -> None:
        """Add a folder, which may be empty, and the folders that lead to it."""
        with self._up_to_date():
            self._put(self._new_folders(folder))

    def contains(self, path: str) -> bool:
        """Whether the table holds a file, or a folder if the path ends with a slash."""
        with self._up_to_date():
            return self._index(path) is not None

    def remove(self, path: str) -> bool:
        """Remove a file, or a folder with everything in it ("" is everything); False if neither exists."""
        with self._up_to_date():
            prefix = path + "/" if path else ""
            gone = self._starting_with(prefix)
            if gone:
                self._folders = {name for name in self._folders if not (name + "/").startswith(prefix)} | {""}
            index = self._index(path)
            if index is not None:
                gone.append(index)
            self._files -= sum(not self._path(entry).endswith("/") for entry in gone)
            self._dead.update(gone)
            return bool(gone)

    def below(self, folder: str, limit: int) -> tuple[str, ...]:
        """The paths inside a folder ("" is everything), sorted, at most `limit`."""
        with self._up_to_date():
            found = self._starting_with(f"{folder}/" if folder else "", limit)
            return tuple(sorted(path for entry in found if (path := self._path(entry)) != f"{folder}/"))

    def ending_with(self, tail: str, limit: int = 20) -> tuple[str, ...]:
        """The paths whose last names are exactly `tail`; a tail that ends with a slash finds folders."""
        with self._up_to_date():
            return self._with_tail(self._blob, tail.encode("utf-8", "replace"), limit)

    def ending_with_folded(self, tail: str, limit: int = 20) -> tuple[str, ...]:
        """Like `ending_with`, ignoring the case of ASCII letters, and in both Unicode normal forms."""
        forms: tuple[Literal["NFC", "NFD"], ...] = ("NFC", "NFD")
        tails = dict.fromkeys(normalize(form, tail).encode("utf-8", "replace").lower() for form in forms)
        with self._up_to_date():
            folded = self._blob.lower()
            found = [path for each in tails for path in self._with_tail(folded, each, limit)]
        return tuple(dict.fromkeys(found))[:limit]

    def search(self, query: str, limit: int) -> tuple[Hit, ...]:
        """The best matches, best first; equal scores keep the order of the table."""
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
        """Match paths that need not be in the table; meant for tens of them, not thousands."""
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
        """A copy with shorter paths first, so that they win among equal matches."""
        with self._lock:
            count, pending = len(self._ends), tuple(self._pending)
        table = PathTable()
        table._folders.update(self._folders)
        buckets: dict[int, list[str]] = {}
        for path in self._stored(count):
            buckets.setdefault(len(path), []).append(path)
        for files in _slices(pending):
            for path in chain(table._folders_of(files), files):
                buckets.setdefault(len(path), []).append(path)
        for paths in _slices(buckets.pop(length) for length in sorted(buckets)):
            table._put(paths)
        table._files = self._files
        table.suffixes = self.suffixes
        return table

    def __iter__(self) -> Iterator[str]:
        with self._up_to_date():
            count = len(self._ends)
        return self._stored(count)

    def __len__(self) -> int:
        with self._up_to_date():
            return len(self._ends) - len(self._dead)

    def _stored(self, count: int) -> Iterator[str]:
        """The live ones of the first `count` entries, a slice at a time, releasing the lock in between."""
        for start in range(0, count, _SLICE):
            with self._lock:
                stop = min(start + _SLICE, count)
                part = [self._path(index) for index in range(start, stop) if index not in self._dead]
            yield from part
            sleep(0)

    @contextmanager
    def _up_to_date(self) -> Iterator[None]:
        """Hold the lock, after inserting everything that was queued."""
        with self._lock:
            while self._pending:
                for files in _slices((self._pending[0],)):
                    self._append(files)
                del self._pending[0]
            yield

    def _append(self, files: Sequence[str]) -> None:
        self._put(self._folders_of(files))
        self._put(files)

    def _folders_of(self, files: Sequence[str]) -> list[str]:
        """The folders of these files that are new; marks them as known."""
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
        offset = -1
        while (offset := self._blob.find(raw, offset + 1)) >= 0:
            index = bisect_right(self._ends, offset + 1)
            if index not in self._dead:
                return index
        return None

    def _with_tail(self, blob: bytearray, tail: bytes, limit: int) -> tuple[str, ...]:
        """The paths whose last names are `tail` in `blob`, which is `_blob` or its lower-case form."""
        raw = tail + _SEPARATOR
        found: list[str] = []
        offset = -1
        while len(found) < limit and (offset := blob.find(raw, offset + 1)) > 0:
            if blob[offset - 1] in b"\0/":
                index = bisect_right(self._ends, offset)
                if index not in self._dead:
                    found.append(self._path(index))
        return tuple(found)

    def _starting_with(self, prefix: str, limit: int | None = None) -> list[int]:
        raw = _SEPARATOR + prefix.encode("utf-8", "replace")
        found: list[int] = []
        offset = -1
        while (offset := self._blob.find(raw, offset + 1)) >= 0 and offset + 1 < len(self._blob):
            index = bisect_right(self._ends, offset + 1)
            if index not in self._dead:
                found.append(index)
                if len(found) == limit:
                    break
        return found

    def _search(self, matcher: Matcher, *, in_names: bool) -> dict[int, int]:
        with self._up_to_date():
            found = {match.index: match.score for match in matcher.match_list(self._paths)}
            if in_names:
                for match in matcher.match_list(self._names):
                    score = match.score + _NAME_BONUS
                    found[match.index] = max(found.get(match.index, 0), score)
        return {index: score for index, score in found.items() if index not in self._dead}


def _slices(several: Iterable[Sequence[str]]) -> Iterator[Sequence[str]]:
    """The sequences in slices, yielding to other threads after each."""
    for paths in several:
        for start in range(0, len(paths), _SLICE):
            yield paths[start : start + _SLICE]
            sleep(0)
