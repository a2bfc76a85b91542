"""Properties of the call reader: any text, any chunks, in linear time; problems, reasoning and native calls."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planloom.agent.toolcalls.events import CallProblem, CallRead, CallsRead, VisibleText
from planloom.agent.toolcalls.offered_tools import native_call
from planloom.agent.toolcalls.reader import CallReader, gathered
from planloom.agent.toolcalls.tokens import TOKENS, kind_of
from tests.agent.toolcalls.cases import ALL
from tests.agent.toolcalls.checks import groupings
from tests.scoring import offered_tools, stream_tool_calls

FAMILIES = 46
MEGABYTE = 1_000_000
EXAMPLES = Path(__file__).parents[2] / "data" / "toolcalls_examples.jsonl"
PIECES = (
    *TOKENS,
    *"{}[]()\"'`:,;<>=\n\\/#-+1a “”\t",
    *(
        "name",
        "arguments",
        "read_file",
        "path",
        "```json\n",
        "```",
        "Action:",
        "Action Input:",
        "Observation:",
    ),
    *("<parameter=path>", "</parameter>", "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>"),
    *("<read_file>", "<path>", "</path>", "\r\n", '"""', "\\u12", "\ud83d", "\ude00", "\u200b"),
    *('{"name":"read_file","arguments":{"path":"p"}}', "[read_file(path='p')]"),
)
BITS = st.sampled_from(PIECES)


def read(text: str) -> CallsRead:
    """What is read of a whole text."""
    reader = CallReader(offered_tools())
    return gathered((*reader.feed(text), *reader.close()))


def _examples() -> list[dict[str, Any]]:
    return [json.loads(line) for line in EXAMPLES.read_text(encoding="utf-8").splitlines()]


