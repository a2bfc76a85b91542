"""A file is judged by every name that it has on the disk (hard links), as far as these can be known."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from planloom.intake.resolve import resolve_references
from planloom.models.offline.scripted import ScriptedModel, makes
from planloom.workspace.editor import EditorCapabilities
from planloom.workspace.paths.resolver import ResolvedPath, resolve
from planloom.workspace.paths.roots import Roots, root_at
from tests.intake.support import World
from tests.service.test_renames import a_plan
from tests.support.studio import Studio, studio
from tests.tools.desk import Desk
from tests.workspace.room import Room

GIT = shutil.which("git")
SECRETS = [".env", "id_rsa", "deep/er/server.key", ".ssh/config"]


def linked(folder: Path, name: str, other: str) -> None:
    """Give a file of the folder another name."""
    os.link(folder / name, folder / other)


@pytest.mark.parametrize("secret", SECRETS)
async def test_a_hard_link_gives_no_secret_a_harmless_name(tmp_path: Path, secret: str) -> None:
    desk = Desk(tmp_path, {secret: "CANARY\n", "b.txt": "b\n"})
    linked(tmp_path, secret, "notes.txt")
    read = await desk.call("read_file", path="notes.txt")
    assert not read.ok and "secrets" in read.text
    for path in ("", "notes.txt"):
        found = await desk.call("search_text", pattern="CANARY", path=path)
        assert "CANARY\n" not in found.text and not found.value
    edited = await desk.call("edit_file", path="notes.txt", old_text="CANARX", new_text="y")
    assert not edited.ok and "CANARY" not in edited.text


def git(folder: Path, *arguments: str) -> None:
    """Run git as somebody in a folder."""
    who = ("-c", "user.name=n", "-c", "user.email=e@example.org")
    subprocess.run([str(GIT), "-C", str(folder), *who, *arguments], check=True, capture_output=True)


async def test_an_open_hard_link_of_a_secret_is_none_the_less_one(tmp_path: Path) -> None:
    desk = Desk(tmp_path, {".env": "CANARY\n", "b.txt": "b\n"})
    linked(tmp_path, ".env", "notes.txt")
    desk.editor.open(tmp_path / "notes.txt", "CANARY typed\n")
    found = await desk.call("search_text", pattern="CANARY", path="")
    assert "CANARY typed" not in found.text and not found.value
    assert not (await desk.call("read_file", path="notes.txt")).ok


async def test_a_hard_link_keeps_its_secret_under_a_staged_new_name(tmp_path: Path) -> None:
    desk = Desk(tmp_path, {".env": "CANARY\n"})
    linked(tmp_path, ".env", "notes.txt")
    assert (await desk.call("rename_path", path="notes.txt", new_path="other.txt")).ok
    read = await desk.call("read_file", path="other.txt")
    assert not read.ok and "CANARY" not in read.text


@pytest.mark.skipif(GIT is None, reason="there is no git")
async def test_git_shows_no_hard_link_of_a_secret(tmp_path: Path) -> None:
    desk = Desk(tmp_path, {"notes.txt": "old\n", "b.txt": "b\n"})
    for arguments in (["init", "-q"], ["add", "notes.txt", "b.txt"], ["commit", "-qm", "first"]):
        git(tmp_path, *arguments)
    (tmp_path / "notes.txt").write_text("CANARY\n")
    (tmp_path / "b.txt").write_text("seen\n")
    linked(tmp_path, "notes.txt", ".env")
    shown = await desk.call("git_diff")
    assert shown.ok and "seen" in shown.text and "CANARY" not in shown.text


async def test_a_reference_attaches_no_hard_link_of_a_secret_unconfirmed(tmp_path: Path) -> None:
    world = World(tmp_path, "")
    world.write({".env": "CANARY\n"})
    linked(tmp_path, ".env", "notes.txt")
    found = await resolve_references("see @notes.txt", world.sources)
    assert not found.attachments and [each.code for each in found.unresolved] == ["secret"]


async def test_a_secret_of_the_users_home_is_one_in_the_workspace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    (home / ".ssh").mkdir(parents=True)
    (home / ".ssh/id_ed25519").write_text("CANARY\n")
    monkeypatch.setenv("HOME", str(home))
    desk = Desk(tmp_path / "work", {"b.txt": "b\n"})
    os.link(home / ".ssh/id_ed25519", tmp_path / "work/notes.txt")
    assert "CANARY" not in (await desk.call("read_file", path="notes.txt")).text
    found = await desk.call("search_text", pattern="CANARY", path="")
    assert not found.value


async def asked(at: Studio, name: str) -> tuple[bool, str]:
    """Whether a write of this file is asked in the mode `auto`, and with which warning."""
    plan = await at.approve(await at.ask("Tidy up", mode="plan"), review="auto")
    warnings = [approval.warning or "" for approval in plan.pending.approvals]
    while plan.pending.approvals:
        plan = await at.respond(plan, "deny")
    return bool(warnings), " ".join(warnings)


def writes(name: str, old: str = "x") -> ScriptedModel:
    return a_plan(("edit_file", {"path": name, "old_text": old, "new_text": "new"}))


async def test_a_write_to_a_file_with_a_name_outside_is_asked_in_auto(tmp_path: Path) -> None:
    (tmp_path / "outside.txt").write_text("x\n")
    async with studio(tmp_path, model=writes("inside.txt")) as at:
        os.link(tmp_path / "outside.txt", at.path("inside.txt"))
        was_asked, warning = await asked(at, "inside.txt")
        assert was_asked and "2 names" in warning and "hard link" in warning
    assert (tmp_path / "outside.txt").read_text() == "x\n"


async def test_a_write_to_another_name_of_what_runs_by_itself_is_asked_in_auto(tmp_path: Path) -> None:
    async with studio(tmp_path, {"Makefile": "x\n"}, model=writes("notes.txt")) as at:
        linked(at.folder, "Makefile", "notes.txt")
        was_asked, warning = await asked(at, "notes.txt")
        assert was_asked and "Building" in warning and "Makefile" in warning


async def test_a_write_to_another_name_of_git_s_own_is_refused(tmp_path: Path) -> None:
    hook = ".git/hooks/pre-commit"
    async with studio(tmp_path, {hook: "exit 0\n"}, model=writes("notes.txt", "exit")) as at:
        linked(at.folder, hook, "notes.txt")
        was_asked, _ = await asked(at, "notes.txt")
        assert not was_asked
        assert at.path(hook).read_text() == at.path("notes.txt").read_text() == "exit 0\n"


async def test_a_write_to_the_ledger_under_another_name_is_refused(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "state").mkdir()
    (tmp_path / "state/ledger").write_text("x")
    os.link(tmp_path / "state/ledger", tmp_path / "work/notes.txt")
    roots = Roots((root_at(tmp_path / "work"),), (tmp_path / "state",))
    for purpose in ("read", "write"):
        assert resolve(roots, "notes.txt", for_=purpose).kind == "refused"  # type: ignore[arg-type]


async def test_two_harmless_names_inside_are_only_told(tmp_path: Path) -> None:
    async with studio(tmp_path, {"a.txt": "x\n"}, model=writes("a.txt")) as at:
        linked(at.folder, "a.txt", "b.txt")
        assert await asked(at, "a.txt") == (False, "")
        assert at.text("a.txt") == "new\n"
        place = resolve(Roots((root_at(at.folder),)), "b.txt", for_="write")
        assert isinstance(place, ResolvedPath) and place.protected is None


async def test_a_write_on_disk_leaves_the_other_names_alone(tmp_path: Path) -> None:
    room = Room(tmp_path, {"a.txt": "old\n"}, capabilities=EditorCapabilities())
    linked(tmp_path, "a.txt", "b.txt")
    assert (await room.apply(room.edit("a.txt", "old\n", "new\n"))).kind == "applied"
    assert ((tmp_path / "a.txt").read_text(), (tmp_path / "b.txt").read_text()) == ("new\n", "old\n")


async def test_a_name_that_is_given_while_the_approval_waits_is_asked_anew(tmp_path: Path) -> None:
    model = a_plan(("edit_file", {"path": "a.txt", "old_text": "x", "new_text": "new"}))
    async with studio(tmp_path, {"a.txt": "x\n"}, model=model) as at:
        plan = await at.approve(await at.ask("Tidy up", mode="plan"))
        linked(at.folder, "a.txt", "Makefile")
        plan = await at.respond(plan)
        (again,) = plan.pending.approvals
        assert again.protected and "Makefile" in (again.warning or "")
        assert at.path("Makefile").read_text() == "x\n"
        await at.respond(plan, "deny")


@pytest.mark.parametrize("kind", ["hard link", "link", "hard link of git's own"])
@pytest.mark.parametrize("renames", [(("d", "e"),), (("d", "f"), ("f", "e")), (("d/in", "d/on"), ("d", "e"))])
async def test_a_staged_file_is_judged_where_it_lies_on_disk(
    tmp_path: Path, kind: str, renames: tuple[tuple[str, str], ...]
) -> None:
    """The folder above it is renamed in the same changes, so there is nothing yet under its new name."""
    inner = "on/" if len(renames) == 2 and renames[0][0] == "d/in" else "in/"
    protected = ".git/hooks/pre-commit" if "git" in kind else ".vscode/tasks.json"
    model = ScriptedModel(
        [
            *(makes(("rename_path", {"path": old, "new_path": new})) for old, new in renames),
            makes(("edit_file", {"path": f"e/{inner}m.txt", "old_text": "safe", "new_text": "evil"})),
            makes(("task_completed", {"summary": "Tidied up."})),
        ]
    )
    files = {protected: "safe\n", "d/in/a.txt": "x\n"}
    async with studio(tmp_path, files, model=model, settings={"execution.review": "auto"}) as at:
        if kind == "link":
            at.path("d/in/m.txt").symlink_to(at.path(protected))
        else:
            linked(at.folder, protected, "d/in/m.txt")
        plan = await at.ask("Tidy up", mode="direct")
        assert "evil" not in at.text(protected)
        if protected.startswith(".vscode"):
            (approval,) = plan.pending.approvals
            assert approval.protected and "An editor reads it by itself" in (approval.warning or "")
            await at.respond(plan, "deny")
        assert at.path(protected).read_text() == "safe\n"
