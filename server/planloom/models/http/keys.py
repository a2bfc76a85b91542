"""Keys of model servers: each in one object, bound to one origin, and taken out of all that is written."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import NoReturn
from urllib.parse import quote

from planloom.domain.errors import InvalidParams, ModelFailed
from planloom.domain.values import Json
from planloom.models.http.endpoint import origin_of

HOME = {"openai": "https://api.openai.com", "anthropic": "https://api.anthropic.com"}
"""The origin of each vendor, which its own key is for."""
VARIABLES = {
    "openai": ("OPENAI_API_KEY", "OPENAI_BASE_URL"),
    "anthropic": ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"),
}
"""Per vendor: the variable that holds its key, and the one that names another origin for that key."""
OWN_VARIABLE = "PLANLOOM_API_KEY"
"""The key for the base URL that the user has configured, whatever engine it is."""
SHORTEST_SECRET = 8
"""Shorter values are stand-ins such as `none`; taking them out of texts would only spoil these."""
MASK = "[key]"


class Key:
    """A key and the one origin it may be sent to. It is never shown, compared, copied or stored."""

    __slots__ = ("__value", "origin", "source")

    def __init__(self, value: str, origin: str, source: str) -> None:
        self.__value = value
        self.origin = origin
        self.source = source

    def reveal(self, origin: str) -> str:
        """The key itself, for a request to `origin`; any other origin raises `ModelFailed`."""
        if origin != self.origin:
            raise ModelFailed(
                "model_unavailable",
                f"The key from {self.source} was given for {self.origin} and is not sent to {origin}.",
                hint=f"Give a key for {origin} by `planloom/secret/set`.",
            )
        return self.__value

    def redact(self, text: str) -> str:
        """The text without this key: servers repeat what they were sent."""
        return _without(self.__value, text)

    def __repr__(self) -> str:
        return f"<key from {self.source} for {self.origin}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("A key is not copied or stored.")


class Keyring:
    """The keys that this process knows, found by origin alone.

    From the environment: `OPENAI_API_KEY` is for https://api.openai.com or, if set, the origin of
    `OPENAI_BASE_URL`; `ANTHROPIC_API_KEY` likewise; `PLANLOOM_API_KEY` is for the origin of `given_for`,
    which is the configured base URL where the user, the command line or the environment set it, and None
    where an editor's folder may have had a hand in it. A key that was set by `put` goes before these.
    """

    def __init__(self, environment: Mapping[str, str] | None = None, given_for: str | None = None) -> None:
        self._set: dict[tuple[str, str], Key] = {}
        self._found: list[Key] = []
        self._secrets: set[str] = set()
        environment = environment or {}
        if given_for:
            self._read(environment, OWN_VARIABLE, given_for)
        for vendor, (variable, base) in VARIABLES.items():
            self._read(environment, variable, environment.get(base) or HOME[vendor])

    def take_over(self, other: Keyring) -> None:
        """Keep what was set by `put` in another ring, each key still for its own origin."""
        self._set.update(other._set)
        self._secrets |= other._secrets

    def put(self, provider: str, value: str | None, origin: str) -> None:
        """Keep a key that the user has given, or with None forget it. Raises `InvalidParams`."""
        if value is None:
            self._set.pop((provider, origin), None)
            return
        usable = _usable(value)
        if usable is None:
            problem: Json = {
                "field": "value",
                "problem": "it holds spaces or characters beyond ASCII",
            }
            raise InvalidParams(
                "That is no key: it holds spaces or characters beyond ASCII.", details=[problem]
            )
        self._secrets.add(usable)
        self._set[provider, origin] = Key(usable, origin, "`planloom/secret/set`")

    def find(self, provider: str, origin: str) -> Key | None:
        """The key to send to `origin`, or None: then nothing is sent."""
        given = self._set.get((provider, origin))
        if given is not None:
            return given
        return next((key for key in self._found if key.origin == origin), None)

    def redact(self, text: str) -> str:
        """The text without any key that was ever known here, also where it is escaped or quoted."""
        for secret in self._secrets:
            text = _without(secret, text)
        return text

    def __repr__(self) -> str:
        return f"<keyring: {[*self._set.values(), *self._found]}>"

    def _read(self, environment: Mapping[str, str], variable: str, url: str) -> None:
        value = environment.get(variable, "")
        if value:
            self._secrets.add(value)
        usable = _usable(value)
        if usable is None:
            return
        self._secrets.add(usable)
        try:
            origin = origin_of(url)
        except ModelFailed:
            return
        self._found.append(Key(usable, origin, f"`{variable}`"))


class RedactingFormatter(logging.Formatter):
    """A formatter for every handler that writes anywhere: no known key leaves through it, traces included."""

    def __init__(self, keys: Keyring, inner: logging.Formatter | None = None) -> None:
        super().__init__()
        self._keys = keys
        self._inner = inner or logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s")

    def format(self, record: logging.LogRecord) -> str:
        return self._keys.redact(self._inner.format(record))


def key_advice(provider: str, origin: str) -> str:
    """How a user gives a key for this origin, in one sentence."""
    vendor = next((name for name, home in HOME.items() if home == origin), None)
    variable = VARIABLES[vendor][0] if vendor is not None else OWN_VARIABLE
    return f"Set {variable} in the environment, or the key for `{provider}` by `planloom/secret/set`."


def _without(secret: str, text: str) -> str:
    if len(secret) < SHORTEST_SECRET:
        return text
    for spelling in {secret, json.dumps(secret)[1:-1], quote(secret, safe="")}:
        text = text.replace(spelling, MASK)
    return text


def _usable(value: str) -> str | None:
    """The key as a header can carry it, or None. Spaces at its ends come from pasting."""
    stripped = value.strip()
    return stripped if stripped and all("!" <= ch <= "~" for ch in stripped) else None
