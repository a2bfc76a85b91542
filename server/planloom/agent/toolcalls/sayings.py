"""What a reader has said and not yet passed on, each call once (T12)."""

from __future__ import annotations

import json

from planloom.agent.toolcalls.events import (
    CallProblem,
    CallRead,
    ReaderEvent,
    ReasoningText,
    Retracted,
    VisibleText,
)
from planloom.agent.toolcalls.offers import Offers, RawCall, opened


class Sayings:
    """Events in order; neighbouring texts become one."""

    def __init__(self, offers: Offers) -> None:
        self._offers = offers
        self._events: list[ReaderEvent] = []
        self._text: list[str] = []
        self._thinking = False
        self._seen: set[str] = set()

    def text(self, text: str) -> None:
        self._add(text, thinking=False)

    def thought(self, text: str) -> None:
        self._add(text, thinking=True)

    def call(self, raw: RawCall, text: str, *, marked: bool) -> bool:
        """Say a call or what is wrong with it; whether it is one. `text` is the stretch that it stands in."""
        read = self._offers.check(raw, text)
        if isinstance(read, CallProblem):
            if marked or read.cause != "unknown_tool" or isinstance(opened(raw.arguments), dict):
                self.problem(read)
            return False
        key = f"{read.name} {json.dumps(read.arguments, sort_keys=True)}"
        if key not in self._seen:
            self._seen.add(key)
            self._event(read)
        return True

    def problem(self, problem: CallProblem | None) -> None:
        if problem is not None:
            self._event(problem)

    def retract(self) -> None:
        self._seen.clear()
        if self._text or not (self._events and isinstance(self._events[-1], Retracted)):
            self._event(Retracted())

    def take_from(self, other: Sayings) -> None:
        """Take over the calls and problems that another reader found."""
        for event in other.flush():
            if isinstance(event, CallProblem):
                self.problem(event)
            elif isinstance(event, CallRead):
                self.call(RawCall(event.name, event.arguments), "", marked=True)

    def flush(self) -> tuple[ReaderEvent, ...]:
        """Everything said since the last time."""
        self._close_text()
        events, self._events = tuple(self._events), []
        return events

    def _add(self, text: str, *, thinking: bool) -> None:
        if not text:
            return
        if thinking != self._thinking:
            self._close_text()
            self._thinking = thinking
        self._text.append(text)

    def _event(self, event: ReaderEvent) -> None:
        self._close_text()
        self._events.append(event)

    def _close_text(self) -> None:
        if self._text:
            text = "".join(self._text)
            self._text.clear()
            self._events.append(ReasoningText(text=text) if self._thinking else VisibleText(text=text))
