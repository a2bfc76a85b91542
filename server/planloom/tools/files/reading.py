"""The tools `read_file` and `list_files`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from planloom.domain.text.positions import LineIndex
from planloom.domain.values import Json
from planloom.tools.candidates import chain_at, excluded_of
from planloom.tools.context import READ_LIMIT_BYTES, ToolContext
from planloom.tools.globs import NameGlob, invalid_glob
from planloom.tools.tool import Tool, ToolResult, failed, succeeded
from planloom.workspace.index.ignore import IgnoreChain, child_chain
from planloom.workspace.paths.listings import Entry
from planloom.workspace.paths.resolver import PathRefused, ResolvedPath
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
    pattern: str | None = Field(
        None,
        description="Only names that match, such as *.py; with a slash, paths such as src/*.{ts,tsx}.",
        max_length=500,
    )


async def read_file(args: ReadFile, context: ToolContext) -> ToolResult:
    """Read a file, including staged and unsaved changes."""
    place = await context.resolve(args.path, "read")
    if isinstance(place, PathRefused):
        return failed(place.reason)
    if place.secret:
        return failed(
            f"{place.relative} may hold secrets, so it is not read by itself. Do without it, or ask the user to "
            f"attach it as @{place.relative}."
        )
    snapshot = await context.files.read(place.uri)
    if not snapshot.exists:
        return failed(f"There is no file {place.relative}. List its folder to see what is there.")
    if snapshot.text is None:
        return failed(unreadable(place.relative, snapshot))
    lines = LineIndex(snapshot.text)
    count = lines.counted
    # A model that swaps the two means the same lines.
    first, last = sorted((args.start_line or 1, args.end_line or max(count, args.start_line or 1)))
    if first > count:
        return failed(f"{place.relative} has {_lines(count)}; ask for lines in that range.")
    last = min(last, count, first + MAX_LINES - 1)
    whole = args.start_line is None and args.end_line is None
    if whole and last == count and len(snapshot.text) <= READ_LIMIT_BYTES:
        return succeeded(f"Read {place.relative} ({_lines(count)})", snapshot.text, snapshot.text)
    end = lines.line_start(last) if last < count else len(snapshot.text)
    text = snapshot.text[lines.line_start(first - 1) : end]
    note = f"[lines {first} to {last} of {count}; ask for other lines with start_line and end_line]"
    return succeeded(f"Read lines {first} to {last} of {place.relative}", f"{text}\n{note}", text)


def unreadable(name: str, snapshot: Snapshot) -> str:
    """Why a file that exists has no text to read, and what to do instead."""
    match snapshot.problem:
        case "binary":
            return f"{name} is binary, {snapshot.size} bytes: it can neither be read nor edited as text."
        case "folder":
            return f"{name} is a folder. Use list_files."
        case "too_large":
            return f"{name} is too large ({snapshot.size} bytes). Open it in the editor to read a range of its lines."
        case "undecodable":
            return f"{name} is not valid UTF-8 ({snapshot.detail}): it is left unchanged so that no byte is lost."
        case _:
            return f"{name} cannot be read ({snapshot.detail or snapshot.problem or 'no text'})."


def _lines(count: int) -> str:
    return "1 line" if count == 1 else f"{count} lines"


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
    text = "\n".join(names) if names else "(nothing)"
    if more:
        text += f"\n[only the first {MAX_LISTED} are shown; list a folder below, or give a pattern]"
    where = place.relative if place.relative not in ("", ".") else "the workspace folder"
    return succeeded(f"Listed {where} ({len(names)}{'+' if more else ''} names)", text, value)


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
    description="List files under a folder. Ignored files are left out, unless the folder itself is ignored.",
    arguments=ListFiles,
    effect="read",
    run=list_files,
    paths=("path",),
)
