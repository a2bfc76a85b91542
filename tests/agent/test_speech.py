"""What one turn of a model comes to, whichever way its calls were made."""

from __future__ import annotations

from planloom.agent.answer import control_specs
from planloom.agent.answer_decoder import AnswerDecoder, ToolCallMode, checked
from planloom.domain.values import CallId
from planloom.models.port import ToolCall
from tests.scoring import offered_tools

READ = '<tool_call>{"name":"read_file","arguments":{"path":"p"}}</tool_call>'
TOOLS = (*offered_tools(), *control_specs(direct=False))


def decoder(way: ToolCallMode = "native", *, fallback: bool = True) -> AnswerDecoder:
    return AnswerDecoder(way, TOOLS, fallback=fallback)


def test_a_printed_call_is_made_and_not_shown() -> None:
    hearing = decoder()
    shown = [hearing.hear(piece).visible for piece in ("I read it. <tool", READ.removeprefix("<tool"))]
    turn = hearing.turn((), (), cut=False)
    assert [(call.name, call.arguments) for call in turn.calls] == [("read_file", {"path": "p"})]
    assert "".join(shown) == turn.text == "I read it. "


def test_a_printed_control_call_steers() -> None:
    hearing = decoder()
    hearing.hear('{"name":"task_completed","arguments":{"summary":"All is read."}}')
    turn = hearing.turn((), (), cut=False)
    assert (turn.task_completed, turn.calls) == ("All is read.", ())


def test_printed_calls_do_not_count_beside_native_ones() -> None:
    hearing = decoder()
    hearing.hear(READ)
    native = ToolCall(call_id=CallId("1"), name="list_files", arguments={})
    assert hearing.turn((native,), (), cut=False).calls == (native,)


def test_native_calls_pass_the_checks_of_printed_ones() -> None:
    call = ToolCall(call_id=CallId("1"), name="functions.list_files", arguments={"recursive": "true"})
    read = checked(call, TOOLS)
    assert isinstance(read, ToolCall)
    assert (read.name, read.arguments) == ("list_files", {"recursive": True})


def test_what_cannot_run_is_malformed() -> None:
    hearing = decoder()
    hearing.hear('<tool_call>{"name":"format_disk","arguments":{}}</tool_call>')
    turn = hearing.turn((), (), cut=False)
    assert [each.name for each in turn.malformed] == ["format_disk"]


def test_reasoning_in_tags_is_no_answer() -> None:
    hearing = decoder()
    heard = hearing.hear("<think>hm</think>Yes.")
    turn = hearing.turn((), (), cut=False)
    assert turn.text == "Yes." and heard.reasoning == "hm"


def test_text_stays_text_where_printed_calls_are_switched_off() -> None:
    hearing = decoder(fallback=False)
    hearing.hear(READ)
    turn = hearing.turn((), (), cut=False)
    assert (turn.text, turn.calls) == (READ, ())


def test_an_answer_as_the_object_that_was_asked_for() -> None:
    hearing = decoder("json")
    hearing.hear('{"tool_calls":[{"name":"read_file","arguments":{"path":"p"}}],')
    hearing.hear('"task_completed":"Read it.","final_answer":""}')
    turn = hearing.turn((), (), cut=False)
    assert [call.name for call in turn.calls] == ["read_file"]
    assert (turn.task_completed, turn.final_answer) == ("Read it.", None)
