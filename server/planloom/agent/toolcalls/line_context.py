"""The context of a position in a text: cues, quotations, inline code, and JSON that is not a call.

See docs/model-text.md, T5 and T14.
"""

from __future__ import annotations

import re
from functools import cache

from planloom.domain.model_text.cursor import Cursor

_CUE = re.compile(
    r"(?<![\w/.@\\-])(?:examples?|e\.g\.|for instance|samples?|syntax|formats?|schemas?|usage|looks? like|would|could|"
    r"you can|docs?|documentation|documented|previously|earlier|instead of|do not|don['’]t|never|as follows)"
    r"(?![\w]|[/\\_-]\w|\.\w)",
    re.IGNORECASE,
)
_END = (
    r"(?: ?(?:this|the following|so))?(?: ?(?:line|text|call|words|instruction))?"
    r"(?: (?:in|on|at) \S{1,200})?[^\w`.!?]*\Z"
)
_FOUND = re.compile(
    r"(?<![\w/.@\\-])(?:used like|is written|(?:found|saw|there is|there was) (?:this|the following)|"
    rf"(?:has|saw|there is|there was) the (?=line|text|call)){_END}",
    re.IGNORECASE,
)
_SAYS = re.compile(
    r"(?<![\w/.@\\-])(?:says?|said|reads|contains?|contained|holds|shows|claims|quotes?|quoted|states?|looks like)"
    rf"{_END}",
    re.IGNORECASE,
)
"""Words at the end of a line after which the text of somebody else stands."""
_INTENT = re.compile(
    r"\b(?:I|let me|let['’]s|we|need|should|must|want|now|next|first|what|whether|how|if)\b", re.IGNORECASE
)
"""Words with which a model goes on with its own work, as in `Let me see what it contains:`."""
_SUSPECTED = re.compile(
    r"\b(?:suspicious|malicious|prompt injection|injected (?:call|instructions?|text|prompt)|"
    r"(?:will not|won['’]t|shall not) (?:follow|run|do|execute|call|obey|make))\b",
    re.IGNORECASE,
)
_LONGEST_REPORT = 400
_JOINING = re.compile(r"\W*(?:or|and|then|and then|or:)\W*", re.IGNORECASE)
_KEPT = 2_000
_LONGEST_UNREAD = 10_000
_BLANK_LINE = re.compile(r"\n[ \t\r]*(?=\n)")
_DEEPEST = 100
_BRACKETS = re.compile(r'\\.|["{}\[\]]|\n[ \t\r]*(?=\n)', re.DOTALL)


class LineContext:
    """The current line, and the last line before it that was not blank."""

    def __init__(self) -> None:
        self._line = ""
        self._last = ""
        # Most text is never asked about, so it is processed in one piece: when it is asked about or has grown long.
        self._new: list[str] = []
        self._size = 0

    def add(self, text: str) -> None:
        """Add text that is shown, line ends included."""
        self._new.append(text)
        self._size += len(text)
        if self._size > _LONGEST_UNREAD:
            self._catch_up()

    def _catch_up(self) -> None:
        text = "".join(self._new)
        self._new.clear()
        self._size = 0
        head, newline, tail = text.rpartition("\n")
        if newline:
            self._end_lines(head)
            self._line = ""
        self._line = (self._line + tail)[-_KEPT:]

    def _end_lines(self, text: str) -> None:
        """End the current line with the first line of `text`. Keeps the last line that is not blank or a mere "or"."""
        while True:
            text = text.rstrip()
            before, newline, line = text.rpartition("\n")
            if not newline:
                line = (self._line + line)[-_KEPT:]
            if line.strip() and not (len(line) < 20 and _JOINING.fullmatch(line)):
                self._last = line[-_KEPT:]
                return
            if not newline:
                return
            text = before

    def set_last(self, line: str) -> None:
        """Replace the line before the current one."""
        self._catch_up()
        self._last = line

    def blank(self) -> bool:
        """Whether the current line is empty or white space so far."""
        self._catch_up()
        return not self._line.strip()

    def cued(self) -> bool:
        """Whether the words before announce an example or a description (T5)."""
        return _CUE.search(self._words()) is not None or self.reported()

    def reported(self) -> bool:
        """Whether the words before announce the text of somebody else, such as what a file says (T5)."""
        words = self._words()[-_LONGEST_REPORT:]
        if _FOUND.search(words) is not None or _SUSPECTED.search(words) is not None:
            return True
        return _SAYS.search(words) is not None and _INTENT.search(words) is None

    def _words(self) -> str:
        self._catch_up()
        return self._last if self.blank() else self._line

    def clear(self) -> None:
        self._line = self._last = ""
        self._new.clear()
        self._size = 0


