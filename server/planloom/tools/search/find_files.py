"""The tool `find_files`: finds files by name."""

from __future__ import annotations

from collections.abc import Sequence

from planloom.domain.safety.protected import is_secret
from planloom.domain.text.counted import counted
from planloom.domain.text.hidden_characters import visible
from planloom.domain.values import Json
from planloom.tools.candidates import scope_below
from planloom.tools.catalog import FindFiles
from planloom.tools.context import ToolContext
from planloom.tools.globs import NameGlob, invalid_glob, is_glob_pattern
from planloom.tools.tool import ToolResult, failed, succeeded
from planloom.workspace.paths.resolver import PathRefused


async def find_files(args: FindFiles, context: ToolContext) -> ToolResult:
    """Find files by name, including staged and unsaved ones."""
    place = await context.resolve(args.path or ".", "read")
    if isinstance(place, PathRefused):
        return failed(place.reason)
    snapshot = await context.files.peek(place.uri)
    if snapshot.problem != "folder":
        problem = "is a file" if snapshot.exists else "does not exist"
        return failed(f"{place.relative} {problem}. Give a folder as path, or none to search everywhere.")
    wanted = NameGlob(args.pattern) if is_glob_pattern(args.pattern) else None
    if wanted is not None and not wanted.is_glob:
        return failed(invalid_glob(args.pattern))
    scope = await scope_below(context, place)
    found = [name for name in _by_name(scope.all_names(), args.pattern, wanted) if scope.shows(name)]
    prefix = "" if place.relative == "." else f"{place.relative}/"
    paths = [prefix + name for name in found[: args.max_results]]
    what = f"“{args.pattern[:80]}”"
    if not paths:
        near = await _similar(context, args.pattern)
        hint = (
            f" Similar: {', '.join(map(visible, near))}"
            if near
            else " Try a shorter part of the name, or list_files."
        )
        return succeeded(f"Found no file for {what}", f"No file matches {what}.{hint}", [])
    text = "\n".join(map(visible, paths))
    if len(found) > len(paths):
        text += f"\n[{len(found) - len(paths)} more; give a folder as path, or a narrower pattern]"
    value: list[Json] = [*paths]
    return succeeded(f"Found {counted(len(found), 'file')} for {what}", text, value)


async def files_matching(glob: str, context: ToolContext) -> tuple[str, ...] | str:
    """The paths of all files of the workspace that match a glob, staged and unsaved ones included, in their order.

    A sentence where they cannot be listed, or not all of them.
    """
    wanted = NameGlob(glob)
    if not wanted.is_glob:
        return invalid_glob(glob)
    place = await context.resolve(".", "read")
    if isinstance(place, PathRefused):
        return place.reason
    scope = await scope_below(context, place)
    if scope.partial:
        return "The workspace has more files than can be listed."
    return tuple(name for name in scope.all_names() if wanted(name) and scope.shows(name))


def _by_name(names: Sequence[str], pattern: str, wanted: NameGlob | None) -> list[str]:
    """The names that match the glob, or contain the pattern in the name, or in the path if it has a slash."""
    if wanted is not None:
        return [name for name in names if wanted(name)]
    part = pattern.removeprefix("./").strip("/").casefold()
    if "/" in part:
        return [name for name in names if part in name.casefold()]
    exact = [name for name in names if name.rpartition("/")[2].casefold() == part]
    return exact or [name for name in names if part in name.rpartition("/")[2].casefold()]


async def _similar(context: ToolContext, pattern: str) -> tuple[str, ...]:
    index = context.index()
    letters = "".join(char for char in pattern if char not in "*?[]{}!")
    if index is None or not letters:
        return ()
    return tuple(hit.path for hit in await index.search(letters, 5) if not is_secret(hit.path))
