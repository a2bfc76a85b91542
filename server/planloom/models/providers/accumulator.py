"""Accumulates the parts of one answer that an adapter reads, and emits the events of the port."""

from __future__ import annotations

from typing import Literal

from planloom.domain.errors import ModelFailed
from planloom.domain.model_text.surrogates import Joiner
from planloom.models.http.bounded import AnswerBroken
from planloom.models.port import (
    Finished,
    ModelEvent,
    ModelRequest,
    ReasoningDelta,
    TextDelta,
    UsageReported,
)
from planloom.models.providers.call_fragments import CallFragments

Reason = Literal["stop", "length", "tool_calls", "refused"]

REASONS: dict[str, Reason] = {
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "model_context_window_exceeded": "length",
    "tool_calls": "tool_calls",
    "tool_use": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "refused",
    "refusal": "refused",
    "safety": "refused",
}
"""Maps each provider's finish reason to ours; unknown values mean `stop`."""
BLANK_RUN = 1_024
"""Most consecutive white-space characters; with more the model is stuck, as small models with a schema can be."""


class StreamAccumulator:
    """The state of one answer; see `AnswerReader` for `progress`, `complete` and `stopped`."""

    def __init__(self, request: ModelRequest) -> None:
        self.progress = 0
        self.complete = False
        self.stopped = False
        self.calls = CallFragments(request)
        self._text = Joiner()
        self._reasoning = Joiner()
        self._reason: Reason | None = None
        self._usage: tuple[int | None, int | None] = (None, None)
        self._has_text = False
        self._blank = 0

    def add_text(self, piece: str) -> tuple[ModelEvent, ...]:
        """Add a piece of the visible answer."""
        if not piece:
            return ()
        self.progress += 1
        text = self._text.add(piece)
        visible = text.strip()
        self._has_text = self._has_text or bool(visible)
        self._blank = len(text) - len(text.rstrip()) + (0 if visible else self._blank)
        if self._blank > BLANK_RUN:
            self.stopped = True
            self.finish("length")
        return (TextDelta(text=text),) if text else ()

    def add_reasoning(self, piece: str) -> tuple[ModelEvent, ...]:
        """Add a piece of the reasoning."""
        if not piece:
            return ()
        self.progress += 1
        text = self._reasoning.add(piece)
        return (ReasoningDelta(text=text),) if text else ()

    def finish(self, word: str) -> None:
        """Mark the answer as complete, with the server's finish reason."""
        self.complete = True
        self._reason = REASONS.get(word.lower(), "stop")

    def set_usage(self, prompt: int | None, completion: int | None) -> None:
        """Set the tokens that the server counted; a later count replaces an earlier one."""
        self._usage = (
            self._usage[0] if prompt is None else prompt,
            self._usage[1] if completion is None else completion,
        )

    def end(self) -> tuple[ModelEvent, ...]:
        """The last events. Raises `AnswerBroken` for an incomplete answer, `ModelFailed` for an empty one."""
        if self._reason is None:
            raise AnswerBroken("it ended before the model was done" if self.progress else "it was empty")
        rest = self._text.rest()
        calls = self.calls.events(cut=self._reason == "length")
        if not (self._has_text or rest or calls) and self._reason not in {"length", "refused"}:
            raise ModelFailed(
                "model_output_invalid",
                "The model gave an empty answer.",
                hint="Try again, or choose another model in `model.name`.",
            )
        reason = "tool_calls" if calls and self._reason == "stop" else self._reason
        events: list[ModelEvent] = []
        if thought := self._reasoning.rest():
            events.append(ReasoningDelta(text=thought))
        if rest:
            events.append(TextDelta(text=rest))
        events.extend(calls)
        prompt, completion = self._usage
        if prompt is not None or completion is not None:
            events.append(UsageReported(prompt_tokens=prompt or 0, completion_tokens=completion or 0))
        return (*events, Finished(reason=reason))
