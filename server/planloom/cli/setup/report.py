"""`planloom doctor --report FILE`: what a maintainer needs to know, without secrets, names of files, or the user's own.

Everything that is no name or number of Planloom's own goes through `Anonymous`.
"""

from __future__ import annotations

import contextlib
import getpass
import os
import platform
import re
import socket
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, get_origin

from planloom.cli.setup.anonymous import Anonymous, origin_of_address, secrets_of
from planloom.cli.setup.config import sources, written
from planloom.models.kept_keys import KeptKeys, keys_file
from planloom.providers import OWN_PROXY, SECRET_VARIABLES, TUNNELS
from planloom.settings import Settings, Source, dotted, fields, from_text, resolve, source_of
from planloom.version import PROTOCOL_VERSION, VERSION

if TYPE_CHECKING:
    from planloom.cli.setup.doctor import Finding

_ADDRESSES: Final = ("model.baseUrl", "storage.traces")
_SHOWN_TEXTS: Final = ("model.name",)
_MOST_LOG_BYTES: Final = 500_000
_MOST_ENTRIES: Final = 20
_MOST_LINES: Final = 40
_MOST_CHARACTERS: Final = 2_000
_ENTRY: Final = re.compile(r"\d{4}-\d\d-\d\d \S+ \d+ ([A-Z]+) ([\w.]+): ")


def report(
    findings: Iterable[Finding], folders: Sequence[Path], set_here: Sequence[tuple[str, str]], log: Path
) -> str:
    """The whole report, as text for an issue. `set_here` are the settings of the command line."""
    found, _ = sources()
    found["command_line"] = {name: from_text(value) for name, value in set_here}
    settings = resolve(found).settings
    anonymous = Anonymous(secrets_of(os.environ, _kept(), settings), _names(folders))
    lines = [
        "Planloom report",
        "Names of files, hosts and people, and whatever looks like a key, are left out. Read it before you send it.",
        "",
        *_versions(),
        "",
        "Settings that differ from the defaults",
        *(anonymous.cleaned(line) for line in _settings(settings, found)),
        "",
        "Variables that are set",
        f"  {', '.join(_variables(os.environ)) or 'none'}",
        "",
        "Findings",
        anonymous.cleaned("\n".join(line for each in findings for line in _finding(each))),
        "",
        f"The last warnings and errors of the log, at most {_MOST_ENTRIES}",
        anonymous.cleaned("\n".join(_log(log))),
    ]
    return "\n".join(lines) + "\n"


def _versions() -> Iterator[str]:
    yield f"  Planloom {VERSION}, protocol {PROTOCOL_VERSION}"
    where = "in a virtual environment" if sys.prefix != sys.base_prefix else "not in a virtual environment"
    yield f"  Python {platform.python_version()} ({platform.python_implementation()}), {where}"
    yield f"  {platform.system()} {platform.release()}, {platform.machine()}, {' '.join(platform.libc_ver())}"
    yield f"  packages: {', '.join(_packages())}"


def _packages() -> Iterator[str]:
    """What Planloom needs, and those of its extras that are there; not the tools of whoever develops it."""
    for requirement in metadata.requires("planloom") or ():
        if requirement.endswith("extra == 'dev'"):
            continue
        name = re.split(r"[^A-Za-z0-9._-]", requirement, maxsplit=1)[0]
        try:
            yield f"{name} {metadata.version(name)}"
        except metadata.PackageNotFoundError:
            if "extra ==" not in requirement:
                yield f"{name} missing"


def _settings(settings: Settings, found: Mapping[Source, Any]) -> Iterator[str]:
    defaults = dict(dotted(Settings().model_dump(by_alias=True)))
    changed = [
        (name, value) for name, value in dotted(settings.model_dump(by_alias=True)) if value != defaults[name]
    ]
    for name, value in changed:
        yield f"  {name}: {_value(name, value)}  ({source_of(found, name)})"
    if not changed:
        yield "  none"


def _value(name: str, value: Any) -> str:
    """A value as far as it says nothing about the user: one of few choices or a number is shown, a free text is not."""
    if isinstance(value, (list, tuple)):
        return f"a list of {len(value)}"
    if name in _ADDRESSES:
        return origin_of_address(value) if "://" in value else "a file"
    annotation = fields()[name].annotation
    is_text = isinstance(value, str) and annotation is str and get_origin(annotation) is None
    return f"{len(value)} characters" if is_text and name not in _SHOWN_TEXTS else written(value)


def _variables(environment: Mapping[str, str]) -> Iterator[str]:
    """The names of variables that count for Planloom; a value may be a secret."""
    ours = {
        *SECRET_VARIABLES,
        OWN_PROXY,
        *TUNNELS,
        "NO_PROXY",
        "no_proxy",
        "SSL_CERT_FILE",
        "EDITOR",
        "VISUAL",
    }
    yield from sorted(name for name in environment if name in ours or re.fullmatch(r"PLANLOOM_[A-Z_]+", name))


def _finding(finding: Finding) -> Iterator[str]:
    yield f"  {finding.state:8}  {finding.subject}: {finding.found}"
    for line in finding.advice.splitlines():
        yield f"            {line}"


def _kept() -> Iterator[str]:
    """The keys that are kept. A file of them that cannot be read holds none that Planloom has used."""
    try:
        yield from (value for value, _ in (KeptKeys(keys_file()).changed() or {}).values())
    except (OSError, ValueError):
        return


def _names(folders: Sequence[Path]) -> dict[str, str]:
    """Words that name the user, the machine or the workspace."""
    names = dict.fromkeys((platform.node(), socket.gethostname()), "[host]")
    names |= {each.partition(".")[0]: "[host]" for each in tuple(names)}
    names |= {folder.name: "[folder]" for folder in folders}
    # A number of a user may have no name here.
    with contextlib.suppress(OSError, KeyError, ImportError):
        names[getpass.getuser()] = "[user]"
    return names | {Path.home().name: "[user]"}


def _log(path: Path) -> Iterator[str]:
    """The last entries of the log from warnings up, with their traces."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - _MOST_LOG_BYTES))
            text = file.read().decode("utf-8", "replace")
    except OSError:
        yield "  no log can be read"
        return
    entries: list[list[str]] = []
    is_kept = False
    for line in text.splitlines():
        if (begins := _ENTRY.match(line)) is not None:
            is_kept = begins[1] not in ("DEBUG", "INFO")
            if is_kept:
                entries.append([])
        if is_kept:
            entries[-1].append(f"  {_cut(line)}")
    for entry in entries[-_MOST_ENTRIES:]:
        left = len(entry) - _MOST_LINES
        yield from entry if left <= 0 else (*entry[: _MOST_LINES // 2], "  …", *entry[-_MOST_LINES // 2 :])
    if not entries:
        yield "  none"


def _cut(line: str) -> str:
    """A line that patterns can read quickly. It ends with a whole word: half a key would not be known as one."""
    if len(line) <= _MOST_CHARACTERS:
        return line
    words, _, _ = line[:_MOST_CHARACTERS].rpartition(" ")
    return f"{words} …"
