"""Commands that change git's folder do so confined, at the first try, and change nothing that runs programs."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from planloom.domain.plans.plan import Plan
from planloom.domain.safety.confinement import Confinement
from planloom.tools.confinement.abilities import means
from planloom.tools.confinement.confined_command import Confined
from planloom.tools.confinement.git_folder import git_folder, reserved
from planloom.tools.confinement.places import Reach
from planloom.tools.processes.child_process import Launch, ProcessResult, run_process, shell_argv
from planloom.workspace.disk import Folder
from planloom.workspace.index.programs import environment
from tests.support.studio import Studio, studio

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(not means().namespaces, reason="no user namespaces here"),
]
FILES = {"a.txt": "one\n", "b.txt": "two\n"}


@pytest.fixture
def tmp_path(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on a disk, since a confined command has a shared memory of its own; it is the home, too."""
    with tempfile.TemporaryDirectory(dir="/tmp", ignore_cleanup_errors=True) as folder:
        home = Path(folder).resolve()
        monkeypatch.setenv("HOME", str(home))
        yield home


def sh(folder: Path, *lines: str) -> str:
    """What the user's own shell prints."""
    done = subprocess.run(
        ["/bin/sh", "-ec", "\n".join(lines)],
        cwd=folder,
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "HOME": str(folder.parent), "GIT_CONFIG_NOSYSTEM": "1"},
    )
    return done.stdout


REPOSITORY = (
    "git init -q -b main .",
    "git config user.name A && git config user.email a@example.org",
    "git add -A && git commit -qm first",
    "git clone -q --bare . remote.git && git remote add origin ./remote.git && git fetch -q",
    "echo remote.git > .git/info/exclude",
    "git branch -q --track other origin/main && echo more >> a.txt",
)


async def asked(room: Studio, command: str) -> Plan:
    """The plan that asks for one command."""
    plan = await room.ask(f"run `{command}`")
    return await room.approve(plan) if plan.status == "pending_approval" else plan


async def ran(room: Studio, command: str) -> tuple[int, str]:
    """Run a command, allowed once as shown: how often it was asked, and how its step ended."""
    plan, questions = await asked(room, command), 0
    while plan.pending.approvals:
        questions += 1
        plan = await room.respond(plan)
    return questions, plan.steps[0].status


@pytest.mark.parametrize(
    "command",
    [
        "git add -A",
        "git add -A && git commit -m 'docs (curl example)'",
        "git commit -qam x",
        "git checkout -b feature",
        "git switch -c feature",
        "git switch other",
        "git stash && git stash pop",
        "git merge other",
        "git tag v1",
        "git branch -d other",
        "git fetch origin",
        "git pull --ff-only origin main",
        "git rebase other --autostash",
        "git reset -q HEAD",
        "git rm -q --cached b.txt",
        "git -c user.name=B commit -qam x",
        "git gc -q",
    ],
)
async def test_git_works_confined_at_the_first_try(command: str, tmp_path: Path) -> None:
    async with studio(tmp_path, FILES) as room:
        sh(room.folder, *REPOSITORY)
        plan = await asked(room, command)
        confinement = plan.pending.approvals[0].confinement
        assert confinement is not None and confinement.confined and confinement.git == ".git"
        assert "git's folder" in confinement.line
        plan = await room.respond(plan)
        assert plan.steps[0].status == "completed", plan.steps[0].error
        assert not room.path(".git/commondir").exists()
        assert sh(room.folder, "git fsck", "git status --short") is not None


@pytest.mark.parametrize("command", ["git status --short", "git log --oneline", "git diff", "git branch"])
async def test_git_that_only_reads_asks_for_nothing_more(command: str, tmp_path: Path) -> None:
    async with studio(tmp_path, FILES) as room:
        sh(room.folder, *REPOSITORY)
        plan = await asked(room, command)
        assert plan.pending.approvals[0].confinement is not None
        assert plan.pending.approvals[0].confinement.chosen == Confinement()
        assert (await room.respond(plan)).steps[0].status == "completed"


async def test_a_hook_runs_confined_like_its_command(tmp_path: Path) -> None:
    hook = "#!/bin/sh\necho hook >> ran.txt\necho x > ~/escaped || true\n"
    async with studio(tmp_path, FILES) as room:
        sh(room.folder, *REPOSITORY)
        room.path(".git/hooks/pre-commit").write_text(hook)
        room.path(".git/hooks/pre-commit").chmod(0o755)
        assert await ran(room, "git commit -qam x") == (1, "completed")
        assert room.path("ran.txt").read_text() == "hook\n"
        assert not (tmp_path / "escaped").exists()


