"""Answers repeated calls of one step from a cache, as long as their files have not changed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from planloom.agent.deduplication import DedupWindow, Signature, signature
from planloom.domain.values import Args, Uri
from planloom.tools.context import ToolContext
from planloom.tools.tool import Tool, ToolResult
from planloom.workspace.documents import DocumentStore
from planloom.workspace.paths.resolver import PathRefused

_FileStates = tuple[tuple[Uri, bool, str | None, object], ...]


class CallCache:
    """The recent calls of one step, each with the state of its files, so that no change is missed."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._recent = DedupWindow(seconds)
        self._clock = clock
        self._file_states: dict[str, _FileStates] = {}
        self._current: Signature | None = None

    async def earlier(self, tool: Tool, args: Args, context: ToolContext) -> ToolResult | None:
        """The cached result of an equal call, if it is still valid; else run the call, then call `ran`."""
        signed = self._current = await _signed(tool, args, context)
        if signed is None:
            return None
        found = self._recent.find(signed, self._clock())
        if found is None or await _file_states(signed, context) != self._file_states.get(signed.key):
            return None
        return found

    async def ran(self, context: ToolContext, result: ToolResult) -> None:
        """Cache the result of the call that was last looked up. After a command nothing cached is valid."""
        signed = self._current
        if signed is None:
            self._recent.forget()
            return
        self._recent.ran(signed, result, self._clock())
        self._file_states[signed.key] = await _file_states(signed, context)

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


async def _signed(tool: Tool, args: Args, context: ToolContext) -> Signature | None:
    uris: dict[str, str] = {}
    for name in tool.paths:
        value = args.get(name)
        if isinstance(value, str):
            path = await context.resolve(value or ".", "read")
            uris[name] = value if isinstance(path, PathRefused) else path.uri
    return signature(tool, args, uris)


async def _file_states(signed: Signature, context: ToolContext) -> _FileStates:
    """The current state of a call's files. It reveals changes on disk, which no event reports."""
    if signed.wide:
        return ()
    states = []
    for place in signed.places:
        found = await context.files.peek(place)
        states.append(
            (found.uri, found.exists, found.sha256, found.fingerprint if found.text is None else None)
        )
    return tuple(states)
