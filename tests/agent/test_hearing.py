"""What one turn of a model comes to, whichever way its calls were made."""

from __future__ import annotations

from planloom.agent.answer import control_specs
from planloom.agent.hearing import Hearing
from planloom.domain.values import CallId
from planloom.models.port import ToolCall
from tests.scoring import offered_tools

READ = '<tool_call>{"name":"read_file","arguments":{"path":"p"}}</tool_call>'


def heard(*, read_text: bool = True) -> tuple[Hearing, list[tuple[str, str]]]:
    shown: list[tuple[str, str]] = []
    tools = (*offered_tools(), *control_specs(direct=False))
    return Hearing(tools, lambda kind, text: shown.append((kind, text)), read_text=read_text), shown


def test_a_printed_call_is_made_and_not_shown() -> None:
    hearing, shown = heard()
    for piece in ("I read it. <tool", READ.removeprefix("<tool")):
        hearing.text(piece)
    turn = hearing.turn(cut=False)
    assert [(call.name, call.arguments) for call in turn.calls] == [("read_file", {"path": "p"})]
    assert "".join(text for _, text in shown) == turn.text == "I read it. "


def test_a_printed_control_call_steers() -> None:
    hearing, _ = heard()
    hearing.text('{"name":"task_completed","arguments":{"summary":"All is read."}}')
    turn = hearing.turn(cut=False)
    assert (turn.task_completed, turn.calls) == ("All is read.", ())


def test_printed_calls_do_not_count_beside_native_ones() -> None:
    hearing, _ = heard()
    hearing.text(READ)
    hearing.call(ToolCall(call_id=CallId("1"), name="functions.list_files", arguments={"recursive": "true"}))
    turn = hearing.turn(cut=False)
    assert [(call.name, call.arguments) for call in turn.calls] == [("list_files", {"recursive": True})]


def test_what_cannot_run_is_malformed() -> None:
    hearing, _ = heard()
    hearing.text('<tool_call>{"name":"format_disk","arguments":{}}</tool_call>')
    turn = hearing.turn(cut=False)
    assert [each.name for each in turn.malformed] == ["format_disk"]


def test_reasoning_in_tags_is_no_answer() -> None:
    hearing, shown = heard()
    hearing.text("<think>hm</think>Yes.")
    assert hearing.turn(cut=False).text == "Yes."
    assert shown == [("reasoning", "hm"), ("text", "Yes.")]


def test_text_stays_text_where_printed_calls_are_switched_off() -> None:
    hearing, _ = heard(read_text=False)
    hearing.text(READ)
    turn = hearing.turn(cut=False)
    assert (turn.text, turn.calls) == (READ, ())
