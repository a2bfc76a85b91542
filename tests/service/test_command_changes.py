"""What commands change in the workspace: reported, shown as a diff, taken back, and kept in protected names only by a
yes.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from planloom.domain.plans.plan import Plan
from planloom.domain.values import Uri
from planloom.execution.commands import changes as command_changes
from planloom.models.offline.scripted import ScriptedModel, makes, says
from planloom.storage.decisions import FILE, Decisions
from planloom.workspace.index import file_states
from tests.support.studio import Studio, studio
from tests.workspace.test_programs import git

ALLOWED = {"approvals.write": "allow", "approvals.execute": "allow", "execution.review": "auto"}
needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")


def rows(at: Studio, plan: Plan) -> list[tuple[str, str, bool, bool]]:
    """The report's rows of what commands have changed: path, change, whether it lasts, whether it has counts."""
    assert plan.report is not None
    folder = str(at.view.roots.folders[0].uri) + "/"
    return sorted(
        (file.uri.removeprefix(folder), file.change, file.lasting, file.added is not None)
        for file in plan.report.files
        if file.by_command
    )


def contents(at: Studio) -> Mapping[str, str]:
    """The files of the workspace as the user sees them, without git's own."""
    return {
        (name := path.relative_to(at.folder).as_posix()): at.text(name)
        for path in sorted(at.folder.rglob("*"))
        if path.is_file() and ".git" not in path.relative_to(at.folder).parts
    }


def committed(at: Studio) -> None:
    git(at.folder, "init", "-q", "-b", "main", ".")
    git(at.folder, "add", "-A")
    git(at.folder, "commit", "-qm", "x")


@pytest.mark.parametrize("in_git", [False, pytest.param(True, marks=needs_git)])
async def test_what_a_command_changes_is_reported_shown_and_taken_back(tmp_path: Path, in_git: bool) -> None:
    files = {
        "a.txt": "one\ntwo\n",
        "gone.txt": "g\n",
        "old/name.txt": "n\n",
        "same.txt": "s\n",
        "crlf.txt": "a\r\nb\r\n",
    }
    async with studio(tmp_path, files, settings=ALLOWED) as at:
        if in_git:
            committed(at)
        before = contents(at)
        command = (
            "sed -i s/two/TWO/ a.txt; sed -i s/b/B/ crlf.txt; rm gone.txt; mv old/name.txt new.txt; "
            "touch same.txt; echo x > made.txt"
        )
        plan = await at.run(f"Run `{command}`")
        assert rows(at, plan) == [
            ("a.txt", "edit", False, True),
            ("crlf.txt", "edit", False, True),
            ("gone.txt", "delete", False, True),
            ("made.txt", "create", False, True),
            ("new.txt", "rename", False, True),
        ]
        diff = at.app.plans.diff(plan.plan_id, Uri(at.uri("a.txt")), None)
        assert (diff.before, diff.after) == ("one\ntwo\n", "one\nTWO\n")
        assert "changed by a command" in at.app.plans.markdown(plan.plan_id)
        after = contents(at)
        await at.app.plans.undo(plan.plan_id, None, redo=False)
        assert contents(at) == before
        await at.app.plans.undo(plan.plan_id, None, redo=True)
        assert contents(at) == after


async def test_what_a_command_writes_in_protected_names_is_put_back_only_by_a_yes(tmp_path: Path) -> None:
    script = (
        "mv sub sub2; mkdir -p sub/.git/hooks .claude; echo EVIL > sub/AGENTS.md; echo EVIL > sub/.git/hooks/x; "
        "echo {} > .claude/settings.json; echo EVIL > AGENTS.md; echo ok > plain.txt; "
        "mkdir s; for name in HEAD commondir config AGENTS.md; do echo EVIL > s/$name; done"
    )
    files = {"sub/AGENTS.md": "good\n", "do.sh": script}
    for decision in ("deny", "allow"):
        (tmp_path / decision).mkdir()
        async with studio(tmp_path / decision, files, settings=ALLOWED) as at:
            plan = await at.ask("Run `sh do.sh`")
            (asked,) = plan.pending.approvals
            names = sorted(file.uri.rpartition("/workspace/")[2] for file in asked.files)
            assert names == [
                ".claude/settings.json",
                "AGENTS.md",
                "s/AGENTS.md",
                "s/HEAD",
                "sub/.git",
                "sub/AGENTS.md",
            ]
            assert (asked.protected, asked.only_once) == (True, True)
            assert not any(
                at.path(name).exists() for name in (".claude/settings.json", "AGENTS.md", "sub/.git")
            )
            plan = await at.respond(plan, decision)
            assert plan.status == "completed" and plan.report is not None
            is_kept = decision == "allow"
            assert at.path("AGENTS.md").exists() == is_kept
            assert at.path("sub/.git/hooks/x").exists() == is_kept
            assert len(plan.report.notes) == (0 if is_kept else 1)
            assert (("AGENTS.md", "create", False, True) in rows(at, plan)) == is_kept
            assert (("sub/.git", "create", True, False) in rows(at, plan)) == is_kept
            assert at.path("plain.txt").read_text() == "ok\n"
            undone = await at.app.plans.undo(plan.plan_id, None, redo=False)
            assert undone.plan.steps[0].reverted == "whole"
            assert at.text("sub/AGENTS.md") == "good\n" and not at.path("plain.txt").exists()