ATTACKS = {
    "a hook": "echo x > .git/hooks/pre-commit",
    "the folder of hooks": "mv .git/hooks .git/hooks2",
    "settings": "git config core.fsmonitor ./evil",
    "settings as a file": "echo x >> .git/config",
    "settings replaced": "cp .git/config c && mv -f c .git/config",
    "settings by another common folder": "mkdir c && echo ../c > .git/commondir",
    "another common folder in place": "rm -f .git/commondir && echo ../c > .git/commondir",
    "the folder itself": "mv .git g2 && git init -q .",
    "attributes": "echo '* filter=x' > .git/info/attributes",
    "objects of another repository": "echo /tmp/x > .git/objects/info/alternates",
    "settings of a submodule": "echo x > .git/modules/sub/config",
    "where another working tree belongs": "echo ../../../c > .git/worktrees/w/commondir",
}


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
async def test_what_runs_programs_stays_as_it_is(attack: str, tmp_path: Path) -> None:
    """The hook is what an attacker has in a repository: it runs with the rights of the commit."""
    async with studio(tmp_path, FILES) as room:
        sh(room.folder, *REPOSITORY, "git worktree add -q -b w ../w", "mkdir -p .git/modules/sub")
        room.path(".git/modules/sub/config").write_text("")
        room.path(".git/objects/info/alternates").write_text("")
        script = f"#!/bin/sh\necho ran > ran.txt\n({attack}) && echo done > done.txt\ntrue\n"
        room.path(".git/hooks/pre-commit").write_text(script)
        room.path(".git/hooks/pre-commit").chmod(0o755)
        await ran(room, "git commit -qam x")
        assert room.path(".git/hooks/pre-commit").read_text() == script
        assert room.path("ran.txt").exists() and not room.path("done.txt").exists()
        assert not room.path(".git/commondir").exists()
        assert sh(room.folder, "git config core.fsmonitor || echo none") == "none\n"


async def test_hooks_that_are_not_there_are_not_made(tmp_path: Path) -> None:
    async with studio(tmp_path, FILES) as room:
        sh(room.folder, *REPOSITORY, "rm -r .git/hooks", "git config extensions.worktreeConfig true")
        lines = "git add -A; mkdir -p .git/hooks; echo x > .git/hooks/pre-commit; echo x > .git/config.worktree; true"
        assert await ran(room, lines) == (1, "completed")
        assert not room.path(".git/hooks/pre-commit").exists()
        assert room.path(".git/config.worktree").read_text() == ""


async def test_the_mode_follows_a_linked_working_tree(tmp_path: Path) -> None:
    async with studio(tmp_path) as room:
        main = tmp_path / "main"
        main.mkdir()
        (main / "a.txt").write_text("one\n")
        sh(main, *REPOSITORY, "git worktree add -q -b w ../linked")
        room.folder.rmdir()
        sh(main, "git worktree move ../linked ../workspace")
        room.path("a.txt").write_text("two\n")
        plan = await asked(room, "git commit -qam x && echo x >> ../main/.git/HEAD")
        confinement = plan.pending.approvals[0].confinement
        assert confinement is not None and f"git's folder {main}/.git/worktrees/" in confinement.line
        plan = await room.respond(plan)
        assert plan.steps[0].status == "failed", "HEAD is the main working tree's"
        assert sh(main, "git log --format=%s -1 w") == "x\n"


SUBMODULE = (
    "git init -q -b main ../lib && cd ../lib && git config user.name A && git config user.email a@example.org",
    "echo one > a.txt && git add -A && git commit -qm first && cd $OLDPWD",
    "git -c protocol.file.allow=always submodule add -q ../lib sub && git commit -qm sub",
)
SUBMODULE_ATTACKS = {
    "a hook": "echo x > $G/hooks/post-commit",
    "settings": "git config core.fsmonitor ./evil",
    "settings replaced": "cp $G/config c && mv -f c $G/config",
    "settings of the working tree": "echo x > $G/config.worktree && test -s $G/config.worktree",
    "another common folder": "rm -f $G/commondir; mkdir c; echo $PWD/c > $G/commondir",
    "settings of the repository above": "echo x >> $G/../../config",
    "a hook of the repository above": "echo x > $G/../../hooks/post-commit",
    "the head of the repository above": "echo x > $G/../../HEAD",
    "another submodule": "mkdir $G/../other",
    "the folder itself": "mv $G $G.old",
    "the folder above it": "mv $G/../../modules $G/../../old",
    "objects of another repository": "echo /tmp/x > $G/objects/info/alternates",
    "attributes": "echo '* filter=x' > $G/info/attributes",
    "the way to the folder": "echo 'gitdir: ../c' > .git",
}


