"""Takes out of a text what nobody else is to read: secrets, addresses, names of files, and who and where the user is.

What may stay is what a maintainer needs; in doubt a word goes. Keys are masked as in the log (`domain/safety`).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from typing import Final
from urllib.parse import parse_qsl, urlsplit

from planloom.domain.safety.known_keys import MASK, KnownKeys
from planloom.providers import PROVIDERS
from planloom.settings import Settings, fields

_SECRET: Final = r"(?:key|token|secret|passw|_pwd|auth|credential|cookie|signature|headers)"
"""Parts of names whose values are secret, such as GITHUB_TOKEN."""
_IS_SECRET: Final = re.compile(_SECRET, re.IGNORECASE)
_ASSIGNED: Final = re.compile(
    rf"((?<![A-Za-z])[\w.-]*{_SECRET}[\w-]*[\"']?[ \t]*[=:][ \t]*)(\"[^\"]*\"|'[^']*'|\S+)", re.IGNORECASE
)
_SCHEME_AND_VALUE: Final = re.compile(r"\b(bearer|basic|digest|negotiate) +[^\s\"',;]+", re.IGNORECASE)
_URL: Final = r"(?P<url>\b[a-z][a-z0-9+.-]{1,20}:/{1,3}[^\s\"'<>`]+)"
_QUOTED: Final = r"(?P<quoted>(?<!\w)(?P<mark>[\"'`])[^\"'`\n]*(?:[\\/]|\.\w+)[^\"'`\n]*(?P=mark))"
_MAIL: Final = r"(?P<mail>[\w.+-]+@[\w.-]+)"
_IN_A_PATH: Final = r"[^\s\"'`:,;()<>|]*"
_PATH: Final = rf"(?P<path>(?:(?:~|\.{{1,2}}|\b[a-z]:)?|[\w.@+-]+)[\\/]{_IN_A_PATH})"
_UUID: Final = r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"
_LONG: Final = rf"(?P<long>\b(?=[a-z+]*\d)(?=\d*[a-z])[a-z0-9+]{{16,}}[\w+=.-]*|{_UUID})"
"""Words that look as random as a key; names of models, such as `claude-sonnet-4-5-20250929`, do not."""
_FILE: Final = r"(?P<file>\.?\w[\w+-]*(?:\.[\w+-]+)*\.[A-Za-z]\w{0,9}\b|(?<![\w.])\.[a-z][\w-]+)"
_FOUND: Final = re.compile("|".join((_URL, _QUOTED, _MAIL, _PATH, _LONG, _FILE)), re.IGNORECASE)
_OWN: Final = re.compile(
    r"[\\/]((?:site-packages|bundled[\\/]packages|lib[\\/]python3\.\d+)[\\/][\w\\/.-]+\.py)$"
)
"""A module of an installed Planloom, of a package or of Python itself."""
_OWN_NAMES: Final = re.compile(r"planloom(?:\.\w+)*|settings\.json|keys\.json|ledger\.sqlite3")
_HOSTS: Final = frozenset(
    {
        "localhost",
        "127.0.0.1",
        "[::1]",
        "::1",
        *filter(None, (urlsplit(row.url).hostname for row in PROVIDERS.values())),
    }
)
"""Hosts that say nothing about the user."""


class Anonymous:
    """Cleans texts; `names` are words that name the user, the machine or the workspace, with what stands for them."""

    def __init__(self, keys: KnownKeys, names: Mapping[str, str]) -> None:
        self._keys = keys
        self._names = {name.lower(): stands for name, stands in names.items() if len(name) > 1}
        listed = sorted(map(re.escape, self._names), key=len, reverse=True)
        self._name = re.compile(rf"(?<![A-Za-z0-9])(?:{'|'.join(listed)})(?![A-Za-z0-9])", re.IGNORECASE)

    def cleaned(self, text: str) -> str:
        """The text without anything that is private."""
        text = self._keys.masked_log(text)
        text = _SCHEME_AND_VALUE.sub(rf"\1 {MASK}", text)
        text = _ASSIGNED.sub(lambda found: found[1] + MASK, text)
        text = _FOUND.sub(_shown, text)
        return self._name.sub(lambda found: self._names[found[0].lower()], text) if self._names else text


def secrets_of(environment: Mapping[str, str], kept: Iterable[str], settings: Settings) -> KnownKeys:
    """What is secret on this machine: kept keys, variables, and what settings give servers or have in addresses."""
    known = KnownKeys()
    addresses = (settings.model.base_url, settings.storage.traces)
    texts = (*_of_variables(environment), *_of_servers(settings.mcp.servers, environment))
    for each in (*kept, *texts, *(part for address in addresses for part in _of_address(address))):
        known.add(each)
        # `Bearer …`: the key is also known by itself.
        known.add(each.rpartition(" ")[2])
    return known


def origin_of_address(address: str) -> str:
    """The scheme, host and port of an address; a host that may say who the user is is not named."""
    try:
        parts = urlsplit(address)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return "[address]"
    shown = host if host in _HOSTS else "(host)"
    return f"{parts.scheme}://{shown}{f':{port}' if port else ''}"


def _of_variables(environment: Mapping[str, str]) -> Iterator[str]:
    for name, value in environment.items():
        if _IS_SECRET.search(name):
            yield from (value, *re.split(r"[\s,;=]+", value))
        yield from _of_address(value)


def _of_servers(lines: Iterable[str], environment: Mapping[str, str]) -> Iterator[str]:
    """Everything in the lines but the programs: an argument may be a key as well as a variable or a header."""
    for line in lines:
        _, _, rest = line.partition(":")
        try:
            words = shlex.split(rest)
        except ValueError:
            words = rest.split()
        program = next((each for each in words if "=" not in each), "")
        for word in words:
            if word != program:
                value = word.partition("=")[2] or word
                yield from (value, re.sub(r"\$\{?(\w+)\}?", lambda name: environment.get(name[1], ""), value))
            yield from _of_address(word)


def _of_address(text: str) -> Iterator[str]:
    """The parts of an address that can be secret: gateways have keys even in its path."""
    if "://" not in text:
        return
    try:
        parts = urlsplit(text)
    except ValueError:
        return
    yield from filter(None, (parts.username, parts.password, *parts.path.split("/"), parts.fragment))
    yield from (value for _, value in parse_qsl(parts.query))


def _shown(found: re.Match[str]) -> str:
    text = found[0]
    match found.lastgroup:
        case "url":
            return "[file]" if text.lower().startswith("file:") else origin_of_address(text)
        case "quoted":
            return f"{text[0]}{_file(text[1:-1])}{text[0]}"
        case "mail":
            return "[address]"
        case "long":
            return MASK
        case _:
            return _file(text)


def _file(text: str) -> str:
    """The name of a setting or of a file of Planloom's own; "[file]" for all others, also for `a/b` in prose."""
    if own := _OWN.search(text):
        return own[1].replace("\\", "/")
    is_own = text.removeprefix("planloom.") in fields() or _OWN_NAMES.fullmatch(text)
    return text if is_own else "[file]"
