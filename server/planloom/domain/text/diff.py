"""The difference between two texts: small hunks for editors, unified text for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Final

from planloom.domain.text.changed_regions import equal_end, equal_start, in_crlf, stretches
from planloom.domain.text.lines import Block, changed_blocks, split_lines
from planloom.domain.text.positions import Encoding, LineIndex, Range, TextEdit
from planloom.domain.values import Value

_MOST_LINES: Final = 1_000_000


class Hunk(Value):
    """Code points `before_start:before_end` of one text became `after_start:after_end` of another."""

    before_start: int
    before_end: int
    after_start: int
    after_end: int


def hunks(before: str, after: str) -> tuple[Hunk, ...]:
    """What changed, in order and apart from each other; never cut inside a CRLF.

    The fewest lines that can be, each stretch of them less what is equal at its two ends.
    """
    return tuple(
        _trimmed(hunk, before, after)
        for stretch in stretches(before, after)
        for hunk in _by_lines(stretch, before, after)
    )


def text_edits(before: str, after: str, encoding: Encoding) -> tuple[TextEdit, ...]:
    """The edits that turn `before` into `after` exactly, in order and apart from each other."""
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


def unified(
    before: str | None, after: str | None, before_name: str, after_name: str, context: int = 3
) -> str:
    """A unified diff as `diff -u` writes it, empty if nothing changed; None stands for no file.

    Lines end only at LF here, since that is how every reader of such a diff takes it apart.
    """
    old, new = _lf_lines(before or ""), _lf_lines(after or "")
    changes = changed_blocks(old, new)
    if not changes and (before is None) == (after is None):
        return ""
    written = [
        f"--- {'/dev/null' if before is None else before_name}\n",
        f"+++ {'/dev/null' if after is None else after_name}\n",
    ]
    for group in _near(changes, context):
        written += _written(group, old, new, context)
    return "".join(written)


def _by_lines(stretch: Block, before: str, after: str) -> Iterator[Hunk]:
    """The changed lines of a stretch, as hunks."""
    old = _lines(before, stretch.before_start, stretch.before_end)
    new = _lines(after, stretch.after_start, stretch.after_end)
    old_at = [*accumulate(map(len, old), initial=stretch.before_start)]
    new_at = [*accumulate(map(len, new), initial=stretch.after_start)]
    for block in changed_blocks(old, new):
        yield Hunk(
            before_start=old_at[block.before_start],
            before_end=old_at[block.before_end],
            after_start=new_at[block.after_start],
            after_end=new_at[block.after_end],
        )


def _lines(text: str, start: int, end: int) -> list[str]:
    """The lines of a stretch; as if they were one where comparing so many would take too long."""
    if text.count("\n", start, end) + text.count("\r", start, end) > _MOST_LINES:
        return [text[start:end]]
    return split_lines(text[start:end])


def _trimmed(hunk: Hunk, before: str, after: str) -> Hunk:
    """The hunk less what is equal at its two ends; a mere insertion or deletion stays in whole lines."""
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


def _lf_lines(text: str) -> list[str]:
    *lines, last = text.split("\n")
    return [line + "\n" for line in lines] + ([last] if last else [])


def _near(changes: Sequence[Block], context: int) -> Iterator[list[Block]]:
    """The changes in groups whose context would overlap or touch."""
    group: list[Block] = []
    for change in changes:
        if group and change.before_start - group[-1].before_end > 2 * context:
            yield group
            group = []
        group.append(change)
    if group:
        yield group


def _written(group: Sequence[Block], old: Sequence[str], new: Sequence[str], context: int) -> Iterator[str]:
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
    """Lines counted from one; an empty stretch is named by the line above it."""
    if end - start == 1:
        return f"{end}"
    return f"{start + (end > start)},{end - start}"


def _marked(mark: str, line: str) -> str:
    return mark + line if line.endswith("\n") else f"{mark}{line}\n\\ No newline at end of file\n"
