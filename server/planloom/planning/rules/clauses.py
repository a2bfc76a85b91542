"""A request as its sentences and list items, and which of them cannot be taken at their word."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice

from planloom.planning.rules.call_patterns import COMMAND_START
from planloom.planning.rules.literals import PLACE, Masked
from planloom.planning.wording import CONNECTING, KNOWN_VERBS, VERBS


def _any_of(words: Iterable[str]) -> str:
    return "|".join(sorted((word.replace(" ", r"\s+") for word in words), reverse=True))


_VERB = rf"(?:{_any_of(VERBS)})(?=\s)(?!\s+of\b)"
_KNOWN = rf"(?:{_any_of(KNOWN_VERBS)})(?!\S)"
_JOINING = CONNECTING.replace(" ", r"\s+")
_TASKS = r"(?:(?:following|next)\s+)?(?:steps?|tasks?|task\s+list|to-?\s?dos?(?:\s+list)?|plan)"
_ORDERS = (
    r"(?:(?:do|execute|perform|complete|carry\s+out|follow|apply|work\s+through)\s+(?:all\s+(?:of\s+)?)?"
    rf"(?:this|these|(?:(?:the|this|these|my|our)\s+)?(?:following|{_TASKS}))"
    rf"(?:\s+(?:things|changes|edits|actions|{_TASKS}))?"
    r"|make\s+(?:these|the\s+following)\s+(?:changes|edits))"
)
_IN_ORDER = (
    r"(?:\s+(?:below|in\s+(?:this\s+|that\s+|the\s+given\s+)?order|for\s+me|(?:one|step)\s+by\s+(?:one|step)|now"
    r"|please))*"
)
_FRAME = rf"(?:(?:(?:the|my|our)\s+)?{_TASKS}|{_ORDERS}){_IN_ORDER}"
_LEAD = re.compile(
    rf"(?:{_JOINING}\b(?:[,:]\s*|\s+)|(?:kindly|now|so|first\s+of\s+all)\b(?:[,:]\s*|\s+)"
    r"|(?:hi|hello|hey|howdy)\b(?:\s+there\b)?[,!.:]?\s+"
    r"|(?:can|could|would|will)\s+you\s+(?!explain\b)"
    r"|i(?:\s+would|['’]d)\s+like\s+(?:you\s+)?to\s+|i\s+(?:want|need)\s+(?:you\s+)?to\s+|let['’]?s\s+|let\s+us\s+"
    rf"|{_ORDERS}{_IN_ORDER}:\s+)",
    re.IGNORECASE,
)
"""Words in front of a task that say nothing of the work itself; matched again until none is left."""
_ONLY_FRAME = re.compile(
    rf"[*_\s]*(?:{_FRAME}|do|(?:can|could|would|will)\s+you|i\s+(?:want|need)\s+you\s+to|you\s+should)?[*_:.\s]*",
    re.IGNORECASE,
)
"""The words that may stand above tasks: a closed list. Under all others, what reads as a task may be a quotation."""
_FRAME_LIMIT = 200
_MOST_TASKS = 100
_MOST_PARTS = 2_000
"""Tasks of a sentence, and parts of a request: a text with more of them is no list of tasks."""
_POLITE = re.compile(r"(?:can|could|would|will)\s+you\b", re.IGNORECASE)
_MARK = re.compile(
    r"[ \t]*(?:(?P<bullet>[-*+•‣▪◦○●·–—])|\(?(?:step[ \t]+)?(?P<number>[0-9]{1,4})[.):]\)?)"
    r"(?:[ \t]+(?:\[(?P<tick>[ xX]?)\][ \t]*)?|$)",
    re.IGNORECASE,
)
_HEADING = re.compile(r"[ \t]*#{1,6}[ \t]+")
_INLINE_NUMBER = re.compile(r"(?<=\S)[ \t]+\(?(?P<number>[0-9]{1,3})[.)](?=\s)")
_BEFORE_NUMBER = re.compile(r"(?:[\s,;]|\s(?:and|then)(?=[\s,;]*$))*$")
_BOUNDARY = re.compile(
    r"(?P<end>(?<![.!?])[.!?]++[\"'”’)\]]*+)(?=\s|$)"
    rf"|[ \t]*\n\s*(?=(?:{_JOINING},?\s+)*(?:{_KNOWN}|{COMMAND_START}))",
    re.IGNORECASE,
)
_ABBREVIATED = (
    "eg. ie. etc. vs. cf. approx. no. nr. fig. dr. mr. mrs. ms. st. resp. incl. ca. al. sec. ch. p. pp."
)
_ABBREVIATIONS = frozenset(_ABBREVIATED.split())
_COURTESY = re.compile(
    r"(?:(?:many\s+)?thanks|thank\s+you|thx|cheers)(?:\s+(?:so\s+much|very\s+much|a\s+lot|in\s+advance))?"
    r"|(?:hi|hello|hey|howdy|good\s+(?:morning|afternoon|evening|day))(?:\s+there)?",
    re.IGNORECASE,
)
"""A sentence that asks for nothing."""
_EDGE = " \t\n,;"
_NEXT_WORD = re.compile(r"\s*([^\s]+)")
_COLON = re.compile(r"[:：][*_\s]*$")
_FINISHED = re.compile(r"[.!?;。！？][\"'”’)\]*_\s]*$")

_BETWEEN_TASKS = re.compile(
    rf"(?:\s*[,;]|\s+(?:and|also)),?\s+(?:{_JOINING},?\s+)*(?={_VERB})"
    rf"|\s*[,;]?\s+(?:and\s+)?(?:then|next|after\s+that|afterwards|finally),?\s+(?={_KNOWN})"
    rf"|\s*;\s+(?:{_JOINING},?\s+)*(?={_KNOWN})",
    re.IGNORECASE,
)
_LAST_WORD = re.compile(r"(\S+)$")
_OPEN = re.compile(
    r"(?<![\w-])(?:if|when|whenever|once|unless|until|while|because|since|that|which|who|whom|whose|where|how|why|what"
    r"|whether|after|before|not|no|never|none|without|except|instead|cannot|\w+n['’]t"
    r"|contents?|texts?|says?|saying|said|titled|containing|items?|logs?|changelog|notes?|messages?|lists?|steps?|tasks?"
    r"|lines?|instructions?|stor(?:y|ies)|quotes?|e?-?mails?|letters?|tickets?|reports?|output|transcript|example"
    r"|grammar|wording|spelling|tone"
    rf"|it|its|them|this|these|those|above|below|following|to\s+(?:{_any_of(KNOWN_VERBS)}))(?![\w-])|[:：](?=\s|$)",
    re.IGNORECASE,
)
"""Words that leave open whether what follows belongs to them, or that speak of a text: behind them nothing is split
off, and beside a sentence with one of them no call is sure."""


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of a masked text: a sentence, a list item, or a passage that is one task at most.

    `polite` tells that "can you" or the like stood in front. `whole` marks words that introduce something
    together with it, and what is ticked off: nothing in it is surely to be done. `heads` marks a line without
    a full stop above others, which may introduce them, `item` the first sentence of a list item.
    """

    start: int
    end: int
    polite: bool = False
    whole: bool = False
    heads: bool = False
    item: bool = False


