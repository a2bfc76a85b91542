"""What stands around a place in a text: its line, the line before with its cues (T5), brackets that are open."""

from __future__ import annotations

import re

_CUE = re.compile(
    r"(?<![\w/.@\\-])(?:examples?|e\.g\.|for instance|samples?|syntax|formats?|schemas?|usage|looks? like|would|could|"
    r"you can|docs?|documentation|documented|previously|earlier|instead of|do not|don['’]t|never|as follows)"
    r"(?![\w]|[/\\_-]\w|\.\w)",
    re.IGNORECASE,
)
_JOINING = re.compile(r"\W*(?:or|and|then|and then|or:)\W*", re.IGNORECASE)
_KEPT = 2_000
_LOOKED_AT = 10_000
_BLANK_LINE = re.compile(r"\n[ \t\r]*(?=\n)")
_DEEPEST = 100
_BRACKETS = re.compile(r'\\.|["{}\[\]]|\n[ \t\r]*(?=\n)', re.DOTALL)


class Lines:
    """The line being written and the last one before it that was not blank."""

    def __init__(self) -> None:
        self._line = ""
        self._last = ""
        # Most text is never asked about: it is looked at in one piece when it is, or when it has grown long.
        self._new: list[str] = []
        self._size = 0

    def add(self, text: str) -> None:
        """Take text that is shown, line ends included."""
        self._new.append(text)
        self._size += len(text)
        if self._size > _LOOKED_AT:
            self._look()

    def _look(self) -> None:
        text = "".join(self._new)
        self._new.clear()
        self._size = 0
        head, newline, tail = text.rpartition("\n")
        if newline:
            self._ended(head)
            self._line = ""
        self._line = (self._line + tail)[-_KEPT:]

    def _ended(self, text: str) -> None:
        """Keep the last line that says something, out of the end of this line and whole lines after it."""
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
        """Put a line before the one being written that holds no cue of its own."""
        self._look()
        self._last = line

    def blank(self) -> bool:
        """Whether nothing but white space stands on this line yet."""
        self._look()
        return not self._line.strip()

    def cued(self) -> bool:
        """Whether what comes next is announced as something that only shows a call."""
        self._look()
        return _CUE.search(self._last if self.blank() else self._line) is not None

    def clear(self) -> None:
        self._line = self._last = ""
        self._new.clear()
        self._size = 0


class Brackets:
    """Follows JSON that is no call to its end, so that nothing inside of it is taken for one (T14)."""

    def __init__(self) -> None:
        self.in_string = False
        self.open = True
        self._depth = 0
        self._tail = ""

    @property
    def deep(self) -> bool:
        """Whether only a blank line can end this: it is too deep to be JSON."""
        return self._depth > _DEEPEST

    def add(self, text: str) -> None:
        """Take the text that is shown; `open` turns false where the JSON, or its paragraph, ends."""
        text = self._tail + text
        self._tail = ""
        end = 0
        # JSON this deep is none: only the end of its paragraph is looked for.
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
