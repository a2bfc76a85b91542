from __future__ import annotations

import pytest

from planloom.agent.answer_decoder import checked_call
from planloom.domain.values import Args, CallId
from planloom.models.port import ToolCall
from planloom.tools.catalog import ALL
from planloom.tools.registry import Registry
from planloom.tools.synonyms import SYNONYMS

PATCH = "*** Begin Patch\n*** Update File: src/a.py\n@@\n-one\n+two\n*** End Patch"


def called(tool: str, args: Args) -> Args:
    """The arguments of a native call as the tool gets them."""
    read = checked_call(ToolCall(call_id=CallId("c"), name=tool, arguments=args), Registry(ALL).specs())
    assert isinstance(read, ToolCall)
    return read.arguments


@pytest.mark.parametrize(
    ("tool", "args", "own"),
    [
        ("read_file", {"file_path": "a"}, {"path": "a"}),
        ("read_file", {"filePath": "a", "startLine": 3}, {"path": "a", "start_line": 3}),
        (
            "read_file",
            {"path": "a", "offset": 10, "limit": 5},
            {"path": "a", "start_line": 10, "end_line": 14},
        ),
        ("read_file", {"path": "a", "limit": "5"}, {"path": "a", "end_line": 5}),
        ("read_file", {"path": "a", "file_path": "b"}, {"path": "a", "file_path": "b"}),
        ("write_file", {"file_path": "a", "text": "x"}, {"path": "a", "content": "x"}),
        (
            "edit_file",
            {"file_path": "a", "old_string": "x", "newString": "y", "replaceAll": True},
            {"path": "a", "old_text": "x", "new_text": "y", "replace_all": True},
        ),
        ("edit_file", {"patch": PATCH}, {"patch": PATCH, "path": "src/a.py"}),
        ("edit_file", {"diff": PATCH, "path": "src/a.py"}, {"patch": PATCH, "path": "src/a.py"}),
        ("edit_file", {"patch": "@@\n-one\n+two"}, {"patch": "@@\n-one\n+two"}),
        (
            "search_text",
            {"query": "x", "-i": True, "include": "*.py"},
            {"pattern": "x", "ignore_case": True, "files": "*.py"},
        ),
        ("find_files", {"name": "x", "limit": 3}, {"pattern": "x", "max_results": 3}),
        (
            "run_command",
            {"cmd": ["ls"], "workdir": "src", "timeout_ms": 1500},
            {"command": ["ls"], "cwd": "src", "timeout_seconds": 1.5},
        ),
        ("run_command", {"command": "ls", "timeout": 60}, {"command": "ls", "timeout_seconds": 60}),
        ("run_command", {"command": "ls", "timeout": 120000}, {"command": "ls", "timeout_seconds": 120}),
        ("run_command", {"command": "ls", "mood": "good"}, {"command": "ls", "mood": "good"}),
        ("fetch_url", {"url": "https://a.b", "start": 5}, {"url": "https://a.b", "start": 5}),
        ("task_completed", {"file_path": "a"}, {"file_path": "a"}),
    ],
)
def test_common_names_of_arguments_are_read_as_those_of_the_tool(tool: str, args: Args, own: Args) -> None:
    assert called(tool, args) == own


def test_every_synonym_stands_for_an_argument_of_a_tool() -> None:
    assert SYNONYMS.keys() <= {name for tool in ALL for name in tool.arguments.model_fields}
