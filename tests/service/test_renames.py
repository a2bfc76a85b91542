"""A rename is checked at both of its paths, and a folder by every name in it, before anything is read or changed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from planloom.cli.client.messages import Approval as SeenApproval
from planloom.cli.terminal.decisions import Flags, verdict_by_flags
from planloom.models.offline.scripted import ScriptedModel, says
from tests.support.studio import studio
from tests.tools.desk import Desk

PROTECTED = [
    ".vscode/tasks.json",
    ".github/workflows/ci.yml",
    "conftest.py",
    ".envrc",
    "Makefile",
    "AGENTS.md",
    ".husky/pre-commit",
    "package.json",
    "x.code-workspace",
]


def a_plan(*calls: tuple[str, dict[str, str]]) -> ScriptedModel:
    """A model that plans these tool calls, one in each step."""
    steps = [
        {
            "id": f"s{n}",
            "description": f"Step {n}",
            "tool": tool,
            "args": args,
            "dependsOn": [f"s{n - 1}"] if n else [],
        }
        for n, (tool, args) in enumerate(calls)
    ]
    return ScriptedModel([says(json.dumps({"steps": steps}))])


def a_rename(path: str, new_path: str) -> ScriptedModel:
    return a_plan(("rename_path", {"path": path, "new_path": new_path}))


@pytest.mark.parametrize("target", PROTECTED)
async def test_a_rename_to_a_protected_name_is_always_asked(tmp_path: Path, target: str) -> None:
    model = a_rename("docs/sample.txt", target)
    async with studio(tmp_path, {"docs/sample.txt": "text\n"}, model=model) as at:
        plan = await at.approve(await at.ask("Tidy up", mode="plan"), review="auto")
        (asked,) = plan.pending.approvals
        assert asked.protected and asked.effect == "write" and asked.warning
        assert asked.files[0].new_resolved_path == str(at.path(target))
        await at.respond(plan, "deny")
        assert not at.path(target).exists()


async def test_allow_for_plan_covers_no_rename_to_a_protected_name(tmp_path: Path) -> None:
    model = a_plan(
        ("write_file", {"path": "a.txt", "content": "a"}),
        ("rename_path", {"path": "docs/sample.txt", "new_path": "Makefile"}),
    )
    async with studio(tmp_path, {"docs/sample.txt": "text\n"}, model=model) as at:
        plan = await at.approve(await at.ask("Tidy up", mode="plan"))
        plan = await at.respond(plan, "allowForPlan")
        (asked,) = plan.pending.approvals
        assert asked.protected and not at.path("Makefile").exists()


@pytest.mark.parametrize(
    ("files", "path", "new_path"),
    [
        ({"ci/workflows/build.yml": "x\n"}, "ci", ".github"),
        ({"parts/deep/Makefile": "all:\n"}, "parts", "tools"),
        ({"parts/tasks.json": "{}\n"}, "parts", ".vscode"),
        ({"parts/.docker-config/config.json": "{}\n"}, "parts/.docker-config", "parts/.docker"),
        ({"parts/id_rsa": "KEY\n"}, "parts", "tools"),
        ({"id_rsa": "KEY\n"}, "id_rsa", "x.txt"),
        ({"x.txt": "KEY\n"}, "x.txt", "id_rsa"),
    ],
)
async def test_a_rename_is_judged_by_every_name_in_it(
    tmp_path: Path, files: dict[str, str], path: str, new_path: str
) -> None:
    async with studio(tmp_path, files, model=a_rename(path, new_path)) as at:
        plan = await at.approve(await at.ask("Tidy up", mode="plan"), review="auto")
        (asked,) = plan.pending.approvals
        assert asked.protected and asked.warning


async def test_a_rename_of_harmless_names_stays_unasked_in_auto(tmp_path: Path) -> None:
    files = {"docs/a.txt": "text\n", "docs/deep/b.md": "b\n"}
    async with studio(tmp_path, files, model=a_rename("docs", "texts")) as at:
        plan = await at.approve(await at.ask("Tidy up", mode="plan"), review="auto")
        assert plan.status == "completed" and at.text("texts/deep/b.md") == "b\n"


async def test_a_folder_that_holds_what_is_never_touched_is_not_renamed(tmp_path: Path) -> None:
    files = {"docs/.planloom/plan.md": "x\n"}
    async with studio(tmp_path, files, model=a_rename("docs", "texts")) as at:
        plan = await at.approve(await at.ask("Tidy up", mode="plan"))
        while plan.pending.approvals:
            plan = await at.respond(plan)
        assert plan.steps[0].status == "failed" and at.path("docs/.planloom/plan.md").exists()
        failed = next(e.event for e in at.events if e.event.type == "task_failed")
        assert ".planloom" in str(failed)


async def test_a_schema_that_an_editor_would_fetch_is_asked_in_auto(tmp_path: Path) -> None:
    model = a_plan(("write_file", {"path": "a.json", "content": '{"$schema": "http://127.0.0.1:9/leak"}\n'}))
    async with studio(tmp_path, model=model) as at:
        plan = await at.approve(await at.ask("Tidy up", mode="plan"), review="auto")
        (asked,) = plan.pending.approvals
        assert asked.protected and "http://127.0.0.1:9/leak" in (asked.warning or "")
        assert (await at.respond(plan)).status == "completed"


def test_yes_on_the_command_line_covers_no_protected_name() -> None:
    seen: SeenApproval = {
        "effect": "write",
        "protected": True,
        "files": [{"uri": "file:///w/a", "change": "rename"}],
    }
    verdict = verdict_by_flags(seen, Flags(yes=True))
    assert verdict is not None and verdict.decision == "deny"


@pytest.mark.parametrize("secret", ["id_rsa", "server.key", ".env", "credentials.json", ".ssh/config"])
async def test_a_staged_rename_gives_no_secret_a_harmless_name(tmp_path: Path, secret: str) -> None:
    desk = Desk(tmp_path, {secret: "CANARY\n", "b.txt": "b\n"})
    folder, _, name = secret.rpartition("/")
    moved = await desk.call("rename_path", path=folder or name, new_path="x" if folder else "x.txt")
    assert moved.ok, moved.text
    now = f"x/{name}" if folder else "x.txt"
    read = await desk.call("read_file", path=now)
    assert not read.ok and "secrets" in read.text
    for path in ("", now, "x" if folder else now):
        found = await desk.call("search_text", pattern="CANARY", path=path)
        assert "CANARY\n" not in found.text and not found.value
    listed = await desk.call("find_files", pattern="*")
    assert now not in listed.text.splitlines()
    edited = await desk.call("edit_file", path=now, old_text="CANARX", new_text="y")
    assert not edited.ok and "CANARY" not in edited.text


async def test_a_secret_stays_one_through_the_renames_of_earlier_steps(tmp_path: Path) -> None:
    from planloom.workspace.staged.overlay import Overlay

    desk = Desk(tmp_path, {"id_rsa": "CANARY\n"})
    await desk.call("rename_path", path="id_rsa", new_path="x.txt")
    desk.context.files = Overlay(desk.context.files)
    await desk.call("rename_path", path="x.txt", new_path="y.txt")
    read = await desk.call("read_file", path="y.txt")
    assert not read.ok and "CANARY" not in read.text
    await desk.call("write_file", path="id_rsa", content="new\n")
    await desk.call("rename_path", path="y.txt", new_path="id_rsa.txt")
    assert not (await desk.call("read_file", path="id_rsa.txt")).ok


async def test_a_secret_is_one_in_a_search_of_its_own_folder(tmp_path: Path) -> None:
    desk = Desk(tmp_path, {".docker/config.json": '{"auth": "CANARY"}\n', ".docker/a.txt": "auth\n"})
    found = await desk.call("search_text", pattern="auth", path=".docker")
    assert found.ok and "CANARY" not in found.text and ".docker/a.txt\n1\tauth" in found.text
    listed = await desk.call("find_files", pattern="*", path=".docker")
    assert listed.text.splitlines() == [".docker/a.txt"]
