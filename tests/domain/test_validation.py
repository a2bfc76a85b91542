"""Each kind of problem, named by step and field."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from planloom.domain.plans.plan import Check, Step
from planloom.domain.plans.validation import MOST_STEPS, Problem, ToolRules, errors, problems
from planloom.domain.safety.lexical_paths import escapes, normal_path
from planloom.domain.values import Args, StepId


def needs(*fields: str) -> Any:
    def check(args: Args) -> list[tuple[str, str]]:
        missing = [(field, "It is missing.") for field in fields if field not in args]
        return missing + [
            (name, "It must be a text.") for name, value in args.items() if not isinstance(value, str)
        ]

    return check


TOOLS: Mapping[str, ToolRules] = {
    "read_file": ToolRules("read", needs("path"), paths=("path",)),
    "write_file": ToolRules(
        "write", needs("path", "content"), paths=("path",), writes=("path",), replaces=("path",)
    ),
    "delete_path": ToolRules("destroy", needs("path"), paths=("path",), writes=("path",), removes=("path",)),
    "run_command": ToolRules("execute", needs("command")),
    "fetch_url": ToolRules("fetch", needs("url")),
}


def step(name: str = "a", **fields: Any) -> Step:
    return Step(step_id=StepId(name), **({"description": name, "instruction": name} | fields))


def call(name: str, tool: str, /, **fields: Any) -> Step:
    more = {key: fields.pop(key) for key in ("agent", "depends_on", "kind") if key in fields}
    return step(name, tool=tool, args=fields, **({"kind": "tool_call"} | more))


def found(*steps: Step, **options: Any) -> list[tuple[str | None, str, str]]:
    return [
        (problem.step_id, problem.field, problem.severity) for problem in problems(steps, TOOLS, **options)
    ]


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([step("a"), step("b", depends_on=("a",))], []),
        ([step("a"), step("a", instruction="other")], [("a", "stepId", "error")]),
        ([step("1a")], [("1a", "stepId", "error")]),
        ([step("a-b")], [("a-b", "stepId", "error")]),
        ([step("a", depends_on=("x",))], [("a", "dependsOn", "error")]),
        (
            [step("a", depends_on=("b",)), step("b", depends_on=("a",))],
            [("a", "dependsOn", "error")],
        ),
        ([call("a", "fly")], [("a", "tool", "error")]),
        ([call("a", "write_file", path="p", content="c", agent="chapo")], [("a", "tool", "error")]),
        ([call("a", "run_command", command="ls", agent="koda")], []),
        ([call("a", "run_command", command="ls", agent="devo")], []),
        ([call("a", "read_file")], [("a", "args.path", "error")]),
        ([call("a", "read_file", path=3)], [("a", "args.path", "error")]),
        ([step("a", kind="tool_call")], [("a", "tool", "error")]),
        ([step("a", kind="clarification")], [("a", "question", "error")]),
        ([step("a", kind="clarification", question="Which?")], []),
        ([step("a", description=" ")], [("a", "description", "error")]),
        ([call("a", "read_file", path="../x")], [("a", "args.path", "error")]),
        ([step("a", expected_files=("/etc/passwd",))], [("a", "expectedFiles", "error")]),
        (
            [step("a", checks=(Check(kind="file_exists", path="~/x"),))],
            [("a", "checks", "error")],
        ),
        ([step("a"), step("b", instruction="A", description="a")], [("b", "description", "warning")]),
    ],
)
def test_each_problem_has_its_step_and_field(steps: list[Step], expected: list[Any]) -> None:
    assert found(*steps) == expected


def test_references_are_checked_and_pass_types() -> None:
    read = call("r", "read_file", path="p")
    use = call("w", "write_file", path="q", content="$r.text", depends_on=("r",))
    assert found(read, use) == []
    # Naming a result is waiting for it, declared or not.
    assert found(read, call("w", "write_file", path="q", content="$r.text")) == []
    assert found(call("w", "write_file", path="q", content="$w")) == [
        ("w", "dependsOn", "error"),
        ("w", "args.content", "error"),
    ]
    assert found(call("w", "write_file", path="q", content="$HOME")) == [("w", "args.content", "warning")]
    assert found(call("w", "write_file", path="q", content="$$r")) == []
    assert found(call("a", "read_file", path="$r"), call("r", "read_file", path="p"), sequential=True) == []


def test_a_reference_within_a_list_is_warned_of() -> None:
    read = call("r", "read_file", path="p")
    use = call("c", "run_command", command=["echo", "$r", "$HOME"], depends_on=("r",))
    (warning,) = problems([read, use], {**TOOLS, "run_command": ToolRules("execute", lambda _: [])})
    assert (warning.step_id, warning.field, warning.severity) == ("c", "args.command", "warning")
    assert warning.problem.startswith("$r within a list is literal text")


def test_unordered_writers_of_one_path_are_warned_of() -> None:
    one = call("a", "write_file", path="src/x", content="1")
    two = call("b", "write_file", path="./src//x", content="2")
    assert found(one, two) == [("b", "dependsOn", "warning")]
    assert found(one, two, sequential=True) == []
    assert found(one, two.model_copy(update={"depends_on": ("a",)})) == []


def test_the_cycle_is_spelled_out() -> None:
    ring = problems([step("a", depends_on=("b",)), step("b", depends_on=("a",))], {})
    assert ring[0].problem == "These steps wait for each other in a circle: a → b → a."


@pytest.mark.parametrize(
    ("request_text", "made", "expected"),
    [
        ("Read https://docs.example/a", call("a", "fetch_url", url="https://Docs.example/b"), []),
        ("Read the notes", call("a", "fetch_url", url="https://docs.example/b"), ["args.url"]),
        ("Read the notes", call("a", "fetch_url", url="docs.example"), []),
        ("Add docs", call("d", "delete_path", path="src/a.py"), ["args.path"]),
        ("Delete src/a.py", call("d", "delete_path", path="src/a.py"), []),
        ("Remove a.py", call("d", "delete_path", path="src/a.py"), []),
        ("Delete b.py", call("d", "delete_path", path="src/a.py"), ["args.path"]),
        ("Refactor src/a.py", call("d", "delete_path", path="src/a.py"), ["args.path"]),
        ("Add docs", call("w", "write_file", path="README.md", content=""), ["args.path"]),
        ("Rewrite README.md", call("w", "write_file", path="README.md", content=""), []),
        ("Add docs", call("w", "write_file", path="docs/new.md", content=""), []),
        ("Add docs", call("c", "run_command", command="rm -rf build", agent="devo"), ["args.command"]),
        ("Add docs", call("c", "run_command", command="pytest", agent="devo"), []),
        ("Add docs", step("s", description="Delete the old docs"), ["description"]),
    ],
)
def test_what_nobody_asked_for_is_warned_of(request_text: str, made: Step, expected: list[str]) -> None:
    warned = problems([made], TOOLS, request=request_text, existing={"README.md", "src/a.py"})
    assert [problem.field for problem in warned] == expected
    assert errors(warned) == ()


def test_limits_are_named() -> None:
    assert found(*[step("a")] * (MOST_STEPS + 1)) == [(None, "steps", "error")]
    long = call("a" * 101, "read_file", path="b" * 2_000_001).model_copy(
        update={"instruction": "c" * 100_001}
    )
    assert [field for _, field, _ in found(long)] == ["stepId", "instruction", "args"]


@pytest.mark.parametrize(
    ("path", "out"),
    [
        ("a/b", False),
        ("a/../b", False),
        ("..", True),
        ("a/../../b", True),
        ("/a", True),
        ("C:\\x", True),
        ("..\\x", True),
        ("~/.ssh", True),
        ("file:///a", True),
        ("a\0b", True),
        ("...", False),
    ],
)
def test_paths_that_lead_out(path: str, out: bool) -> None:
    assert escapes(path) is out


def test_one_spelling_a_path() -> None:
    assert normal_path("./a//b/../c/") == "a/c"
    assert normal_path("../a") == "../a"
    assert normal_path("e\u0301") == normal_path("\u00e9")


def test_problems_are_values() -> None:
    (problem,) = problems([call("a", "fly")], TOOLS)
    assert problem == Problem(
        step_id=StepId("a"),
        field="tool",
        problem="There is no tool 'fly'. The tools are: delete_path, fetch_url, read_file, run_command, write_file.",
        where="Step 1",
    )
