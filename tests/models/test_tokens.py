"""The token estimate is close from the start, and learns from servers' counts."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planloom.domain.values import CallId
from planloom.models.port import Image, Message, ModelRequest, ToolCall
from planloom.models.tokens import FEATURES, TokenCounter, features
from tests.models.support import READ_FILE, asks

ENGLISH = "The quick brown fox jumps over the lazy dog, and nobody knows why. " * 20
CODE = "def read_file(path: str) -> list[int]:\n    return [int(x) for x in open(path)]\n\n" * 20
CHINESE = "计划是一本事件的账本,其余的一切都是它的投影。" * 20


@pytest.mark.parametrize(
    ("text", "fewest", "most"),
    [
        ("", 0, 0),
        ("Hello", 1, 2),
        (ENGLISH, 260, 420),
        (CODE, 350, 750),
        (CHINESE, 250, 700),
        ("7" * 100, 33, 100),
    ],
)
def test_the_first_estimate_is_of_the_right_size(text: str, fewest: int, most: int) -> None:
    assert fewest <= TokenCounter().text(text) <= most


@pytest.mark.parametrize("factor", [0.6, 1.7])
def test_reports_make_the_estimate_right_for_each_kind_of_text(factor: float) -> None:
    truth = TokenCounter()
    counter = TokenCounter()
    requests = [asks(text[: 200 * size]) for size in range(1, 6) for text in (ENGLISH, CODE, CHINESE)]
    for request in requests:
        counter.learn(request, round(truth.request(request) * factor))
    for text in (ENGLISH, CODE, CHINESE):
        real = truth.request(asks(text)) * factor
        assert abs(counter.request(asks(text)) - real) < 0.05 * real
        assert counter.at_most(asks(text)) >= real


@pytest.mark.parametrize("count", [0, -5, 1, 10**15])
def test_a_report_that_cannot_be_meant_is_ignored(count: int) -> None:
    counter = TokenCounter()
    counter.learn(asks(ENGLISH), count)
    assert counter.request(asks(ENGLISH)) == TokenCounter().request(asks(ENGLISH))


@given(
    st.lists(st.tuples(st.sampled_from([ENGLISH, CODE, CHINESE, "x"]), st.integers(-10, 10**6)), max_size=20)
)
def test_no_reports_make_the_estimate_absurd(reports: list[tuple[str, int]]) -> None:
    counter = TokenCounter()
    for text, count in reports:
        counter.learn(asks(text), count)
    assert 0 < counter.request(asks(ENGLISH)) <= counter.at_most(asks(ENGLISH))


@given(st.text(max_size=100))
def test_any_text_has_features(text: str) -> None:
    assert len(features(text)) == FEATURES
    assert all(count >= 0 for count in features(text))
    assert TokenCounter().text(text + "\ud800") >= 0


def test_tools_calls_schemas_and_images_count() -> None:
    counter = TokenCounter()
    image = Image(media_type="image/png", data=b"")
    plain = counter.request(asks())
    assert counter.request(asks(tools=(READ_FILE,))) > plain + 10
    assert counter.request(asks(response_schema={"type": "object", "properties": {}})) > plain + 3
    with_image = ModelRequest(messages=(Message(role="user", text="Hi", images=(image,)),))
    assert counter.request(with_image) > plain + 200


def test_a_conversation_that_grows_and_changes_is_counted_as_if_it_were_new() -> None:
    counter = TokenCounter()
    call = ToolCall(call_id=CallId("1"), name="read_file", arguments={"path": "naïve.py"})
    messages = [Message(role="system", text=ENGLISH), Message(role="user", text="")]
    for number in range(20):
        messages.append(Message(role="assistant", text=CODE[:number], tool_calls=(call,) * (number % 3)))
        if number % 4 == 0:
            # The message that is replaced is freed, and another may be made in its place.
            messages[number] = messages[number].model_copy(update={"text": CHINESE[:number]})
        tools = (READ_FILE,) * (number // 7)
        request = ModelRequest(messages=tuple(messages), tools=tools)
        assert counter.request(request) == TokenCounter().request(request)


def test_of_a_longer_conversation_only_what_is_new_is_counted() -> None:
    counter = TokenCounter()
    messages = [Message(role="user", text=ENGLISH * 1_000) for _ in range(3)]

    def seconds() -> float:
        request = ModelRequest(messages=tuple(messages))
        start = time.process_time()
        counter.request(request)
        return time.process_time() - start

    first = seconds()
    messages.append(Message(role="user", text="Go on."))
    assert seconds() < first / 10
