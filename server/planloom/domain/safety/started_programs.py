"""Finds the programs that a line for a shell starts, also behind `sudo`, `env` and the like, and in `sh -c`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from planloom.domain.safety.shell_words import ShellWord, simple_commands

SHELLS: Final = frozenset({"sh", "bash", "dash", "zsh", "ksh", "ash", "fish"})
INTERPRETERS: Final = re.compile(
    r"(?:python|pypy|node|deno|bun|ruby|perl|php|lua|Rscript|tsx|ts-node|pwsh)[\d.]*(?:\.exe)?"
)
STARTERS: Final[Mapping[str, frozenset[str]]] = {
    **dict.fromkeys(("exec", "command", "builtin", "nohup", "time", "setsid", "caffeinate"), frozenset()),
    **dict.fromkeys(("then", "do", "else", "elif", "if", "while", "until", "!", "{"), frozenset()),
    "env": frozenset({"-u", "-C", "-S"}),
    "sudo": frozenset({"-u", "-g"}),
    "doas": frozenset({"-u"}),
    "nice": frozenset({"-n"}),
    "timeout": frozenset({"-s", "-k", "--signal", "--kill-after"}),
    "stdbuf": frozenset(),
    "xargs": frozenset({"-n", "-I", "-P", "-L", "-d", "-s", "-a"}),
    "parallel": frozenset({"-j"}),
}
"""Programs that start the program named in their arguments, with those of their options that take a value."""
_RUNNERS: Final = frozenset({"uv", "poetry", "pipenv", "hatch", "pdm", "rye", "bundle"})
"""Programs that start another after `run` or `exec`."""
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_]\w*=")
_MOST_DEPTH: Final = 5


def programs(line: str, escape: str = "\\") -> Iterator[tuple[ShellWord, ...]]:
    """Each program that a line starts, with its arguments, as far as the text tells."""
    lines = [line]
    for _ in range(_MOST_DEPTH):
        inner: list[str] = []
        for command in (command for each in lines for command in simple_commands(each, escape)):
            words = tuple(program_of(command.words))
            if words:
                yield words
                inner += _inner_lines(words)
        lines = inner


def program_of(words: Sequence[ShellWord]) -> Sequence[ShellWord]:
    """The words from the program on that a command starts in the end."""
    at = 0
    while at < len(words):
        text = words[at].text
        name = text.rpartition("/")[2]
        if _ASSIGNMENT.match(text):
            at += 1
        elif name in _RUNNERS and at + 1 < len(words) and words[at + 1].text in ("run", "exec"):
            at = _after_options(words, at + 2, frozenset())
        elif name in STARTERS:
            at = _after_options(words, at + 1, STARTERS[name])
            if name == "timeout":
                at += 1
        else:
            break
    return words[at:]


def _after_options(words: Sequence[ShellWord], at: int, with_value: frozenset[str]) -> int:
    while at < len(words) and words[at].text.startswith("-"):
        at += 2 if words[at].text in with_value else 1
    return at


def last_name(path: str) -> str:
    """The name of a program that is started by its path."""
    return re.split(r"[/\\]", path)[-1]


def _inner_lines(words: Sequence[ShellWord]) -> list[str]:
    """The lines that a shell gets as an argument."""
    name = last_name(words[0].text)
    if name == "eval":
        return [" ".join(word.text for word in words[1:])]
    if name not in SHELLS:
        return []
    texts = [word.text for word in words]
    options = (number for number, text in enumerate(texts) if re.fullmatch(r"-[a-z]*c[a-z]*", text))
    return [text for number in options for text in texts[number + 1 : number + 2]][:1]
