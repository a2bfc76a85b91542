"""Splits a line for a shell into its simple commands, as far as its text tells them.

What a shell makes of a line also depends on variables, files and settings that the text does not show. Words for
which that matters are marked, so that nobody takes them for what they say.
"""

from __future__ import annotations

from typing import Final, NamedTuple

_SEPARATORS: Final = ";&|()\n"
_REDIRECTS: Final = "<>"
_MOST_NESTED: Final = 20


class ShellWord(NamedTuple):
    """One word without its quotes. `is_open`: a variable or another command puts something into it, or it has no end.

    `is_pattern`: it has `*`, `?` or `[` outside of quotes, which stand for names of files.
    """

    text: str
    is_open: bool = False
    is_pattern: bool = False


class SimpleCommand(NamedTuple):
    """A program with its arguments, and the files that its input and output are redirected to.

    `gets_output`: it reads what another command prints, after a `|`. `is_alone`: neither a `|`, `<`, `>`, `&` nor a
    bracket stands at it, nor is it within another command.
    """

    words: tuple[ShellWord, ...]
    gets_output: bool = False
    is_alone: bool = True


def simple_commands(line: str, escape: str = "\\") -> tuple[SimpleCommand, ...]:
    """The commands of a line in the order of their text, those within `$(…)` and back quotes after it.

    `escape` takes the meaning of the character behind it; Windows has `^`. Commands that are nested too deep are one
    command whose program is open. Takes linear time.
    """
    found: list[SimpleCommand] = []
    lines = [line]
    for depth in range(_MOST_NESTED):
        inner: list[str] = []
        for each in lines:
            reader = _Reader(each, escape)
            commands = reader.commands()
            found += commands if depth == 0 else [command._replace(is_alone=False) for command in commands]
            inner += reader.inner
        lines = inner
    if lines:
        found.append(SimpleCommand((ShellWord("", is_open=True),)))
    return tuple(found)


class _Reader:
    """Reads one line; `inner` are the texts of the commands within its words."""

    def __init__(self, line: str, escape: str) -> None:
        self._line = line
        self._escape = escape
        self._at = 0
        self.inner: list[str] = []

    def commands(self) -> list[SimpleCommand]:
        found: list[SimpleCommand] = []
        words: list[ShellWord] = []
        piped = joined = False
        while self._at < len(self._line):
            char = self._line[self._at]
            if char in _SEPARATORS:
                is_double = self._line[self._at : self._at + 2] in ("||", "&&", ";;")
                joins = char in "()" or (char in "|&" and not is_double)
                if words:
                    found.append(SimpleCommand(tuple(words), piped, not (joined or joins)))
                if words or char not in "(\n":
                    piped = char == "|" and not is_double
                joined = joins
                words = []
                self._at += 2 if is_double else 1
            elif char.isspace() or char in _REDIRECTS:
                joined = joined or char in _REDIRECTS
                self._at += 1
            elif char == "#":
                end = self._line.find("\n", self._at)
                self._at = len(self._line) if end < 0 else end
            else:
                words.append(self._word())
        if words:
            found.append(SimpleCommand(tuple(words), piped, not joined))
        return found

    def _word(self) -> ShellWord:
        text: list[str] = []
        is_open = is_pattern = False
        quote = ""
        while self._at < len(self._line):
            char = self._line[self._at]
            self._at += 1
            if quote == "'" or (quote and char == quote):
                if char == quote:
                    quote = ""
                else:
                    text.append(char)
            elif char == self._escape:
                following = self._line[self._at : self._at + 1]
                if quote and following not in ("$", "`", '"', self._escape, "\n"):
                    text.append(char)
                elif following != "\n":
                    is_open = is_open or not following
                    text.append(following)
                    self._at += 1
                else:
                    self._at += 1
            elif char in "$`":
                is_open = is_open or char == "`" or self._expands(quote)
                text.append(char + self._substituted(char))
            elif quote:
                text.append(char)
            elif char in "\"'":
                quote = char
            elif char.isspace() or char in _SEPARATORS + _REDIRECTS:
                self._at -= 1
                break
            else:
                is_pattern = is_pattern or char in "*?["
                text.append(char)
        return ShellWord("".join(text), is_open or bool(quote), is_pattern)

    def _expands(self, quote: str) -> bool:
        """Whether the `$` just read begins an expansion, and not only a text."""
        following = self._line[self._at : self._at + 1]
        return following.isalnum() or following in tuple("_{(@*#?$!-" if quote else "_{(@*#?$!-\"'")

    def _substituted(self, char: str) -> str:
        """The rest of a command within a word, which is kept in `inner`; empty for a variable."""
        start = self._at
        if char == "`":
            end = self._line.find("`", start)
            end = len(self._line) if end < 0 else end
            self.inner.append(self._line[start:end])
            self._at = min(end + 1, len(self._line))
        elif self._line[start : start + 1] == "(":
            depth = 0
            while self._at < len(self._line):
                depth += {"(": 1, ")": -1}.get(self._line[self._at], 0)
                self._at += 1
                if depth == 0:
                    break
            self.inner.append(self._line[start + 1 : self._at - (depth == 0)])
        return self._line[start : self._at]