@pytest.mark.parametrize("is_root", [True, False], ids=["the workspace", "in the workspace"])
async def test_the_mode_follows_a_submodule(is_root: bool, tmp_path: Path) -> None:
    main = tmp_path / "main"
    main.mkdir()
    (main / "b.txt").write_text("two\n")
    sh(main, *REPOSITORY[:3], *SUBMODULE, "git -C sub config extensions.worktreeConfig true")
    sub, folder = main / "sub", main / ".git" / "modules" / "sub"
    for name in ("objects/info/alternates", "config.worktree"):
        (folder / name).touch()
    root = sub if is_root else main
    git = git_folder(sub, [root])
    assert git is not None and git.name == (str(folder) if is_root else ".git/modules/sub")
    kept = {path: path.read_bytes() for path in (*(main / ".git").rglob("*"), sub / ".git") if path.is_file()}
    confined = Confined(Confinement(git=git.name), Reach((root,)), tmp_path / "plan")

    async def run(command: str) -> ProcessResult:
        argv = shell_argv(f"G={folder}; {command}")
        return await run_process(
            Launch(argv, Folder(sub), environment(os.environ), confined), timeout_seconds=20
        )

    for name, attack in SUBMODULE_ATTACKS.items():
        ended = await run(attack)
        # A repository above the workspace is not there: what is made in its place is the plan's.
        assert ended.code not in (0, None, 125) or (is_root and "/.." in attack), (name, ended.output)
        assert {path: path.read_bytes() for path in kept} == kept, name
        assert not (folder / "commondir").exists() and not (folder / "hooks" / "post-commit").exists()
    ended = await run(
        "echo two > a.txt && git -c user.name=A -c user.email=a@b commit -qam second && git switch -qc new"
    )
    assert ended.code == 0, ended.output
    assert sh(sub, "git log --format=%s -1 new") == "second\n"
    assert sh(main, "git fsck && git submodule status").startswith("+")


async def test_a_submodules_folder_that_does_not_point_back_is_not_followed(tmp_path: Path) -> None:
    main, thief = tmp_path / "main", tmp_path / "thief"
    for folder in (main, thief):
        folder.mkdir()
    (main / "b.txt").write_text("two\n")
    sh(main, *REPOSITORY[:3], *SUBMODULE)
    (thief / ".git").write_text(f"gitdir: {main}/.git/modules/sub\n")
    assert git_folder(thief, [thief]) is None
    assert git_folder(main / "sub", [main]) is not None
    sh(main, "git -C sub config --add core.worktree ../../../../thief")
    assert git_folder(thief, [thief]) is None and git_folder(main / "sub", [main]) is None


def test_a_folder_that_does_not_point_back_is_not_followed(tmp_path: Path) -> None:
    main, thief = tmp_path / "main", tmp_path / "thief"
    for folder in (main, thief):
        folder.mkdir()
        (folder / "a.txt").write_text("one\n")
    sh(main, *REPOSITORY, "git worktree add -q -b w ../linked")
    (thief / ".git").write_text((tmp_path / "linked" / ".git").read_text())
    assert git_folder(thief, [thief]) is None
    (thief / ".git").write_text(f"gitdir: {main}/.git\n")
    assert git_folder(thief, [thief]) is None
    (thief / ".git").unlink()
    (thief / ".git").symlink_to(main / ".git")
    assert git_folder(thief, [thief]) is None
    assert git_folder(tmp_path / "linked", [tmp_path / "linked"]) is not None


@pytest.mark.parametrize("what", ["core.worktree", "core.bare"])
def test_a_repository_whose_settings_name_its_working_tree_has_no_mode(what: str, tmp_path: Path) -> None:
    folder = tmp_path / "w"
    folder.mkdir()
    sh(folder, "git init -q .", f"git config {what} {'true' if what == 'core.bare' else '../w'}")
    assert git_folder(folder, [folder]) is None


def test_the_name_that_is_taken_is_free_when_the_last_command_has_ended(tmp_path: Path) -> None:
    folder = tmp_path / "w"
    folder.mkdir()
    sh(folder, "git init -q .")
    git = git_folder(folder, [folder])
    assert git is not None
    one, other = reserved(git), reserved(git)
    assert one is not None and other is not None
    assert git_folder(folder, [folder]) == git
    one.release()
    assert (folder / ".git" / "commondir").read_text() == ".\n"
    other.release()
    assert not (folder / ".git" / "commondir").exists()


