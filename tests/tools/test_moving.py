"""Renaming and deleting: staged changes, messages and refusals."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tools.desk import Desk

FILES = {"a.txt": "a\n", "d/x.txt": "x\n", "d/e/y.txt": "y\n", "b.txt": "b\n"}


@pytest.mark.parametrize(
    ("path", "new_path", "at"),
    [
        ("a.txt", "c.txt", "c.txt"),
        ("a.txt", "new/deep/c.txt", "new/deep/c.txt"),
        ("a.txt", "d", "d/a.txt"),
        ("a.txt", "fresh/", "fresh/a.txt"),
        ("d", "f", "f/e/y.txt"),
        ("a.txt", "./a.txt", "a.txt"),
    ],
)
async def test_files_and_folders_are_renamed(path: str, new_path: str, at: str, tmp_path: Path) -> None:
    desk = Desk(tmp_path, FILES)
    result = await desk.call("rename_path", path=path, new_path=new_path)
    assert result.ok, result.text
    assert await desk.staged(at) is not None


@pytest.mark.parametrize(
    ("path", "new_path", "message"),
    [
        ("a.txt", "b.txt", "exists already"),
        ("d", "d/e/f", "into itself"),
        ("none.txt", "c.txt", "There is no file or folder none.txt"),
        ("a.txt", "../c.txt", "outside"),
        ("a.txt", ".git/hooks/pre-commit", "git"),
        (".", "c", "workspace folder itself"),
    ],
)
async def test_a_rename_that_cannot_be_made_is_refused(
    path: str, new_path: str, message: str, tmp_path: Path
) -> None:
    desk = Desk(tmp_path / "w", FILES)
    result = await desk.call("rename_path", path=path, new_path=new_path)
    assert not result.ok and message in result.text, result.text
    assert desk.changes().changes == ()


async def test_deleting_a_folder_lists_its_files(tmp_path: Path) -> None:
    desk = Desk(tmp_path, {f"d/{n:03}.txt": "x\n" for n in range(120)})
    result = await desk.call("delete_path", path="d")
    assert result.ok and "120 files" in result.summary
    assert "d/000.txt" in result.text and "d/100.txt" not in result.text and "[and 20 more]" in result.text
    assert len(desk.changes().changes) == 121
    one = await Desk(tmp_path / "one", {"d/a.txt": "x\n"}).call("delete_path", path="d")
    assert one.summary == "Deleted the folder d with 1 file"


async def test_one_step_deletes_only_so_much(tmp_path: Path) -> None:
    desk = Desk(tmp_path, {f"{d}/{n}.txt": "" for d in "ab" for n in range(600)})
    assert (await desk.call("delete_path", path="a")).ok
    result = await desk.call("delete_path", path="b")
    assert not result.ok and "one step may delete" in result.text


@pytest.mark.parametrize(
    "path",
    [
        ".",
        "",
        "/",
        "..",
        "~",
        "./",
        "../w",
        ".git",
        ".git/config",
        "link_out",
        "link_in",
        "vendored",
        "home",
        "dangling",
    ],
)
async def test_some_places_are_never_deleted(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "w"
    desk = Desk(root, {**FILES, ".git/config": "", "vendored/lib/.git/HEAD": "x", "home/me/notes.txt": ""})
    monkeypatch.setenv("HOME", str(root / "home" / "me"))
    (root / "link_out").symlink_to(tmp_path)
    (root / "link_in").symlink_to(root / "d")
    (root / "dangling").symlink_to(root / "nowhere")
    result = await desk.call("delete_path", path=path)
    assert not result.ok and desk.changes().changes == (), result.text


async def test_a_binary_file_is_left_to_a_person(tmp_path: Path) -> None:
    desk = Desk(tmp_path, {"d/logo.png": b"\x89PNG\0\0"})
    result = await desk.call("delete_path", path="d")
    assert not result.ok and "only a person" in result.text
