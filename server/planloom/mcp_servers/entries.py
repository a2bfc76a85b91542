"""Which MCP servers there are: lines of the user's settings, and what a trusted folder proposes in its files."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from planloom.domain.patterns import pattern
from planloom.domain.safety.confinement import Network
from planloom.settings import SERVER_LINE

PROPOSALS: Final = ((".mcp.json", "mcpServers"), (".vscode/mcp.json", "servers"))
"""The files in which a folder proposes servers, and the field that has them."""
_LINE: Final = pattern(SERVER_LINE)
_ASSIGNS: Final = pattern(r"(?P<name>[A-Za-z_][A-Za-z0-9_-]*)=(?P<value>.*)", re.DOTALL)
_VARIABLE: Final = pattern(r"\$(?:(\w+)|\{(\w+)\})")
_NAME: Final = pattern(r"[a-z][a-z0-9-]{0,23}")
_MOST_BYTES: Final = 100_000
_MOST_PROPOSED: Final = 20
_WORDS: Final = frozenset({"network", "local", "writes", "unconfined", "reads", "folders"})


class Entry(NamedTuple):
    """A server. With a `url` it is reached by HTTP, else its `command` is started.

    `given` are variables of its environment, or headers. `folder` is that which proposes it; None for the user's own.
    """

    name: str
    command: tuple[str, ...] = ()
    url: str = ""
    given: tuple[tuple[str, str], ...] = ()
    words: frozenset[str] = frozenset()
    folder: Path | None = None

    @property
    def network(self) -> Network | None:
        """The network that its words give it; None leaves it to the settings."""
        return "all" if "network" in self.words else "loopback" if "local" in self.words else None

    @property
    def is_confined(self) -> bool:
        """Whether it is a process that is to be confined."""
        return not self.url and "unconfined" not in self.words

    @property
    def line(self) -> str:
        """All of what is started or reached, for people. Only a proposal's variables are shown: they are no secrets."""
        given = [f"{name}={value}" for name, value in self.given] if self.folder is not None else []
        return " ".join(shlex.quote(each) for each in (*given, *((self.url,) if self.url else self.command)))

    @property
    def digest(self) -> str:
        """The hash of a proposal, by which the user's decision on it is known."""
        row = ["mcp", str(self.folder), self.name, self.url, *self.command, *map(list, self.given)]
        return hashlib.sha256(json.dumps(row).encode()).hexdigest()


def of_settings(
    lines: Iterable[str], environment: Mapping[str, str]
) -> tuple[tuple[Entry, ...], tuple[str, ...]]:
    """The servers of the user's settings, and sentences on lines that cannot be used."""
    entries: dict[str, Entry] = {}
    problems = []
    for line in lines:
        found = _of_line(line, environment)
        if isinstance(found, str):
            problems.append(f"planloom.mcp.servers: {found}")
        elif found.name in entries:
            problems.append(f"planloom.mcp.servers: there are two servers called {found.name}.")
        else:
            entries[found.name] = found
    return tuple(entries.values()), tuple(problems)


def _of_line(line: str, environment: Mapping[str, str]) -> Entry | str:
    match = _LINE.fullmatch(line)
    if match is None:
        return f"{line[:60]!r} is not of the form `name: command`."
    name = match[1]
    words = frozenset((match[2] or "").replace(",", " ").split())
    if wrong := sorted(words - _WORDS):
        return f"{name}: there is no word {wrong[0]!r}; the words are {', '.join(sorted(_WORDS))}."
    try:
        parts = shlex.split(match[3])
    except ValueError as error:
        return f"{name}: {error}."
    given: list[tuple[str, str]] = []
    rest: list[str] = []
    for part in parts:
        assigned = _ASSIGNS.fullmatch(part)
        # Headers stand behind an address, variables before a command.
        if assigned is not None and (not rest or rest[0].startswith(("http://", "https://"))):
            value = _VARIABLE.sub(lambda found: environment.get(found[1] or found[2], ""), assigned["value"])
            given.append((assigned["name"], value))
        else:
            rest.append(part)
    if not rest:
        return f"{name}: there is no command."
    if rest[0].startswith(("http://", "https://")):
        return Entry(name, url=rest[0], given=tuple(given), words=words)
    return Entry(name, tuple(rest), given=tuple(given), words=words)


def proposed(folder: Path) -> tuple[Entry, ...]:
    """The servers that a folder proposes. They get no more than the default, and nothing of the user's environment.

    Blocks on file I/O. What cannot be read proposes nothing.
    """
    found: dict[str, Entry] = {}
    for name, field in PROPOSALS:
        for entry in _of_file(folder / name, field, folder):
            found.setdefault(entry.name, entry)
    return tuple(found.values())[:_MOST_PROPOSED]


def _of_file(path: Path, field: str, folder: Path) -> Iterator[Entry]:
    try:
        if path.is_symlink() or path.stat().st_size > _MOST_BYTES:
            return
        stated = json.loads(path.read_text(encoding="utf-8"))[field]
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return
    yield from of_json(stated, folder)


def of_json(stated: Any, folder: Path) -> Iterator[Entry]:
    """The servers that are proposed for a folder, by name: `command`, `args` and `env`, or `url` and `headers`."""
    for name, value in stated.items() if isinstance(stated, dict) else ():
        shown = re.sub(r"[^a-z0-9-]+", "-", str(name).casefold()).strip("-")[:24]
        if isinstance(value, dict) and _NAME.fullmatch(shown) and (entry := _of_json(shown, value, folder)):
            yield entry


def _of_json(name: str, value: dict[str, Any], folder: Path) -> Entry | None:
    command, arguments, url = value.get("command"), value.get("args", []), value.get("url")
    given = value.get("headers" if url else "env", {})
    if not isinstance(arguments, list) or not isinstance(given, dict):
        return None
    texts = [*arguments, *given, *given.values(), url if url else command]
    if not all(isinstance(each, str) and "\0" not in each for each in texts) or not texts[-1]:
        return None
    given = {str(each): str(value) for each, value in given.items()}
    if url:
        is_web = url.startswith(("http://", "https://"))
        return Entry(name, url=url, given=tuple(given.items()), folder=folder) if is_web else None
    return Entry(name, (str(command), *arguments), given=tuple(given.items()), folder=folder)
