"""Which results of tools a prompt shows in full: the latest, as far as they fit, none of them larger than half."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from planloom.agent.prompts import ToolNote
from planloom.models.port import ModelRequest
from planloom.models.tokens import TokenCounter
from planloom.tools.tool import shortened

_NOTE = 300


def fitted(
    results: Sequence[ToolNote], most: int, count: Callable[[str], int]
) -> tuple[tuple[ToolNote, ...], tuple[ToolNote, ...]]:
    """The results that are kept within `most` tokens, and the older ones that go, both in their order."""
    kept = [_bounded(note, most // 2, count) for note in results]
    costs = [count(note.text) + count(note.args) for note in kept]
    gone = 0
    if sum(costs) > most:
        # Half of the room is made free at once, so that the next turns begin as this one did.
        while gone < len(kept) - 1 and sum(costs[gone:]) > most // 2:
            gone += 1
    return tuple(kept[gone:]), tuple(kept[:gone])


def in_one_line(note: ToolNote) -> str:
    """What is left to say of a result that goes; no sentence of it is cut in half."""
    said = f"{note.name} {note.args} {'succeeded' if note.ok else 'failed'}"
    told = _whole_sentences(_first_line(note.text), max(0, _NOTE - len(said)))
    return f"{said}: {told}" if told else f"{said}."


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
    """A room without a memory of its own: what no longer fits is told in a line."""

    def __init__(self, most: int, counter: TokenCounter) -> None:
        """`most` is in tokens, as the counter counts them."""
        self._most = most
        self._counter = counter

    async def fit(self, results: Sequence[ToolNote]) -> tuple[ToolNote, ...]:
        """The latest results in full, the older ones by their first line."""
        kept, gone = fitted(results, self._most, self._counter.text)
        told = (note.model_copy(update={"text": shortened(_first_line(note.text), _NOTE)}) for note in gone)
        return (*told, *kept)

    def learn(self, request: ModelRequest, prompt_tokens: int) -> None:
        """Take in what the server counted."""
        self._counter.learn(request, prompt_tokens)
