"""A language server in a process of its own, with a minimal client whose own cost is negligible."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

SERVE: Final = (str(Path(sys.executable).with_name("planloom")), "serve", "--stdio")
"""The installed script, which editors start."""
BARE: Final = (
    sys.executable,
    "-c",
    "from pygls.lsp.server import LanguageServer; LanguageServer('bare', '1').start_io()",
)
PARAMS: Final = {
    "processId": None,
    "rootUri": None,
    "capabilities": {
        "workspace": {"applyEdit": True, "workspaceEdit": {"documentChanges": True}},
        "window": {"workDoneProgress": True},
    },
}


class ServerProcess:
    """A started server. Times are in ms, sizes in MB."""

    def __init__(self, command: tuple[str, ...]) -> None:
        self.started = time.perf_counter()
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )

    def ask(self, ident: int, method: str, params: Any) -> dict[str, Any]:
        """Send a request and wait for its answer; other messages are ignored."""
        self.tell(method, params, ident)
        while (message := self.read()).get("id") != ident or "method" in message:
            pass
        return message

    def tell(self, method: str, params: Any, ident: int | None = None) -> None:
        """Send a notification, or with `ident` a request."""
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        if ident is not None:
            message["id"] = ident
        self.send(message)

    def send(self, message: dict[str, Any]) -> None:
        """Send a message as it is."""
        body = json.dumps(message).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        self.process.stdin.flush()

    def read(self) -> dict[str, Any]:
        """The next message of the server."""
        assert self.process.stdout is not None
        length = 0
        while line := self.process.stdout.readline().strip():
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        message: dict[str, Any] = json.loads(self.process.stdout.read(length))
        return message

    def since_start(self) -> float:
        """The time since the process was started."""
        return (time.perf_counter() - self.started) * 1000

    def memory(self) -> float:
        """Memory of its own and its part of what it shares (PSS); 0 where the system does not tell."""
        return _kilobytes(Path(f"/proc/{self.process.pid}/smaps_rollup"), "Pss") / 1024

    def whole_memory(self) -> float:
        """The memory of the process and of those that it has started, as `memory` counts it."""
        return (
            sum(_kilobytes(Path(f"/proc/{each}/smaps_rollup"), "Pss") for each in _tree(self.process.pid))
            / 1024
        )

    def processor(self) -> float:
        """Processor time so far, which other load affects less than wall time; 0 without /proc."""
        try:
            spent = Path(f"/proc/{self.process.pid}/schedstat").read_text(encoding="ascii").split()[0]
        except OSError:
            return 0.0
        return int(spent) / 1e6

    def end(self) -> None:
        """Kill the process."""
        self.process.kill()
        self.process.communicate()


def _tree(pid: int) -> Iterator[int]:
    """A process and those below it; those alone that still run."""
    yield pid
    for listed in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            for child in listed.read_text(encoding="ascii").split():
                yield from _tree(int(child))


def _kilobytes(path: Path, name: str) -> int:
    try:
        found = re.search(rf"(?m)^{name}:\s+(\d+)", path.read_text(encoding="ascii"))
    except OSError:
        return 0
    return int(found[1]) if found else 0


def initialized(command: tuple[str, ...], params: Any = PARAMS) -> ServerProcess:
    """Start a server and wait for the answer to `initialize`."""
    server = ServerProcess(command)
    server.ask(1, "initialize", params)
    return server


def warm_up(command: tuple[str, ...]) -> None:
    """Start a server once and let it import everything, so that all bytecode is cached."""
    server = initialized(command)
    server.tell("initialized", {})
    with contextlib.suppress(ValueError):
        server.ask(2, "planloom/status", {})
    server.end()


@contextmanager
def own_state() -> Iterator[Path]:
    """A folder for state and settings of the servers that are started meanwhile, which keep their bytecode."""
    kept = dict(os.environ)
    with tempfile.TemporaryDirectory() as folder:
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ |= {"PLANLOOM_CONFIG": f"{folder}/none.json", "XDG_STATE_HOME": folder}
        try:
            yield Path(folder)
        finally:
            os.environ.clear()
            os.environ |= kept
