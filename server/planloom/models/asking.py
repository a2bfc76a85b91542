"""One question whose answer is only of use as a whole: what was said, what it cost, and how it ended."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Literal, NamedTuple, cast

from planloom.domain.plan import Usage
from planloom.models.port import (
    Finished,
    Model,
    ModelEvent,
    ModelRequest,
    Restarted,
    TextDelta,
    UsageReported,
)


class Answer(NamedTuple):
    """The visible text of an answer. `ended` is None where it was left before its end."""

    text: str
    usage: Usage
    ended: Literal["stop", "length", "tool_calls", "refused"] | None


async def answer_to(model: Model, request: ModelRequest, *, most_characters: int | None = None) -> Answer:
    """Ask, and take the answer in; one longer than `most_characters` is left there.

    What was said before a restart is void. Raises what `Model.stream` raises.
    """
    text: list[str] = []
    length = 0
    usage = Usage(requests=1)
    ended: Literal["stop", "length", "tool_calls", "refused"] | None = None
    async with aclosing(cast("AsyncGenerator[ModelEvent]", model.stream(request))) as events:
        async for event in events:
            match event:
                case TextDelta():
                    text.append(event.text)
                    length += len(event.text)
                case Restarted():
                    text.clear()
                    length = 0
                case UsageReported():
                    usage = usage_of(event)
                case Finished():
                    ended = event.reason
                case _:
                    continue
            if most_characters is not None and length > most_characters:
                break
    return Answer("".join(text), usage, ended)


def usage_of(reported: UsageReported) -> Usage:
    """What one request cost, as its server counted."""
    return Usage(
        requests=1,
        prompt_tokens=reported.prompt_tokens,
        completion_tokens=reported.completion_tokens,
    )
