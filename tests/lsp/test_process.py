"""The real process: how it starts and how it ends."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.process
SECONDS = 30


class Server:
    """`planloom serve --stdio` with its own state, spoken to by hand."""

    def __init__(self, folder: Path, *arguments: str, environment: dict[str, str] | None = None) -> None:
        self.log = folder / "server.log"
        command = [sys.executable, "-m", "planloom", "serve", "--stdio"]
        places = ["--storage", str(folder / "state"), "--log-file", str(self.log)]
        self.process = subprocess.Popen(
            [*command, *places, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PLANLOOM_CONFIG": str(folder / "none.json"), **(environment or {})},
        )

    def say(self, method: str, params: Any = None, ident: int | None = None) -> None:
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params}
        if ident is not None:
            message["id"] = ident
        body = json.dumps(message).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        self.process.stdin.flush()

    def hear(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        length = 0
        while line := self.process.stdout.readline().strip():
            length = int(line.partition(b":")[2])
        message: dict[str, Any] = json.loads(self.process.stdout.read(length))
        return message

    def answer(self, ident: int) -> dict[str, Any]:
        while (message := self.hear()).get("id") != ident or "method" in message:
            pass
        return message

    def initialize(self, process_id: int | None = None) -> dict[str, Any]:
        self.say("initialize", {"processId": process_id, "rootUri": None, "capabilities": {}}, 1)
        answer = self.answer(1)
        self.say("initialized", {})
        return answer

    def end(self) -> int:
        return self.process.wait(SECONDS)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert pipe is not None
            with contextlib.suppress(BrokenPipeError):
                pipe.close()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    started = Server(tmp_path)
    yield started
    started.close()


def test_a_whole_session_ends_with_0_and_writes_nothing_to_stderr(server: Server) -> None:
    assert server.initialize()["result"]["serverInfo"]["name"] == "planloom"
    server.say("planloom/status", {}, 2)
    status = server.answer(2)["result"]
    assert status["logPath"] == str(server.log)
    server.say("shutdown", None, 3)
    assert server.answer(3)["result"] is None
    server.say("exit")
    assert server.end() == 0
    assert server.process.stderr is not None and server.process.stderr.read() == b""


def test_an_exit_that_does_not_wait_for_the_shutdown_ends_all_the_same(server: Server) -> None:
    server.initialize()
    server.say("planloom/status", {}, 2)
    server.answer(2)
    server.say("shutdown", None, 3)
    server.say("exit")
    assert server.end() == 0
    assert server.process.stderr is not None and server.process.stderr.read() == b""
    assert "Traceback" not in server.log.read_text()


@pytest.mark.skipif(not Path("/proc/self/net").is_dir(), reason="sockets are read from /proc")
def test_the_server_listens_on_no_port(server: Server) -> None:
    server.initialize()
    server.say("planloom/status", {}, 2)
    server.answer(2)
    process = Path("/proc", str(server.process.pid))
    tables = [
        (process / "net" / kind).read_text().splitlines()[1:] for kind in ("tcp", "tcp6", "udp", "udp6")
    ]
    # Column 3 is the state: 0A is a TCP socket that listens, 07 a UDP socket without a peer. Column 9 is the inode.
    sockets = [line.split() for table in tables for line in table]
    listening = {f"socket:[{socket[9]}]" for socket in sockets if socket[3] in ("0A", "07")}
    assert listening.isdisjoint(str(file.readlink()) for file in (process / "fd").iterdir())


def test_exit_without_shutdown_ends_with_1(server: Server) -> None:
    server.initialize()
    server.say("exit")
    assert server.end() == 1


def test_it_ends_when_stdin_closes(server: Server) -> None:
    server.initialize()
    assert server.process.stdin is not None
    server.process.stdin.close()
    assert server.end() == 1


def test_it_ends_when_nobody_reads_its_answers_any_more(server: Server) -> None:
    server.initialize()
    assert server.process.stdout is not None
    server.process.stdout.close()
    server.say("planloom/status", {}, 2)
    assert server.end() == 1


def test_it_ends_when_the_editor_is_gone_but_its_pipes_are_not(server: Server) -> None:
    editor = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    server.initialize(editor.pid)
    server.say("planloom/status", {}, 2)
    server.answer(2)
    editor.kill()
    editor.wait()
    assert server.end() == 1


def test_an_editor_in_another_world_is_not_missed(server: Server) -> None:
    # A process id that lives in another container must not end the server.
    server.initialize(2**22 + 12345)
    server.say("planloom/status", {}, 2)
    assert server.answer(2)["result"]["health"] == "ok"


@pytest.mark.parametrize(
    ("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_a_signal_ends_it_quietly(server: Server, sent: signal.Signals, code: int) -> None:
    server.initialize()
    server.say("planloom/status", {}, 2)
    server.answer(2)
    server.process.send_signal(sent)
    assert server.end() == code
    assert server.process.stderr is not None and server.process.stderr.read() == b""


def test_a_client_that_stops_reading_does_not_stop_the_server(server: Server) -> None:
    server.initialize()
    for ident in range(2, 400):
        server.say("planloom/detect", {"text": "x" * 500}, ident)
    # More answers than a pipe holds are waiting now; they all come once they are read.
    answers = [server.answer(ident) for ident in range(2, 400)]
    assert all("result" in answer for answer in answers)


@pytest.mark.parametrize("ended", ["</dev/null", "<&-", ">&-"])
def test_what_is_no_editor_ends_it_with_a_sentence(tmp_path: Path, ended: str) -> None:
    served = f'"$0" -I -m planloom serve --stdio --storage "$1" --log-file "$1/log" {ended}'
    done = subprocess.run(
        ["sh", "-c", served, sys.executable, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("planloom serve: the language server") and done.stderr.count("\n") == 1


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminal")
def test_at_a_terminal_it_ends_with_a_sentence(tmp_path: Path) -> None:
    import pty

    screen, terminal = pty.openpty()
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-m", "planloom", "serve", "--storage", str(tmp_path)],
            stdin=terminal,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    finally:
        os.close(terminal)
        os.close(screen)
    assert (done.returncode, done.stdout) == (1, "")
    assert "an editor starts it" in done.stderr and done.stderr.count("\n") == 1


def test_settings_of_the_command_line_and_bad_ones_are_told(tmp_path: Path) -> None:
    server = Server(tmp_path, "--set", "planning.format=json", "--setting", "budget.maxRequests=lots")
    try:
        server.initialize()
        shown = server.hear()
        while shown.get("method") != "window/showMessage":
            shown = server.hear()
        assert "budget.maxRequests" in shown["params"]["message"]
    finally:
        server.close()
