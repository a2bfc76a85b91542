"""Reads a model's text as it streams: what the user sees, what the model thought, and the calls in it.

Whatever a decision depends on is waited for, so every division of a text into chunks reads the same (T15).
"""

from __future__ import annotations

from collections.abc import Sequence

from planloom.agent.toolcalls.cursor import More
from planloom.agent.toolcalls.events import (
    CallProblem,
    CallRead,
    CallsRead,
    ReaderEvent,
    ReasoningText,
    Retracted,
    VisibleText,
)
from planloom.agent.toolcalls.offers import Offers
from planloom.agent.toolcalls.scanner import Scanner
from planloom.models.json_text import Joiner
from planloom.models.port import ToolSpec

_FREE = 50_000
_AGAIN = 6
"""How many times its own length a text may be read while a call is waited for."""


class CallReader:
    """Feed it chunks, cut anywhere; close it at the end. No input raises."""

    def __init__(self, tools: Sequence[ToolSpec]) -> None:
        self._scanner = Scanner(Offers(tools))
        self._joiner = Joiner()
        self._pending: list[str] = []
        self._waiting = 0
        self._received = 0
        self._read = 0

    def feed(self, chunk: str) -> tuple[ReaderEvent, ...]:
        """What can be said with this much more text."""
        self._take(self._joiner.add(chunk))
        cost = self._scanner.held + self._waiting
        # Text that is held is read again from its start: rarely where it is long, so that time stays linear.
        if self._scanner.held and self._read + cost > _AGAIN * self._received + _FREE:
            return ()
        return self._scan(final=False)

    def close(self) -> tuple[ReaderEvent, ...]:
        """What was held back, read as the end of the text."""
        self._take(self._joiner.rest())
        return self._scan(final=True)

    def _take(self, text: str) -> None:
        if text:
            self._pending.append(text)
            self._waiting += len(text)
            self._received += len(text)

    def _scan(self, *, final: bool) -> tuple[ReaderEvent, ...]:
        self._read += self._scanner.held + self._waiting
        text = "".join(self._pending)
        self._pending.clear()
        self._waiting = 0
        try:
            self._scanner.read(text, final=final)
        except More:
            self._scanner.release()
        return self._scanner.said()


def read_calls(text: str, tools: Sequence[ToolSpec]) -> CallsRead:
    """Everything that a whole text holds; never raises."""
    reader = CallReader(tools)
    return gathered((*reader.feed(text), *reader.close()))


def gathered(events: Sequence[ReaderEvent]) -> CallsRead:
    """What the events of a whole text come to."""
    calls: list[CallRead] = []
    problems: list[CallProblem] = []
    visible: list[str] = []
    reasoning: list[str] = []
    for event in events:
        match event:
            case VisibleText():
                visible.append(event.text)
            case ReasoningText():
                reasoning.append(event.text)
            case CallRead():
                calls.append(event)
            case CallProblem():
                problems.append(event)
            case Retracted():
                reasoning.extend(visible)
                visible.clear()
                calls.clear()
                problems.clear()
    return CallsRead(
        calls=tuple(calls),
        visible_text="".join(visible),
        reasoning="".join(reasoning),
        problems=tuple(problems),
    )
