"""A request split into parts: bullets, numbered lines, sentences, and words such as "then" between them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from planloom.planning.literals import PLACE, Masked
from planloom.planning.wording import VERBS

_VERB = "|".join(sorted((re.escape(verb).replace(r"\ ", r"\s+") for verb in VERBS), reverse=True))
_VERB_AHEAD = rf"(?=(?:also\s+|please\s+|finally\s+|then\s+)*(?:{_VERB})(?:\s|$))"

LEAD = re.compile(
    r"(?:(?:and|but|so)\s+)?(?:"
    r"(?:please|kindly|now|also|finally|lastly|then|afterwards?|after\s+that|thereafter)\b[,:]?\s*"
    rf"|(?:next|first(?:ly|\s+of\s+all)?|second(?:ly)?|third(?:ly)?|last)\b(?:[,:]\s*|\s+{_VERB_AHEAD})"
    rf"|and\s+{_VERB_AHEAD}"
    r"|(?:hi|hello|hey|howdy)\b(?:\s+there\b)?[,!.:]?\s+"
    r"|(?:can|could|would|will)\s+you\s+(?:please\s+|kindly\s+)?(?!explain\b)"
    r"|i(?:\s+would|['’]d)\s+like\s+(?:you\s+)?to\s+|i\s+(?:want|need)\s+(?:you\s+)?to\s+|you\s+(?:should|must|need\s+to)\s+"
    r"|we\s+(?:should|must|need\s+to)\s+|let['’]?s\s+|let\s+us\s+)",
    re.IGNORECASE,
)
"""Words in front of a part that say nothing of the work itself; matched again until none is left."""

_POLITE = re.compile(r"(?:can|could|would|will)\s+you\b", re.IGNORECASE)
_MARK = re.compile(
    r"[ \t]*(?:>[ \t]*)?(?:(?P<bullet>[-*+•‣▪◦○●·–—])|\(?(?:step[ \t]+)?(?P<number>[0-9]{1,4})[.):]\)?)"
    r"(?:[ \t]+(?:\[[ xX]?\][ \t]*)?|$)",
    re.IGNORECASE,
)
_HEADING = re.compile(r"[ \t]*#{1,6}[ \t]")
_INLINE_NUMBER = re.compile(r"(?<!\S)\(?(?P<number>[0-9]{1,3})[.)](?=\s)")

_BOUNDARY = re.compile(
    r"(?P<end>(?<![.!?])[.!?]++[\"'”’)\]]*+)(?=\s|$)"
    r"|(?P<semicolon>;)(?=\s)"
    r"|(?P<then>(?:,|;)?\s+(?:and\s+)?(?:then|after\s+that|afterwards)\b,?)(?=\s)"
    rf"|(?P<next>(?:,|;)\s+(?:and\s+)?next\b,?|\s+(?:and\s+)?next\b,|\s+(?:and\s+)?next\b(?=\s+(?:{_VERB})\s))(?=\s)"
    rf"|(?P<verb>,\s*(?:and\s+|but\s+|also\s+|plus\s+)?|\s+(?:and|also)\s+|[ \t]*\n\s*){_VERB_AHEAD}",
    re.IGNORECASE,
)
_ABBREVIATED = "eg. ie. etc. approx. no. nr. fig. dr. mr. mrs. ms. st. resp. incl. ca. al. sec. ch. p. pp."
_ABBREVIATIONS = frozenset(_ABBREVIATED.split())
_CONDITION = re.compile(r"\W*(?:if|when|once|unless|whenever|in\s+case)\b", re.IGNORECASE)
_DEPENDENT = re.compile(
    r"\W*(?:if|when|once|unless|whenever|in|inside|within|under|for|using|with|without|after|before|while|to|from"
    r"|by|on|at|via|based|given|as|since|because|where|until)\b",
    re.IGNORECASE,
)
_WORD_BEFORE = re.compile(rf"(?<!\S)([^\W\d_]+)[^\w{PLACE}]*$")
_NOT_BEFORE_THEN = frozenset({"until", "since", "by", "back", "even", "just", "and", "or", "but", "than"})
_COURTESY = re.compile(
    r"(?:(?:many\s+)?thanks|thank\s+you|thx|cheers)(?:\s+(?:so\s+much|very\s+much|a\s+lot|in\s+advance))?"
    r"|(?:hi|hello|hey|howdy|good\s+(?:morning|afternoon|evening|day))(?:\s+there)?",
    re.IGNORECASE,
)
"""A sentence that asks for nothing."""
_EDGE = " \t\n,;"
_SOMETHING = re.compile(r"\S")
_INTRODUCTION = 200
"""Characters that words before a comma may have and still only introduce what follows."""

_NEXT_WORD = re.compile(r"\s*([^\s]+)")
_UMBRELLA = re.compile(
    r"\b(?:following|below|these|steps|tasks|to-?dos?|things|plan)\b[^.!?]*$", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of a masked text; `polite` tells that "can you" or the like stood in front of it."""

    start: int
    end: int
    polite: bool = False


