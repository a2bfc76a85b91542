"""A position in a text that is still streamed: at its end a reader asks for more text instead of guessing."""

from __future__ import annotations

import re

_SPACE = re.compile(r"[\s\u200b\ufeff]*")
_BLANKS = re.compile(r"[ \t]*")
_LONGEST_COMMENT = 2_000


class NeedMoreText(Exception):
    """The answer depends on text that has not come yet."""


class ParseError(Exception):
    """The text cannot be read from here; `cut` if the only reason is that it ends."""

    def __init__(self, problem: str, *, cut: bool = False) -> None:
        super().__init__(problem)
        self.problem = problem
        self.cut = cut


class Cursor:
    """A text and a position in it. Unless `final`, a read that reaches the end of the text raises NeedMoreText, so
    that a part of a text is read as it would be in the whole text.

    `repaired` is set by readers that have added a closing bracket.
    """

    __slots__ = ("at", "final", "repaired", "text")

    def __init__(self, text: str, at: int = 0, *, final: bool) -> None:
        self.text = text
        self.at = at
        self.final = final
        self.repaired = False

    def ahead(self, at: int | None = None) -> Cursor:
        """Another cursor on the same text, to look ahead without moving this one."""
        return Cursor(self.text, self.at if at is None else at, final=self.final)

    def require_final(self) -> None:
        """Raise NeedMoreText unless the text is complete."""
        if not self.final:
            raise NeedMoreText

    def peek(self) -> str:
        """The next character, empty at the end."""
        if self.at < len(self.text):
            return self.text[self.at]
        self.require_final()
        return ""

    def at_end(self) -> bool:
        return self.peek() == ""

    def looking_at(self, literal: str) -> bool:
        """Whether the literal comes next."""
        if self.text.startswith(literal, self.at):
            return True
        if (
            not self.final
            and len(self.text) - self.at < len(literal)
            and literal.startswith(self.text[self.at :])
        ):
            raise NeedMoreText
        return False

    def accept(self, literal: str) -> bool:
        """Skip the literal if it comes next. Returns whether it did."""
        if not self.looking_at(literal):
            return False
        self.at += len(literal)
        return True

    def match(self, pattern: re.Pattern[str], slack: int = 0) -> re.Match[str] | None:
        """Skip and return a match of the pattern; text within `slack` characters after it could still extend it."""
        found = pattern.match(self.text, self.at)
        if found is None:
            if len(self.text) - self.at <= 1:
                self.require_final()
            return None
        if found.end() + slack >= len(self.text):
            self.require_final()
        self.at = found.end()
        return found

    def skip_space(self) -> None:
        self.match(_SPACE)

    def skip_blanks(self) -> None:
        """Skip spaces and tabs."""
        self.match(_BLANKS)

    def skip_space_and_comments(self) -> None:
        """Skip white space and comments. Raises ParseError at an unclosed comment."""
        while True:
            self.skip_space()
            sign = self.peek()
            if sign == "#" or (sign == "/" and self.looking_at("//")):
                self.at = self.find("\n", _LONGEST_COMMENT)
            elif sign == "/" and self.looking_at("/*"):
                self.at = self.find("*/", _LONGEST_COMMENT) + 2
            else:
                return

    def find(self, literal: str, within: int) -> int:
        """The offset of the next `literal`. Raises ParseError if none begins within `within` characters."""
        found = self.text.find(literal, self.at, self.at + within)
        if found >= 0:
            return found
        cut = len(self.text) - self.at < within
        if cut:
            self.require_final()
        raise ParseError(f"{literal!r} is missing", cut=cut)
