"""Makes another text of a proposed change: the one that the person writes, or that of the hunks that they take."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from rich.text import Text

from planloom.cli.client.messages import Approval, DiffResult
from planloom.cli.plain import visible
from planloom.cli.terminal import show
from planloom.domain.text.lines import changed_blocks, split_lines

if TYPE_CHECKING:
    from planloom.cli.terminal.person import Terminal

_TEXTS: Final = ("create", "edit")
"""The changes that propose a text."""


class Hunk(NamedTuple):
    """Lines of a text, and those that a change puts in their place. `number` is that of the first, from 1."""

    number: int
    old: tuple[str, ...]
    new: tuple[str, ...]


def with_texts(approval: Approval, diffs: Sequence[DiffResult]) -> list[DiffResult]:
    """The diffs of an approval for which the person can choose another text; none of what a command has written."""
    if approval.get("tool") == "run_command":
        return []
    proposed = {file["uri"] for file in approval.get("files") or [] if file.get("change") in _TEXTS}
    return [diff for diff in diffs if diff["uri"] in proposed and diff.get("after") is not None]


def hunks(before: str, after: str) -> Iterator[Hunk]:
    """The changes from one text to another, by whole lines."""
    old, new = split_lines(before), split_lines(after)
    for block in changed_blocks(old, new):
        yield Hunk(
            block.before_start + 1,
            tuple(old[block.before_start : block.before_end]),
            tuple(new[block.after_start : block.after_end]),
        )


def has_several_hunks(diffs: Sequence[DiffResult]) -> bool:
    """Whether there is more than one hunk to choose from."""
    return sum(1 for diff in diffs for _ in _hunks_of(diff)) > 1


def _hunks_of(diff: DiffResult) -> Iterator[Hunk]:
    before, after = diff.get("before"), diff.get("after")
    if before is not None and after is not None:
        yield from hunks(before, after)


def with_hunks(before: str, taken: Iterable[Hunk]) -> str:
    """The text with these of its hunks."""
    lines = split_lines(before)
    for hunk in sorted(taken, reverse=True):
        lines[hunk.number - 1 : hunk.number - 1 + len(hunk.old)] = hunk.new
    return "".join(lines)


async def edited(terminal: Terminal, diffs: Sequence[DiffResult]) -> dict[str, str]:
    """The texts, by URI, that the person has written in their editor in place of the proposed ones. Raises Leave."""
    diff = diffs[0]
    if len(diffs) > 1:
        names = {
            str(n): show.relative(each["uri"], terminal.folders) for n, each in enumerate(diffs, start=1)
        }
        diff = diffs[int(await terminal.choose_or_leave("Which file?", names)) - 1]
    suffix = "." + diff["uri"].rpartition(".")[2] if "." in diff["uri"].rpartition("/")[2] else ""
    text = await terminal.in_editor(diff["after"] or "", suffix)
    return {} if text is None else {diff["uri"]: text}


async def chosen(terminal: Terminal, diffs: Sequence[DiffResult]) -> dict[str, str]:
    """The texts, by URI, with the hunks of edited files that the person takes. Raises Leave."""
    texts: dict[str, str] = {}
    for diff in diffs:
        if (before := diff.get("before")) is None:
            continue
        taken = []
        for hunk in _hunks_of(diff):
            terminal.say(f"{show.relative(diff['uri'], terminal.folders)}, line {hunk.number}", "bold")
            for mark, style, lines in (("-", "red", hunk.old), ("+", "green", hunk.new)):
                for line in lines:
                    terminal.console.print(Text(f"{mark} {visible(line.rstrip())}", style))
            if await terminal.choose_or_leave("Take it?", {"y": "take it", "n": "leave it out"}) == "y":
                taken.append(hunk)
        texts[diff["uri"]] = with_hunks(before, taken)
    return texts
