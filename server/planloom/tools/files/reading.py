"""The tools `read_file` and `list_files`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import NamedTuple

from planloom.domain.text.counted import counted
from planloom.domain.text.hidden_characters import visible
from planloom.domain.text.lines import split_lines
from planloom.domain.values import Json
from planloom.tools.candidates import chain_at, excluded_of
from planloom.tools.catalog import ListFiles, ReadFile
from planloom.tools.context import ToolContext
from planloom.tools.files.line_numbers import numbered
from planloom.tools.globs import NameGlob, invalid_glob
from planloom.tools.tool import ToolResult, failed, succeeded
from planloom.workspace.index.ignore import IgnoreChain, child_chain
from planloom.workspace.paths.listings import Entry
from planloom.workspace.paths.resolver import PathRefused, ResolvedPath
from planloom.workspace.snapshots import Snapshot

MAX_LINES = 2_000
MAX_LISTED = 1_000
MAX_TEXT = 200_000
"""Most characters of a file in one result, but for its last line."""
MAX_LINE = 20_000
"""Most characters of one line."""
_SKIPPED = frozenset({".git", "node_modules", "__pycache__", ".venv"})


async def read_file(args: ReadFile, context: ToolContext) -> ToolResult:
    """Read a file, including staged and unsaved changes."""
    return await read_spans(args.path, args.spans(), context)


async def read_spans(path: str, spans: Sequence[tuple[int, int | None]], context: ToolContext) -> ToolResult:
    """Read these lines of a file, each once, or without spans the whole file."""
    found = await text_at(path, context)
    return found if isinstance(found, ToolResult) else read_lines(found.name, found.text, spans)


class FileText(NamedTuple):
    """The text of a file, and its path in the workspace."""

    name: str
    text: str


async def text_at(path: str, context: ToolContext) -> FileText | ToolResult:
    """The whole text of a file, including staged and unsaved changes, or the failure of a call that wants it."""
    place = await context.resolve(path, "read")
    if isinstance(place, PathRefused):
        return failed(place.reason)
    if place.secret:
        return failed(
            f"{place.relative} may hold secrets, so it is not read by itself. Do without it, or ask the user to "
            f"attach it as @{place.relative}."
        )
    snapshot = await context.files.read(place.uri)
    if not snapshot.exists:
        return failed(await context.no_such_file(place, "List its folder to see what is there."))
    if snapshot.text is None:
        return failed(unreadable(place.relative, snapshot))
    return FileText(place.relative, snapshot.text)


def read_lines(
    name: str,
    text: str,
    spans: Sequence[tuple[int, int | None]],
    how: str = "start_line and end_line, or ranges",
    most: int = MAX_TEXT,
) -> ToolResult:
    """The wanted lines of a text with their numbers; the value is all of that text as it stands there.

    `how` names the arguments by which lines are asked for. There are at most `most` characters, but for the last line.
    """
    lines = split_lines(text)
    count = max(len(lines), 1)
    wanted = _within(spans or ((1, None),), count)
    if not wanted:
        return failed(f"{name} has {counted(count, 'line')}; ask for lines in that range.")
    parts = _limited(wanted, lines, most)
    value = "".join("".join(lines[part.start - 1 : part.stop - 1]) for part in wanted)
    shown = "\n[…]\n".join(
        numbered([_cut(line) for line in lines[part.start - 1 : part.stop - 1]], part.start) for part in parts
    )
    if parts == [range(1, count + 1)]:
        return succeeded(
            f"Read {name} ({counted(count, 'line')})", shown if text else "[the file is empty]", text
        )
    *others, last = (f"{part.start} to {part.stop - 1}" for part in parts)
    which = f"{', '.join(others)} and {last}" if others else last
    more = "" if parts == wanted else f"; for more give {how}"
    note = f"[lines {which} of {count}{more}]"
    return succeeded(f"Read lines {which} of {name}", f"{shown}\n{note}", value)


def _within(spans: Sequence[tuple[int, int | None]], count: int) -> list[range]:
    """The line numbers of the spans that the file has, in order; spans that overlap or touch are joined."""
    parts: list[range] = []
    # A model that swaps the ends of a range means the same lines.
    for first, last in sorted(sorted((first, last or max(count, first))) for first, last in spans):
        if first > count:
            break
        stop = min(last, count) + 1
        if parts and first <= parts[-1].stop:
            parts[-1] = range(parts[-1].start, max(parts[-1].stop, stop))
        else:
            parts.append(range(first, stop))
    return parts


def _limited(parts: Sequence[range], lines: Sequence[str], most: int) -> list[range]:
    """The parts up to the limits of lines and characters; the line that passes the limit is the last."""
    kept: list[range] = []
    left, size = MAX_LINES, most
    for part in parts:
        stop = part.start
        while stop < part.stop and left > 0 and size > 0:
            size -= len(lines[stop - 1]) if lines else 0
            left -= 1
            stop += 1
        if stop > part.start:
            kept.append(range(part.start, stop))
    return kept


def _cut(line: str) -> str:
    """A line without its end, shortened if it is very long."""
    line = line.rstrip("\r\n")
    left_out = len(line) - MAX_LINE
    if left_out <= 0:
        return line
    return f"{line[:MAX_LINE]}… [{left_out} more characters; search_text shows those around a text]"


def unreadable(name: str, snapshot: Snapshot) -> str:
    """Why a file that exists has no text to read, and what to do instead."""
    match snapshot.problem:
        case "binary":
            return f"{name} is binary ({snapshot.size} bytes): it can neither be read nor edited as text."
        case "folder":
            return f"{name} is a folder. Use list_files."
        case "too_large":
            return f"{name} is too large to be read or edited ({snapshot.size} bytes). A command can print parts."
        case "undecodable":
            return (
                f"{name} is not valid UTF-8 ({snapshot.detail}): it can neither be read nor edited as text."
            )
        case _:
            return f"{name} cannot be read ({snapshot.detail or snapshot.problem or 'no text'})."


async def list_files(args: ListFiles, context: ToolContext) -> ToolResult:
    """List the names below a folder; folders end with a slash."""
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
    wanted = NameGlob(args.pattern) if args.pattern else None
    if wanted is not None and not wanted.is_glob:
        return failed(invalid_glob(args.pattern or ""))
    chain = await asyncio.to_thread(chain_at, place, excluded_of(context))
    below = _Below(context, place, recursive=args.recursive or "/" in (args.pattern or "").rstrip("/"))
    names: list[str] = []
    more = False
    async for name in below.names(listing.entries, "", chain):
        if wanted is None or wanted(name.rstrip("/"), folder=name.endswith("/")):
            if len(names) == MAX_LISTED:
                more = True
                break
            names.append(name)
    value: list[Json] = list(names)
    text = "\n".join(map(visible, names)) if names else "(nothing)"
    if more:
        text += f"\n[only the first {MAX_LISTED} are shown; list a folder below, or give a pattern]"
    where = place.relative if place.relative not in ("", ".") else "the workspace folder"
    return succeeded(f"Listed {where} ({counted(len(names), 'name', or_more=more)})", text, value)


class _Below(NamedTuple):
    """Lists the names below a folder that no ignore rule hides."""

    context: ToolContext
    place: ResolvedPath
    recursive: bool

    async def names(
        self, entries: tuple[Entry, ...], prefix: str, chain: IgnoreChain | None
    ) -> AsyncIterator[str]:
        """The names in one folder, and if `recursive` below it. Without a `chain` all names are listed."""
        whole = prefix if self.place.relative == "." else f"{self.place.relative}/{prefix}"
        hides = chain.inside(whole) if chain is not None else None
        for entry in entries:
            folder = entry.kind == "folder"
            if entry.name in _SKIPPED or (
                hides is not None and hides(entry.name, folder) and not await self._is_indexed(entry)
            ):
                continue
            yield f"{prefix}{entry.name}{'/' if folder else ''}"
            if folder and self.recursive:
                inner, path = f"{prefix}{entry.name}/", f"{whole}{entry.name}/"
                under = chain and await asyncio.to_thread(child_chain, chain, self.place.root.path, path)
                listing = await self.context.files.list_folder(entry.uri)
                async for name in self.names(listing.entries, inner, under):
                    yield name

    async def _is_indexed(self, entry: Entry) -> bool:
        """Whether the index contains the entry although a rule hides it, because git tracks it."""
        index = self.context.index()
        return index is not None and await index.contains(entry.uri)
