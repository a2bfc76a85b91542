"""How long an editor waits for the answer to `initialize`, against a bare server of the protocol library.

Both are started in turn, in pairs, so that what else runs on the machine weighs on both. Prints a table and a
JSON line; the ratio is the median of the pairs' ratios.
"""

from __future__ import annotations

import argparse
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
        "workspace": {"applyEdit": True, "configuration": True, "workspaceEdit": {"documentChanges": True}},
        "window": {"workDoneProgress": True},
    },
}


class Peer:
    """A server process, spoken to by hand so that the client costs nothing."""

    def __init__(self, command: list[str]) -> None:
        self.started = time.perf_counter()
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )

    def ask(self, ident: int, method: str, params: Any) -> dict[str, Any]:
        """Send a request and wait for its answer, passing over what else comes."""
        self.tell(method, params, ident)
        while (message := self._read()).get("id") != ident or "method" in message:
            pass
        return message

    def tell(self, method: str, params: Any, ident: int | None = None) -> None:
        """Send a message."""
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
        """Resident memory in MB, where the system tells."""
        try:
            status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        except OSError:
            return 0.0
        return next(int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmRSS"))

    def end(self) -> None:
        """Stop it, however it is."""
        self.process.kill()
        self.process.communicate()


def start(command: list[str]) -> tuple[Peer, float]:
    """Start a server; the time in ms until it has answered `initialize`."""
    peer = Peer(command)
    peer.ask(1, "initialize", PARAMS)
    return peer, (time.perf_counter() - peer.started) * 1000


def main() -> None:
    """Run the pairs and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=10)
    pairs: int = parser.parse_args().pairs
    with tempfile.TemporaryDirectory() as folder:
        os.environ["PLANLOOM_CONFIG"] = f"{folder}/none.json"
        places = ["--storage", folder, "--log-file", f"{folder}/log"]
        ours = [sys.executable, "-m", "planloom", "serve", "--stdio", *places]
        bare = [sys.executable, "-c", BARE]
        for command in (ours, bare):
            start(command)[0].end()
        rows: list[tuple[float, float, float, float, float]] = []
        for _ in range(pairs):
            plain, plain_ms = start(bare)
            peer, ours_ms = start(ours)
            peer.tell("initialized", {})
            peer.ask(2, "planloom/status", {})
            ready_ms = (time.perf_counter() - peer.started) * 1000
            rows.append((plain_ms, ours_ms, ready_ms, plain.memory(), peer.memory()))
            plain.end()
            peer.end()
    columns = [statistics.median(column) for column in zip(*rows, strict=True)]
    names = ("bare initialize ms", "initialize ms", "first request ms", "bare memory MB", "memory MB")
    for name, value in zip(names, columns, strict=True):
        print(f"{name:22}{value:10.1f}")
    ratio = statistics.median(row[1] / row[0] for row in rows)
    memory = columns[4] / columns[3] if columns[3] else 0.0
    print(f"{'initialize ratio':22}{ratio:10.2f}   goal 1.00")
    print(f"{'memory ratio':22}{memory:10.2f}   goal 1.35")
    keys = ("bare_ms", "initialize_ms", "first_request_ms", "bare_mb", "idle_mb")
    figures = {key: round(value, 1) for key, value in zip(keys, columns, strict=True)}
    print(
        json.dumps(
            {"bench": "startup", "ratio": round(ratio, 3), "memory_ratio": round(memory, 3), **figures}
        )
    )


if __name__ == "__main__":
    main()
