"""Reading and listing files, and the globs of all tools."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from planloom.intake.contents import LineSpan, lines_of
from planloom.workspace.index.file_index import FileIndex
from planloom.workspace.index.ignore_globs import expand_braces
from tests.tools.desk import Desk

TREE: dict[str, str | bytes] = {
    ".gitignore": "dist/\n*.log\n",
    "a.ts": "needle\n",
    "b.tsx": "needle\n",
    "c.py": "needle\n",
    "d.log": "needle\n",
    "dist/out.ts": "needle\n",
    "dist/deep/more.ts": "needle\n",
    "src/e.ts": "needle\n",
    "src/deep/f.tsx": "needle\n",
    "src/deep/[id].tsx": "needle\n",
    "node_modules/m/g.ts": "needle\n",
}


async def looked(desk: Desk, tool: str, **args: Any) -> list[str]:
    """The paths that a tool found, without its notes."""
    result = await desk.call(tool, **args)
    assert result.ok and isinstance(result.value, list), result.text
    return sorted({each["path"] if isinstance(each, dict) else str(each) for each in result.value})  # type: ignore[type-var]


@pytest.mark.parametrize("indexed", [True, False])
@pytest.mark.parametrize(
    ("glob", "wanted"),
    [
        ("*.{ts,tsx}", ["a.ts", "b.tsx", "src/deep/[id].tsx", "src/deep/f.tsx", "src/e.ts"]),
        ("src/*.ts", ["src/e.ts"]),
        ("./src/*.ts", ["src/e.ts"]),
        ("/src/*.ts", ["src/e.ts"]),
        ("src/**/*.tsx", ["src/deep/[id].tsx", "src/deep/f.tsx"]),
        ("{src/deep,lib}/f.{ts,tsx}", ["src/deep/f.tsx"]),
        ("**/*.p[xy]", ["c.py"]),
        ("src/deep/[id].tsx", ["src/deep/[id].tsx"]),
        ("[id].tsx", ["src/deep/[id].tsx"]),
        ("src/deep/", ["src/deep/[id].tsx", "src/deep/f.tsx"]),
    ],
)
async def test_every_tool_reads_a_glob_alike(
    tmp_path: Path, glob: str, wanted: list[str], indexed: bool
) -> None:
    desk = Desk(tmp_path, TREE | {"node_modules/m/g.ts": "", ".ignore": "node_modules\n"})
    if indexed:
        index = FileIndex(desk.view.roots.folders)
        await index.build()
        desk.context.index = lambda: index
    assert await looked(desk, "find_files", pattern=glob) == wanted
    assert await looked(desk, "search_text", pattern="needle", files=glob) == wanted
    listed = await looked(desk, "list_files", pattern=glob, recursive=True)
    assert [name for name in listed if not name.endswith("/")] == wanted


@pytest.mark.parametrize(
    ("glob", "globs"),
    [
        ("*.ts", ["*.ts"]),
        ("*.{ts,tsx}", ["*.ts", "*.tsx"]),
        ("{a,b}/{c,d}", ["a/c", "a/d", "b/c", "b/d"]),
        ("x{a,{b,c}d}", ["xa", "xbd", "xcd"]),
        ("x{,.bak}", ["x", "x.bak"]),
        ("{one}", ["{one}"]),
        ("{a,b", ["{a,b"]),
        ("a}b{", ["a}b{"]),
        (r"\{a,b\}", [r"\{a,b\}"]),
    ],
)
def test_braces_stand_for_each_of_their_parts(glob: str, globs: Sequence[str]) -> None:
    assert expand_braces(glob) == tuple(globs)


def test_braces_within_braces_have_an_end() -> None:
    assert len(expand_braces("{a,b}" * 30)) <= 100
    assert len(expand_braces("{a," * 500 + "}" * 500)) <= 100


async def test_listing_leaves_out_what_is_ignored_unless_it_is_named(tmp_path: Path) -> None:
    desk = Desk(tmp_path, TREE)
    assert await looked(desk, "list_files") == [".gitignore", "a.ts", "b.tsx", "c.py", "src/"]
    assert await looked(desk, "list_files", recursive=True, path="src") == [
        "deep/",
        "deep/[id].tsx",
        "deep/f.tsx",
        "e.ts",
    ]
    assert await looked(desk, "list_files", path="dist", recursive=True) == [
        "deep/",
        "deep/more.ts",
        "out.ts",
    ]
    assert await looked(desk, "list_files", path="node_modules") == ["m/"]
    assert await looked(desk, "list_files", pattern="*.log") == []


async def test_listing_leaves_out_what_the_settings_exclude(tmp_path: Path) -> None:
    desk = Desk(tmp_path, TREE)
    index = FileIndex(desk.view.roots.folders, exclude=("src/deep", "c.*"))
    await index.build()
    desk.context.index = lambda: index
    assert await looked(desk, "list_files", recursive=True) == [
        ".gitignore",
        "a.ts",
        "b.tsx",
        "src/",
        "src/e.ts",
    ]


async def test_listing_shows_what_is_staged(tmp_path: Path) -> None:
    desk = Desk(tmp_path, TREE)
    await desk.call("write_file", path="new/deep/x.ts", content="x\n")
    await desk.call("write_file", path="dist/y.ts", content="y\n")
    assert await looked(desk, "list_files", pattern="*.ts", recursive=True) == [
        "a.ts",
        "new/deep/x.ts",
        "src/e.ts",
    ]


@pytest.mark.parametrize("kind", ["open", "staged"])
async def test_what_the_settings_exclude_is_not_searched_while_it_is_open_or_staged(
    tmp_path: Path, kind: str
) -> None:
    desk = Desk(tmp_path, {"a.ts": "needle\n", "gen/b.ts": "other\n"})
    index = FileIndex(desk.view.roots.folders, exclude=("gen",))
    await index.build()
    desk.context.index = lambda: index
    if kind == "open":
        desk.editor.open(desk.path("gen/b.ts"), "needle\n")
    else:
        await desk.context.files.stage_write(desk.uri("gen/b.ts"), "needle\n")
    assert await looked(desk, "search_text", pattern="needle") == ["a.ts"]
    assert await looked(desk, "search_text", pattern="needle", path="gen") == ["gen/b.ts"]


@pytest.mark.parametrize("tool", ["find_files", "list_files", "search_text"])
async def test_a_glob_that_can_match_nothing_is_told(tmp_path: Path, tool: str) -> None:
    glob = {"search_text": {"pattern": "x", "files": "\\"}}.get(tool, {"pattern": "*\\"})
    result = await Desk(tmp_path, TREE).call(tool, **glob)
    assert not result.ok and "glob" in result.text


async def test_lines_in_the_wrong_order_are_read_in_the_right_one(tmp_path: Path) -> None:
    desk = Desk(tmp_path, {"a.txt": "one\ntwo\nthree\n"})
    result = await desk.call("read_file", path="a.txt", start_line=2, end_line=1)
    assert result.ok and result.value == "one\ntwo\n"
    assert "[lines 1 to 2 of 3" in result.text


@pytest.mark.parametrize(
    ("text", "count"),
    [("", 1), ("a", 1), ("a\n", 1), ("a\nb", 2), ("a\r\nb\r\n", 2), ("a\n\n", 2), ("\n", 1)],
)
async def test_lines_are_counted_as_in_attachments(tmp_path: Path, text: str, count: int) -> None:
    desk = Desk(tmp_path, {"a.txt": text})
    assert lines_of(text, LineSpan(99, 99), "utf-16") == count
    assert f"({count} line" in (await desk.call("read_file", path="a.txt")).summary
    beyond = await desk.call("read_file", path="a.txt", start_line=count + 1)
    assert not beyond.ok and f"has {count} line" in beyond.text


@pytest.mark.parametrize("path", ["new/", "src/new/"])
async def test_a_file_whose_path_ends_in_a_slash_is_not_written(tmp_path: Path, path: str) -> None:
    desk = Desk(tmp_path, TREE)
    result = await desk.call("write_file", path=path, content="x\n")
    assert not result.ok and "create_folder" in result.text
    patch = f"*** Begin Patch\n*** Add File: {path}\n+x\n*** End Patch"
    added = await desk.call("edit_file", path=path, patch=patch)
    assert not added.ok and "create_folder" in added.text
    assert not desk.changes().changes
