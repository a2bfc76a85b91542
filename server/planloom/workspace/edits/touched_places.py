"""Every place that changes touch, judged: one judgement for whoever asks, refuses or marks a change."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from planloom.domain.changes import CreateFile, EditFile, FileChange, RenameFile
from planloom.domain.safety.protected import danger, is_secret, never_written
from planloom.domain.safety.remote_schemas import remote_schema
from planloom.domain.values import Uri
from planloom.workspace.paths.names import shown
from planloom.workspace.paths.resolver import PathRefused, ResolvedPath
from planloom.workspace.paths.uris import is_below, to_path
from planloom.workspace.view import WorkspaceView

MOST_INSIDE: Final = 50_000
"""Names of one folder that are looked at; a larger folder counts as protected."""
_NAMED: Final = 3
"""Secrets that a warning names."""


class TouchedPlace(NamedTuple):
    """What a change touches, with what it moves. `place` and `target` are where it leads behind links.

    `dangers` say, each in a sentence, why the change is always asked. `refused` says why it cannot be made.
    """

    place: ResolvedPath | PathRefused
    target: ResolvedPath | PathRefused | None = None
    dangers: tuple[str, ...] = ()
    refused: str | None = None


async def touched(view: WorkspaceView, changes: Sequence[FileChange]) -> tuple[TouchedPlace, ...]:
    """All that each of the changes touches, if they are made in this order."""
    known = tuple(document.uri for document in view.documents.all()) + view.acknowledged()

    def judge() -> tuple[TouchedPlace, ...]:
        places = [view.locate(change.uri, "write") for change in changes]
        targets = [
            view.locate(change.new_uri, "write") if isinstance(change, RenameFile) else None
            for change in changes
        ]
        return judged(changes, places, targets, known)

    return await asyncio.to_thread(judge)


def judged(
    changes: Sequence[FileChange],
    places: Sequence[ResolvedPath | PathRefused],
    targets: Sequence[ResolvedPath | PathRefused | None],
    known: Iterable[Uri] = (),
) -> tuple[TouchedPlace, ...]:
    """The same for places that are resolved already; looks into folders on disk, so call it from a thread.

    `known` are files that may not be on disk.
    """
    found: list[TouchedPlace] = []
    for number, change in enumerate(changes):
        place, target = places[number], targets[number]
        inside: tuple[str, ...] | None = ()
        if isinstance(change, RenameFile):
            inside = _inside(change, changes[:number], known)
        found.append(_judged(change, place, target, inside))
    return tuple(found)


def _judged(
    change: FileChange,
    place: ResolvedPath | PathRefused,
    target: ResolvedPath | PathRefused | None,
    inside: tuple[str, ...] | None,
) -> TouchedPlace:
    """One change of a place, to a target if it is a rename; None for more inside than is looked at."""
    ends = [end for end in (place, target) if isinstance(end, ResolvedPath)]
    refused = next((end.reason for end in (place, target) if isinstance(end, PathRefused)), None)
    dangers = dict.fromkeys(end.protected for end in ends if end.protected is not None)
    names = [f"{end.relative}/{name}" for end in ends for name in inside or ()]
    dangers |= dict.fromkeys(said for name in names if (said := danger(name)) is not None)
    forbidden = next((name for name in names if never_written(name) is not None), None)
    if refused is None and forbidden is not None:
        refused = f"{shown(forbidden)}: {never_written(forbidden)}"
    if isinstance(change, CreateFile | EditFile) and isinstance(place, ResolvedPath):
        schema = remote_schema(place.relative, change.after)
        dangers |= {schema: None} if schema is not None else {}
    if inside is None:
        dangers[f"It holds more than {MOST_INSIDE} files, whose names were not all looked at."] = None
    if target is not None:
        secrets = [end.relative for end in ends if end.secret] + [name for name in names if is_secret(name)]
        if secrets:
            dangers[_moved_secrets(secrets)] = None
    return TouchedPlace(place, target, tuple(dangers), refused)


def _moved_secrets(names: Sequence[str]) -> str:
    told = ", ".join(shown(name) for name in names[:_NAMED])
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return (
        f"This gives another name to what usually holds keys or passwords, or such a name to something else"
        f" ({told}{more}): a model reads what no name protects."
    )


def _inside(
    change: RenameFile, earlier: Sequence[FileChange], known: Iterable[Uri]
) -> tuple[str, ...] | None:
    """What a rename takes along, as paths below it; None if that is too much.

    Changes before it in the same set have not happened yet: they say where it lies now, and what comes into it.
    """
    found: dict[str, None] = {}
    origin = change.uri
    for before in reversed(earlier):
        if isinstance(before, RenameFile):
            if _is_at(origin, before.new_uri):
                origin = Uri(before.uri + origin.removeprefix(before.new_uri))
            if is_below(before.new_uri, change.uri):
                found[_relative(before.new_uri, change.uri)] = None
        elif is_below(before.uri, change.uri):
            found[_relative(before.uri, change.uri)] = None
    found |= dict.fromkeys(_relative(uri, origin) for uri in known if is_below(uri, origin))
    start = to_path(origin)
    if start is None:
        return tuple(found)
    for folder, folders, files in os.walk(start):
        prefix = "" if Path(folder) == start else Path(folder).relative_to(start).as_posix() + "/"
        found |= dict.fromkeys(prefix + name for name in (*folders, *files))
        if len(found) > MOST_INSIDE:
            return None
    return tuple(found)


def _is_at(uri: Uri, place: Uri) -> bool:
    return uri == place or is_below(uri, place)


def _relative(uri: str, folder: str) -> str:
    path, base = to_path(uri), to_path(folder)
    return path.relative_to(base).as_posix() if path is not None and base is not None else uri
