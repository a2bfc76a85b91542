"""Processes as a user starts them: their keys cannot be read by a command, and a folder's modules are not imported."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import command_line

pytestmark = pytest.mark.process

UNSHARE = shutil.which("unshare")
AS_USER = (str(UNSHARE), "-U", "--map-user=1000", "--map-group=1000")
"""Root may read every process; in a namespace of its own it is an ordinary user."""


def can_be_a_user() -> bool:
    if UNSHARE is None or not sys.platform.startswith("linux"):
        return False
    return subprocess.run([*AS_USER, "true"], capture_output=True, check=False).returncode == 0


@pytest.mark.skipif(not can_be_a_user(), reason="no user namespaces")
def test_a_command_cannot_read_the_keys_of_its_parents(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    # The command looks into the server, its parent, and into the command line, the parent of that.
    (work / "look.sh").write_text(
        "for pid in $PPID $(cut -d ' ' -f 4 /proc/$PPID/stat); do\n"
        "  tr '\\0' '\\n' < /proc/$pid/environ | grep CANARY\n"
        "done\necho looked\n"
    )
    arguments = ["run", "--yes", "--yes-commands", "--json", "--provider", "embedded", "-w", str(work)]
    done = subprocess.run(
        [*AS_USER, *command_line.command(tmp_path, [*arguments, "run `sh look.sh`"], None)],
        cwd=work,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env=command_line.environment(
            OPENAI_API_KEY="sk-CANARY-1",
            HOME=str(tmp_path),
            XDG_STATE_HOME=str(tmp_path / "state"),
            XDG_CONFIG_HOME=str(tmp_path / "config"),
        ),
    )
    ended = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    output = json.dumps(ended)
    assert "looked" in output, done.stderr
    assert "CANARY" not in output


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux shows the environment")
def test_a_key_is_taken_out_of_the_memory_that_the_process_started_with() -> None:
    code = (
        "import os, sys\n"
        "from planloom.private_process import forget_variables\n"
        "forget_variables(['FIRST_KEY', 'ABSENT_KEY', 'LAST_KEY'])\n"
        "print(open('/proc/self/environ', 'rb').read().replace(b'\\0', b' '), sorted(os.environ))\n"
    )
    variables = {"FIRST_KEY": "CANARY-1", "A_FIRST_KEY": "kept", "LAST_KEY": "CANARY-2"}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=30, check=True)
    assert "CANARY" not in done.stdout and "A_FIRST_KEY=kept" in done.stdout
    assert "['A_FIRST_KEY'" in done.stdout and "'LAST_KEY'" not in done.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="the working folder cannot be removed there")
def test_it_starts_in_a_working_folder_that_is_gone(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    start = 'rmdir "$PWD" && exec "$0" -m planloom --version'
    done = subprocess.run(
        ["/bin/sh", "-c", start, sys.executable],
        cwd=work,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "") and done.stdout.startswith("planloom ")


@pytest.mark.parametrize("arguments", [["--version"], ["doctor", "--provider", "embedded"]])
def test_python_m_imports_nothing_from_the_working_folder(tmp_path: Path, arguments: list[str]) -> None:
    work = tmp_path / "work"
    work.mkdir()
    needed = [sys.executable, "-I", "-c", "import runpy, importlib.util, sys; print(*sys.modules)"]
    of_python = subprocess.run(needed, capture_output=True, text=True, check=True).stdout.split()
    # What Python itself imports for `-m` comes before any code of Planloom.
    for name in {*sys.stdlib_module_names, "rich", "pygls", "pydantic"}.difference(of_python):
        (work / f"{name}.py").write_text(
            f"open({str(tmp_path / 'ran')!r}, 'w')\nraise SystemExit('hijacked')\n"
        )
    done = subprocess.run(
        [sys.executable, "-m", "planloom", *arguments],
        cwd=work,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env=command_line.environment(
            HOME=str(tmp_path),
            XDG_STATE_HOME=str(tmp_path / "state"),
            XDG_CONFIG_HOME=str(tmp_path / "config"),
        ),
    )
    assert "hijacked" not in done.stdout + done.stderr and not (tmp_path / "ran").exists()
