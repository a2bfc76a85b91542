"""Three-way merge with the same results as `git merge-file`; only overlapping changes are conflicts."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final, Literal, NamedTuple

from planloom.domain.text import line_matching as matching
from planloom.domain.text.changed_regions import changed_regions, next_line
from planloom.domain.text.lines import Block, blocks, split_lines
from planloom.domain.text.positions import LineIndex, Position, Range, dominant_eol

# Of texts larger than this only the surroundings of changes are compared. The margin makes sure that the result is the
# same as for the whole text.
_LARGE: Final = 1 << 18
_MARGIN: Final = 1 << 16

Choice = Literal["mine", "theirs", "both"]
"""The side of a hunk that is kept; `both` is mine, then theirs."""
Side = Literal["mine", "theirs", "both"]


class Merged(NamedTuple):
    """The text with the changes of both sides."""

    text: str
    kind: Literal["merged"] = "merged"


class MergeConflict(NamedTuple):
    """Lines that both sides changed: in the base and on each side.

    `range` is the range of `mine` in the whole text of that side; it covers whole lines, so it fits any encoding.
    """

    range: Range
    base: str
    mine: str
    theirs: str


class Conflicted(NamedTuple):
    """Conflicting changes; `parts` is the merged text before, between and after the hunks."""

    hunks: tuple[MergeConflict, ...]
    parts: tuple[str, ...]
    kind: Literal["conflicted"] = "conflicted"


class Replacement(NamedTuple):
    """A text that settles a hunk instead of either side."""

    text: str


def merge(base: str, mine: str, theirs: str) -> Merged | Conflicted:
    """Merge the changes of both sides to `base`, as `git merge-file` does.

    Changes that overlap or touch are conflicts unless both sides made the same change. Lines are compared with
    their line ends.
    """
    if base in (mine, theirs) or mine == theirs:
        return Merged(text=theirs if mine == base else mine)
    parts: list[str] = []
    hunks: list[MergeConflict] = []
    pieces: list[str] = []
    done = counted = lines_above = 0
    for stretch in _stretches(base, mine, theirs):
        pieces.append(mine[done : stretch.mine.start])
        done = stretch.mine.end
        old, ours, others = map(split_lines, stretch.of(base, mine, theirs))
        at = 0
        for region in _regions(old, ours, others):
            pieces += ours[at : region.mine.start]
            at = region.mine.end
            if (settled := _settled(region, ours, others)) is not None:
                pieces += settled
                continue
            lines_above += LineIndex(mine[counted : stretch.mine.start]).line_count - 1
            counted = stretch.mine.start
            parts.append("".join(pieces))
            pieces = []
            hunks.append(_conflict(region, (old, ours, others), lines_above))
        pieces += ours[at:]
    parts.append("".join((*pieces, mine[done:])))
    return Conflicted(hunks=tuple(hunks), parts=tuple(parts)) if hunks else Merged(text=parts[0])


def resolve(conflicted: Conflicted, choices: Sequence[Choice | Replacement]) -> str:
    """The whole text, with one choice for each hunk. Raises ValueError if their numbers differ."""
    if len(choices) != len(conflicted.hunks):
        raise ValueError(f"{len(conflicted.hunks)} conflicts need as many choices, not {len(choices)}.")
    return _interleaved(
        conflicted,
        [_chosen(hunk, choice) for hunk, choice in zip(conflicted.hunks, choices, strict=True)],
    )


def with_markers(conflicted: Conflicted, mine_name: str, theirs_name: str) -> str:
    """The whole text with both sides of each hunk between the usual conflict markers."""
    whole = resolve(conflicted, ["mine"] * len(conflicted.hunks))
    eol = dominant_eol(whole) or "\n"
    return _interleaved(
        conflicted,
        [
            f"<<<<<<< {mine_name}{eol}{_with_line_end(hunk.mine, eol)}"
            f"======={eol}{_with_line_end(hunk.theirs, eol)}>>>>>>> {theirs_name}{eol}"
            for hunk in conflicted.hunks
        ],
    )


class _Span(NamedTuple):
    """Lines `start:end` of one text, or its code points."""

    start: int
    end: int

    def of(self, lines: list[str]) -> list[str]:
        return lines[self.start : self.end]


class _Stretch(NamedTuple):
    """Code points of all three texts that are compared with each other."""

    base: _Span
    mine: _Span
    theirs: _Span

    def of(self, *texts: str) -> Iterator[str]:
        return (text[span.start : span.end] for text, span in zip(texts, self, strict=True))


@dataclass
class _Region:
    """Lines of the base that changed, as spans in all three texts, and on which side."""

    side: Side
    base: _Span
    mine: _Span
    theirs: _Span

    def touches(self, later: _Region) -> bool:
        """Whether a later region touches or overlaps this one on either side."""
        return later.mine.start <= self.mine.end or later.theirs.start <= self.theirs.end

    def extend(self, later: _Region) -> None:
        """Extend this region over a later one; regions of different sides become one of both."""
        self.side = self.side if self.side == later.side else "both"
        self.base = _Span(self.base.start, later.base.end)
        self.mine = _Span(self.mine.start, later.mine.end)
        self.theirs = _Span(self.theirs.start, later.theirs.end)


def _stretches(base: str, mine: str, theirs: str) -> Iterator[_Stretch]:
    """The parts of three texts that are compared, in order: all of small texts, and the surroundings of all changes.

    They begin and end at a line, and the texts are equal before, between and after them.
    """
    if len(base) <= _LARGE:
        yield _Stretch(_Span(0, len(base)), _Span(0, len(mine)), _Span(0, len(theirs)))
        return
    ours, others = deque(changed_regions(base, mine)), deque(changed_regions(base, theirs))
    moved = [0, 0]
    while ours or others:
        start = min(side[0].before_start for side in (ours, others) if side)
        end, before = start, tuple(moved)
        while near := [
            n for n, side in enumerate((ours, others)) if side and side[0].before_start <= end + 2 * _MARGIN
        ]:
            for n in near:
                change = (ours, others)[n].popleft()
                end = max(end, change.before_end)
                moved[n] = change.after_end - change.before_end
        first = next_line(base, start - _MARGIN) if start > _MARGIN else 0
        last = next_line(base, end + _MARGIN)
        yield _Stretch(
            _Span(first, last),
            *(_Span(first + was, last + now) for was, now in zip(before, moved, strict=True)),
        )


def _settled(region: _Region, mine: list[str], theirs: list[str]) -> list[str] | None:
    """The lines of a region that one side changed, or both alike; None for a conflict."""
    ours, others = region.mine.of(mine), region.theirs.of(theirs)
    if region.side == "theirs":
        return others
    return ours if region.side == "mine" or ours == others else None


def _conflict(
    region: _Region, texts: tuple[list[str], list[str], list[str]], lines_above: int
) -> MergeConflict:
    """A conflict in the lines of the base, mine and theirs; `lines_above` is how many are above these in mine."""
    base, mine, theirs = texts
    return MergeConflict(
        range=_lines(region.mine, lines_above),
        base="".join(region.base.of(base)),
        mine="".join(region.mine.of(mine)),
        theirs="".join(region.theirs.of(theirs)),
    )


def _regions(base: list[str], mine: list[str], theirs: list[str]) -> list[_Region]:
    """The changed regions in order; regions that touch are joined."""
    found: list[_Region] = []
    for region in _raw_regions(base, mine, theirs):
        if found and found[-1].touches(region):
            found[-1].extend(region)
        else:
            found.append(region)
    return found


def _raw_regions(base: list[str], mine: list[str], theirs: list[str]) -> Iterator[_Region]:
    """Pair the changes of both sides that touch in the base; a change that both made is no region."""
    ours, others = deque(_changes(base, mine)), deque(_changes(base, theirs))

    def region(side: Side, start: int, end: int) -> _Region:
        return _Region(
            side,
            _Span(start, end),
            _span(start, end, ours[0] if ours else None, len(mine) - len(base)),
            _span(start, end, others[0] if others else None, len(theirs) - len(base)),
        )

    while ours and others:
        our, other = ours[0], others[0]
        if our.before_end < other.before_start:
            yield region("mine", our.before_start, our.before_end)
            ours.popleft()
        elif other.before_end < our.before_start:
            yield region("theirs", other.before_start, other.before_end)
            others.popleft()
        else:
            if our[:2] != other[:2] or _after(our, mine) != _after(other, theirs):
                yield region(
                    "both",
                    min(our.before_start, other.before_start),
                    max(our.before_end, other.before_end),
                )
            # The longer one may also touch the next change of the other side.
            if our.before_end <= other.before_end:
                ours.popleft()
            if other.before_end <= our.before_end:
                others.popleft()
    while ours:
        yield region("mine", ours[0].before_start, ours[0].before_end)
        ours.popleft()
    while others:
        yield region("theirs", others[0].before_start, others[0].before_end)
        others.popleft()


def _changes(base: list[str], side: list[str]) -> tuple[Block, ...]:
    return blocks(matching.as_git(*matching.numbered(base, side)), len(base), len(side))


def _after(block: Block, side: list[str]) -> list[str]:
    return side[block.after_start : block.after_end]


def _span(start: int, end: int, change: Block | None, growth: int) -> _Span:
    """The lines of a side for lines `start:end` of the base.

    `change` is the next change of that side; after its last one, `growth` is its total growth in lines.
    """
    if change is None:
        return _Span(start + growth, end + growth)
    before = change.after_start - change.before_start
    after = change.after_end - change.before_end
    return _Span(start + before, end + (before if end < change.before_start else after))


def _lines(span: _Span, above: int) -> Range:
    return Range(
        start=Position(line=above + span.start, character=0), end=Position(line=above + span.end, character=0)
    )


def _chosen(hunk: MergeConflict, choice: Choice | Replacement) -> str:
    if isinstance(choice, Replacement):
        return choice.text
    if choice == "both":
        return _with_line_end(hunk.mine, dominant_eol(hunk.mine + hunk.theirs) or "\n") + hunk.theirs
    return hunk.mine if choice == "mine" else hunk.theirs


def _interleaved(conflicted: Conflicted, between: Sequence[str]) -> str:
    parts = conflicted.parts
    return "".join(chain.from_iterable(zip(parts, (*between, ""), strict=True)))


def _with_line_end(text: str, eol: str) -> str:
    return text if not text or text.endswith(("\n", "\r")) else text + eol
