"""Patches of both kinds, as models write them."""

from __future__ import annotations

import difflib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planloom.tools.files.hunks import BadPatch
from planloom.tools.files.patches import read_patch
from planloom.tools.files.patching import apply_hunks
from planloom.tools.files.replacing import Replacement
from tests.tools.desk import Desk

TEXT = "one\ntwo\nthree\nfour\nfive\nsix\n"


def begin(*lines: str) -> str:
    return "\n".join(("*** Begin Patch", *lines, "*** End Patch"))


@pytest.mark.parametrize(
    ("text", "patch", "expected"),
    [
        pytest.param(
            TEXT,
            "--- a/x\n+++ b/x\n@@ -2,3 +2,3 @@\n two\n-three\n+3\n four\n",
            TEXT.replace("three", "3"),
            id="unified",
        ),
        pytest.param(TEXT, "@@ -90,1 +7,2 @@\n-three\n+3\n", TEXT.replace("three", "3"), id="wrong-numbers"),
        pytest.param(TEXT, "```diff\n--- x\n+++ x\n@@\n-six\n+6\n```", TEXT.replace("six", "6"), id="fenced"),
        pytest.param(
            TEXT,
            "diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-one\n+1\n",
            TEXT.replace("one", "1"),
            id="git",
        ),
        pytest.param(
            TEXT,
            begin("*** Update File: x", "@@", " one", "-two", "+2", "@@", "-five", "+5"),
            TEXT.replace("two", "2").replace("five", "5"),
            id="begin",
        ),
        pytest.param("a\nx\nb\nx\n", "@@ -4 +4 @@\n-x\n+y\n", "a\nx\nb\ny\n", id="number-decides"),
        pytest.param(
            "def f:\n  x\ndef g:\n  x\n",
            begin("*** Update File: x", "@@ def g:", "-  x", "+  y"),
            "def f:\n  x\ndef g:\n  y\n",
            id="heading-decides",
        ),
        pytest.param(
            "x\ny\nx\n",
            begin("*** Update File: x", "@@", "-x", "+z", "*** End of File"),
            "x\ny\nz\n",
            id="end-decides",
        ),
        pytest.param(
            TEXT,
            begin("*** Update File: x", "@@", "+seven", "*** End of File"),
            TEXT + "seven\n",
            id="append",
        ),
        pytest.param(
            "a", begin("*** Update File: x", "@@", "+b", "*** End of File"), "a\nb", id="append-no-newline"
        ),
        pytest.param("", begin("*** Update File: x", "@@", "+b"), "b\n", id="append-to-empty"),
        pytest.param(
            TEXT, "@@ -2,0 +3 @@\n+new\n", "one\ntwo\nnew\nthree\nfour\nfive\nsix\n", id="insert-by-number"
        ),
        pytest.param(
            "a\nb", "@@ -2 +2 @@\n-b\n\\ No newline at end of file\n+b\n", "a\nb\n", id="newline-added"
        ),
        pytest.param(
            "a\nb\n", "@@ -2 +2 @@\n-b\n+b\n\\ No newline at end of file\n", "a\nb", id="newline-dropped"
        ),
        pytest.param("    a\n    b\n", "@@\n a\n-b\n+c\n+d\n", "    a\n    c\n    d\n", id="indented"),
        pytest.param("a  \nb\n", "@@\n a\n-b\n+c\n", "a  \nc\n", id="context-stays-as-it-is"),
        pytest.param("a\n\nb\n", "@@\n a\n\n-b\n+c\n", "a\n\nc\n", id="blank-context-without-space"),
    ],
)
async def test_patches_apply(text: str, patch: str, expected: str, tmp_path: Path) -> None:
    desk = Desk(tmp_path, {"x": text})
    result = await desk.call("edit_file", path="x", patch=patch)
    assert result.ok, result.text
    assert await desk.staged("x") == expected
    assert len(desk.changes().changes) == 1


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        pytest.param("@@\n-one\n+1\n two\n@@\n two\n-three\n+3\n", "overlap", id="overlap"),
        pytest.param("@@\n-one\n+1\n@@\n-nine\n+9\n", "Hunk 2 of the patch was not found", id="one-missing"),
        pytest.param("@@\n-x\n+y\n", "matches in 2 places (lines 7, 8)", id="ambiguous"),
        pytest.param("hello", "The patch cannot be parsed", id="no-patch"),
        pytest.param("*** Begin Patch\n*** Update File: x\n@@\n-one\n", "cut off", id="cut"),
        pytest.param("--- a/y\n+++ b/y\n@@\n-one\n+1\n", "the patch is for y", id="other-file"),
        pytest.param("@@\n-one\nwhat\n", "must begin with a space", id="bad-line"),
    ],
)
async def test_a_patch_that_does_not_fit_stages_nothing(patch: str, message: str, tmp_path: Path) -> None:
    desk = Desk(tmp_path, {"x": TEXT + "x\nx\n", "y": ""})
    result = await desk.call("edit_file", path="x", patch=patch)
    assert not result.ok and message in result.text, result.text
    assert desk.changes().changes == ()


