"""Searching by text and by name: unsaved and staged text, ignore rules, limits, with ripgrep and without."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from planloom.domain.text.positions import Position, Range
from planloom.tools.catalog import MAX_CONTEXT
from planloom.tools.search import search_files
from planloom.tools.search.matching_process import TooSlow
from planloom.tools.search.search_pattern import BadPattern, may_contain, needle_of, read_pattern
from planloom.workspace.editor import Diagnostic, FileDiagnostics
from planloom.workspace.index.file_index import FileIndex
from tests.tools.desk import Desk

FILES: dict[str, str | bytes] = {
    **{f"src/m{n % 7}/f{n}.py": f"def f{n}():\r\n    return 'Needle {n}'\r\n" for n in range(260)},
    ".gitignore": "hidden/\n*.log\n",
    "hidden/a.py": "Needle\n",
    "a.log": "Needle\n",
    "wide.txt": "Needle ßK\n".encode("utf-16"),
    "latin.txt": b"Needle caf\xe9\n",
    "binary": b"Needle\0",
    "long.txt": "x" * 5000 + "Needle" + "y" * 5000,
    "sub/.gitignore": "!keep.log\n",
    "sub/keep.log": "Needle\n",
}
CASES: list[dict[str, Any]] = [
    {"pattern": "Needle", "max_results": 1000},
    {"pattern": "Needle 1", "max_results": 7},
    {"pattern": "needle", "ignore_case": True, "max_results": 1000},
    {"pattern": r"^    return 'Needle \d5'$", "regex": True},
    {"pattern": r"def f(1|2)\d\(\):\s+return", "regex": True, "max_results": 1000},
    {"pattern": r"NEEDLE (?=ß)", "regex": True, "ignore_case": True},
    {"pattern": "Needle ßk", "ignore_case": True},
    {"pattern": "Needle", "files": "src/m1/**", "max_results": 1000},
    {"pattern": "Needle", "path": "hidden"},
    {"pattern": "typed"},
    {"pattern": "staged"},
    {"pattern": "nowhere at all"},
]


async def desk_of(folder: Path, *, indexed: bool) -> Desk:
    desk = Desk(folder, FILES)
    index = FileIndex(desk.view.roots.folders)
    await index.build()
    if indexed:
        desk.context.index = lambda: index
    desk.editor.open(desk.path("src/m1/f1.py"), "only typed\n")
    await desk.context.files.stage_write(desk.uri("src/new.py"), "staged Needle\n")
    await desk.context.files.stage_rename(desk.uri("src/m2"), desk.uri("moved"))
    await desk.context.files.stage_delete(desk.uri("src/m3/f3.py"))
    return desk


async def found(desk: Desk, **args: Any) -> list[tuple[str, int]]:
    result = await desk.call("search_text", **args)
    assert result.ok and isinstance(result.value, list), result.text
    return [(hit["path"], hit["line"]) for hit in result.value]  # type: ignore[call-overload, index, misc]


@pytest.mark.skipif(shutil.which("rg") is None, reason="there is no ripgrep here")
@pytest.mark.parametrize("indexed", [True, False])
async def test_ripgrep_makes_no_difference(
    indexed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = await desk_of(tmp_path, indexed=indexed)
    with_it = [await found(desk, **case) for case in CASES]
    monkeypatch.setenv("PATH", "")
    assert with_it == [await found(desk, **case) for case in CASES]


async def test_what_is_searched(tmp_path: Path) -> None:
    desk = await desk_of(tmp_path, indexed=True)
    everywhere = await found(desk, pattern="Needle", max_results=1000)
    paths = {path for path, _ in everywhere}
    assert {"wide.txt", "long.txt", "src/new.py", "sub/keep.log", "moved/f2.py"} <= paths
    assert not paths & {
        "hidden/a.py",
        "a.log",
        "latin.txt",
        "binary",
        "src/m1/f1.py",
        "src/m2/f2.py",
        "src/m3/f3.py",
    }
    assert ("moved/f2.py", 2) in everywhere
    assert await found(desk, pattern="typed") == [("src/m1/f1.py", 1)]
    assert await found(desk, pattern="Needle", path="hidden") == [("hidden/a.py", 1)]
    assert everywhere == sorted(everywhere)


@pytest.mark.parametrize("name", [".env", "keys/id_rsa", "server.pem"])
async def test_secrets_are_not_shown(name: str, tmp_path: Path) -> None:
    desk = Desk(tmp_path, {name: "Needle=canary\n", "a.txt": "Needle\n"})
    (tmp_path / "link").symlink_to(tmp_path / name)
    desk.editor.open(desk.path(name))
    results = [
        await desk.call("search_text", pattern="Needle"),
        await desk.call("search_text", pattern="Needle", path=name),
        await desk.call("find_files", pattern="*"),
        await desk.call("read_file", path=name),
        await desk.call("read_file", path="link"),
        await desk.call("edit_file", path=name, old_text="Needle=canar", new_text="x"),
        await desk.call("edit_file", path=name, old_text="Needle=other", new_text="x"),
    ]
    assert not any("canary" in result.text for result in results)
    assert name not in results[0].text and name not in results[2].text
    assert [result.ok for result in results] == [True, False, True, False, False, True, False]


async def test_output_is_bounded(tmp_path: Path) -> None:
    desk = Desk(tmp_path, {"a.txt": ("Needle " + "x" * 900 + "\n") * 3000})
    result = await desk.call("search_text", pattern="Needle", max_results=1000)
    assert len(result.text) < 17_000 and " more are in a.txt " in result.text
    around = await desk.call("search_text", pattern="Needle", max_results=1000, context=20)
    assert len(around.text) < 17_000 and "more are in a.txt" in around.text


async def test_what_is_not_shown_is_counted_by_file(tmp_path: Path) -> None:
    desk = Desk(tmp_path, {f"f{n:02}.txt": "Needle\n" * n for n in range(1, 31)})
    result = await desk.call("search_text", pattern="Needle", max_results=4)
    assert result.text.startswith(
        "f01.txt\n1\tNeedle\nf02.txt\n1\tNeedle\n2\tNeedle\nf03.txt\n1\tNeedle\n[4 lines"
    )
    assert "461 more are in f30.txt 30, f29.txt 29, " in result.text
    assert "f11.txt 11 and 8 more files; give" in result.text
    assert result.summary == "Found “Needle” in 465 lines of 30 files"
    two = await desk.call("search_text", pattern="Needle", files="f02*", max_results=1)
    assert "\n[1 line is shown, 1 more is in f02.txt 1; give" in two.text
    whole = await desk.call("search_text", pattern="Needle", files="f01*")
    assert (whole.text, whole.summary) == ("f01.txt\n1\tNeedle", "Found “Needle” in 1 line of 1 file")


async def test_a_search_without_time_to_count_says_that_files_are_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_files, "_COUNTING_SECONDS", -1.0)
    desk = Desk(tmp_path, {"a.txt": "Needle\n", "b.txt": "Needle\n"})
    result = await desk.call("search_text", pattern="Needle", max_results=1)
    assert result.text == (
        "a.txt\n1\tNeedle\n[not all files were searched: give a folder or file as path, or files such as *.py]"
    )
    assert result.summary == "Found “Needle” in 1+ lines of 1+ files"


@pytest.mark.parametrize(
    ("text", "context", "expected"),
    [
        pytest.param("a\nNeedle\nb\nc\n", 1, "1\ta\n2\tNeedle\n3\tb", id="one"),
        pytest.param("Needle\nb\n", 3, "1\tNeedle\n2\tb", id="at-both-ends"),
        pytest.param("Needle", 3, "1\tNeedle", id="alone"),
        pytest.param("\r\n\r\nNeedle\r\n\r\n", 2, "1\t\n2\t\n3\tNeedle\n4\t", id="blank-lines"),
        pytest.param("Needle\na\nb\nNeedle\n", 1, "1\tNeedle\n2\ta\n3\tb\n4\tNeedle", id="touching"),
        pytest.param("Needle\na\nb\nc\nNeedle\n", 1, "1\tNeedle\n2\ta\n[…]\n4\tc\n5\tNeedle", id="apart"),
        pytest.param("Needle\nNeedle\n", 2, "1\tNeedle\n2\tNeedle", id="overlapping"),
    ],
)
async def test_lines_around_a_match_are_numbered_as_in_a_file(
    tmp_path: Path, text: str, context: int, expected: str
) -> None:
    desk = Desk(tmp_path, {"a.txt": text, "b.txt": text})
    result = await desk.call("search_text", pattern="Needle", context=context)
    assert result.text == f"a.txt\n{expected}\nb.txt\n{expected}"


@pytest.mark.parametrize(
    ("pattern", "paths"),
    [
        ("f25*.py", ["src/m2/f25.py"]),
        ("**/m4/*4.py", None),
        ("keep", ["sub/keep.log"]),
        ("NEW", ["src/new.py"]),
        ("m1/f1", None),
        ("*.log", ["sub/keep.log"]),
        ("moved/f2.py", ["moved/f2.py"]),
        ("src/m3/f3.py", []),
    ],
)
async def test_find_files(pattern: str, paths: list[str] | None, tmp_path: Path) -> None:
    desk = await desk_of(tmp_path, indexed=True)
    result = await desk.call("find_files", pattern=pattern)
    assert result.ok and isinstance(result.value, list)
    if paths is None:
        assert result.value
    elif pattern == "f25*.py":
        assert "moved/f25.py" not in result.value or len(result.value) >= 1
    else:
        assert result.value == paths


async def test_nothing_found_names_what_is_similar(tmp_path: Path) -> None:
    desk = await desk_of(tmp_path, indexed=True)
    assert "sub/keep.log" in (await desk.call("find_files", pattern="kep.log")).text


@pytest.mark.parametrize(
    ("pattern", "found", "remark"),
    [
        ("f(1", "f(1)", "The pattern is no usable regular expression"),
        ("*", "a*b", "The pattern is no usable regular expression"),
        ("\\", "a\\b", "The pattern is no usable regular expression"),
        ("a*b$c", "a*b$c", "As a regular expression the pattern matches nothing"),
        ("f|g", "g", None),
        ("f(1)", "f1", None),
        ("plain", "plain", None),
    ],
)
async def test_a_pattern_is_an_expression_unless_only_its_text_occurs(
    pattern: str, found: str, remark: str | None, tmp_path: Path
) -> None:
    result = await Desk(tmp_path, {"a": f"x\n{found}\n"}).call("search_text", pattern=pattern)
    lines = result.text.splitlines()
    assert lines[:2] == ["a", f"2\t{found}"]
    assert (remark is None and len(lines) == 2) or (remark or "") in lines[2]


async def test_a_text_is_searched_as_it_stands_if_the_call_says_so(tmp_path: Path) -> None:
    desk = Desk(tmp_path, {"a": "f1\nf(1)\n"})
    assert (await desk.call("search_text", pattern="f(1)", regex=False)).text == "a\n2\tf(1)"
    nothing = await desk.call("search_text", pattern="g(1)")
    assert nothing.ok and "No line matches “g(1)”" in nothing.text
    nowhere = await desk.call("search_text", pattern="f", files="*.py")
    assert nowhere.ok and nowhere.text == "There is no file to search: check path and files."


async def test_a_number_above_its_limit_counts_as_the_limit(tmp_path: Path) -> None:
    desk = Desk(tmp_path, {"a": "x\n" * 30 + "Needle\n"})
    result = await desk.call("search_text", pattern="Needle", context=10_000, max_results=10_000)
    assert result.ok and result.text.splitlines()[:2] == ["a", f"{31 - MAX_CONTEXT}\tx"]


async def test_a_match_that_begins_with_empty_lines_is_that_of_its_first_word(tmp_path: Path) -> None:
    desk = Desk(
        tmp_path, {"a": "import x\n\n\ndef one():\n    return 2\n\n    def two():\n        return 2\n"}
    )
    result = await desk.call("search_text", pattern=r"^\s*(def|class) ")
    assert result.text == "a\n4\tdef one():\n7\t    def two():"


@pytest.mark.slow
async def test_a_pattern_that_never_ends_is_stopped(tmp_path: Path) -> None:
    desk = Desk(tmp_path, {"a.txt": "a" * 2_000 + "!\n"})
    result = await desk.call("search_text", pattern=r"(.*)(.*)(.*)(.*)(.*)(.*)[zq]$", regex=True)
    assert not result.ok and "takes too long for a.txt" in result.text


PIECES = st.lists(
    st.sampled_from(
        [
            "abc",
            "x",
            "(ab|c)",
            "[xy]",
            "a?",
            "bc+",
            ".*",
            "\\.",
            "\\d",
            "k",
            "Sun",
            "x{2}",
            "^",
            "$",
            "|",
            "(?:abc)",
        ]
    ),
    max_size=6,
).map("".join)


@given(PIECES, st.text(alphabet="abcxykKſ.1Sun\u212a\n", max_size=30), st.booleans())
def test_a_file_that_matches_is_never_passed_over(pattern: str, text: str, ignore_case: bool) -> None:
    try:
        compiled = regex.compile(pattern, regex.MULTILINE | (regex.IGNORECASE if ignore_case else 0))
    except regex.error:
        return
    if compiled.search(text, timeout=5):
        needle = needle_of(pattern, literal=False, ignore_case=ignore_case)
        assert may_contain(text.encode(), needle, ignore_case=ignore_case)


def test_the_limit_of_time_is_an_error_of_its_own() -> None:
    compiled = read_pattern("a", literal=True, ignore_case=False)
    assert not isinstance(compiled, BadPattern)
    with pytest.raises(TooSlow):
        list(compiled.matches("a", 0))


async def test_findings_of_the_editor(tmp_path: Path) -> None:
    desk = Desk(tmp_path, {"a.py": "x\n", "b.py": "y\n"})
    desk.context.diagnostics = desk.editor.diagnostics
    place = Range(start=Position(line=3, character=0), end=Position(line=3, character=1))
    desk.editor.findings[desk.uri("a.py")] = FileDiagnostics(
        uri=desk.uri("a.py"),
        items=(
            Diagnostic(range=place, severity="warning", message="w", source="lint", code="W1"),
            Diagnostic(range=place, severity="error", message="bad\x1b[31m\nthing"),
        ),
    )
    result = await desk.call("read_diagnostics", path="a.py")
    assert result.text == "a.py:4: error: bad thing\na.py:4: warning: w [lint W1]"
    assert "no problems" in (await desk.call("read_diagnostics", path="b.py")).text
    await desk.call("write_file", path="b.py", content="b = 1\n")
    assert "as before this step's changes" in (await desk.call("read_diagnostics", path="b.py")).text
    assert "No file is open" in (await desk.call("read_diagnostics")).text
    desk.editor.open(desk.path("a.py"))
    assert "2 problems" in (await desk.call("read_diagnostics")).summary
    desk.editor.findings[desk.uri("b.py")] = FileDiagnostics(
        uri=desk.uri("b.py"), items=(Diagnostic(range=place, severity="error", message="bad"),)
    )
    assert (
        await desk.call("read_diagnostics", path="b.py")
    ).summary == "1 problem in b.py, 1 error among them"
    desk.context.diagnostics = None
    assert not (await desk.call("read_diagnostics", path="a.py")).ok
