"""The line numbers of `read_file`: how they are shown, and that copies of them never reach a file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planloom.tools.files.line_numbers import numbered, unnumbered_edit, unnumbered_text
from planloom.tools.files.replacing import Replacement, replace
from tests.tools.desk import Desk

CODE = "def one():\n    return 1\n\n\ndef two():\n    return 2\n"
TABLE = "1\tone\n2\ttwo\n3\tthree\n"


@pytest.mark.parametrize(
    ("args", "text", "value"),
    [
        pytest.param(
            {}, "1\tdef one():\n2\t    return 1\n3\t\n4\t\n5\tdef two():\n6\t    return 2", CODE, id="whole"
        ),
        pytest.param({"start_line": 6}, "6\t    return 2\n[lines 6 to 6 of 6]", "    return 2\n", id="from"),
        pytest.param({"end_line": 1}, "1\tdef one():\n[lines 1 to 1 of 6]", "def one():\n", id="to"),
        pytest.param(
            {"ranges": "5-6,1"},
            "1\tdef one():\n[…]\n5\tdef two():\n6\t    return 2\n[lines 1 to 1 and 5 to 6 of 6]",
            "def one():\ndef two():\n    return 2\n",
            id="ranges",
        ),
        pytest.param(
            {"ranges": "1,3,5-6"},
            "1\tdef one():\n[…]\n3\t\n[…]\n5\tdef two():\n6\t    return 2\n"
            "[lines 1 to 1, 3 to 3 and 5 to 6 of 6]",
            "def one():\n\ndef two():\n    return 2\n",
            id="three-ranges",
        ),
        pytest.param(
            {"ranges": "1-1, 2..2"}, "1\tdef one():\n2\t    return 1\n[lines 1 to 2", CODE[:24], id="touching"
        ),
        pytest.param({"ranges": "2-1,90-99"}, "1\tdef one():\n2\t    return 1\n", CODE[:24], id="beyond"),
        pytest.param({"ranges": "5-"}, "5\tdef two():\n6\t    return 2\n", CODE[26:], id="open"),
        pytest.param({"start_line": 0, "end_line": 0}, "1\tdef one():", CODE, id="zeros"),
        pytest.param(
            {"ranges": "0-2"}, "1\tdef one():\n2\t    return 1\n[lines 1 to 2", CODE[:24], id="from-zero"
        ),
        pytest.param({"ranges": "0"}, "1\tdef one():\n[lines 1 to 1", "def one():\n", id="zero"),
        pytest.param({"ranges": "0-0"}, "1\tdef one():", CODE, id="range-of-zeros"),
        pytest.param({"ranges": "5-0"}, "5\tdef two():\n6\t    return 2\n", CODE[26:], id="to-zero"),
        pytest.param({"ranges": ""}, "1\tdef one():", CODE, id="no-ranges"),
        pytest.param(
            {"ranges": "5-6", "start_line": 1, "end_line": 1}, "1\tdef", "def one():\n" + CODE[26:], id="both"
        ),
    ],
)
async def test_lines_are_shown_with_numbers_and_passed_on_without(
    tmp_path: Path, args: Mapping[str, object], text: str, value: str
) -> None:
    desk = Desk(tmp_path, {"a.py": CODE})
    result = await desk.call("read_file", path="a.py", **args)
    assert result.ok and result.value == value
    assert result.text.startswith(text)


@pytest.mark.parametrize("ranges", [",", "a", "1-b", "1,,2", "0x3", "[1, 2]"])
async def test_ranges_that_cannot_be_read_are_told(tmp_path: Path, ranges: str) -> None:
    desk = Desk(tmp_path, {"a.py": CODE})
    with pytest.raises(ValueError, match="such as 1-40,90-120"):
        await desk.call("read_file", path="a.py", ranges=ranges)


async def test_a_file_without_text_says_so(tmp_path: Path) -> None:
    assert (await Desk(tmp_path, {"a": ""}).call("read_file", path="a")).text == "[the file is empty]"


async def test_long_files_and_long_lines_are_cut_with_a_mark(tmp_path: Path) -> None:
    desk = Desk(
        tmp_path,
        {"long": "x\n" * 2_500, "wide": "y" * 999 + "\n" + "z" * 30_000, "big": ("w" * 999 + "\n") * 900},
    )
    long = await desk.call("read_file", path="long")
    assert "\n2000\tx\n[lines 1 to 2000 of 2500; ask for other lines with start_line" in long.text
    wide = await desk.call("read_file", path="wide")
    assert (
        "… [10000 more characters; search_text" in wide.text and wide.value == "y" * 999 + "\n" + "z" * 30_000
    )
    big = await desk.call("read_file", path="big")
    assert "[lines 1 to 200 of 900" in big.text and len(big.text) < 220_000


@pytest.mark.parametrize(
    ("text", "old", "new", "expected"),
    [
        pytest.param(CODE, "2\t    return 1", "2\t    return 3", CODE.replace("1\n", "3\n"), id="one-line"),
        pytest.param(
            CODE,
            "5\tdef two():\n6\t    return 2\n",
            "5\tdef two():\n6\t    x = 3\n7\t    return x\n",
            CODE.replace("return 2", "x = 3\n    return x"),
            id="both-sides",
        ),
        pytest.param(
            CODE,
            "5\tdef two():\n6\t    return 2",
            "5\tdef two():\n    x = 3\n6\t    return x",
            CODE.replace("return 2", "x = 3\n    return x"),
            id="some-new-lines",
        ),
        pytest.param(
            CODE,
            "5\tdef two():\n6\t    return 2",
            "def two():\n    pass",
            CODE.replace("return 2", "pass"),
            id="old-only",
        ),
        pytest.param(
            CODE,
            "    return 2",
            "6\t    x = 2\n7\t    return x",
            CODE.replace("return 2", "x = 2\n    return x"),
            id="new-only",
        ),
        pytest.param(
            CODE,
            "2\t    return 1\n3\n\n5\tdef two():",
            "2\t    return 1\n3\n4\tdef two():",
            CODE.replace("\n\n\n", "\n\n"),
            id="blank-lines-without-tab",
        ),
        pytest.param(
            CODE, "     2→    return 1", "     2→    return 3", CODE.replace("1\n", "3\n"), id="arrow"
        ),
        pytest.param(
            CODE, "L1: def one():\nL2:     return 1", "pass", CODE.replace(CODE[:23], "pass"), id="codex"
        ),
        pytest.param(
            CODE, " 1 | def one():\n 2 |     return 1", "pass", CODE.replace(CODE[:23], "pass"), id="bar"
        ),
        pytest.param(
            CODE, "1: def one():\n2:     return 1", "pass", CODE.replace(CODE[:23], "pass"), id="search"
        ),
        pytest.param(CODE, "1\tdef  one():\n2\t\treturn 1", "x", None, id="not-there"),
        pytest.param(CODE, "2\tturn 1", "x", None, id="a-number-begins-a-line"),
        pytest.param(CODE + CODE, "2\t    return 1", "x", None, id="twice"),
        pytest.param(CODE, "2: return 1", "x", None, id="a-colon-alone-is-no-number"),
        pytest.param(CODE, "1\tdef one():\n5\tdef two():", "x", None, id="a-gap-is-no-numbering"),
        pytest.param(CODE, "return 2", "1\ta\n2\tb", CODE.replace("return 2", "1\ta\n2\tb"), id="rows"),
        pytest.param(TABLE, "2\ttwo", "2\tdeux", TABLE.replace("two", "deux"), id="table"),
        pytest.param(TABLE, "2\t2\ttwo", "2\t2\tdeux", TABLE.replace("two", "deux"), id="table-numbered"),
        pytest.param(TABLE, "3\tthree", "3\tthree\n4\tfour", TABLE + "4\tfour\n", id="table-grows"),
    ],
)
def test_copied_numbers_do_not_reach_the_file(text: str, old: str, new: str, expected: str | None) -> None:
    result = replace(text, old, new)
    assert (result.text if isinstance(result, Replacement) else None) == expected


@pytest.mark.parametrize(
    "patch",
    [
        "@@\n 5\tdef two():\n-6\t    return 2\n+6\t    return 3\n",
        "@@\n 5\tdef two():\n-6\t    return 2\n+    return 3\n",
        "*** Begin Patch\n*** Update File: a.py\n@@\n 5\tdef two():\n-6\t    return 2\n+6\t    return 3\n*** End Patch",
        "<<<<<<< SEARCH\n6\t    return 2\n=======\n6\t    return 3\n>>>>>>> REPLACE",
    ],
)
async def test_copied_numbers_in_a_patch_do_not_reach_the_file(tmp_path: Path, patch: str) -> None:
    desk = Desk(tmp_path, {"a.py": CODE})
    assert (await desk.call("edit_file", path="a.py", patch=patch)).ok
    assert await desk.staged("a.py") == CODE.replace("return 2", "return 3")


@pytest.mark.parametrize(
    ("name", "before", "kept"),
    [
        ("a.py", CODE, False),
        ("new.py", None, False),
        ("a.tsv", CODE, False),
        ("new.tsv", None, True),
        ("a", TABLE, True),
    ],
)
async def test_a_whole_file_is_written_without_copied_numbers(
    tmp_path: Path, name: str, before: str | None, kept: bool
) -> None:
    desk = Desk(tmp_path, {} if before is None else {name: before})
    content = numbered(["x = 1", "", "y = 2"], 1) + "\n"
    assert (await desk.call("write_file", path=name, content=content)).ok
    assert await desk.staged(name) == (content if kept else "x = 1\n\ny = 2\n")


@given(
    st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n")), min_size=2),
    st.integers(1, 9_999),
)
def test_numbers_come_off_as_they_went_on(lines: list[str], first: int) -> None:
    shown = numbered(lines, first)
    assert unnumbered_text(shown, first) == "\n".join(lines)
    plain = unnumbered_edit(shown.split("\n"), shown.split("\n"))
    assert plain is not None and plain.old == plain.new == tuple(lines)
