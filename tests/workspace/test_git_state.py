"""The branch and changed files of a work tree, read without running what its configuration names."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from planloom.workspace.index.git_state import GitState, git_state
from planloom.workspace.index.programs import TRUSTED, Programs
from tests.workspace.test_programs import git

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")


def repository(root: Path) -> Path:
    root.mkdir(parents=True)
    git(root, "init", "-q", "-b", "main", ".")
    for name in ("a.txt", "b.txt", "sub/c.txt"):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text("1\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "x")
    return root


async def state_of(root: Path) -> GitState | None:
    return await git_state(root, TRUSTED, (root,))


async def test_the_branch_and_every_kind_of_change(tmp_path: Path) -> None:
    root = repository(tmp_path / "w")
    assert await state_of(root) == GitState("main", ())
    (root / "a.txt").write_text("2\n")
    (root / "b.txt").unlink()
    (root / "sub" / "d e.txt").write_text("new\n")
    (root / "sub" / "f.txt").write_text("new\n")
    git(root, "add", "sub/f.txt")
    assert await state_of(root) == GitState("main", ("M a.txt", "D b.txt", "A sub/f.txt", "?? sub/d e.txt"))


async def test_a_folder_inside_a_work_tree_sees_its_own_files(tmp_path: Path) -> None:
    root = repository(tmp_path / "w")
    (root / "a.txt").write_text("2\n")
    (root / "sub" / "c.txt").write_text("2\n")
    assert await state_of(root / "sub") == GitState("main", ("M c.txt",))


async def test_a_commit_that_is_checked_out_and_a_repository_without_commits(tmp_path: Path) -> None:
    root = repository(tmp_path / "w")
    git(root, "checkout", "-q", "--detach")
    assert await state_of(root) == GitState("", ())
    (tmp_path / "new").mkdir()
    git(tmp_path / "new", "init", "-q", "-b", "first", ".")
    assert await state_of(tmp_path / "new") == GitState("first", ())


async def test_conflicts_are_changes(tmp_path: Path) -> None:
    root = repository(tmp_path / "w")
    git(root, "checkout", "-qb", "other")
    (root / "a.txt").write_text("other\n")
    git(root, "commit", "-qam", "y")
    git(root, "checkout", "-q", "main")
    (root / "a.txt").write_text("mine\n")
    git(root, "commit", "-qam", "z")
    with pytest.raises(Exception, match="merge"):
        git(root, "merge", "-q", "other")
    assert await state_of(root) == GitState("main", ("UU a.txt",))


async def test_nothing_is_known_outside_a_work_tree_and_without_trust(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    assert await state_of(tmp_path / "plain") is None
    root = repository(tmp_path / "w")
    assert await git_state(root, Programs(lambda: False), (root,)) is None


@pytest.mark.skipif(os.name == "nt", reason="the programs of this test are shell scripts")
async def test_nothing_that_the_repository_configures_is_run(tmp_path: Path) -> None:
    root = repository(tmp_path / "w")
    trap = tmp_path / "trap.sh"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/sprung\ncat\n")
    trap.chmod(0o755)
    (root / ".git" / "info" / "attributes").write_text("* filter=trap diff=trap\n")
    (root / ".gitattributes").write_text("* filter=trap diff=trap\n")
    for name in (
        *("filter.trap.clean", "filter.trap.smudge", "filter.trap.process", "diff.trap.command"),
        *("core.fsmonitor", "core.pager", "alias.status", "diff.external", "diff.trap.textconv"),
    ):
        git(root, "config", name, str(trap))
    git(root, "config", "filter.trap.required", "true")
    # The same length and time, so that only the contents tell.
    stat = (root / "a.txt").stat()
    (root / "a.txt").write_text("2\n")
    os.utime(root / "a.txt", ns=(stat.st_atime_ns, stat.st_mtime_ns))
    (root / "b.txt").write_text("2\n")
    found = await state_of(root)
    assert found is not None and "M b.txt" in found.changed
    assert not (tmp_path / "sprung").exists()


async def test_a_filter_that_cannot_be_switched_off_leaves_the_state_unknown(tmp_path: Path) -> None:
    root = repository(tmp_path / "w")
    git(root, "config", "filter.a=b.clean", f"touch {tmp_path}/sprung; cat")
    (root / ".gitattributes").write_text("* filter=a=b\n")
    (root / "a.txt").write_text("2\n")
    assert await state_of(root) is None
    assert not (tmp_path / "sprung").exists()


async def test_a_linked_work_tree_has_its_own_branch(tmp_path: Path) -> None:
    root = repository(tmp_path / "w")
    git(root, "worktree", "add", "-q", "-b", "linked", str(tmp_path / "linked"))
    assert await state_of(tmp_path / "linked") == GitState("linked", ())


def points_elsewhere(own: Path, other: Path) -> None:
    (own / ".git").write_text(f"gitdir: {other / '.git'}\n")


def links_elsewhere(own: Path, other: Path) -> None:
    (own / ".git").symlink_to(other / ".git")


def has_objects_elsewhere(own: Path, other: Path) -> None:
    git(own, "init", "-q", ".")
    for name in ("objects", "refs"):
        shutil.rmtree(own / ".git" / name)
        (own / ".git" / name).symlink_to(other / ".git" / name)


def names_a_work_tree_elsewhere(own: Path, other: Path) -> None:
    git(own, "init", "-q", ".")
    git(own, "config", "core.worktree", str(other))


@pytest.mark.parametrize(
    "plant", [points_elsewhere, links_elsewhere, has_objects_elsewhere, names_a_work_tree_elsewhere]
)
async def test_a_folder_shows_no_other_repository(tmp_path: Path, plant: object) -> None:
    assert callable(plant)
    private = repository(tmp_path / "private")
    (tmp_path / "w").mkdir()
    plant(tmp_path / "w", private)
    assert await state_of(tmp_path / "w") is None