async def test_a_patch_of_several_files_is_all_or_nothing(tmp_path: Path) -> None:
    desk = Desk(tmp_path, {"a.txt": "a\n", "b.txt": "b\n", "c.txt": "c\n"})
    patch = [
        *("*** Add File: n/new.txt", "+hello", "+you"),
        *("*** Update File: a.txt", "*** Move to: moved.txt", "@@", "-a", "+A"),
        "*** Delete File: c.txt",
        *("*** Update File: b.txt", "@@", "-nope", "+B"),
    ]
    failed = await desk.call("edit_file", path="b.txt", patch=begin(*patch))
    assert not failed.ok and "Nothing was changed" in failed.text and desk.changes().changes == ()
    patch[-2] = "-b"
    assert (await desk.call("edit_file", path="b.txt", patch=begin(*patch))).ok
    assert [await desk.staged(name) for name in ("n/new.txt", "moved.txt", "a.txt", "b.txt", "c.txt")] == [
        "hello\nyou\n",
        "A\n",
        None,
        "B\n",
        None,
    ]


async def test_a_patch_cannot_leave_the_workspace(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "w", {"a.txt": "a\n"})
    for path in ("../out.txt", "/etc/passwd", ".git/config"):
        result = await desk.call("edit_file", path=path, patch=begin(f"*** Add File: {path}", "+x"))
        assert not result.ok and desk.changes().changes == ()


@given(st.text(alphabet="@-+ *ab\n\\", max_size=200))
def test_no_text_raises(text: str) -> None:
    for patch in (text, f"@@\n{text}", f"*** Begin Patch\n*** Update File: a\n{text}\n*** End Patch"):
        files = read_patch(patch)
        if not isinstance(files, BadPatch):
            for file in files:
                apply_hunks("a\nb\n\na\n", file.hunks)


@given(st.lists(st.sampled_from("abcd"), max_size=12), st.lists(st.sampled_from("abcd"), max_size=12))
def test_a_whole_unified_diff_gives_the_new_text(before: list[str], after: list[str]) -> None:
    old, new = "".join(f"{c}\n" for c in before), "".join(f"{c}\n" for c in after)
    lines = list(difflib.unified_diff(old.splitlines(True), new.splitlines(True), "a/x", "b/x", n=20))
    if not lines:
        return
    files = read_patch("".join(lines))
    assert not isinstance(files, BadPatch)
    result = apply_hunks(old, files[0].hunks)
    assert isinstance(result, Replacement) and result.text == new


@pytest.mark.parametrize("kept", [" \n", "\n", "-\n", " a\n"])
def test_an_empty_file_holds_no_line_that_a_hunk_could_keep(kept: str) -> None:
    files = read_patch(f"@@ -1 +1 @@\n{kept}+a\n")
    assert not isinstance(files, BadPatch)
    assert not isinstance(apply_hunks("", files[0].hunks), Replacement)


@pytest.mark.parametrize("heading", ["", "def f", "class {number}"])
def test_many_hunks_of_one_kind_take_linear_time(heading: str) -> None:
    count = 1_900
    text = "a\n    def f\n" * 20_000
    hunks = "".join(f"@@ {heading.format(number=number)}\n-a\n+b\n" for number in range(count))
    files = read_patch(f"*** Begin Patch\n*** Update File: x\n{hunks}*** End Patch")
    assert not isinstance(files, BadPatch)
    assert not isinstance(apply_hunks(text, files[0].hunks), Replacement)
    same = "".join(f"@@ -{number} +{number} @@\n-a\n+b\n" for number in range(1, count + 1))
    files = read_patch(same)
    assert not isinstance(files, BadPatch)
    result = apply_hunks("a\n" * count, files[0].hunks)
    assert isinstance(result, Replacement)
    assert result.text == "b\n" * count


def test_large_texts_take_linear_time() -> None:
    text = "a\n" * 200_000
    patch = "@@\n" + " a\n" * 100_000 + "-b\n"
    files = read_patch(patch)
    assert not isinstance(files, BadPatch)
    assert not isinstance(apply_hunks(text, files[0].hunks), Replacement)


def aider(search: str, replace: str, *above: str) -> str:
    return "\n".join((*above, "<<<<<<< SEARCH", f"{search}=======", f"{replace}>>>>>>> REPLACE"))


def cline(search: str, replace: str) -> str:
    return f"------- SEARCH\n{search}=======\n{replace}+++++++ REPLACE"


