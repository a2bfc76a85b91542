"""Starts real servers in a few milliseconds: a process that has imported the server forks one per client.

    with warm_servers() as warm:
        started = warm.start(["--storage", str(folder)], fault=Fault("append", 12, "before"))
        os.kill(started.pid, signal.SIGKILL)

The forked process runs the product's own `main` with `serve --stdio` over real pipes. A `Fault` makes it kill
itself at a chosen moment: methods of the product are wrapped in the forked process alone, and do all they did.
`command` forks a command line in the same way, which in turn forks its server; as processes that import everything
anew they would take ten times as long.
Only Linux and macOS have `fork`; elsewhere `warm_servers` raises NotImplementedError.
"""

from __future__ import annotations

import array
import atexit
import contextlib
import gc
import importlib
import json
import os
import pkgutil
import select
import signal
import socket
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple, NoReturn

from tests.support.compressed_time import CompressedTime

SUPPORTED = sys.platform in ("linux", "darwin")
UNSUPPORTED = "A server that is forked and killed needs a system with fork: Linux or macOS."

Moment = Literal["append", "told", "apply", "disk"]
"""What a fault counts: transactions of the ledger, events sent to the client, `workspace/applyEdit` requests
sent, and files that the server puts in place on disk."""


@dataclass(frozen=True)
class Fault:
    """Kill the server before or after the `nth` moment of a kind; `holding` counts only those with this text."""

    moment: Moment
    nth: int
    when: Literal["before", "after"]
    holding: str = ""


@dataclass(frozen=True)
class LedgerFault:
    """Let the ledger's `nth` statement fail, and those after it for as long as the file `until_removed` exists.

    Statements are counted from the start of the server, those that open the ledger included. A rollback never
    fails. The server makes the file when the fault strikes, unless it is to strike only once (None).
    """

    kind: str
    nth: int
    until_removed: str | None = None


class Started(NamedTuple):
    """A server at work: its process, and the ends of its pipes that are ours."""

    pid: int
    to_server: IO[bytes]
    from_server: IO[bytes]


class Command(NamedTuple):
    """A command line at work: its process, and the end of a pipe into which it writes its exit code."""

    pid: int
    ended: int

    def wait(self, seconds: float) -> int:
        """The exit code; -9 if it was killed. One that hangs is killed, and raises TimeoutError."""
        try:
            if not select.select([self.ended], [], [], seconds)[0]:
                os.killpg(self.pid, signal.SIGKILL)
                raise TimeoutError(f"the command line did not end in {seconds} seconds")
            return int(os.read(self.ended, 9) or -signal.SIGKILL)
        finally:
            os.close(self.ended)


class WarmServers:
    """The process that forks servers, seen from the tests' side."""

    def __init__(self, preload: Path | None) -> None:
        ours, theirs = socket.socketpair()
        command = [sys.executable, "-m", "tests.support.warm_server", str(theirs.fileno())]
        root = Path(__file__).parents[2]
        self._process = subprocess.Popen(
            command,
            pass_fds=[theirs.fileno()],
            cwd=root,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "LD_PRELOAD": str(preload)} if preload else None,
        )
        theirs.close()
        self.records = preload is not None
        self._line = ours
        self._line.settimeout(60)
        if self._line.recv(5) != b"ready":
            raise AssertionError("The process that forks servers did not start.")

    def start(
        self,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        stderr: Path,
        *,
        fault: Fault | None = None,
        apply_seconds: float | None = None,
        ledger_fault: LedgerFault | None = None,
        clock: Path | None = None,
    ) -> Started:
        """Fork `planloom serve --stdio` with these arguments.

        `apply_seconds` is its patience with edits, `clock` the file of the CompressedTime by which it goes.
        If it ends by itself, its exit code stands beside the file `stderr`, with the suffix `.exit`.
        """
        asked = {
            "argv": ["planloom", "serve", "--stdio", *arguments],
            "environment": dict(environment),
            "fault": None if fault is None else asdict(fault),
            "apply_seconds": apply_seconds,
            "ledger_fault": None if ledger_fault is None else asdict(ledger_fault),
            "clock": None if clock is None else str(clock),
            "exit_code": str(stderr.with_suffix(".exit")),
        }
        stdin, to_server = os.pipe()
        from_server, stdout = os.pipe()
        log = os.open(stderr, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            pid = self._fork(asked, [stdin, stdout, log])
        finally:
            for handle in (stdin, stdout, log):
                os.close(handle)
        return Started(pid, os.fdopen(to_server, "wb", 0), os.fdopen(from_server, "rb", 0))

    def command(
        self,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        folder: Path,
        streams: tuple[int, int, int],
        server_command: Sequence[str] | None,
    ) -> Command:
        """Fork `planloom` with these arguments in a folder; its server is forked too, or of the command given."""
        asked = {
            "argv": ["planloom", *arguments],
            "environment": dict(environment),
            "folder": str(folder),
            "server_command": server_command,
        }
        ended, theirs = os.pipe()
        try:
            return Command(self._fork(asked, [*streams, theirs]), ended)
        finally:
            os.close(theirs)

    def _fork(self, asked: Mapping[str, Any], handles: Sequence[int]) -> int:
        body = json.dumps(asked).encode()
        passed = array.array("i", handles)
        self._line.sendmsg([len(body).to_bytes(4, "big")], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, passed)])
        self._line.sendall(body)
        pid = int.from_bytes(self._line.recv(4, socket.MSG_WAITALL), "big")
        assert pid, "no process was forked"
        return pid

    def close(self) -> None:
        """End the process that forks; servers end when their pipes do."""
        self._line.close()
        self._process.wait(20)


