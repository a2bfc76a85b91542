"""The tool `search_text`: searches files for a text or a regular expression."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from planloom.domain.text.positions import with_eol
from planloom.domain.values import Json
from planloom.tools.candidates import SearchScope, chunks, matching, scope_below
from planloom.tools.context import ToolContext
from planloom.tools.globs import NameGlob, invalid_glob
from planloom.tools.search.ripgrep import files_containing
from planloom.tools.search.search_pattern import MAX_PATTERN, BadPattern, Pattern, TooSlow, read_pattern
from planloom.tools.tool import Tool, ToolResult, failed, succeeded
from planloom.workspace.disk import read
from planloom.workspace.paths.resolver import PathRefused, ResolvedPath
from planloom.workspace.view import confined_path

MAX_RESULTS: Final = 1_000
_SECONDS: Final = 20.0
"""Time limit of one search."""
_PATTERN_SECONDS: Final = 2.0
"""Time limit of the pattern in one file."""
_LONGEST_LINE: Final = 300
_MOST_TEXT: Final = 60_000
_BATCH: Final = 16_000
"""Files per call of ripgrep."""
_WORTH_RIPGREP: Final = 200
"""Fewest files for which starting ripgrep pays off."""


class SearchText(BaseModel):
    """Arguments of `search_text`."""

    model_config = ConfigDict(extra="forbid")

    pattern: str = Field(description="Text to search for.", max_length=MAX_PATTERN)
    path: str = Field(
        "", description="Folder or file to search in, relative to the workspace folder.", max_length=4096
    )
    regex: bool = Field(False, description="The pattern is a regular expression; ^ and $ match at line ends.")
    ignore_case: bool = Field(False, description="Ignore upper and lower case.")
    files: str | None = Field(
        None, description="Search only files that match, such as *.py or *.{ts,tsx}.", max_length=500
    )
    max_results: int = Field(100, ge=1, le=MAX_RESULTS, description="Lines to return at most.")


class _Hit(NamedTuple):
    name: str
    line: int
    text: str


class _Search(NamedTuple):
    """One search: up to `limit` lines that match. `live` are the texts of files that are open or staged, by name.

    `program` is ripgrep, which leaves out the files without a match; None if they are few, or there is none.
    """

    place: ResolvedPath
    scope: SearchScope
    live: dict[str, str]
    pattern: Pattern
    limit: int
    program: Path | None


class _SearchResult(NamedTuple):
    hits: list[_Hit]
    more: bool
    slow: str | None = None
    late: bool = False


async def search_text(args: SearchText, context: ToolContext) -> ToolResult:
    """Find lines that contain a text, including staged and unsaved changes."""
    pattern = read_pattern(args.pattern, literal=not args.regex, ignore_case=args.ignore_case)
    if isinstance(pattern, BadPattern):
        return failed(pattern.reason)
    wanted = NameGlob(args.files) if args.files else None
    if wanted is not None and not wanted.is_glob:
        return failed(invalid_glob(args.files or ""))
    place = await context.resolve(args.path or ".", "read")
    if isinstance(place, PathRefused):
        return failed(place.reason)
    if place.secret:
        return failed(
            f"{place.relative} may hold secrets, so it is not searched. Do without it, or ask the user."
        )
    snapshot = await context.files.peek(place.uri)
    if not snapshot.exists:
        return failed(f"There is no {place.relative}. Use find_files to see what is there.")
    if snapshot.problem != "folder":
        name = place.relative.rpartition("/")[2]
        prefix = place.relative[: -len(name)]
        scope = SearchScope(place.path.parent, (), {name: place.uri}, prefix.rstrip("/") or ".")
    else:
        scope = matching(await scope_below(context, place), wanted)
        prefix = "" if place.relative == "." else f"{place.relative}/"
    found = await _search(context, place, scope, pattern, args.max_results)
    if found.slow is not None:
        return failed(
            f"The pattern takes too long for {prefix}{found.slow}. Make it simpler (no nested repetitions), "
            "or search for a plain text without regex."
        )
    return _tool_result(args, found, prefix, scope)


async def _search(
    context: ToolContext, place: ResolvedPath, scope: SearchScope, pattern: Pattern, limit: int
) -> _SearchResult:
    """Search the files in the order of their names, up to `limit` lines."""
    live = {name: (await context.files.peek(uri)).text or "" for name, uri in scope.live.items()}
    roots = [root.path for root in context.roots.folders]
    program = None
    if pattern.needle and len({*scope.names, *live}) >= _WORTH_RIPGREP:
        program = await asyncio.to_thread(context.programs.find, "rg", roots)
    stop = threading.Event()
    try:
        search = _Search(place, scope, live, pattern, limit, program)
        return await asyncio.to_thread(_scan, search, stop)
    finally:
        # A thread cannot be cancelled; it checks this event between files.
        stop.set()


def _scan(search: _Search, stop: threading.Event) -> _SearchResult:
    place, scope, live, pattern, limit, program = search
    until = time.monotonic() + _SECONDS
    hits: list[_Hit] = []
    names = sorted({*scope.names, *live})
    for batch in chunks(names, _BATCH):
        candidates: frozenset[str] | None = None
        if program is not None:
            on_disk = [name for name in batch if name not in live]
            candidates = files_containing(
                program, scope.folder, on_disk, pattern.needle, ignore_case=pattern.ignore_case
            )
        for name in batch:
            if stop.is_set() or time.monotonic() > until:
                return _SearchResult(hits, more=True, late=True)
            if name in live:
                text: str | None = live[name]
            elif candidates is not None and name not in candidates:
                continue
            else:
                text = _text(place, scope.folder, name, pattern)
            if text is None:
                continue
            try:
                seconds = min(_PATTERN_SECONDS, until - time.monotonic())
                for number, hit in enumerate(_lines(name, with_eol(text, "\n"), pattern, seconds)):
                    if number == 0 and not scope.shows(name):
                        break
                    if len(hits) == limit:
                        return _SearchResult(hits, more=True)
                    hits.append(hit)
            except TooSlow:
                return _SearchResult(hits, more=True, slow=name)
    return _SearchResult(hits, more=False)


def _text(place: ResolvedPath, folder: Path, name: str, pattern: Pattern) -> str | None:
    """The text of a file on disk; None if it is not text, or cannot contain a match."""
    base = confined_path(place)
    if folder != place.path:
        base = base._replace(names=base.names[:-1])
    found = read(base._replace(names=(*base.names, *name.split("/"))), admits=pattern.may_match)
    return found.decoded.text if found.decoded is not None else None


def _lines(name: str, text: str, pattern: Pattern, seconds: float) -> Iterator[_Hit]:
    """Each line in which a match begins, once."""
    line, counted, last = 1, 0, 0
    for offset in pattern.matches(text, seconds):
        line += text.count("\n", counted, offset)
        counted = offset
        if line == last:
            continue
        last = line
        start, end = text.rfind("\n", 0, offset) + 1, text.find("\n", offset)
        whole = text[start : end if end >= 0 else len(text)]
        if len(whole) > _LONGEST_LINE:
            begin = max(0, min(offset - start - 100, len(whole) - _LONGEST_LINE))
            whole = ("…" if begin else "") + whole[begin : begin + _LONGEST_LINE] + "…"
        yield _Hit(name, line, whole)


def _tool_result(args: SearchText, found: _SearchResult, prefix: str, scope: SearchScope) -> ToolResult:
    lines: list[str] = []
    size = 0
    for hit in found.hits:
        line = f"{prefix}{hit.name}:{hit.line}: {hit.text}"
        size += len(line) + 1
        if size > _MOST_TEXT:
            break
        lines.append(line)
    files = len({hit.name for hit in found.hits})
    count = f"{len(found.hits)}{'+' if found.more else ''}"
    what = f"“{args.pattern[:80]}”"
    if not found.hits:
        text = f"No line contains {what}"
        searched = len(scope.names) + len(scope.live.keys() - set(scope.names))
        text += f" in {searched} files." if searched != 1 else " in 1 file."
        if found.late:
            text += " The search ran out of time: give a folder or files to search in."
        elif not args.ignore_case:
            text += " Try ignore_case, a shorter text, or another folder."
        return succeeded(f"Found nothing for {what}", text, [])
    if found.more or len(lines) < len(found.hits):
        lines.append(
            f"[only the first {len(lines)} lines are shown; give a folder as path, or files such as *.py]"
        )
    if scope.partial:
        lines.append("[the workspace is still being listed: there may be more]")
    value: list[Json] = [
        {"path": prefix + hit.name, "line": hit.line, "text": hit.text} for hit in found.hits
    ]
    return succeeded(
        f"Found {what} in {count} line{'s' if count != '1' else ''} of {files} file{'s' if files != 1 else ''}",
        "\n".join(lines),
        value,
    )


SEARCH_TEXT = Tool(
    name="search_text",
    description="Search files for a text or regular expression; returns path:line: text. Ignored files are left out.",
    arguments=SearchText,
    effect="read",
    run=search_text,
    paths=("path",),
)
