"""Tells when a call would only repeat what was done a moment ago, so that its first result is given again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple

from planloom.domain.values import Args
from planloom.tools.tool import Tool, ToolResult

READ_SECONDS = 2.0
"""How long the result of a read stands in for the same read."""
WIDE = frozenset({"list_files", "find_files", "search_text", "read_diagnostics"})
"""Reads whose result any write may change, wherever it goes."""


class Signature(NamedTuple):
    """What makes two calls the same. `places` are the resolved paths whose change ends the window."""

    kind: Literal["read", "write"]
    key: str
    places: tuple[str, ...]
    wide: bool


def signature(tool: Tool, args: Args, places: Mapping[str, str]) -> Signature | None:
    """The signature of a call, its path arguments resolved as `places` by argument name; None for commands.

    A read is the same by its name and all its arguments; a write by name, paths and the hash of its content,
    which is every other argument.
    """
    if tool.effect == "execute":
        return None
    content = {name: value for name, value in args.items() if name not in places}
    spelled = json.dumps([tool.name, sorted(places.items()), content], sort_keys=True, ensure_ascii=False)
    reads = tool.effect == "read"
    return Signature(
        kind="read" if reads else "write",
        key=hashlib.sha256(spelled.encode("utf-8", "surrogatepass")).hexdigest(),
        places=tuple(places.values()),
        wide=reads and (tool.name in WIDE or not places),
    )


_Which = Callable[[Signature], bool]


class _Kept(NamedTuple):
    signature: Signature
    result: ToolResult
    at: float


class DedupWindow:
    """The calls that stand in for the same ones now; times are seconds of any steady clock."""

    def __init__(self, write_seconds: float) -> None:
        self._seconds = {"read": READ_SECONDS, "write": write_seconds}
        self._kept: dict[str, _Kept] = {}

    def find(self, signed: Signature, now: float) -> ToolResult | None:
        """The result of the same call, if its window is open."""
        kept = self._kept.get(signed.key)
        if kept is None:
            return None
        if now - kept.at >= self._seconds[signed.kind]:
            del self._kept[signed.key]
            return None
        return kept.result

    def ran(self, signed: Signature, result: ToolResult, now: float) -> None:
        """A call has run: a write ends every window on its paths, and a good result opens one of its own."""
        if signed.kind == "write":
            for place in signed.places:
                self.changed(place)
            self._drop(lambda each: each.wide)
        if result.ok:
            self._drop_old(now)
            self._kept[signed.key] = _Kept(signed, result, now)

    def changed(self, place: str) -> None:
        """A file or folder was changed by anyone: the windows on it end, and those on everything at once."""
        self._drop(lambda each: each.wide or any(_touches(place, own) for own in each.places))

    def forget(self) -> None:
        """Nothing that was done before stands in for anything any more."""
        self._kept.clear()

    def _drop(self, which: _Which) -> None:
        self._kept = {key: kept for key, kept in self._kept.items() if not which(kept.signature)}

    def _drop_old(self, now: float) -> None:
        self._kept = {
            key: kept
            for key, kept in self._kept.items()
            if now - kept.at < self._seconds[kept.signature.kind]
        }


def _touches(changed: str, own: str) -> bool:
    """Whether a change of one place can be seen at another: the same one, or one in the other."""
    return (
        changed == own
        or own.startswith(changed.rstrip("/") + "/")
        or changed.startswith(own.rstrip("/") + "/")
    )
