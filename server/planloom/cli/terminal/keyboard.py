"""Lines typed by a person, read without stopping the event loop and without holding on to the terminal."""

from __future__ import annotations

import asyncio
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

_CHUNK = 65_536


class EndOfInput(Exception):
    """The person closed the input (Ctrl-D), or the terminal went away."""


async def read_line() -> str:
    """The next line that is typed, without its end. Raises EndOfInput.

    The terminal is read unbuffered and only while this waits, so that an editor started in between gets
    its keys, and an interrupted wait leaves no thread behind that swallows the next line.
    """
    descriptor = sys.stdin.fileno()
    loop = asyncio.get_running_loop()
    try:
        data = await _readable(loop, descriptor)
    except NotImplementedError:
        # Event loops of Windows cannot watch a terminal; a thread waits there instead.
        data = await asyncio.to_thread(os.read, descriptor, _CHUNK)
    if not data:
        raise EndOfInput
    return data.decode(sys.stdin.encoding or "utf-8", "replace").rstrip("\r\n")


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
    """Throw away what was typed so far: an answer is an answer only to a question that could be read."""
    try:
        import termios
    except ImportError:
        return
    if sys.stdin.isatty():
        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)


async def edit_text(text: str, suffix: str) -> str | None:
    """The text as the person left it in `$VISUAL` or `$EDITOR`; None if there is no such program or it failed."""
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
