"""The command line as a process of its own, with or without a terminal, against the real or a scripted server."""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tests.support.warm_server import SUPPORTED, shared

_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
SECONDS = 60.0
"""A process that takes longer than this hangs."""

_WITH_SCRIPT = (
    "import sys; from planloom.cli.app import main; "
    "sys.exit(main(sys.argv[3:], server_command=[sys.executable, '-I', {fake!r}, sys.argv[1], sys.argv[2]]))"
)
FAKE = str(Path(__file__).with_name("fake_server.py"))


class Finished(NamedTuple):
    """How a process ended; `sent` is what a scripted server received, in order."""

    code: int
    out: str
    err: str
    sent: tuple[dict[str, Any], ...] = ()

    def params(self, method: str) -> list[Any]:
        """The params of every message of this method that the server received."""
        return [message.get("params") for message in self.sent if message.get("method") == method]


_TRUSTING = ("run", "plan", "resume", "undo")
"""The commands that ask whether the folder is trusted."""


def command(
    folder: Path, arguments: Sequence[str], script: Mapping[str, Any] | None, *, trust: bool = True
) -> list[str]:
    """The command for a process; the files of a scripted server go into `folder`.

    With `trust` the folder is trusted in that run, so that no test but those of trust is asked about it.
    """
    arguments = _trusting(arguments, trust)
    if script is None:
        return [sys.executable, "-I", "-m", "planloom", *arguments]
    (folder / "script.json").write_text(json.dumps(script))
    code = _WITH_SCRIPT.format(fake=FAKE)
    return [
        sys.executable,
        "-I",
        "-c",
        code,
        str(folder / "script.json"),
        str(folder / "sent.jsonl"),
        *arguments,
    ]


def _trusting(arguments: Sequence[str], trust: bool) -> Sequence[str]:
    if trust and arguments[:1] and arguments[0] in _TRUSTING:
        return [arguments[0], "--trust", *arguments[1:]]
    return arguments


def _server_command(folder: Path, script: Mapping[str, Any] | None) -> list[str] | None:
    """The command of a scripted server, whose files go into `folder`."""
    if script is None:
        return None
    (folder / "script.json").write_text(json.dumps(script))
    return [sys.executable, "-I", FAKE, str(folder / "script.json"), str(folder / "sent.jsonl")]


