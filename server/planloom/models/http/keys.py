"""API keys of model servers: each is bound to one origin, and redacted from everything that is written."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import NoReturn

from planloom.domain.errors import InvalidParams, ModelFailed, ModelProblem
from planloom.domain.safety.known_keys import KnownKeys
from planloom.domain.values import Json
from planloom.models.http.endpoint import origin_of
from planloom.providers import OWN_VARIABLE, PROVIDERS, Provider


class Key:
    """A key and the only origin it may be sent to. It cannot be printed, copied or pickled."""

    __slots__ = ("__value", "origin", "source")

    def __init__(self, value: str, origin: str, source: str) -> None:
        self.__value = value
        self.origin = origin
        self.source = source

    def reveal(self, origin: str) -> str:
        """The key itself, for a request to `origin`. Raises `ModelFailed` for any origin but its own."""
        if origin != self.origin:
            raise ModelFailed(
                "model_unavailable",
                f"The key from {self.source} is for {self.origin} and is not sent to {origin}.",
                hint=f"Set a key for {origin} in the editor, or {OWN_VARIABLE} in the environment.",
                problem=ModelProblem(cause="key_missing", address=origin),
            )
        return self.__value

    def redact(self, text: str) -> str:
        """The text without this key, since servers may echo it."""
        known = KnownKeys()
        known.add(self.__value)
        return known.masked(text)

    def __repr__(self) -> str:
        return f"<key from {self.source} for {self.origin}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("A key is not copied or stored.")


class Keyring:
    """The keys of this process, found by origin.

    From the environment: the `key_variable` of a provider is for the origin of its default URL or, if set, of the
    URL in its `url_variable`; `PLANLOOM_API_KEY` is for the origin of `given_for`, which is the configured base URL,
    or None if the settings of an opened folder may have set it. A key set with `put` takes precedence, one set with
    `keep` counts last. Every key that was ever in it is added to `known`, also one that is taken out again.
    """

    def __init__(
        self,
        environment: Mapping[str, str] | None = None,
        given_for: str | None = None,
        known: KnownKeys | None = None,
    ) -> None:
        self.known = known or KnownKeys()
        self._set: dict[tuple[str, str], Key] = {}
        self._found: list[Key] = []
        self._kept: list[Key] = []
        environment = environment or {}
        if given_for:
            self._read(environment, OWN_VARIABLE, given_for)
        for provider in PROVIDERS.values():
            if provider.key_variable:
                self._read(environment, provider.key_variable, provider.home(environment))

    def take_over(self, other: Keyring) -> None:
        """Copy the keys that were set with `put` and `keep` in another keyring."""
        self._set.update(other._set)
        self._kept = other._kept

    def keep(self, kept: Mapping[str, tuple[str, str]]) -> None:
        """Use these keys in place of those of the last call: each origin's key, and where it is from in words."""
        self._kept = []
        for origin, (value, source) in kept.items():
            if (usable := usable_key(value)) is not None:
                self.known.add(usable)
                self._kept.append(Key(usable, origin, source))

    def put(self, provider: str, value: str | None, origin: str) -> None:
        """Set a key for an origin, or remove it with None. Raises `InvalidParams`."""
        if value is None:
            self._set.pop((provider, origin), None)
            return
        usable = usable_key(value)
        if usable is None:
            problem: Json = {
                "field": "value",
                "problem": "it contains spaces or non-ASCII characters",
            }
            raise InvalidParams(
                "That is not a key: it contains spaces or non-ASCII characters.", details=[problem]
            )
        self.known.add(usable)
        self._set[provider, origin] = Key(usable, origin, "the editor")

    def find(self, provider: str, origin: str) -> Key | None:
        """The key to send to `origin`, or None."""
        key = self._set.get((provider, origin))
        if key is not None:
            return key
        return next((key for key in (*self._found, *self._kept) if key.origin == origin), None)

    def __repr__(self) -> str:
        return f"<keyring: {[*self._set.values(), *self._found, *self._kept]}>"

    def _read(self, environment: Mapping[str, str], variable: str, url: str) -> None:
        value = environment.get(variable, "")
        if value:
            self.known.add(value)
        usable = usable_key(value)
        if usable is None:
            return
        self.known.add(usable)
        try:
            origin = origin_of(url)
        except ModelFailed:
            return
        self._found.append(Key(usable, origin, f"`{variable}`"))


class RedactingFormatter(logging.Formatter):
    """A formatter that masks keys in log records and tracebacks; for every log handler."""

    def __init__(self, keys: Keyring, inner: logging.Formatter | None = None) -> None:
        super().__init__()
        self._known = keys.known
        self._inner = inner or logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s")

    def format(self, record: logging.LogRecord) -> str:
        return self._known.masked_log(self._inner.format(record))


def key_advice(provider: str, origin: str, environment: Mapping[str, str]) -> str:
    """A sentence that says how to set a key for this origin."""
    own = (
        row.key_variable
        for row in PROVIDERS.values()
        if row.key_variable and _home_origin(row, environment) == origin
    )
    variable = next(own, OWN_VARIABLE)
    return f"Set {variable} in the environment, or a key for `{provider}` in the editor."


def _home_origin(provider: Provider, environment: Mapping[str, str]) -> str | None:
    """The origin that the provider's key is for; None if its URL cannot be used."""
    try:
        return origin_of(provider.home(environment))
    except ModelFailed:
        return None


def usable_key(value: str) -> str | None:
    """The key without surrounding spaces, which come from pasting; None if a header cannot carry it."""
    stripped = value.strip()
    return stripped if stripped and all("!" <= ch <= "~" for ch in stripped) else None
