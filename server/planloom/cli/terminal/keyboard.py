"""Reads lines from the terminal without blocking the event loop, and only while a question is open."""

from __future__ import annotations

import asyncio
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from planloom.cli.terminal.decisions import Leave

_CHUNK = 65_536


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
    """The text as the person edited it in `$VISUAL` or `$EDITOR`; None if neither is set or the editor failed."""
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if not editor:
        return None
    return await asyncio.to_thread(_edit_text, shlex.split(editor), text, suffix)


def _edit_text(command: list[str], text: str, suffix: str) -> str | None:
    with tempfile.TemporaryDirectory(prefix="planloom-") as folder:
        path = Path(folder) / f"text{suffix}"
        path.write_text(text, encoding="utf-8", newline="")
        try:
            finished = subprocess.run([*command, str(path)], check=False)
        except OSError:
            return None
        return path.read_text(encoding="utf-8") if finished.returncode == 0 else None
