"""How processes start: `serve` without what only people need, and nothing of the workspace ever imported."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from tests.support import command_line
from tests.support.scripts import COMPLETED, events, script, step

pytestmark = pytest.mark.process

NEEDLESS = ("pydantic", "pygls", "lsprotocol", "attrs", "cattrs", "rich.markdown", "markdown_it", "pygments")
ANSWER = {"type": "answer", "taskId": "s1", "text": "It is **bold**."}
HEAVY = ("asyncio", "rich", "pygls", "lsprotocol", "pydantic")
"""What would delay the start of the server, which takes longest of all."""


@pytest.mark.parametrize("arguments", [["--version"], ["-V"]])
def test_the_version_is_told_at_once(tmp_path: Path, arguments: list[str]) -> None:
    ended = command_line.run(tmp_path, arguments)
    assert (ended.code, ended.out) == (0, f"planloom {metadata.version('planloom')}\n")


def test_without_arguments_the_commands_are_told(tmp_path: Path) -> None:
    ended = command_line.run(tmp_path, [])
    assert ended.code == 2
    for command in ("run", "plan", "doctor", "serve --stdio", "--version"):
        assert command in ended.out + ended.err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
def test_a_full_disk_behind_the_output_is_a_sentence(tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-I", "-m", "planloom", "trust", "--list"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            env=command_line.environment(XDG_STATE_HOME=str(tmp_path)),
        )
    assert done.returncode == 1
    assert done.stderr == "planloom: The output cannot be written: No space left on device.\n"


def last_line(folder: Path, *arguments: str) -> str:
    """The last line that Python prints with these arguments."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
        env=command_line.environment(),
    )
    return done.stdout.splitlines()[-1]


def test_the_server_is_started_before_anything_heavy_is_imported(tmp_path: Path) -> None:
    code = (
        "import sys; from planloom.cli.app import main; loaded = []; "
        f"heavy = lambda: [name for name in {HEAVY!r} if name in sys.modules]; "
        "sys.addaudithook(lambda event, _: loaded.append(heavy()) if event == 'subprocess.Popen' else None); "
        "main(sys.argv[2:], server_command=[sys.executable, '-c', 'pass']); print(*loaded)"
    )
    assert last_line(tmp_path, "-I", "-c", code, "-", "run", "x", "--yes", "--trust") == "[]"


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
    ended = command_line.run(tmp_path, arguments, script([]), trust=False)
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
    from planloom.cli.app import COMMANDS

    given = COMMANDS["run"].parsed(arguments)
    assert (given.text, given.yes) == (text, yes)


def test_options_stand_between_arguments() -> None:
    from planloom.cli.app import COMMANDS

    given = COMMANDS["memory"].parsed(["form", "--json", "tests"])
    assert (given.words, given.json) == (["form", "tests"], True)


def test_running_a_request_imports_neither_the_protocol_nor_what_only_a_terminal_needs(
    tmp_path: Path,
) -> None:
    code = "import sys; from planloom.cli.app import main; code = main(sys.argv[5:], server_command=sys.argv[1:5]); "
    code += f"print(code, [name for name in {NEEDLESS!r} if name in sys.modules])"
    (tmp_path / "script.json").write_text(json.dumps(script([step(1, "a")], [events(ANSWER, COMPLETED)])))
    server = [sys.executable, command_line.FAKE, str(tmp_path / "script.json"), str(tmp_path / "sent.jsonl")]
    assert last_line(tmp_path, "-c", code, *server, "run", "x", "--yes", "--trust") == "0 []"


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