BARE_ATTACKS = {
    "settings": "git config core.pager 'touch /tmp/x'",
    "settings as a file": "echo EVIL >> config",
    "settings replaced": "echo EVIL > c && mv -f c config",
    "a monitor": "git config core.fsmonitor ./evil",
    "settings of a working tree": "echo EVIL > config.worktree",
    "another common folder": "mkdir c; echo c > commondir",
    "a hook": "echo EVIL > hooks/post-receive",
    "the folder of hooks": "mv hooks h; mkdir hooks; echo EVIL > hooks/post-receive",
    "attributes": "echo EVIL > info/attributes",
}


@needs_git
@pytest.mark.parametrize("attack", BARE_ATTACKS.values(), ids=BARE_ATTACKS)
async def test_what_runs_programs_in_a_workspace_that_is_a_bare_repository_is_put_back(
    attack: str, tmp_path: Path
) -> None:
    async with studio(tmp_path, settings=ALLOWED) as at:
        git(at.folder, "init", "-q", "--bare", ".")
        before = {path: path.read_bytes() for path in map(at.path, ("HEAD", "config"))}
        plan = await at.ask(f"Run `{attack}`")
        while plan.pending.approvals:
            plan = await at.respond(plan, "deny")
        assert {path: path.read_bytes() for path in before} == before
        for name in ("config.worktree", "commondir", "hooks/post-receive", "info/attributes"):
            assert not at.path(name).exists(), name


async def begun(at: Studio, first: str, then: str) -> asyncio.Task[Plan]:
    """A plan whose command has done something `first`, and goes on once `go` is called."""
    for name in ("begun", "go"):
        os.mkfifo(at.path(name))
    pipe = os.open(at.path("begun"), os.O_RDWR | os.O_NONBLOCK)
    news = asyncio.Event()
    asyncio.get_running_loop().add_reader(pipe, news.set)
    asking = asyncio.create_task(at.ask(f"Run `{first}; echo > begun; read x < go; {then}`"))
    try:
        async with asyncio.timeout(at.patience):
            await news.wait()
    finally:
        asyncio.get_running_loop().remove_reader(pipe)
        os.close(pipe)
    return asking


async def go(at: Studio, asking: asyncio.Task[Plan]) -> Plan:
    """The plan at the end of its command."""
    pipe = os.open(at.path("go"), os.O_RDWR | os.O_NONBLOCK)
    try:
        os.write(pipe, b"\n")
        return await asking
    finally:
        os.close(pipe)


async def run_while(at: Studio, command: str, meanwhile: Callable[[], object]) -> Plan:
    """A plan of a command during which something happens before it goes on."""
    asking = await begun(at, "true", command)
    meanwhile()
    return await go(at, asking)


async def test_what_the_user_saves_while_a_command_runs_is_not_the_commands(tmp_path: Path) -> None:
    files = {"mine.txt": "m\n", "both.txt": "b\n", "command.txt": "c\n"}
    async with studio(tmp_path, files, settings=ALLOWED) as at:
        for name in ("mine.txt", "both.txt"):
            at.editor.open(at.path(name))

        def types() -> None:
            at.editor.replace(at.path("mine.txt"), "m", "MINE")
            at.editor.save_file(at.path("mine.txt"))
            at.editor.replace(at.path("both.txt"), "b", "TYPED")

        plan = await run_while(at, "echo X >> both.txt; echo X >> command.txt", types)
        assert [name for name, *_ in rows(at, plan)] == ["both.txt", "command.txt"]
        assert plan.report is not None
        (note,) = plan.report.notes
        assert "'both.txt' on disk, and the editor has unsaved text in it: the two differ." in note
        await at.app.plans.undo(plan.plan_id, None, redo=False)
        assert (at.text("mine.txt"), at.text("both.txt"), at.text("command.txt")) == (
            "MINE\n",
            "TYPED\n",
            "c\n",
        )


async def test_what_the_user_types_after_a_command_stays_when_it_is_taken_back(tmp_path: Path) -> None:
    async with studio(tmp_path, {"a.txt": "one\ntwo\nthree\n"}, settings=ALLOWED) as at:
        plan = await at.run("Run `sed -i s/one/ONE/ a.txt`")
        at.editor.open(at.path("a.txt"))
        at.editor.replace(at.path("a.txt"), "three", "MINE")
        await at.app.plans.undo(plan.plan_id, None, redo=False)
        assert at.text("a.txt") == "one\ntwo\nMINE\n"


