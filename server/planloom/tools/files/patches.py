"""Parses patches as models write them: unified diffs, `*** Begin Patch` and SEARCH/REPLACE blocks.

Line numbers in them are often wrong.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, Literal

from planloom.domain.text.positions import with_eol
from planloom.tools.files.hunks import BadPatch, FilePatch, Hunk, Op
from planloom.tools.files.search_blocks import has_search_block, read_search_blocks

_RANGES: Final = re.compile(r"@@+ *-(\d{1,9})(?:,\d{1,9})? +\+\d{1,9}(?:,\d{1,9})? *@@+ ?(.*)")
_NO_NEWLINE: Final = "\\ No newline at end of file"
_SECTIONS: Final = ("*** Add File: ", "*** Update File: ", "*** Delete File: ")
_MOST_HUNKS: Final = 2_000


def read_patch(text: str) -> tuple[FilePatch, ...] | BadPatch:
    """Parse a patch into its files, in order. Never raises; takes linear time."""
    lines = with_eol(text, "\n").strip("\n").split("\n")
    if lines and lines[0].startswith("```") and lines[-1].strip() == "```":
        lines = lines[1:-1]
    begins = next((n for n, line in enumerate(lines) if line.strip() == "*** Begin Patch"), None)
    if begins is not None:
        ends = next(
            (n for n in range(len(lines) - 1, begins, -1) if lines[n].strip() == "*** End Patch"), None
        )
        if ends is None:
            return BadPatch(
                reason="The patch is cut off: it has no *** End Patch line. Send the whole patch."
            )
        files = _begin_patch(lines[begins + 1 : ends])
    elif lines[0].startswith(_SECTIONS):
        files = _begin_patch([line for line in lines if line.strip() != "*** End Patch"])
    elif has_search_block(lines):
        files = read_search_blocks(lines)
    else:
        files = _unified(lines)
    if isinstance(files, BadPatch):
        return files
    if not files or sum(len(file.hunks) for file in files) > _MOST_HUNKS:
        return BadPatch(
            reason="The patch cannot be parsed. Give a unified diff, *** Begin Patch … *** End Patch, "
            "<<<<<<< SEARCH … ======= … >>>>>>> REPLACE, or old_text and new_text."
        )
    return _joined(files)


def _joined(files: Sequence[FilePatch]) -> tuple[FilePatch, ...]:
    """The files with the hunks of those that are updated under several headings put together."""
    joined: list[FilePatch] = []
    places: dict[tuple[str | None, str | None], int] = {}
    for file in files:
        key = (file.path, file.move_to)
        if file.kind == "update" and key in places:
            earlier = joined[places[key]]
            joined[places[key]] = earlier._replace(hunks=(*earlier.hunks, *file.hunks))
            continue
        if file.kind == "update":
            places[key] = len(joined)
        joined.append(file)
    return tuple(joined)


def _begin_patch(lines: Sequence[str]) -> tuple[FilePatch, ...] | BadPatch:
    files: list[FilePatch] = []
    start = 0
    while start < len(lines):
        kind, _, path = lines[start].partition(": ")
        path = path.strip()
        end = _section_end(lines, start + 1)
        body = lines[start + 1 : end]
        match kind.strip():
            case "*** Add File":
                files.append(FilePatch("add", path, (_added(body),)))
            case "*** Delete File":
                files.append(FilePatch("delete", path))
            case "*** Update File":
                moved = body[0].partition("*** Move to: ")[2].strip() if body else ""
                hunks = _hunks(body[1:] if moved else body)
                if isinstance(hunks, BadPatch):
                    return hunks
                files.append(FilePatch("update", path, hunks, moved or None))
            case "":
                pass
            case _:
                return BadPatch(
                    reason=f"The line {lines[start][:100]!r} must be *** Add File: path, *** Update File: path "
                    "or *** Delete File: path."
                )
        start = end
    return tuple(files)


def _section_end(lines: Sequence[str], start: int) -> int:
    return next((n for n in range(start, len(lines)) if lines[n].startswith(_SECTIONS)), len(lines))


def _added(body: Sequence[str]) -> Hunk:
    return Hunk(tuple(("+", line[1:] if line.startswith("+") else line) for line in body))


def _unified(lines: Sequence[str]) -> tuple[FilePatch, ...] | BadPatch:
    files: list[FilePatch] = []
    old = new = renamed = None
    body: list[str] = []
    started = False
    for n, line in enumerate(lines):
        header = line.startswith("--- ") and n + 1 < len(lines) and lines[n + 1].startswith("+++ ")
        if header or line.startswith("diff --git "):
            if started and (body or renamed):
                problem = _close_file(files, old, new, renamed, body)
                if problem is not None:
                    return problem
                renamed, body, old, new = None, [], None, None
            started = True
        if header:
            old = _name(line[4:])
        elif line.startswith("+++ ") and not body and old is not None:
            new = _name(line[4:])
        elif line.startswith("rename from ") and not body:
            old = line[len("rename from ") :].strip()
        elif line.startswith("rename to ") and not body:
            renamed = line[len("rename to ") :].strip()
        elif line.startswith("@@") or body:
            started = True
            body.append(line)
    if started:
        problem = _close_file(files, old, new, renamed, body)
        if problem is not None:
            return problem
    return tuple(files)


def _close_file(
    files: list[FilePatch], old: str | None, new: str | None, renamed: str | None, body: Sequence[str]
) -> BadPatch | None:
    hunks = _hunks(body) if body else ()
    if isinstance(hunks, BadPatch):
        return hunks
    if new == "/dev/null":
        files.append(FilePatch("delete", old))
    elif old == "/dev/null":
        files.append(FilePatch("add", new, hunks))
    else:
        path = old if renamed else new or old
        files.append(FilePatch("update", path, hunks, renamed))
    return None


def _name(text: str) -> str:
    """The path of a `---` or `+++` line, without git's prefix and timestamp."""
    name = text.partition("\t")[0].strip().strip('"')
    return name[2:] if name.startswith(("a/", "b/")) else name


def _hunks(body: Sequence[str]) -> tuple[Hunk, ...] | BadPatch:
    hunks: list[Hunk] = []
    ops: list[Op] = []
    headings: list[str] = []
    start: int | None = None
    at_end = False
    newline: bool | None = None
    for line in [*body, "@@"]:
        if line.startswith("@@"):
            if ops:
                hunks.append(Hunk(_trimmed(ops), start, tuple(headings), at_end, newline))
                ops, headings, start, at_end, newline = [], [], None, False, None
            found = _RANGES.match(line)
            heading = found[2] if found else line.strip("@").strip()
            if found:
                start = int(found[1])
            elif heading:
                headings.append(heading)
        elif line.strip() == "*** End of File":
            at_end = True
        elif line.startswith(_NO_NEWLINE[:5]):
            at_end = True
            newline = newline if ops and ops[-1][0] == " " else bool(ops and ops[-1][0] == "-")
        elif line[:1] in (" ", "-", "+"):
            sign: Literal[" ", "-", "+"] = "-" if line[0] == "-" else "+" if line[0] == "+" else " "
            ops.append((sign, line[1:]))
        elif not line:
            ops.append((" ", ""))
        else:
            return BadPatch(
                reason=f"The patch line {line[:100]!r} must begin with a space, - or +, as every line of a hunk."
            )
    return tuple(hunks)


def _trimmed(ops: Sequence[Op]) -> tuple[Op, ...]:
    """Remove trailing blank lines, which only separate hunks."""
    kept = list(ops)
    while kept and kept[-1] == (" ", ""):
        kept.pop()
    return tuple(kept) or tuple(ops)
