"""The user's decisions outside of any plan's events: which folders are trusted, which options of an editor count, which
commands are allowed in a folder, and which model a command line named for a plan; and which of a folder's instructions
are followed after a command whose changes are not known.

The file lies in the user's state folder, for its owner alone. Whatever cannot be read counts as not decided.
"""

from __future__ import annotations

import json
import logging
import os
import sqlite3
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

from planloom.domain.errors import StorageFailed
from planloom.domain.safety.command_rules import CommandRule
from planloom.domain.safety.confinement import Confinement

FILE: Final = "decisions.sqlite3"
_BUSY_SECONDS: Final = 2.0
_SCHEMA: Final = """
    CREATE TABLE IF NOT EXISTS folders (path TEXT PRIMARY KEY, inode TEXT, trusted INTEGER, at TEXT) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS instructions (path TEXT PRIMARY KEY, digests TEXT) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS options (digest TEXT PRIMARY KEY, kept INTEGER, at TEXT) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS rules (
        path TEXT, words TEXT, exact INTEGER, inode TEXT, confinement TEXT, at TEXT, PRIMARY KEY (path, words, exact)
    ) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS models (plan_id TEXT PRIMARY KEY, settings TEXT);
"""
_MODELS_KEPT: Final = 500
"""Plans whose model is kept, the latest; it is no part of the plan, whose export another user may import."""
log = logging.getLogger(__name__)


class DecidedFolder(NamedTuple):
    """A folder that the user has decided about; `at` is RFC 3339. `present`: it is still the same folder."""

    path: Path
    trusted: bool
    at: str
    present: bool