@dataclass(slots=True)
class _Block:
    """Lines that belong together: a paragraph, or one item of a list with what is indented under it."""

    start: int
    end: int
    indent: int = 0
    mark: re.Match[str] | None = None
    heading: bool = False


def parts(masked: Masked) -> tuple[Part, ...]:
    """The parts of a request in the text's order, without marks, lead-in words and closing full stops.

    No word is left out but courtesies and the closed list of words that may stand above tasks.
    """
    text = masked.text
    blocks = _blocks(text)
    bullets = {block.mark["bullet"] for block in blocks if block.mark is not None}
    if {"+", "-"} <= bullets:
        # It may be a diff, whose signs are no bullets.
        return (Part(blocks[0].start, blocks[-1].end, whole=True),)
    raw = list(islice(_of_blocks(text, blocks), _MOST_PARTS + 1))
    if len(raw) > _MOST_PARTS:
        whole = _stripped(text, Part(0, len(text), whole=True))
        return () if whole is None else (whole,)
    found = [part for each in raw if (part := _stripped(text, each)) is not None]
    asking = [part for part in found if not _COURTESY.fullmatch(text, part.start, part.end)]
    return tuple(asking or found)


def tasks(text: str, part: Part) -> tuple[Part, ...]:
    """A sentence in words, divided into the tasks that it names; itself where that is in doubt."""
    if part.whole or not _begins(text, part, KNOWN_VERBS):
        return (part,)
    opens = _OPEN.search(text, part.start, part.end)
    stop = part.end if opens is None else opens.start()
    found: list[Part] = []
    here = part.start
    for cut in _BETWEEN_TASKS.finditer(text, here, part.end):
        word = _LAST_WORD.search(text, max(here, cut.start() - 20), cut.start())
        # "Check read and write access": a verb right before is no task by itself.
        if cut.start() > stop or (word is not None and word[1].lower() in {*VERBS, "up"}):
            continue
        if len(found) == _MOST_TASKS:
            return (part,)
        found.append(Part(here, cut.start()))
        here = cut.end()
    return (*found, Part(here, part.end))


