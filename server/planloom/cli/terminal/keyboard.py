"""Reads lines from the terminal without blocking the event loop, and only while a question is open."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from planloom.cli.terminal.decisions import Leave

_CHUNK = 65_536
_ESCAPE = "\x1b"
_KEY = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|O.)")
"""What an arrow or another such key sends."""
_EDITORS = ("sensible-editor", "nano", "vi", "notepad")
"""The editors that are tried where the person has named none."""


class EndOfInput(Leave):
    """The person closed the input (Ctrl-D), or the terminal is gone."""


class EditorFailed(Exception):
    """No text came from the editor, in a sentence."""


async def read_line(at_escape: Callable[[], None] = lambda: None) -> str:
    """The next typed line, without its line end. Raises EndOfInput. Calls `at_escape` at each Esc.

    The terminal is read unbuffered and only while this waits. So an editor that is started in between gets its keys,
    and a cancelled wait leaves no thread behind that reads the next line.
    """
    typed = await _read()
    while typed.endswith(_ESCAPE):
        if rest := _rest_of_key():
            typed += rest
        else:
            typed = typed.removesuffix(_ESCAPE)
            at_escape()
        if not typed.endswith("\n"):
            typed += await _read()
    return _KEY.sub("", typed.rstrip("\r\n"))


async def _read() -> str:
    """What the terminal passes on next: a line, or its beginning. Raises EndOfInput."""
    descriptor = sys.stdin.fileno()
    loop = asyncio.get_running_loop()
    try:
        data = await _readable(loop, descriptor)
    except NotImplementedError:
        # The event loops of Windows cannot watch a terminal, so a thread waits there.
        data = await asyncio.to_thread(os.read, descriptor, _CHUNK)
    if not data:
        raise EndOfInput
    return _decoded(data)


def _decoded(data: bytes) -> str:
    return data.decode(sys.stdin.encoding or "utf-8", "replace")


async def read_while_running() -> str:
    """A line that is typed while nothing is asked; none ever comes where none can be read. Raises EndOfInput.

    Esc is as Ctrl-C, where the terminal passes it on.

    A process in the background must not read, or the terminal stops it. On Windows a thread that waits for a line
    would take the answer to the next question.
    """
    if sys.platform == "win32" or _is_in_background():
        await asyncio.Event().wait()
    return await read_line(lambda: signal.raise_signal(signal.SIGINT))


def passing_on_escape() -> contextlib.AbstractContextManager[None]:
    """Have the terminal pass on what was typed at Esc, as at the end of a line. Does nothing without a terminal."""
    return _with_line_end(_ESCAPE.encode())


@contextlib.contextmanager
def _with_line_end(character: bytes) -> Iterator[None]:
    """Let lines end by this character, too; nothing changes where there is no terminal that could."""
    if sys.platform == "win32":
        yield
        return
    import termios

    try:
        before = termios.tcgetattr(sys.stdin.fileno())
    except (OSError, ValueError, termios.error):
        yield
        return
    _set(termios.ICANON, VEOL=character)
    try:
        yield
    finally:
        with contextlib.suppress(OSError, termios.error):
            termios.tcsetattr(sys.stdin.fileno(), termios.TCSANOW, before)


def _set(is_canonical: int, **characters: bytes | int) -> None:
    """Set special characters of the terminal, and whether it passes on whole lines."""
    if sys.platform == "win32":
        raise AssertionError("its terminals pass on no Esc")
    import termios

    descriptor = sys.stdin.fileno()
    changed = termios.tcgetattr(descriptor)
    changed[3] = changed[3] & ~termios.ICANON | is_canonical
    changed[6] = [*changed[6]]
    for name, character in characters.items():
        changed[6][getattr(termios, name)] = character
    termios.tcsetattr(descriptor, termios.TCSANOW, changed)


def _rest_of_key() -> str:
    """What came after an Esc at once: a key such as an arrow sends more."""
    if sys.platform == "win32":
        raise AssertionError("its terminals pass on no Esc")
    import termios

    _set(0, VMIN=0, VTIME=1)
    rest = os.read(sys.stdin.fileno(), _CHUNK)
    _set(termios.ICANON, VEOL=_ESCAPE.encode())
    return _decoded(rest)


def _is_in_background() -> bool:
    if sys.platform == "win32":
        return False
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
    if sys.platform == "win32":
        return
    import termios

    if sys.stdin.isatty():
        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)


async def edit_text(text: str, suffix: str) -> str:
    """The text as the person edited it in their editor. Raises EditorFailed."""
    if (command := editor_command()) is None:
        raise EditorFailed("There is no editor: set EDITOR to one.")
    # Ctrl-C is for the editor; an ignored signal would be ignored there, too.
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        with _with_line_end(b"\0"):
            return await asyncio.to_thread(_edit_text, command, text, suffix)
    finally:
        signal.signal(signal.SIGINT, before)


def editor_command() -> list[str] | None:
    """The command of `$VISUAL` or `$EDITOR`, else of an editor that is there."""
    chosen = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if chosen:
        return shlex.split(chosen, posix=os.name == "posix")
    found = next(filter(None, map(shutil.which, _EDITORS)), None)
    return None if found is None else [found]


def _edit_text(command: list[str], text: str, suffix: str) -> str:
    folder = Path(tempfile.mkdtemp(prefix="planloom-"))
    path = folder / f"text{suffix}"
    path.write_bytes(text.encode())
    try:
        finished = subprocess.run([*command, str(path)], check=False)
        # Line ends stay as they are.
        edited = path.read_bytes().decode()
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise EditorFailed(f"{command[0]} cannot be started: set EDITOR to an editor.") from error
    except UnicodeDecodeError as error:
        raise EditorFailed(f"The text is not UTF-8. It is kept in {path}.") from error
    if finished.returncode != 0:
        raise EditorFailed(f"The editor did not end well. The text is kept in {path}.")
    shutil.rmtree(folder, ignore_errors=True)
    return edited
