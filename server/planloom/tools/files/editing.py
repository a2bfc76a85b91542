"""The tool `edit_file`: stages a change of parts of files, by old and new text or by a patch."""

from __future__ import annotations

from planloom.domain.text.counted import counted
from planloom.domain.text.positions import with_eol
from planloom.tools.catalog import EditFile
from planloom.tools.context import ToolContext
from planloom.tools.files.fuzzy_match import GRADE_TEXT, Grade
from planloom.tools.files.hunks import BadPatch, FilePatch
from planloom.tools.files.patches import read_patch
from planloom.tools.files.patching import apply_hunks
from planloom.tools.files.reading import unreadable
from planloom.tools.files.replacing import CLOSEST, NoMatch, Replacement, replace
from planloom.tools.files.writing import names_folder
from planloom.tools.tool import SEVERAL_MATCHES, ToolResult, failed, succeeded
from planloom.workspace.paths.resolver import PathRefused, ResolvedPath
from planloom.workspace.snapshots import Snapshot
from planloom.workspace.staged.overlay import Overlay

MOST_FILES = 100
_SHOWN = 5


async def edit_file(args: EditFile, context: ToolContext) -> ToolResult:
    """Replace text in a file, or apply a patch to one or more."""
    if args.patch is not None:
        return await _patch(args.path, args.patch, context)
    file = await _read(args.path, context, context.files)
    if isinstance(file, ToolResult):
        return file
    place, found, text = file
    result = replace(text, args.old_text or "", args.new_text or "", replace_all=args.replace_all)
    if isinstance(result, NoMatch):
        return _no_match(place, result)
    return await _stage(place, found, result, context.files)


async def _read(
    path: str, context: ToolContext, files: Overlay
) -> tuple[ResolvedPath, Snapshot, str] | ToolResult:
    place = await context.resolve(path, "write")
    if isinstance(place, PathRefused):
        return failed(place.reason)
    file = await files.read(place.uri)
    if not file.exists:
        return failed(await context.no_such_file(place, "Use write_file to create it."))
    if file.text is None:
        return failed(unreadable(place.relative, file))
    return place, file, file.text


async def _stage(place: ResolvedPath, file: Snapshot, result: Replacement, files: Overlay) -> ToolResult:
    if result.text == with_eol(file.text or "", "\n"):
        return succeeded(f"{place.relative} already has this text", value=place.relative)
    refused = await files.stage_write(file, result.text, notes=(*place.notes, *_notes(result.grade)))
    if refused is not None:
        return failed(refused.reason)
    places = counted(result.occurrences, "place")
    fuzzy = (
        ""
        if result.grade == "exact"
        else f", found {GRADE_TEXT[result.grade]}: check that it is what you meant"
    )
    return succeeded(f"Edited {place.relative} in {places}{fuzzy}", value=place.relative)


def _no_match(place: ResolvedPath, result: NoMatch) -> ToolResult:
    """The result of an edit whose text was not found, or stands in several places."""
    no_match = failed(_failure(place, result))
    if not result.lines:
        return no_match
    lines = ", ".join(map(str, result.lines[:_SHOWN])) + (" and more" if len(result.lines) > _SHOWN else "")
    places = counted(len(result.lines), "place")
    summary = (
        f"The text to replace stands at {places} in {place.relative}, lines {lines}: nothing was replaced."
    )
    return no_match._replace(summary=summary, code=SEVERAL_MATCHES)


def _failure(place: ResolvedPath, result: NoMatch) -> str:
    """Why an edit does not match; does not quote lines of a file that may hold secrets."""
    reason = result.reason.partition(CLOSEST)[0] if place.secret else result.reason
    return f"{place.relative}: {reason}"


def _notes(grade: Grade) -> tuple[str, ...]:
    """Notes for the person who approves a match that was not exact."""
    if grade == "exact":
        return ()
    return (f"Fuzzy: the text to replace was found only {GRADE_TEXT[grade]}.",)