def is_plain(text: str, part: Part) -> bool:
    """Whether a sentence in words surely is a task of its own, so that it says nothing of those beside it."""
    return (
        not part.whole
        and not part.heads
        # One item of a list does not speak of the others, as "Explain" and "Translate" do between sentences.
        and _begins(text, part, KNOWN_VERBS if part.item else VERBS)
        and _OPEN.search(text, part.start, part.end) is None
        and "?" not in text[part.start : part.end + 1]
    )


def _begins(text: str, part: Part, verbs: frozenset[str]) -> bool:
    """Whether the first word is one of these verbs and the second none: "translate delete a.txt" is about words."""
    words = text[part.start : min(part.end, part.start + 40)].lower().split()
    if not words:
        return False
    first = " ".join(words[:2]) if " ".join(words[:2]) in verbs else words[0]
    return first in verbs and not VERBS.intersection(words[len(first.split()) :][:1])


def _of_blocks(text: str, blocks: list[_Block]) -> Iterator[Part]:
    at = 0
    while at < len(blocks):
        block, at = blocks[at], at + 1
        if block.heading:
            if _is_frame(text, block.start, block.end) and len(blocks) > 1:
                continue
            while at < len(blocks) and not blocks[at].heading:
                at += 1
            yield Part(block.start, blocks[at - 1].end, whole=True)
            continue
        found = list(_of_block(text, block))
        if not found:
            continue
        yield from found[:-1]
        last = found[-1]
        below = blocks[at] if at < len(blocks) else None
        if below is None or last.whole:
            yield last
        elif _is_frame(text, last.start, last.end):
            continue
        elif below.heading or _FINISHED.search(text, last.start, last.end):
            yield last
        elif _COLON.search(text, last.start, last.end) or (below.mark is not None and block.mark is None):
            at += 1
            while below.mark is not None and at < len(blocks) and blocks[at].mark is not None:
                at += 1
            yield Part(last.start, blocks[at - 1].end, whole=True)
        else:
            yield replace(last, heads=block.mark is None)


def _blocks(text: str) -> list[_Block]:
    """The lines of a text gathered into headings, paragraphs and list items."""
    blocks: list[_Block] = []
    current: _Block | None = None
    at = 0
    after_blank = False
    for line in text.split("\n"):
        start, at = at, at + len(line) + 1
        bare = line.strip()
        if not bare:
            after_blank = True
            continue
        end = start + len(line.rstrip())
        indent = len(line) - len(line.lstrip())
        mark, heading = _MARK.match(line), _HEADING.match(line)
        below = (
            current is not None and current.mark is not None and indent > current.indent + (mark is not None)
        )
        if current is not None and (below or bare == PLACE or bare.startswith(">")):
            current.end = end
        elif heading is not None:
            blocks.append(_Block(start + heading.end(), end, heading=True))
            current = None
        elif mark is not None:
            current = _Block(start + mark.end(), end, indent=indent, mark=mark)
            blocks.append(current)
        elif current is not None and not after_blank:
            current.end = end
        else:
            current = _Block(start, end, indent=indent)
            blocks.append(current)
        after_blank = False
    return blocks


