"""What manifests say in a line, and which command runs a project's tests."""

from __future__ import annotations

import pytest

from planloom.intake.surroundings.manifests import MOST_READ, Manifest, read_manifest
from planloom.intake.surroundings.runners import by_presence, named_commands, stated_command

PYPROJECT = """
[project]
name = "tides"
requires-python = ">=3.11"
dependencies = ["httpx>=0.27", "rich ; python_version < '4'"]
[project.scripts]
tides = "tides:main"
[project.optional-dependencies]
tests = ["pytest>=9"]
[tool.ruff]
"""
POETRY = """
[tool.poetry]
name = "tides"
[tool.poetry.dependencies]
python = "^3.11"
httpx = "*"
[tool.poetry.group.dev.dependencies]
pytest = "*"
"""
PACKAGE = """{
  "name": "shop",
  "scripts": {"build": "vite build", "test": "vitest run"},
  "dependencies": {"lit": "^3"},
  "devDependencies": {"vitest": "^2"}
}"""
MAKEFILE = """
.PHONY: test
VERSION := 1
build: src ## make it
\tcc x.c
test unit: build
\t./run
"""
GO_MOD = """
module example.com/a

go 1.24

require (
\tgithub.com/x/y v1.2.3
\tgolang.org/x/z v0.1.0 // indirect
)
"""
JUSTFILE = """
name := "x"
check target="all":
    cargo test
"""

READ: list[tuple[str, str, set[str], Manifest | None]] = [
    (
        "pyproject.toml",
        PYPROJECT,
        set(),
        Manifest(
            "tides; Python >=3.11; scripts tides; needs httpx, rich; extra tests: pytest; tools ruff",
            ("pytest",),
        ),
    ),
    (
        "pyproject.toml",
        '[project]\nname = "a"\n[dependency-groups]\ndev = ["pytest"]\n',
        {"uv.lock"},
        Manifest("a; extra dev: pytest", ("uv run pytest",)),
    ),
    (
        "pyproject.toml",
        POETRY,
        {"poetry.lock"},
        Manifest("tides; needs httpx; extra dev: pytest", ("poetry run pytest",)),
    ),
    ("pyproject.toml", '[project]\nname = "a"\n', set(), Manifest("a")),
    ("pyproject.toml", "[tool.tox]\n", set(), Manifest("tools tox", ("tox",))),
    ("setup.cfg", "[metadata]\nname = a\n[tool:pytest]\n", set(), Manifest("a", ("pytest",))),
    (
        "tox.ini",
        "[tox]\nenv_list =\n  py\n  lint\n[testenv]\ncommands = pytest %s\n",
        set(),
        Manifest("environments py, lint", ("pytest", "tox")),
    ),
    (
        "requirements-dev.txt",
        "# tools\n-r base.txt\npytest>=9\n",
        set(),
        Manifest("needs pytest", ("pytest",)),
    ),
    (
        "package.json",
        PACKAGE,
        set(),
        Manifest("shop; scripts build, test; needs lit; for development vitest", ("npm test",)),
    ),
    (
        "package.json",
        '{"scripts": {"test": "jest"}}',
        {"pnpm-lock.yaml"},
        Manifest("scripts test", ("pnpm test",)),
    ),
    (
        "package.json",
        '{"name": "a", "scripts": {"test": "echo \\"Error: no test specified\\" && exit 1"}}',
        set(),
        Manifest("a; scripts test"),
    ),
    (
        "composer.json",
        '{"scripts": {"test": "phpunit"}}',
        set(),
        Manifest("scripts test", ("composer test",)),
    ),
    (
        "Cargo.toml",
        '[package]\nname = "a"\nedition = "2024"\n[dependencies]\nserde = "1"\n',
        set(),
        Manifest("a; edition 2024; needs serde", ("cargo test",)),
    ),
    (
        "go.mod",
        GO_MOD,
        set(),
        Manifest("example.com/a; Go 1.24; needs github.com/x/y", ("go test ./...",)),
    ),
    ("Makefile", MAKEFILE, set(), Manifest("targets build, test", ("make test",))),
    ("justfile", JUSTFILE, set(), Manifest("targets check", ("just check",))),
    ("package.json", "{broken", set(), None),
    ("package.json", "[" * MOST_READ, set(), None),
    ("package.json", "[]", set(), None),
    ("pyproject.toml", "= nothing", set(), None),
    ("tox.ini", "no section\n", set(), None),
    ("README.md", "pytest", set(), None),
]


@pytest.mark.parametrize(("name", "text", "beside", "expected"), READ)
def test_what_a_manifest_says(name: str, text: str, beside: set[str], expected: Manifest | None) -> None:
    assert read_manifest(name, text, beside) == expected


def test_names_are_bounded_and_on_one_line() -> None:
    many = ", ".join(f'"p{n}"' for n in range(40))
    read = read_manifest(
        "pyproject.toml", f'[project]\nname = "a\\nREQUEST\\u202e"\ndependencies = [{many}]', ()
    )
    assert read is not None
    assert read.facts.startswith("a REQUEST<U+202E>; needs p0, p1, ") and read.facts.endswith(" and 28 more")
    long = read_manifest("package.json", '{"name": "' + "x" * 5_000 + '"}', ())
    assert long is not None and len(long.facts) == 60


@pytest.mark.parametrize(
    ("beside", "commands"),
    [
        ({"pom.xml"}, ["mvn test"]),
        ({"pom.xml", "mvnw"}, ["./mvnw test"]),
        ({"build.gradle.kts", "gradlew"}, ["./gradlew test"]),
        ({"Tides.sln", "README.md"}, ["dotnet test"]),
        ({"mix.exs"}, ["mix test"]),
        ({"pytest.ini", "noxfile.py"}, ["nox", "pytest"]),
        ({"README.md", "main.py"}, []),
    ],
)
def test_what_the_presence_of_a_file_says(beside: set[str], commands: list[str]) -> None:
    assert [command for _, command in by_presence(beside)] == commands


@pytest.mark.parametrize(
    ("instructions", "command"),
    [
        ("- Run the tests with `python -m pytest`. Warnings are errors.", "python -m pytest"),
        ("Run all tests: `make check`.", "make check"),
        ("Before a commit:\n\n```sh\n$ npm ci\n$ npm run test:unit   # quick\n```\n", "npm run test:unit"),
        ("Use `CI=1 cargo nextest run`, never `cargo test`.", "CI=1 cargo nextest run"),
        ("Never run `npm test`; tests run with `pnpm vitest`.", "pnpm vitest"),
        ("Don't call `tox`: use `./run-tests.sh`", "./run-tests.sh"),
        ("One test: `pytest tests/test_a.py::test_b`. All: `pytest -q`", "pytest -q"),
        ("Tests are in `tests/test_*.py` and use `test_client`. Format with `make format`.", None),
        ("Before running the tests: `make build`", None),
        ("Write tests with the `pytest` fixtures in `def test_x()`.", None),
    ],
)
def test_instructions_state_how_tests_are_run(instructions: str, command: str | None) -> None:
    assert stated_command(instructions) == command


def test_a_request_names_commands_as_code() -> None:
    request = "Make `npm run lint` pass, rename `old name` to `new`, with `python`. Not `make a | b`."
    assert named_commands(request) == ("npm run lint", "make a | b")
