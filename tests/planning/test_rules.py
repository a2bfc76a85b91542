"""The rules planner: how a request is split, and which parts are literal calls."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planloom.domain.plans.attachments import Attachment
from planloom.domain.plans.plan import Step
from planloom.domain.values import AttachmentId
from planloom.planning.port import PlanningRequest
from planloom.planning.rules.planner import RulesPlanner, plan_by_rules
from planloom.planning.wording import active_form
from planloom.tools.registry import READ_ONLY, builtin
from tests.depth import rounds

TOOLS = builtin()


def plan(text: str) -> tuple[Step, ...]:
    return plan_by_rules(text, TOOLS)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "Add login with session cookies. Use basic auth. "
            "Read API spec at https://example.com/spec.pdf. Then write unit tests.",
            [
                "Add login with session cookies",
                "Use basic auth",
                "Read API spec at https://example.com/spec.pdf",
                "Write unit tests",
            ],
        ),
        (
            "Create a TypeScript project called webapp, write src/index.ts with a main function, "
            "write public/index.html, list all files",
            [
                "Create a TypeScript project called webapp",
                "Write src/index.ts with a main function",
                "Write public/index.html",
                "List all files",
            ],
        ),
        (
            "Refactor the auth system and deploy to staging",
            ["Refactor the auth system", "Deploy to staging"],
        ),
        ("1. Add a\n2. Fix b", ["Add a", "Fix b"]),
        ("1) Add a\r\n2) Fix b\r\n", ["Add a", "Fix b"]),
        ("Please do this:\n- add a\n* fix b\n• test c", ["Add a", "Fix b", "Test c"]),
        ("Do the following steps\n\n1. add a\n2. fix b", ["Add a", "Fix b"]),
        ("## Tasks\n- [ ] add a\n- [x] fix b", ["Add a"]),
        ("Build it. 1. Add a 2. Fix b", ["Build it", "Add a", "Fix b"]),
        (
            "- improve the form\n  - label above\n  - error below",
            ["Improve the form - label above - error below"],
        ),
        ("- add the form\n  - write a.py\n  - fix b.py", ["Add the form - write a.py - fix b.py"]),
        ("Add a, then fix b", ["Add a", "Fix b"]),
        ("Add a and then fix b", ["Add a", "Fix b"]),
        ("Add a. After that, fix b. Next, test c", ["Add a", "Fix b", "Test c"]),
        ("First add a, next fix b; finally deploy it", ["Add a", "Fix b", "Deploy it"]),
        ("Add a, fix b, and update c", ["Add a", "Fix b", "Update c"]),
        ("Add a and also update c", ["Add a", "Update c"]),
        ("Hi, please add a and fix b.", ["Add a", "Fix b"]),
        ("First of all, add a", ["Add a"]),
        ("Could you please add a?", ["Add a"]),
        ("add a\nfix b", ["Add a", "Fix b"]),
        ("Add a widget that\nwraps over lines", ["Add a widget that wraps over lines"]),
        ("Fix src/app.py. Test it", ["Fix src/app.py", "Test it"]),
        ("Fix foo.bar() e.g. in src/a.b.c and elsewhere", ["Fix foo.bar() e.g. in src/a.b.c and elsewhere"]),
        (
            "Support formats, i.e. png, gif etc. in the form",
            ["Support formats, i.e. png, gif etc. in the form"],
        ),
        ("Upgrade to version 2.1 of Node.js. Fix it", ["Upgrade to version 2.1 of Node.js", "Fix it"]),
        ("Use Next.js and show the next page", ["Use Next.js and show the next page"]),
        ("Design and implement the form", ["Design and implement the form"]),
        ("Check read and write access", ["Check read and write access"]),
        ("In src/app.py, fix the bug", ["In src/app.py, fix the bug"]),
        ("If the file exists, delete it and then stop", ["If the file exists, delete it and then stop"]),
        ("When a user logs in then show a banner", ["When a user logs in then show a banner"]),
        ("Fix this! Add that!", ["Fix this", "Add that"]),
        ("List files in .", ["List files in ."]),
        ("Fix the 'a. b' and \"x, then y\" texts", ["Fix the 'a. b' and \"x, then y\" texts"]),
        ("Hello! Add a. Fix b. Thanks a lot!", ["Add a", "Fix b"]),
        ("Thank you!", ["Thank you"]),
        ("", []),
        ("  \n ... \n", []),
        ("Add\u00a0a.\u2003Fix\u200b b", ["Add a", "Fix b"]),
    ],
)
def test_a_request_is_split_into_its_parts(text: str, expected: list[str]) -> None:
    assert [step.description for step in plan(text)] == expected


def call(tool: str, **args: Any) -> tuple[str, dict[str, Any]]:
    return tool, args


def write(path: str, content: str) -> tuple[str, dict[str, Any]]:
    return call("write_file", path=path, content=content)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Create folder X", [call("create_folder", path="X")]),
        ("create a new directory called src/lib/", [call("create_folder", path="src/lib")]),
        (
            "Read src/app.py, lines 10 to 20. Thank you!",
            [call("read_file", path="src/app.py", start_line=10, end_line=20)],
        ),
        ("read a.py (line 3), thanks", [call("read_file", path="a.py", start_line=3, end_line=3)]),
        ("Create files a.txt and b.txt", [write("a.txt", ""), write("b.txt", "")]),
        ('Save "x=1" as config.ini', [write("config.ini", "x=1")]),
        ("Make the folder `my stuff`", [call("create_folder", path="my stuff")]),
        ("create folders a, b and c", [call("create_folder", path=name) for name in "abc"]),
        ("create folder a inside lib", [call("create_folder", path="lib/a")]),
        ("create folder a in the root", [call("create_folder", path="a")]),
        ("Create folder a and create folder b", [call("create_folder", path=name) for name in "ab"]),
        ("mkdir -p a/b", [call("create_folder", path="a/b")]),
        ("can you create folder X?", [call("create_folder", path="X")]),
        (
            'Create file a.txt with content "Hello, World. Then go!"',
            [write("a.txt", "Hello, World. Then go!")],
        ),
        ("write file a.txt with content 'x'", [write("a.txt", "x")]),
        ("Write @src/a.txt with the content `x  y`", [write("src/a.txt", "x  y")]),
        ('Create a file called "a b.txt" containing "x"', [write("a b.txt", "x")]),
        ('create file a.txt with content: "x"', [write("a.txt", "x")]),
        ("create file a.txt with content “x “y””", None),
        ("create file a.txt with content “x”", [write("a.txt", "x")]),
        ("create file a.txt: 'x'", [write("a.txt", "x")]),
        ('write "x" to a.txt', [write("a.txt", "x")]),
        ('write "x" into the file notes', [write("notes", "x")]),
        ("create file a.txt with content hello there", None),
        ("create README.md with content describing the API", None),
        ("create an empty file a.txt", [write("a.txt", "")]),
        ("create file a.txt in src", [write("src/a.txt", "")]),
        ('in src, create file a.py with content "1"', [write("src/a.py", "1")]),
        ('create file a.py with content "1" in folder src', [write("src/a.py", "1")]),
        ('create file a.py with content "a\\nb"', [write("a.py", "a\\nb")]),
        ('create file a.py with content "say \\"hi\\""', [write("a.py", 'say "hi"')]),
        ('create file a.py with content "print("hi")"', [write("a.py", 'print("hi")')]),
        ('create file a.py with content "a\n\n  b  "', [write("a.py", "a\n\n  b  ")]),
        (
            "create file a.py with content:\n```python\nx = 1. \n\n# then y\n```",
            [write("a.py", "x = 1. \n\n# then y\n")],
        ),
        ("create file a.py with:\n\n~~~\nx\n~~~", [write("a.py", "x\n")]),
        ("Write a.md:\n````\n```\nx\n```\n````", [write("a.md", "```\nx\n```\n")]),
        (
            "1. Write a.py:\n   ```\n   if x:\n     y\n   ```\n2. Create folder b",
            [write("a.py", "if x:\n  y\n"), call("create_folder", path="b")],
        ),
        (
            "create file a.sh with content <<EOF\n  x $y\nEOF\nthen create folder b",
            [write("a.sh", "  x $y\n"), call("create_folder", path="b")],
        ),
        ("create file a.sh with content <<-'END'\n\tx\n\tEND", [write("a.sh", "x\n")]),
        ("write src/index.ts with a main function", None),
        ("create the login page", None),
        ("create folder structure", None),
        ("create file it with content of the other", None),
        (
            'Replace "A" with "B" in src/f.py',
            [call("edit_file", path="src/f.py", old_text="A", new_text="B")],
        ),
        ("in @f.py, replace `a` by ``", None),
        ('in @f.py, replace "a" by ""', [call("edit_file", path="f.py", old_text="a", new_text="")]),
        ("change 'a' to 'b' in f.py", [call("edit_file", path="f.py", old_text="a", new_text="b")]),
        (
            "replace all 'a' with 'b' in f.py",
            [call("edit_file", path="f.py", old_text="a", new_text="b", replace_all=True)],
        ),
        ("replace jQuery with React in src/app.js", None),
        ('Replace "a" in f.py with "b"', [call("edit_file", path="f.py", old_text="a", new_text="b")]),
        ('replace "a" with "b" in all files', None),
        ("rename a.txt to b.txt", [call("rename_path", path="a.txt", new_path="b.txt")]),
        ("Rename src/a.txt to b.txt", [call("rename_path", path="src/a.txt", new_path="src/b.txt")]),
        (
            "rename `old name.txt` to `new name.txt`",
            [call("rename_path", path="old name.txt", new_path="new name.txt")],
        ),
        ("move a.py to src/", [call("rename_path", path="a.py", new_path="src/a.py")]),
        ("move @a.py into the folder src", [call("rename_path", path="a.py", new_path="src/a.py")]),
        ("rename the function foo to bar", [call("rename_symbol", symbol="foo", new_name="bar")]),
        ("Rename class X to Y everywhere.", [call("rename_symbol", symbol="X", new_name="Y")]),
        ("rename the method A.b to c in all files", [call("rename_symbol", symbol="A.b", new_name="c")]),
        (
            "Rename the function `area()` in src/a.py to `surface`",
            [call("rename_symbol", symbol="area", new_name="surface", path="src/a.py")],
        ),
        (
            "Benenne die Funktion area überall in surface um",
            [call("rename_symbol", symbol="area", new_name="surface")],
        ),
        (
            "rename function a to b, then run `make test`",
            [call("rename_symbol", symbol="a", new_name="b"), call("run_command", command="make test")],
        ),
        ("rename function a to something better", None),
        ("rename the function a to b, and keep a as an alias", None),
        ("rename the type of a to b", None),
        ("rename file a.py to b.py", [call("rename_path", path="a.py", new_path="b.py")]),
        ("Rename folder a to b", [call("rename_path", path="a", new_path="b")]),
        ("Write file a.txt with content:\nline one\nline two", [write("a.txt", "line one\nline two\n")]),
        ("Write file a.txt with content two  spaces", None),
        ("delete a.txt", [call("delete_path", path="a.txt")]),
        (
            "Delete the folder old and remove @b/c.txt.",
            [call("delete_path", path="old"), call("delete_path", path="b/c.txt")],
        ),
        ("delete the login page", None),
        ("delete everything", None),
        ("delete .", None),
        ("remove unused imports from a.py", None),
        ("run `npm test && npm run lint`", [call("run_command", command="npm test && npm run lint")]),
        ('run the command "make x" in tools', [call("run_command", command="make x", cwd="tools")]),
        ("Run:\n```sh\nmake a\nmake b\n```", [call("run_command", command="make a\nmake b")]),
        ("run npm test", [call("run_command", command="npm test")]),
        ("run the tests", None),
        ("read README.md", [call("read_file", path="README.md")]),
        ("read @src/a.py and b.py", [call("read_file", path="src/a.py"), call("read_file", path="b.py")]),
        ("Read @src/a.py:10-20", [call("read_file", path="src/a.py", start_line=10, end_line=20)]),
        ("read lines 3 to 5 of a.py", [call("read_file", path="a.py", start_line=3, end_line=5)]),
        ("read https://example.com/a.md", None),
        ("read the docs", None),
        ("Search for TODO in src", None),
        ("Run the tests", None),
        ("Add `total` to `Invoice`", None),
        ("read @selection", None),
        ("read @git", None),
        ("read @git:src/a.py", None),
        ("read @problems", None),
        ("list files", [call("list_files")]),
        ("list the files in src recursively", [call("list_files", path="src", recursive=True)]),
        ("list all files", [call("list_files", recursive=True)]),
    ],
)
def test_literal_calls(text: str, expected: list[tuple[str, dict[str, Any]]] | None) -> None:
    steps = plan(text)
    if expected is None:
        assert "tool_call" not in {step.kind for step in steps}
    else:
        assert [(step.tool, step.args) for step in steps] == expected
        assert {step.kind for step in steps} == {"tool_call"}


def test_append_adds_lines_at_the_end_by_a_patch() -> None:
    text = 'append "x\ny" to the end of @notes.txt'
    (step,) = plan_by_rules(text, TOOLS)
    assert step.tool == "edit_file"
    assert step.args == {
        "path": "notes.txt",
        "patch": "*** Begin Patch\n*** Update File: notes.txt\n@@\n+x\n+y\n*** End of File\n*** End Patch",
    }
    assert step.description == "Append to notes.txt"


def test_a_tool_that_is_not_there_leaves_processing() -> None:
    (step,) = plan_by_rules("delete a.txt", TOOLS.only(READ_ONLY))
    assert (step.kind, step.tool, step.instruction) == ("processing", None, "delete a.txt")


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("Ask me which port to use", "Which port to use?"),
        ("Confirm with me: is it ready?", "Is it ready?"),
    ],
)
def test_a_question_to_the_user_is_a_clarification(text: str, question: str) -> None:
    (step,) = plan(text)
    assert (step.kind, step.question) == ("clarification", question)


def test_ids_agents_forms_and_files() -> None:
    steps = plan("Create file a.py with content 'x', run `ls`. Deploy the site. Write src/b.py with tests")
    assert [step.step_id for step in steps] == ["step_1", "step_2", "step_3", "step_4"]
    assert [step.agent for step in steps] == ["koda", "devo", "devo", "koda"]
    assert [step.active_form for step in steps] == [
        "Writing a.py",
        "Running `ls`",
        "Deploying the site",
        "Writing src/b.py with tests",
    ]
    assert [step.expected_files for step in steps] == [("a.py",), (), (), ("src/b.py",)]
    assert [step.requires_approval for step in steps] == [True, True, False, False]


def test_attachments_go_to_the_parts_that_name_them() -> None:
    def attachment(ident: str, reference: str) -> Attachment:
        return Attachment(attachment_id=AttachmentId(ident), kind="file", reference=reference)

    text = "Fix @src/a.py. Read https://example.com/spec.pdf. Test @src/a.pyc and @src/a.py"
    found = plan_by_rules(
        text,
        TOOLS,
        (attachment("1", "@src/a.py"), attachment("2", "https://example.com/spec.pdf")),
    )
    assert [step.attachments for step in found] == [("1",), ("2",), ("1",)]


def test_a_reference_is_read_as_the_path_it_resolved_to() -> None:
    def read(text: str, reference: str, label: str) -> object:
        attached = Attachment(
            attachment_id=AttachmentId("1"), kind="file", reference=reference, label=label, range=None
        )
        (step,) = plan_by_rules(text, TOOLS, (attached,))
        return step.args

    assert read("read @a.py", "@a.py", "src/a.py") == {"path": "src/a.py"}
    assert read("Read @a.py.", "@a.py", "src/a.py") == {"path": "src/a.py"}
    assert read('read @"a b.py"', '@"a b.py"', "src/a b.py") == {"path": "src/a b.py"}
    assert read("read @a.py:3-4", "@a.py:3-4", "src/a.py") == {
        "path": "src/a.py",
        "start_line": 3,
        "end_line": 4,
    }
    # A label that the editor gave, and the folder of another root, are no path of this one.
    assert read("read @a.py", "@a.py", "the selection") == {"path": "a.py"}
    assert read("read @two/a.py", "@two/a.py", "a.py") == {"path": "two/a.py"}


PIECES = [
    *(
        "create folder a",
        "write file",
        "with content",
        "and",
        "then",
        ", ",
        ". ",
        "\n",
        "\n\n",
        "- ",
        "1. ",
        "2) ",
    ),
    *(
        '"',
        "'",
        "`",
        "```",
        "~~~\n",
        "<<EOF\n",
        "EOF\n",
        "“",
        "”",
        "@a.py",
        "e.g.",
        "in src",
        "\\",
        "?",
        "if",
        "\ufdd0",
    ),
    *(
        "read and write",
        "replace",
        "all",
        "to",
        "the",
        "of",
        " ",
        "\t",
        "\r\n",
        "list files",
        "can you",
        "(",
        ")",
    ),
]


@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join) | st.text(max_size=200))
def test_any_text_becomes_some_plan(text: str) -> None:
    steps = plan(text)
    assert [step.step_id for step in steps] == [f"step_{n}" for n in range(1, len(steps) + 1)]
    assert all(step.description and step.instruction for step in steps)


@given(st.text(max_size=80))
def test_fenced_content_is_kept_byte_for_byte(content: str) -> None:
    content = content.replace("`", "'").replace("\r", "").replace("\ufdd0", "")
    (step,) = plan(f"create file a.txt with content:\n```\n{content}\n```")
    assert step.args == {"path": "a.txt", "content": f"{content}\n" if content else "\n"}


@pytest.mark.parametrize(
    "piece",
    [
        *(
            '"',
            "' ",
            "`",
            "``",
            "```\n",
            "~~~\n",
            "<<EOF\n",
            "“",
            "e.g. ",
            "and write ",
            ", add ",
            "in a and write ",
            "1. ",
        ),
        *(
            "- a\n",
            "  - a\n",
            " ",
            "\n",
            " \n",
            "a",
            ". ",
            "then ",
            "create folder a ",
            "a, ",
            "next ",
            "(",
            "please ",
            '"a" ',
        ),
        *("create folder a a, ", "@", "i.e.", 'f("', "\\\\", "\\", "if ", "? "),
    ],
)
@pytest.mark.slow
@pytest.mark.deep
def test_time_is_linear(piece: str) -> None:
    def seconds(size: int) -> float:
        text = piece * (size // len(piece))
        start = time.process_time()
        plan(text)
        return time.process_time() - start

    size = rounds(50_000, 200_000)
    assert seconds(size) < max(seconds(size // 10), 0.01) * 60


def test_a_symbol_is_renamed_in_words_where_nobody_knows_symbols() -> None:
    (step,) = plan_by_rules("rename class X to Y", TOOLS.where({"language"}))
    assert step.kind == "processing"


@pytest.mark.slow
@pytest.mark.parametrize("sign", [".", "?!", "\u2028", "\x1c", " \x85"])
def test_a_run_of_signs_inside_a_word_takes_linear_time(sign: str) -> None:
    start = time.process_time()
    plan(f"fix @a:b{sign * 50_000}py, then test it")
    assert time.process_time() - start < 10


async def test_others_go_on_while_a_long_plan_is_drafted() -> None:
    request = PlanningRequest(text="\n".join(f"{number}. Read a{number}.py" for number in range(200)))
    turns = 0

    async def somebody_else() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    other = asyncio.create_task(somebody_else())
    drafted = [event async for event in RulesPlanner(builtin()).draft(request)]
    other.cancel()
    assert turns >= len(drafted) - 1 == 200


@pytest.mark.parametrize(
    ("description", "shown"),
    [
        ("Write and run tests", "Writing and running tests"),
        ("Write and edit", "Writing and editing"),
        ("Read spec and extract key constraints", "Working on: Read spec and extract key constraints"),
        ("Write src and docs", "Writing src and docs"),
    ],
)
def test_the_second_of_two_verbs_is_never_left_as_it_is(description: str, shown: str) -> None:
    assert active_form(description) == shown


def test_then_and_next_together_divide_like_one() -> None:
    steps = plan("Create a parser and add tests then next build the docs")
    assert [step.description for step in steps] == ["Create a parser", "Add tests", "Build the docs"]
