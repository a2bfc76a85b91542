"""Reads a model's text as it streams: visible text, reasoning, and tool calls (docs/model-text.md, T1 to T16).

A decision waits for all text that it depends on, so the division into chunks never changes the result (T15).
"""

from __future__ import annotations

from collections.abc import Sequence

from planloom.agent.toolcalls.events import (
    CallProblem,
    CallRead,
    CallsRead,
    ReaderEvent,
    ReasoningText,
    Retracted,
    VisibleText,
)
from planloom.agent.toolcalls.offered_tools import OfferedTools
from planloom.agent.toolcalls.scanner import Scanner
from planloom.domain.model_text.cursor import NeedMoreText
from planloom.domain.model_text.surrogates import Joiner
from planloom.models.port import ToolSpec

_MOST_READS = 6
_FREE_READS = 50_000
"""While a call is incomplete, its text is read again with each chunk. To keep this linear, at most `_MOST_READS`
times the text received, plus `_FREE_READS` characters, are read in all."""


class CallReader:
    """Reads a text in chunks of any division; close it at the end. No input raises."""

    def __init__(self, tools: Sequence[ToolSpec]) -> None:
        self._scanner = Scanner(OfferedTools(tools))
        self._joiner = Joiner()
        self._pending: list[str] = []
        self._waiting = 0
        self._received = 0
        self._read = 0

    def feed(self, chunk: str) -> tuple[ReaderEvent, ...]:
        """Read more text. Returns the events that it completes."""
        self._take(self._joiner.add(chunk))
        cost = self._scanner.held + self._waiting
        # Held text is read again from its start; the longer it is the less often, so that time stays linear.
        if self._scanner.held and self._read + cost > _MOST_READS * self._received + _FREE_READS:
            return ()
        return self._scan(final=False)

    def close(self) -> tuple[ReaderEvent, ...]:
        """End the text. Returns the events of what was held back."""
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
        except NeedMoreText:
            self._scanner.release()
        return self._scanner.events()


def gathered(events: Sequence[ReaderEvent]) -> CallsRead:
    """Combine the events of a whole text."""
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
