"""Classifies errors of the ledger's file, with sentences that say how to repair it."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path
from typing import Literal, NamedTuple

from planloom.domain.text.hidden_characters import visible
from planloom.storage.backup import backup_of

Kind = Literal["busy", "full", "read_only", "io", "damaged", "gone", "taken"]
ERRORS = (sqlite3.Error, UnicodeDecodeError)
"""The errors that a statement raises; the second where SQLite's message quotes a damaged definition of a table."""
DAMAGE = (sqlite3.DatabaseError, UnicodeDecodeError)
"""Those of them that a damaged file raises, among others."""
_NOT_OURS = (
    "no such table",
    "no such column",
    "has no column",
    "columns but",
    "unrecognized token",
    "syntax error",
)
"""Parts of messages about tables that are not as this version makes them."""
BUSY_SECONDS = 10.0
"""How long a request waits while another program has the ledger locked."""
_CREATED_SECONDS = 2.0
"""How long a ledger that another server creates may be empty."""
_KINDS: dict[int, Kind] = {
    sqlite3.SQLITE_BUSY: "busy",
    sqlite3.SQLITE_LOCKED: "busy",
    sqlite3.SQLITE_FULL: "full",
    sqlite3.SQLITE_READONLY: "read_only",
    sqlite3.SQLITE_PERM: "read_only",
    sqlite3.SQLITE_CORRUPT: "damaged",
    sqlite3.SQLITE_NOTADB: "damaged",
}
_PASSING = (
    "Until then nothing runs: running plans were stopped, and are paused for you to resume once the ledger can be"
    " written again."
)
_LASTING = (
    "Its plans are stopped and nothing more is written to it. New plans are kept in memory only: they are"
    " lost when the server ends."
)


class Fault(NamedTuple):
    """Why the ledger cannot be written. A fault that `lasts` stays until the server is restarted."""

    kind: Kind
    sentence: str

    @property
    def lasts(self) -> bool:
        return self.kind in ("damaged", "gone", "taken")


def reason(error: Exception) -> str:
    """The text of an error, for a message: damage that it quotes may hold characters that nobody can see."""
    said = "its table definitions are damaged" if isinstance(error, UnicodeDecodeError) else str(error)
    return visible(said)


def fault_of(error: sqlite3.Error | UnicodeDecodeError, path: Path | None) -> Fault:
    """The fault behind an SQLite error; an error without a known code is an `io` fault."""
    if isinstance(error, UnicodeDecodeError):
        return Fault("damaged", _sentence("damaged", path, error))
    code = getattr(error, "sqlite_errorcode", None)
    kind = _KINDS.get(code & 0xFF, "io") if isinstance(code, int) else "io"
    if code == sqlite3.SQLITE_ERROR and any(part in str(error) for part in _NOT_OURS):
        kind = "damaged"
    return Fault(kind, _sentence(kind, path, error))


def gone(path: Path) -> Fault:
    """The fault of a ledger whose file was deleted or replaced after it was opened."""
    return Fault("gone", _sentence("gone", path, None))


def taken(path: Path) -> Fault:
    """The fault of a ledger that another server has begun to use, on a file system that cannot keep two apart."""
    return Fault("taken", _sentence("taken", path, None))


def emptied(path: Path) -> str | None:
    """The message for a ledger of 0 bytes that no server has just created, or that is missing beside its backup; None
    for another.
    """
    if not path.exists():
        what = "is missing" if backup_of(path) is not None else None
    else:
        found = path.stat()
        is_cut = not found.st_size and time.time() - found.st_mtime >= _CREATED_SECONDS
        what = "was empty (0 bytes): something has cut it" if is_cut else None
    if what is None:
        return None
    return (
        f"The plan ledger {path} {what}, and the plans that were in it are gone. New plans are stored in it."
        f" {_taken_back(path) or 'There is no backup of it.'}"
    )


def unusable(path: Path, error: Exception) -> str:
    """The message for a ledger that cannot be opened."""
    damaged = isinstance(error, ERRORS) and fault_of(error, path).kind == "damaged"
    advice = (
        _repair(path)
        if damaged
        else "Make the file usable, or set planloom.storage.path, then restart the server."
    )
    return (
        f"The plan ledger {path} cannot be used ({reason(error)}). It is left unchanged, and plans are kept in memory"
        f" only: they are lost when the server ends. {advice}"
    )


def _repair(path: Path | None) -> str:
    backed_up = None if path is None else _taken_back(path)
    return backed_up or "Close all editors that use it and run `planloom doctor --repair`."


def _taken_back(path: Path) -> str | None:
    """The advice where there is a backup."""
    backup = backup_of(path)
    if backup is None:
        return None
    return (
        f"{backup.sentence}: close all editors that use the ledger and run `planloom doctor --repair` to take back"
        " those that are lost."
    )


def _sentence(kind: Kind, path: Path | None, error: Exception | None) -> str:
    match kind:
        case "busy":
            return f"Another program has locked the plan ledger {path}. End that program. {_PASSING}"
        case "full":
            return f"The disk is full: the plan ledger {path} cannot be written. Free some space. {_PASSING}"
        case "read_only":
            return f"The plan ledger {path} is read-only. Make it writable. {_PASSING}"
        case "io":
            return f"The plan ledger {path} cannot be written ({error and reason(error)}). Check its disk. {_PASSING}"
        case "damaged":
            return (
                f"The plan ledger {path} is damaged ({error and reason(error)}). {_LASTING} {_repair(path)}"
            )
        case "taken":
            return (
                f"Another server uses the plan ledger {path}, since this one did not answer for a while. {_LASTING}"
                " End one of the two, and restart the other."
            )
        case "gone":
            return (
                f"The plan ledger {path} was deleted or replaced while the server ran. {_LASTING} Restart the"
                " server to begin a new one."
            )