class JsonSkipper:
    """Follows JSON that is not a call to its end, so that nothing inside it is read as a call (T14)."""

    def __init__(self) -> None:
        self.in_string = False
        self.open = True
        self._depth = 0
        self._tail = ""

    @property
    def deep(self) -> bool:
        """Whether the brackets are too deep to be JSON: then only a blank line ends them."""
        return self._depth > _DEEPEST

    def add(self, text: str) -> None:
        """Follow the next piece of text; sets `open` to false when the JSON or its paragraph ends."""
        text = self._tail + text
        self._tail = ""
        end = 0
        signs = _BLANK_LINE if self.deep else _BRACKETS
        for sign in signs.finditer(text):
            mark, end = sign[0], sign.end()
            if mark[0] == "\n":
                self.open = False
            elif mark == '"':
                self.in_string = not self.in_string
            elif not self.in_string and mark in ("{", "["):
                self._depth += 1
            elif not self.in_string and mark in ("}", "]"):
                self._depth -= 1
                self.open = self._depth > 0
            if not self.open:
                return
            if signs is _BRACKETS and self.deep:
                self.add(text[end:])
                return
        rest = text[end:]
        # An escape or a blank line may be split between two pieces.
        kept = len(rest) - len(rest.rstrip(" \t\r"))
        if rest.rstrip(" \t\r").endswith(("\\", "\n")):
            self._tail = rest[-(kept + 1) :]


class InlineCode:
    """The inline code of a line. Its content is text if the line also has the closing backticks."""

    def __init__(self) -> None:
        self.ticks = 0
        self._until = 0

    def toggle(self, run: int) -> None:
        """Process a run of backticks, which opens inline code, closes it, or belongs to it."""
        if self.ticks in (0, run):
            self.ticks = run - self.ticks

    def end(self) -> None:
        self.ticks = 0

    def holds(self, after: Cursor, base: int) -> bool:
        """Whether the token before the cursor `after` is inline code. `base` is the offset of the cursor's text."""
        if not self.ticks:
            return False
        if base + after.at <= self._until:
            return True
        found = _closing_run(self.ticks).search(after.text, after.at)
        if found is None or found.end() == len(after.text):
            after.require_final()
        if found is None or found[0] == "\n":
            self.ticks = 0
            return False
        self._until = base + found.start()
        return True


@cache
def _closing_run(ticks: int) -> re.Pattern[str]:
    """Matches the run that closes inline code opened by this many backticks, or the end of the line."""
    return re.compile(rf"(?<!`)`{{{ticks}}}(?!`)|\n")


def is_quotation(cursor: Cursor, sign: str) -> bool:
    """Whether the line at the cursor, which begins with `sign`, belongs to a block quote or a diff (T5)."""
    if sign == "@":
        return cursor.looking_at("@@ ")
    if sign == "-":
        return cursor.ahead(cursor.at + 1).peek() not in (" ", "\t", "\n", "")
    if sign == ">" and cursor.looking_at(">>>"):
        after = cursor.ahead(cursor.at + 3).peek()
        return not (after.isalpha() or after == "_")
    return True
