"""The real command line with the real server: what a request makes of a workspace, byte for byte."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import command_line
from tests.support.command_line import AtTerminal, Finished
from tests.support.descendants import descendants, is_running
from tests.support.model_server import model_process

pytestmark = pytest.mark.process

REQUEST = """Please do the following:

1. Create folder docs/guide
2. Create file src/greeting.py with content:
   ```python
   def greet(name: str) -> str:
       return f"Hello, {name} – 😀"
   ```
3. Replace "print(1)" with "print(greet('you'))" in @src/app.py
4. Replace "two" with "zwei" in windows.txt
5. Replace "é" with "è" in marked.txt
6. Create file "docs/guide/a b.md" with content "# A and B"
"""
BEFORE = {
    "src/app.py": b"import sys\n\nprint(1)\n",
    "windows.txt": b"one\r\ntwo\r\nthree\r\n",
    "marked.txt": "\ufeffcaf\u00e9".encode(),
    "untouched.bin": b"\0\1\2",
}
AFTER = BEFORE | {
    "src/app.py": b"import sys\n\nprint(greet('you'))\n",
    "src/greeting.py": 'def greet(name: str) -> str:\n    return f"Hello, {name} – 😀"\n'.encode(),
    "windows.txt": b"one\r\nzwei\r\nthree\r\n",
    "marked.txt": "\ufeffcaf\u00e8".encode(),
    "docs/guide/a b.md": b"# A and B",
}


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A workspace with files of several kinds, next to a place for state."""
    folder = tmp_path / "work"
    for name, content in BEFORE.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    (folder / "src" / "app.py").chmod(0o755)
    return folder


def files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def own_state(work: Path) -> dict[str, str]:
    """Where this test's ledger, log and settings lie: not where the user's do."""
    return {
        "XDG_STATE_HOME": str(work.parent / "state"),
        "XDG_CONFIG_HOME": str(work.parent / "config"),
        "PLANLOOM_STORAGE_PATH": str(work.parent / "state"),
        "PLANLOOM_CONFIG": str(work.parent / "settings.json"),
    }


def planloom(work: Path, command: str, text: str, *flags: str) -> Finished:
    arguments = [command, text, "--workspace", str(work), *flags]
    return command_line.run(work.parent, arguments, cold=True, **own_state(work))


def test_a_numbered_request_changes_exactly_what_it_says(work: Path) -> None:
    ended = planloom(work, "run", REQUEST, "--yes")
    assert ended.code == 0, ended.out + ended.err
    assert files(work) == AFTER
    assert (work / "src" / "app.py").stat().st_mode & 0o777 == 0o755
    assert ended.out.startswith("Log: ")
    assert Path(ended.out.splitlines()[0].removeprefix("Log: ")).is_file()
    assert "6 of 6 steps done" in ended.out


def test_json_tells_every_event_in_order(work: Path) -> None:
    ended = planloom(work, "run", REQUEST, "--yes", "--json")
    told = [json.loads(line) for line in ended.out.splitlines()]
    assert [event["seq"] for event in told[1:-1]] == list(range(1, len(told) - 1))
    assert told[-2]["type"] == "plan_completed"
    changed = {(file["uri"].removeprefix(f"{work.as_uri()}/"), file["change"]) for file in told[-1]["files"]}
    assert changed == {
        ("docs", "createFolder"),
        ("docs/guide", "createFolder"),
        ("docs/guide/a%20b.md", "create"),
        ("marked.txt", "edit"),
        ("src/app.py", "edit"),
        ("src/greeting.py", "create"),
        ("windows.txt", "edit"),
    }


def test_plan_changes_nothing(work: Path) -> None:
    ended = planloom(work, "plan", REQUEST)
    assert ended.code == 0
    assert "6 steps" in ended.out
    assert files(work) == BEFORE


