"""Which commands are known to need the network, or have failed for want of it, so that an approval can ask for it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from planloom.domain.patterns import pattern
from planloom.domain.safety.confinement import Network

_TABLE: Final = """
curl wget http ssh scp sftp gh npx pipx uvx:
git: fetch pull push clone ls-remote submodule
npm pnpm yarn bun: install i ci add update upgrade outdated audit publish view dlx exec create init
pip pip3: install download wheel index
uv: sync add lock pip tool
poetry: install add update lock publish
conda: install create update
cargo: fetch install update add publish search
go: get install mod
apt apt-get brew dnf apk: update install upgrade add
gem bundle: install update add
composer: install update require
dotnet: restore add tool
docker podman: pull push login build
terraform: init plan apply
"""
"""Programs, and those of their sub commands that need the network; without any it is the program itself."""
_FETCHES: Final = {
    program: frozenset(subs.split())
    for programs, _, subs in (line.partition(":") for line in _TABLE.strip().splitlines())
    for program in programs.split()
}
_PARTS: Final = pattern(r"&&|\|\||[;&|()\n`]")
_ASSIGNMENT: Final = pattern(r"\w+=")
_BEFORE_A_PROGRAM: Final = frozenset(("sudo", "env", "time", "nohup", "exec", "command"))
_WITH_A_VALUE: Final = frozenset(
    ("-C", "-c", "--prefix", "--git-dir", "--work-tree", "--cwd", "--directory", "--dir", "--filter")
)
_ADDRESS: Final = pattern(r"(?:\w+://)?(?:[^/@\s]*@)?(\[[0-9a-fA-F:]+\]|[^/:\s]+)(?::\d+)?(?:/.*)?")
_LOOPBACK: Final = pattern(r"localhost|127(?:\.\d{1,3}){3}|\[::1\]", re.IGNORECASE)
_CLIENTS: Final = frozenset(("curl", "wget", "http"))
_LONGEST: Final = 20_000
_LACKS: Final = pattern(
    r"(?i:could not resolve (?:host|proxy)|(?:temporary failure in name|name or service not) (?:resolution|known)"
    r"|network is unreachable|nodename nor servname|no such host is known|getaddrinfo"
    r"|failed to resolve|dial tcp: lookup|couldn't resolve|unable to resolve|failed to lookup address)"
    r"|\b(?:EAI_AGAIN|ENETUNREACH|ENOTFOUND)\b"
)
"""What the usual programs and resolvers print when there is no network."""


def needed_network(command: str, *, background: bool = False) -> Network:
    """The network that a command is known to need; `none` if nothing is known.

    A command in the `background` is a server or a watcher, which others on this machine shall reach.
    """
    needs = {_needs(words) for words in _simple_commands(command[:_LONGEST])}
    if "all" in needs:
        return "all"
    return "loopback" if background or "loopback" in needs else "none"


def lacks_network(output: str) -> bool:
    """Whether a command that has failed seems to have failed for want of the network."""
    return _LACKS.search(output) is not None


def _simple_commands(command: str) -> Iterator[list[str]]:
    """The words of each simple command of a shell's text, from its program on."""
    for part in _PARTS.split(command):
        words = [word.strip("'\"") for word in part.split()]
        while words and (_ASSIGNMENT.match(words[0]) or words[0] in _BEFORE_A_PROGRAM):
            del words[0]
        if words:
            yield words


def _needs(words: list[str]) -> Network:
    program, arguments = words[0].rpartition("/")[2], words[1:]
    if re.fullmatch(r"python[\d.]*", program) and arguments[:1] == ["-m"] and len(arguments) > 1:
        program, arguments = arguments[1], arguments[2:]
    found = _FETCHES.get(program)
    if found is None:
        return "none"
    if program in _CLIENTS:
        return "loopback" if _only_loopback(arguments) else "all"
    return "all" if not found or _sub_command(program, arguments) in found else "none"


def _sub_command(program: str, arguments: list[str]) -> str:
    """The first argument that is no option; `yarn` alone installs."""
    skips = False
    for word in arguments:
        if skips or word.startswith("-"):
            skips = not skips and word in _WITH_A_VALUE
        else:
            return word
    return "install" if program == "yarn" else ""


def _only_loopback(arguments: list[str]) -> bool:
    """Whether the addresses among the arguments of a client are all of this machine."""
    named = [word for word in arguments if "://" in word or _is_loopback(word)]
    return bool(named) and all(map(_is_loopback, named))


def _is_loopback(word: str) -> bool:
    address = _ADDRESS.fullmatch(word)
    return address is not None and _LOOPBACK.fullmatch(address[1]) is not None
