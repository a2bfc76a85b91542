"""Buffers parser events: adjacent text is merged, and identical calls are emitted once (docs/model-text.md, T12)."""

from __future__ import annotations

import json
from collections.abc import Iterable

from planloom.agent.toolcalls.events import (
    CallProblem,
    CallRead,
    ReaderEvent,
    ReasoningText,
    Retracted,
    VisibleText,
)
from planloom.agent.toolcalls.offered_tools import OfferedTools, RawCall, opened
from planloom.agent.toolcalls.shapes import THOUGHT


class ParserOutput:
    """The events that were not yet passed on, in order."""

    def __init__(self, offered: OfferedTools) -> None:
        self._offered = offered
        self._events: list[ReaderEvent] = []
        self._text: list[str] = []
        self._kind: type[VisibleText | ReasoningText] = VisibleText
        self._seen: set[str] = set()

    def text(self, text: str) -> None:
        self._add(text, VisibleText)

    def reasoning(self, text: str) -> None:
        self._add(text, ReasoningText)

    def call(self, raw: RawCall, text: str, *, marked: bool) -> bool:
        """Emit a call, or the problem with it. Returns whether it is a call. `text` is the source that holds it."""
        if raw.name == THOUGHT:
            self.reasoning(str(raw.arguments))
            return True
        read = self._offered.check(raw, text)
        if isinstance(read, CallProblem):
            if marked or read.cause != "unknown_tool" or isinstance(opened(raw.arguments), dict):
                self.problem(read)
            return False
        self._call(read)
        return True

    def problem(self, problem: CallProblem) -> None:
        self._event(problem)

    def retract(self) -> None:
        self._seen.clear()
        if self._text or not (self._events and isinstance(self._events[-1], Retracted)):
            self._event(Retracted())

    def take_calls(self, events: Iterable[ReaderEvent]) -> None:
        """Emit the calls and problems among the events of another reader."""
        for event in events:
            if isinstance(event, CallProblem):
                self.problem(event)
            elif isinstance(event, CallRead):
                self._call(event)

    def flush(self) -> tuple[ReaderEvent, ...]:
        """The events since the last flush."""
        self._close_text()
        events, self._events = tuple(self._events), []
        return events

    def _call(self, call: CallRead) -> None:
        key = f"{call.name} {json.dumps(call.arguments, sort_keys=True)}"
        if key not in self._seen:
            self._seen.add(key)
            self._event(call)

    def _add(self, text: str, kind: type[VisibleText | ReasoningText]) -> None:
        if not text:
            return
        if kind is not self._kind:
            self._close_text()
            self._kind = kind
        self._text.append(text)

    def _event(self, event: ReaderEvent) -> None:
        self._close_text()
        self._events.append(event)

    def _close_text(self) -> None:
        if self._text:
            text = "".join(self._text)
            self._text.clear()
            self._events.append(self._kind(text=text))
