"""The tools that look: `read_file` and `list_files`."""

from __future__ import annotations

import fnmatch
from collections.abc import AsyncIterator

from pydantic import BaseModel, ConfigDict, Field

from planloom.domain.text import LineIndex
from planloom.domain.values import Json
from planloom.tools.context import READ_LIMIT_BYTES, ToolContext
from planloom.tools.tool import Tool, ToolResult, failed, succeeded
from planloom.workspace.folders import Entry
from planloom.workspace.paths import PathRefused
from planloom.workspace.snapshots import Snapshot

MAX_LINES = 2_000
MAX_LISTED = 1_000
_SKIPPED = frozenset({".git", "node_modules", "__pycache__", ".venv"})


class ReadFile(BaseModel):
    """Arguments of `read_file`."""

    model_config = ConfigDict(extra="forbid")

    path: str = Field(description="Path of the file, relative to the workspace folder.", max_length=4096)
    start_line: int | None = Field(None, ge=1, description="First line to read, counted from 1.")
    end_line: int | None = Field(None, ge=1, description="Last line to read, included.")


class ListFiles(BaseModel):
    """Arguments of `list_files`."""

    model_config = ConfigDict(extra="forbid")

    path: str = Field("", description="Folder to list, relative to the workspace folder.", max_length=4096)
    recursive: bool = Field(False, description="Also list what is in folders below.")
    pattern: str | None = Field(None, description="Only names that match, such as *.py.", max_length=500)


async def read_file(args: ReadFile, context: ToolContext) -> ToolResult:
    """The text of a file as the user sees it now, unsaved changes included."""
    place = await context.resolve(args.path, "read")
    if isinstance(place, PathRefused):
        return failed(place.reason)
    if place.secret:
        return failed(
            f"{place.relative} may hold secrets, so it is not read by itself. Do without it, or ask the user to "
            f"attach it as @{place.relative}."
        )
    seen = await context.files.read(place.uri)
    if not seen.exists:
        return failed(f"There is no file {place.relative}. List its folder to see what is there.")
    if seen.text is None:
        return failed(unreadable(place.relative, seen))
    lines = LineIndex(seen.text)
    whole = args.start_line is None and args.end_line is None
    first = (args.start_line or 1) - 1
    last = min(args.end_line or lines.line_count, lines.line_count, first + MAX_LINES)
    if first >= lines.line_count:
        return failed(f"{place.relative} has {lines.line_count} lines; ask for lines within that.")
    if whole and last == lines.line_count and len(seen.text) <= READ_LIMIT_BYTES:
        return succeeded(f"Read {place.relative} ({_lines(lines.line_count)})", seen.text, seen.text)
    start = lines.line_start(first)
    end = lines.line_start(last) if last < lines.line_count else len(seen.text)
    text = seen.text[start:end]
    note = f"[lines {first + 1} to {last} of {lines.line_count}; ask for other lines with start_line and end_line]"
    return succeeded(f"Read lines {first + 1} to {last} of {place.relative}", f"{text}\n{note}", text)


def unreadable(name: str, seen: Snapshot) -> str:
    """Why a file that exists has no text to read, and what to do instead."""
    match seen.problem:
        case "binary":
            return f"{name} is binary, {seen.size} bytes: it can neither be read nor edited as text."
        case "folder":
            return f"{name} is a folder. Use list_files."
        case "too_large":
            return f"{name} is too large ({seen.size} bytes). Read a range of lines of it while it is open."
        case "undecodable":
            return f"{name} is not valid UTF-8 ({seen.detail}): it is left alone so that no byte is lost."
        case _:
            return f"{name} cannot be read ({seen.detail or seen.problem or 'no text'})."


def _lines(count: int) -> str:
    return "1 line" if count == 1 else f"{count} lines"


async def list_files(args: ListFiles, context: ToolContext) -> ToolResult:
    """Names below a folder, folders with a slash at the end."""
    place = await context.resolve(args.path or ".", "read")
    if isinstance(place, PathRefused):
        return failed(place.reason)
    listing = await context.files.list_folder(place.uri)
    if listing.problem == "missing":
        return failed(f"There is no folder {place.relative}. List the workspace folder to see what is there.")
    if listing.problem == "not_a_folder":
        return failed(f"{place.relative} is a file. Use read_file.")
    if listing.problem is not None:
        return failed(f"{place.relative} cannot be listed ({listing.detail or listing.problem}).")
    names: list[str] = []
    more = False
    async for name in _below(context, listing.entries, "", recursive=args.recursive):
        if args.pattern is None or fnmatch.fnmatch(name.rstrip("/").rpartition("/")[2], args.pattern):
            if len(names) == MAX_LISTED:
                more = True
                break
            names.append(name)
    value: list[Json] = list(names)
    text = "\n".join(names) if names else "(nothing)"
    if more:
        text += f"\n[only the first {MAX_LISTED} are shown; list a folder below, or give a pattern]"
    where = place.relative if place.relative not in ("", ".") else "the workspace folder"
    return succeeded(f"Listed {where} ({len(names)}{'+' if more else ''} names)", text, value)


async def _below(
    context: ToolContext, entries: tuple[Entry, ...], prefix: str, *, recursive: bool
) -> AsyncIterator[str]:
    for entry in entries:
        if entry.name in _SKIPPED:
            continue
        folder = entry.kind == "folder"
        yield f"{prefix}{entry.name}{'/' if folder else ''}"
        if folder and recursive:
            listing = await context.files.list_folder(entry.uri)
            async for name in _below(context, listing.entries, f"{prefix}{entry.name}/", recursive=True):
                yield name


READ_FILE = Tool(
    name="read_file",
    description="Read a text file in the workspace, with the user's unsaved changes.",
    arguments=ReadFile,
    effect="read",
    run=read_file,
    paths=("path",),
)
LIST_FILES = Tool(
    name="list_files",
    description="List files under a folder.",
    arguments=ListFiles,
    effect="read",
    run=list_files,
    paths=("path",),
)
