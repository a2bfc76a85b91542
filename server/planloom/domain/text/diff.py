"""The difference between two texts: as small hunks, as edits for editors, and as a unified diff for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Final, NamedTuple

from planloom.domain.text.changed_regions import changed_regions, equal_end, equal_start, in_crlf
from planloom.domain.text.lines import Block, changed_blocks, split_lines
from planloom.domain.text.positions import Encoding, LineIndex, Range, TextEdit

_MOST_LINES: Final = 1_000_000


class Hunk(NamedTuple):
    """Code points `before_start:before_end` of one text became `after_start:after_end` of another."""

    before_start: int
    before_end: int
    after_start: int
    after_end: int


def hunks(before: str, after: str) -> tuple[Hunk, ...]:
    """The changes in order, none touching another; no hunk begins or ends inside a CRLF.

    The fewest changed lines are found first; then the equal text at both ends of each hunk is cut off.
    """
    return tuple(
        _trimmed(hunk, before, after)
        for region in changed_regions(before, after)
        for hunk in _by_lines(region, before, after)
    )


def text_edits(before: str, after: str, encoding: Encoding) -> tuple[TextEdit, ...]:
    """The edits that turn `before` into `after` exactly, in order; none touches another."""
    index = LineIndex(before)
    return tuple(
        TextEdit(
            range=Range(
                start=index.position(hunk.before_start, encoding),
                end=index.position(hunk.before_end, encoding),
            ),
            new_text=after[hunk.after_start : hunk.after_end],
        )
        for hunk in hunks(before, after)
    )


def changed_lines(before: str, after: str) -> tuple[int, int]:
    """How many lines were added, and how many removed; a changed line is both."""
    changes = changed_blocks(split_lines(before), split_lines(after))
    return (
        sum(block.after_end - block.after_start for block in changes),
        sum(block.before_end - block.before_start for block in changes),
    )


def _by_lines(region: Block, before: str, after: str) -> Iterator[Hunk]:
    """The changed lines of one region, as hunks."""
    old = _lines(before, region.before_start, region.before_end)
    new = _lines(after, region.after_start, region.after_end)
    old_starts = [*accumulate(map(len, old), initial=region.before_start)]
    new_starts = [*accumulate(map(len, new), initial=region.after_start)]
    for block in changed_blocks(old, new):
        yield Hunk(
            before_start=old_starts[block.before_start],
            before_end=old_starts[block.before_end],
            after_start=new_starts[block.after_start],
            after_end=new_starts[block.after_end],
        )


def _lines(text: str, start: int, end: int) -> list[str]:
    """The lines of `text[start:end]`; too many to compare in reasonable time count as one line."""
    if text.count("\n", start, end) + text.count("\r", start, end) > _MOST_LINES:
        return [text[start:end]]
    return split_lines(text[start:end])


def _trimmed(hunk: Hunk, before: str, after: str) -> Hunk:
    """The hunk without the equal text at its ends; a pure insertion or deletion keeps whole lines."""
    most = min(hunk.before_end - hunk.before_start, hunk.after_end - hunk.after_start)
    start = equal_start(before, after, hunk.before_start, hunk.after_start, most)
    if in_crlf(before, hunk.before_start + start) or in_crlf(after, hunk.after_start + start):
        start -= 1
    end = equal_end(before, after, hunk.before_end, hunk.after_end, most - start)
    if in_crlf(before, hunk.before_end - end) or in_crlf(after, hunk.after_end - end):
        end -= 1
    return Hunk(
        before_start=hunk.before_start + start,
        before_end=hunk.before_end - end,
        after_start=hunk.after_start + start,
        after_end=hunk.after_end - end,
    )


def git_diff(before: str | None, after: str | None, old: str, new: str) -> str:
    """A unified diff of one file that `git apply` and `patch` can read; a text is None if there is no file.

    `old` and `new` are its paths before and after the change, below the folder in which the diff can be applied.
    """
    header = [f"diff --git a/{old} b/{new}"]
    if before is None and after is not None:
        header.append("new file mode 100644")
    elif after is None and before is not None:
        header.append("deleted file mode 100644")
    elif old != new:
        header += [f"rename from {old}", f"rename to {new}"]
    return "\n".join([*header, unified(before, after, f"a/{old}", f"b/{new}")])


def unified(
    before: str | None, after: str | None, before_name: str, after_name: str, context: int = 3
) -> str:
    """A unified diff as `diff -u` writes it, empty if nothing changed; a text is None if there is no file.

    Lines end only at LF here, as the readers of such diffs expect.
    """
    old, new = _lf_lines(before or ""), _lf_lines(after or "")
    changes = changed_blocks(old, new)
    if not changes and (before is None) == (after is None):
        return ""
    written = [
        f"--- {'/dev/null' if before is None else before_name}\n",
        f"+++ {'/dev/null' if after is None else after_name}\n",
    ]
    for group in _grouped(changes, context):
        written += _hunk_lines(group, old, new, context)
    return "".join(written)


def _lf_lines(text: str) -> list[str]:
    *lines, last = text.split("\n")
    return [line + "\n" for line in lines] + ([last] if last else [])


def _grouped(changes: Sequence[Block], context: int) -> Iterator[list[Block]]:
    """The changes in groups whose context would overlap or touch."""
    group: list[Block] = []
    for change in changes:
        if group and change.before_start - group[-1].before_end > 2 * context:
            yield group
            group = []
        group.append(change)
    if group:
        yield group


def _hunk_lines(
    group: Sequence[Block], old: Sequence[str], new: Sequence[str], context: int
) -> Iterator[str]:
    """One hunk of a unified diff, line by line."""
    lead = min(context, group[0].before_start)
    trail = min(context, len(old) - group[-1].before_end)
    first, last = group[0].before_start - lead, group[-1].before_end + trail
    new_first, new_last = group[0].after_start - lead, group[-1].after_end + trail
    yield f"@@ -{_extent(first, last)} +{_extent(new_first, new_last)} @@\n"
    done = first
    for change in group:
        yield from (_marked(" ", line) for line in old[done : change.before_start])
        yield from (_marked("-", line) for line in old[change.before_start : change.before_end])
        yield from (_marked("+", line) for line in new[change.after_start : change.after_end])
        done = change.before_end
    yield from (_marked(" ", line) for line in old[done:last])


def _extent(start: int, end: int) -> str:
    """A range of lines counted from one, as in a hunk's header; an empty range names the line above it."""
    if end - start == 1:
        return f"{end}"
    return f"{start + (end > start)},{end - start}"


def _marked(mark: str, line: str) -> str:
    return mark + line if line.endswith("\n") else f"{mark}{line}\n\\ No newline at end of file\n"
