"""A user who types words that nobody else uses, and knows which of them must still be there."""

from __future__ import annotations

import random
import re

from tests.campaigns.desk import Desk
from tests.campaigns.reports import Report
from tests.campaigns.worlds import State

_WORD = re.compile(r"\btyped\d+x\d+\b")


class Typist:
    """Types at the ends of lines, so that no word is cut by another one; `owed` are the words to be kept."""

    def __init__(self, at: Desk, rng: random.Random, mark: int) -> None:
        self.at = at
        self.rng = rng
        self.mark = mark
        self.owed: dict[str, str] = {}
        self.undone = 0
        self._count = 0

    def word(self, where: str) -> str:
        """A new word; `where` is told if it gets lost."""
        self._count += 1
        word = f"typed{self.mark}x{self._count}"
        self.owed[word] = where
        return word

    def insert(self, uri: str, line: int, *, whole_line: bool) -> str:
        """Type a word at the end of a line, or as a line of its own after it."""
        text = self.at.editor.buffers[uri].text
        lines = text.split("\n")
        line = min(line, len(lines) - 1)
        word = self.word(f"{uri.rpartition('/')[2]} after {lines[line]!r}")
        place = {"line": line, "character": _units(lines[line], self.at.circumstances.encoding)}
        typed = f"\n{word}" if whole_line else f" {word}"
        self.at.editor.type(uri, {"start": place, "end": place}, typed)
        return word

    def undo(self, uri: str) -> None:
        """Press Ctrl-Z; the words that vanish by it are not owed any more."""
        before = self.at.editor.buffers[uri].text
        if self.at.editor.undo(uri):
            self.undone += 1
            self.forgive(words_of(before) - words_of(self.at.editor.buffers[uri].text))

    def forgive(self, words: set[str]) -> None:
        """These words may be gone by the user's own will."""
        for word in words:
            self.owed.pop(word, None)

    def check(self, report: Report) -> None:
        """Every word owed is still somewhere."""
        there = {word for text in self.at.state().values() for word in words_of(text or "")}
        for word, where in self.owed.items():
            if word not in there:
                report.blame("words", f"{word} is gone, typed in {where}")


def words_of(text: str) -> set[str]:
    """The typed words in a text."""
    return set(_WORD.findall(text))


def without_typing(state: State) -> State:
    """The state without the lines that hold typed words alone."""
    return {
        name: None if text is None else "".join(line for line in text.splitlines(True) if not _typed(line))
        for name, text in state.items()
    }


def _typed(line: str) -> bool:
    return _WORD.fullmatch(line.strip()) is not None


def _units(text: str, encoding: str) -> int:
    if encoding == "utf-32":
        return len(text)
    return len(text.encode("utf-16-le")) // 2 if encoding == "utf-16" else len(text.encode())
