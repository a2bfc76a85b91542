"""The tool `search_text`: searches files for a text or a regular expression; and so the output of a command."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Final, NamedTuple

from planloom.domain.text.counted import counted
from planloom.domain.text.hidden_characters import visible
from planloom.domain.text.positions import with_eol
from planloom.domain.values import Json, Uri
from planloom.tools.candidates import SearchScope, chunks, matching, scope_below
from planloom.tools.catalog import SearchText
from planloom.tools.context import ToolContext
from planloom.tools.globs import NameGlob, invalid_glob
from planloom.tools.search.matching_process import TooSlow
from planloom.tools.search.ripgrep import files_containing
from planloom.tools.search.search_pattern import BadPattern, Pattern, is_plain, read_pattern
from planloom.tools.tool import ToolResult, failed, succeeded
from planloom.workspace.disk import read
from planloom.workspace.paths.hard_links import LinkedSecrets
from planloom.workspace.paths.resolver import PathRefused, ResolvedPath
from planloom.workspace.view import confined_path

_SECONDS: Final = 20.0
"""Time limit of one search."""
_COUNTING_SECONDS: Final = 2.0
"""How long a search goes on to count lines that it will not show."""
_PATTERN_SECONDS: Final = 2.0
"""Time limit of the pattern in one file."""
_LONGEST_LINE: Final = 300
_MOST_TEXT: Final = 16_000
_MOST_NAMED: Final = 20
"""Files that are named with their count of lines not shown."""
_NO_MATCH: Final = "As a regular expression the pattern matches nothing"
_AS_TEXT: Final = ", so the text itself was searched for."
_BATCH: Final = 16_000
"""Files per call of ripgrep."""
_WORTH_RIPGREP: Final = 200
"""Fewest files for which starting ripgrep pays off."""


class Hit(NamedTuple):
    """A matching line; `around` are the lines shown with it, by number, itself included."""

    name: str
    line: int
    text: str
    around: Mapping[int, str]


class SearchResult(NamedTuple):
    """The first matching lines, and how many each file has.

    `late`: not all files were searched. `slow`: the pattern took too long in this file.
    """

    hits: list[Hit]
    counts: Mapping[str, int]
    slow: str | None = None
    late: bool = False

    @property
    def total(self) -> int:
        return sum(self.counts.values())


class _Wanted(NamedTuple):
    """A search: its pattern, and how much it collects."""

    pattern: Pattern
    limit: int
    context: int


async def search_text(args: SearchText, context: ToolContext) -> ToolResult:
    """Find lines that match a regular expression, else those that contain it as a text.

    Includes staged and unsaved changes.
    """
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
        return failed(f"There is no file or folder {place.relative}. Use find_files to see what is there.")
    if snapshot.problem != "folder":
        name = place.relative.rpartition("/")[2]
        prefix = place.relative[: -len(name)]
        scope = SearchScope(place.path.parent, (), {name: place.uri}, prefix.rstrip("/") or ".")
    else:
        scope = matching(await scope_below(context, place), wanted)
        prefix = "" if place.relative == "." else f"{place.relative}/"

    def search(wanted: _Wanted) -> Awaitable[SearchResult]:
        return _search(context, place, scope, wanted)

    return await _searched(args, scope, prefix, search)


async def search_output(name: str, text: str, pattern: str) -> ToolResult:
    """Find lines in the output `name` of a command, as `search_text` does in files."""
    args = SearchText(pattern=pattern)
    scope = SearchScope(Path(), (), {name: Uri(name)})

    def search(wanted: _Wanted) -> Awaitable[SearchResult]:
        return asyncio.to_thread(_scan, iter([(name, text)]), scope, wanted, threading.Event())

    result = await _searched(args, scope, "", search, narrower="give a narrower pattern, or lines")
    return (
        result if result.value or not result.ok else succeeded(f"No line of {name} matches “{pattern[:80]}”.")
    )


async def _searched(
    args: SearchText,
    scope: SearchScope,
    prefix: str,
    search: Callable[[_Wanted], Awaitable[SearchResult]],
    narrower: str = "give a folder or file as path, or files such as *.py",
) -> ToolResult:
    """Search for the pattern, and for it as a text if it is no regular expression or matches nothing as one."""
    note = ""
    is_text = not args.regex or is_plain(args.pattern)
    for literal in (True,) if is_text else (False, True):
        pattern = await asyncio.to_thread(
            read_pattern, args.pattern, literal=literal, ignore_case=args.ignore_case
        )
        if isinstance(pattern, BadPattern):
            if literal:
                return failed(pattern.reason)
            note = pattern.reason
            continue
        try:
            found = await search(_Wanted(pattern, args.max_results, args.context))
        finally:
            pattern.matcher.close()
        if found.hits or found.late or literal:
            break
        note = _NO_MATCH
    if found.slow is not None:
        return failed(
            f"The pattern takes too long for {visible(prefix + found.slow)}. Make it simpler (no nested repetitions), "
            "or search for a plain text with regex: false."
        )
    result = _tool_result(args, found, prefix, scope, narrower)
    says_more = note and (found.hits or note is not _NO_MATCH)
    return result._replace(text=f"{result.text}\n[{note}{_AS_TEXT}]") if says_more else result


async def _search(
    context: ToolContext, place: ResolvedPath, scope: SearchScope, wanted: _Wanted
) -> SearchResult:
    """Search the files in the order of their names."""
    live = {name: (await context.files.peek(uri)).text or "" for name, uri in scope.live.items()}
    roots = [root.path for root in context.roots.folders]
    program = None
    if wanted.pattern.needle and len({*scope.names, *live}) >= _WORTH_RIPGREP:
        program = await asyncio.to_thread(context.programs.find, "rg", roots)
    stop = threading.Event()
    files = _Files(place, scope.folder, wanted.pattern, LinkedSecrets(roots))
    texts = _texts(files, scope, live, program)
    try:
        return await asyncio.to_thread(_scan, texts, scope, wanted, stop)
    finally:
        # A thread cannot be cancelled; it checks this event between files.
        stop.set()


def _scan(
    texts: Iterator[tuple[str, str]], scope: SearchScope, wanted: _Wanted, stop: threading.Event
) -> SearchResult:
    """Collect the first matching lines, then go on for a while to count the others."""
    until = time.monotonic() + _SECONDS
    hits: list[Hit] = []
    counts: dict[str, int] = {}
    for name, text in texts:
        if stop.is_set() or time.monotonic() > until:
            return SearchResult(hits, counts, late=True)
        seconds = min(_PATTERN_SECONDS, until - time.monotonic())
        try:
            for hit in _lines(name, with_eol(text, "\n"), wanted, seconds):
                if name not in counts and not scope.shows(name):
                    break
                counts[name] = counts.get(name, 0) + 1
                if len(hits) < wanted.limit:
                    hits.append(hit)
                    if len(hits) == wanted.limit:
                        until = min(until, time.monotonic() + _COUNTING_SECONDS)
        except TooSlow:
            slow = name if len(hits) < wanted.limit else None
            return SearchResult(hits, counts, slow, late=True)
    return SearchResult(hits, counts)


class _Files(NamedTuple):
    """The files on disk below a folder, which may be that of the searched file; `secrets` are not searched."""

    place: ResolvedPath
    folder: Path
    pattern: Pattern
    secrets: LinkedSecrets

    def text(self, name: str) -> str | None:
        """The text of a file; None if it is not text, cannot contain a match, or is a secret under another name."""
        base = confined_path(self.place)
        if self.folder != self.place.path:
            base = base._replace(names=base.names[:-1])
        found = read(base._replace(names=(*base.names, *name.split("/"))), admits=self.pattern.may_match)
        if found.decoded is None:
            return None
        if found.names > 1 and found.fingerprint is not None and found.fingerprint[:2] in self.secrets:
            return None
        return found.decoded.text


def _texts(
    files: _Files, scope: SearchScope, live: Mapping[str, str], program: Path | None
) -> Iterator[tuple[str, str]]:
    """The names and texts of the files that may contain a match, in the order of their names."""
    for batch in chunks(sorted({*scope.names, *live}), _BATCH):
        candidates: frozenset[str] | None = None
        if program is not None:
            on_disk = [name for name in batch if name not in live]
            candidates = files_containing(
                program, scope.folder, on_disk, files.pattern.needle, ignore_case=files.pattern.ignore_case
            )
        for name in batch:
            if name in live:
                yield name, live[name]
            elif candidates is None or name in candidates:
                text = files.text(name)
                if text is not None:
                    yield name, text


def _lines(name: str, text: str, wanted: _Wanted, seconds: float) -> Iterator[Hit]:
    """Each line in which a match begins, once."""
    line, counted, last = 1, 0, 0
    for offset in wanted.pattern.matches(text, seconds):
        line += text.count("\n", counted, offset)
        counted = offset
        if line == last:
            continue
        last = line
        start, end = text.rfind("\n", 0, offset) + 1, text.find("\n", offset)
        whole = _shortened(text[start : end if end >= 0 else len(text)], offset - start)
        around = _around(text, start, end, line, wanted.context) if wanted.context else {}
        yield Hit(name, line, whole, {**around, line: whole})


def _around(text: str, start: int, end: int, line: int, context: int) -> dict[int, str]:
    """The lines before and after the line that lies at `start`; `end` is that of its line end, -1 at the text's."""
    found: dict[int, str] = {}
    for number in range(line - 1, line - 1 - context, -1):
        if start == 0:
            break
        before = text.rfind("\n", 0, start - 1) + 1
        found[number] = _shortened(text[before : start - 1], 0)
        start = before
    for number in range(line + 1, line + 1 + context):
        if end < 0 or end + 1 >= len(text):
            break
        after = text.find("\n", end + 1)
        found[number] = _shortened(text[end + 1 : after if after >= 0 else len(text)], 0)
        end = after
    return found