@pytest.mark.parametrize(
    ("text", "patch", "expected"),
    [
        pytest.param(TEXT, aider("two\n", "2\n"), TEXT.replace("two", "2"), id="aider"),
        pytest.param(
            TEXT,
            aider("two\n", "2\n", "x", "```python") + "\n```",
            TEXT.replace("two", "2"),
            id="aider-fenced",
        ),
        pytest.param(
            TEXT,
            "```\n" + aider("two\n", "2\n", "src/x") + "\n```\n",
            TEXT.replace("two", "2"),
            id="path-in-fence",
        ),
        pytest.param(
            TEXT, aider("two\n", "2\n", "Here is the change of x:"), TEXT.replace("two", "2"), id="prose"
        ),
        pytest.param(TEXT, cline("two\n", "2\n"), TEXT.replace("two", "2"), id="cline"),
        pytest.param(
            TEXT,
            cline("two\n", "2\n") + "\n\n" + cline("five\n", ""),
            TEXT.replace("two", "2").replace("five\n", ""),
            id="cline-twice",
        ),
        pytest.param(
            "x\ny\nx\n",
            aider(":start_line:3\n-------\nx\n", "z\n"),
            "x\ny\nz\n",
            id="roo",
        ),
        pytest.param(
            "x\ny\nx\n",
            aider(":start_line:3\n:end_line:3\n-------\nx\n", "z\n"),
            "x\ny\nz\n",
            id="roo-end-line",
        ),
        pytest.param(
            TEXT,
            "<<<<<<< ORIGINAL\ntwo\n=======\n2\n>>>>>>> UPDATED",
            TEXT.replace("two", "2"),
            id="older-marks",
        ),
        pytest.param(
            TEXT, "<<<<< SEARCH>\ntwo\n=====\n2\n>>>>> REPLACE\n", TEXT.replace("two", "2"), id="short-marks"
        ),
        pytest.param(
            "    a  \n    b\n",
            aider("a\nb\n", "a\nc\n"),
            "    a  \n    c\n",
            id="kept-lines-stay-as-they-are",
        ),
        pytest.param("x\ny\nx\nz\n", aider("x\nz\n", "x\nw\n"), "x\ny\nx\nw\n", id="lines-around-decide"),
        pytest.param("a\n------ SEARCH\n", "@@\n a\n------- SEARCH\n+b\n", "a\nb\n", id="a-diff-stays-one"),
        pytest.param("", aider("", "a\nb\n"), "a\nb\n", id="empty-file"),
        pytest.param(TEXT, "*** Update File: x\n@@\n-two\n+2\n", TEXT.replace("two", "2"), id="no-envelope"),
        pytest.param(
            TEXT,
            begin("*** Update File: x", "@@", "-five", "+5", "*** Update File: x", "@@", "-two", "+2"),
            TEXT.replace("two", "2").replace("five", "5"),
            id="one-file-twice",
        ),
        pytest.param(
            TEXT,
            "apply_patch <<'EOF'\n" + begin("*** Update File: x", "@@", "-two", "+2") + "\nEOF\n",
            TEXT.replace("two", "2"),
            id="heredoc",
        ),
    ],
)
async def test_blocks_and_envelopes_of_other_agents_apply(
    text: str, patch: str, expected: str, tmp_path: Path
) -> None:
    desk = Desk(tmp_path, {"x": text, "src/x": text})
    path = "src/x" if "src/x" in patch else "x"
    result = await desk.call("edit_file", path=path, patch=patch)
    assert result.ok, result.text
    assert await desk.staged(path) == expected


async def test_blocks_change_and_create_several_files(tmp_path: Path) -> None:
    desk = Desk(tmp_path, {"a.py": "a\nb\n", "lib/b.py": "b\n"})
    patch = "\n".join(
        (
            aider("a\n", "A\n", "a.py", "```python"),
            "```",
            aider("b\n", "B\n"),
            aider("b\n", "B\n", "**lib/b.py**:"),
            aider("", "new\n", "`lib/new.py`"),
        )
    )
    result = await desk.call("edit_file", path="lib/b.py", patch=patch)
    assert result.ok, result.text
    assert [await desk.staged(name) for name in ("a.py", "lib/b.py", "lib/new.py")] == [
        "A\nB\n",
        "B\n",
        "new\n",
    ]


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        pytest.param("<<<<<<< SEARCH\none\n=======\n1\n", "cut off", id="no-end"),
        pytest.param("<<<<<<< SEARCH\none\n>>>>>>> REPLACE\n", "cut off", id="no-middle"),
        pytest.param(aider("one\n=======\n", "1\n"), "more than one line =======", id="two-middles"),
        pytest.param("<<<<<<< SEARCH\none\n" + aider("one\n", "1\n"), "more than one line", id="two-starts"),
        pytest.param(aider("", "1\n"), "exists already", id="empty-search"),
        pytest.param(
            aider("one\n", "1\n") + "\n" + aider("", "1\n"), "must be the only one", id="empty-among-others"
        ),
        pytest.param(aider("x\n", "y\n"), "matches in 2 places (lines 7, 8)", id="ambiguous"),
        pytest.param(aider("zwei\n", "2\n"), "was not found", id="not-there"),
        pytest.param(aider("one\n", "1\n", "other.py"), "the patch is for other.py", id="other-file"),
    ],
)
async def test_a_block_that_does_not_fit_stages_nothing(patch: str, message: str, tmp_path: Path) -> None:
    desk = Desk(tmp_path, {"x": TEXT + "x\nx\n"})
    result = await desk.call("edit_file", path="x", patch=patch)
    assert not result.ok and message in result.text, result.text
    assert desk.changes().changes == ()
