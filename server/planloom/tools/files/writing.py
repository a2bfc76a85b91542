"""The tools `write_file` and `create_folder`, which stage new content and folders."""

from __future__ import annotations

import re
from typing import Final

from planloom.domain.patterns import pattern
from planloom.domain.text.positions import differ_only_in_eol
from planloom.tools.catalog import CreateFolder, WriteFile
from planloom.tools.context import ToolContext
from planloom.tools.files.line_numbers import has_numbers, unnumbered_text
from planloom.tools.files.reading import unreadable
from planloom.tools.tool import ToolResult, failed, succeeded
from planloom.workspace.paths.resolver import PathRefused

_DATA = (".tsv", ".tab", ".txt", ".csv", ".dat", ".log", ".md", ".out")
"""Endings of files whose lines may begin with a number and a tab."""

# What models write in place of a part of a file, or around the whole of it.
_FENCE: Final = pattern(r"(`{3,}|~{3,})[ \t]*[\w.+#/-]{0,60}[ \t]*")
_MARKDOWN: Final = (".md", ".markdown", ".mdx", ".mdown", ".mkd", ".qmd", ".rmd", ".mdc", ".rst", ".adoc")
_DOTS: Final = r"(?:\.{3,}|…)"
_KEPT: Final = (
    r"(?:rest|remainder|remaining|other|previous|existing|original|same|unchanged|omitted|truncated|snip(?:ped)?|elided|"
    r"as before|as above|stays the same|remains the same|not shown|code here|code continues|goes here)"
)
_PLACEHOLDER: Final = pattern(
    rf"{_DOTS}.{{0,80}}\b{_KEPT}\b|\b{_KEPT}\b.{{0,80}}{_DOTS}"
    r"|\b(?:rest|remainder) of (?:the |this |your )?(?:\w+ )?(?:code|file|class|function|method|module|content|text|"
    r"document|implementation|script|page|component|template|body|section|styles?|html|tests?)\b"
    r"|\b(?:existing|remaining|previous|original|unchanged|other|same) (?:\w+ )?(?:code|content|lines|methods|"
    r"functions|imports|implementation|logic|tests|text|parts?|sections?|rules|styles|fields|cases)\b"
    r".{0,40}\b(?:here|unchanged|above|below|omitted|continues?|stays?|remains?|goes|as before|as is|the same)\b"
    r"|\b(?:code|content|lines|text|section|part|file|everything else|rest|methods|functions) "
    r"(?:\w+ ){0,2}(?:unchanged|omitted|truncated|not shown|as before|stays the same|remains the same)\b"
    r"|\b(?:omitted|truncated|shortened|elided) for (?:brevity|clarity|space)\b",
    re.IGNORECASE,
)
_MARKS: Final = r"[\s/#*;<>!\-{}(\[\])\"']*"
_BARE: Final = pattern(rf"{_MARKS}(?:{_DOTS}|existing code){_MARKS}\.?", re.IGNORECASE)
"""A line that only marks an omission."""
_LONGEST: Final = 240


def names_folder(path: str) -> ToolResult | None:
    """The refusal of a file path that ends in a slash, or None."""
    if not path.endswith(("/", "\\")):
        return None
    return failed(
        f"{path} ends in a slash, so it names a folder: use create_folder to make one, or add the file's name."
    )


