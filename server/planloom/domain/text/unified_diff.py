"""The difference between two texts as a unified diff, for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planloom.domain.text.lines import Block, changed_blocks


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
