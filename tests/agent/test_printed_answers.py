"""An answer that is printed as one JSON object is read whole, whatever the model can do."""

from __future__ import annotations

import json
from typing import Any

import pytest

from planloom.agent.answer import Turn, control_specs
from planloom.agent.answer_decoder import AnswerDecoder, ToolCallMode, answer_schema
from planloom.agent.plan_spec import plan_in_words_spec
from planloom.domain.values import CallId
from planloom.models.port import ToolCall
from planloom.tools.registry import builtin

TOOLS = (*builtin().specs(), *control_specs(with_confidence=True), plan_in_words_spec())
READ: dict[str, Any] = {"name": "read_file", "arguments": {"path": "a.py"}}
MODES: tuple[ToolCallMode, ...] = ("native", "json", "text")


def decoded(
    mode: ToolCallMode, text: str, native: tuple[ToolCall, ...] = (), *, size: int = 7
) -> tuple[Turn, str]:
    """The turn, and what a person has seen of it while it streamed in pieces of this size."""
    decoder = AnswerDecoder(mode, TOOLS, fallback=True)
    shown = [decoder.feed(text[start : start + size]).visible for start in range(0, len(text), size)]
    return decoder.turn(native, (), cut=False), "".join(shown)


ANSWERS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    (
        "calls",
        {"reasoning": "First the file.", "tool_calls": [READ]},
        {"calls": ["read_file"]},
    ),
    (
        "calls and the end of the task",
        {"reasoning": "", "tool_calls": [READ], "task_completed": "Read a.py.", "final_answer": None},
        {"calls": ["read_file"], "task_completed": "Read a.py."},
    ),
    (
        "the end of the task",
        {"reasoning": "All is there.", "tool_calls": [], "task_completed": "Project webapp created."},
        {"task_completed": "Project webapp created."},
    ),
    (
        "the end of the task alone",
        {"task_completed": "Project webapp created."},
        {"task_completed": "Project webapp created."},
    ),
    (
        "the final answer",
        {"reasoning": "Done.", "tool_calls": [], "final_answer": "All 4 tasks are complete."},
        {"final_answer": "All 4 tasks are complete."},
    ),
    (
        "both ends",
        {"task_completed": "Step 4.", "final_answer": "All done.", "confidence": "medium"},
        {"task_completed": "Step 4.", "final_answer": "All done.", "confidence": "medium"},
    ),
    (
        "a simple answer",
        {"answer": "4", "confidence": "high"},
        {"final_answer": "4", "confidence": "high"},
    ),
    ("a number", {"answer": 4, "confidence": "low"}, {"final_answer": "4", "confidence": "low"}),
    ("an answer alone", {"answer": "4"}, {"final_answer": "4"}),
    ("an answer with reasons", {"reasoning": "2+2", "answer": "4"}, {"final_answer": "4"}),
    (
        "a question",
        {"reasoning": "It is not said.", "tool_calls": [], "ask_user": "Which port?"},
        {"question": "Which port?"},
    ),
    ("nothing yet", {"reasoning": "I think.", "tool_calls": []}, {}),
    ("calls in a string", {"tool_calls": json.dumps([READ])}, {"calls": ["read_file"]}),
    ("a call in a string", {"tool_calls": [json.dumps(READ)]}, {"calls": ["read_file"]}),
]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("answer", "read"), [row[1:] for row in ANSWERS], ids=[row[0] for row in ANSWERS])
@pytest.mark.parametrize(
    "form", ["{}", "```json\n{}\n```", "<think>Hm.</think>\n{}"], ids=["bare", "fenced", "thought"]
)
def test_a_printed_answer_is_read_whole(
    mode: ToolCallMode, answer: dict[str, Any], read: dict[str, Any], form: str
) -> None:
    turn, shown = decoded(mode, form.replace("{}", json.dumps(answer, indent=1)))
    assert [call.name for call in turn.calls] == read.get("calls", [])
    for name in ("task_completed", "final_answer", "confidence", "question"):
        assert getattr(turn, name) == read.get(name), name
    assert not turn.malformed
    assert "{" not in turn.text
    assert "{" not in shown


