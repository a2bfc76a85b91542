"""`edit_file` and `write_file`: what is found, what is refused, and the messages."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from planloom.tools.catalog import EditFile
from planloom.tools.files.fuzzy_match import Grade
from planloom.tools.files.replacing import NoMatch, Replacement, replace
from tests.tools.desk import Desk

CODE = "class A:\n    def one(self):\n        return 1\n\n    def two(self):\n        return 2\n"


def check(text: str, old: str, new: str, expected: str, grade: Grade) -> None:
    assert replace(text, old, new) == Replacement(expected, 1, grade)


@pytest.mark.parametrize(
    ("text", "old", "words"),
    [
        pytest.param(CODE, "        return 3\n", ["was not found", ":         return "], id="missing"),
        pytest.param(CODE, "nothing like it", ["was not found", "Read the file again"], id="far"),
        pytest.param("a\n" * 500, "b" * 9000, ["Read the file again"], id="long"),
        pytest.param("x = 1\ny = 1\nx = 1\n", "x = 1", ["2 times (lines 1, 3)", "replace_all"], id="twice"),
        pytest.param("aXbXc", "X", ["2 times (lines 1, 1)"], id="twice-in-one-line"),
        pytest.param(
            "a \nb\na  \nb\n",
            "a\nb",
            ["not found exactly", "2 times (lines 1, 3)"],
            id="trailing-twice",
        ),
        pytest.param("“a” “a”", '"a"', ["dashes or spaces", "2 times"], id="quotes-twice"),
        pytest.param("  a\n\tb\n        a\n  b\n", "a\nb", ["2 times (lines 1, 3)"], id="indent-twice"),
        pytest.param(CODE, "", ["old_text is empty", "write_file"], id="empty"),
    ],
)
def test_refuses_what_is_not_there_once(text: str, old: str, words: list[str]) -> None:
    result = replace(text, old, "new")
    assert isinstance(result, NoMatch)
    assert all(each in result.reason for each in words), result.reason
    assert result.reason.count("\n") <= 22


@pytest.mark.parametrize(
    ("text", "old", "new", "expected", "grade"),
    [
        pytest.param(
            "a = 1  \nb = 2\n",
            "a = 1\nb = 2",
            "a = 3\nb = 2",
            "a = 3\nb = 2\n",
            "trailing",
            id="file-trails",
        ),
        pytest.param("a = 1\nb\n", "a = 1   \nb", "c", "c\n", "trailing", id="model-trails"),
        pytest.param("a\r\nb\r\nc\r\n", "a\nb", "x\ny", "x\ny\nc\n", "exact", id="crlf"),
        pytest.param("a\nb\n", "a\r\nb\r\n", "x\r\n", "x\n", "exact", id="model-crlf"),
        pytest.param("say “hi” now", 'say "hi"', "call", "call now", "punctuation", id="quotes"),
        pytest.param('x = "a"\n', "x = “a”", 'x = "b"', 'x = "b"\n', "punctuation", id="model-quotes"),
        pytest.param("it’s 1–2 — ok\n", "it's 1-2 - ok", "fine", "fine\n", "punctuation", id="dashes"),
        pytest.param("a\u00a0b\n", "a b", "c", "c\n", "punctuation", id="nbsp"),
        pytest.param(
            CODE,
            "def one(self):\n    return 1\n",
            "def one(self):\n    if x:\n        return 3\n",
            CODE.replace("        return 1\n", "        if x:\n            return 3\n"),
            "indentation",
            id="less-indented",
        ),
        pytest.param(
            "if a:\n    b()\n",
            "        if a:\n            b()",
            "        if a:\n            c()\n        d()",
            "if a:\n    c()\nd()\n",
            "indentation",
            id="more-indented",
        ),
        pytest.param(
            "\tif a:\n\t\tb()\n",
            "    if a:\n        b()",
            "    if a:\n        c()",
            "\tif a:\n\t\tc()\n",
            "indentation",
            id="tabs",
        ),
        pytest.param("    x = ‘a’\n    y\n", "x = 'a' \ny", "z", "    z\n", "punctuation", id="all-at-once"),
        pytest.param("    a\n    b", "a\nb\n", "c\n", "    c", "indentation", id="no-final-newline"),
    ],
)
def test_finds_what_differs_in_form_only(text: str, old: str, new: str, expected: str, grade: Grade) -> None:
    check(text, old, new, expected, grade)


def test_indentation_that_cannot_be_told_is_refused() -> None:
    result = replace("if a:\n    b()\n        c()\n", "if a:\nb()\nc()", "if a:\nb()\nd()\nc()")
    assert isinstance(result, NoMatch) and "indentation" in result.reason


def test_an_edit_that_was_made_already_says_so() -> None:
    result = replace("limit = 20_000\n", "limit = 10_000", "limit = 20_000")
    assert isinstance(result, NoMatch) and "already" in result.reason


async def test_a_fuzzy_match_is_marked_for_the_person_and_the_model(tmp_path: Path) -> None:
    desk = Desk(tmp_path, {"a.txt": "say “hi”\r\nbye\r\n"})
    result = await desk.call("edit_file", path="a.txt", old_text='say "hi"\nbye', new_text="ciao\nbye")
    assert result.ok and "typographic" in result.text
    assert [note.startswith("Fuzzy") for note in desk.notes()] == [True]
    assert await desk.staged("a.txt") == "ciao\r\nbye\r\n"


async def test_an_exact_match_is_not_marked(tmp_path: Path) -> None:
    desk = Desk(tmp_path, {"a.txt": "a\r\nb\r\n"})
    assert (await desk.call("edit_file", path="a.txt", old_text="a\nb", new_text="c\nd")).ok
    assert desk.notes() == () and await desk.staged("a.txt") == "c\r\nd\r\n"


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        pytest.param("edit_file", {"old_text": "a", "new_text": "a"}, id="same-texts"),
        pytest.param("write_file", {"content": "a\nb\n"}, id="same-content"),
        pytest.param("edit_file", {"patch": "@@\n a\n b\n"}, id="patch-of-nothing"),
    ],
)
async def test_what_is_already_so_counts_as_done(tool: str, args: dict[str, str], tmp_path: Path) -> None:
    desk = Desk(tmp_path, {"x.txt": "a\nb\n"})
    result = await desk.call(tool, path="x.txt", **args)
    assert result.ok and "already" in result.summary and desk.changes().changes == ()


LONG = "".join(f"line_{number} = {number}\n" for number in range(40))


@pytest.mark.parametrize(
    "line",
    [
        "# ... rest unchanged",
        "// existing code",
        "# ... existing code ...",
        "<!-- rest of the file remains the same -->",
        "    // … other methods unchanged …",
        "/* The remaining code stays the same */",
        "# (code omitted for brevity)",
        "...",
        "# rest of the code",
    ],
)
async def test_content_with_a_part_left_out_is_asked_and_reported(line: str, tmp_path: Path) -> None:
    desk = Desk(tmp_path, {"a.py": LONG})
    await desk.call("read_file", path="a.py")
    result = await desk.call("write_file", path="a.py", content=f"line_0 = 5\n{line}\n")
    assert "complete content" in result.text and line.strip()[:20] in result.text
    assert desk.context.incomplete == {desk.uri("a.py")}
    assert any("left out" in note for note in desk.notes())
    assert (await desk.call("write_file", path="a.py", content=LONG + "x = 1\n")).ok
    assert desk.context.incomplete == set()


@pytest.mark.parametrize(
    "content",
    [
        "line_0 = 1\n",
        LONG.replace("line_5 = 5", "# ... rest unchanged"),
        "# the other side of the file\nx = 1\n",
    ],
)
async def test_other_content_raises_no_doubt(content: str, tmp_path: Path) -> None:
    desk = Desk(tmp_path, {"a.py": LONG})
    assert (await desk.call("write_file", path="a.py", content=content)).ok
    assert desk.context.incomplete == set()


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        pytest.param("a.py", "```python\nx = 1\n```", "x = 1\n", id="backticks"),
        pytest.param("a.py", "\n~~~\nx = 1\n~~~\n", "x = 1\n", id="tildes"),
        pytest.param("a.py", "````py\nx = '```'\n````\n", "x = '```'\n", id="longer"),
        pytest.param("a.md", "```python\nx = 1\n```", None, id="markdown"),
        pytest.param("a.py", "```\na\n```\ntext\n```\nb\n```", None, id="two-fences"),
        pytest.param("a.py", "x = 1\n```\ny\n```", None, id="not-the-whole"),
        pytest.param("a.py", "```", None, id="no-end"),
    ],
)
async def test_the_one_fence_around_everything_goes(
    name: str, content: str, expected: str | None, tmp_path: Path
) -> None:
    desk = Desk(tmp_path)
    await desk.call("write_file", path=name, content=content)
    assert await desk.staged(name) == (content if expected is None else expected)


@pytest.mark.parametrize(
    "args",
    [
        {},
        {"old_text": "a"},
        {"new_text": "a"},
        {"old_text": "a", "new_text": "b", "patch": "x"},
        {"patch": "x", "old": "y"},
    ],
)
def test_arguments_that_do_not_go_together_are_refused(args: dict[str, str]) -> None:
    with pytest.raises(ValidationError):
        EditFile.model_validate({"path": "a", **args})


def test_empty_texts_beside_a_patch_are_passed_over() -> None:
    assert EditFile.model_validate({"path": "a", "patch": "x", "old_text": "", "new_text": None}).patch == "x"


TEXTS = st.text(alphabet='ab \t\n\r“"-—\u00a0', max_size=30)


@given(TEXTS, TEXTS, TEXTS, st.booleans())
def test_nothing_but_the_one_place_changes(text: str, old: str, new: str, everywhere: bool) -> None:
    result = replace(text, old, new, replace_all=everywhere)
    flat, wanted, put = (each.replace("\r\n", "\n").replace("\r", "\n") for each in (text, old, new))
    if wanted and flat.count(wanted) == 1:
        head, _, tail = flat.partition(wanted)
        assert result == Replacement(head + put + tail, 1)
    elif isinstance(result, Replacement) and not everywhere:
        assert result.occurrences == 1
