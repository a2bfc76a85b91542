"""Runs child processes, each in its own group, without input, with limits on time and captured output."""

from __future__ import annotations

import asyncio
import codecs
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, Literal, NamedTuple, Protocol

from planloom.domain.safety.command_needs import Lack
from planloom.shielded import uninterrupted
from planloom.tools.confinement.confined_command import Confined, Prepared, most_memory, prepared
from planloom.tools.confinement.windows import Job
from planloom.tools.terminal_text import Cleaner, plain
from planloom.workspace.disk import Folder, entered

Kind = Literal["stdout", "stderr"]
OnOutput = Callable[[Kind, str], None]
"""Called with output as it arrives, without escape sequences; a flood of output is passed on only in part."""

_BASH: Final = ("/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash")
_READER_ENDED: Final = 128 + 13
"""The exit code of a shell whose pipeline had a writer that SIGPIPE ended."""
HEAD_BYTES: Final = 4_000
TAIL_BYTES: Final = 12_000
"""How much of the output's beginning, and of its end, is kept in memory and shown."""
_FORCE: Final[signal.Signals] = getattr(signal, "SIGKILL", signal.SIGTERM)
_LIVE_BYTES: Final = 8_000
_LIVE_SECONDS: Final = 1 / 20
_GRACE_SECONDS: Final = 0.7
"""How long a process group may take to end after SIGTERM."""
_SUPERVISED_SECONDS: Final = 5.0
"""How long a supervisor may take, which gives the command less than that: it has to end all that it has started."""
_DRAIN_SECONDS: Final = 0.3
"""How long remaining processes of the group may go on writing after the process has ended."""


class Launch(NamedTuple):
    """A program to start, and where. With `confined` it is held to that, and all that it has started ends with it."""

    argv: Sequence[str]
    cwd: Folder
    env: Mapping[str, str]
    confined: Confined | None = None


class ProcessResult(NamedTuple):
    """How a process ended; `code` is None if a signal ended it or it never started.

    `output` is both streams in order of arrival, without the middle if it was long. `problem` says why the process
    could not start. `lacked` is what it did not get and seems to have failed for want of.
    `note` stands behind the output for whoever reads it, and is no part of it.
    """

    code: int | None
    signal: int | None = None
    timed_out: bool = False
    output: str = ""
    problem: str | None = None
    lacked: Lack | None = None
    note: str = ""


def shell_argv(command: str) -> tuple[str, ...]:
    """The arguments that run a command in the system's shell, by the shell's absolute path.

    Where there is a bash, a pipeline ends with the last exit code in it that is not 0.
    """
    if sys.platform == "win32":
        return (os.environ.get("COMSPEC", r"C:\Windows\System32\cmd.exe"), "/d", "/s", "/c", command)
    bash = next((path for path in _BASH if os.access(path, os.X_OK)), None)
    return ("/bin/sh", "-c", command) if bash is None else (bash, "-o", "pipefail", "-c", command)


