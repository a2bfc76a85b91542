"""The calls of one step that are answered by what the same call just came to, as long as nothing has changed."""

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

_Seen = tuple[tuple[Uri, bool, str | None, object], ...]


class CallCache:
    """Windows over the calls of one step, each with what its files held, so that no change is missed."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._recent = DedupWindow(seconds)
        self._clock = clock
        self._seen: dict[str, _Seen] = {}
        self._asked: Signature | None = None

    async def earlier(self, tool: Tool, args: Args, context: ToolContext) -> ToolResult | None:
        """What the same call came to, if that still holds."""
        signed = self._asked = await _signed(tool, args, context)
        if signed is None:
            return None
        found = self._recent.find(signed, self._clock())
        if found is None or await _looked(signed, context) != self._seen.get(signed.key):
            return None
        return found

    async def ran(self, context: ToolContext, result: ToolResult) -> None:
        """The call that was looked for has run. After a command nothing that was known holds."""
        signed = self._asked
        if signed is None:
            self._recent.forget()
            return
        self._recent.ran(signed, result, self._clock())
        self._seen[signed.key] = await _looked(signed, context)

    def changed(self, uri: Uri) -> None:
        """The user, or another step, has changed a file."""
        self._recent.changed(uri)

    def forget(self) -> None:
        """What was staged is staged no more."""
        self._recent.forget()
        self._seen.clear()


@contextmanager
def repeats_of(documents: DocumentStore, seconds: float) -> Iterator[CallCache]:
    """Windows that hear of every change of an open document, for as long as the step runs."""
    call_cache = CallCache(seconds)
    quiet = documents.listen(call_cache.changed)
    try:
        yield call_cache
    finally:
        quiet()


async def _signed(tool: Tool, args: Args, context: ToolContext) -> Signature | None:
    places: dict[str, str] = {}
    for name in tool.paths:
        value = args.get(name)
        if isinstance(value, str):
            place = await context.resolve(value or ".", "read")
            places[name] = value if isinstance(place, PathRefused) else place.uri
    return signature(tool, args, places)


async def _looked(signed: Signature, context: ToolContext) -> _Seen:
    """What the files of a call hold now, for the change that nobody tells: one on disk."""
    if signed.wide:
        return ()
    seen = []
    for place in signed.places:
        found = await context.files.peek(place)
        seen.append(
            (found.uri, found.exists, found.sha256, found.fingerprint if found.text is None else None)
        )
    return tuple(seen)