def environment(**more: str) -> dict[str, str]:
    """The environment of a process: wide, plain, and without what the person running the tests has set."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(("PLANLOOM", "OPENAI"))}
    return own | {"COLUMNS": "100", "LINES": "50", "TERM": "xterm-256color", "NO_COLOR": "1"} | more


def run(
    folder: Path,
    arguments: Sequence[str],
    script: Mapping[str, Any] | None = None,
    typed: str | None = None,
    *,
    trust: bool = True,
    cold: bool = False,
    **more: str,
) -> Finished:
    """Run the command line without a terminal; `cold` as a person starts it, and not forked."""
    if SUPPORTED and not cold:
        with (
            tempfile.TemporaryFile() as stdin,
            tempfile.TemporaryFile() as out,
            tempfile.TemporaryFile() as err,
        ):
            stdin.write((typed or "").encode())
            stdin.seek(0)
            streams = (stdin.fileno(), out.fileno(), err.fileno())
            started = shared().command(
                _trusting(arguments, trust),
                environment(**more),
                folder,
                streams,
                _server_command(folder, script),
            )
            code = started.wait(SECONDS)
            texts = [os.pread(each, 1 << 26, 0).decode().replace("\r\n", "\n") for each in streams[1:]]
            return Finished(code, texts[0], texts[1], _sent(folder))
    done = subprocess.run(
        command(folder, arguments, script, trust=trust),
        input=typed,
        stdin=subprocess.DEVNULL if typed is None else None,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=SECONDS,
        cwd=folder,
        env=environment(**more),
        check=False,
    )
    return Finished(done.returncode, done.stdout, done.stderr, _sent(folder))


class AtTerminal:
    """The command line at a terminal: `wait_for` a text, then `type` an answer."""

    def __init__(
        self,
        folder: Path,
        arguments: Sequence[str],
        script: Mapping[str, Any] | None = None,
        *,
        trust: bool = True,
        **more: str,
    ) -> None:
        import pty

        self._folder = folder
        self._screen, terminal = pty.openpty()
        self._process = shared().command(
            _trusting(arguments, trust),
            environment(**more),
            folder,
            (terminal, terminal, terminal),
            _server_command(folder, script),
        )
        os.close(terminal)
        self._raw = b""
        self._seen = ""
        self._read_to = 0
        self._ended = False

    def wait_for(self, text: str) -> None:
        """Wait until the text has come since the last answer."""
        deadline = time.monotonic() + SECONDS
        while text not in self._seen[self._read_to :]:
            if not self._more(deadline):
                raise AssertionError(f"never saw {text!r} in:\n{self._seen}")
        self._read_to = self._seen.index(text, self._read_to) + len(text)

    def type(self, text: str, after: str = "> ") -> None:
        """Type a line, once the prompt for it is there."""
        self.wait_for(after)
        os.write(self._screen, f"{text}\n".encode())

    def press(self, keys: str) -> None:
        """Press keys that end no line."""
        os.write(self._screen, keys.encode())

    @property
    def seen(self) -> str:
        """What has been shown, up to what was last waited for."""
        return self._seen[: self._read_to]

    def end_input(self, after: str = "> ") -> None:
        """Press Ctrl-D, once the prompt for it is there."""
        self.wait_for(after)
        os.write(self._screen, b"\x04")

    def interrupt(self, number: signal.Signals = signal.SIGINT) -> None:
        """Press Ctrl-C, or send another signal."""
        os.killpg(self._process.pid, number)

    def hang_up(self) -> None:
        """Close the terminal."""
        os.close(self._screen)
        self._screen = -1

    def finish(self) -> Finished:
        """Wait for the end."""
        deadline = time.monotonic() + SECONDS
        while self._screen >= 0 and self._more(deadline):
            pass
        code = self._process.wait(max(deadline - time.monotonic(), 0.1))
        self._ended = True
        return Finished(code, self._seen, "", _sent(self._folder))

    def close(self) -> None:
        """End the process if it is still there."""
        if not self._ended:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(SECONDS)
        if self._screen >= 0:
            os.close(self._screen)

    def _more(self, deadline: float) -> bool:
        ready, _, _ = select.select([self._screen], [], [], max(deadline - time.monotonic(), 0))
        if not ready:
            raise AssertionError(f"nothing more came after:\n{self._seen}")
        try:
            data = os.read(self._screen, 65536)
        except OSError:
            # Linux reports the end of a terminal as an error.
            return False
        self._raw += data
        self._seen = _CONTROL.sub("", self._raw.decode("utf-8", "replace")).replace("\r\n", "\n")
        return bool(data)


def editor(folder: Path, *scripts: str) -> str:
    """The command of an editor that runs each of these lines of Python once, in turn; `text` is what it edits."""
    program = folder / "my editor.py"
    cases = "".join(
        f"if turn == {number}:\n    {line}\n" for number, line in enumerate((*scripts, scripts[-1]))
    )
    program.write_text(
        "import pathlib, sys\n"
        "path, count = pathlib.Path(sys.argv[1]), pathlib.Path(__file__ + '.count')\n"
        "turn = int(count.read_text()) if count.exists() else 0\n"
        "count.write_text(str(turn + 1))\n"
        f"text = path.read_text()\n{cases}path.write_text(text)\n"
    )
    return f"{sys.executable} '{program}'"


def _sent(folder: Path) -> tuple[dict[str, Any], ...]:
    path = folder / "sent.jsonl"
    return tuple(json.loads(line) for line in path.read_text().splitlines()) if path.exists() else ()
