"""The adapter for the editor's own language model."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncGenerator
from typing import NamedTuple, Protocol

from planloom.domain.errors import ContextOverflow, ModelFailed, ModelProblem
from planloom.domain.model_text.surrogates import mend
from planloom.domain.values import CallId
from planloom.models.http.failures import TOO_LONG_HINT, is_overflow, stated_limit
from planloom.models.port import (
    HOSTED_CONTEXT,
    CallMade,
    Capabilities,
    Finished,
    ModelEvent,
    ModelIdentity,
    ModelRequest,
    TextDelta,
    ToolCall,
    UsageReported,
)
from planloom.models.tokens import TokenCounter


class EditorModelAnswer(NamedTuple):
    """The whole answer of the editor's model; token counts are None if the editor does not know them."""

    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class EditorCompletion(Protocol):
    """The port for the request `planloom/editor/complete`.

    With an empty `name` the editor chooses the model. Raises `ModelFailed` if the editor has no model or refuses;
    cancelling the call cancels the editor's request.
    """

    async def complete(self, request_id: str, name: str, request: ModelRequest) -> EditorModelAnswer: ...


class EditorModel:
    """A `Model` that uses the editor's. `seconds` limits a whole answer, since it does not stream."""

    def __init__(
        self,
        editor: EditorCompletion,
        identity: ModelIdentity,
        *,
        name: str = "",
        seconds: float = 300.0,
        context_tokens: int = 0,
    ) -> None:
        self._editor = editor
        self._identity = identity
        self._name = name
        self._seconds = seconds
        self._context_tokens = context_tokens
        self.counter = TokenCounter()

    @property
    def identity(self) -> ModelIdentity:
        return self._identity

    async def capabilities(self) -> Capabilities:
        return Capabilities(
            tools=True, context_tokens=self._context_tokens or None, assumed_context=HOSTED_CONTEXT
        )

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent]:
        tokens = self.counter.request(request)
        if self._context_tokens and tokens > self._context_tokens:
            raise ContextOverflow(
                f"The prompt has about {tokens} tokens; the editor's model takes {self._context_tokens}.",
                hint="Attach less, or raise `planloom.model.contextTokens`.",
            )
        answer = await self._ask(request)
        if answer.text:
            yield TextDelta(text=mend(answer.text))
        used = {call.call_id for message in request.messages for call in message.tool_calls}
        for number, call in enumerate(answer.tool_calls, start=1):
            unusable = not call.call_id or call.call_id in used
            call_id = CallId(f"call_{len(request.messages)}_{number}") if unusable else call.call_id
            used.add(call_id)
            yield CallMade(call=call.model_copy(update={"call_id": call_id}))
        if answer.prompt_tokens is not None or answer.completion_tokens is not None:
            self.counter.learn(request, answer.prompt_tokens or 0)
            yield UsageReported(
                prompt_tokens=answer.prompt_tokens or 0, completion_tokens=answer.completion_tokens or 0
            )
        yield Finished(reason="tool_calls" if answer.tool_calls else "stop")

    async def close(self) -> None:
        """There is nothing to close."""

    async def _ask(self, request: ModelRequest) -> EditorModelAnswer:
        try:
            async with asyncio.timeout(self._seconds):
                answer = await self._editor.complete(uuid.uuid4().hex, self._name, request)
        except ModelFailed as failure:
            if not is_overflow(failure.message):
                raise
            raise ContextOverflow(
                f"The prompt does not fit the editor's model. {failure.message}",
                hint=TOO_LONG_HINT,
                details={"contextTokens": stated_limit(failure.message)},
            ) from None
        except TimeoutError:
            raise ModelFailed(
                "model_unavailable",
                f"The editor's model did not answer within {self._seconds:g} seconds.",
                hint="Raise `model.firstTokenTimeoutSeconds`, or choose another model.",
                problem=ModelProblem(cause="slow", provider="editor", model=self._name),
            ) from None
        if not answer.text.strip() and not answer.tool_calls:
            raise ModelFailed(
                "model_output_invalid",
                "The editor's model gave an empty answer.",
                hint="Try again, or choose another model in the editor.",
            )
        return answer
