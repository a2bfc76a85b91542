"""Programs that Planloom starts by itself, their environment, and that an opened folder cannot run its own."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import planloom
from planloom.workspace.index.file_index import FileIndex
from planloom.workspace.index.programs import Programs, environment, finished
from planloom.workspace.paths.roots import root_at
from tests.support.studio import studio
from tests.tools.desk import Desk

GIT = shutil.which("git")
needs_git = pytest.mark.skipif(GIT is None, reason="there is no git")
needs_scripts = pytest.mark.skipif(os.name == "nt", reason="the programs of these tests are shell scripts")

STARTS = {
    "cli/client/server_process.py": "the command line's own server, which gets the user's keys",
    "cli/terminal/keyboard.py": "the editor that the user has named in $EDITOR, for a text of the user's own",
    "tools/processes/server_process.py": "language and MCP servers, in trusted folders, confined where that can be",
    "tools/confinement/linux/launcher.py": "a command that a person has approved, within its limits",
    "tools/confinement/linux/relay.py": "one copy of itself for each network that it joins, and no program",
    "tools/confinement/linux_command.py": "a trial of what the kernel allows, and the commands' own network",
    "tools/processes/child_process.py": "commands that a person has approved",
    "workspace/index/programs.py": "the starter of everything else",
}
"""The only modules that may start a process, and the programs they start."""


def git(root: Path, *arguments: str) -> str:
    command = [str(GIT), "-C", str(root), "-c", "user.email=a@b", "-c", "user.name=a", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def plant_promisor(root: Path, sprung: Path) -> None:
    """A repository whose missing .gitignore would be fetched from a remote that is a command."""
    root.mkdir(parents=True)
    (root / ".gitignore").write_text("x\n")
    (root / "a.txt").write_text("hi\n")
    git(root, "init", "-q", ".")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "x")
    git(root, "update-index", "--skip-worktree", ".gitignore")
    blob = git(root, "rev-parse", ":.gitignore")
    (root / ".gitignore").unlink()
    (root / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    git(root, "config", "core.repositoryformatversion", "1")
    git(root, "config", "extensions.partialClone", "origin")
    git(root, "config", "remote.origin.promisor", "true")
    git(root, "config", "remote.origin.url", "/nowhere")
    git(root, "config", "remote.origin.uploadpack", f"env > {sprung}; false")
    (root / "untracked.txt").write_text("u\n")


def plant_own(folder: Path, sprung: Path) -> Path:
    """The opened folder is the malicious repository."""
    plant_promisor(folder / "w", sprung)
    return folder / "w"


def plant_nested(folder: Path, sprung: Path) -> Path:
    """A folder below the user's own clean repository is the malicious repository."""
    mine = folder / "mine"
    mine.mkdir()
    git(mine, "init", "-q", ".")
    (mine / "f").write_text("1\n")
    git(mine, "add", "f")
    git(mine, "commit", "-qm", "x")
    plant_promisor(mine / "download" / "pkg", sprung)
    return mine


def plant_bare(folder: Path, sprung: Path) -> Path:
    """A folder of a clean clone contains the files of a bare repository with a work tree."""
    plant_promisor(folder / "own", sprung)
    inner = folder / "up" / "example"
    inner.mkdir(parents=True)
    for name in ("HEAD", "config", "index"):
        shutil.copy(folder / "own" / ".git" / name, inner / name)
    for name in ("objects", "refs"):
        (inner / name).mkdir()
        (inner / name / ".keep").touch()
    git(folder / "up", "config", "-f", str(inner / "config"), "core.worktree", ".")
    (inner / "u.txt").write_text("u\n")
    git(folder / "up", "init", "-q", ".")
    git(folder / "up", "add", "-A", "-f")
    git(folder / "up", "commit", "-qm", "x")
    git(folder, "clone", "-q", str(folder / "up"), str(folder / "clone"))
    return folder / "clone" / "example"


@needs_git
@needs_scripts
@pytest.mark.parametrize("plant", [plant_own, plant_nested, plant_bare])
async def test_opening_a_folder_fetches_nothing_and_runs_nothing(tmp_path: Path, plant: object) -> None:
    assert callable(plant)
    sprung = tmp_path / "sprung"
    root = plant(tmp_path, sprung)
    index = FileIndex([root_at(root)])
    await index.build()
    assert await index.ending_with("u.txt") or await index.ending_with("untracked.txt")
    assert not sprung.exists()


@needs_git
@needs_scripts
async def test_git_is_not_run_in_repositories_that_are_not_the_folders_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = plant_nested(tmp_path, tmp_path / "sprung")
    folders = recorded(tmp_path, monkeypatch, "git", f'pwd >> {tmp_path}/started; exec {GIT} "$@"')
    index = FileIndex([root_at(root)])
    await index.build()
    assert await index.ending_with("download/pkg/a.txt")
    assert {*folders.read_text().splitlines()} == {str(root)}


