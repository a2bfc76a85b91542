"""How processes start: what they say at once, and nothing of the workspace is ever imported."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from planloom.cli.arguments import parsed
from tests.support import command_line
from tests.support.scripts import COMPLETED, events, script, step

pytestmark = pytest.mark.process


@pytest.mark.parametrize("arguments", [["--version"], ["-V"]])
def test_the_version_is_told_at_once(tmp_path: Path, arguments: list[str]) -> None:
    ended = command_line.run(tmp_path, arguments, cold=True)
    assert (ended.code, ended.out) == (0, f"planloom {metadata.version('planloom')}\n")


def test_without_arguments_the_commands_are_told(tmp_path: Path) -> None:
    ended = command_line.run(tmp_path, [], cold=True)
    assert ended.code == 2
    for command in ("run", "plan", "doctor", "serve --stdio", "--version"):
        assert command in ended.out + ended.err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
@pytest.mark.parametrize(
    "arguments", [["trust", "--list"], ["--version"], ["--help"], ["plans", "--help"], ["serve", "--help"]]
)
def test_a_full_disk_behind_the_output_is_a_sentence(tmp_path: Path, arguments: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-I", "-m", "planloom", *arguments],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            env=command_line.environment(XDG_STATE_HOME=str(tmp_path)),
        )
    assert done.returncode == 1
    assert done.stderr == "planloom: The output cannot be written: No space left on device.\n"


WRONG = (
    (["run", "--nonsense"], 2),
    (["run", "--mode", "hastily", "x"], 2),
    (["plans", "--limit", "0"], 2),
    (["nonsense"], 2),
    (["run", "--help"], 0),
    (["--help"], 0),
)


@pytest.mark.parametrize(("arguments", "code"), WRONG, ids=str)
def test_wrong_arguments_and_help_start_no_server(tmp_path: Path, arguments: list[str], code: int) -> None:
    ended = command_line.run(tmp_path, arguments, script([]), trust=False, cold=True)
    assert (ended.code, ended.sent) == (code, ())
    assert "planloom" in ended.out + ended.err


@pytest.mark.parametrize(
    ("arguments", "text", "yes"),
    [
        (["--", "-1 + 1"], "-1 + 1", False),
        (["--yes", "--", "-1"], "-1", True),
        (["--yes", "x"], "x", True),
        (["x", "--yes"], "x", True),
    ],
)
def test_options_stand_before_and_behind_the_request(arguments: list[str], text: str, yes: bool) -> None:
    given = parsed(["run", *arguments])
    assert (given.text, given.yes) == (text, yes)


def test_options_stand_between_arguments() -> None:
    given = parsed(["memory", "form", "--json", "tests"])
    assert (given.words, given.json) == (["form", "tests"], True)


def test_modules_that_lie_in_the_workspace_are_not_imported(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    for name in ("argparse", "rich", "pygls", "json", "planloom", "sitecustomize", "lsprotocol"):
        (work / f"{name}.py").write_text("raise SystemExit('hijacked')\n")
    turns = script([step(1, "a")], [events(COMPLETED)])
    done = subprocess.run(
        command_line.command(tmp_path, ["run", "x", "--yes"], turns),
        cwd=work,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env=command_line.environment(),
    )
    assert done.returncode == 0, done.stderr
    assert "hijacked" not in done.stdout + done.stderr


def test_a_command_whose_output_nobody_reads_ends_without_a_traceback(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as output:
        done = subprocess.run(
            command_line.command(tmp_path, ["--version"], None),
            stdout=output,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert (done.returncode, done.stderr) == (1, b"")
