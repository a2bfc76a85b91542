"""Fits tool results into a token budget: the latest that fit are shown in full, none takes more than half."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from planloom.agent.prompts import ToolNote
from planloom.models.port import ModelRequest
from planloom.models.tokens import TokenCounter
from planloom.tools.tool import shortened

_LINE_CHARACTERS = 300
_SHORTENED = "[shortened to make room: make the call again to see its whole result]"


def fitted(
    results: Sequence[ToolNote], most: int, count: Callable[[str], int]
) -> tuple[tuple[ToolNote, ...], tuple[ToolNote, ...]]:
    """Split results into those kept within `most` tokens and the older ones dropped, both in their order."""
    kept = [note._replace(text=bounded(note.text, most // 2, count)) for note in results]
    costs = [count(note.text) + count(note.args) for note in kept]
    dropped = 0
    if sum(costs) > most:
        # Half of the budget is freed at once, so that the next turns share this prompt's prefix.
        while dropped < len(kept) - 1 and sum(costs[dropped:]) > most // 2:
            dropped += 1
    return tuple(kept[dropped:]), tuple(kept[:dropped])


def in_one_line(note: ToolNote) -> str:
    """A dropped result in one line: the call, whether it succeeded, and the whole sentences that fit."""
    call = f"{note.name} {note.args} {'succeeded' if note.stands else 'failed'}"
    text = _whole_sentences(_first_line(note.shown), max(0, _LINE_CHARACTERS - len(call)))
    return f"{call}: {text}" if text else f"{call}."


def beginning(text: str) -> str:
    """The beginning of a result that has to make room, and how to see it whole again."""
    short = f"{_whole_sentences(_first_line(text), _LINE_CHARACTERS)}\n{_SHORTENED}".strip()
    return text if _SHORTENED in text or len(short) >= len(text) else short


def _whole_sentences(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    return text[: max(text.rfind(mark, 0, most) for mark in (". ", "! ", "? ")) + 1]


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def bounded(text: str, most: int, count: Callable[[str], int]) -> str:
    """The text, or its first lines within `most` tokens and how many characters are left out."""
    size = count(text)
    if size <= most:
        return text
    shown = text[: int(len(text) * most / max(1, size) * 0.9)]
    whole_lines = shown[: shown.rfind("\n") + 1] or shown
    left = len(text) - len(whole_lines)
    return f"{whole_lines}[{left} more characters do not fit here: ask for a part, by lines or by a pattern]"


def head_and_tail(text: str, most: int, count: Callable[[str], int]) -> str:
    """The text, or its beginning and its end within `most` tokens, with a line that says how much is left out."""
    size = count(text)
    if size <= most:
        return text
    kept = int(len(text) * most / size * 0.9)
    head, tail = text[: kept // 3], text[len(text) - (kept - kept // 3) :]
    return f"{head}\n[… {len(text) - kept} characters left out: run it on a part, or filter its output …]\n{tail}"


class FixedContextWindow:
    """A context of a fixed size. Results that no longer fit are reduced to one line each."""

    def __init__(self, room: int, results: int, counter: TokenCounter) -> None:
        """`room` for a whole request and `results` for its results are in tokens, as the counter counts them."""
        self.room = room
        self.summary: list[str] = []
        self._most = results
        self._counter = counter

    def size(self, request: ModelRequest) -> int:
        return self._counter.request(request)

    def text(self, text: str) -> int:
        return self._counter.text(text)

    def learn(self, request: ModelRequest, prompt_tokens: int) -> None:
        self._counter.learn(request, prompt_tokens)

    def overflowed(self, request: ModelRequest, limit: int | None) -> None:
        self.room = min(self.room, limit or self.room, self.size(request) * 2 // 3)

    async def fit(self, results: Sequence[ToolNote]) -> tuple[ToolNote, ...]:
        kept, dropped = fitted(results, self._most, self._counter.text)
        reduced = (
            note._replace(text=shortened(_first_line(note.text), _LINE_CHARACTERS)) for note in dropped
        )
        return (*reduced, *kept)

    async def summarize(self, notes: Sequence[str]) -> None:
        """Keep the first line of each note."""
        self.summary += (shortened(_first_line(note), _LINE_CHARACTERS) for note in notes)
