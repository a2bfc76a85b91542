"""Detects calls that repeat a recent one, so that the first result can be returned again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple

from planloom.domain.values import Args
from planloom.tools.tool import Tool, ToolResult

READ_SECONDS = 2.0
"""How long the result of a read answers identical reads."""
WIDE = frozenset(
    {"list_files", "find_files", "search_text", "read_diagnostics", "git_status", "git_diff", "git_log"}
)
"""Reads whose result a write to any path may change."""


class Signature(NamedTuple):
    """Identifies equal calls by `key`. A change of one of `places`, the resolved paths, ends the window.

    For a `wide` read any change does.
    """

    kind: Literal["read", "write"]
    key: str
    places: tuple[str, ...]
    wide: bool


def signature(tool: Tool, args: Args, places: Mapping[str, str]) -> Signature | None:
    """The signature of a call; None for commands. `places` maps its path arguments to resolved paths.

    Calls are equal if tool, resolved paths and all other arguments are.
    """
    if tool.effect == "execute":
        return None
    content = {name: value for name, value in args.items() if name not in places}
    canonical = json.dumps([tool.name, sorted(places.items()), content], sort_keys=True, ensure_ascii=False)
    reads = tool.effect == "read"
    return Signature(
        kind="read" if reads else "write",
        key=hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest(),
        places=tuple(places.values()),
        wide=reads and (tool.name in WIDE or not places),
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


def _touches(changed: str, own: str) -> bool:
    """Whether a change of one path can be seen at another: they are equal, or one is below the other."""
    return (
        changed == own
        or own.startswith(changed.rstrip("/") + "/")
        or changed.startswith(own.rstrip("/") + "/")
    )