@dataclass(slots=True)
class _Block:
    """Lines that belong together: a paragraph, or one item of a list with what is indented under it."""

    start: int
    end: int
    indent: int = 0
    item: bool = False
    heading: bool = False


def parts(masked: Masked) -> tuple[Span, ...]:
    """The parts of a request in the text's order, without marks, lead-in words and closing full stops.

    A headline, and a sentence that only announces the list below it, are no parts.
    """
    blocks = _blocks(masked.text)
    found: list[Span] = []
    for index, block in enumerate(blocks):
        announces = index + 1 < len(blocks) and blocks[index + 1].item
        if block.heading and len(blocks) > 1:
            continue
        pieces = [
            span
            for piece in _inline_items(masked.text, block)
            for span in _sentences(masked.text, piece.start, piece.end)
        ]
        if pieces and announces and _only_announces(masked.text, pieces[-1], block, blocks[index + 1]):
            pieces.pop()
        found += pieces
    spans = tuple(span for raw in found if (span := stripped(masked.text, raw)) is not None)
    asking = tuple(span for span in spans if not _COURTESY.fullmatch(masked.text, span.start, span.end))
    return asking or spans


def _only_announces(text: str, last: Span, block: _Block, below: _Block) -> bool:
    said = text[last.start : last.end].rstrip()
    if block.item and below.indent <= block.indent:
        return False
    return said.endswith(":") or (not block.item and _UMBRELLA.search(said[-200:]) is not None)


def _blocks(text: str) -> list[_Block]:
    """The lines of a text gathered into paragraphs and list items."""
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
        mark = _MARK.match(line)
        if bare == PLACE and current is not None:
            current.end = end
        elif _HEADING.match(line):
            current = _Block(start, end, heading=True)
            blocks.append(current)
            current = None
        elif mark is not None and not _belongs(text, current, line, mark, indent):
            current = _Block(start + mark.end(), end, indent=indent, item=True)
            blocks.append(current)
        elif current is not None and (not after_blank or (current.item and indent > current.indent)):
            current.end = end
        else:
            current = _Block(start, end, indent=indent)
            blocks.append(current)
        after_blank = False
    return blocks


def _belongs(text: str, current: _Block | None, line: str, mark: re.Match[str], indent: int) -> bool:
    """Whether a marked line only details the item above: indented deeper, and no task of its own."""
    if current is None or not current.item or indent <= current.indent:
        return False
    if text[current.end - 1] == ":":
        return False
    return re.match(rf"(?:{_VERB})\s", line[mark.end() :], re.IGNORECASE) is None


def _inline_items(text: str, block: _Block) -> Iterator[Span]:
    """The numbered items inside one block (`1. … 2. …`, rising by one from 1), or the block as a whole."""
    marks: list[re.Match[str]] = []
    for found in _INLINE_NUMBER.finditer(text, block.start, block.end):
        if int(found["number"]) == len(marks) + 1:
            marks.append(found)
    if len(marks) < 2:
        yield Span(block.start, block.end)
        return
    edges = [block.start, *(mark.start() for mark in marks), block.end]
    starts = [block.start, *(mark.end() for mark in marks)]
    for place, start in enumerate(starts):
        piece = text[start : edges[place + 1]].rstrip()
        if not piece.strip() or (place == 0 and (piece.endswith(":") or _UMBRELLA.search(piece[-200:]))):
            continue
        if place == 0 and piece.strip().lower() in (
            "do",
            "please",
            "please do",
            "you should",
            "i want you to",
        ):
            continue
        yield Span(start, edges[place + 1])


def _sentences(text: str, start: int, end: int) -> Iterator[Span]:
    """The parts between the boundaries of one block."""
    here = start
    for found in _BOUNDARY.finditer(text, start, end):
        if found.start() < here or not _divides(text, here, found, end):
            continue
        cut = found.end() if found["end"] else found.start()
        yield Span(here, cut)
        here = found.end()
    if here < end:
        yield Span(here, end)


