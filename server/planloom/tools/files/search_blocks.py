"""Parses SEARCH/REPLACE blocks in the forms of Aider, Cline and Roo, as the hunks of a patch.

Aider writes `<<<<<<< SEARCH`, `=======`, `>>>>>>> REPLACE`, with the file's path on the line before, outside or
inside a code fence. Cline writes `------- SEARCH` and `+++++++ REPLACE`. Roo adds `:start_line:12` and a line of
dashes below the first marker.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from planloom.domain.patterns import pattern
from planloom.tools.files.hunks import BadPatch, FilePatch, Hunk, Op

_SEARCH: Final = pattern(r"(?:<{5,9}|-{5,9}) ?(?:SEARCH|ORIGINAL)>?\s*")
_MIDDLE: Final = pattern(r"={5,9}\s*")
_REPLACE: Final = pattern(r"(?:>{5,9}|\+{5,9}) ?(?:REPLACE|UPDATED)>?\s*")
_LINE_HINT: Final = pattern(r":(start|end)_line: ?(\d{1,7})\s*")
_DASHES: Final = pattern(r"-{5,9}\s*")
_FENCE: Final = pattern(r"\s*(?:`{3,}|~{3,})\S*\s*")
_PATH: Final = pattern(r"[^\s:*?\"<>|]*[./][^\s:*?\"<>|]*")
"""A line that is only a path; paths with spaces are not told from sentences."""


class _Block(NamedTuple):
    path: str | None
    search: tuple[str, ...]
    replace: tuple[str, ...]
    line: int | None


def has_search_block(lines: Sequence[str]) -> bool:
    """Whether a block begins before anything that looks like a unified diff."""
    for line in lines:
        if _SEARCH.fullmatch(line):
            return True
        if line.startswith("@@"):
            return False
    return False


def read_search_blocks(lines: Sequence[str]) -> tuple[FilePatch, ...] | BadPatch:
    """The blocks as patches of files, in order. The path of a block holds for those after it that name none."""
    blocks: dict[str | None, list[_Block]] = {}
    for block in _blocks(lines):
        if isinstance(block, BadPatch):
            return block
        blocks.setdefault(block.path, []).append(block)
    files: list[FilePatch] = []
    for path, own in blocks.items():
        empty = [block for block in own if not any(line.strip() for line in block.search)]
        if empty and len(own) > 1:
            return BadPatch(
                reason="A block with an empty SEARCH part creates a file, so it must be the only one for that file. "
                "Give the lines to replace in each block."
            )
        hunks = tuple(Hunk(_ops(block), block.line) for block in own)
        files.append(FilePatch("add" if empty else "update", path, hunks))
    return tuple(files)


def _blocks(lines: Sequence[str]) -> Iterator[_Block | BadPatch]:
    path: str | None = None
    number = 0
    while number < len(lines):
        if not _SEARCH.fullmatch(lines[number]):
            number += 1
            continue
        path = _path_above(lines, number) or path
        end = next((n for n in range(number + 1, len(lines)) if _REPLACE.fullmatch(lines[n])), None)
        body = lines[number + 1 : end]
        middles = [n for n, line in enumerate(body) if _MIDDLE.fullmatch(line)]
        if end is None or not middles:
            yield BadPatch(
                reason="A SEARCH/REPLACE block is cut off: after <<<<<<< SEARCH it needs a line ======= and a line "
                ">>>>>>> REPLACE. Send the whole patch."
            )
            return
        if len(middles) > 1 or any(_SEARCH.fullmatch(line) for line in body):
            yield BadPatch(
                reason="A SEARCH/REPLACE block has more than one line =======, so its parts cannot be told apart. "
                "Give old_text and new_text instead."
            )
            return
        search, line = _without_hints(body[: middles[0]])
        yield _Block(path, tuple(search), tuple(body[middles[0] + 1 :]), line)
        number = end + 1


def _path_above(lines: Sequence[str], number: int) -> str | None:
    """The path in the line above a block, and above its code fence."""
    above = number - 1
    while above >= 0 and (not lines[above].strip() or _FENCE.fullmatch(lines[above])):
        above -= 1
    name = lines[above].strip().strip("`*#:").strip() if above >= 0 else ""
    return name if _PATH.fullmatch(name) and not _REPLACE.fullmatch(name) else None


def _without_hints(search: Sequence[str]) -> tuple[Sequence[str], int | None]:
    """The lines to search for without Roo's hints above them, and the line number that the hints give."""
    line: int | None = None
    start = 0
    while start < len(search) and (hint := _LINE_HINT.fullmatch(search[start])):
        line = int(hint[2]) if hint[1] == "start" else line
        start += 1
    if start and start < len(search) and _DASHES.fullmatch(search[start]):
        start += 1
    return search[start:], line


def _ops(block: _Block) -> tuple[Op, ...]:
    """The block as lines of a hunk; equal lines at both ends are kept ones, which stay as they are in the file."""
    old, new = block.search, block.replace
    if not any(line.strip() for line in old):
        return tuple(("+", line) for line in new)
    most = min(len(old), len(new))
    head = next((n for n in range(most) if old[n] != new[n]), most)
    tail = next((n for n in range(most - head) if old[-1 - n] != new[-1 - n]), most - head)
    removed, added = old[head : len(old) - tail], new[head : len(new) - tail]
    ops: list[Op] = [(" ", line) for line in old[:head]]
    ops += [("-", line) for line in removed]
    ops += [("+", line) for line in added]
    ops += [(" ", line) for line in old[len(old) - tail :]]
    return tuple(ops)
