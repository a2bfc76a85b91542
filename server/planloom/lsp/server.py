"""What runs when an editor starts `planloom serve --stdio`.

The answer to `initialize` needs the protocol library alone; types, service and storage load after it.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import logging
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from planloom.lsp.opening import MakeApplication, Opening
    from planloom.service.application import Application


def serve(argv: Sequence[str], make_application: MakeApplication | None = None) -> int:
    """Serve one editor over stdin and stdout until it is done; the exit code that LSP wants."""
    options = _parser().parse_args(argv)
    # The protocol's types are half a million objects that all stay: to collect garbage while they are made
    # is a tenth of the start-up for nothing, and to look at them again later is a pause for nothing.
    gc.disable()
    from planloom.lsp import language_server, stdio
    from planloom.lsp.connection import Given

    gc.enable()
    gc.freeze()
    given = Given(
        settings=tuple(options.setting),
        log_path=_log_to(options.log_file, options.log_level),
        storage=options.storage,
        record=options.record,
    )
    server = language_server.make_server(make_application or open_application, given)

    async def converse() -> int:
        try:
            return await stdio.converse(server.messages)
        finally:
            await server.connection.close()

    try:
        return asyncio.run(converse())
    except KeyboardInterrupt:
        return 130


async def open_application(opening: Opening) -> Application:
    """The application over the user's own ledger, or the one that the settings or the command line name."""
    from planloom.service.application import Application

    named = opening.storage or (
        Path(opening.settings.storage.path) if opening.settings.storage.path else state_folder()
    )
    named.mkdir(parents=True, exist_ok=True)
    app = Application.open(opening.settings, opening.editor, opening.view, named / "ledger.sqlite3")
    app.start()
    return app


def state_folder() -> Path:
    """Where the ledger and the log lie unless told otherwise."""
    from platformdirs import user_state_path

    return user_state_path("planloom", appauthor=False)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="planloom serve", description="The language server, for editors.")
    parser.add_argument("--stdio", action="store_true", help="speak over stdin and stdout (the only way)")
    parser.add_argument(
        "--log-level", default="info", choices=("debug", "info", "warning", "error"), help="for the log file"
    )
    parser.add_argument("--log-file", type=Path, help="in the place of the one in the user's state folder")
    parser.add_argument("--storage", type=Path, help="the folder of the ledger")
    parser.add_argument("--record", type=Path, metavar="FILE", help="record the model's traffic, for replay")
    parser.add_argument(
        "--setting", action="append", default=[], metavar="NAME=VALUE", help="a setting; may be repeated"
    )
    # Editors that start servers by habit add this, and older clients the process id.
    parser.add_argument("--clientProcessId", dest="client_process_id", help=argparse.SUPPRESS)
    return parser


def _log_to(path: Path | None, level: str) -> Path | None:
    """Log warnings to stderr, and what `level` asks for to a file; the file's place, None if there is none."""
    root = logging.getLogger()
    root.setLevel(logging.DEBUG if level == "debug" else logging.INFO)
    # The protocol library logs every body it sends.
    logging.getLogger("pygls").setLevel(logging.WARNING)
    shape = logging.Formatter("%(asctime)s %(process)d %(levelname)s %(name)s: %(message)s")
    to_stderr = logging.StreamHandler(sys.stderr)
    to_stderr.setLevel(logging.WARNING)
    to_stderr.setFormatter(shape)
    root.addHandler(to_stderr)
    path = path or state_folder() / "planloom.log"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Several servers may write to it at once: whole lines, appended.
        to_file = _LogFile(path)
    except OSError as error:
        root.warning("No log file: %s", error)
        return None
    to_file.setLevel(level.upper())
    to_file.setFormatter(shape)
    root.addHandler(to_file)
    return path


class _LogFile(logging.FileHandler):
    """A log that is begun anew when it has grown too large."""

    LIMIT = 5_000_000

    def __init__(self, path: Path) -> None:
        if path.exists() and path.stat().st_size > self.LIMIT:
            path.replace(path.with_suffix(path.suffix + ".1"))
        super().__init__(path, encoding="utf-8", errors="backslashreplace")
