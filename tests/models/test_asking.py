"""Whole answers to one question, and their cost."""

from __future__ import annotations

import pytest

from planloom.domain.plans.plan import Usage
from planloom.models.offline.scripted import ScriptedModel, Turn, says
from planloom.models.one_question import Answer, Cost, answer_to
from planloom.models.port import (
    Finished,
    Message,
    ModelEvent,
    ModelRequest,
    Restarted,
    TextDelta,
    UsageReported,
)

REQUEST = ModelRequest(messages=(Message(role="user", text="?"),))
RESTARTED = Restarted(problem="broken", attempt=1, wait_seconds=0)


def text_delta(text: str) -> TextDelta:
    return TextDelta(text=text)


@pytest.mark.parametrize(
    ("events", "answer", "usage"),
    [
        (
            (text_delta("a"), text_delta("b"), Finished(reason="stop")),
            Answer("ab", "stop"),
            Usage(requests=1),
        ),
        (
            (text_delta("half"), RESTARTED, text_delta("whole"), Finished(reason="stop")),
            Answer("whole", "stop"),
            Usage(requests=2),
        ),
        ((text_delta("a"), Finished(reason="length")), Answer("a", "length"), Usage(requests=1)),
        (
            (text_delta("a"), UsageReported(prompt_tokens=7, completion_tokens=2), Finished(reason="stop")),
            Answer("a", "stop"),
            Usage(requests=1, prompt_tokens=7, completion_tokens=2),
        ),
    ],
)
async def test_an_answer(events: tuple[ModelEvent, ...], answer: Answer, usage: Usage) -> None:
    cost = Cost()
    assert await answer_to(ScriptedModel([Turn(events=events)]), REQUEST, cost) == answer
    assert cost.usage == usage


async def test_reading_stops_after_the_most_characters() -> None:
    answer = await answer_to(ScriptedModel([says("x" * 10_000)]), REQUEST, Cost(), most_characters=100)
    assert 100 < len(answer.text) < 200 and answer.ended is None
