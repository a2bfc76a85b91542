"""`git_status`, `git_log` and `git_diff`: what they show, what they hide, and that no repository runs a program."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from planloom.workspace.index.programs import Programs
from tests.tools.desk import Desk

GIT = shutil.which("git")
pytestmark = [
    pytest.mark.skipif(GIT is None, reason="there is no git"),
    pytest.mark.skipif(os.name == "nt", reason="the programs of these tests are shell scripts"),
]
FILES = {"a.py": "one\ntwo\n", "sub/b.py": "b\n", ".env": "KEY=canary\n", "old.txt": "kept as it is\n" * 9}


def git(root: Path, *arguments: str) -> str:
    command = [str(GIT), "-C", str(root), "-c", "user.email=a@b", "-c", "user.name=Ann", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def repository(folder: Path) -> Desk:
    """A work tree with two commits, the second of which changed `sub/b.py`."""
    desk = Desk(folder, FILES)
    git(folder, "init", "-q", "-b", "main", ".")
    git(folder, "add", "-A", "-f")
    git(folder, "commit", "-qm", "First\n\nWith a body.")
    (folder / "sub/b.py").write_text("B\n")
    git(folder, "commit", "-qam", "Second")
    return desk


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def changed(desk: Desk) -> None:
    desk.path("a.py").write_text("one\n2\n")
    desk.path(".env").write_text("KEY=canary2\n")
    desk.path("new.py").write_text("new\n")
    git(desk.folder, "mv", "old.txt", "moved.txt")


async def test_the_status_names_branch_and_files(tmp_path: Path) -> None:
    desk = repository(tmp_path)
    assert (await desk.call("git_status")).text == "## main\n(no changes)"
    changed(desk)
    result = await desk.call("git_status")
    assert result.text == "## main\n M .env\n M a.py\nR  old.txt -> moved.txt\n?? new.py"
    assert result.summary == "Read git's status: 4 files changed"
    assert (await desk.call("git_status", path="sub")).text == "## main\n(no changes)"


async def test_the_log_lists_commits(tmp_path: Path) -> None:
    desk = repository(tmp_path)
    result = await desk.call("git_log")
    hashes = git(tmp_path, "log", "--format=%h %as").splitlines()
    assert result.text == f"{hashes[0]} Ann: Second\n{hashes[1]} Ann: First"
    assert (await desk.call("git_log", path="a.py")).text == f"{hashes[1]} Ann: First"
    assert (await desk.call("git_log", revision="HEAD~1..")).text == f"{hashes[0]} Ann: Second"
    assert (await desk.call("git_log", revision="HEAD..HEAD~1")).text == "(no commits)"
    assert "raise max_results" in (await desk.call("git_log", max_results=1)).text


DIFF_A = "--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n one\n-two\n+2"
DIFF_B = "--- a/sub/b.py\n+++ b/sub/b.py\n@@ -1 +1 @@\n-b\n+B"


async def test_the_diff_shows_what_is_not_committed(tmp_path: Path) -> None:
    desk = repository(tmp_path)
    assert (await desk.call("git_diff")).text == "(no changes)"
    changed(desk)
    result = await desk.call("git_diff")
    assert DIFF_A in result.text and "rename from old.txt\nrename to moved.txt" in result.text
    assert "kept as it is" not in result.text and "canary" not in result.text
    assert "[not shown, since they may hold secrets: 1 file]" in result.text
    assert "[new files that git does not track yet: new.py]" in result.text
    assert not (await desk.call("git_diff", path=".env")).ok


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        pytest.param({"revision": "HEAD~1..HEAD"}, DIFF_B, id="range"),
        pytest.param({"revision": "HEAD~1...main"}, DIFF_B, id="from-the-merge-base"),
        pytest.param({"revision": "HEAD~1"}, DIFF_B, id="commit"),
        pytest.param({"revision": "HEAD~1..", "path": "sub"}, DIFF_B, id="below"),
        pytest.param({"revision": "HEAD~1..", "path": "a.py"}, "(no changes)", id="unchanged"),
    ],
)
async def test_the_diff_compares_commits(tmp_path: Path, args: dict[str, Any], expected: str) -> None:
    result = await repository(tmp_path).call("git_diff", **args)
    assert result.ok and expected in result.text


async def test_a_workspace_folder_inside_a_repository_shows_only_itself(tmp_path: Path) -> None:
    desk = repository(tmp_path)
    changed(desk)
    desk.path("sub/b.py").write_text("C\n")
    inner = Desk(tmp_path / "sub")
    assert (await inner.call("git_status")).text == "## main\n M b.py"
    diff = (await inner.call("git_diff")).text
    assert "--- a/b.py\n+++ b/b.py" in diff and "a.py" not in diff and "new.py" not in diff
    assert "First" in (await inner.call("git_log")).text


async def test_what_is_not_on_disk_is_shown_too(tmp_path: Path) -> None:
    desk = repository(tmp_path)
    await desk.call("edit_file", path="a.py", old_text="two", new_text="staged")
    await desk.call("write_file", path="sub/new.py", content="fresh\n")
    await desk.call("write_file", path=".env", content="KEY=canary3\n")
    await desk.call("rename_path", path=".env", new_path="plain.txt")
    desk.editor.open(desk.path("sub/b.py"), "typed\n")
    status = await desk.call("git_status")
    unsaved = status.text.partition("not on disk yet: ")[2].rstrip("]").split(", ")
    assert sorted(unsaved) == [".env", "a.py", "plain.txt", "sub/b.py", "sub/new.py"]
    diff = await desk.call("git_diff")
    for part in ("+staged", "+++ b/sub/new.py\n@@ -0,0 +1 @@\n+fresh", "-B\n+typed"):
        assert part in diff.text, diff.text
    assert "canary" not in diff.text and "plain.txt" in diff.text
    assert "typed" not in (await desk.call("git_diff", path="a.py")).text
    assert "staged" not in (await desk.call("git_diff", revision="HEAD~1..HEAD")).text


@pytest.mark.parametrize("tool", ["git_log", "git_diff"])
@pytest.mark.parametrize(
    "revision",
    ["--output=x", "-p", "nowhere", "HEAD:.env", "HEAD --all", "..--all", "a..b", "HEAD\n", "@{-1}", "^HEAD"],
)
async def test_a_revision_is_a_commit_and_never_an_option(tmp_path: Path, tool: str, revision: str) -> None:
    result = await repository(tmp_path).call(tool, revision=revision)
    assert not result.ok and "There is no commit" in result.text
    assert names(tmp_path) == [".env", ".git", "a.py", "old.txt", "sub"]


@pytest.mark.parametrize("path", ["../x", "/etc", ".git", ".git/config", ":(top)", "*.py", "--output=x"])
async def test_a_path_stays_a_path_of_the_workspace(tmp_path: Path, path: str) -> None:
    desk = repository(tmp_path / "w")
    changed(desk)
    for tool in ("git_status", "git_log", "git_diff"):
        result = await desk.call(tool, path=path)
        assert not result.ok or ("a.py" not in result.text and "First" not in result.text)
    assert not (tmp_path / "w/x").exists()


async def test_long_output_is_cut_with_a_mark(tmp_path: Path) -> None:
    desk = repository(tmp_path)
    desk.path("a.py").write_text("".join(f"line {n}\n" for n in range(20_000)))
    desk.path("sub/b.py").write_text("last\n")
    result = await desk.call("git_diff")
    assert len(result.text) < 45_000 and result.text.count("bytes left out") == 1
    assert "+last" in result.text
    assert "[cut; give a path for the rest of: a.py +20000 -2, sub/b.py +1 -1]" in result.text


async def test_a_count_of_what_was_cut_is_called_a_least(tmp_path: Path) -> None:
    desk = repository(tmp_path)
    for number in range(300):
        desk.path(f"{number:03}{'x' * 100}").write_text("")
    status = await desk.call("git_status")
    names = [line for line in status.text.splitlines() if line.startswith("?? ")]
    assert "bytes left out" in status.text and 100 < len(names) < 300
    assert status.summary == f"Read git's status: at least {len(names)} files changed"


async def test_a_log_that_was_cut_says_that_there_may_be_more(tmp_path: Path) -> None:
    desk = repository(tmp_path)
    for number in range(60):
        git(tmp_path, "commit", "-q", "--allow-empty", "-m", f"{number} {'x' * 900}")
    log = await desk.call("git_log", max_results=200)
    commits = [line for line in log.text.splitlines() if " Ann: " in line]
    assert "bytes left out" in log.text and 30 < len(commits) < 60
    assert log.summary == f"Listed at least {len(commits)} commits"
    assert log.text.endswith("\n[there may be more: give a path or a range]")
    whole = await desk.call("git_log", max_results=10)
    assert whole.summary == "Listed 10 commits" and whole.text.endswith("or give a path or a range]")


def untracked(folder: Path) -> Desk:
    return Desk(folder, FILES)


def empty(folder: Path) -> Desk:
    git(folder, "init", "-q", ".")
    return Desk(folder, FILES)


def distrusted(folder: Path) -> Desk:
    desk = repository(folder)
    desk.context.programs = Programs(lambda: False)
    return desk


@pytest.mark.parametrize(
    ("make", "tools", "message"),
    [
        (untracked, ("git_status", "git_log", "git_diff"), "is not in a git repository"),
        (empty, ("git_log", "git_diff"), "There is no commit 'HEAD'"),
        (distrusted, ("git_status", "git_log", "git_diff"), "the workspace is not trusted"),
    ],
)
async def test_without_commits_or_trust_the_tools_say_so(
    tmp_path: Path, make: Callable[[Path], Desk], tools: tuple[str, ...], message: str
) -> None:
    desk = make(tmp_path)
    for tool in tools:
        result = await desk.call(tool)
        assert not result.ok and message in result.text, result.text


async def test_no_program_of_the_repository_runs(tmp_path: Path) -> None:
    desk = repository(tmp_path / "w")
    sprung = tmp_path / "sprung"
    trap = f"touch {sprung}"
    desk.path(".gitattributes").write_text("*.py filter=trap diff=trap\n")
    for name in ("filter.trap.clean", "filter.trap.smudge", "filter.trap.process", "filter.a.b.clean"):
        git(desk.folder, "config", name, trap)
    for name in ("diff.trap.textconv", "diff.trap.command", "diff.external", "core.fsmonitor", "gpg.program"):
        git(desk.folder, "config", name, trap)
    git(desk.folder, "config", "filter.trap.required", "true")
    git(desk.folder, "config", "log.showSignature", "true")
    (tmp_path / "more").write_text(f'[filter "more"]\n\tclean = {trap}\n')
    git(desk.folder, "config", "include.path", str(tmp_path / "more"))
    desk.path(".gitattributes").write_text("a.py filter=trap diff=trap\nsub/*.py filter=more diff=trap\n")
    desk.path("a.py").write_text("one\n2\n")
    desk.path("sub/b.py").write_text("C\n")
    for tool in ("git_status", "git_log", "git_diff"):
        assert (await desk.call(tool)).ok
    assert DIFF_A in (await desk.call("git_diff")).text
    assert not sprung.exists()


async def test_a_work_tree_elsewhere_is_not_shown(tmp_path: Path) -> None:
    desk = repository(tmp_path / "w")
    (tmp_path / "private").mkdir()
    (tmp_path / "private/a.py").write_text("canary\n")
    git(desk.folder, "config", "core.worktree", str(tmp_path / "private"))
    for tool in ("git_status", "git_log", "git_diff"):
        result = await desk.call(tool)
        assert not result.ok and "canary" not in result.text


def linked(folder: Path) -> Path:
    """A linked work tree."""
    git(repository(folder / "main").folder, "worktree", "add", "-q", str(folder / "linked"))
    return folder / "linked"


def submodule(folder: Path) -> Path:
    repository(folder / "part")
    whole = repository(folder / "whole").folder
    git(whole, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(folder / "part"), "part")
    return whole / "part"


@pytest.mark.parametrize("make", [linked, submodule])
async def test_work_trees_of_a_repository_elsewhere_are_read(
    tmp_path: Path, make: Callable[[Path], Path]
) -> None:
    desk = Desk(make(tmp_path))
    desk.path("a.py").write_text("one\n2\n")
    assert " M a.py" in (await desk.call("git_status")).text
    assert "First" in (await desk.call("git_log")).text
    assert DIFF_A in (await desk.call("git_diff")).text


def pointer(own: Path, other: Path) -> None:
    (own / ".git").write_text(f"gitdir: {other}\n")


def link(own: Path, other: Path) -> None:
    (own / ".git").symlink_to(other)


def common_folder(own: Path, other: Path) -> None:
    git(own, "init", "-q", "-b", "main", ".")
    (own / ".git/commondir").write_text(f"{other}\n")


def linked_objects(own: Path, other: Path) -> None:
    git(own, "init", "-q", "-b", "main", ".")
    for name in ("objects", "refs"):
        shutil.rmtree(own / ".git" / name)
        (own / ".git" / name).symlink_to(other / name)


def false_work_tree(own: Path, other: Path) -> None:
    fake = own / "fake"
    fake.mkdir()
    (fake / "HEAD").write_text("ref: refs/heads/main\n")
    (fake / "commondir").write_text(f"{other}\n")
    (fake / "gitdir").write_text(f"{own / '.git'}\n")
    (own / ".git").write_text(f"gitdir: {fake}\n")


@pytest.mark.parametrize("plant", [pointer, link, common_folder, linked_objects, false_work_tree])
async def test_a_folder_cannot_show_another_repository(
    tmp_path: Path, plant: Callable[[Path, Path], None]
) -> None:
    other = repository(tmp_path / "other").folder
    (tmp_path / "own").mkdir()
    plant(tmp_path / "own", other / ".git")
    desk = Desk(tmp_path / "own")
    assert "First" in git(tmp_path / "own", "log"), "git itself shows it"
    for tool in ("git_status", "git_log", "git_diff"):
        result = await desk.call(tool)
        assert not result.ok and "Git cannot be used here" in result.text, result.text
