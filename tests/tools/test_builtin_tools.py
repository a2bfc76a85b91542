"""The tools of the registry as models see them."""

from __future__ import annotations

import inspect
import json
from typing import cast

from codegen.tools_page import MOST_BYTES
from planloom.domain.values import Args
from planloom.tools.registry import builtin, schema
from planloom.tools.tool import Later

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
    *("replace_all", "cwd", "timeout_seconds", "command_id", "url", "symbol", "new_name", "title"),
}
"""Arguments that their names and the tool's own sentence explain."""


def test_every_tool_is_there_with_words_for_a_model() -> None:
    for tool in builtin():
        properties = schema(tool.arguments)["properties"]
        assert isinstance(properties, dict)
        unclear = {name for name, each in properties.items() if not cast("Args", each).get("description")}
        assert unclear <= SAY_THEMSELVES, (
            f"describe these arguments of {tool.name} in tools/catalog.py, or add them to SAY_THEMSELVES here: "
            f"{sorted(unclear - SAY_THEMSELVES)}"
        )
        assert (
            set(tool.writes) | set(tool.removes) | set(tool.replaces) <= set(tool.paths) <= properties.keys()
        )


def test_the_function_of_every_tool_takes_the_arguments_of_its_declaration() -> None:
    for tool in builtin():
        assert isinstance(tool.run, Later)
        function = tool.run.load()
        assert inspect.iscoroutinefunction(function), tool.name
        assert inspect.get_annotations(function)["args"] == tool.arguments.__name__


def test_the_tools_stay_short_since_every_request_holds_them() -> None:
    sent = [
        {"type": "function", "function": spec.model_dump(include={"name", "description", "parameters"})}
        for spec in builtin().specs()
    ]
    size = len(json.dumps(sent, ensure_ascii=False, separators=(",", ":")).encode())
    assert size < MOST_BYTES, (
        "shorten the words and arguments of the tools in tools/catalog.py; what is worth its bytes in every request "
        "raises MOST_BYTES in codegen/tools_page.py"
    )
