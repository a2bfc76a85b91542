"""A place in a text that may still grow: reading past its end waits for more instead of guessing."""

from __future__ import annotations

import re

from planloom.agent.toolcalls.tokens import LONGEST, PREFIXES, TOKEN, Kind, kind_of

_SPACE = re.compile(r"[\s\u200b\ufeff]*")
_INLINE_SPACE = re.compile(r"[ \t]*")
_LINE_COMMENT = 500
_BLOCK_COMMENT = 2_000


class More(Exception):
    """The answer depends on text that has not come yet."""


class Broken(Exception):
    """Here the text cannot be read as a call; `cut` if only because it ends."""

    def __init__(self, problem: str, *, cut: bool = False) -> None:
        super().__init__(problem)
        self.problem = problem
        self.cut = cut


class Cursor:
    """A text and a place in it. While `final` is false, whatever touches the end raises More.

    So what is read from a part of a text is what would be read from the whole.
    """

    __slots__ = ("at", "final", "mended", "text")

    def __init__(self, text: str, at: int, *, final: bool) -> None:
        self.text = text
        self.at = at
        self.final = final
        self.mended = False

    def wait(self) -> None:
        """Raise More unless the text is whole."""
        if not self.final:
            raise More

    def peek(self) -> str:
        """The next character, empty at the end."""
        if self.at < len(self.text):
            return self.text[self.at]
        self.wait()
        return ""

    def looking_at(self, literal: str) -> bool:
        if self.text.startswith(literal, self.at):
            return True
        if (
            not self.final
            and len(self.text) - self.at < len(literal)
            and literal.startswith(self.text[self.at :])
        ):
            raise More
        return False

    def take(self, literal: str) -> bool:
        """Step over a literal, if it is here."""
        if not self.looking_at(literal):
            return False
        self.at += len(literal)
        return True

    def match(self, pattern: re.Pattern[str], slack: int = 0) -> re.Match[str] | None:
        """Step over a pattern; what follows within `slack` characters may still lengthen the match."""
        found = pattern.match(self.text, self.at)
        if found is None:
            if len(self.text) - self.at <= 1:
                self.wait()
            return None
        if found.end() + slack >= len(self.text):
            self.wait()
        self.at = found.end()
        return found

    def space(self) -> None:
        self.match(_SPACE)

    def inline_space(self) -> None:
        self.match(_INLINE_SPACE)

    def space_and_comments(self) -> None:
        """Step over white space and comments. Raises Broken at a comment without an end."""
        while True:
            self.space()
            sign = self.peek()
            if sign == "#" or (sign == "/" and self.looking_at("//")):
                self.at = self.find("\n", _LINE_COMMENT)
            elif sign == "/" and self.looking_at("/*"):
                self.at = self.find("*/", _BLOCK_COMMENT) + 2
            else:
                return

    def find(self, literal: str, within: int) -> int:
        """Where a literal is next, at most `within` characters on. Raises Broken if it is not there."""
        found = self.text.find(literal, self.at, self.at + within)
        if found >= 0:
            return found
        if len(self.text) - self.at < within:
            self.wait()
        raise Broken(f"{literal!r} is missing", cut=len(self.text) - self.at < within)

    def token(self) -> tuple[str, Kind] | None:
        """The token of some family that stands here, not stepped over."""
        found = TOKEN.match(self.text, self.at)
        if found is not None:
            return found[0], kind_of(found[0])
        rest = self.text[self.at : self.at + LONGEST]
        if not self.final and len(self.text) - self.at < LONGEST and rest in PREFIXES:
            raise More
        return None

    def at_end(self) -> bool:
        """Whether nothing follows."""
        return self.peek() == ""
