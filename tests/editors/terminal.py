"""A program in a real terminal (tmux): keys go in, screens come out."""

from __future__ import annotations

import re
import subprocess
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

SECONDS = 40.0
"""How long a screen may take to show something, on a busy machine."""
_LOOK_SECONDS = 0.05


class Terminal:
    """One program in a terminal. `screens` is a folder that keeps each screen that a test has named."""

    def __init__(self, screens: Path) -> None:
        self.screens = screens
        self._name = ""
        self._abandoned: list[str] = []

    def start(
        self, argv: Sequence[str], cwd: Path, env: Mapping[str, str], size: tuple[int, int] = (120, 45)
    ) -> None:
        """Start the program with this environment and a variable that names the terminal, of columns and lines."""
        self._name = f"planloom-{uuid.uuid4().hex}"
        variables = [f"{name}={value}" for name, value in {**env, "PLANLOOM_TERMINAL": self._name}.items()]
        command = ["env", "-i", *variables, *argv]
        self._tmux("new-session", "-d", "-x", str(size[0]), "-y", str(size[1]), "-c", str(cwd), *command)

    def keys(self, *keys: str) -> None:
        """Press keys by their names in tmux, such as `Enter` or `C-x`."""
        self._tmux("send-keys", *keys)

    def type(self, text: str) -> None:
        """Type a text as it is."""
        self._tmux("send-keys", "-l", text)

    def screen(self) -> str:
        """What is to be seen now; nothing once the program has ended."""
        return self._tmux("capture-pane", "-p", check=False)

    def drawn(self) -> tuple[tuple[str, ...], tuple[int, int] | None]:
        """The screen's lines with the escape sequences of their colours, and the caret's column and line if shown."""
        caret = "#{cursor_flag} #{cursor_x} #{cursor_y}"
        shown = self._tmux("capture-pane", "-e", "-p", ";", "display-message", "-p", caret)
        *lines, last = shown.splitlines()
        flag, column, line = map(int, last.split())
        return tuple(lines), (column, line) if flag else None

    def until(self, *parts: str) -> str:
        """The first screen that shows all of the parts; blanks and line ends between words do not count."""
        return self.until_true(lambda shown: all(_plain(part) in _plain(shown) for part in parts), parts)

    def until_true(self, holds: Callable[[str], bool], wanted: object = "") -> str:
        """The first screen for which `holds`. Fails with the last screen."""
        end = time.monotonic() + SECONDS
        while not holds(shown := self.screen()):
            assert time.monotonic() < end, f"the screen never showed {wanted}:\n{shown}"
            time.sleep(_LOOK_SECONDS)
        return shown

    def keep(self, name: str) -> None:
        """Keep the screen under a name, to be looked at."""
        self.screens.mkdir(parents=True, exist_ok=True)
        (self.screens / f"{name}.txt").write_text(self.screen())

    def abandon(self) -> None:
        """Close the terminal, and wait for nothing; `stop` waits for the end of what it has started."""
        subprocess.run(["tmux", "-L", self._name, "kill-server"], capture_output=True, check=False)
        self._abandoned.append(self._name)

    def stop(self) -> None:
        """End the program with its terminal, and wait for the end of all that was started in it and in earlier ones."""
        self.abandon()
        end = time.monotonic() + SECONDS
        while left := [
            path.parent.name for path in Path("/proc").glob("[0-9]*/environ") if self._started(path)
        ]:
            assert time.monotonic() < end, f"processes are left behind: {left}"
            time.sleep(_LOOK_SECONDS)

    def _started(self, environ: Path) -> bool:
        try:
            variables = environ.read_bytes()
            return any(f"PLANLOOM_TERMINAL={name}\0".encode() in variables for name in self._abandoned)
        except OSError:
            return False

    def _tmux(self, *args: str, check: bool = True) -> str:
        done = subprocess.run(
            ["tmux", "-L", self._name, "-f", "/dev/null", *args], capture_output=True, check=check, text=True
        )
        return done.stdout


def _plain(text: str) -> str:
    return re.sub(r"\s+", "", text)
