"""What a conversation sends, in cases that no whole plan reaches easily."""

from __future__ import annotations

import pytest

from planloom.agent.answer import Turn
from planloom.agent.answer_decoder import ToolCallMode
from planloom.agent.conversation import Conversation
from planloom.agent.prompts import SYSTEM, Brief, Section, how_to_work
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


def listed(*lines: str) -> Brief:
    return Brief("You work.", (Section("TASK LIST", "\n".join(lines), of_lines=True),), "Go on.")


async def last_message(conversation: Conversation, brief: Brief) -> str:
    return (await conversation.request("native", lambda: brief, ())).messages[-1].text


async def test_of_a_long_list_only_the_changed_lines_are_sent_again() -> None:
    conversation = new_conversation()
    lines = [f"[ ] {number}. Do it" for number in range(1, 10)]
    assert lines[8] in await last_message(conversation, listed(*lines))
    begun = ["[x] 1. Do it", "[>] 2. Do it", *lines[2:]]
    sent = await last_message(conversation, listed(*begun))
    assert sent.startswith("TASK LIST (changed lines)\n[x] 1. Do it\n[>] 2. Do it\n\nINSTRUCTIONS")
    fewer = await last_message(conversation, listed(*begun[:-1]))
    assert fewer.startswith("TASK LIST\n[x] 1. Do it") and lines[8] not in fewer


async def test_a_list_that_has_changed_for_the_most_part_is_sent_whole() -> None:
    conversation = new_conversation()
    await last_message(conversation, listed("[>] 1. One", "[ ] 2. Two", "[ ] 3. Three"))
    sent = await last_message(conversation, listed("[x] 1. One", "[>] 2. Two", "[ ] 3. Three"))
    assert sent.startswith("TASK LIST\n[x] 1. One\n[>] 2. Two\n[ ] 3. Three")


@pytest.mark.parametrize("mode", ["native", "json", "text"])
async def test_the_rules_of_a_phase_stand_under_the_heading_that_the_system_prompt_names(
    mode: ToolCallMode,
) -> None:
    brief = Brief(SYSTEM, (), "Begin now.", how_to_work("- Work well."))
    request = await new_conversation().request(mode, lambda: brief, ())
    assert "HOW TO WORK and INSTRUCTIONS say" in request.messages[0].text
    whole = "\n\n".join(message.text for message in request.messages)
    assert "\n\nHOW TO WORK\n- Work well.\n\n" in whole and "\n\nINSTRUCTIONS\nBegin now." in whole
