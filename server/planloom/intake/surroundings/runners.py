"""How tests are run: which command belongs to which file of a project, and which one its instructions state."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Final, NamedTuple

from planloom.domain.patterns import pattern


class Runner(NamedTuple):
    """A command that runs tests.

    `instead` are (file, command) pairs: the first whose file is in the same folder replaces `command`.
    """

    command: str
    instead: tuple[tuple[str, str], ...] = ()


_RUNNERS: Final[Mapping[str, Runner]] = {
    "pytest": Runner("pytest", (("uv.lock", "uv run pytest"), ("poetry.lock", "poetry run pytest"))),
    "package.json": Runner(
        "npm test",
        (
            ("pnpm-lock.yaml", "pnpm test"),
            ("yarn.lock", "yarn test"),
            ("bun.lock", "bun run test"),
            ("bun.lockb", "bun run test"),
        ),
    ),
    "Cargo.toml": Runner("cargo test"),
    "go.mod": Runner("go test ./..."),
}
"""The runners of manifests that are read, by which it is known that there are tests."""

_BY_PRESENCE: Final[Mapping[str, Runner]] = {
    "pytest.ini": _RUNNERS["pytest"],
    "noxfile.py": Runner("nox"),
    "manage.py": Runner("python manage.py test"),
    "pom.xml": Runner("mvn test", (("mvnw", "./mvnw test"),)),
    "build.gradle": Runner("gradle test", (("gradlew", "./gradlew test"),)),
    "build.gradle.kts": Runner("gradle test", (("gradlew", "./gradlew test"),)),
    "build.sbt": Runner("sbt test"),
    "project.clj": Runner("lein test"),
    "deps.edn": Runner("clojure -X:test"),
    "deno.json": Runner("deno test"),
    "deno.jsonc": Runner("deno test"),
    ".rspec": Runner("bundle exec rspec"),
    "Rakefile": Runner("rake test"),
    "phpunit.xml": Runner("vendor/bin/phpunit"),
    "phpunit.xml.dist": Runner("vendor/bin/phpunit"),
    "mix.exs": Runner("mix test"),
    "rebar.config": Runner("rebar3 eunit"),
    "pubspec.yaml": Runner("dart test"),
    "Package.swift": Runner("swift test"),
    "stack.yaml": Runner("stack test"),
    "cabal.project": Runner("cabal test"),
    "dune-project": Runner("dune test"),
    "build.zig": Runner("zig build test"),
    "meson.build": Runner("meson test -C build"),
    "CMakeLists.txt": Runner("ctest --test-dir build"),
    "MODULE.bazel": Runner("bazel test //..."),
    "shard.yml": Runner("crystal spec"),
    "Project.toml": Runner("julia --project -e 'using Pkg; Pkg.test()'"),
}
"""The runners of files whose mere presence tells; they are not read."""
_BY_SUFFIX: Final[Mapping[str, Runner]] = {
    ".sln": Runner("dotnet test"),
    ".slnx": Runner("dotnet test"),
    ".csproj": Runner("dotnet test"),
    ".fsproj": Runner("dotnet test"),
    ".cabal": Runner("cabal test"),
}
_ALL: Final = (*_RUNNERS.values(), *_BY_PRESENCE.values(), *_BY_SUFFIX.values())
_COMMANDS: Final = [
    command for runner in _ALL for command in (runner.command, *(each for _, each in runner.instead))
]
_OTHER_PROGRAMS: Final = """
    python python3 py tox make just task composer npx pnpx yarn bunx node hatch pdm rye pipenv nix docker bash sh php
    ruby ant
"""
_PROGRAMS: Final = frozenset((*(command.split()[0] for command in _COMMANDS), *_OTHER_PROGRAMS.split()))
"""The programs with which a command of a project's instructions may begin."""
_SPAN: Final = pattern(r"`([^`]{3,120})`")
_SETTING: Final = pattern(r"[A-Za-z_]\w*=\S*")
_TESTS: Final = pattern(r"test|\bspec\b|\brspec\b", re.IGNORECASE)
_RUNS_THEM: Final = pattern(
    r"\b(?:run|start|execut)\w*\s+(?:(?:all|the|our|its|unit|whole)\s+){0,3}(?:tests|test suite)\b[^`.;]{0,20}$",
    re.IGNORECASE,
)
_RUN_IT: Final = pattern(r"\b(?:run|runs|use|with|using|by)[\s:]+$", re.IGNORECASE)
_ADVISES_AGAINST: Final = pattern(
    r"(?:\b(?:not|never|avoid|before|after|instead of|rather than)\b|n't\b)[^.;`]*$", re.IGNORECASE
)
_EXAMPLE: Final = pattern(r"::|[<>{}…]|\.\.\.|path/to")
"""Signs of commands that run a single test, or that are not meant literally."""


def stated_command(instructions: str) -> str | None:
    """The command by which a project's instructions say that its tests are run: the first that is code there."""
    in_block = False
    for line in instructions.splitlines():
        if line.lstrip().startswith(("```", "~~~")):
            in_block = not in_block
            continue
        if in_block:
            code = line.partition(" #")[0].strip().removeprefix("$ ")
            if _is_command(code) and _TESTS.search(code):
                return code
            continue
        for found in _SPAN.finditer(line):
            code, before = found[1].strip(), line[: found.start()]
            # One word alone may be the name of a tool.
            tests = _RUNS_THEM.search(before) or (
                _TESTS.search(code) and (" " in code or code.startswith("./") or _RUN_IT.search(before))
            )
            if tests and _is_command(code) and not _ADVISES_AGAINST.search(before):
                return code
    return None


def named_commands(request: str) -> tuple[str, ...]:
    """The commands that a request names as code. One word alone is rather the name of a tool."""
    return tuple(code for code in _SPAN.findall(request) if " " in code and _is_command(code))


def _is_command(code: str) -> bool:
    words = [word for word in code.split() if not _SETTING.fullmatch(word)]
    if not words or _EXAMPLE.search(code) or not code.isprintable():
        return False
    return words[0] in _PROGRAMS or words[0].startswith("./")


def same_runner(stated: str, found: str) -> bool:
    """Whether a command that a file tells is another form of the one that the instructions state."""
    program = found.rsplit(maxsplit=1)[-1]
    return found == stated or (program != "test" and program in stated.split())


def command_of(kind: str, beside: Collection[str]) -> str:
    """The command of a runner in a folder with these files."""
    return _chosen(_RUNNERS[kind], beside)


def by_presence(beside: Collection[str]) -> Iterator[tuple[str, str]]:
    """The files in a folder that tell by their presence how its tests are run, each with the command."""
    for name in sorted(beside):
        runner = _BY_PRESENCE.get(name) or _BY_SUFFIX.get(f".{name.rpartition('.')[2]}")
        if runner is not None:
            yield name, _chosen(runner, beside)


def _chosen(runner: Runner, beside: Collection[str]) -> str:
    return next((command for name, command in runner.instead if name in beside), runner.command)