@pytest.mark.parametrize(
    "text",
    [
        'The endpoint replies:\n{"answer": "4", "unit": "m"}',
        '{"reasoning": "an essay", "grade": "A", "task_completed": "maybe"}',
        'A model would print {"task_completed": "Done."} here.',
        'For example:\n{"task_completed": "Done."}\n',
        'The answer is stored so:\n```json\n{"answer": "4"}\n```\nThat is all.',
        '{"answer": "4"}\n\n\nThat is what the endpoint replies.',
        '```json\n{"answer": "4"}\n```\nThat is what the endpoint replies.',
    ],
)
@pytest.mark.parametrize("size", [1, 7, 1_000])
def test_an_object_of_other_data_is_text(text: str, size: int) -> None:
    turn, shown = decoded("native", text, size=size)
    assert (turn.task_completed, turn.final_answer, turn.text.strip()) == (None, None, text.strip())
    assert shown and turn.text.startswith(shown)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("form", ["{}", "```json\n{}\n```"], ids=["bare", "fenced"])
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"reasoning": "Good.", "tool_calls": [], "task_completed": "Read it."', ("Read it.", None)),
        ('{"task_completed": "All.", "final_answer": "All is read."', ("All.", "All is read.")),
        ('{"answer": "4"', (None, "4")),
        ('{"answer": "4",}', (None, "4")),
        ("{'answer': '4'}", (None, "4")),
    ],
)
def test_a_damaged_answer_in_words_is_read(
    mode: ToolCallMode, form: str, text: str, said: tuple[str | None, str | None]
) -> None:
    turn, shown = decoded(mode, form.replace("{}", text))
    assert (turn.task_completed, turn.final_answer, turn.text, shown.strip()) == (*said, "", "")


@pytest.mark.parametrize(
    "text",
    [
        '{"task_completed": "Read',
        '{"tool_calls": [{"name": "read_file"',
        '{"answer": "4", "unit": "m"',
        '{"reasoning": "I think."',
    ],
)
def test_an_answer_that_stops_inside_a_field_ends_no_task(text: str) -> None:
    turn, _ = decoded("native", text)
    assert (turn.task_completed, turn.final_answer, turn.calls) == (None, None, ())


def test_the_end_of_the_task_counts_beside_native_calls() -> None:
    native = ToolCall(call_id=CallId("1"), name="read_file", arguments={"path": "a.py"})
    turn, _ = decoded("native", json.dumps({"tool_calls": [READ], "task_completed": "Read."}), (native,))
    assert (turn.calls, turn.task_completed, turn.text) == ((native,), "Read.", "")


def test_a_constrained_answer_says_how_sure_it_is() -> None:
    fields = answer_schema(TOOLS)["properties"]
    assert isinstance(fields, dict) and isinstance(fields["confidence"], dict)
    assert fields["confidence"]["enum"] == ["high", "medium", "low"]


@pytest.mark.parametrize("mode", ["native", "text"])
@pytest.mark.parametrize(
    "page", ["<!doctype html>", "<!DOCTYPE html>\n", '<!DOCTYPE html SYSTEM "about:legacy-compat">']
)
def test_a_whole_file_of_one_document_type_is_content(mode: ToolCallMode, page: str) -> None:
    call = {"name": "write_file", "arguments": {"path": "index.html", "content": page}}
    turn, _ = decoded(mode, json.dumps(call))
    assert [each.arguments["content"] for each in turn.calls] == [page]


@pytest.mark.parametrize(
    "text",
    [
        f"<tool_call>{json.dumps(json.dumps(READ))}</tool_call>",
        f"<tool_call>\n{json.dumps(json.dumps([READ]))}\n</tool_call>",
        f"[TOOL_CALLS]{json.dumps([json.dumps(READ)])}",
    ],
)
def test_a_call_that_is_encoded_twice_is_read(text: str) -> None:
    turn, shown = decoded("native", f"I read it.\n{text}")
    assert [(call.name, call.arguments) for call in turn.calls] == [("read_file", {"path": "a.py"})]
    assert "{" not in shown
