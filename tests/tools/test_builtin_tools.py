"""The tools of the registry as models see them."""

from __future__ import annotations

import inspect
import json
from typing import cast

from planloom.domain.values import Args
from planloom.tools.registry import builtin, schema
from planloom.tools.tool import Later

NAMES = (
    *("read_file", "list_files", "find_files", "search_text", "read_diagnostics"),
    *("git_status", "git_diff", "git_log"),
    *("write_file", "edit_file", "create_folder", "rename_path", "delete_path"),
    *("run_command", "read_output", "stop_command"),
    "fetch_url",
)


SAY_THEMSELVES = {
    *(
        "path",
        "start_line",
        "end_line",
        "recursive",
        "pattern",
        "regex",
        "ignore_case",
        "max_results",
        "revision",
        "content",
        "new_text",
    ),
    *("replace_all", "cwd", "timeout_seconds", "command_id", "url"),
}
"""Arguments that their names and the tool's own sentence explain."""


def test_every_tool_is_there_with_words_for_a_model() -> None:
    assert builtin().names() == NAMES
    for tool in builtin():
        properties = schema(tool.arguments)["properties"]
        assert isinstance(properties, dict)
        unclear = {name for name, each in properties.items() if not cast("Args", each).get("description")}
        assert unclear <= SAY_THEMSELVES, tool.name
        assert (
            set(tool.writes) | set(tool.removes) | set(tool.replaces) <= set(tool.paths) <= properties.keys()
        )


def test_the_function_of_every_tool_takes_the_arguments_of_its_declaration() -> None:
    for tool in builtin():
        assert isinstance(tool.run, Later)
        function = tool.run.load()
        assert inspect.iscoroutinefunction(function), tool.name
        assert inspect.get_annotations(function)["args"] == tool.arguments.__name__


def test_names_and_required_arguments_are_as_models_know_them() -> None:
    required = {tool.name: schema(tool.arguments).get("required", []) for tool in builtin()}
    assert required == {
        "read_file": ["path"],
        "list_files": [],
        "find_files": ["pattern"],
        "search_text": ["pattern"],
        "read_diagnostics": [],
        "git_status": [],
        "git_diff": [],
        "git_log": [],
        "write_file": ["path", "content"],
        "edit_file": ["path"],
        "create_folder": ["path"],
        "rename_path": ["path", "new_path"],
        "delete_path": ["path"],
        "run_command": ["command"],
        "read_output": ["command_id"],
        "stop_command": ["command_id"],
        "fetch_url": ["url"],
    }


def test_the_tools_stay_short_since_every_request_holds_them() -> None:
    sent = [
        {"type": "function", "function": spec.model_dump(include={"name", "description", "parameters"})}
        for spec in builtin().specs()
    ]
    assert len(json.dumps(sent, ensure_ascii=False, separators=(",", ":")).encode()) < 5_450
