"""Finds a fixed set of tokens in a text, and an incomplete token at its end."""

from __future__ import annotations

import re
from collections.abc import Iterable


class TokenSet:
    """Finds tokens in a text that is streamed in pieces. `first` matches the characters with which tokens begin.

    `ignore_case` concerns ASCII letters.
    """

    def __init__(self, tokens: Iterable[str], *, ignore_case: bool = False) -> None:
        words = tuple(token.lower() if ignore_case else token for token in tokens)
        self.pattern = re.compile(one_of(words), re.IGNORECASE | re.ASCII if ignore_case else 0)
        self.longest = max(map(len, words))
        self._ignore_case = ignore_case
        self.first = re.compile(f"[{re.escape(''.join(sorted({word[0] for word in words})))}]")
        self._beginnings = frozenset(word[:length] for word in words for length in range(1, len(word)))

    def is_beginning(self, text: str) -> bool:
        """Whether the text is a proper prefix of a token."""
        return (text.lower() if self._ignore_case else text) in self._beginnings

    def partial_at_end(self, text: str, start: int = 0) -> int:
        """The offset of an incomplete token at the end of the text; the length of the text if there is none."""
        for first in self.first.finditer(text, max(start, len(text) - self.longest + 1)):
            if self.is_beginning(text[first.start() :]):
                return first.start()
        return len(text)


def one_of(words: tuple[str, ...]) -> str:
    """A pattern for any of the words, built as a prefix tree, so that the text is compared with few of them."""
    tree: dict[str, list[str]] = {}
    for word in words:
        tree.setdefault(word[:1], []).append(word[1:])
    parts = [
        re.escape(first) + (one_of(tuple(rests)) if rests != [""] else "")
        for first, rests in tree.items()
        if first
    ]
    body = parts[0] if len(parts) == 1 else f"(?:{'|'.join(parts)})"
    return f"(?:{body})?" if "" in tree else body
