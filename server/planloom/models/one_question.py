"""Asks one question and returns the whole answer, with its cost."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import NamedTuple

from planloom.domain.errors import ContextOverflow
from planloom.domain.plans.plan import Usage
from planloom.models.port import (
    Finished,
    FinishReason,
    Model,
    ModelEvent,
    ModelRequest,
    Restarted,
    TextDelta,
    UsageReported,
)


class Cost:
    """The usage of one question so far: all its requests, with the tokens that the server counted."""

    def __init__(self) -> None:
        self._before = Usage()
        self._now = Usage()

    @property
    def usage(self) -> Usage:
        return self._before.plus(self._now)

    @property
    def prompt_tokens(self) -> int:
        """The tokens of the prompt in the last request; 0 if unknown."""
        return self._now.prompt_tokens

    @property
    def completion_tokens(self) -> int:
        """The tokens of the answer to the last request; 0 if unknown."""
        return self._now.completion_tokens

    async def stream(self, model: Model, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Stream an answer, and count its usage. Raises what `Model.stream` raises."""
        self._now = Usage(requests=1)
        try:
            async with aclosing(model.stream(request)) as events:
                async for event in events:
                    if isinstance(event, UsageReported):
                        self._now = Usage(
                            requests=1,
                            prompt_tokens=event.prompt_tokens,
                            completion_tokens=event.completion_tokens,
                            cached_tokens=event.cached_tokens or 0,
                        )
                    elif isinstance(event, Restarted):
                        self._before = self.usage
                        self._now = Usage(requests=1)
                    yield event
        except ContextOverflow:
            # The prompt did not fit: it was not sent, or the server refused it.
            self._now = Usage()
            raise


class Answer(NamedTuple):
    """The visible text of an answer, and why it ended; `ended` is None if reading stopped before the end."""

    text: str
    ended: FinishReason | None


async def answer_to(
    model: Model, request: ModelRequest, cost: Cost, *, most_characters: int | None = None
) -> Answer:
    """Ask, and return the answer; stops reading after `most_characters`.

    Text before a restart is dropped. Raises what `Model.stream` raises.
    """
    text: list[str] = []
    length = 0
    ended: FinishReason | None = None
    async with aclosing(cost.stream(model, request)) as events:
        async for event in events:
            match event:
                case TextDelta():
                    text.append(event.text)
                    length += len(event.text)
                case Restarted():
                    text.clear()
                    length = 0
                case Finished():
                    ended = event.reason
                case _:
                    continue
            if most_characters is not None and length > most_characters:
                break
    return Answer("".join(text), ended)