async def _patch(path: str, text: str, context: ToolContext) -> ToolResult:
    """Apply a patch to all of its files, or to none."""
    patches = read_patch(text)
    if isinstance(patches, BadPatch):
        return failed(patches.reason)
    named = _named(path, patches)
    if isinstance(named, ToolResult):
        return named
    trial = Overlay(context.files)
    summaries: list[str] = []
    for patch in named:
        result = await _apply(patch, context, trial)
        if not result.ok:
            nothing = " Nothing was changed." if len(named) > 1 else ""
            return failed(result.text + nothing)
        summaries.append(result.summary)
    await trial.merge_down()
    return succeeded("; ".join(summaries), "\n".join(summaries), path)


def _named(path: str, patches: tuple[FilePatch, ...]) -> tuple[FilePatch, ...] | ToolResult:
    """The file patches with their paths; `path` is used if a patch names no file, else it must be one of its files."""
    if len(patches) > MOST_FILES:
        return failed(f"The patch changes {len(patches)} files; one call may change at most {MOST_FILES}.")
    if len(patches) == 1:
        (patch,) = patches
        if patch.path is None or _same(path, patch.path):
            return (patch._replace(path=path),)
        return failed(f"path is {path}, but the patch is for {patch.path}. Make them the same.")
    if any(patch.path is None for patch in patches):
        return failed("A patch of several files must name each of them.")
    if not any(_same(path, patch.path or "") for patch in patches):
        return failed(f"path is {path}, which the patch does not name. Give one of its files as path.")
    paths = [patch.path for patch in patches]
    if len(set(paths)) < len(paths):
        return failed("The patch names a file more than once. Join its hunks under one heading.")
    return patches


def _same(path: str, other: str) -> bool:
    """Whether two paths mean one file: some models write a patch's paths relative to another folder."""
    a, b = (
        tuple(part for part in each.replace("\\", "/").split("/") if part not in ("", "."))
        for each in (path, other)
    )
    shorter, longer = sorted((a, b), key=len)
    return bool(shorter) and longer[-len(shorter) :] == shorter


async def _apply(patch: FilePatch, context: ToolContext, files: Overlay) -> ToolResult:
    assert patch.path is not None
    match patch.kind:
        case "add":
            return await _add(patch, context, files)
        case "delete":
            file = await _read(patch.path, context, files)
            if isinstance(file, ToolResult):
                return file
            refused = await files.stage_delete(file[0].uri)
            return failed(refused.reason) if refused else succeeded(f"Deleted {file[0].relative}")
        case _:
            return await _update(patch, context, files)


async def _add(patch: FilePatch, context: ToolContext, files: Overlay) -> ToolResult:
    folder = names_folder(patch.path or "")
    if folder is not None:
        return folder
    place = await context.resolve(patch.path or "", "write")
    if isinstance(place, PathRefused):
        return failed(place.reason)
    there = await files.peek(place.uri)
    if there.exists and there.text != "":
        return failed(f"{place.relative} exists already: update it, or choose another name.")
    lines = [line for hunk in patch.hunks for sign, line in hunk.ops if sign == "+"]
    newline = all(hunk.newline is not False for hunk in patch.hunks)
    refused = await files.stage_write(there, "\n".join(lines) + ("\n" if lines and newline else ""))
    return failed(refused.reason) if refused else succeeded(f"Created {place.relative}")


async def _update(patch: FilePatch, context: ToolContext, files: Overlay) -> ToolResult:
    file = await _read(patch.path or "", context, files)
    if isinstance(file, ToolResult):
        return file
    place, found, text = file
    result = apply_hunks(text, patch.hunks)
    if isinstance(result, NoMatch):
        return _no_match(place, result)
    staged = await _stage(place, found, result, files)
    if not staged.ok or patch.move_to is None:
        return staged
    target = await context.resolve(patch.move_to, "write")
    if isinstance(target, PathRefused):
        return failed(target.reason)
    refused = await files.stage_rename(place.uri, target.uri)
    if refused is not None:
        return failed(refused.reason)
    return succeeded(f"{staged.summary}; moved it to {target.relative}")
