"""Starts the server as a child process.

Imports little, and no asyncio: the server takes longest of all to start, so it is started first.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, NamedTuple

from planloom.private_process import forget_variables, make_private
from planloom.providers import SECRET_VARIABLES

SERVER_COMMAND = (sys.executable, "-I", "-m", "planloom", "serve", "--stdio")
"""`-I`, and a working folder outside of the workspace, keep the server from importing modules of the workspace."""
READ_BYTES = 65536


class Server(NamedTuple):
    """A running server process, the handles of its stdin and stdout, and the file with its stderr."""

    process: subprocess.Popen[bytes]
    stdin: int
    stdout: int
    stderr: IO[bytes]

    def send(self, data: bytes) -> None:
        """Write to the server; nothing happens if it has ended. Waits while its pipe is full."""
        with contextlib.suppress(OSError):
            while data:
                data = data[os.write(self.stdin, data) :]

    def receive(self) -> bytes:
        """Wait for what the server writes next; empty at its end."""
        with contextlib.suppress(OSError):
            return os.read(self.stdout, READ_BYTES)
        return b""


@contextlib.contextmanager
def started(command: Sequence[str]) -> Iterator[Server]:
    """Start a server process, and kill it when the block is left if it still runs.

    The process gets a session of its own, so that Ctrl-C reaches only the command line, which then pauses the plan.
    """
    # The server needs the keys in it.
    environment = dict(os.environ)
    with tempfile.TemporaryFile(prefix="planloom-") as stderr:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            bufsize=0,
            cwd=Path(sys.executable).anchor or os.sep,
            start_new_session=True,
            env=environment,
        )
        try:
            # This process has the user's keys too, and is a parent of the commands that the server runs later.
            make_private()
            forget_variables(SECRET_VARIABLES)
            assert process.stdin is not None and process.stdout is not None
            yield Server(process, process.stdin.fileno(), process.stdout.fileno(), stderr)
        finally:
            process.kill()
            process.wait()
