"""Fits tool results into a token budget: the latest that fit are shown in full, none takes more than half."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from planloom.agent.prompts import ToolNote
from planloom.models.port import ModelRequest
from planloom.models.tokens import TokenCounter
from planloom.tools.tool import shortened

_LINE_CHARACTERS = 300


def fitted(
    results: Sequence[ToolNote], most: int, count: Callable[[str], int]
) -> tuple[tuple[ToolNote, ...], tuple[ToolNote, ...]]:
    """Split results into those kept within `most` tokens and the older ones dropped, both in their order."""
    kept = [_bounded(note, most // 2, count) for note in results]
    costs = [count(note.text) + count(note.args) for note in kept]
    dropped = 0
    if sum(costs) > most:
        # Half of the budget is freed at once, so that the next turns share this prompt's prefix.
        while dropped < len(kept) - 1 and sum(costs[dropped:]) > most // 2:
            dropped += 1
    return tuple(kept[dropped:]), tuple(kept[:dropped])


def in_one_line(note: ToolNote) -> str:
    """A dropped result in one line: the call, whether it succeeded, and the whole sentences that fit."""
    call = f"{note.name} {note.args} {'succeeded' if note.ok else 'failed'}"
    text = _whole_sentences(_first_line(note.text), max(0, _LINE_CHARACTERS - len(call)))
    return f"{call}: {text}" if text else f"{call}."


def _whole_sentences(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    return text[: max(text.rfind(mark, 0, most) for mark in (". ", "! ", "? ")) + 1]


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def _bounded(note: ToolNote, most: int, count: Callable[[str], int]) -> ToolNote:
    if count(note.text) <= most:
        return note
    share = most / max(1, count(note.text))
    shown = note.text[: int(len(note.text) * share * 0.9)]
    whole_lines = shown[: shown.rfind("\n") + 1] or shown
    left = len(note.text) - len(whole_lines)
    text = f"{whole_lines}[{left} more characters do not fit here: ask for a part, by lines or by a pattern]"
    return note.model_copy(update={"text": text})


class FixedContextWindow:
    """Fits tool results into a fixed token budget. Results that no longer fit are reduced to one line each."""

    def __init__(self, most: int, counter: TokenCounter) -> None:
        """`most` is in tokens, as the counter counts them."""
        self._most = most
        self._counter = counter

    async def fit(self, results: Sequence[ToolNote]) -> tuple[ToolNote, ...]:
        """The latest results in full, the older ones reduced to their first line."""
        kept, dropped = fitted(results, self._most, self._counter.text)
        reduced = (
            note.model_copy(update={"text": shortened(_first_line(note.text), _LINE_CHARACTERS)})
            for note in dropped
        )
        return (*reduced, *kept)

    def learn(self, request: ModelRequest, prompt_tokens: int) -> None:
        """Correct the token estimates by the server's count for a request."""
        self._counter.learn(request, prompt_tokens)
