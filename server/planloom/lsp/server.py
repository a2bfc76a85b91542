"""What runs when an editor starts `planloom serve --stdio`.

The answer to `initialize` needs the protocol library alone; types, service and storage load after it.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import signal
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from planloom.lsp.transport import compiled_types

if TYPE_CHECKING:
    from planloom.lsp.client_options import ApplicationContext, MakeApplication
    from planloom.service.application import Application

LOG_LIMIT = 5_000_000
"""Bytes after which the log is begun anew; the one before it is kept."""


def serve(argv: Sequence[str], make_application: MakeApplication | None = None) -> int:
    """Serve one editor over stdin and stdout until it is done; the exit code that LSP wants."""
    # To collect garbage while the protocol's types are made is time that the editor waits for; it is done
    # once it has its answer, and the collector is on again when everything is loaded.
    gc.disable()
    with compiled_types.cached() as code:
        from planloom.lsp import language_server, stdio

    def answered() -> None:
        code.save()
        gc.collect()

    options = _options(argv)
    given = language_server.ServerOptions(
        settings=tuple(options.settings),
        on_answered=answered,
        on_loaded=_loaded,
        open_log=partial(_log_to_file, options.log_file, options.log_level),
        storage=options.storage,
        record=options.record,
    )
    _log_to_stderr(options.log_level)
    server = language_server.make_server(make_application or open_application, given)

    async def converse() -> int:
        with contextlib.suppress(NotImplementedError):
            # Whoever ends the process so wants it to give back what it holds.
            asyncio.get_running_loop().add_signal_handler(
                signal.SIGTERM, lambda: server.messages.on_exit(128 + signal.SIGTERM)
            )
        try:
            return await stdio.converse(server.messages)
        finally:
            await server.connection.close()

    try:
        return asyncio.run(converse())
    except KeyboardInterrupt:
        return 130


def _loaded() -> None:
    """All that stays is there now: the collector need never look at it, which would be a pause for nothing."""
    gc.collect()
    gc.freeze()
    gc.enable()


async def open_application(opening: ApplicationContext) -> Application:
    """The application over the user's own ledger, or the one that the settings or the command line name."""
    import os

    from planloom.service.application import Application

    named = opening.storage or (
        Path(opening.settings.storage.path) if opening.settings.storage.path else state_folder()
    )
    app = await Application.open(
        opening.settings,
        opening.editor,
        opening.view,
        storage=named / "ledger.sqlite3",
        trusted=opening.declared.trusted,
        environment=os.environ,
        completion=opening.completion,
        record=opening.record,
        base_url_is_users=lambda: opening.holder("model.baseUrl") in ("command_line", "environment", "user"),
    )
    app.models.redact(logging.getLogger().handlers)
    return app


def state_folder() -> Path:
    """Where the ledger and the log lie unless told otherwise."""
    from platformdirs import user_state_path

    return user_state_path("planloom", appauthor=False)


class Options(NamedTuple):
    """What the command line asks for."""

    log_level: str = "info"
    log_file: Path | None = None
    storage: Path | None = None
    record: Path | None = None
    settings: Sequence[str] = ()


def _options(argv: Sequence[str]) -> Options:
    if tuple(argv) in ((), ("--stdio",)):
        # So editors start it, and need not wait for a parser.
        return Options()
    import argparse

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
    # Language clients add this by habit; the process id also comes with `initialize`.
    parser.add_argument("--clientProcessId", help=argparse.SUPPRESS)
    given = parser.parse_args(argv)
    return Options(given.log_level, given.log_file, given.storage, given.record, tuple(given.setting))


_SHAPE = "%(asctime)s %(process)d %(levelname)s %(name)s: %(message)s"


def _log_to_stderr(level: str) -> None:
    """Log warnings to stderr: editors show it, and stdout belongs to the protocol."""
    root = logging.getLogger()
    root.setLevel(logging.DEBUG if level == "debug" else logging.INFO)
    # The protocol library logs every body it sends.
    logging.getLogger("pygls").setLevel(logging.WARNING)
    to_stderr = logging.StreamHandler(sys.stderr)
    to_stderr.setLevel(logging.WARNING)
    to_stderr.setFormatter(logging.Formatter(_SHAPE))
    root.addHandler(to_stderr)


def _log_to_file(path: Path | None, level: str) -> Path | None:
    """Log what `level` asks for to a file too; its place, None if there can be none."""
    root = logging.getLogger()
    path = path or state_folder() / "planloom.log"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and path.stat().st_size > LOG_LIMIT:
            path.replace(path.with_suffix(path.suffix + ".1"))
        # Several servers may write to it at once: each line goes there in one piece.
        to_file = logging.FileHandler(path, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        root.warning("No log file: %s", error)
        return None
    to_file.setLevel(level.upper())
    to_file.setFormatter(logging.Formatter(_SHAPE))
    root.addHandler(to_file)
    return path