class Capture:
    """The beginning and the end of a stream of bytes, in bounded memory."""

    def __init__(self, head: int = HEAD_BYTES, tail: int = TAIL_BYTES) -> None:
        self._head_limit = head
        self._tail_limit = tail
        self._head = bytearray()
        self._tail = bytearray()
        self.total = 0

    def add(self, data: bytes) -> None:
        """Append data."""
        self.total += len(data)
        room = self._head_limit - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        if len(data) >= self._tail_limit:
            self._tail[:] = data[-self._tail_limit :]
        elif data:
            self._tail += data
            if len(self._tail) > 2 * self._tail_limit:
                del self._tail[: -self._tail_limit]

    @property
    def left_out(self) -> int:
        """How many bytes of the middle were dropped."""
        return max(0, self.total - len(self._head) - min(len(self._tail), self._tail_limit))

    def raw(self) -> bytes:
        """The beginning and the end as they are; the whole stream if nothing was left out."""
        return bytes(self._head + self._tail[-self._tail_limit :])

    def parts(self) -> tuple[bytes, int, bytes]:
        """The beginning, how many bytes after it are left out, and the end; both cut at line ends where possible."""
        head, tail = bytes(self._head), bytes(self._tail[-self._tail_limit :])
        if not self.left_out:
            return head + tail, 0, b""
        head = head[: head.rfind(b"\n") + 1] or head
        tail = tail[tail.find(b"\n") + 1 :] if b"\n" in tail[:-1] else tail
        return head, self.total - len(head) - len(tail), tail

    def text(self) -> str:
        """The clean text, with a line that says how much was left out."""
        head, missing, tail = self.parts()
        before, after = (plain(part.decode("utf-8", "replace")) for part in (head, tail))
        if not missing:
            return before
        return f"{before.rstrip()}\n[… {missing} bytes left out, which are not kept: print less to see them …]\n{after}"


class Output(Protocol):
    """Keeps what a process prints."""

    def add(self, data: bytes) -> None:
        """Append what was printed to either stream."""
        ...


class _Live:
    """Passes on output as it arrives, rate-limited, and reports how much was skipped."""

    def __init__(self, kind: Kind, on_output: OnOutput | None) -> None:
        self._kind: Kind = kind
        self._on_output = on_output
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._cleaner = Cleaner()
        self._quiet_until = 0.0
        self._budget = _LIVE_BYTES
        self._skipped = 0

    def add(self, data: bytes, *, last: bool = False) -> None:
        if self._on_output is None:
            return
        now = asyncio.get_running_loop().time()
        if now >= self._quiet_until:
            self._quiet_until = now + _LIVE_SECONDS
            self._budget = _LIVE_BYTES
        shown, rest = data[: self._budget], len(data) - self._budget
        self._budget -= len(shown)
        text = self._cleaner.clean(self._decoder.decode(shown, final=last), last=last)
        if self._skipped and shown:
            text = f"\n[… {self._skipped} bytes not shown …]\n{text}"
            self._skipped = 0
        self._skipped += max(0, rest)
        if last and self._skipped:
            text += f"\n[… {self._skipped} bytes not shown …]\n"
        if text:
            self._on_output(self._kind, text)


