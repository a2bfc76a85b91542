"""Divides a request into sentences and list items, and finds those that may not be instructions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from planloom.domain.patterns import pattern
from planloom.intake.routing.words import any_of
from planloom.planning.rules.literals import PLACEHOLDER, Masked
from planloom.planning.rules.translations import translations
from planloom.planning.wording import COMMAND_START, CONNECTING, KNOWN_VERBS, VERBS


def _spaced(words: str) -> re.Pattern[str]:
    """A pattern of words in which a space matches any white space."""
    return pattern(words.replace(" ", r"\s+"), re.IGNORECASE)


_ANY_KNOWN = any_of(tuple(sorted(KNOWN_VERBS)))
_KNOWN = rf"(?:{_ANY_KNOWN})(?!\S)"
_VERB = rf"(?:{any_of(tuple(sorted(VERBS)))})(?=\s)(?! of\b)"
_TASKS = r"(?:(?:following|next) )?(?:steps?|tasks?|task list|to-?\s?dos?(?: list)?|plan)"
_ORDERS = (
    r"(?:(?:do|execute|perform|complete|carry out|follow|apply|work through) (?:all (?:of )?)?"
    rf"(?:this|these|(?:(?:the|this|these|my|our) )?(?:following|{_TASKS}))"
    rf"(?: (?:things|changes|edits|actions|{_TASKS}))?"
    r"|make (?:these|the following) (?:changes|edits))"
)
_IN_ORDER = (
    r"(?: (?:below|in (?:this |that |the given )?order|for me|(?:one|step) by (?:one|step)|now|please))*"
)
_LEAD = (
    rf"(?:[\s,;]*+(?:(?:first of all|{CONNECTING}|kindly|now|so)\b(?:[,:]\s*| )"
    r"|(?:hi|hello|hey|howdy)\b(?: there\b)?[,!.:]? |(?:can|could|would|will) you (?!explain\b)"
    r"|i(?: would|['’]d) like (?:you )?to |i (?:want|need) (?:you )?to |let['’]?s |let us "
    rf"|{_ORDERS}{_IN_ORDER}: ))*+[\s,;]*+"
)
_LEADING = _spaced(_LEAD)
"""Words before a task that do not describe it."""
_SECTION = (
    r"(?:set-?\s?up|install(?:ation)?|preparation|clean-?\s?up|scaffold(?:ing)?|structure|layout|skeleton|files|folders"
    r"|directories|back-?end|front-?end|server|client|api|database|docs|documentation|tests|testing|config(?:uration)?"
    r"|deployment|build|refactoring|assets|(?:phase|step|stage|part|milestone|day) [0-9]{1,3})"
)
_TASK_HEADING = _spaced(
    rf"[*_\s]*(?:(?:(?:(?:the|my|our) )?{_TASKS}|{_ORDERS}){_IN_ORDER}|do|(?:can|could|would|will) you"
    rf"|i (?:want|need) you to|you should|(?:(?:the|my|our) )?(?:(?:project|initial) )?{_SECTION}(?: {_TASKS})?"
    rf"|(?:(?:here is|here['’]s|this is) )?what i (?:need|want)(?: you to do| done)?|i need(?: the following)?"
    rf"|(?:here is|here['’]s|here are) (?:(?:the|my|our) )?{_TASKS})?[*_:.\s]*",
)
"""The headings, after lead-in words, under which tasks are instructions: a closed list."""
_ORDER_HEADING = _spaced(
    rf"(?P<verb>create|add|make|delete|remove) (?:(?:all (?:of )?)?(?:the following|these)) (?:(?:new|empty) )*"
    rf"(?:(?P<files>files?)|folders?|directories|directory){_IN_ORDER}[*_:.\s]*"
)
"""A heading whose verb and noun each item below it continues: "Create the following files:"."""
_FRAMING = _spaced(
    r"\b(?:old|bad|wrong|reject\w*|declined|done|finished|completed|failed|fixed|deleted|removed|later|tomorrow|yesterday"
    r"|history|releases?|ideas?|maybe|optional|only|avoid|stop|skip|cancel\w*|was|were|did|ran|wrote|has|had|have|already"
    r"|forbidden|dangerous|from|by|i|he|she|they|we|translate)\b"
)
"""Words of a heading that may take back or quote what is below it, besides those that govern a sentence."""
_NAME_OF_PART = pattern(r"[*_\s]*(?:[A-Za-z][\w-]*(?:\s+|(?=[*_:\s]*$))){1,5}[*_:\s]*")
"""A heading that may be the title of a part of the work."""
_LONGEST_HEADING = 200
_MOST_TASKS = 100
_MOST_PARTS = 2_000
"""The most tasks of a sentence, and parts of a request. A text with more of them is not a list of tasks."""
_POLITE = _spaced(r"(?:can|could|would|will) you\b")
_LINE = pattern(
    r"^(?P<indent>[ \t]*)(?=\S)(?:(?P<quoted>>)|(?P<lead>(?P<heading>#{1,6}[ \t]+)|(?P<mark>"
    r"(?:(?P<bullet>[-*+•‣▪◦○●·–—])|\(?(?:step[ \t]+)?(?P<number>[0-9]{1,4})[.):]\)?|\(?[a-z]\)|(?=\[[ xX]?\][ \t]))"
    r"(?:[ \t]*(?:\[(?P<tick>[ xX]?)\]|(?P<done>[✅☑✔✓~](?:\ufe0f|(?<=~)~)?))[ \t]*|[ \t]+|$))))?.*",
    re.IGNORECASE | re.MULTILINE,
)
_INLINE_NUMBER = pattern(r"(?<=\S)[ \t]+\(?(?P<number>[0-9]{1,3})[.)](?=\s)")
_BEFORE_NUMBER = pattern(r"(?:[\s,;]|\s(?:and|then)(?=[\s,;]*$))*$")
_JOINING = CONNECTING.replace(" ", r"\s+")
_SENTENCE_END = r"(?P<end>(?<![.!?])[.!?]++[\"'”’)\]]*+)(?=\s|$)"
_IN_A_LINE = pattern(_SENTENCE_END)
_BOUNDARY = pattern(
    rf"{_SENTENCE_END}|[ \t]*\n\s*(?=(?:{_JOINING},?\s+)*(?:{_KNOWN}|{COMMAND_START}))",
    re.IGNORECASE,
)
_ABBREVIATION = pattern(
    r"(?:eg|ie|etc|vs|cf|approx|no|nr|fig|dr|mr|mrs|ms|st|resp|incl|ca|al|sec|ch|p|pp)\.|(?:[a-z]\.){2,}"
)
_THANKS = "(?:(?:many )?thanks|thank you|thx|cheers)(?: (?:so much|very much|a lot|in advance))?"
_COURTESY = _spaced(
    rf"{_THANKS}|(?:that is|that['’]s) (?:all|it)(?: for (?:now|today))?(?:,? {_THANKS})?|nothing else"
    r"|(?:hi|hello|hey|howdy|good (?:morning|afternoon|evening|day))(?: there)?"
)
"""A sentence that asks for nothing."""
_FOLLOWING = pattern(r"\S")
_NEW_SENTENCE = _spaced(rf"(?-i:[A-ZÀ-Þ])|(?:{_KNOWN})")
_CONTINUES = _spaced(rf"with (?:the )?(?:content|text)s?:? {PLACEHOLDER}")
"""A paragraph that goes on with the sentence above it."""
_TAKES_BACK = _spaced(
    r"\s*(?:(?:no|nope|wait|stop)(?:[,.!…]|\s*$)|(?:except|but|only|not|none)\b"
    r"|(?:ignore|scratch|cancel|forget|undo|disregard|skip) (?:the|that|this|all|those|these|it)\b)"
)
"""The beginning of a list item that says what becomes of others."""
_COLON = pattern(r"[:：][*_\s]*$")
_FINISHED = pattern(r"[.!?;。！？][\"'”’)\]*_\s]*$")

_BETWEEN_TASKS = _spaced(
    rf"(?:\s*[,;]| (?:and|also)),? (?:{CONNECTING},? )*(?={_VERB})"
    rf"|\s*[,;]? (?:and )?(?:then|next|after that|afterwards|finally),? (?:{CONNECTING},? )*(?={_KNOWN})"
    rf"|\s*; (?:{CONNECTING},? )*(?={_KNOWN})"
)
_SEPARATING = pattern(r"[,;]|\s(?:and|also|then|next|after\s|afterwards|finally)", re.IGNORECASE)
"""The separators between several tasks."""
_GOVERNING = _spaced(
    r"(?<![\w-])(?<!//)(?:if|when|whenever|once|unless|until|while|because|since|that|which|who|whom|whose|where|how|why|what"
    r"|whether|after|before|not|no|never|none|without|except|instead|cannot|\w+n['’]t"
    r"|contents?|texts?|says?|saying|said|titled|containing|items?|logs?|changelog|notes?|messages?|lists?|steps?|tasks?"
    r"|lines?|instructions?|stor(?:y|ies)|quotes?|e?-?mails?|letters?|tickets?|reports?|output|transcript|example"
    r"|grammar|wording|spelling|tone"
    r"|it|its|them|this|these|those|above|below|following)(?![\w-])|[:：](?=\s|$)"
)
"""Words that may govern what follows, or that refer to a text, but for the host of a URL. After them a sentence is not
split, and a request with such a sentence has no certain calls."""

_TO_A_TASK = _spaced(rf"(?<![\w-])(?<!//)to (?:{_ANY_KNOWN})(?![\w-])")
"""The same: an infinitive."""
_INFINITIVE = _spaced(r"\bto ")


class Part(NamedTuple):
    """A part of a masked text: a sentence, a list item, or a passage that is at most one task.

    `polite`: "can you" or the like came before it. `whole`: an introduction with what it introduces, so nothing in it
    is certain to be an instruction. `introduces`: a line without a full stop above others, which it may introduce.
    `item`: the first sentence of a list item. `list_item`: the range of its list item. `heading`: the range of the
    title that its step repeats, since it may say what becomes of the item; `order`: the words of the title that the
    item continues. `ticked`: it is not to do. `nested`: the item and those below it, each as a part of its own.
    """

    start: int
    end: int
    polite: bool = False
    whole: bool = False
    introduces: bool = False
    item: bool = False
    list_item: tuple[int, int] | None = None
    heading: tuple[int, int] | None = None
    order: str = ""
    ticked: bool = False
    nested: tuple[Part, ...] = ()


@dataclass(slots=True)
class _Block:
    """A paragraph, or one list item with the lines indented under it."""

    start: int
    end: int
    first: re.Match[str]
    nested: list[re.Match[str]]

    @property
    def listed(self) -> bool:
        return self.first["mark"] is not None

    @property
    def heading(self) -> bool:
        return self.first["heading"] is not None


def parts(masked: Masked) -> tuple[Part, ...]:
    """The parts of a request in order, without list marks, lead-in words and final full stops.

    The only words left out are courtesies and the closed list of headings.
    """
    text = masked.text
    blocks = _blocks(text)
    if {"+", "-"} <= {block.first["bullet"] for block in blocks}:
        # It may be a diff, whose signs are not bullets.
        return (Part(blocks[0].start, blocks[-1].end, whole=True),)
    raw = list(islice(_of_blocks(text, blocks), _MOST_PARTS + 1))
    if len(raw) > _MOST_PARTS:
        raw = [Part(0, len(text), whole=True)]
    found = [part for each in raw if (part := _stripped(text, each)) is not None]
    asking = [part for part in found if not _COURTESY.fullmatch(text, part.start, part.end)]
    if asking and all(part.ticked for part in asking):
        return (Part(asking[0].start, asking[-1].end, whole=True),)
    return tuple(part for part in asking if not part.ticked) or tuple(found)


def tasks(text: str, part: Part) -> tuple[Part, ...]:
    """The tasks of a sentence; the sentence itself if they are in doubt."""
    if part.whole or not _begins(text, part, KNOWN_VERBS):
        return (part,)
    if _SEPARATING.search(text, part.start, part.end) is None:
        return (Part(part.start, part.end),)
    governing = _governing(text, part)
    stop = part.end if governing is None else governing
    found: list[Part] = []
    here = part.start
    for cut in _BETWEEN_TASKS.finditer(text, here, part.end):
        before = text[max(here, cut.start() - 20) : cut.start()].lower().split()
        # "Check read and write access": the verb just before is not a task by itself.
        if cut.start() > stop or not {*VERBS, "up"}.isdisjoint(before[-1:]):
            continue
        if len(found) == _MOST_TASKS:
            return (part,)
        found.append(Part(here, cut.start()))
        here = cut.end()
    return (*found, Part(here, part.end))


def is_plain(text: str, part: Part) -> bool:
    """Whether a sentence is certainly a task of its own and does not change the meaning of its neighbours."""
    return (
        not part.whole
        and not part.introduces
        and part.heading is None
        # A list item does not refer to the other items, but sentences with "Explain" or "Translate" may.
        and _begins(text, part, KNOWN_VERBS if part.item else VERBS)
        and _governing(text, part) is None
        and "?" not in text[part.start : part.end + 1]
    )


def _governing(text: str, part: Part) -> int | None:
    """Where the first word stands that may govern what follows it."""
    found = [_GOVERNING.search(text, part.start, part.end)]
    if _INFINITIVE.search(text, part.start, part.end):
        found.append(_TO_A_TASK.search(text, part.start, part.end))
    return min((each.start() for each in found if each is not None), default=None)


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
        found = [Part(block.start, block.end)] if block.heading else list(_of_block(text, block))
        if not found:
            continue
        *above, last = found
        yield from above
        below = blocks[at:]
        if not below or last.whole or last.ticked:
            yield last._replace(whole=last.whole or block.heading)
            continue
        if _is_task_heading(text, last.start, last.end):
            continue
        count = 0
        if block.heading:
            count = next((index for index, each in enumerate(below) if each.heading), len(below))
        elif not below[0].heading and not _FINISHED.search(text, last.start, last.end):
            listed = below[0].listed and not block.listed
            if not listed and not _COLON.search(text, last.start, last.end):
                yield last._replace(introduces=not block.listed)
                continue
            count = next((index for index, each in enumerate(below) if not each.listed), len(below)) or 1
        elif block.listed or last.item:
            yield last
            continue
        if not count:
            yield last._replace(whole=block.heading)
            continue
        headed, at = below[:count], at + count
        order = _order(text, last.start, last.end)
        if not block.listed and all(each.listed for each in headed) and (order or _is_title(text, last)):
            for each in headed:
                for part in _of_block(text, each):
                    yield part._replace(heading=(last.start, last.end), order=order)
        else:
            # A line right below may say what is to become of it all.
            while at < len(blocks) and "\n\n" not in text[blocks[at - 1].end : blocks[at].start]:
                at += 1
            yield Part(last.start, blocks[at - 1].end, whole=True)


def _order(text: str, start: int, end: int) -> str:
    """The verb and noun with which each item below a heading begins; empty if there are none."""
    found = _ORDER_HEADING.fullmatch(text, _after_lead(text, start, end), end)
    return "" if found is None else f"{found['verb'].lower()} {'file' if found['files'] else 'folder'} "


def _is_title(text: str, part: Part) -> bool:
    """Whether a heading only names a part of the work: it neither negates, quotes nor asks for something else."""
    words = text[part.start : part.end].rstrip("*_: \n")
    if _NAME_OF_PART.fullmatch(words) is None or words.split()[0].lower() in KNOWN_VERBS:
        return False
    return not any(
        _GOVERNING.search(each) or _FRAMING.search(each) for each in (words, *translations(words.lower()))
    )


def _blocks(text: str) -> list[_Block]:
    """Groups the lines of a text into headings, paragraphs and list items."""
    blocks: list[_Block] = []
    current: _Block | None = None
    before = 0
    for line in _LINE.finditer(text):
        end = line.start() + len(line[0].rstrip())
        begins = line["lead"] is not None or text.count("\n", before, line.start()) > 1
        before = line.end()
        if current is not None:
            below = len(line["indent"]) > len(current.first["indent"]) + (line["mark"] is not None)
            # A sentence at the margin is no part of the list item above it.
            apart = current.listed and not line["indent"] and _NEW_SENTENCE.match(line[0])
            continues = _CONTINUES.match(line[0]) is not None and not line["lead"]
            if (
                (current.listed and below)
                or (not begins and not apart)
                or continues
                or line[0].strip() == PLACEHOLDER
                or line["quoted"]
            ):
                if line["mark"]:
                    current.nested.append(line)
                current.end = end
                continue
        block = _Block(line.end("lead") if line["lead"] else line.start(), end, line, [])
        blocks.append(block)
        current = None if block.heading else block
    return blocks


def _of_block(text: str, block: _Block) -> Iterator[Part]:
    """The sentences of a block and of the numbered items in it (`1. …, 2. …`, numbered without a gap)."""
    number = int(block.first["number"] or -1) + 1 if block.listed else 1
    marks: list[re.Match[str]] = []
    for mark in _INLINE_NUMBER.finditer(text, block.start, block.end) if number else ():
        if int(mark["number"]) == number + len(marks):
            marks.append(mark)
    if len(marks) < 2 - block.listed:
        marks = []
    ticked = block.listed and ((block.first["tick"] or " ") in "xX" or block.first["done"] is not None)
    nested: tuple[Part, ...] = ()
    if block.listed and block.nested:
        starts = (block.start, *(line.end("lead") for line in block.nested))
        ends = (*(line.start() for line in block.nested), block.end)
        found = (_stripped(text, Part(*span)) for span in zip(starts, ends, strict=True))
        nested = tuple(part for part in found if part is not None)
    for place, start in enumerate((block.start, *(mark.end() for mark in marks))):
        end = block.end
        if place < len(marks):
            end = marks[place].start()
            trailing = _BEFORE_NUMBER.search(text, max(start, end - 40), end)
            end = trailing.start() if trailing else end
        for part in _sentences(text, start, end):
            if marks and place == 0 and not block.listed and part.end >= end:
                if _is_task_heading(text, part.start, part.end):
                    continue
                if _FINISHED.search(text, part.start, part.end) is None:
                    yield Part(part.start, block.end, whole=True)
                    return
            takes_back = _TAKES_BACK.match(text, start, end) is not None
            listed = (block.listed or (bool(marks) and bool(place))) and not takes_back
            yield part._replace(
                whole=part.whole or (block.listed and takes_back),
                item=part.start == start and (block.listed or bool(marks)),
                list_item=(start, end) if listed else None,
                ticked=ticked,
                nested=nested if part.start == block.start else (),
            )


def _sentences(text: str, start: int, end: int) -> Iterator[Part]:
    """The sentences between two positions. A line that ends with a colon introduces everything after it."""
    here = start
    boundary = _BOUNDARY if text.find("\n", start, end) >= 0 else _IN_A_LINE
    for found in boundary.finditer(text, start, end):
        if found.start() < here or (found["end"] and not _ends_sentence(text, here, found, end)):
            continue
        if not found["end"] and _COLON.search(text, here, found.start()):
            if not _is_task_heading(text, here, found.start()):
                yield Part(here, end, whole=True)
                return
        elif text[here : found.end()].strip():
            finished = bool(found["end"]) or _FINISHED.search(text, here, found.start()) is not None
            yield Part(here, found.end() if found["end"] else found.start(), introduces=not finished)
        here = found.end()
    if text[here:end].strip():
        yield Part(here, end)


def _ends_sentence(text: str, here: int, found: re.Match[str], end: int) -> bool:
    marks = found["end"]
    if not marks.startswith("."):
        return True
    word = text[max(here, found.start() - 60) : found.start() + 1].rsplit(maxsplit=1)[-1]
    token = word.lstrip("([\"'").lower()
    following = _FOLLOWING.search(text, found.end(), end)
    ahead = following[0] if following else ""
    if not token.strip("."):
        # A lone dot is the current folder.
        return False
    if token == "etc." or len(marks.rstrip("\"'”’)]")) > 1 or re.fullmatch(r"[0-9]{1,3}\.", token):
        return not ahead or ahead.isupper()
    return not ahead or _ABBREVIATION.fullmatch(token) is None


def _is_task_heading(text: str, start: int, end: int) -> bool:
    """Whether the words are one of the headings that only announce tasks."""
    if end - start > _LONGEST_HEADING:
        return False
    return _TASK_HEADING.fullmatch(text, _after_lead(text, start, end), end) is not None


def _after_lead(text: str, start: int, end: int) -> int:
    lead = _LEADING.match(text, start, end)
    return start if lead is None else lead.end()


def _stripped(text: str, part: Part) -> Part | None:
    """The part without lead-in words, white space and final punctuation; None if no word is left.

    A dot that is part of the last word (`src/.`, `..`, `e.g.`) stays.
    """
    start = part.start if part.whole else _after_lead(text, part.start, part.end)
    words = text[start : part.end].rstrip(" \t\n,;")
    if words.endswith((".", "!")) and words[-2:-1] not in (" ", ".", "/"):
        words = words[:-1]
    if re.search(rf"[^\W_]|{PLACEHOLDER}", words) is None:
        return None
    polite = _POLITE.search(text, part.start, start) is not None
    return part._replace(start=start, end=start + len(words), polite=polite)
