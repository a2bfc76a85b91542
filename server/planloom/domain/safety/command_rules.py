"""Rules by which the user allows commands ahead: the words with which a simple command begins.

A rule covers a part of a line only if all that the part does stands in its words: no pipe, redirection, bracket,
variable or command within it. A line is covered if each of its parts is.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from planloom.domain.safety.confinement import Confinement
from planloom.domain.safety.shell_words import SimpleCommand, simple_commands
from planloom.domain.safety.started_programs import INTERPRETERS, SHELLS, STARTERS, last_name

Words = tuple[str, ...]
_TABLE: Final = """
pytest py.test mypy pyright ruff black isort flake8 pylint tox nox coverage jest vitest mocha ava eslint prettier tsc
  biome stylelint ctest ninja rspec rubocop phpunit phpstan golangci-lint gofmt rustfmt clang-format clang-tidy
  shellcheck:
git: add commit checkout switch branch stash merge rebase tag fetch pull restore revert cherry-pick mv status log diff
  show blame
npm pnpm yarn bun: test start ci install build lint
cargo: build check test clippy fmt doc bench
go: build test vet fmt generate mod
dotnet: build test restore format
mvn mvnw: compile test verify package
gradle gradlew: build test check assemble
make just task rake mix composer: *
pre-commit: run
pip pip3: install list
uv poetry pipenv: sync install lock
"""
"""Programs for which a rule is offered, with the sub commands for which it is; `*` stands for any word."""
_OFFERED: Final[Mapping[str, frozenset[str]]] = {
    program: frozenset(subs.split())
    for names, _, subs in (line.partition(":") for line in _TABLE.strip().replace("\n ", " ").splitlines())
    for program in names.split()
}
_RUNNERS: Final = frozenset(
    [(program, "run") for program in ("npm", "pnpm", "yarn", "bun", "uv", "poetry", "pipenv", "hatch", "pdm")]
    + [("bundle", "exec")]
)
"""Programs with a sub command that starts what follows it: a tool, or a script by its name."""
_OF_SCRIPTS: Final = frozenset({"npm", "pnpm", "yarn", "bun"})
_NEVER: Final = SHELLS | STARTERS.keys() | {"eval", "source", ".", "find", "ssh", "npx", "uvx", "pipx"}
"""Programs that run whatever their arguments say."""


class CommandRule(NamedTuple):
    """Commands that begin with these words may run in this confinement; `exact`, with no more words."""

    words: Words
    confinement: Confinement = Confinement()
    exact: bool = False

    @property
    def text(self) -> str:
        """The rule as people read it."""
        return shlex.join(self.words) + ("" if self.exact else " …")

    def covers(self, words: Words) -> bool:
        """Whether a part of a line is one of these commands."""
        return words[: len(self.words)] == self.words and (not self.exact or words == self.words)


def parts_of(line: str, escape: str = "\\") -> tuple[Words, ...] | None:
    """The words of each part of a line; None if they do not tell all that it does."""
    commands = simple_commands(line, escape)
    return tuple(map(_words, commands)) if commands and all(map(_is_told, commands)) else None


def offered_words(parts: Sequence[Words] | None) -> tuple[Words, ...]:
    """The words of the rules that would cover all parts of a line; empty if no rule is offered for one of them."""
    found = [_offered(part) for part in parts or ()]
    return () if None in found else tuple(dict.fromkeys(words for words in found if words is not None))


def covering(
    parts: Sequence[Words] | None, rules: Iterable[CommandRule], needed: Confinement
) -> Confinement | None:
    """The confinement in which rules allow a line that is known to need so much; None if they do not."""
    enough = [rule for rule in rules if rule.confinement.includes(needed)]
    found = [next((rule for rule in enough if rule.covers(part)), None) for part in parts or ()]
    given = {rule.confinement for rule in found if rule is not None}
    if not found or None in found:
        return None
    return given.pop() if len(given) == 1 else needed


def is_too_wide(words: Sequence[str]) -> bool:
    """Whether a rule of these words would allow any command at all."""
    if not words or last_name(words[0]) in _NEVER or "=" in words[0]:
        return True
    if INTERPRETERS.fullmatch(last_name(words[0])):
        return len(words) < 2 + (words[1:2] == ["-m"]) or words[1] in ("-c", "-e", "-p", "--eval", "run")
    return len(words) == 1 and (words[0] in {program for program, _ in _RUNNERS} or "*" in words[0])


def _offered(words: Words) -> Words | None:
    program, following = last_name(words[0]), words[1:2]
    if INTERPRETERS.fullmatch(program) and words[1:2] == ("-m",):
        return words[:3] if words[2:3] and words[2] in _OFFERED and not _OFFERED[words[2]] else None
    if (program, *following) in _RUNNERS:
        if program in _OF_SCRIPTS:
            return words[:3] if words[2:3] and not words[2].startswith("-") else None
        tool = _offered(words[2:]) if words[2:] else None
        return None if tool is None else words[:2] + tool
    subs = _OFFERED.get(program)
    if subs is None:
        return None
    if not subs:
        return words[:1]
    is_named = bool(following) and ("*" in subs or following[0] in subs) and not following[0].startswith("-")
    return words[:2] if is_named else None


def _is_told(command: SimpleCommand) -> bool:
    return command.is_alone and bool(command.words) and not any(word.is_open for word in command.words)


def _words(command: SimpleCommand) -> Words:
    return tuple(word.text for word in command.words)
