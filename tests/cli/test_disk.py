"""Workspace edits on the disk: all or nothing, byte for byte, and never outside the workspace."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import pytest

from planloom.cli.client.disk import Applied, Refused, apply_workspace_edit
from planloom.domain.text.positions import Encoding
from planloom.workspace.paths.uris import from_path


def span(start: tuple[int, int], end: tuple[int, int]) -> dict[str, Any]:
    return {
        "start": {"line": start[0], "character": start[1]},
        "end": {"line": end[0], "character": end[1]},
    }


def text_edit(path: Path, *edits: tuple[tuple[int, int], tuple[int, int], str]) -> dict[str, Any]:
    return {
        "textDocument": {"uri": from_path(path), "version": None},
        "edits": [{"range": span(start, end), "newText": text} for start, end, text in edits],
    }


def create(path: Path, **options: bool) -> dict[str, Any]:
    return {"kind": "create", "uri": from_path(path), "options": options}


def delete(path: Path, **options: bool) -> dict[str, Any]:
    return {"kind": "delete", "uri": from_path(path), "options": options}


def rename(old: Path, new: Path, **options: bool) -> dict[str, Any]:
    return {"kind": "rename", "oldUri": from_path(old), "newUri": from_path(new), "options": options}


def apply(root: Path, *operations: dict[str, Any], encoding: Encoding = "utf-16") -> Applied | Refused:
    return apply_workspace_edit({"documentChanges": list(operations)}, [root], encoding)


def tree(root: Path) -> dict[str, bytes | None]:
    return {
        path.relative_to(root).as_posix(): None if path.is_dir() else path.read_bytes()
        for path in sorted(root.rglob("*"))
    }


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "work"
    root.mkdir()
    return root.resolve()


BYTES = [
    pytest.param(b"a\nb\n", ((1, 0), (1, 1), "c"), b"a\nc\n", id="plain"),
    pytest.param(b"a\r\nb\r\n", ((1, 1), (1, 1), "!\r\n"), b"a\r\nb!\r\n\r\n", id="line ends kept"),
    pytest.param(
        b"\xef\xbb\xbfa\nb", ((0, 0), (0, 1), "c"), b"\xef\xbb\xbfc\nb", id="mark kept and not counted"
    ),
    pytest.param(
        "a😀b".encode("utf-16"), ((0, 3), (0, 4), "c"), "a😀c".encode("utf-16"), id="encoding kept, astral"
    ),
    pytest.param("x\fy\u2028z\nq".encode(), ((1, 0), (1, 1), "Q"), "x\fy\u2028z\nQ".encode(), id="form feed"),
    pytest.param(b"", ((0, 0), (0, 0), "new\n"), b"new\n", id="empty file"),
    pytest.param(b"one\ntwo\n", ((0, 0), (9, 9), ""), b"", id="beyond the end"),
]


@pytest.mark.parametrize(("before", "edit", "after"), BYTES)
def test_a_text_edit_changes_exactly_its_range(root: Path, before: bytes, edit: Any, after: bytes) -> None:
    path = root / "file"
    path.write_bytes(before)
    assert isinstance(apply(root, text_edit(path, edit)), Applied)
    assert path.read_bytes() == after


@pytest.mark.parametrize(("encoding", "character"), [("utf-8", 4), ("utf-16", 2), ("utf-32", 1)])
def test_characters_count_in_the_negotiated_encoding(root: Path, encoding: Encoding, character: int) -> None:
    path = root / "file"
    path.write_text("😀b", encoding="utf-8")
    apply(root, text_edit(path, ((0, character), (0, character), "a")), encoding=encoding)
    assert path.read_text(encoding="utf-8") == "😀ab"


def test_a_new_file_comes_with_its_folders_and_the_usual_mode(root: Path) -> None:
    path = root / "a" / "b c" / "d.py"
    old = os.umask(0o027)
    try:
        outcome = apply(root, create(path), text_edit(path, ((0, 0), (0, 0), "x = 1\n")))
    finally:
        os.umask(old)
    assert isinstance(outcome, Applied)
    assert [(change.kind, change.path) for change in outcome.changes] == [("create", path)]
    assert path.read_bytes() == b"x = 1\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_an_edited_file_keeps_its_mode(root: Path) -> None:
    path = root / "run.sh"
    path.write_text("a")
    path.chmod(0o755)
    apply(root, text_edit(path, ((0, 0), (0, 1), "b")))
    assert stat.S_IMODE(path.stat().st_mode) == 0o755


def test_writing_goes_through_a_link_and_leaves_it_a_link(root: Path) -> None:
    (root / "real").write_text("a")
    link = root / "link"
    link.symlink_to("real")
    assert isinstance(apply(root, text_edit(link, ((0, 0), (0, 1), "b"))), Applied)
    assert link.is_symlink()
    assert (root / "real").read_text() == "b"


def test_files_and_folders_are_renamed_and_deleted(root: Path) -> None:
    (root / "old").mkdir()
    (root / "old" / "x").write_text("x")
    (root / "gone").write_text("y")
    (root / "tree").mkdir()
    (root / "tree" / "z").write_text("z")
    outcome = apply(
        root,
        rename(root / "old", root / "deep" / "new"),
        text_edit(root / "deep" / "new" / "x", ((0, 1), (0, 1), "!")),
        delete(root / "gone"),
        delete(root / "tree", recursive=True),
    )
    assert isinstance(outcome, Applied)
    assert tree(root) == {"deep": None, "deep/new": None, "deep/new/x": b"x!"}


def test_plain_changes_are_applied_too(root: Path) -> None:
    (root / "f").write_text("abc")
    edit = {"changes": {from_path(root / "f"): [{"range": span((0, 0), (0, 1)), "newText": "A"}]}}
    assert isinstance(apply_workspace_edit(edit, [root], "utf-16"), Applied)
    assert (root / "f").read_text() == "Abc"


def refused_cases(root: Path, outside: Path) -> dict[str, tuple[dict[str, Any], str]]:
    """Each with a word that the reason holds."""
    return {
        "overwrite": (create(root / "there", overwrite=True), "overwrite"),
        "create over a file": (create(root / "there"), "exists already"),
        "create over a folder": (create(root / "full", ignoreIfExists=True), "exists already"),
        "rename over a file": (rename(root / "full", root / "there"), "exists already"),
        "rename of nothing": (rename(root / "none", root / "elsewhere"), "does not exist"),
        "delete of nothing": (delete(root / "none"), "does not exist"),
        "delete of a full folder": (delete(root / "full"), "not empty"),
        "delete of the workspace": (delete(root, recursive=True), "outside"),
        "edit of nothing": (text_edit(root / "none", ((0, 0), (0, 0), "x")), "is missing"),
        "edit of a folder": (text_edit(root / "full", ((0, 0), (0, 0), "x")), "is folder"),
        "edit of a binary": (text_edit(root / "binary", ((0, 0), (0, 0), "x")), "is binary"),
        "overlapping edits": (
            text_edit(root / "there", ((0, 0), (0, 3), "x"), ((0, 1), (0, 2), "y")),
            "overlap",
        ),
        "a version": (
            {"textDocument": {"uri": from_path(root / "there"), "version": 3}, "edits": []},
            "not open",
        ),
        "a snippet": (
            {
                "textDocument": {"uri": from_path(root / "there"), "version": None},
                "edits": [{"range": span((0, 0), (0, 0)), "snippet": {"value": "x"}}],
            },
            "snippet",
        ),
        "another scheme": (create(Path("x")) | {"uri": "untitled:x"}, "not a file"),
        "another machine": (create(Path("x")) | {"uri": "file://server/share/x"}, "not a file"),
        "outside": (create(outside / "x"), "outside"),
        "outside by dots": (create(root / "x") | {"uri": f"{from_path(root)}/../x"}, "outside"),
        "outside by a prefix": (create(root.with_name("work-too") / "x"), "outside"),
        "outside by a link": (text_edit(root / "escape" / "f", ((0, 0), (0, 0), "x")), "outside"),
        "outside by a linked file": (text_edit(root / "linked", ((0, 0), (0, 0), "x")), "outside"),
        "an unknown kind": ({"kind": "chmod", "uri": from_path(root / "there")}, "unknown kind"),
        "no fields": ({}, "malformed"),
        "wrong fields": (
            {"textDocument": {"uri": from_path(root / "there")}, "edits": [{"newText": "", "range": 1}]},
            "malformed",
        ),
        "a parent that is a file": (create(root / "there" / "x"), "there"),
    }


@pytest.mark.parametrize("case", list(refused_cases(Path("/r"), Path("/o"))))
def test_a_refused_edit_leaves_everything_as_it_was(root: Path, case: str) -> None:
    outside = root.with_name("outside")
    outside.mkdir()
    (outside / "f").write_text("theirs")
    root.with_name("work-too").mkdir()
    (root / "there").write_bytes(b"kept\r\n")
    (root / "binary").write_bytes(b"\0\1")
    (root / "full").mkdir()
    (root / "full" / "x").write_text("x")
    (root / "spare").mkdir()
    (root / "spare" / "y").write_text("y")
    (root / "escape").symlink_to(outside)
    (root / "linked").symlink_to(outside / "f")
    before, before_outside = tree(root), tree(outside)
    bad, word = refused_cases(root, outside)[case]

    outcome = apply(
        root,
        create(root / "new" / "file"),
        text_edit(root / "there", ((0, 0), (0, 0), "changed ")),
        rename(root / "full", root / "moved"),
        rename(root / "moved", root / "full"),
        delete(root / "spare", recursive=True),
        create(root / "spare"),
        bad,
    )

    assert isinstance(outcome, Refused), outcome
    assert word in outcome.reason
    assert tree(root) == before
    assert tree(outside) == before_outside


def test_the_number_of_the_failed_change_is_told(root: Path) -> None:
    outcome = apply(root, create(root / "a"), create(root / "b"), create(root / "a"))
    assert isinstance(outcome, Refused)
    assert outcome.failed == 2


def test_what_is_there_or_gone_already_can_be_left_alone(root: Path) -> None:
    (root / "there").write_text("x")
    (root / "other").write_text("y")
    before = tree(root)
    outcome = apply(
        root,
        create(root / "there", ignoreIfExists=True),
        rename(root / "other", root / "there", ignoreIfExists=True),
        delete(root / "none", ignoreIfNotExists=True),
    )
    assert outcome == Applied(())
    assert tree(root) == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_refuses(root: Path) -> None:
    (root / "f").write_text("a")
    root.chmod(0o500)
    try:
        outcome = apply(root, text_edit(root / "f", ((0, 0), (0, 1), "b")))
    finally:
        root.chmod(0o700)
    assert isinstance(outcome, Refused)
    assert tree(root) == {"f": b"a"}
