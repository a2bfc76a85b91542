"""What a change or a command becomes counts, and not only the name or the folder that it starts from."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path

import pytest

from planloom.execution.effects.command_approval import folder_id_of
from planloom.models.offline.scripted import ScriptedModel
from planloom.tools.processes.child_process import Launch, ProcessResult, run_process
from planloom.tools.processes.commands import Command
from planloom.workspace.disk import Folder
from planloom.workspace.disk_changes import write
from planloom.workspace.index.programs import environment
from planloom.workspace.paths.resolver import ResolvedPath, resolve
from planloom.workspace.paths.roots import Roots, root_at
from planloom.workspace.view import confined_path
from tests.execution.test_commands import approvals
from tests.service.test_renames import a_plan
from tests.support.studio import studio
from tests.tools.desk import Desk

GIT = shutil.which("git")
CONTENTS = {"HEAD": "ref: refs/heads/main\n", "objects/keep": "x\n", "refs/keep": "x\n"}


def config(mark: Path) -> str:
    core = (
        "repositoryformatversion = 0",
        "bare = false",
        "worktree = .",
        f'fsmonitor = "touch {mark}; false"',
    )
    return "\n\t".join(("[core]", *core)) + "\n"


def writes(files: Mapping[str, str]) -> ScriptedModel:
    """A model that writes these files, in one step each."""
    return a_plan(*(("write_file", {"path": path, "content": text}) for path, text in files.items()))


def git_status(folder: Path) -> None:
    """What an editor or a prompt of a shell does by itself in a folder."""
    if folder.exists():
        subprocess.run([str(GIT), "status"], cwd=folder, capture_output=True, check=False)


@pytest.mark.skipif(GIT is None, reason="there is no git")
@pytest.mark.parametrize("folder", ["sub/", "deep/er/", ""])
@pytest.mark.parametrize("when", ["each", "end"])
async def test_no_git_folder_is_written_file_by_file(tmp_path: Path, folder: str, when: str) -> None:
    mark = tmp_path / "ran"
    files = {folder + path: text for path, text in {"config": config(mark), **CONTENTS}.items()}
    async with studio(tmp_path, {"a.txt": "x"}, model=writes(files)) as at:
        plan = await at.approve(
            await at.ask("Tidy up", mode="plan"), review="auto" if when == "each" else "end"
        )
        while plan.pending.approvals:
            plan = await at.respond(plan)
        inside = at.path(folder) if folder else at.folder
        assert not all((inside / name).exists() for name in ("HEAD", "objects", "refs"))
        git_status(inside)
    assert not mark.exists()


@pytest.mark.skipif(GIT is None, reason="there is no git")
@pytest.mark.parametrize("order", [1, -1])
async def test_no_git_folder_whose_contents_lie_elsewhere_is_written(tmp_path: Path, order: int) -> None:
    mark = tmp_path / "ran"
    files = {
        "c/objects/keep": "x\n",
        "c/refs/keep": "x\n",
        "c/config": "[extensions]\n\tworktreeConfig = true\n",
        "sub/HEAD": CONTENTS["HEAD"],
        "sub/commondir": "../c\n",
        "sub/config.worktree": config(mark),
    }
    model = writes(dict(list(files.items())[::order]))
    async with studio(tmp_path, {"a.txt": "x"}, model=model) as at:
        plan = await at.approve(await at.ask("Tidy up", mode="plan"), review="auto")
        while plan.pending.approvals:
            plan = await at.respond(plan)
        assert not (at.path("sub/HEAD").exists() and at.path("sub/commondir").exists())
        git_status(at.path("sub"))
    assert not mark.exists()


async def test_a_rename_completes_no_git_folder(tmp_path: Path) -> None:
    files = {f"sub/{name}": text for name, text in CONTENTS.items() if name != "HEAD"} | {
        "head.txt": "ref: x\n"
    }
    model = a_plan(("rename_path", {"path": "head.txt", "new_path": "sub/HEAD"}))
    async with studio(tmp_path, files, model=model) as at:
        plan = await at.approve(await at.ask("Tidy up", mode="plan"), review="auto")
        if plan.pending.approvals:
            await at.respond(plan)
        assert not at.path("sub/HEAD").exists() and at.path("head.txt").exists()


PARTS = {"objects/keep": "x\n", "refs/keep": "x\n", "config": "[core]\n"}


@pytest.mark.parametrize(
    "calls",
    [
        [
            ("rename_path", {"path": "parts", "new_path": "sub"}),
            ("write_file", {"path": "sub/HEAD", "content": "x"}),
        ],
        [
            ("write_file", {"path": "parts/a", "content": "x"}),
            ("rename_path", {"path": "parts/a", "new_path": "parts/HEAD"}),
        ],
        [("rename_path", {"path": "parts/a.txt", "new_path": "parts/HEAD"})],
        [
            ("rename_path", {"path": "parts", "new_path": "sub"}),
            ("rename_path", {"path": "sub/a.txt", "new_path": "sub/HEAD"}),
        ],
        [
            ("write_file", {"path": "parts/deep/HEAD", "content": "x"}),
            ("rename_path", {"path": "parts/objects", "new_path": "parts/deep/objects"}),
            ("rename_path", {"path": "parts/refs", "new_path": "parts/deep/refs"}),
        ],
    ],
)
@pytest.mark.parametrize("when", ["auto", "end"])
async def test_no_order_of_renames_makes_a_git_folder(
    tmp_path: Path, calls: list[tuple[str, dict[str, str]]], when: str
) -> None:
    files = {f"parts/{name}": text for name, text in {**PARTS, "a.txt": "ref: x\n"}.items()}
    async with studio(tmp_path, files, model=a_plan(*calls)) as at:
        plan = await at.approve(await at.ask("Tidy up", mode="plan"), review=when)
        while plan.pending.approvals:
            plan = await at.respond(plan)
        made = [head.parent for head in at.folder.rglob("HEAD")]
        assert not [each for each in made if (each / "objects").exists() and (each / "refs").exists()]


YAML = "$schema: https://evil.example/?leak\na: 1\n"


@pytest.mark.parametrize(
    ("call", "before", "is_asked"),
    [
        (("write_file", {"path": "a.yaml", "content": YAML}), {}, True),
        (("edit_file", {"path": "a.yaml", "old_text": "leak", "new_text": "secret"}), {"a.yaml": YAML}, True),
        (("edit_file", {"path": "a.yaml", "old_text": "a: 1", "new_text": "a: 2"}), {"a.yaml": YAML}, False),
        (("rename_path", {"path": "a.txt", "new_path": "a.yaml"}), {"a.txt": YAML}, True),
        (("rename_path", {"path": "a.yaml", "new_path": "b.yaml"}), {"a.yaml": YAML}, False),
    ],
)
async def test_a_remote_schema_is_asked_when_it_is_new(
    tmp_path: Path, call: tuple[str, dict[str, str]], before: dict[str, str], is_asked: bool
) -> None:
    async with studio(tmp_path, before, model=a_plan(call)) as at:
        plan = await at.approve(await at.ask("Tidy up", mode="plan"), review="auto")
        assert [approval.protected for approval in plan.pending.approvals] == [True] * is_asked
        assert all("https://evil.example" in (each.warning or "") for each in plan.pending.approvals)
        if is_asked:
            await at.respond(plan, "deny")


async def test_a_command_runs_in_the_folder_that_was_approved(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    async with studio(tmp_path, {"sub/a.txt": "x"}) as at:
        plan = await at.ask("run the command `touch here` in sub")
        at.path("sub").rename(at.path("sub2"))
        at.path("sub").symlink_to(outside)
        plan = await at.respond(plan)
        assert not plan.pending.approvals and plan.steps[0].status != "completed"
    assert list(outside.iterdir()) == [] and not at.path("sub2/here").exists()


async def test_a_command_is_asked_again_for_another_folder_of_the_same_name(tmp_path: Path) -> None:
    async with studio(tmp_path, {"sub/a.txt": "x", "other/b.txt": "x"}) as at:
        plan = await at.ask("run the command `touch here` in sub")
        at.path("sub").rename(at.path("sub2"))
        at.path("other").rename(at.path("sub"))
        plan = await at.respond(plan)
        assert not at.path("sub/here").exists()
        assert "its folder, has changed" in (plan.pending.approvals[0].warning or "")
        await at.respond(plan, "deny")
        assert approvals(at) == ["touch here", "touch here"]


class _Asked:
    """Stands where commands are asked for, and runs none."""

    def __init__(self) -> None:
        self.folders: list[str] = []

    async def run(self, command: Command) -> ProcessResult:
        self.folders.append(command.folder)
        return ProcessResult(code=0)


async def test_a_command_names_its_folder_among_several(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two/sub").mkdir(parents=True)
    desk = Desk(tmp_path / "one")
    desk.context.commands = asked = _Asked()  # type: ignore[assignment]
    await desk.call("run_command", command="make", cwd=".")
    desk.context.roots = desk.view.roots = Roots((*desk.view.roots.folders, root_at(tmp_path / "two")))
    for cwd in ("two", "two/sub"):
        await desk.call("run_command", command="make", cwd=str(tmp_path / cwd))
    assert asked.folders == ["", "two", "two/sub"]


async def test_a_write_is_asked_anew_in_another_folder_of_the_same_name(tmp_path: Path) -> None:
    model = a_plan(("write_file", {"path": "sub/new.txt", "content": "x\n"}))
    async with studio(tmp_path, {"sub/a.txt": "a", "other/b.txt": "b"}, model=model) as at:
        plan = await at.approve(await at.ask("Tidy up", mode="plan"))
        at.path("sub").rename(at.path("before"))
        at.path("other").rename(at.path("sub"))
        plan = await at.respond(plan)
        assert "have changed since" in (plan.pending.approvals[0].warning or "")
        assert not at.path("sub/new.txt").exists()
        assert (await at.respond(plan)).status == "completed"
        assert at.path("sub/new.txt").exists() and not at.path("before/new.txt").exists()


async def test_an_edit_is_asked_anew_behind_a_link_that_was_put_there(tmp_path: Path) -> None:
    model = a_plan(("edit_file", {"path": "sub/a.txt", "old_text": "a", "new_text": "b"}))
    async with studio(tmp_path, {"sub/a.txt": "a", ".vscode/a.txt": "a"}, model=model) as at:
        plan = await at.approve(await at.ask("Tidy up", mode="plan"))
        at.path("sub").rename(at.path("before"))
        at.path("sub").symlink_to(".vscode")
        await at.respond(plan)
        assert at.text(".vscode/a.txt") == at.text("before/a.txt") == "a"


def put_another(there: Path, aside: Path, *, link: bool) -> None:
    """Put another folder, or a link to one, in the place of a folder."""
    there.rename(aside)
    (there.parent / "another").mkdir()
    if link:
        there.symlink_to(there.parent / "another")
    else:
        (there.parent / "another").rename(there)


@pytest.mark.parametrize("link", [False, True])
@pytest.mark.parametrize("name", ["work", "work/sub"])
def test_what_was_judged_is_used_through_the_same_folders(tmp_path: Path, name: str, link: bool) -> None:
    (tmp_path / "work/sub").mkdir(parents=True)
    roots = Roots((root_at(tmp_path / "work"),))
    place = resolve(roots, "sub/new.txt" if name == "work/sub" else "new.txt", for_="write")
    assert isinstance(place, ResolvedPath)
    put_another(tmp_path / name, tmp_path / "aside", link=link)
    refused = write(confined_path(place), b"x", over=None)
    assert refused is not None and refused.cause == "changed"
    assert not list(tmp_path.rglob("new.txt"))


async def run_in(folder: Folder) -> ProcessResult:
    return await run_process(Launch(("touch", "here"), folder, environment(os.environ)), timeout_seconds=20)


@pytest.mark.parametrize("link", [False, True])
def test_a_process_starts_in_the_very_folder_or_not_at_all(tmp_path: Path, link: bool) -> None:
    there = tmp_path / "work"
    there.mkdir()
    approved = Folder(there, folder_id_of(there))
    assert asyncio.run(run_in(approved)).code == 0 and (there / "here").exists()
    (there / "here").unlink()
    put_another(there, tmp_path / "aside", link=link)
    ended = asyncio.run(run_in(approved))
    assert ended.code is None and ended.problem is not None
    assert not list(tmp_path.rglob("here"))


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux enters a folder by its handle")
async def test_no_process_starts_in_a_folder_that_is_swapped_all_the_time(tmp_path: Path) -> None:
    work, aside, outside = tmp_path / "work", tmp_path / "aside", tmp_path / "outside"
    work.mkdir()
    outside.mkdir()
    approved = Folder(work, folder_id_of(work))
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            work.rename(aside)
            work.symlink_to(outside)
            work.unlink()
            aside.rename(work)

    swapping = asyncio.create_task(asyncio.to_thread(swap))
    try:
        codes = [(await run_in(approved)).code for _ in range(60)]
    finally:
        stop.set()
        await swapping
    assert list(outside.iterdir()) == []
    assert {None, 0} >= {*codes}


@pytest.mark.parametrize(("typed", "asked"), [(True, False), (False, True)])
async def test_only_typing_is_merged_beside_what_was_approved(
    tmp_path: Path, typed: bool, asked: bool
) -> None:
    """What anything but the editor has put into a file meanwhile is nobody's word, in whatever lines."""
    before = "if safe:\n    pass\nx = 1\n"
    model = a_plan(("edit_file", {"path": "a.py", "old_text": "x = 1", "new_text": "x = 2"}))
    async with studio(tmp_path, {"a.py": before}, model=model) as at:
        plan = await at.approve(await at.ask("Tidy up", mode="plan"))
        if typed:
            at.editor.open(at.path("a.py"), before.replace("safe", "True"))
        else:
            at.path("a.py").write_text(before.replace("safe", "True"))
        plan = await at.respond(plan)
        assert bool(plan.pending.approvals) == asked
        if asked:
            assert at.path("a.py").read_text() == before.replace("safe", "True")
            plan = await at.respond(plan)
        assert plan.status == "completed"
        assert at.text("a.py") == before.replace("safe", "True").replace("x = 1", "x = 2")