class Decisions:
    """The decisions in one file, read anew each time, so that all servers of the user share them."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def is_trusted(self, folder: Path) -> bool | None:
        """Whether the user trusts the folder; None if they have not decided.

        Decided is the real folder, not its name: another one in its place is not decided. A trusted folder covers what
        is inside and not refused, except the home folder, those around it, and folders in which anybody may create
        others.
        """
        real = _real(folder)
        decided = {each.path: each.trusted for each in self.folders() if each.present}
        if real in decided:
            return decided[real]
        nearest = next((outer for outer in real.parents if outer in decided), None)
        return True if nearest is not None and decided[nearest] and _covers(nearest) else None

    def folders(self) -> tuple[DecidedFolder, ...]:
        """All folders that were decided about, by path."""
        rows = self._read("SELECT path, trusted, at, inode FROM folders ORDER BY path")
        return tuple(
            DecidedFolder(path := Path(row[0]), bool(row[1]), row[2], identity_of(path) == row[3])
            for row in rows
        )

    def decide_folder(self, folder: Path, *, trusted: bool) -> None:
        """Keep the decision on a folder. Raises StorageFailed."""
        real = _real(folder)
        with self._writing() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO folders VALUES (?, ?, ?, ?)",
                (str(real), identity_of(real), trusted, _now()),
            )
            # Who trusts a folder anew has looked at its instructions.
            connection.execute("DELETE FROM instructions WHERE path = ?", (str(real),))

    def hold_instructions(self, folder: Path, digests: Iterable[str]) -> bool:
        """Accept only texts with these hashes as a folder's instructions, while commands run that may write others.

        False if that is so already, as after a crash. Raises StorageFailed.
        """
        with self._writing() as connection:
            row = (str(_real(folder)), " ".join(digests))
            return connection.execute("INSERT OR IGNORE INTO instructions VALUES (?, ?)", row).rowcount > 0

    def confirm_instructions(self, folder: Path, digest: str) -> None:
        """Accept a text that the user has saved, where only some are accepted. Raises StorageFailed."""
        with self._writing() as connection:
            query = "UPDATE instructions SET digests = digests || ' ' || ? WHERE path = ?"
            connection.execute(query, (digest, str(_real(folder))))

    def release_instructions(self, folder: Path) -> None:
        """Let all of a folder's instructions count again. Raises StorageFailed."""
        with self._writing() as connection:
            connection.execute("DELETE FROM instructions WHERE path = ?", (str(_real(folder)),))

    def held_instructions(self, folder: Path) -> frozenset[str] | None:
        """The hashes of the texts that count as a folder's instructions; None if all do."""
        rows = self._read("SELECT digests FROM instructions WHERE path = ?", str(_real(folder)))
        return frozenset(rows[0][0].split()) if rows else None

    def forget_folder(self, folder: Path) -> bool:
        """Forget the decision on a folder; False if there was none. Raises StorageFailed."""
        with self._writing() as connection:
            found = connection.execute("DELETE FROM folders WHERE path = ?", (str(_real(folder)),))
            return found.rowcount > 0

    def rules(self, folder: Path) -> tuple[CommandRule, ...]:
        """The rules of a workspace folder, if it is still the same."""
        real = _real(folder)
        return tuple(rule for path, rule in self.all_rules() if path == real)

    def all_rules(self) -> tuple[tuple[Path, CommandRule], ...]:
        """The rules of all folders that are still the same, by path."""
        rows = self._read("SELECT path, inode, words, exact, confinement FROM rules ORDER BY path, words")
        return tuple(
            (Path(path), CommandRule(tuple(json.loads(words)), _confinement(given), bool(exact)))
            for path, inode, words, exact, given in rows
            if identity_of(Path(path)) == inode
        )

    def keep_rules(self, folder: Path, rules: Iterable[CommandRule]) -> None:
        """Keep rules for a workspace folder; one with the same words is replaced. Raises StorageFailed."""
        real = _real(folder)
        rows = [
            (
                str(real),
                json.dumps(rule.words),
                rule.exact,
                identity_of(real),
                rule.confinement.model_dump_json(),
                _now(),
            )
            for rule in rules
        ]
        with self._writing() as connection:
            connection.executemany("INSERT OR REPLACE INTO rules VALUES (?, ?, ?, ?, ?, ?)", rows)

    def forget_rules(self, folder: Path, text: str | None = None) -> int:
        """Forget the rules of a folder, or that with this text. Returns how many there were. Raises StorageFailed."""
        real = _real(folder)
        gone = [rule for rule in self.rules(real) if text in (None, rule.text)]
        with self._writing() as connection:
            for rule in gone:
                key = (str(real), json.dumps(rule.words), rule.exact)
                connection.execute("DELETE FROM rules WHERE (path, words, exact) = (?, ?, ?)", key)
        return len(gone)

    def are_kept(self, digest: str) -> bool | None:
        """Whether the user keeps the options with this hash; None if they have not decided."""
        rows = self._read("SELECT kept FROM options WHERE digest = ?", digest)
        return bool(rows[0][0]) if rows else None

    def decide_options(self, digest: str, *, kept: bool) -> None:
        """Keep the decision on the options with this hash. Raises StorageFailed."""
        with self._writing() as connection:
            connection.execute("INSERT OR REPLACE INTO options VALUES (?, ?, ?)", (digest, kept, _now()))

    def keep_model(self, plan_id: str, settings: Mapping[str, Any]) -> None:
        """Keep the settings of the model of a plan, by dotted name. Raises StorageFailed."""
        with self._writing() as connection:
            row = (plan_id, json.dumps(dict(settings)))
            connection.execute("INSERT OR REPLACE INTO models VALUES (?, ?)", row)
            query = "DELETE FROM models WHERE rowid <= (SELECT max(rowid) FROM models) - ?"
            connection.execute(query, (_MODELS_KEPT,))

    def model_of(self, plan_id: str) -> dict[str, Any]:
        """The settings of the model that were kept for a plan; empty if there are none."""
        rows = self._read("SELECT settings FROM models WHERE plan_id = ?", plan_id)
        return dict(json.loads(rows[0][0])) if rows else {}

    def _read(self, query: str, *values: str) -> list[tuple[str, ...]]:
        if not self._path.exists():
            return []
        try:
            with closing(self._connected()) as connection:
                return connection.execute(query, values).fetchall()
        except sqlite3.Error as error:
            log.warning("The user's decisions in %s cannot be read: %s", self._path, error)
            return []

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._path.touch(mode=0o600)
            with closing(self._connected()) as connection, connection:
                connection.executescript(_SCHEMA)
                yield connection
        except (sqlite3.Error, OSError) as error:
            raise StorageFailed(f"The decision cannot be kept in {self._path}: {error}") from error

    def _connected(self) -> sqlite3.Connection:
        return sqlite3.connect(self._path, timeout=_BUSY_SECONDS)


def _confinement(text: str) -> Confinement:
    return Confinement.model_validate_json(text)


def _real(folder: Path) -> Path:
    return Path(os.path.realpath(folder))


def identity_of(folder: Path) -> str:
    """The identity of a folder, by which another at the same path differs; a text, since SQLite's integers are smaller.

    Empty if there is no folder.
    """
    try:
        return str(folder.stat().st_ino)
    except OSError:
        return ""


def _covers(folder: Path) -> bool:
    """Whether trust in a folder covers those inside."""
    try:
        home = Path(os.path.realpath(Path.home()))
        anybody_writes = bool(folder.stat().st_mode & stat.S_IWOTH)
    except (OSError, RuntimeError):
        return False
    return not anybody_writes and not home.is_relative_to(folder)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
