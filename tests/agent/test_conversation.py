"""What a native conversation sends, in cases that no whole plan reaches easily."""

from __future__ import annotations

from planloom.agent.answer import Turn
from planloom.agent.conversation import Conversation
from planloom.agent.prompts import Brief, Section
from planloom.agent.result_budget import FixedContextWindow
from planloom.domain.values import CallId
from planloom.models.port import ToolCall
from planloom.models.tokens import TokenCounter

BRIEF = Brief("You work.", (Section("CURRENT TASK", "Look."),), "Begin now.")


def new_conversation() -> Conversation:
    return Conversation(FixedContextWindow(10_000, 5_000, TokenCounter()))


async def test_a_request_that_is_built_again_is_the_same() -> None:
    """A request that a server refuses as too long is built again before there is an answer."""
    conversation = new_conversation()
    first = await conversation.request("native", lambda: BRIEF, ())
    again = await conversation.request("native", lambda: BRIEF, ())
    assert again.messages == first.messages


async def test_a_call_that_was_left_out_is_answered_without_a_false_reason() -> None:
    conversation = new_conversation()
    await conversation.request("native", lambda: BRIEF, ())
    call = ToolCall(call_id=CallId("a"), name="read_file", arguments={})
    conversation.add_answer(Turn(made=(call,), calls=(call,)))
    answer = (await conversation.request("native", lambda: BRIEF, ())).messages[-1]
    assert answer.role == "tool" and "not run" in answer.text and "interrupted" not in answer.text
