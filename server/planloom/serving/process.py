"""The process of a server: its options, its log, the signals that end it, and what it keeps to itself."""

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
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from planloom.private_process import forget_variables, make_private
from planloom.providers import secret_variables
from planloom.storage.state_folder import keep_private
from planloom.user_folders import state_folder

CLOSE_SECONDS = 10.0
"""Seconds for which running work may continue when a connection ends."""
LOG_LIMIT = 5_000_000
"""Bytes of the log file after which a start renames it to `.1` and begins a new one."""


def refuse_terminal(what_it_is: str) -> None:
    """Raise SystemExit where stdin is no pipe or socket: editors connect neither a terminal nor /dev/null."""
    if sys.stdin is None or sys.stdout is None or stat.S_ISCHR(os.fstat(sys.stdin.fileno()).st_mode):
        sys.exit(f"{what_it_is} `planloom --help` lists the commands for people.")


def on_ending_signals(end: Callable[[int], object]) -> None:
    """Call `end` with the exit code when a signal asks the server to end.

    It then shuts down in order: its leases are released, and what it has started is ended.
    """
    for number in _ending_signals():
        with contextlib.suppress(NotImplementedError):
            asyncio.get_running_loop().add_signal_handler(number, end, 128 + number)


def _ending_signals() -> tuple[int, ...]:
    """SIGTERM, and SIGHUP where there is one and whoever has started the server does not ignore it, as `nohup` does."""
    hangup = getattr(signal, "SIGHUP", None)
    wanted = hangup is not None and signal.getsignal(hangup) is not signal.SIG_IGN
    return (signal.SIGTERM, hangup) if wanted and hangup is not None else (signal.SIGTERM,)


def loaded() -> None:
    """What a server does when everything is imported and its application is open."""
    # What is loaded stays: to look through it for garbage would stop the loop for as long as a small plan takes.
    gc.freeze()
    gc.enable()
    # Before any command can run.
    make_private()
    forget_variables(secret_variables())


class CommandLine(NamedTuple):
    """The parsed options of a server."""

    log_level: str = "info"
    log_file: Path | None = None
    storage: Path | None = None
    record: Path | None = None
    settings: Sequence[str] = ()


def parsed(argv: Sequence[str], program: str, description: str) -> CommandLine:
    """Parse the options of a server, which all have the same. Raises SystemExit."""
    parser = argparse.ArgumentParser(prog=program, description=description)
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


def log_to_stderr(level: str) -> None:
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


def log_to_file(path: Path | None, level: str) -> Path | None:
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