def _of_block(text: str, block: _Block) -> Iterator[Part]:
    """The sentences of one block, and those of the numbered items inside of it (`1. …, 2. …`, rising by one)."""
    first = 1 if block.mark is None else int(block.mark["number"] or -1) + 1
    marks: list[re.Match[str]] = []
    for found in _INLINE_NUMBER.finditer(text, block.start, block.end) if first else ():
        if int(found["number"]) == first + len(marks):
            marks.append(found)
    ticked = block.mark is not None and (block.mark["tick"] or " ") in "xX"
    if len(marks) < (2 if block.mark is None else 1):
        marks = []
    edges = [block.start, *(mark.end() for mark in marks)]
    ends = [*(mark.start() for mark in marks), block.end]
    for place, (start, stop) in enumerate(zip(edges, ends, strict=True)):
        trailing = _BEFORE_NUMBER.search(text, max(start, stop - 40), stop) if place < len(marks) else None
        end = stop if trailing is None else trailing.start()
        for part in _sentences(text, start, end):
            if marks and place == 0 and block.mark is None and part.end >= end:
                if _is_frame(text, part.start, part.end):
                    continue
                if _FINISHED.search(text, part.start, part.end) is None:
                    yield Part(part.start, block.end, whole=True)
                    return
            item = part.start == start and (block.mark is not None or bool(marks))
            yield replace(part, whole=part.whole or ticked, item=item)


def _sentences(text: str, start: int, end: int) -> Iterator[Part]:
    """The sentences between two places. A line that ends with a colon introduces all that is left."""
    here = start
    for found in _BOUNDARY.finditer(text, start, end):
        if found.start() < here or (found["end"] and not _ends_sentence(text, here, found, end)):
            continue
        if not found["end"] and _COLON.search(text, here, found.start()):
            if not _is_frame(text, here, found.start()):
                yield Part(here, end, whole=True)
                return
        elif text[here : found.end()].strip():
            finished = bool(found["end"]) or _FINISHED.search(text, here, found.start()) is not None
            yield Part(here, found.end() if found["end"] else found.start(), heads=not finished)
        here = found.end()
    if text[here:end].strip():
        yield Part(here, end)


def _ends_sentence(text: str, here: int, found: re.Match[str], end: int) -> bool:
    marks = found["end"]
    if not marks.startswith("."):
        return True
    window = text[max(here, found.start() - 60) : found.start() + 1].split()
    token = window[-1].lstrip("([\"'").lower() if window else "."
    following = _NEXT_WORD.match(text, found.end(), end)
    ahead = following[1] if following else ""
    if not token.strip("."):
        # A lone dot is the current folder.
        return False
    if token == "etc." or len(marks.rstrip("\"'”’)]")) > 1 or re.fullmatch(r"[0-9]{1,3}\.", token):
        return not ahead or ahead[:1].isupper()
    if token in _ABBREVIATIONS or re.fullmatch(r"(?:[a-z]\.){2,}", token):
        return not ahead
    return True


def _is_frame(text: str, start: int, end: int) -> bool:
    """Whether these words only announce tasks."""
    if end - start > _FRAME_LIMIT:
        return False
    return _ONLY_FRAME.fullmatch(text, _led(text, start, end), end) is not None


def _led(text: str, start: int, end: int) -> int:
    """Where the words begin behind those that lead in."""
    while True:
        while start < end and text[start] in _EDGE:
            start += 1
        found = _LEAD.match(text, start, end)
        if found is None:
            return start
        start = found.end()


def _stripped(text: str, part: Part) -> Part | None:
    """The part without lead-in words, white space and closing marks; None if no word is left.

    A dot that is part of the last word (`src/.`, `..`, `e.g.`) stays.
    """
    start, end = part.start, part.end
    if not part.whole:
        start = _led(text, start, end)
    polite = _POLITE.search(text, part.start, start) is not None
    while end > start and text[end - 1] in _EDGE:
        end -= 1
    if end > start and text[end - 1] in ".!" and text[end - 2 : end - 1] not in (" ", ".", "/"):
        end -= 1
    if not any(sign.isalnum() or sign == PLACE for sign in text[start:end]):
        return None
    return replace(part, start=start, end=end, polite=polite)
