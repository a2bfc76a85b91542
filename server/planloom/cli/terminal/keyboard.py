"""Reads lines from the terminal without blocking the event loop, and only while a question is open."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from planloom.cli.terminal.decisions import Leave

_CHUNK = 65_536
_EDITORS = ("sensible-editor", "nano", "vi", "notepad")
"""The editors that are tried where the person has named none."""


class EndOfInput(Leave):
    """The person closed the input (Ctrl-D), or the terminal is gone."""


async def read_line() -> str:
    """The next typed line, without its line end. Raises EndOfInput.

    The terminal is read unbuffered and only while this waits. So an editor that is started in between gets its keys,
    and a cancelled wait leaves no thread behind that reads the next line.
    """
    descriptor = sys.stdin.fileno()
    loop = asyncio.get_running_loop()
    try:
        data = await _readable(loop, descriptor)
    except NotImplementedError:
        # The event loops of Windows cannot watch a terminal, so a thread waits there.
        data = await asyncio.to_thread(os.read, descriptor, _CHUNK)
    if not data:
        raise EndOfInput
    return data.decode(sys.stdin.encoding or "utf-8", "replace").rstrip("\r\n")


async def read_while_running() -> str:
    """A line that is typed while nothing is asked; none ever comes where none can be read. Raises EndOfInput.

    A process in the background must not read, or the terminal stops it. On Windows a thread that waits for a line
    would take the answer to the next question.
    """
    if sys.platform == "win32" or _is_in_background():
        await asyncio.Event().wait()
    return await read_line()


def _is_in_background() -> bool:
    try:
        return os.tcgetpgrp(sys.stdin.fileno()) != os.getpgrp()
    except OSError:
        # It is not the terminal that controls this process, which therefore stops nothing.
        return False


async def _readable(loop: asyncio.AbstractEventLoop, descriptor: int) -> bytes:
    ready = asyncio.Event()
    loop.add_reader(descriptor, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(descriptor)
    try:
        return os.read(descriptor, _CHUNK)
    except OSError:
        return b""


def forget_typed() -> None:
    """Discard what was typed before the question was shown, so that it does not count as an answer."""
    try:
        import termios
    except ImportError:
        return
    if sys.stdin.isatty():
        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)


async def edit_text(text: str, suffix: str) -> str | None:
    """The text as the person edited it in their editor; None if there is none, or it failed: the text is kept then."""
    if (command := _editor()) is None:
        return None
    # Ctrl-C is for the editor; an ignored signal would be ignored there, too.
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        return await asyncio.to_thread(_edit_text, command, text, suffix)
    finally:
        signal.signal(signal.SIGINT, before)


def _editor() -> list[str] | None:
    """The command of `$VISUAL` or `$EDITOR`, else of an editor that is there."""
    chosen = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if chosen:
        return shlex.split(chosen, posix=os.name == "posix")
    found = next(filter(None, map(shutil.which, _EDITORS)), None)
    return None if found is None else [found]


def _edit_text(command: list[str], text: str, suffix: str) -> str | None:
    folder = Path(tempfile.mkdtemp(prefix="planloom-"))
    path = folder / f"text{suffix}"
    path.write_text(text, encoding="utf-8", newline="")
    try:
        finished = subprocess.run([*command, str(path)], check=False)
        edited = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    if finished.returncode != 0:
        return None
    shutil.rmtree(folder, ignore_errors=True)
    return edited
