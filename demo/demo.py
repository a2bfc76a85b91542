"""A request becomes a plan, and the plan edits, on a sample workspace without a model: the demo presses the keys."""

from __future__ import annotations

import os
import pty
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from shlex import quote

HERE = Path(__file__).parent
BIN = Path(sys.executable).parent
QUESTION = re.compile(rb"\n(?:\x1b\[[\d;]*m)*> (?:\x1b\[0m)?$")
"""The end of what is shown while the program waits for an answer."""
MOST_ANSWERS = 10
CTRL_D = b"\x04"


def main() -> int:
    place = Path(tempfile.mkdtemp(prefix="planloom-demo-"))
    workspace, state = place / "tides", place / "state"
    # The demo keeps its plans to itself: the ledger of the person who runs it stays as it is.
    kept = {"PLANLOOM_STORAGE_PATH": str(state)}
    if not sys.stdout.isatty():
        kept["TERM"] = "dumb"
    shutil.copytree(HERE / "workspace", workspace)

    request = (HERE / "request.txt").read_text(encoding="utf-8")
    print("A request for a small program. The demo presses the keys that stand after “>”.")
    print(f'{request}$ planloom run --trust "$(cat request.txt)"', flush=True)
    code, _ = play([sys.executable, "-I", "-m", "planloom", "run", "--trust", request], workspace, kept)
    print("$ python tides.py atlantis", flush=True)
    program = [sys.executable, "tides.py", "atlantis"]
    subprocess.run(program, cwd=workspace, stderr=subprocess.STDOUT, check=False)
    print(
        "To go on yourself, in this shell:\n"
        f"cd {quote(str(workspace))}\n"
        f"export PLANLOOM_STORAGE_PATH={quote(str(state))} PATH={quote(str(BIN))}:$PATH\n"
        "planloom undo"
    )
    return code


def play(command: Sequence[str], folder: Path, variables: Mapping[str, str]) -> tuple[int, str]:
    """Run a command in a terminal of its own and say yes to each question; the exit code, and what was shown."""
    size = shutil.get_terminal_size((100, 40))
    child, screen = pty.fork()
    if child == 0:
        os.chdir(folder)
        shape = {"COLUMNS": str(size.columns), "LINES": str(size.lines)}
        os.execvpe(command[0], command, {**os.environ, **shape, **variables})
    shown, answers = b"", 0
    while data := _read(screen):
        shown += data
        sys.stdout.buffer.write(data)
        sys.stdout.flush()
        if QUESTION.search(shown):
            answers += 1
            os.write(screen, b"y\n" if answers < MOST_ANSWERS else CTRL_D)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), shown.decode()


def _read(screen: int) -> bytes:
    try:
        return os.read(screen, 65536)
    except OSError:
        # Linux reports the end of a terminal as an error.
        return b""


if __name__ == "__main__":
    sys.exit(main())