class ChildProcess(asyncio.SubprocessProtocol):
    """A process in its own group, from `start` to `end`; `output` gets both streams in order of arrival."""

    def __init__(self, output: Output, on_output: OnOutput | None = None) -> None:
        self._output = output
        self._prepared: Prepared | None = None
        self._job: Job | None = None
        self._exited = asyncio.Event()
        self._drained = asyncio.Event()
        self._live = {1: _Live("stdout", on_output), 2: _Live("stderr", on_output)}
        self._open = 2
        self._transport: asyncio.SubprocessTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.SubprocessTransport)
        self._transport = transport

    def pipe_data_received(self, fd: int, data: bytes | str) -> None:
        assert isinstance(data, bytes)
        self._output.add(data)
        self._live[fd].add(data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:  # noqa: ARG002
        self._live[fd].add(b"", last=True)
        self._open -= 1
        if not self._open:
            self._drained.set()

    def process_exited(self) -> None:
        self._exited.set()

    async def start(self, launch: Launch) -> str | None:
        """Start the program. Returns why it could not be started; after a cancellation it may run all the same."""
        try:
            # A cancellation during the start would leave the group running, and asyncio waiting for it.
            await uninterrupted(self._start(launch))
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            return f"{launch.argv[0]} cannot be started: {reason}."
        return None

    async def _start(self, launch: Launch) -> None:
        argv, cwd, env, confined = launch
        ready = Prepared(tuple(argv), dict(env))
        if confined is not None:
            ready = await asyncio.to_thread(prepared, argv, cwd.path, env, confined)
        self._prepared = ready
        try:
            with entered(cwd) as place:
                await asyncio.get_running_loop().subprocess_exec(
                    lambda: self,
                    *ready.argv,
                    cwd=place,
                    env=ready.environment,
                    stdin=subprocess.DEVNULL,
                    pass_fds=ready.inherited,
                    **_own_group(),
                )
            if confined is not None:
                self._job = Job(confined.memory_bytes or most_memory(), confined.processes)
                self._job.add(self.pid)
        finally:
            ready.started()

    @property
    def pid(self) -> int:
        """The id of the process, and of its group. It must have been started."""
        assert self._transport is not None
        return self._transport.get_pid()

    @property
    def code(self) -> int | None:
        """The exit code, negative for the signal that ended it; None while it runs, or if it never started."""
        return None if self._transport is None else self._transport.get_returncode()

    async def ended(self) -> None:
        """Wait until the process has ended by itself."""
        await self._exited.wait()

    async def end(self) -> None:
        """End the group with SIGTERM, then SIGKILL. A cancellation meanwhile only shortens the wait."""
        try:
            await self._end_group()
        finally:
            if self._job is not None:
                self._job.close()
            if self._prepared is not None:
                await uninterrupted(asyncio.to_thread(self._prepared.ended))

    async def _end_group(self) -> None:
        transport = self._transport
        if transport is None:
            return
        try:
            if self._exited.is_set():
                await set_within(_DRAIN_SECONDS, self._drained)
            else:
                _signal(transport, signal.SIGTERM)
                is_supervised = self._prepared is not None and self._prepared.policy is not None
                await set_within(_SUPERVISED_SECONDS if is_supervised else _GRACE_SECONDS, self._exited)
        finally:
            # Processes that remain in the group end too, even if the main process ended by itself.
            _signal(transport, _FORCE)
            try:
                await set_within(_GRACE_SECONDS, self._exited)
                await set_within(_DRAIN_SECONDS, self._drained)
            finally:
                # A process outside the group may still have the pipes open.
                transport.close()


async def run_process(
    launch: Launch,
    *,
    timeout_seconds: float,
    on_output: OnOutput | None = None,
    on_start: Callable[[int], None] | None = None,
    capture: Capture | None = None,
) -> ProcessResult:
    """Run a program to its end, then end every other process of its group. `on_start` is called with its id.

    Its output is kept by `capture`.

    Never raises OSError; what `on_start` raises ends the program. A cancellation first ends the whole group, which
    takes at most two seconds.
    """
    capture = capture or Capture()
    child = ChildProcess(capture, on_output)
    timed_out = False
    try:
        problem = await child.start(launch)
        if problem is not None:
            return ProcessResult(code=None, problem=problem)
        if on_start is not None:
            on_start(child.pid)
        async with asyncio.timeout(timeout_seconds):
            await child.ended()
    except TimeoutError:
        timed_out = True
    finally:
        await child.end()
    return result_of(child, await asyncio.to_thread(capture.text), timed_out=timed_out)


def result_of(child: ChildProcess, output: str, *, timed_out: bool) -> ProcessResult:
    """How a process ended that has printed `output`."""
    code = None if timed_out else child.code
    if code == _READER_ENDED:
        # The reader had what it wanted, as in `git log | head -1`.
        code = 0
    return ProcessResult(
        code=code if code is not None and code >= 0 else None,
        signal=-code if code is not None and code < 0 else None,
        timed_out=timed_out,
        output=output,
    )


def _own_group() -> dict[str, Any]:
    if sys.platform == "win32":
        return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    return {"start_new_session": True}


async def set_within(seconds: float, event: asyncio.Event) -> bool:
    """Wait until the event is set, at most for these seconds. Returns whether it is."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
    return event.is_set()


def _signal(transport: asyncio.SubprocessTransport, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        if sys.platform == "win32":
            transport.kill()
        else:
            os.killpg(transport.get_pid(), number)