@contextlib.contextmanager
def warm_servers(preload: Path | None = None) -> Iterator[WarmServers]:
    """A process that forks servers, for the length of a block; `preload` is a library that is loaded into it."""
    if not SUPPORTED:
        raise NotImplementedError(UNSUPPORTED)
    warm = WarmServers(preload)
    try:
        yield warm
    finally:
        warm.close()


@cache
def shared() -> WarmServers:
    """One for the rest of this process."""
    warm = WarmServers(None)
    atexit.register(warm.close)
    return warm


# What follows runs in the process that forks, and in the forked ones.


def _serve_forks(line: socket.socket) -> None:
    """Import the server, then fork one for each request until the other end closes."""
    import planloom
    from planloom.lsp.language_server import make_server

    for module in pkgutil.walk_packages(planloom.__path__, "planloom."):
        if module.name != "planloom.__main__":
            importlib.import_module(module.name)
    for name in ("frizbee", "platformdirs", "urllib.request"):
        importlib.import_module(name)
    # The protocol's types are read when the first server is made.
    make_server()
    gc.collect()
    gc.freeze()
    # The kernel takes the exit codes of forked servers, so that none stays as a zombie.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    line.sendall(b"ready")
    while True:
        header, handles = _received(line)
        if not header:
            return
        body = line.recv(int.from_bytes(header, "big"), socket.MSG_WAITALL)
        pid = os.fork()
        if pid == 0:
            line.close()
            asked = json.loads(body)
            if "server_command" in asked:
                _become_command(asked, handles)
            _become_server(asked, handles)
        for handle in handles:
            os.close(handle)
        line.sendall(pid.to_bytes(4, "big"))


def _received(line: socket.socket) -> tuple[bytes, list[int]]:
    handles = array.array("i")
    header, ancillary, _, _ = line.recvmsg(4, socket.CMSG_LEN(4 * handles.itemsize))
    for _, _, data in ancillary:
        handles.frombytes(data)
    return header, list(handles)


def _become_server(asked: Mapping[str, Any], handles: Sequence[int]) -> NoReturn:
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for place, handle in enumerate(handles):
            os.dup2(handle, place)
            os.close(handle)
        os.environ.clear()
        os.environ.update(asked["environment"])
        os.chdir("/")
        sys.argv = list(asked["argv"])
        if asked["apply_seconds"] is not None:
            editor = importlib.import_module("planloom.lsp.editor.lsp_editor")
            editor.APPLY_SECONDS = asked["apply_seconds"]  # type: ignore[attr-defined]
        if asked["fault"] is not None:
            _arm(Fault(**asked["fault"]))
        if asked["ledger_fault"] is not None:
            _arm_ledger(LedgerFault(**asked["ledger_fault"]))
        if asked["clock"] is not None:
            CompressedTime(Path(asked["clock"])).install()
        from planloom.__main__ import exit_code

        code = exit_code()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 1
    except BaseException:
        traceback.print_exc()
        code = 70
    sys.stderr.flush()
    Path(asked["exit_code"]).write_text(str(code))
    os._exit(code)


def _become_command(asked: Mapping[str, Any], handles: Sequence[int]) -> NoReturn:
    *streams, ended = handles
    os.setsid()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    _reopen(streams)
    os.environ.clear()
    os.environ.update(asked["environment"])
    os.chdir(asked["folder"])
    sys.argv = list(asked["argv"])
    try:
        if asked["server_command"] is None:
            subprocess.Popen = _forked_server  # type: ignore[assignment, misc]
            from planloom.__main__ import exit_code

            code = exit_code()
        else:
            from planloom.cli.app import main

            code = main(sys.argv[1:], server_command=asked["server_command"])
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:
        traceback.print_exc()
        code = 70
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os.write(ended, str(code).encode())
    os._exit(code)


def _reopen(streams: Sequence[int]) -> None:
    """Put the handles in the places of the standard streams, and open these as a new process does."""
    for place, handle in enumerate(streams):
        os.dup2(handle, place)
        os.close(handle)
    words = {"encoding": sys.stdout.encoding, "closefd": False}
    sys.stdin = open(0, **words)  # noqa: SIM115
    sys.stdout = open(1, "w", buffering=1 if os.isatty(1) else -1, **words)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, errors="backslashreplace", **words)  # noqa: SIM115


