"""One turn of a model read in each tool call mode."""

from __future__ import annotations

from planloom.agent.answer import control_specs, turn_of
from planloom.agent.answer_decoder import AnswerDecoder, ToolCallMode, checked_call
from planloom.domain.values import CallId
from planloom.models.port import ToolCall
from tests.scoring import offered_tools

READ = '<tool_call>{"name":"read_file","arguments":{"path":"p"}}</tool_call>'
TOOLS = (*offered_tools(), *control_specs(with_confidence=True))


def new_decoder(mode: ToolCallMode = "native", *, fallback: bool = True) -> AnswerDecoder:
    return AnswerDecoder(mode, TOOLS, fallback=fallback)


def test_a_printed_call_is_made_and_not_shown() -> None:
    decoder = new_decoder()
    shown = [decoder.feed(piece).visible for piece in ("I read it. <tool", READ.removeprefix("<tool"))]
    turn = decoder.turn((), (), cut=False)
    assert [(call.name, call.arguments) for call in turn.calls] == [("read_file", {"path": "p"})]
    assert "".join(shown) == turn.text == "I read it. "


def test_a_printed_control_call_counts() -> None:
    decoder = new_decoder()
    decoder.feed('{"name":"task_completed","arguments":{"summary":"All is read."}}')
    turn = decoder.turn((), (), cut=False)
    assert (turn.task_completed, turn.calls) == ("All is read.", ())


def test_printed_calls_do_not_count_beside_native_ones() -> None:
    decoder = new_decoder()
    decoder.feed(READ)
    native = ToolCall(call_id=CallId("1"), name="list_files", arguments={})
    assert decoder.turn((native,), (), cut=False).calls == (native,)


def test_native_calls_pass_the_checks_of_printed_ones() -> None:
    call = ToolCall(call_id=CallId("1"), name="functions.list_files", arguments={"recursive": "true"})
    read = checked_call(call, TOOLS)
    assert isinstance(read, ToolCall)
    assert (read.name, read.arguments) == ("list_files", {"recursive": True})


def test_what_cannot_run_is_malformed() -> None:
    decoder = new_decoder()
    decoder.feed('<tool_call>{"name":"format_disk","arguments":{}}</tool_call>')
    turn = decoder.turn((), (), cut=False)
    assert [each.name for each in turn.malformed] == ["format_disk"]


def test_reasoning_in_tags_is_no_answer() -> None:
    decoder = new_decoder()
    chunk = decoder.feed("<think>hm</think>Yes.")
    turn = decoder.turn((), (), cut=False)
    assert turn.text == "Yes." and chunk.reasoning == "hm"


def test_text_stays_text_where_printed_calls_are_switched_off() -> None:
    decoder = new_decoder(fallback=False)
    decoder.feed(READ)
    turn = decoder.turn((), (), cut=False)
    assert (turn.text, turn.calls) == (READ, ())


def test_an_answer_as_the_object_that_was_asked_for() -> None:
    decoder = new_decoder("json")
    decoder.feed('{"tool_calls":[{"name":"read_file","arguments":{"path":"p"}}],')
    decoder.feed('"task_completed":"Read it.","final_answer":""}')
    turn = decoder.turn((), (), cut=False)
    assert [call.name for call in turn.calls] == ["read_file"]
    assert (turn.task_completed, turn.final_answer) == ("Read it.", None)


def test_words_beside_a_control_call_that_cannot_be_read_are_kept() -> None:
    call = ToolCall(call_id=CallId("a"), name="final_answer", arguments={"text": ""})
    turn = turn_of("I looked at both files.", [call])
    assert turn.text == "I looked at both files." and turn.malformed[0].text == "{'text': ''}"