def _divides(text: str, here: int, found: re.Match[str], end: int) -> bool:
    """Whether a boundary mark really parts two pieces of work."""
    if found["end"]:
        return _ends_sentence(text, here, found, end)
    if _SOMETHING.search(text, here, found.start()) is None:
        return not found["semicolon"]
    if found["semicolon"]:
        return True
    if _SOMETHING.search(text, found.end(), end) is None:
        return False
    before = text[max(here, found.start() - 40) : found.start()]
    word = _WORD_BEFORE.search(before)
    last = word[1].lower() if word else ""
    if found["then"]:
        return last not in _NOT_BEFORE_THEN and _CONDITION.match(text, here, found.start()) is None
    if found["next"]:
        return found["next"][0] in ",;" or last not in ("the", "a", "this", "that", "your", "our")
    # "read and write access", "design and implement": a verb right before is no task by itself.
    if last in VERBS or (last == "up" and before.lower().rstrip().endswith("set up")):
        return False
    if found.start() - here <= _INTRODUCTION and _introduces(text[here : found.start()]):
        return False
    return not _noun_ahead(text[found.end() : min(end, found.end() + 60)])


def _introduces(before: str) -> bool:
    """Whether the words so far only introduce what follows: "Hi, …", "In a.py, …", "If it exists, …"."""
    bare = _without_lead(before + " ")
    if not bare.strip(_EDGE):
        return True
    if _DEPENDENT.match(bare) is None:
        return False
    return "," not in bare.strip().rstrip(",") or _CONDITION.match(bare) is not None


def _noun_ahead(ahead: str) -> bool:
    """Whether the verb ahead is a noun here: "and list of …", "and run time"."""
    return (
        re.match(r"(?:also\s+)?(?:list\s+of|run\s+time|change\s+log|make\s+file|copy\s+of)\b", ahead, re.I)
        is not None
    )


def _ends_sentence(text: str, here: int, found: re.Match[str], end: int) -> bool:
    marks = found["end"]
    if not marks.startswith("."):
        return True
    window = text[max(here, found.start() - 60) : found.start() + 1]
    token = window[len(window.rstrip().rpartition(" ")[0]) :].split()[-1].lstrip("([\"'").lower()
    if token == "." or set(token) == {"."}:
        # A lone dot is the current folder.
        return False
    following = _NEXT_WORD.match(text, found.end(), end)
    ahead = following[1] if following else ""
    begins_task = ahead[:1].isupper() and ahead.lower().rstrip(",") in VERBS
    if token in ("e.g.", "i.e.", "eg.", "ie.", "vs.", "cf."):
        return False
    if token in _ABBREVIATIONS:
        return not ahead or (begins_task if token != "etc." else ahead[:1].isupper())
    if re.fullmatch(r"[0-9]{1,3}\.", token) and not ahead[:1].isupper():
        return not ahead
    if re.fullmatch(r"[a-z]\.", token) and text[found.start() - 1 : found.start()].isupper():
        return not ahead or begins_task or not ahead[:1].isupper()
    if len(marks) > 1 and marks.startswith(".."):
        return ahead[:1].isupper() or not ahead
    return True


def _without_lead(text: str) -> str:
    at = len(text) - len(text.lstrip())
    while (found := LEAD.match(text, at)) is not None and found.end() > at:
        at = found.end()
    return text[at:]


def stripped(text: str, span: Span) -> Span | None:
    """The span without lead-in words, white space and closing marks; None if no word is left.

    A dot that is part of the last word (`src/.`, `..`, `e.g.`) stays.
    """
    start, end = span.start, span.end
    while start < end and text[start] in _EDGE:
        start += 1
    polite = False
    while (found := LEAD.match(text, start, end)) is not None and found.end() > start:
        polite = polite or _POLITE.match(text, start) is not None
        start = found.end()
    while start < end and text[start] in _EDGE:
        start += 1
    while end > start and text[end - 1] in _EDGE:
        end -= 1
    if end > start and text[end - 1] in ".!" and text[end - 2 : end - 1] not in (" ", ".", "/"):
        end -= 1
    words = text[start:end]
    if not any(sign.isalnum() or sign == PLACE for sign in words):
        return None
    return Span(start, end, polite)
