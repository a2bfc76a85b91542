"""The tools `rename_path` and `delete_path`, which stage renames and deletions."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable
from pathlib import Path

from planloom.domain.changes import DeleteFile
from planloom.domain.safety.protected import is_git
from planloom.domain.text.counted import counted
from planloom.tools.catalog import DeletePath, RenamePath
from planloom.tools.context import ToolContext
from planloom.tools.tool import ToolResult, failed, succeeded
from planloom.workspace.paths.resolver import PathRefused, ResolvedPath
from planloom.workspace.paths.uris import child

MOST_LISTED = 100
MOST_DELETED = 1_000
"""Most files that one step may delete."""
_MOST_CHECKED = 50_000


async def rename_path(args: RenamePath, context: ToolContext) -> ToolResult:
    """Stage a rename of a file or folder; never over something that exists."""
    place = await _movable(args.path, context)
    if isinstance(place, ToolResult):
        return place
    target = await context.resolve(args.new_path, "write")
    if isinstance(target, PathRefused):
        return failed(target.reason)
    uri, name = target.uri, target.relative
    there = await context.files.peek(target.uri)
    into = there.problem == "folder" and target.path != place.path
    if into or args.new_path.endswith(("/", "\\")):
        last = place.relative.rpartition("/")[2]
        uri, name = child(target.uri, last), f"{target.relative}/{last}"
    if uri == place.uri:
        return succeeded(f"{place.relative} already has this name", value=name)
    refused = await context.files.stage_rename(place.uri, uri)
    if refused is not None:
        return failed(refused.reason)
    return succeeded(f"Renamed {place.relative} to {name}", value=name)


async def delete_path(args: DeletePath, context: ToolContext) -> ToolResult:
    """Stage the deletion of a file, or of a folder with all its content."""
    place = await _movable(args.path, context)
    if isinstance(place, ToolResult):
        return place
    found = await context.files.peek(place.uri)
    inside = await _inside(context, place) if found.problem == "folder" else ()
    before = _deleted(context)
    if before + len(inside) > MOST_DELETED:
        return failed(
            f"This step would delete {before + len(inside)} files; one step may delete {MOST_DELETED}. "
            "Delete smaller parts, each in a step of its own."
        )
    refused = await context.files.stage_delete(place.uri, recursive=True)
    if refused is not None:
        return failed(refused.reason)
    if found.problem != "folder":
        return succeeded(f"Deleted {place.relative}", value=place.relative)
    return succeeded(
        f"Deleted the folder {place.relative} with {counted(len(inside), 'file')}",
        f"Deleted the folder {place.relative} with {counted(len(inside), 'file')}{':' if inside else '.'}"
        + "".join(f"\n{name}" for name in inside[:MOST_LISTED])
        + (f"\n[and {len(inside) - MOST_LISTED} more]" if len(inside) > MOST_LISTED else ""),
        place.relative,
    )


async def _movable(path: str, context: ToolContext) -> ResolvedPath | ToolResult:
    """Resolve the path of something that may be renamed or deleted."""
    place = await context.resolve(path, "write")
    if isinstance(place, PathRefused):
        return failed(place.reason)
    if place.is_link:
        return failed(f"{path} is a link to {place.relative}: only a person can rename or delete it.")
    reason = await asyncio.to_thread(_protected_reason, place, tuple(context.roots.private), _roots(context))
    if reason is not None:
        return failed(reason)
    if not (await context.files.peek(place.uri)).exists:
        return failed(f"There is no file or folder {place.relative}. Use list_files to see what is there.")
    return place


def _roots(context: ToolContext) -> tuple[Path, ...]:
    return tuple(root.path for root in context.roots.folders)


def _protected_reason(place: ResolvedPath, private: Iterable[Path], roots: Iterable[Path]) -> str | None:
    """Why a path must never be renamed or deleted, or None. Walks the disk: call it from a thread."""
    real = place.path
    for folder, what in (
        (Path.home(), "the user's home folder"),
        *((root, "a workspace folder") for root in roots),
        *((own, "Planloom's own state") for own in private),
    ):
        if folder.resolve().is_relative_to(real):
            return f"{place.relative} contains {what}, which is never moved or deleted."
    checked = 0
    for folder_name, folders, files in os.walk(real):
        repository = next((name for name in (*folders, *files) if is_git(name)), None)
        if repository is not None:
            where = Path(folder_name, repository).relative_to(real.parent).as_posix()
            return (
                f"{place.relative} contains a repository ({where}), which only a person may move or delete."
            )
        checked += len(folders) + len(files)
        if checked > _MOST_CHECKED:
            return f"{place.relative} contains more than {_MOST_CHECKED} files: choose smaller parts."
    return None


async def _inside(context: ToolContext, place: ResolvedPath) -> tuple[str, ...]:
    """The paths of the files in a folder; stops soon after `MOST_DELETED`."""
    found: list[str] = []
    stack = [(place.uri, f"{place.relative}/")]
    while stack and len(found) <= MOST_DELETED:
        uri, prefix = stack.pop()
        for entry in (await context.files.list_folder(uri)).entries:
            if entry.kind == "folder":
                stack.append((entry.uri, f"{prefix}{entry.name}/"))
            else:
                found.append(prefix + entry.name)
    return tuple(sorted(found))


def _deleted(context: ToolContext) -> int:
    return sum(isinstance(change, DeleteFile) for change in context.files.changeset().changes)
