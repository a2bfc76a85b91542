"""Keys of model services that the user has given once, for all servers: in the system's keyring, or in a file.

A key is kept for one origin, and is sent to no other, whatever settings and variables say later. The file names every
key that is kept, so that no keyring is asked for nothing; one without a value is in the keyring.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from planloom.user_folders import replace_file
from planloom.user_settings import user_file

SERVICE: Final = "planloom"
"""The name of the keys in the system's keyring; the user there is the origin."""

Place = Literal["keyring", "file"]


class KeptKey(NamedTuple):
    """A key that is kept, without its value, and where."""

    provider: str
    origin: str
    place: Place


class KeptKeys:
    """The kept keys of one user. Every method raises OSError or ValueError if the file cannot be used."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._seen: object = None

    def listed(self) -> tuple[KeptKey, ...]:
        """Every key."""
        return tuple(
            KeptKey(row["provider"], row["origin"], "file" if "value" in row else "keyring")
            for row in self._rows()
        )

    def put(self, provider: str, origin: str, value: str) -> Place:
        """Keep a key in place of one that is kept for the origin; returns where it is now."""
        others = [row for row in self._rows() if row["origin"] != origin]
        row = {"provider": provider, "origin": origin}
        place: Place = "keyring" if _put_in_keyring(origin, value) else "file"
        if place == "file":
            _remove_from_keyring(origin)
            row["value"] = value
        self._write([*others, row])
        return place

    def remove(self, origin: str) -> bool:
        """Forget the key for an origin; returns whether there was one."""
        rows = self._rows()
        found = next((row for row in rows if row["origin"] == origin), None)
        if found is None:
            return False
        if "value" not in found:
            _remove_from_keyring(origin)
        self._write([row for row in rows if row is not found])
        return True

    def changed(self) -> dict[str, tuple[str, str]] | None:
        """Each origin's key and where it is from, in words; None if nothing has changed since the last call.

        May wait for the user to unlock the keyring.
        """
        try:
            found = self.path.stat()
            now: object = (found.st_mtime_ns, found.st_ino, found.st_size)
        except OSError:
            now = None
        if now == self._seen:
            return None
        self._seen = now
        keys: dict[str, tuple[str, str]] = {}
        for row in self._rows():
            value = row.get("value") or _from_keyring(row["origin"])
            if value:
                keys[row["origin"]] = (value, str(self.path) if "value" in row else "the system's keyring")
        return keys

    def _rows(self) -> list[dict[str, str]]:
        try:
            read: Any = json.loads(self.path.read_bytes())
        except FileNotFoundError:
            return []
        rows = read.get("keys") if isinstance(read, dict) else None
        if not isinstance(rows, list) or not all(map(_is_row, rows)):
            raise ValueError(f"{self.path} does not hold keys as `planloom key` writes them")
        return rows

    def _write(self, rows: Iterable[dict[str, str]]) -> None:
        """Replace the file by one that only the user can read."""
        replace_file(self.path, json.dumps({"keys": list(rows)}, indent=2), 0o600)


def keys_file() -> Path:
    """The file of the user, beside the settings."""
    return user_file().with_name("keys.json")


def _is_row(row: Any) -> bool:
    return isinstance(row, dict) and {"provider", "origin"} <= row.keys() and all(map(_is_text, row.values()))


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _put_in_keyring(origin: str, value: str) -> bool:
    """Whether the system has a keyring that has taken the key."""
    keyring = _keyring()
    if keyring is None:
        return False
    try:
        keyring.set_password(SERVICE, origin, value)
    except keyring.errors.KeyringError:
        return False
    return True


def _from_keyring(origin: str) -> str | None:
    keyring = _keyring()
    if keyring is None:
        return None
    try:
        value: str | None = keyring.get_password(SERVICE, origin)
    except keyring.errors.KeyringError:
        return None
    return value


def _remove_from_keyring(origin: str) -> None:
    keyring = _keyring()
    if keyring is not None:
        try:
            keyring.delete_password(SERVICE, origin)
        except keyring.errors.KeyringError:
            # It is no longer there, and no longer used.
            return


def _keyring() -> Any:
    """The library `keyring`, an extra of Planloom; None if it is not installed, or the system has no keyring."""
    try:
        import keyring
        import keyring.errors
    except ImportError:
        return None
    # A backend below this only stands where there is none, or keeps keys in plain text.
    return keyring if keyring.get_keyring().priority >= 1 else None