def _shortened(line: str, offset: int) -> str:
    """A long line cut to the text around an offset."""
    if len(line) <= _LONGEST_LINE:
        return line
    begin = max(0, min(offset - 100, len(line) - _LONGEST_LINE))
    return ("…" if begin else "") + line[begin : begin + _LONGEST_LINE] + "…"


def _tool_result(
    args: SearchText, found: SearchResult, prefix: str, scope: SearchScope, narrower: str
) -> ToolResult:
    what = f"“{args.pattern[:80]}”"
    if not found.hits:
        return succeeded(f"Found nothing for {what}", _nothing(args, found, scope), [])
    partial = ["[the workspace is still being listed: there may be more]"] if scope.partial else []
    text, value = rendered(found, prefix, narrower, partial, in_context=args.context > 0)
    lines = counted(found.total, "line", or_more=found.late)
    files = counted(len(found.counts), "file", or_more=found.late)
    return succeeded(f"Found {what} in {lines} of {files}", text, value)


def rendered(
    found: SearchResult, prefix: str, narrower: str, notes: Sequence[str] = (), *, in_context: bool = False
) -> tuple[str, list[Json]]:
    """The matching lines as text and as value; the text says how many it leaves out, then the notes."""
    shown = found.hits
    while len(text := _rendered(shown, prefix, in_context=in_context)) > _MOST_TEXT:
        shown = shown[: len(shown) * _MOST_TEXT // (len(text) + len(text) // 10)]
    left_out = [_rest(found, shown, prefix, narrower)] if found.late or len(shown) < found.total else []
    value: list[Json] = [
        {"path": prefix + hit.name, "line": hit.line, "text": hit.text} for hit in found.hits
    ]
    return "\n".join((text, *left_out, *notes)), value


def _nothing(args: SearchText, found: SearchResult, scope: SearchScope) -> str:
    searched = len(scope.names) + len(scope.live.keys() - set(scope.names))
    if not searched:
        return "There is no file to search: check path and files."
    text = f"No line matches “{args.pattern[:80]}” in {counted(searched, 'file')}."
    if found.late:
        return f"{text} The search ran out of time: give a folder or files to search in."
    return text if args.ignore_case else f"{text} Try ignore_case, a shorter pattern, or another folder."


def _rendered(hits: Sequence[Hit], prefix: str, *, in_context: bool) -> str:
    """The hits as one block for each file, its lines numbered as in `read_file`."""
    blocks: list[str] = []
    for name, own in groupby(hits, key=lambda hit: hit.name):
        lines: dict[int, str] = {}
        for hit in own:
            lines |= hit.around
        blocks.append(visible(prefix + name))
        last = None
        for number in sorted(lines):
            if in_context and last is not None and number != last + 1:
                blocks.append("[…]")
            blocks.append(f"{number}\t{lines[number]}")
            last = number
    return "\n".join(blocks)


def _rest(found: SearchResult, shown: Sequence[Hit], prefix: str, narrower: str) -> str:
    """The matches that are not shown: how many lines of which files, most lines first."""
    more = found.total - len(shown)
    if not more:
        return f"[not all files were searched: {narrower}]"
    left = Counter(found.counts)
    left.subtract(hit.name for hit in shown)
    files = [(prefix + name, count) for name, count in left.most_common() if count > 0]
    named = ", ".join(f"{visible(name)} {count}" for name, count in files[:_MOST_NAMED])
    others = f" and {counted(len(files) - _MOST_NAMED, 'more file')}" if len(files) > _MOST_NAMED else ""
    least = "at least " if found.late else ""
    shown_lines = f"{counted(len(shown), 'line')} {_are(len(shown))} shown"
    return f"[{shown_lines}, {least}{more} more {_are(more)} in {named}{others}; {narrower}]"


def _are(count: int) -> str:
    return "is" if count == 1 else "are"
