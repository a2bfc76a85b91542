"""What a model says in one turn, native or in text, brought into one form as it streams."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, assert_never

from planloom.agent.answer import Malformed, Turn, turn_of
from planloom.agent.toolcalls.events import (
    CallProblem,
    CallRead,
    ReaderEvent,
    ReasoningText,
    Retracted,
    VisibleText,
)
from planloom.domain.values import CallId
from planloom.models.port import ToolCall, ToolSpec

if TYPE_CHECKING:
    from planloom.agent.toolcalls.reader import CallReader

Stream = Callable[[Literal["text", "reasoning"], str], None]


class Hearing:
    """One turn while it streams. Text goes to `stream` as soon as it is known to be no call."""

    def __init__(self, tools: Sequence[ToolSpec], stream: Stream, *, read_text: bool) -> None:
        self._tools = tuple(tools)
        self._stream = stream
        self._reader = _reader(tools) if read_text else None
        self._visible: list[str] = []
        self._native: list[ToolCall] = []
        self._broken: list[Malformed] = []
        self._printed: list[ToolCall] = []
        self._misprinted: list[Malformed] = []

    def text(self, text: str) -> None:
        """More of the answer."""
        if self._reader is None:
            self._show(text)
        else:
            self._note(self._reader.feed(text))

    def call(self, call: ToolCall) -> None:
        """A native call, which passes the same checks as a printed one."""
        # The families' patterns are compiled on import: that is paid by the first turn, not by the start.
        from planloom.agent.toolcalls.offers import native_call

        checked = native_call(call.name, call.arguments, self._tools)
        if isinstance(checked, CallProblem):
            self._broken.append(_malformed(checked))
        else:
            self._native.append(
                ToolCall(call_id=call.call_id, name=checked.name, arguments=checked.arguments)
            )

    def broken(self, broken: Malformed) -> None:
        """A native call that its server could not put together."""
        self._broken.append(broken)

    def turn(self, *, cut: bool) -> Turn:
        """What was said. Calls in the text only count where there are no native ones."""
        if self._reader is not None:
            self._note(self._reader.close())
        spoken = bool(self._native or self._broken)
        calls = self._native if spoken else self._printed
        wrong = self._broken if spoken else self._misprinted
        return turn_of("".join(self._visible), calls, wrong, cut=cut)

    def _show(self, text: str) -> None:
        self._visible.append(text)
        self._stream("text", text)

    def _note(self, events: Sequence[ReaderEvent]) -> None:
        for event in events:
            match event:
                case VisibleText():
                    self._show(event.text)
                case ReasoningText():
                    self._stream("reasoning", event.text)
                case Retracted():
                    self._visible.clear()
                    self._printed.clear()
                    self._misprinted.clear()
                case CallRead():
                    call_id = CallId(f"text-{len(self._printed) + 1}")
                    self._printed.append(
                        ToolCall(call_id=call_id, name=event.name, arguments=event.arguments)
                    )
                case CallProblem():
                    self._misprinted.append(_malformed(event))
                case _:
                    assert_never(event)


def _reader(tools: Sequence[ToolSpec]) -> CallReader:
    # As above: the start of the server does not pay for the patterns.
    from planloom.agent.toolcalls.reader import CallReader

    return CallReader(tools)


def _malformed(problem: CallProblem) -> Malformed:
    return Malformed(name=problem.name, text=problem.text, problem=problem.problem)