async def write_file(args: WriteFile, context: ToolContext) -> ToolResult:
    """Create a file, or replace its whole content."""
    folder = names_folder(args.path)
    if folder is not None:
        return folder
    place = await context.resolve(args.path, "write")
    if isinstance(place, PathRefused):
        return failed(place.reason)
    snapshot = await context.files.peek(place.uri)
    was_seen = context.has_seen(snapshot)
    context.files.note_read(snapshot)
    if snapshot.exists and snapshot.text is None:
        return failed(unreadable(place.relative, snapshot))
    if snapshot.text and not args.content:
        return succeeded(
            f"{place.relative} exists already and is left as it is",
            f"{place.relative} exists already and is left as it is: write_file with empty content creates a new "
            "file, but does not empty an existing one. Use edit_file to remove text.",
            place.relative,
        )
    content = _unnumbered(place.relative, snapshot.text, without_fence(place.relative, args.content))
    if snapshot.text is not None and differ_only_in_eol(snapshot.text, content):
        return succeeded(f"{place.relative} already has this text", value=place.relative)
    before = snapshot.text or ""
    placeholder = left_out_line(before, content)
    notes = (
        place.notes if placeholder is None else (*place.notes, _omission_note(before, content, placeholder))
    )
    refused = await context.files.stage_write(snapshot, content, notes=notes)
    if refused is not None:
        return failed(refused.reason)
    if snapshot.exists and not was_seen and snapshot.text:
        context.replaced_unread.add(place.uri)
    context.incomplete.discard(place.uri)
    if placeholder is not None:
        context.incomplete.add(place.uri)
        return succeeded(
            f"Replaced {place.relative}, which may have lost a part",
            f"{notes[-1]} The user is asked whether that is meant. If it is not, call write_file again with the "
            "complete content, or edit_file for the part that changes.",
            place.relative,
        )
    verb = "Replaced" if snapshot.exists else "Created"
    return succeeded(f"{verb} {place.relative}", value=place.relative)


def _unnumbered(name: str, before: str | None, content: str) -> str:
    """The content without line numbers that were copied from `read_file`, unless they may be meant as data."""
    plain = unnumbered_text(content, 1)
    if plain is None or has_numbers(before or ""):
        return content
    # A file that is replaced and had no numbers shall have none; a new file may be a table or a list.
    return content if before is None and name.lower().endswith(_DATA) else plain


def _omission_note(before: str, after: str, placeholder: str) -> str:
    return (
        f"The new text is {100 - 100 * len(after) // len(before)} % shorter than the old one and has the line "
        f"{placeholder[:120]!r}: a part seems to be left out."
    )


async def create_folder(args: CreateFolder, context: ToolContext) -> ToolResult:
    """Create a folder and its parents; succeeds if it exists already."""
    place = await context.resolve(args.path, "write")
    if isinstance(place, PathRefused):
        return failed(place.reason)
    refused = await context.files.stage_create_folder(place.uri)
    if refused is not None:
        return failed(refused.reason)
    return succeeded(f"Created folder {place.relative}", value=place.relative)


def without_fence(path: str, content: str) -> str:
    """The content without a code fence around the whole of it; unchanged for Markdown, where a fence may be meant."""
    if path.lower().endswith(_MARKDOWN):
        return content
    body = content.strip("\r\n \t")
    first, _, rest = body.partition("\n")
    opening = _FENCE.fullmatch(first.rstrip("\r"))
    if opening is None or not rest:
        return content
    lines = rest.split("\n")
    mark = opening[1]
    closing = [n for n, line in enumerate(lines) if _closes(line, mark)]
    if closing != [len(lines) - 1]:
        return content
    inner = "\n".join(lines[:-1])
    return inner + "\n" if inner and not inner.endswith("\n") else inner


def _closes(line: str, mark: str) -> bool:
    stripped = line.strip()
    return len(stripped) >= len(mark) and not stripped.strip(mark[0])


def left_out_line(before: str, after: str) -> str | None:
    """A new line that marks an omission, if the text shrinks by more than half; else None."""
    if len(after) * 2 >= len(before):
        return None
    old_lines = set(before.split("\n"))
    for line in after.split("\n"):
        if line not in old_lines and len(line) <= _LONGEST and _is_placeholder(line):
            return line.strip()
    return None


def _is_placeholder(line: str) -> bool:
    return bool(line.strip()) and (_BARE.fullmatch(line) is not None or _PLACEHOLDER.search(line) is not None)
