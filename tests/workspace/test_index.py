"""The file index: listing, updates and search."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from pathlib import Path
from typing import Literal

import pytest

from planloom.workspace.index.file_index import Changed, FileIndex
from planloom.workspace.index.programs import find_program
from planloom.workspace.paths.roots import root_at
from planloom.workspace.paths.uris import from_path

GIT = shutil.which("git")
WAYS = ["walk", pytest.param("git", marks=pytest.mark.skipif(GIT is None, reason="there is no git"))]

TREE = """
.gitignore: *.log
.gitignore: /build/
.gitignore: node_modules
.gitignore: !keep.log
.hidden/a.ts:
a.log:
build/out.js:
keep.log:
lib/.gitignore: *.tmp
lib/.gitignore: !b.log
lib/.gitignore: /deep/only
lib/a b.ts:
lib/b.log:
lib/c.log:
lib/deep/only/x.ts:
lib/deep/y.ts:
lib/x.tmp:
node_modules/m/index.js:
src/build/kept.ts:
src/node_modules/n.js:
src/ü.ts:
"""
SHOWN = ".gitignore .hidden/a.ts keep.log lib/.gitignore lib/a_b.ts lib/b.log lib/deep/y.ts src/build/kept.ts src/ü.ts"


def write(root: Path, tree: str) -> Path:
    for line in tree.strip().splitlines():
        name, _, content = line.partition(":")
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            file.write(content.strip() + "\n" * bool(content))
    return root


def git(root: Path, *arguments: str) -> None:
    subprocess.run([str(GIT), "-C", str(root), *arguments], check=True)


def make_repository(root: Path) -> None:
    git(root, "init", "-q")


async def indexed(root: Path, way: str, exclude: tuple[str, ...] = ()) -> FileIndex:
    if way == "git":
        make_repository(root)
    index = FileIndex([root_at(root)], exclude=exclude, git="find" if way == "git" else None)
    await index.build()
    return index


async def files(index: FileIndex, folder: str = "") -> str:
    found = await index.below(folder, 10_000)
    return " ".join(path.replace(" ", "_") for path in found if not path.endswith("/"))


@pytest.mark.parametrize("way", WAYS)
async def test_nested_ignore_files_hide(tmp_path: Path, way: str) -> None:
    index = await indexed(write(tmp_path, TREE), way)
    assert await files(index) == SHOWN
    assert index.complete and index.files == len(SHOWN.split())
    assert not await index.ending_with("HEAD")


@pytest.mark.parametrize("way", WAYS)
async def test_excludes_of_the_settings_hide_on_top(tmp_path: Path, way: str) -> None:
    index = await indexed(write(tmp_path, TREE), way, ("**/deep", "*.log", "src/**/kept.ts"))
    assert await files(index) == ".gitignore .hidden/a.ts lib/.gitignore lib/a_b.ts src/ü.ts"


@pytest.mark.parametrize("way", WAYS)
async def test_excludes_of_the_settings_may_have_braces(tmp_path: Path, way: str) -> None:
    index = await indexed(write(tmp_path, TREE), way, ("{**/deep,*.log}", "src/**/{kept,other}.ts"))
    assert await files(index) == ".gitignore .hidden/a.ts lib/.gitignore lib/a_b.ts src/ü.ts"


@pytest.mark.parametrize("way", WAYS)
async def test_an_ignore_file_of_search_tools_beats_gits(tmp_path: Path, way: str) -> None:
    write(tmp_path, TREE + ".ignore: !a.log\n.ignore: lib/\n")
    index = await indexed(tmp_path, way)
    assert await files(index) == ".gitignore .hidden/a.ts .ignore a.log keep.log src/build/kept.ts src/ü.ts"


@pytest.mark.parametrize("way", WAYS)
async def test_such_a_file_deep_in_the_tree_counts_too(tmp_path: Path, way: str) -> None:
    index = await indexed(write(tmp_path, TREE + "lib/.ignore: !c.log\nlib/.ignore: deep\n"), way)
    assert await files(index, "lib") == "lib/.gitignore lib/.ignore lib/a_b.ts lib/b.log lib/c.log"


@pytest.mark.parametrize("way", WAYS)
async def test_folders_are_listed_where_they_hold_files(tmp_path: Path, way: str) -> None:
    index = await indexed(write(tmp_path, TREE), way)
    folders = [path for path in await index.below("", 100) if path.endswith("/")]
    assert folders == [".hidden/", "lib/", "lib/deep/", "src/", "src/build/"]
    assert await index.below("lib/deep", 10) == ("lib/deep/y.ts",)


@pytest.mark.parametrize("way", WAYS)
async def test_repositories_inside_the_tree_are_listed(tmp_path: Path, way: str) -> None:
    write(tmp_path, "a.ts:\nsub/b.ts:\nsub/.gitignore: *.o\nsub/c.o:\n")
    if way == "git":
        make_repository(tmp_path / "sub")
    index = await indexed(tmp_path, way)
    assert await files(index) == "a.ts sub/.gitignore sub/b.ts"


@pytest.mark.skipif(GIT is None, reason="there is no git")
async def test_tracked_files_that_are_gone_are_not_listed(tmp_path: Path) -> None:
    write(tmp_path, "a.ts:\nb.ts:\n")
    make_repository(tmp_path)
    git(tmp_path, "add", ".")
    (tmp_path / "a.ts").unlink()
    index = FileIndex([root_at(tmp_path)])
    await index.build()
    assert await files(index) == "b.ts"


@pytest.mark.skipif(GIT is None, reason="there is no git")
async def test_nothing_that_a_repository_configures_is_run(tmp_path: Path) -> None:
    root = write(tmp_path / "w", "a.ts:\nb.ts:\n")
    make_repository(root)
    trap = tmp_path / "trap.sh"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/sprung\n")
    trap.chmod(0o755)
    for name in ("core.fsmonitor", "core.pager", "alias.ls-files", "core.sshCommand"):
        git(root, "config", name, str(trap))
    hook = root / ".git" / "hooks" / "post-index-change"
    shutil.copy(trap, hook)
    index = FileIndex([root_at(root)])
    await index.build()
    assert await files(index) == "a.ts b.ts"
    assert not (tmp_path / "sprung").exists()


async def test_a_git_inside_the_workspace_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = tmp_path / "bin" / "git"
    fake.parent.mkdir()
    fake.write_text("#!/bin/sh\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake.parent}{os.pathsep}bin")
    assert find_program("git", [tmp_path]) is None
    assert find_program("git", [tmp_path / "elsewhere"]) == fake
    link = tmp_path / "link"
    link.mkdir()
    (link / "git").symlink_to(fake)
    monkeypatch.setenv("PATH", str(link))
    assert find_program("git", [fake.parent]) is None


async def test_links_are_listed_and_not_followed(tmp_path: Path) -> None:
    write(tmp_path, "w/a.ts:\noutside/b.ts:\n")
    (tmp_path / "w" / "loop").symlink_to(tmp_path / "w")
    (tmp_path / "w" / "out").symlink_to(tmp_path / "outside")
    index = await indexed(tmp_path / "w", "walk")
    assert await files(index) == "a.ts loop out"


def changed(path: Path, kind: Literal["created", "deleted", "changed"]) -> Changed:
    return Changed(from_path(path), kind)


async def test_changes_are_taken_in(tmp_path: Path) -> None:
    index = await indexed(write(tmp_path, TREE), "walk")
    write(tmp_path, "src/new.ts:\nsrc/new.log:\nmoved/in/x.ts:\nmoved/in/y.log:\n")
    await index.update(
        [
            changed(tmp_path / "src/new.ts", "created"),
            changed(tmp_path / "src/new.ts", "created"),
            changed(tmp_path / "src/new.log", "created"),
            changed(tmp_path / "node_modules/z.js", "created"),
            changed(tmp_path / "src/gone.ts", "created"),
            changed(tmp_path / "moved", "created"),
            changed(tmp_path / "lib", "deleted"),
            changed(tmp_path / "src/ü.ts", "changed"),
            changed(tmp_path.parent / "outside.ts", "created"),
        ]
    )
    assert (
        await files(index)
        == ".gitignore .hidden/a.ts keep.log moved/in/x.ts src/build/kept.ts src/new.ts src/ü.ts"
    )
    assert index.files == 7
    assert [hit.path for hit in await index.search("new", 5)] == ["src/new.ts"]
    assert not await index.search("deep/y", 5)
    write(tmp_path, "lib/back.ts:\n")
    await index.update([changed(tmp_path / "lib/back.ts", "created")])
    assert await index.below("lib", 5) == ("lib/back.ts",)
    assert "lib/" in await index.below("", 100)


async def test_a_changed_ignore_file_lists_everything_anew(tmp_path: Path) -> None:
    index = await indexed(write(tmp_path, TREE), "walk")
    (tmp_path / ".gitignore").write_text("lib\n")
    await index.update([changed(tmp_path / ".gitignore", "changed")])
    assert "lib/" not in await index.below("", 100)
    assert await index.ending_with("a.log") == ("a.log",)


async def test_many_removals_leave_nothing_behind(tmp_path: Path) -> None:
    write(tmp_path, "".join(f"d/f{number}.ts:\n" for number in range(1500)) + "keep.ts:\n")
    index = await indexed(tmp_path, "walk")
    shutil.rmtree(tmp_path / "d")
    await index.update([changed(tmp_path / "d", "deleted")])
    assert await index.below("", 10) == ("keep.ts",)
    assert [hit.path for hit in await index.search("k", 5)] == ["keep.ts"]


async def test_several_folders_are_told_apart_by_name(tmp_path: Path) -> None:
    write(tmp_path, "one/a.ts:\ntwo/a.ts:\n")
    index = FileIndex([root_at(tmp_path / "one"), root_at(tmp_path / "two", name="second")], git=None)
    await index.build()
    assert await index.ending_with("a.ts") == ("one/a.ts", "second/a.ts")
    assert await files(index, "second") == "second/a.ts"
    assert index.path_of(from_path(tmp_path / "two" / "x" / "b.ts")) == "second/x/b.ts"
    assert index.path_of(from_path(tmp_path / "b.ts")) is None


async def test_tails_are_whole_names(tmp_path: Path) -> None:
    index = await indexed(write(tmp_path, "src/form/Menu.ts:\nsrc/xMenu.ts:\n"), "walk")
    assert await index.ending_with("form/Menu.ts") == ("src/form/Menu.ts",)
    assert await index.ending_with("Menu.ts") == ("src/form/Menu.ts",)
    assert await index.ending_with("menu.TS") == ("src/form/Menu.ts",)
    assert await index.ending_with("form/") == ("src/form/",)
    assert await index.ending_with("enu.ts") == ()
    assert await index.ending_with("FORM/menu.ts") == ("src/form/Menu.ts",)


async def test_names_match_before_folders_and_short_paths_before_long_ones(tmp_path: Path) -> None:
    tree = "menu/very/deep/other.ts:\nsrc/menu.ts:\nsrc/a/longer/menu.ts:\nsrc/form.ts:\n"
    index = await indexed(write(tmp_path, tree), "walk")
    paths = [hit.path for hit in await index.search("menu", 10)]
    assert paths[:3] == ["menu/", "src/menu.ts", "src/a/longer/menu.ts"]
    assert next(hit.path for hit in await index.search("mneu.ts", 1)).endswith("menu.ts")
    assert await index.search("", 5) == ()


async def test_before_the_first_listing_answers_are_incomplete(tmp_path: Path) -> None:
    index = FileIndex([root_at(write(tmp_path, "a.ts:\n"))], git=None)
    assert not index.complete and await index.search("a", 5) == ()
    assert not await index.wait_until_listed(0.01)
    building = asyncio.create_task(index.build())
    assert await index.wait_until_listed(30) and index.complete
    await building


async def test_a_folder_that_cannot_be_read_is_passed_over(tmp_path: Path) -> None:
    index = FileIndex([root_at(tmp_path / "missing")])
    await index.build()
    assert index.complete and index.files == 0
