"""Answers repeated calls of one step from a cache, as long as their files have not changed."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Literal, NamedTuple

from planloom.domain.values import Args, Uri
from planloom.tools.context import ToolContext
from planloom.tools.tool import Tool, ToolResult
from planloom.workspace.documents import DocumentStore
from planloom.workspace.paths.resolver import PathRefused
from planloom.workspace.snapshots import Snapshot

READ_SECONDS = 2.0
"""How long the result of a read answers identical reads."""

_FileStates = tuple[tuple[Uri, bool, str | None, object], ...]


class CallCache:
    """The recent calls of one step, each with the state of its files, so that no change is missed."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._recent = DedupWindow(seconds)
        self._clock = clock
        self._file_states: dict[str, _FileStates] = {}
        self._current: Signature | None = None
        self._before: dict[str, Snapshot | None] = {}

    async def earlier(self, tool: Tool, args: Args, context: ToolContext) -> ToolResult | None:
        """The cached result of an equal call, if it is still valid; else run the call, then call `ran`."""
        signed = self._current = await _signed(tool, args, context)
        if signed is None:
            return None
        self._before = {place: context.files.last_read(place) for place in signed.places}
        found = self._recent.find(signed, self._clock())
        if found is None or await _file_states(signed, context) != self._file_states.get(signed.key):
            return None
        return found

    async def ran(self, context: ToolContext, result: ToolResult) -> None:
        """Cache the result of the call that was last looked up. Without a signature nothing cached is valid."""
        signed = self._current
        if signed is None:
            self._recent.forget()
            return
        self._recent.ran(signed, result, self._clock())
        read = {place: context.files.last_read(place) for place in signed.places}
        fresh = {place: found for place, found in read.items() if found is not self._before.get(place)}
        self._file_states[signed.key] = await _file_states(signed, context, fresh)

    def changed(self, uri: Uri) -> None:
        """Invalidate the results that depend on a file that the user or another step has changed."""
        self._recent.changed(uri)

    def forget(self) -> None:
        """Invalidate all results."""
        self._recent.forget()
        self._file_states.clear()


@contextmanager
def open_call_cache(documents: DocumentStore, seconds: float) -> Iterator[CallCache]:
    """A cache that is invalidated by changes of open documents, for as long as a step runs."""
    call_cache = CallCache(seconds)
    unsubscribe = documents.listen(call_cache.changed)
    try:
        yield call_cache
    finally:
        unsubscribe()


class Signature(NamedTuple):
    """Identifies equal calls by `key`. A change of one of `places`, the resolved paths, ends the window.

    For a `wide` read any change does.
    """

    kind: Literal["read", "write"]
    key: str
    places: tuple[str, ...]
    wide: bool


def signature(tool: Tool, args: Args, places: Mapping[str, str]) -> Signature | None:
    """The signature of a call; None for one that is never answered from the cache, and after which nothing cached is
    valid: those of commands, and changes of files that no argument names. `places` maps its path arguments to resolved
    paths.

    Calls are equal if tool, resolved paths and all other arguments are.
    """
    if tool.is_of_commands or (tool.wide and tool.effect != "read"):
        return None
    content = {name: value for name, value in args.items() if name not in places}
    canonical = json.dumps([tool.name, sorted(places.items()), content], sort_keys=True, ensure_ascii=False)
    reads = tool.effect in ("read", "fetch")
    return Signature(
        kind="read" if reads else "write",
        key=hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest(),
        places=tuple(places.values()),
        wide=reads and (tool.wide or not places),
    )


class _Entry(NamedTuple):
    signature: Signature
    result: ToolResult
    time: float


class DedupWindow:
    """Results of recent calls by signature. Times are seconds of any monotonic clock."""

    def __init__(self, write_seconds: float) -> None:
        self._seconds = {"read": READ_SECONDS, "write": write_seconds}
        self._entries: dict[str, _Entry] = {}

    def find(self, signed: Signature, now: float) -> ToolResult | None:
        """The result of an equal call whose window is still open."""
        entry = self._entries.get(signed.key)
        if entry is None:
            return None
        if now - entry.time >= self._seconds[signed.kind]:
            del self._entries[signed.key]
            return None
        return entry.result

    def ran(self, signed: Signature, result: ToolResult, now: float) -> None:
        """Record a call that has run. A write ends the windows on its paths; a success opens a window."""
        if signed.kind == "write":
            for place in signed.places:
                self.changed(place)
            self._drop(lambda each: each.wide)
        if result.ok:
            self._drop_old(now)
            self._entries[signed.key] = _Entry(signed, result, now)

    def changed(self, place: str) -> None:
        """End the windows on a changed file or folder, and those of wide reads."""
        self._drop(lambda each: each.wide or any(_touches(place, own) for own in each.places))

    def forget(self) -> None:
        """End every window."""
        self._entries.clear()

    def _drop(self, ended: Callable[[Signature], bool]) -> None:
        self._entries = {key: entry for key, entry in self._entries.items() if not ended(entry.signature)}

    def _drop_old(self, now: float) -> None:
        self._entries = {
            key: entry
            for key, entry in self._entries.items()
            if now - entry.time < self._seconds[entry.signature.kind]
        }


async def _signed(tool: Tool, args: Args, context: ToolContext) -> Signature | None:
    uris: dict[str, str] = {}
    for name, (path, for_) in tool.named(args).items():
        place = await context.resolve(path, for_)
        uris[name] = str(args[name]) if isinstance(place, PathRefused) else place.uri
    return signature(tool, args, uris)


async def _file_states(
    signed: Signature, context: ToolContext, fresh: Mapping[str, Snapshot | None] = {}
) -> _FileStates:
    """The current state of a call's files. It reveals changes on disk, which no event reports.

    `fresh` are the snapshots that the call itself has just read.
    """
    if signed.wide:
        return ()
    states = []
    for place in signed.places:
        found = fresh.get(place) or await context.files.peek(place)
        states.append(
            (found.uri, found.exists, found.sha256, found.fingerprint if found.text is None else None)
        )
    return tuple(states)


def _touches(changed: str, own: str) -> bool:
    """Whether a change of one path can be seen at another: they are equal, or one is below the other."""
    return (
        changed == own
        or own.startswith(changed.rstrip("/") + "/")
        or changed.startswith(own.rstrip("/") + "/")
    )
