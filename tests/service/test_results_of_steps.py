"""References to results of steps: what a text argument becomes, and what is refused or warned of at the review."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from planloom.domain.errors import InvalidPlan
from planloom.tools.registry import builtin
from tests.service.test_conditions import finished
from tests.service.test_execution_rules import tool_step, with_steps
from tests.service.test_loops import result_of
from tests.support.studio import studio

FILES = {"src/a.py": "import os\n", "src/b.py": "x = 1\n"}
ALLOWED = {"approvals.write": "allow", "approvals.execute": "allow"}
ECHO = ("run_command", {"command": ["echo", "hi"]})
FIND = ("find_files", {"pattern": "src/*.py"})
SEARCH = ("search_text", {"pattern": "import"})
READ = ("read_file", {"path": "src/a.py"})


@pytest.mark.parametrize(
    ("first", "content", "written"),
    [
        (ECHO, "$s1", "hi\n"),
        (ECHO, "$s1.output", "hi\n"),
        (ECHO, "$s1.exit_code", "0"),
        (ECHO, "$s1.exitCode", "0"),
        (FIND, "$s1", "src/a.py\nsrc/b.py"),
        (FIND, "$s1[1]", "src/b.py"),
        (("list_files", {"path": "src"}), "$s1", "a.py\nb.py"),
        (SEARCH, "$s1", "src/a.py: 1: import os"),
        (SEARCH, "$s1[0].path", "src/a.py"),
        (SEARCH, "$s1[0]", "src/a.py: 1: import os"),
        (READ, "$s1", "import os\n"),
    ],
)
async def test_a_result_becomes_the_text_of_an_argument(
    tmp_path: Path, first: tuple[str, dict[str, Any]], content: str, written: str
) -> None:
    async with studio(tmp_path, FILES, settings=ALLOWED) as at:
        plan = await with_steps(
            at, tool_step(*first), tool_step("write_file", {"path": "out.txt", "content": content})
        )
        plan = await finished(at, plan)
        assert plan.status == "completed", plan.steps
        assert at.text("out.txt") == written


@pytest.mark.parametrize(
    ("first", "second", "field", "problem"),
    [
        (ECHO, ("write_file", {"path": "o", "content": "$s1.stdout"}), "args.content", "output, exit_code"),
        (READ, ("write_file", {"path": "o", "content": "$s1.text"}), "args.content", "is a text"),
        (SEARCH, ("write_file", {"path": "o", "content": "$s1.matches"}), "args.content", "path, line, text"),
        (FIND, ("read_file", {"path": "$s1"}), "args.path", "a list of texts"),
        (FIND, ("read_file", {"path": "a", "start_line": "$s1"}), "args.start_line", "a list of texts"),
        (ECHO, ("run_command", {"command": "$s1"}), "args.command", "an object with output"),
    ],
)
async def test_a_result_that_cannot_be_used_is_refused_at_the_review(
    tmp_path: Path, first: Any, second: Any, field: str, problem: str
) -> None:
    async with studio(tmp_path, FILES) as at:
        with pytest.raises(InvalidPlan) as refused:
            await with_steps(at, tool_step(*first), tool_step(*second))
        (told,) = refused.value.details
        assert (told["stepId"], told["field"]) == ("s2", field)
        assert problem in told["problem"]


async def test_a_loop_over_what_is_no_list_is_refused_at_the_review(tmp_path: Path) -> None:
    async with studio(tmp_path, FILES) as at:
        with pytest.raises(InvalidPlan) as refused:
            loop = tool_step("read_file", {"path": "{{item}}"}, for_each="$s1")
            await with_steps(at, tool_step(*ECHO), loop)
        assert [each["field"] for each in refused.value.details] == ["forEach"]


@pytest.mark.parametrize("call", [ECHO, FIND, SEARCH, READ, ("list_files", {})])
async def test_the_declared_example_of_a_result_has_its_shape(tmp_path: Path, call: Any) -> None:
    async with studio(tmp_path, FILES, settings=ALLOWED) as at:
        plan = await finished(at, await with_steps(at, tool_step(*call)))
        tool = builtin().get(call[0])
        assert tool is not None
        value, example = result_of(plan, "s1"), json.loads(tool.result)
        while isinstance(example, list):
            value, example = value[0], example[0]
        assert type(value) is type(example)
        if isinstance(example, dict):
            # A background command has an id, and no other.
            assert value.keys() <= example.keys()
