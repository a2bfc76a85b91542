"""Runs `planloom serve --stdio`: options, logging, and the server's life from start to exit.

What the answer to `initialize` does not need is imported after it, or before it if the client is slow to ask.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gc
import logging
import os
import signal
import stat
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from planloom.lsp.transport import deferred_types
from planloom.private_process import forget_variables, make_private
from planloom.providers import SECRET_VARIABLES
from planloom.storage.state_folder import keep_private
from planloom.user_folders import state_folder

if TYPE_CHECKING:
    from planloom.lsp.client_options import MakeApplication

OPTIONS = "PLANLOOM_OPTIONS"
"""With the value `user`, whoever starts the server vouches for `initializationOptions`: no folder fills them."""
QUIET_SECONDS = 0.05
"""Seconds for which a server that has just started waits for `initialize` before it imports the rest."""
_WHAT_IT_IS = (
    "planloom serve: the language server; an editor starts it and speaks LSP over its stdin and stdout."
)
LOG_LIMIT = 5_000_000
"""Bytes of the log file after which a start renames it to `.1` and begins a new one."""


def serve(argv: Sequence[str], make_application: MakeApplication | None = None) -> int:
    """Serve one editor over stdin and stdout until it disconnects; returns the exit code that LSP defines."""
    # Garbage collection would delay the start: it is enabled when that is over.
    gc.disable()
    # Before anything imports lsprotocol.
    deferred_types.load()
    from planloom.lsp import language_server, stdio

    command_line = _parsed(argv)
    options = language_server.ServerOptions(
        settings=tuple(command_line.settings),
        on_loaded=_loaded,
        open_log=partial(_log_to_file, command_line.log_file, command_line.log_level),
        storage=command_line.storage,
        record=command_line.record,
        state=state_folder,
        options_are_users=os.environ.get(OPTIONS) == "user",
    )
    _log_to_stderr(command_line.log_level)
    # Editors connect a pipe or a socket, and no terminal and no /dev/null.
    if sys.stdin is None or sys.stdout is None or stat.S_ISCHR(os.fstat(sys.stdin.fileno()).st_mode):
        sys.exit(f"{_WHAT_IT_IS} `planloom --help` lists the commands for people.")
    server = language_server.make_server(make_application, options)

    def end(code: int) -> None:
        server.messages.on_exit(code)

    async def run() -> int:
        for number in _ending_signals():
            with contextlib.suppress(NotImplementedError):
                # The server shuts down in order: its leases are released, and what it has started is ended.
                asyncio.get_running_loop().add_signal_handler(number, end, 128 + number)
        # The command line sends `initialize` only when its own imports are done; the server imports meanwhile.
        asyncio.get_running_loop().call_later(QUIET_SECONDS, language_server.load)
        try:
            return await stdio.converse(server.messages)
        finally:
            await server.close()

    try:
        return asyncio.run(run())
    except KeyboardInterrupt:
        return 130


def _ending_signals() -> tuple[int, ...]:
    """SIGTERM, and SIGHUP where there is one and whoever has started the server does not ignore it, as `nohup` does."""
    hangup = getattr(signal, "SIGHUP", None)
    wanted = hangup is not None and signal.getsignal(hangup) is not signal.SIG_IGN
    return (signal.SIGTERM, hangup) if wanted and hangup is not None else (signal.SIGTERM,)


def _loaded() -> None:
    # What is loaded stays: to look through it for garbage would stop the loop for as long as a small plan takes.
    gc.freeze()
    gc.enable()
    # Before any command can run.
    make_private()
    forget_variables(SECRET_VARIABLES)


class CommandLine(NamedTuple):
    """The parsed options of `planloom serve`."""

    log_level: str = "info"
    log_file: Path | None = None
    storage: Path | None = None
    record: Path | None = None
    settings: Sequence[str] = ()


def _parsed(argv: Sequence[str]) -> CommandLine:
    parser = argparse.ArgumentParser(prog="planloom serve", description="The language server, for editors.")
    parser.add_argument(
        "--stdio",
        action="store_true",
        help="communicate over stdin and stdout (the default and only transport)",
    )
    parser.add_argument(
        "--log-level", default="info", choices=("debug", "info", "warning", "error"), help="for the log file"
    )
    parser.add_argument(
        "--log-file", type=Path, help="the log file (default: planloom.log in the user's state folder)"
    )
    parser.add_argument("--storage", type=Path, help="the folder of the ledger")
    parser.add_argument("--record", type=Path, metavar="FILE", help="record the model's traffic, for replay")
    parser.add_argument(
        *("--setting", "--set"),
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a setting; may be repeated",
    )
    # Some language clients always add this; the process id also comes with `initialize`.
    parser.add_argument("--clientProcessId", help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    return CommandLine(args.log_level, args.log_file, args.storage, args.record, tuple(args.setting))


_LOG_FORMAT = "%(asctime)s %(process)d %(levelname)s %(name)s: %(message)s"


def _log_to_stderr(level: str) -> None:
    """Log warnings to stderr, which editors show; stdout belongs to the protocol."""
    root = logging.getLogger()
    root.setLevel(logging.DEBUG if level == "debug" else logging.INFO)
    # pygls logs the body of every message, httpx the whole address of every request.
    for library in ("pygls", "httpx"):
        logging.getLogger(library).setLevel(logging.WARNING)
    to_stderr = logging.StreamHandler(sys.stderr)
    to_stderr.setLevel(logging.WARNING)
    to_stderr.setFormatter(logging.Formatter(_LOG_FORMAT))
    root.addHandler(to_stderr)


def _log_to_file(path: Path | None, level: str) -> Path | None:
    """Log from `level` up to a file too. Returns its path, or None if it cannot be opened."""
    root = logging.getLogger()
    in_state_folder = path is None
    path = path or state_folder() / "planloom.log"
    try:
        # For the user alone, as the ledger is, which shares the folder.
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if path.exists() and path.stat().st_size > LOG_LIMIT:
            path.replace(path.with_suffix(path.suffix + ".1"))
        path.touch(mode=0o600)
        if in_state_folder:
            keep_private(path.parent)
        # Several servers may append to the file at once.
        to_file = logging.FileHandler(path, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        root.warning("No log file: %s", error)
        return None
    to_file.setLevel(level.upper())
    to_file.setFormatter(logging.Formatter(_LOG_FORMAT))
    root.addHandler(to_file)
    return path