_Popen = subprocess.Popen


def _forked_server(command: Sequence[str], **how: Any) -> Any:
    """In place of `subprocess.Popen`: the server is forked, every other process is started."""
    from planloom.cli.client.server_process import SERVER_COMMAND

    size = len(SERVER_COMMAND)
    if tuple(command[:size]) == SERVER_COMMAND:
        return _ForkedServer(["planloom", *SERVER_COMMAND[-2:], *command[size:]], how["stderr"].fileno())
    return _Popen(command, **how)


class _ForkedServer:
    """What the command line uses of a `Popen`."""

    def __init__(self, argv: list[str], stderr: int) -> None:
        stdin, to_server = os.pipe()
        from_server, stdout = os.pipe()
        self.stdin, self.stdout = os.fdopen(to_server, "wb", 0), os.fdopen(from_server, "rb", 0)
        self.returncode: int | None = None
        self.pid = os.fork()
        if self.pid == 0:
            os.setsid()
            _reopen([stdin, stdout, os.dup(stderr)])
            for handle in map(int, os.listdir("/dev/fd")):  # noqa: PTH208
                if handle > 2:
                    with contextlib.suppress(OSError):
                        os.close(handle)
            os.chdir("/")
            sys.argv = argv
            subprocess.Popen = _Popen  # type: ignore[misc]
            from planloom.__main__ import main

            try:
                main()
            except SystemExit as end:
                os._exit(end.code if isinstance(end.code, int) else 1)
            except BaseException:
                traceback.print_exc()
            os._exit(70)
        os.close(stdin)
        os.close(stdout)

    def poll(self) -> int | None:
        return self._waited(os.WNOHANG)

    def wait(self, timeout: float | None = None) -> int | None:
        until = None if timeout is None else time.monotonic() + timeout
        while until is not None and self._waited(os.WNOHANG) is None:
            if time.monotonic() > until:
                raise subprocess.TimeoutExpired("planloom serve", timeout or 0)
            time.sleep(0.005)
        return self._waited(0)

    def terminate(self) -> None:
        self._send(signal.SIGTERM)

    def kill(self) -> None:
        self._send(signal.SIGKILL)

    def _send(self, sent: signal.Signals) -> None:
        if self.poll() is None:
            os.kill(self.pid, sent)

    def _waited(self, how: int) -> int | None:
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, how)
            self.returncode = os.waitstatus_to_exitcode(status) if pid else None
        return self.returncode


def _arm(fault: Fault) -> None:
    """Wrap the method that a fault counts, so that the process dies at the right call of it."""
    if fault.moment == "append":
        from planloom.storage.ledger import Ledger

        def events_of(_: object, recorded: Sequence[Any], *rest: object, **more: object) -> str:
            return " ".join(each.event.type for each in recorded)

        _wrap(Ledger, "append", fault, events_of)
    elif fault.moment in ("told", "apply"):
        from planloom.serving.stdio import PipeWriter

        method = "planloom/event" if fault.moment == "told" else "workspace/applyEdit"
        marks = (f'"method":"{method}"', f'"method": "{method}"')

        def sent(_: object, data: bytes) -> str | None:
            text = data.decode("utf-8", "replace")
            return text if any(mark in text for mark in marks) else None

        _wrap(PipeWriter, "write", fault, sent)
    else:
        for name in ("replace", "link", "rename"):
            _wrap(os, name, fault, lambda *names, **_: " ".join(str(each) for each in names[:2]))


def _arm_ledger(fault: LedgerFault) -> None:
    """Let the connections of every ledger fail, and the leases be renewed so often that nobody waits for it."""
    from planloom.service.running.ownership import Ownership
    from planloom.storage.compaction import CompactingLedger
    from planloom.storage.ledger import Ledger
    from tests.support.ledgers import Faults

    marker = None if fault.until_removed is None else Path(fault.until_removed)
    faults = Faults(fault.kind, fault.nth, "statement", marker)  # type: ignore[arg-type]
    for ledger in (Ledger, CompactingLedger):
        ledger.__init__.__kwdefaults__["connect"] = faults.connect  # type: ignore[misc]
    Ledger.__init__.__kwdefaults__["patience"] = 0.3  # type: ignore[misc]
    Ownership.keep_leases.__defaults__ = (0.2,)  # type: ignore[attr-defined]


_seen = 0


def _wrap(owner: Any, name: str, fault: Fault, text_of: Callable[..., str | None]) -> None:
    inner = getattr(owner, name)

    def wrapped(*args: Any, **more: Any) -> Any:
        global _seen  # noqa: PLW0603
        text = text_of(*args, **more)
        counts = text is not None and fault.holding in text
        _seen += counts
        hit = counts and _seen == fault.nth
        if hit and fault.when == "before":
            _die()
        result = inner(*args, **more)
        if hit:
            _die()
        return result

    setattr(owner, name, wrapped)


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)
    signal.pause()


if __name__ == "__main__":
    _serve_forks(socket.socket(fileno=int(sys.argv[1])))