@pytest.mark.slow
async def test_edits_of_the_plan_beside_a_background_command_are_not_the_commands(tmp_path: Path) -> None:
    command = "echo > begun; read x < go; echo X > made.txt; echo > begun; sleep 60"
    model = ScriptedModel(
        [
            makes(("run_command", {"command": command, "background": True})),
            makes(("write_file", {"path": "own.txt", "content": "o\n"})),
            makes(("run_command", {"command": "cat begun; echo > go; cat begun; echo Y > second.txt"})),
            makes(("stop_command", {"command_id": "c1"})),
            makes(("task_completed", {"summary": "Done."})),
        ]
    )
    async with studio(tmp_path, {"a.txt": "a\n"}, settings=ALLOWED, model=model) as at:
        for name in ("begun", "go"):
            os.mkfifo(at.path(name))
        plan = await at.run("Look after the server.", mode="direct")
        assert [name for name, *_ in rows(at, plan)] == ["made.txt", "second.txt"]
        assert plan.report is not None
        assert any("ran at the same time as" in note for note in plan.report.notes)
        assert {file.uri for file in plan.report.files if not file.by_command} == {at.uri("own.txt")}


async def test_what_an_ignore_file_only_shows_or_hides_is_no_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {".gitignore": "data/\n", "data/d.txt": "d\n", "log.txt": "l\n"}
    async with studio(tmp_path, files, settings=ALLOWED) as at:
        os.utime(at.path("data/d.txt"), (1, 1))
        monkeypatch.setattr(command_changes, "GRAIN_NS", -1)
        plan = await at.run("Run `echo log.txt > .gitignore`")
        assert [name for name, *_ in rows(at, plan)] == [".gitignore"]


async def test_content_that_is_no_text_is_listed_and_said_to_last(tmp_path: Path) -> None:
    async with studio(tmp_path, {"a.bin": b"\0\1", "a.txt": "a\n"}, settings=ALLOWED) as at:
        plan = await at.run("Run `printf '\\0\\2' > a.bin; echo b > a.txt`")
        assert rows(at, plan) == [("a.bin", "edit", True, False), ("a.txt", "edit", False, True)]
        undone = await at.app.plans.undo(plan.plan_id, None, redo=False)
        assert undone.reverted == (at.uri("a.txt"),)
        assert "the text from before is not known" in at.events[-1].event.message  # type: ignore[union-attr]


async def test_a_large_folder_is_said_not_to_be_compared_but_for_protected_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_states, "MOST_FILES", 2)
    files = {f"{number}.txt": "x\n" for number in range(5)}
    async with studio(tmp_path, files, settings=ALLOWED) as at:
        plan = await at.ask("Run `echo y > 1.txt; mkdir -p z; echo EVIL > z/AGENTS.md`")
        assert [file.uri for file in plan.pending.approvals[0].files] == [at.uri("z/AGENTS.md")]
        plan = await at.respond(plan, "deny")
        assert plan.report is not None and rows(at, plan) == []
        assert any("was not found out" in note for note in plan.report.notes)


async def test_what_the_user_writes_while_asked_stays_and_the_commands_text_stays_aside(
    tmp_path: Path,
) -> None:
    async with studio(tmp_path, {"AGENTS.md": "good\n"}, settings=ALLOWED) as at:
        # Nothing protects a file that is made anew under a name above it.
        plan = await at.ask("Run `mkdir z; echo made > z/AGENTS.md`")
        at.path("z/AGENTS.md").write_text("mine\n")
        plan = await at.respond(plan, "allow")
        assert at.path("z/AGENTS.md").read_text() == "mine\n"
        assert plan.report is not None and "it is not kept" in plan.report.notes[0]
        (aside,) = at.path("z").glob("taken-back-*")
        assert aside.read_text() == "made\n"


async def test_a_cancelled_question_leaves_protected_names_as_they_were(tmp_path: Path) -> None:
    async with studio(tmp_path, {"a.txt": "a\n"}, settings=ALLOWED) as at:
        plan = await at.ask("Run `echo EVIL > AGENTS.md`")
        assert plan.pending.approvals
        await at.app.plans.cancel(plan.plan_id)
        plan = await at.until(plan, lambda now: now.report is not None)
        assert not at.path("AGENTS.md").exists()
        assert plan.report is not None and "it is not kept" in plan.report.notes[0]


async def test_instructions_that_a_running_command_has_written_are_followed_once_the_user_has_saved_them(
    tmp_path: Path,
) -> None:
    state = tmp_path / "state"

    async def prompt_of(at: Studio, model: ScriptedModel) -> str:
        await at.ask("Improve the tests", mode="plan")
        return "\n".join(message.text for message in model.requests[-1].messages)

    async with studio(tmp_path, settings=ALLOWED, private=(state,), decisions=Decisions(state / FILE)) as at:
        asking = await begun(at, "echo EVIL > CLAUDE.md", "true")
        model = ScriptedModel([says("no plan"), says("no plan"), says("no plan")])
        # As after a crash, another server reads the folder while the command still runs.
        async with studio(
            tmp_path, settings=ALLOWED, model=model, private=(state,), decisions=Decisions(state / FILE)
        ) as later:
            assert "EVIL" not in await prompt_of(later, model)
            assert any("CLAUDE.md': not followed" in message for _, message in later.notices)
            later.editor.open(later.path("CLAUDE.md"))
            later.editor.replace(later.path("CLAUDE.md"), "EVIL", "MINE")
            later.editor.save_file(later.path("CLAUDE.md"))
            assert "MINE" in await prompt_of(later, model)
        await go(at, asking)
