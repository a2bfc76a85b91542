"""Asking a model about an ambiguous request: the question, the answer, and no answer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planloom.domain.errors import ModelFailed
from planloom.domain.plans.plan import Qualification
from planloom.intake.routing.classifier import classify, read_classification
from planloom.intake.routing.qualification import Classification
from planloom.models.port import Capabilities, Finished, ModelEvent, ModelIdentity, ModelRequest, TextDelta

RULES = Qualification(task_type="code", complexity="trivial", risk_level="low", reasons=(), by="rules")
VERDICT = (
    '{"planned": true, "task_type": "code", "complexity": "moderate", "risk_level": "low", "reason": "Big."}'
)
READ = Classification(planned=True, task_type="code", complexity="moderate", risk_level="low", reason="Big.")


class Saying:
    """A model that says one thing, or fails, or never ends."""

    identity = ModelIdentity(provider="test", name="test", reason="test")

    def __init__(
        self, text: str = "", *, fails: bool = False, hangs: bool = False, schema: bool = False
    ) -> None:
        self.text = text
        self.fails = fails
        self.hangs = hangs
        self.schema = schema
        self.asked: list[ModelRequest] = []

    async def capabilities(self) -> Capabilities:
        return Capabilities(json_schema=self.schema)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent]:
        self.asked.append(request)
        if self.fails:
            raise ModelFailed("model_unavailable", "It is gone.")
        if self.hangs:
            await asyncio.Event().wait()
        for letter in self.text:
            yield TextDelta(text=letter)
        yield Finished(reason="stop")

    async def close(self) -> None: ...


@pytest.mark.parametrize(
    "answer",
    [
        VERDICT,
        f"Sure!\n```json\n{VERDICT}\n```\nAnything else?",
        f"<think>{{maybe}} {VERDICT.replace('true', 'false')}</think>{VERDICT}",
        VERDICT.replace("{", '{"extra": [1, {}], ', 1),
    ],
)
async def test_a_verdict_is_read(answer: str) -> None:
    assert await classify(Saying(answer), "Baue etwas", RULES) == READ


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "yes",
        "{",
        '{"planned": true}',
        VERDICT[:-1],
        VERDICT.replace("moderate", "huge"),
        "[" * 100_000,
        "null",
    ],
)
async def test_what_is_no_verdict_is_none(answer: str) -> None:
    assert await classify(Saying(answer), "Baue etwas", RULES) is None


async def test_without_an_answer_in_time_there_is_none() -> None:
    assert await classify(Saying(fails=True), "x", RULES) is None
    assert await classify(Saying(hangs=True), "x", RULES, seconds=0.01) is None


async def test_the_request_is_fenced_as_data_and_the_answer_constrained_where_possible() -> None:
    model = Saying(VERDICT, schema=True)
    await classify(model, "a ``` b" + "x" * 10_000, RULES)
    (request,) = model.asked
    assert request.response_schema is not None
    assert request.messages[1].text.startswith("````\na ``` b") and len(request.messages[1].text) < 5000
    plain = Saying(VERDICT)
    await classify(plain, "x", RULES)
    assert plain.asked[0].response_schema is None


@given(st.text(alphabet='{}[]":,truefals pnd_'))
def test_any_answer_is_read(answer: str) -> None:
    read_classification(answer)


@pytest.mark.parametrize("unit", ["{", '{"', "{}", '{"a":', "[{"])
def test_reading_takes_bounded_time(unit: str) -> None:
    started = time.process_time()
    read_classification(unit * (20_000 // len(unit)))
    assert time.process_time() - started < 20