def _plain(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


@pytest.mark.parametrize("row", _examples(), ids=lambda row: row["format"])
def test_the_examples_read_as_they_should_in_any_chunks(row: dict[str, Any]) -> None:
    for chunks in (*groupings(row["text"]), row.get("chunks") or [row["text"]]):
        calls, visible = stream_tool_calls(chunks)
        assert calls == row["expected"]
        if "visible_text" in row:
            assert _plain(visible) == _plain(row["visible_text"])


CALL = '{"name":"read_file","arguments":{"path":"p"}}'
TAGGED = f"<tool_call>{CALL}</tool_call>"
QUOTED = (
    f"The README says:\n```\n{CALL}\n```\nI will not do that.",
    f"The file contains this text:\n```json\n{CALL}\n```",
    f"I found this in notes.txt:\n\n```\n{CALL}\n```",
    f"The page has the line\n{CALL}\nwhich I leave alone.",
    f"The file says:\n{TAGGED}\nI will not do that.",
    f"The page quotes {TAGGED} as an attack.",
    f"In notes.txt there is the line {TAGGED}, which I ignore.",
    f"[TOOL_CALLS] is used like [TOOL_CALLS] [{CALL}]",
    f"[TOOL_CALLS] is used like this: [TOOL_CALLS][{CALL}]",
    f"> {TAGGED}",
    f"`{TAGGED}`",
    f'The file says "{CALL}"',
)
OWN = (
    f"I will read it.\n```json\n{CALL}\n```",
    f"The file contains a mistake. Let me read it: {TAGGED}",
    f"The test says what is wrong, so I read the file.\n{TAGGED}",
    f"Let me see what it contains.\n\n```\n{CALL}\n```\nThen I go on.",
    f"Now I know what the user has asked me to do.\n{TAGGED}",
    f"I have read what it says. {TAGGED}",
    f"You asked me to call:\n{TAGGED}",
    f"I begin with this:\n```json\n{CALL}\n```",
)


@pytest.mark.parametrize("text", QUOTED)
def test_what_somebody_else_has_written_is_no_call(text: str) -> None:
    for chunks in groupings(text):
        calls, visible = stream_tool_calls(chunks)
        assert calls == [] and "read_file" in visible


@pytest.mark.parametrize("text", OWN)
def test_the_models_own_calls_beside_such_words_count(text: str) -> None:
    for chunks in groupings(text):
        calls, _ = stream_tool_calls(chunks)
        assert [call["name"] for call in calls] == ["read_file"]


def test_every_family_has_a_case() -> None:
    with_calls = {case.family for case in ALL if case.calls}
    assert with_calls == set(range(1, FAMILIES + 1))


def test_no_token_hides_inside_another_but_at_its_end() -> None:
    hidden = [
        (inner, outer) for inner in TOKENS for outer in TOKENS if inner != outer and inner in outer[:-1]
    ]
    assert [pair for pair in hidden if not pair[1].endswith(pair[0])] == []


@given(st.lists(BITS, max_size=25), st.randoms(use_true_random=False))
def test_any_soup_of_marks_reads_the_same_in_any_chunks(bits: list[str], chance: Any) -> None:
    text = "".join(bits)
    whole = stream_tool_calls([text])
    for chunks in groupings(text, chance.randrange(1000)):
        assert stream_tool_calls(chunks) == whole


@given(st.sampled_from(ALL), st.integers(0, 400), st.integers(0, 6), BITS)
def test_a_damaged_call_never_raises_and_reads_the_same_in_any_chunks(
    case: Any, at: int, cut: int, bit: str
) -> None:
    text = case.text[:at] + bit + case.text[at + cut :]
    whole = stream_tool_calls([text])
    for chunks in groupings(text):
        assert stream_tool_calls(chunks) == whole


@given(st.text())
def test_text_without_marks_is_all_visible(text: str) -> None:
    plain = re.sub(r"[<\[{>`|◁~]", "", text)
    if not any(token in plain for token in TOKENS) and not plain.startswith("all"):
        assert read(plain).visible_text == plain


@pytest.mark.parametrize(
    "opening",
    [
        "print(",
        "print(\n",
        "f(",
        "[f(",
        "[",
        "{",
        '{"a":',
        "<tool_call>",
        "<think>",
        "```\n",
        "<a>",
        '"',
        "f(a=[",
    ],
)
@pytest.mark.parametrize(
    "start", ["", "```\n", "```tool_code\n", "<tool_call>", "[TOOL_CALLS]", "[", "[read_file("]
)
def test_no_depth_of_nesting_raises(start: str, opening: str) -> None:
    assert stream_tool_calls([start + opening * 3_000])[0] == []


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@pytest.mark.parametrize("call", ['{"name":"read_file","arguments":{"path":"p"}}', "read_file\n{path: 'p'}"])
def test_brackets_too_deep_to_be_data_hide_calls_up_to_a_blank_line(call: str, line_end: str) -> None:
    deep = "{" * 150 + line_end + call.replace("\n", line_end) + line_end
    assert stream_tool_calls([deep])[0] == []
    for chunks in groupings(f"{deep}{line_end}{call}"):
        assert stream_tool_calls(chunks)[0] == [{"name": "read_file", "arguments": {"path": "p"}}]


@pytest.mark.parametrize(
    "unit",
    ["<", "{", "[", "`", "7", '"', "'", "\n{", "<tool_call>", "<tool_call>{", '<tool_call>{"a</tool_call>'],
)
@pytest.mark.parametrize("size", [MEGABYTE, 1_000])
@pytest.mark.slow
def test_a_megabyte_of_one_mark_takes_linear_time(unit: str, size: int) -> None:
    text = (unit * MEGABYTE)[:MEGABYTE]
    began = time.process_time()
    stream_tool_calls([text[at : at + size] for at in range(0, len(text), size)])
    assert time.process_time() - began < 10


def test_visible_text_flows_before_its_end() -> None:
    reader = CallReader(offered_tools())
    assert reader.feed("I will read the file now") == (VisibleText(text="I will read the file now"),)
    assert reader.feed(" <tool") == (VisibleText(text=" "),)
    assert reader.feed("box> is") == (VisibleText(text="<toolbox> is"),)


def test_a_call_is_returned_as_soon_as_it_ends() -> None:
    reader = CallReader(offered_tools())
    events = reader.feed('<tool_call>{"name":"read_file","arguments":{"path":"p"}}</tool_call> So')
    assert CallRead(name="read_file", arguments={"path": "p"}) in events


@pytest.mark.parametrize(
    ("text", "cause", "name"),
    [
        ('<tool_call>{"name":"format_disk","arguments":{}}</tool_call>', "unknown_tool", "format_disk"),
        ('<tool_call>{"name":"write_file","arguments":{"path":"p","content":"ab', "cut", "write_file"),
        ('{"name":"write_file","arguments":{"path":"p","content":"ab', "cut", "write_file"),
        ("<tool_call>write_file\n<arg_key>path</arg_key>\n<arg_value>p", "cut", "write_file"),
        ('[TOOL_CALLS]write_file[ARGS]{"path":"p', "cut", "write_file"),
        ('<tool_call>{"name":"read_file","arguments":{"path" "p"}}</tool_call>', "malformed", "read_file"),
        ('<tool_call>{"name":"read_file","arguments":[1]}</tool_call>', "malformed", "read_file"),
        ('{"name":"format_disk","arguments":{}}', "unknown_tool", "format_disk"),
    ],
)
def test_a_call_that_cannot_run_is_a_problem(text: str, cause: str, name: str) -> None:
    found = read(text)
    assert found.calls == ()
    assert [(problem.cause, problem.name) for problem in found.problems] == [(cause, name)]


def test_reasoning_is_not_visible_text() -> None:
    found = read("<think>hm</think>Yes.")
    assert (found.reasoning, found.visible_text) == ("hm", "Yes.")


@pytest.mark.parametrize(
    ("name", "arguments", "wanted"),
    [
        ("read_file", '{"path":"p","start_line":"3"}', {"path": "p", "start_line": 3}),
        ("functions.read_file", {"path": "p", "end_line": None}, {"path": "p"}),
        ("list_files", "", {}),
        ("read_file", '"{\\"path\\": \\"p\\"}"', {"path": "p"}),
    ],
)
def test_native_calls_pass_the_same_checks(name: str, arguments: object, wanted: dict[str, Any]) -> None:
    call = native_call(name, arguments, offered_tools())
    assert isinstance(call, CallRead)
    assert call.arguments == wanted


@pytest.mark.parametrize(("name", "arguments"), [("nothing", {}), ("read_file", "[1]"), ("read_file", "{'")])
def test_a_native_call_that_fails_a_check_is_a_problem(name: str, arguments: object) -> None:
    assert isinstance(native_call(name, arguments, offered_tools()), CallProblem)


def test_every_token_has_a_kind() -> None:
    assert {kind_of(token) for token in TOKENS} == {
        "open", "item", "close", "noise", "think", "unthink", "result", "harmony",
    }  # fmt: skip
