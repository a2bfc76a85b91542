"""Steps are announced while the model still writes, however its text is cut into chunks."""

from __future__ import annotations

import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planloom.domain.model_text.reasoning import REASONING_TAGS
from planloom.planning.formats.draft import DraftStep, PlanText
from planloom.planning.formats.reader import read_plan
from planloom.planning.formats.stream import PlanStream
from tests.depth import rounds
from tests.planning.formats.test_reader import PIECES
from tests.support.messy_plans import cases


def announced(chunks: list[str]) -> list[DraftStep]:
    stream = PlanStream()
    found = [step for chunk in chunks for step in stream.feed(chunk)]
    assert stream.close() == read_plan("".join(chunks))
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("---PLAN-START---\nSTEP 1: A\nDO: x\nSTEP 2: B\nDO: y\n---PLAN-END---\n", ["A"]),
        ("```\n---PLAN-START---\nSTEP 1: A\nDO: x\nSTEP 2: B\n", ["A"]),
        ("STEP 1: A\nINSTRUCTION: x\nSTEP 2: B\n", ["A"]),
        ("1. A - x\n2. B - y\n3. C", ["A"]),
        ('{"steps": [{"description": "A"}, {"description": "B"}, {"descr', ["A", "B"]),
        ('```json\n[{"task": "A", "checks": [{"kind": "file_exists"}]}, {"task": "B"', ["A"]),
        ("<think>\n1. no\n2. no\n</think>\n1. A\n2. B\n", ["A"]),
        ("---PLAN-START---\nSTEP 1: A\nDO:\n```\nSTEP 2: no\n```\nSTEP 2: B\n", ["A"]),
        ("Hello. Step-by-step we go.\n", []),
    ],
)
def test_a_step_is_announced_once_it_is_over(text: str, expected: list[str]) -> None:
    assert [step.description for step in announced([text])] == expected
    assert [step.description for step in announced(list(text))] == expected


@pytest.mark.parametrize(
    ("opens", "closes"),
    [
        *((opens, close) for opens, closes in REASONING_TAGS.items() for close in closes),
        ("<|channel|>analysis<|message|>", "<|end|>"),
        ("<|channel|>analysis<|message|>", "<|channel|>final<|message|>"),
    ],
)
@pytest.mark.parametrize(
    "plan", ["1. {} - x\n2. {} - y\n", '{{"steps": [{{"task": "{}"}}, {{"task": "{}"}}, ']
)
def test_no_step_is_announced_out_of_reasoning(opens: str, closes: str, plan: str) -> None:
    thought = plan.format("no", "no")
    text = f"{opens}Hm:\n{thought}{closes}\n1. A - x\n2. B - y\n"
    assert [step.description for step in announced([text])] == ["A"]
    assert [step.description for step in announced(list(text))] == ["A"]


def test_a_tag_in_inline_code_begins_no_reasoning() -> None:
    text = "1. Escape `<think>` - x\n2. B - y\n"
    assert [step.description for step in announced([text])] == ["Escape `<think>`"]
    assert [step.description for step in announced(list(text))] == ["Escape `<think>`"]


@pytest.mark.deep
def test_announced_steps_are_those_of_the_plan() -> None:
    for case in cases(rounds(100, 400), 5):
        found = announced([case.text])
        plan = read_plan(case.text)
        if isinstance(plan, PlanText) and "thought" not in case.fault and "two blocks" not in case.fault:
            assert tuple(found) == plan.steps[: len(found)], (case.format, case.fault, case.text)


@pytest.mark.deep
def test_most_steps_are_announced_before_the_end() -> None:
    total = early = 0
    for case in cases(rounds(100, 400), 6):
        total += len(case.expected)
        early += len(announced([case.text]))
    assert early > total * 0.6


@given(
    st.lists(st.sampled_from(PIECES), max_size=30).map("".join) | st.text(max_size=200),
    st.integers(0, 2**32),
)
def test_chunks_make_no_difference(text: str, seed: int) -> None:
    whole = announced([text])
    assert announced(list(text)) == whole
    rng = random.Random(seed)
    cuts = sorted(rng.randrange(len(text) + 1) for _ in range(5))
    assert announced([text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]) == whole


@pytest.mark.deep
def test_messy_outputs_in_chunks() -> None:
    rng = random.Random(1)
    for case in cases(rounds(40, 400), 7):
        whole = announced([case.text])
        assert announced(list(case.text)) == whole
        cuts = sorted(rng.randrange(len(case.text) + 1) for _ in range(6))
        chunks = [case.text[a:b] for a, b in zip([0, *cuts], [*cuts, len(case.text)], strict=True)]
        assert announced(chunks) == whole


@pytest.mark.slow
@pytest.mark.deep
@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "piece", ["a", "\\", '{"a', "[", " ", '{"b":"', "1. a\n", "STEP 1: a\n", "```\n", "<think>"]
)
def test_time_is_linear_in_single_characters(piece: str) -> None:
    def seconds(size: int) -> float:
        text = piece * (size // len(piece))
        stream = PlanStream()
        start = time.process_time()
        for sign in text:
            stream.feed(sign)
        return time.process_time() - start

    size = rounds(20_000, 50_000)
    assert seconds(size) < max(seconds(size // 10), 0.02) * 60


@pytest.mark.slow
@pytest.mark.deep
@pytest.mark.parametrize(
    "piece", ["\n", "\r\n", "a\n", "{}\n", "[{}]", '{"steps":[{"description":"a b"}]}\n', "```\n"]
)
@pytest.mark.parametrize("start", ["", "---PLAN-START---\nSTEP 1: ", "```\n"])
def test_one_large_chunk_takes_linear_time(start: str, piece: str) -> None:
    def seconds(size: int) -> float:
        stream = PlanStream()
        began = time.process_time()
        stream.feed(start + piece * (size // len(piece)))
        return time.process_time() - began

    size = rounds(15_000, 100_000)
    assert seconds(size) < max(seconds(size // 10), 0.02) * 40
