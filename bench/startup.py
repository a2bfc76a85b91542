"""Measures the time until the answer to `initialize`, against a bare pygls server.

The two are started alternately, so that other load on the machine affects both. Prints a table and a JSON line; the
ratio is the median of the ratios of the pairs.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

BARE = "from pygls.lsp.server import LanguageServer; LanguageServer('bare', '1').start_io()"
PARAMS = {
    "processId": None,
    "rootUri": None,
    "capabilities": {
        "workspace": {"applyEdit": True, "workspaceEdit": {"documentChanges": True}},
        "window": {"workDoneProgress": True},
    },
}


class Peer:
    """A server process with a minimal client, whose own cost is negligible."""

    def __init__(self, command: list[str]) -> None:
        self.started = time.perf_counter()
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )

    def ask(self, ident: int, method: str, params: Any) -> dict[str, Any]:
        """Send a request and wait for its answer; other messages are ignored."""
        self.tell(method, params, ident)
        while (message := self._read()).get("id") != ident or "method" in message:
            pass
        return message

    def tell(self, method: str, params: Any, ident: int | None = None) -> None:
        """Send a notification, or with `ident` a request."""
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        if ident is not None:
            message["id"] = ident
        body = json.dumps(message).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        self.process.stdin.flush()

    def _read(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        length = 0
        while line := self.process.stdout.readline().strip():
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        message: dict[str, Any] = json.loads(self.process.stdout.read(length))
        return message

    def memory(self) -> float:
        """Resident memory in MB; 0 where the system has no /proc."""
        try:
            status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        except OSError:
            return 0.0
        return next(int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmRSS"))

    def cpu(self) -> float:
        """Processor time so far in ms, which other load affects less than wall time; 0 without /proc."""
        try:
            spent = Path(f"/proc/{self.process.pid}/schedstat").read_text(encoding="ascii").split()[0]
        except OSError:
            return 0.0
        return int(spent) / 1e6

    def end(self) -> None:
        """Kill the process."""
        self.process.kill()
        self.process.communicate()


def start(command: list[str]) -> tuple[Peer, float, float]:
    """Start a server; returns the wall and processor time in ms until the answer to `initialize`."""
    peer = Peer(command)
    peer.ask(1, "initialize", PARAMS)
    return peer, (time.perf_counter() - peer.started) * 1000, peer.cpu()


def warm_up(command: list[str]) -> Peer:
    """Start a server and let it import everything, so that all bytecode is cached."""
    peer = start(command)[0]
    peer.tell("initialized", {})
    with contextlib.suppress(ValueError):
        peer.ask(2, "planloom/status", {})
    return peer


def main() -> None:
    """Run the pairs and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=10)
    pairs: int = parser.parse_args().pairs
    with tempfile.TemporaryDirectory() as folder:
        # Both start as installed, with cached bytecode, which is kept in a temporary folder here.
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ |= {"PYTHONPYCACHEPREFIX": f"{folder}/code", "PLANLOOM_CONFIG": f"{folder}/none.json"}
        os.environ["XDG_STATE_HOME"] = folder
        # Editors start the installed script.
        ours = [sys.executable, str(Path(sys.executable).with_name("planloom")), "serve", "--stdio"]
        bare = [sys.executable, "-c", BARE]
        for command in (bare, ours):
            warm_up(command).end()
        rows: list[dict[str, float]] = []
        for _ in range(pairs):
            row: dict[str, float] = {}
            for name, command in (("bare", bare), ("ours", ours)):
                peer, row[f"{name}_ms"], row[f"{name}_cpu_ms"] = start(command)
                if name == "ours":
                    peer.tell("initialized", {})
                    peer.ask(2, "planloom/status", {})
                    row["first_request_ms"] = (time.perf_counter() - peer.started) * 1000
                row[f"{name}_mb"] = peer.memory()
                peer.end()
            rows.append(row)
    figures = {name: statistics.median(row[name] for row in rows) for name in rows[0]}
    for name, value in figures.items():
        print(f"{name:18}{value:10.1f}")
    ratios = {
        f"{name}_ratio": statistics.median(row[f"ours_{name}"] / (row[f"bare_{name}"] or 1) for row in rows)
        for name in ("ms", "cpu_ms", "mb")
    }
    for (name, value), goal in zip(ratios.items(), ("1.00", "1.00", "1.35"), strict=True):
        print(f"{name:18}{value:10.2f}   goal {goal}")
    rounded = {name: round(value, 3) for name, value in (figures | ratios).items()}
    print(json.dumps({"bench": "startup", "pairs": pairs, **rounded}))


if __name__ == "__main__":
    main()
