"""Accumulates the parts of one answer that an adapter reads, and emits the events of the port."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from planloom.domain.errors import ModelFailed
from planloom.domain.model_text.surrogates import Joiner, mend
from planloom.domain.values import Json
from planloom.models.http.json_text import list_of
from planloom.models.port import (
    Finished,
    FinishReason,
    Message,
    ModelEvent,
    ModelRequest,
    Reasoning,
    ReasoningDelta,
    TextDelta,
    UsageReported,
)
from planloom.models.providers.call_fragments import CallFragments
from planloom.web.transfer import AnswerBroken

REASONS: dict[str, FinishReason] = {
    "length": "length",
    "max_tokens": "length",
    "max_output_tokens": "length",
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

    provider = ""
    """The provider in whose form reasoning is sent back."""

    def __init__(self, request: ModelRequest) -> None:
        self.progress = 0
        self.complete = False
        self.stopped = False
        self.calls = CallFragments(request)
        self.kept: list[Reasoning] = []
        """Blocks of reasoning that go back with this answer."""
        self._fields: dict[str, Json] = {}
        self._parts: dict[tuple[str, str], dict[str, Json]] = {}
        self._text = Joiner()
        self._reasoning = Joiner()
        self._reason: FinishReason | None = None
        self._usage: tuple[int | None, ...] = (None, None, None)
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

    def add_call(self, fragment: Mapping[str, Json]) -> tuple[ModelEvent, ...]:
        """Add a fragment of a call, in OpenAI's format."""
        written = self.calls.add(fragment)
        if written is None:
            return ()
        self.progress += 1
        return (written.model_copy(update={"text": mend(written.text)}),) if written.text else ()

    def keep_reasoning(self, field: str, piece: str) -> None:
        """Keep a piece of reasoning that the server wants back in this field of the message."""
        if piece:
            self._fields[field] = f"{self._fields.get(field, '')}{piece}"

    def keep_reasoning_parts(self, field: str, parts: Iterable[Mapping[str, Json]]) -> None:
        """Keep pieces of a list of reasoning; pieces with one `index` belong together, and their texts are joined."""
        for part in parts:
            whole = self._parts.setdefault((field, str(part.get("index", len(self._parts)))), {})
            for name, value in part.items():
                before = whole.get(name)
                joined = (
                    name in ("text", "summary", "data") and isinstance(value, str) and isinstance(before, str)
                )
                whole[name] = f"{before}{value}" if joined else value if value is not None else before

    def finish(self, word: str) -> None:
        """Mark the answer as complete, with the server's finish reason."""
        self.complete = True
        self._reason = REASONS.get(word.lower(), "stop")

    def set_usage(self, prompt: int | None, completion: int | None, cached: int | None = None) -> None:
        """Set the tokens that the server counted; a later count replaces an earlier one."""
        counts = zip((prompt, completion, cached), self._usage, strict=True)
        self._usage = tuple(before if now is None else now for now, before in counts)

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
                hint="Try again, or choose another model in `planloom.model.name`.",
            )
        reason = "tool_calls" if calls and self._reason == "stop" else self._reason
        events: list[ModelEvent] = []
        if thought := self._reasoning.rest():
            events.append(ReasoningDelta(text=thought))
        if rest:
            events.append(TextDelta(text=rest))
        events.extend(calls)
        prompt, completion, cached = self._usage
        if prompt is not None or completion is not None:
            usage = UsageReported(
                prompt_tokens=prompt or 0, completion_tokens=completion or 0, cached_tokens=cached
            )
            events.append(usage)
        return (*events, Finished(reason=reason, reasoning=self._kept_reasoning()))

    def _kept_reasoning(self) -> tuple[Reasoning, ...]:
        """The data that the provider wants back with this answer."""
        fields = dict(self._fields)
        for (field, _), part in self._parts.items():
            fields[field] = [*list_of(fields.get(field)), part]
        return (*self.kept, *([Reasoning(provider=self.provider, data=fields)] if fields else ()))


def reasoning_fields(message: Message, provider: str) -> dict[str, Json]:
    """The fields of a message in which a provider gets its reasoning back."""
    return {
        name: value
        for each in message.reasoning
        if each.provider == provider
        for name, value in each.data.items()
    }