async def test_settings_are_refused_with_a_way_to_do_without(tmp_path: Path) -> None:
    async with studio(tmp_path, FILES) as room:
        sh(room.folder, *REPOSITORY)
        plan = await room.respond(await asked(room, "git config user.name B"))
        (recovery,) = plan.pending.recoveries
        assert "Give settings of git by `git -c name=value`." in recovery.error
        assert recovery.code != "lacked_rights", "it cannot be given"


async def test_what_failed_for_want_of_gits_folder_is_asked_with_it(tmp_path: Path) -> None:
    async with studio(tmp_path, FILES | {"save.sh": "git commit -qam x\n"}) as room:
        sh(room.folder, *REPOSITORY)
        plan = await room.respond(await asked(room, "sh save.sh"))
        (recovery,) = plan.pending.recoveries
        assert recovery.code == "lacked_rights" and "without leave to change git's folder" in recovery.error
        await room.app.steps.recover(plan.plan_id, recovery.step_id, "retry", None)
        plan = await room.until(plan, lambda now: bool(now.pending.approvals))
        (question,) = plan.pending.approvals
        assert "for want of git's folder" in (question.warning or "")
        assert question.confinement is not None and question.confinement.git == ".git"
        assert (await room.respond(plan, "allowForPlan")).steps[0].status == "completed"


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("gh pr list", "please run:  gh auth login"),
        ("aws s3 ls", "Unable to locate credentials."),
        ("docker ps", "Cannot connect to the Docker daemon at unix:///nowhere/docker.sock. Is it running?"),
    ],
)
async def test_what_the_user_does_not_have_is_not_said_to_be_kept_from_a_command(
    command: str, output: str, tmp_path: Path
) -> None:
    name = command.partition(" ")[0]
    async with studio(tmp_path, {name: f"#!/bin/sh\necho '{output}' >&2; exit 4\n"}) as room:
        room.path(name).chmod(0o755)
        plan = await room.respond(await asked(room, f"./{command}"))
        (recovery,) = plan.pending.recoveries
        assert recovery.code != "lacked_rights" and "confined" not in recovery.error
        assert output in recovery.error


PRE_COMMIT = """
repos: [{repo: local, hooks: [
  {id: blanks, name: blanks, entry: sed -i 's/ *$//', language: system, files: txt},
  {id: own, name: own, entry: python -c 'print(1)', language: python},
]}]
"""


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("pre-commit") is None, reason="no pre-commit here")
async def test_the_hooks_of_pre_commit_run_confined(tmp_path: Path) -> None:
    files = {**FILES, ".pre-commit-config.yaml": PRE_COMMIT}
    async with studio(tmp_path, files, patience=60) as room:
        sh(
            room.folder,
            *REPOSITORY,
            "git add -A && git commit -qm more",
            "pre-commit install --install-hooks",
        )
        cache = sorted((tmp_path / ".cache" / "pre-commit").iterdir())
        assert await ran(room, "echo 'blank ' >> a.txt && git add a.txt && pre-commit run") == (1, "failed")
        assert room.path("a.txt").read_text().endswith("blank\n"), "its hook has changed it"
        for command in ("pre-commit run --all-files", "git commit -qam x"):
            assert await ran(room, command) == (1, "completed")
        assert sh(room.folder, "git log --format=%s -1") == "x\n"
        assert sorted((tmp_path / ".cache" / "pre-commit").iterdir()) == cache


async def test_credentials_are_seen_if_they_are_asked_for(tmp_path: Path) -> None:
    key = tmp_path / ".config" / "gh" / "hosts.yml"
    key.parent.mkdir(parents=True)
    key.write_text("token\n")
    program = tmp_path / "workspace" / "gh"
    async with studio(tmp_path) as room:
        program.write_text(
            "#!/bin/sh\ncat ~/.config/gh/hosts.yml || { echo 'please run: gh auth login'; exit 4; }\n"
        )
        program.chmod(0o755)
        plan = await room.respond(await asked(room, "./gh pr list"))
        (recovery,) = plan.pending.recoveries
        assert "it saw none of the credentials of gh" in recovery.error
        await room.app.steps.recover(plan.plan_id, recovery.step_id, "retry", None)
        plan = await room.until(plan, lambda now: bool(now.pending.approvals))
        confinement = plan.pending.approvals[0].confinement
        assert confinement is not None and confinement.reads == ("~/.config/gh",)
        plan = await room.respond(plan)
        assert plan.steps[0].status == "completed"
