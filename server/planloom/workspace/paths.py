"""The one path resolver: every path that a model or a plan names becomes a place in the workspace here, or nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, NamedTuple

from planloom.domain.values import Uri, Value

PathCode = Literal[
    "empty", "invalid", "outside", "ambiguous", "forbidden", "foreign", "not_a_folder", "loop", "dangling",
    "special", "too_long", "no_folder", "unreadable",
]  # fmt: skip


class Root(NamedTuple):
    """A workspace folder; `uri` is the client's."""

    name: str
    path: Path
    uri: Uri


class Roots(NamedTuple):
    """The workspace folders, and the places of Planloom's own that may lie inside them."""

    folders: tuple[Root, ...]
    private: tuple[Path, ...] = ()


class ResolvedPath(Value):
    """A place inside the workspace, behind every link."""

    kind: Literal["resolved"] = "resolved"
    path: Path
    relative: str
    root: Root
    uri: Uri
    notes: tuple[str, ...] = ()
    protected: str | None = None
    secret: bool = False
    is_link: bool = False


class PathRefused(Value):
    """A path that is not used; `reason` tells the model what to do instead."""

    kind: Literal["refused"] = "refused"
    code: PathCode
    reason: str
    candidates: tuple[str, ...] = ()


def resolve(
    roots: Roots, text: str, *, for_: Literal["read", "write"], home: Root | None = None
) -> ResolvedPath | PathRefused:
    """Where `text` leads; never raises. Touches the disk to follow links, so call it from a thread."""
    raise NotImplementedError
