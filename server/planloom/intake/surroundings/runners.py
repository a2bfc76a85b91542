"""How tests are run, as a table: which command belongs to which file of a project."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Final, NamedTuple


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