def recorded(folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, script: str) -> Path:
    """Put a program of this name first on the search path; returns the file that logs its starts."""
    program = folder / "bin" / name
    program.parent.mkdir(exist_ok=True)
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    if str(program.parent) not in os.environ["PATH"]:
        monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    return folder / "started"


@needs_scripts
async def test_no_program_is_started_before_the_folder_is_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = recorded(tmp_path, monkeypatch, "git", f"echo git >> {tmp_path}/started; exit 1")
    recorded(tmp_path, monkeypatch, "rg", f"echo rg >> {tmp_path}/started; exit 2")
    files = {f"f{n}.txt": "needle\n" for n in range(300)} | {".git/HEAD": "ref: refs/heads/main\n"}
    async with studio(tmp_path, files, trusted=False) as at:
        index = at.app.index.current()
        assert await index.wait_until_listed(at.patience) and index.files == 300
        assert not started.exists()
        at.app.set_trusted(True)
        assert at.app.index.current() is index, "what was listed stays in use"
        await index.build()
        assert set(started.read_text().split()) == {"git"} and index.files == 300


@needs_scripts
@pytest.mark.parametrize("trusted", [True, False])
async def test_a_search_starts_no_program_before_the_folder_is_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trusted: bool
) -> None:
    started = recorded(tmp_path, monkeypatch, "rg", f"echo rg >> {tmp_path}/started; exit 2")
    (tmp_path / "w").mkdir()
    desk = Desk(tmp_path / "w", {f"f{n}.txt": "needle\n" for n in range(300)})
    desk.context.programs = Programs(lambda: trusted)
    result = await desk.call("search_text", pattern="needle", max_results=1000)
    assert result.ok and "in 300 lines of 300 files" in result.summary
    assert started.exists() is trusted


@needs_scripts
def test_what_is_started_gets_no_key_and_may_not_fetch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    monkeypatch.setenv("GIT_DIR", "/elsewhere")
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy")
    recorded(tmp_path, monkeypatch, "tool", "env")
    program = Programs().find("tool", ())
    assert program is not None
    done = finished(program, (), cwd=tmp_path, seconds=20)
    assert done is not None
    given = dict(line.split("=", 1) for line in done.stdout.decode().splitlines() if "=" in line)
    assert not {"OPENAI_API_KEY", "GIT_DIR", "HTTPS_PROXY"} & given.keys()
    wanted = {
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ALLOW_PROTOCOL": "none",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_OPTIONAL_LOCKS": "0",
    }
    assert wanted.items() <= given.items()


@pytest.mark.slow
def test_every_start_of_a_process_goes_through_the_starter() -> None:
    package = Path(planloom.__file__).parent
    found = {
        path.relative_to(package).as_posix()
        for path in sorted(package.rglob("*.py"))
        # To parse all modules takes many seconds.
        if NAMED.search(text := path.read_text(encoding="utf-8")) and _starts_processes(ast.parse(text))
    }
    assert found == STARTS.keys()


LIBRARIES = {"subprocess", "pty", "multiprocessing", "concurrent.futures.process"}
OF_LOOPS = {"subprocess_exec", "subprocess_shell", "create_subprocess_exec", "create_subprocess_shell"}
NAMED = re.compile(r"process|futures|pty|\bos\b|posix")
OF_OS = ("exec", "fork", "popen", "posix_spawn", "spawn", "startfile", "system")


def test_commands_find_modules_as_in_the_users_shell_and_no_secrets() -> None:
    kept = environment({"PYTHONPATH": "src", "NODE_PATH": "lib", "API_TOKEN": "CANARY", "PATH": "/bin:."})
    assert (kept["PYTHONPATH"], kept["NODE_PATH"], kept["PATH"]) == ("src", "lib", "/bin")
    assert "CANARY" not in kept.values()


def _starts_processes(module: ast.Module) -> bool:
    """Whether a module names anything that starts a process."""
    for node in ast.walk(module):
        match node:
            case ast.Import(names=names) if any(each.name in LIBRARIES for each in names):
                return True
            case ast.ImportFrom(module=name) if name in LIBRARIES:
                return True
            case ast.ImportFrom(module="os", names=names) if any(
                each.name.startswith(OF_OS) for each in names
            ):
                return True
            case ast.Attribute(value=ast.Name(id="os"), attr=name) if name.startswith(OF_OS):
                return True
            case ast.Attribute(attr=name) | ast.Name(id=name) if name in OF_LOOPS:
                return True
            case _:
                pass
    return False
