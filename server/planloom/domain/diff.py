"""The difference between two texts: small hunks for editors, unified text for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Final

from planloom.domain.lines import Block, changed_blocks, split_lines
from planloom.domain.text import Encoding, LineIndex, Range, TextEdit
from planloom.domain.values import Value

_PIECE: Final = 1 << 16
# Beyond this many changed lines, one replacement costs an editor less than finding the hunks costs us.
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
    head, tail = _equal_line_ends(before, after)
    before_lines, after_lines = (text[head : len(text) - tail] for text in (before, after))
    if sum(text.count("\n") + text.count("\r") for text in (before_lines, after_lines)) > _MOST_LINES:
        found = _by_lines([before_lines], [after_lines], head)
    else:
        found = _by_lines(split_lines(before_lines), split_lines(after_lines), head)
    return tuple(_trimmed(hunk, before, after) for hunk in found)


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


def _by_lines(before: Sequence[str], after: Sequence[str], head: int) -> Iterator[Hunk]:
    """The changed lines as hunks, whose offsets begin at `head`."""
    before_at = [*accumulate(map(len, before), initial=head)]
    after_at = [*accumulate(map(len, after), initial=head)]
    for block in changed_blocks(before, after):
        yield Hunk(
            before_start=before_at[block.before_start],
            before_end=before_at[block.before_end],
            after_start=after_at[block.after_start],
            after_end=after_at[block.after_end],
        )


def _equal_line_ends(before: str, after: str) -> tuple[int, int]:
    """How many code points of both texts are equal whole lines at the start, and at the end."""
    most = min(len(before), len(after))
    head = _equal_start(before, after, 0, 0, most)
    while head and not (_starts_line(before, head) and _starts_line(after, head)):
        head = max(before.rfind("\n", 0, head - 1), before.rfind("\r", 0, head - 1)) + 1
    tail = _equal_end(before, after, len(before), len(after), most - head)
    if not (_starts_line(before, len(before) - tail) and _starts_line(after, len(after) - tail)):
        tail = len(before) - _next_line(before, len(before) - tail)
    return head, tail


def _trimmed(hunk: Hunk, before: str, after: str) -> Hunk:
    """The hunk less what is equal at its two ends; a mere insertion or deletion stays in whole lines."""
    most = min(hunk.before_end - hunk.before_start, hunk.after_end - hunk.after_start)
    start = _equal_start(before, after, hunk.before_start, hunk.after_start, most)
    if _in_crlf(before, hunk.before_start + start) or _in_crlf(after, hunk.after_start + start):
        start -= 1
    end = _equal_end(before, after, hunk.before_end, hunk.after_end, most - start)
    if _in_crlf(before, hunk.before_end - end) or _in_crlf(after, hunk.after_end - end):
        end -= 1
    return Hunk(
        before_start=hunk.before_start + start,
        before_end=hunk.before_end - end,
        after_start=hunk.after_start + start,
        after_end=hunk.after_end - end,
    )


def _equal_start(before: str, after: str, before_at: int, after_at: int, most: int) -> int:
    """How many code points are equal from two places on, compared in pieces at memory speed."""
    done, size = 0, _PIECE
    while size and done < most:
        size = min(size, most - done)
        before_start, after_start = before_at + done, after_at + done
        if before[before_start : before_start + size] == after[after_start : after_start + size]:
            done += size
        else:
            size //= 2
    return done


def _equal_end(before: str, after: str, before_at: int, after_at: int, most: int) -> int:
    """How many code points are equal up to two places."""
    done, size = 0, _PIECE
    while size and done < most:
        size = min(size, most - done)
        before_end, after_end = before_at - done, after_at - done
        if before[before_end - size : before_end] == after[after_end - size : after_end]:
            done += size
        else:
            size //= 2
    return done


def _in_crlf(text: str, place: int) -> bool:
    return 0 < place < len(text) and text[place - 1] == "\r" and text[place] == "\n"


def _starts_line(text: str, place: int) -> bool:
    return place == 0 or (text[place - 1] in "\n\r" and not _in_crlf(text, place))


def _next_line(text: str, place: int) -> int:
    """Where the first line after a place begins, or the end of the text."""
    feed = text.find("\n", place)
    feed = len(text) if feed < 0 else feed
    carriage = text.find("\r", place, feed)
    if 0 <= carriage < feed - 1:
        return carriage + 1
    return min(feed + 1, len(text))


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
