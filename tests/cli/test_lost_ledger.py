"""The command line while the ledger of its running plan is lost: it ends with the reason, and does not wait."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from planloom.storage.ledger import Ledger
from tests.support import command_line
from tests.support.command_line import SECONDS, AtTerminal

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(sys.platform == "win32", reason="An open file cannot be deleted there."),
]
WAITS = "1. Run `echo begun > begun; until [ -e go ]; do sleep 0.1; done`\n2. List files"


def deleted(ledger: Path) -> None:
    for name in (ledger.name, f"{ledger.name}-wal", f"{ledger.name}-shm"):
        ledger.with_name(name).unlink()


def replaced(ledger: Path) -> None:
    other = ledger.with_name("other.sqlite3")
    Ledger(other).close()
    other.replace(ledger)


def flipped(ledger: Path) -> None:
    """Every byte after the first page, of the file and of its log."""
    for path, start in ((ledger, 4096), (ledger.with_name(f"{ledger.name}-wal"), 32)):
        data = bytearray(path.read_bytes())
        data[start:] = bytes(byte ^ 0x55 for byte in data[start:])
        with path.open("r+b") as file:
            file.write(data)


def folder_gone(ledger: Path) -> None:
    shutil.rmtree(ledger.parent)


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    return tmp_path


def environment(machine: Path) -> dict[str, str]:
    return {
        "PLANLOOM_STORAGE_PATH": str(machine / "state"),
        "PLANLOOM_MODEL_PROVIDER": "embedded",
        "PLANLOOM_CONFIG": str(machine / "settings.json"),
    }


@contextmanager
def running(machine: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A command whose first step waits for the file `go`, once that step runs."""
    words = command_line.command(machine, [*arguments, "-w", str(machine / "work")], None)
    with subprocess.Popen(
        words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=machine,
        env=command_line.environment(**environment(machine)),
    ) as process:
        assert process.stdout is not None
        try:
            lines = iter(process.stdout.readline, "")
            assert any(json.loads(line).get("type") == "tool_started" for line in lines)
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("spoil", [deleted, replaced, folder_gone])
def test_a_run_whose_ledger_is_lost_ends_with_the_reason(
    machine: Path, spoil: Callable[[Path], None]
) -> None:
    arguments = ("run", WAITS, "--yes", "--yes-commands", "--json")
    with running(machine, *arguments) as process:
        spoil(machine / "state" / "ledger.sqlite3")
        out, err = process.communicate(timeout=SECONDS)
    assert process.returncode == 1
    result = json.loads(out.splitlines()[-1])
    assert result["exitCode"] == 1 and result["error"]["code"] == "storage_failed"
    message = result["error"]["message"]
    assert str(machine / "state") in message and " ".join(err.split()).count(message) == 1


def test_a_run_whose_ledger_is_damaged_ends_by_itself(machine: Path) -> None:
    with running(machine, "run", WAITS, "--yes", "--yes-commands", "--json") as process:
        flipped(machine / "state" / "ledger.sqlite3")
        # SQLite finds damage only where it reads, so that the plan may run to its end.
        (machine / "work" / "go").touch()
        out, _ = process.communicate(timeout=SECONDS)
    result = json.loads(out.splitlines()[-1])
    assert process.returncode == result["exitCode"]
    assert result["exitCode"] == 0 or result["error"]["code"] == "storage_failed"


def test_a_question_at_the_terminal_ends_when_the_ledger_is_lost(machine: Path) -> None:
    words = ["run", "1. Run `echo a`\n2. List files", "-w", str(machine / "work")]
    words += ["--set", "approvals.plan=none"]
    person = AtTerminal(machine, words, None, **environment(machine))
    person.type("y")
    person.wait_for("[y]")
    deleted(machine / "state" / "ledger.sqlite3")
    ended = person.finish()
    assert ended.code == 1 and "was deleted or replaced while the server ran" in " ".join(ended.out.split())