REFUSED = {
    "text that is not there": (
        '1. Replace "nowhere" with "x" in src/app.py\n2. Create folder late',
        "nowhere",
    ),
    "a place outside": ('1. Create file ../evil.txt with content "x"\n2. Create folder late', "evil"),
    "a file that is no text": (
        '1. Replace "x" with "y" in untouched.bin\n2. Create folder late',
        "untouched",
    ),
    "no model for the rest": ("1. Write a poem about the sea in poem.md\n2. Improve it", "model"),
}


@pytest.mark.parametrize(("request_text", "told"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_done_is_left_with_a_sentence_and_changes_nothing(
    work: Path, request_text: str, told: str
) -> None:
    ended = planloom(work, "run", request_text, "--yes")
    assert ended.code == 4, ended.out
    assert told in ended.out
    assert files(work) == BEFORE
    assert not (work.parent / "evil.txt").exists()
    assert "Traceback" not in ended.out + ended.err


PROTECTED = '1. Create file .vscode/tasks.json with content "{}"\n2. Create file plain.txt with content "x"'


def test_a_plan_that_nobody_has_read_covers_no_command(work: Path) -> None:
    ended = planloom(work, "run", "1. Create folder data\n2. Run `touch data/ran`", "--yes")
    assert "--yes-commands" in ended.out
    assert (work / "data").is_dir() and not (work / "data/ran").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="finds the server of a process in /proc")
def test_a_command_that_a_kill_has_cut_off_is_run_again_by_no_flag(work: Path) -> None:
    text = '1. Run `echo ran >>ran.log; test -e go || sleep 60`\n2. Create file b.txt with content "b"'
    flags = ["--yes", "--yes-commands", "--workspace", str(work)]
    begun = subprocess.Popen(
        command_line.command(work.parent, ["run", text, *flags], None),
        env=command_line.environment(**own_state(work)),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    until = time.monotonic() + command_line.SECONDS
    while not (work / "ran.log").exists() and time.monotonic() < until:
        time.sleep(0.02)
    everything = [begun.pid, *descendants(begun.pid)]
    for each in everything:
        with contextlib.suppress(ProcessLookupError):
            os.kill(each, signal.SIGKILL)
    begun.wait()
    while any(map(is_running, everything)) and time.monotonic() < until:
        time.sleep(0.02)
    (work / "go").touch()
    left = command_line.run(work.parent, ["resume", *flags], cold=True, **own_state(work))
    assert left.code == 4 and "may have run already" in left.out
    assert (work / "ran.log").read_text() == "ran\n" and not (work / "b.txt").exists()
    with contextlib.closing(
        AtTerminal(work.parent, ["resume", "--yes", "--workspace", str(work)], None, **own_state(work))
    ) as terminal:
        terminal.wait_for("may have run already")
        terminal.type("y")
        terminal.wait_for("2 of 2 steps done")
    assert (work / "ran.log").read_text() == "ran\nran\n" and (work / "b.txt").read_text() == "b"


def test_a_protected_name_needs_more_than_yes(work: Path) -> None:
    ended = planloom(work, "run", PROTECTED, "--yes")
    assert not (work / ".vscode").exists()
    assert (work / "plain.txt").read_bytes() == b"x"
    assert "--yes-commands" in ended.out

    planloom(work, "run", PROTECTED.replace("plain", "other"), "--yes", "--yes-commands")
    assert (work / ".vscode" / "tasks.json").read_bytes() == b"{}"


@pytest.fixture
def terminal(work: Path) -> Iterator[AtTerminal]:
    text = '1. Create file one.txt with content "1"\n2. Create file two.txt with content "2"\n3. Create folder late'
    at = AtTerminal(
        work.parent,
        ["run", text, "-w", str(work), "--set", "approvals.plan=none"],
        VISUAL="",
        EDITOR="sed -i '/^- ... Create folder late/,$d'",
        **own_state(work),
    )
    yield at
    at.close()


def test_a_person_edits_the_plan_allows_one_write_and_denies_another(
    work: Path, terminal: AtTerminal
) -> None:
    terminal.wait_for("Execute this plan?")
    terminal.type("e")
    terminal.wait_for("Version 2")
    terminal.wait_for("Execute this plan?")
    terminal.type("y")
    terminal.wait_for("one.txt")
    terminal.type("y")
    terminal.wait_for("two.txt")
    terminal.type("n")
    terminal.type("not now", after="Why? (may be empty) ")
    ended = terminal.finish()
    assert files(work) == BEFORE | {"one.txt": b"1"}
    assert not (work / "late").exists()
    assert "it was not allowed" in ended.out


def test_ctrl_c_pauses_and_a_cancelled_plan_leaves_no_process(work: Path, terminal: AtTerminal) -> None:
    terminal.wait_for("Execute this plan?")
    terminal.interrupt()
    terminal.wait_for("The plan is paused.")
    terminal.type("c")
    ended = terminal.finish()
    assert ended.code == 130
    assert files(work) == BEFORE
    assert "Traceback" not in ended.out


@pytest.fixture
def model(tmp_path: Path) -> Iterator[str]:
    """The address of a model server in a process of its own, which answers every request in the same words."""
    answer = {"name": "final_answer", "arguments": {"text": "It prints a **number**.", "confidence": "low"}}
    with model_process(tmp_path, [{"calls": [answer], "repeat": True}]) as address:
        yield address


def test_a_question_is_answered_by_the_model_and_changes_nothing(work: Path, model: str) -> None:
    asked = ("What does @src/app.py do?", "--yes", "--base-url", model, "--model", "scripted")
    ended = planloom(work, "run", *asked)
    assert ended.code == 0, ended.out + ended.err
    # Away from a terminal an answer stands as the model has written it.
    assert "It prints a **number**." in ended.out
    assert "confidence: low" in ended.out
    assert files(work) == BEFORE


def test_no_model_server_is_a_sentence_that_names_the_option(work: Path) -> None:
    ended = planloom(
        work, "run", "What does it do?", "--yes", "--base-url", "http://127.0.0.1:9/v1", "--model", "m"
    )
    assert ended.code == 4
    assert "Nothing answers at http://127.0.0.1:9" in ended.out
    assert "--base-url" in ended.out


def test_doctor_finds_what_is_there(work: Path) -> None:
    ended = command_line.run(work.parent, ["doctor", "-w", str(work)], **own_state(work))
    assert ended.code == 0, ended.out + ended.err
    for told in ("Python", "packages", str(work), "protocol 1", "ledger"):
        assert told in ended.out


def test_the_demo_shows_a_review_and_its_last_lines_work_as_printed(tmp_path: Path) -> None:
    here = Path(__file__).parents[2] / "demo"
    copy = tmp_path / "demo"
    shutil.copytree(here, copy)
    environment = command_line.environment(TMPDIR=str(tmp_path), XDG_STATE_HOME=str(tmp_path / "state"))
    done = subprocess.run(
        [sys.executable, str(copy / "demo.py")],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=command_line.SECONDS,
        check=False,
        env=environment,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for told in (
        "Execute this plan?",
        "\n> y\n",
        "+     if bay not in BAYS:",
        "2 of 2 steps done",
        "There is no bay",
    ):
        assert told in done.stdout
    # A newcomer reads it whole.
    assert len(done.stdout.splitlines()) <= 60
    (made,) = tmp_path.glob("planloom-demo-*/tides/tides.py")
    assert "if bay not in BAYS:" in made.read_text()
    assert not (tmp_path / "state" / "planloom" / "ledger.sqlite3").exists()

    diff = done.stdout.partition("All changes: ")[2].partition("\n")[0]
    *shell, undo = done.stdout.partition("in this shell:\n")[2].splitlines()
    assert undo == "planloom undo"
    for last, told in ((diff, "+    if bay not in BAYS:"), (f"{undo} --yes --trust", "Takes back plan")):
        gone_on = subprocess.run(
            ["sh", "-ec", "\n".join([*shell, last])],
            capture_output=True,
            text=True,
            timeout=command_line.SECONDS,
            check=False,
            env=environment,
        )
        assert gone_on.returncode == 0 and told in gone_on.stdout, gone_on.stdout + gone_on.stderr
    assert made.read_bytes() == (here / "workspace" / "tides.py").read_bytes()
