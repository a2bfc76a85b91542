"""Finds the files of the workspace that a command runs, so that an approval covers what they contain.

What a shell makes of a text cannot be known from the text: this binds an approval to the files that are named in a
usual form, and says where they cannot be told. It is not a security boundary.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from planloom.domain.safety.shell_words import ShellWord, SimpleCommand, simple_commands
from planloom.domain.safety.started_programs import INTERPRETERS, SHELLS, last_name, program_of
from planloom.domain.values import Sha256
from planloom.tools.processes.commands import Command

MOST_FILES = 2_000
MOST_BYTES = 1_000_000_000
"""Most files of one command that are hashed, and most bytes of all of them; with more its scripts cannot be told."""
ESCAPE: Final = "^" if os.name == "nt" else "\\"
"""The character that takes the meaning of the one behind it, in the system's shell."""
_MOST_WORDS: Final = 2_000
_MOST_DEPTH: Final = 5
_MOST_FOLDERS: Final = 8
_MOST_READ: Final = 1_000_000
_MOST_LISTED: Final = 50_000
"""Most names that are looked at for files that a program finds by itself."""

_PACKAGE: Final = ("package.json",)
_IMPLIED: Final[Mapping[str, tuple[str, ...]]] = {
    "make": ("GNUmakefile", "makefile", "Makefile"),
    "just": ("justfile", "Justfile", ".justfile"),
    "task": ("Taskfile.yml", "Taskfile.yaml"),
    "rake": ("Rakefile",),
    "tox": ("tox.ini", "pyproject.toml", "setup.cfg"),
    "nox": ("noxfile.py",),
    "pytest": ("conftest.py", "pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg"),
    **dict.fromkeys(
        ("gradle", "gradlew"),
        ("build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts"),
    ),
    **dict.fromkeys(("mvn", "mvnw"), ("pom.xml",)),
    **dict.fromkeys(("pip", "pip3", "uv"), ("setup.py", "setup.cfg", "pyproject.toml")),
    "ant": ("build.xml",),
    "cmake": ("CMakeLists.txt",),
    "cargo": ("build.rs", "Cargo.toml"),
    "docker": ("Dockerfile", "compose.yaml", "compose.yml", "docker-compose.yml", "docker-compose.yaml"),
    "pre-commit": (".pre-commit-config.yaml",),
    "invoke": ("tasks.py",),
    "vite": ("vite.config.ts", "vite.config.js"),
    **dict.fromkeys(("npm", "npx", "pnpm", "yarn", "bun"), _PACKAGE),
}
"""Files that these programs read or run without being named in the command."""
_SCRIPT_TESTS: Final = (
    r"(?:.*/)?(?:(?:.*[._-])?(?:test|spec)|test-.*|(?:tests?|__tests__|spec)/.*)\.[cm]?[jt]sx?"
)
_FOUND: Final = {
    words: re.compile(names)
    for words, names in {
        **dict.fromkeys(("pytest", "py.test"), r".*(?:^|/)(?:test_.*|.*_test|conftest)\.py"),
        "unittest": r".*(?:^|/)test.*\.py",
        "go test": r".*_test\.go",
        **dict.fromkeys(
            ("node --test", "mocha", "jest", "vitest", "ava", "bun test", "deno test"), _SCRIPT_TESTS
        ),
        "rspec": r".*_spec\.rb",
        "phpunit": r".*Test\.php",
        "cargo test": r".*(?:^|/)tests/.*\.rs",
        **dict.fromkeys(
            ("gradle", "gradlew", "mvn", "mvnw"), r".*(?:Test|Tests|IT|Spec)\.(?:java|kt|groovy|scala)"
        ),
        **dict.fromkeys(("terraform", "tofu"), r"[^/]*\.tf(?:\.json)?"),
    }.items()
}
"""The paths of files that programs find and run by themselves: below the folders that they name, else below their own.

Folders that none of them enters are left out (`_NOT_ENTERED`).
"""
_NOT_ENTERED: Final = re.compile(r"\..*|node_modules|venv|__pycache__")
_PYTHON: Final = re.compile(r"(?:python|pypy)[\d.]*(?:\.exe)?")
_FOLDER_OPTIONS: Final = frozenset(
    {"-C", "-d", "-p", "--directory", "--prefix", "--cwd", "--dir", "--project-dir"}
)
_FILE_OPTIONS: Final = frozenset({"-f", "--file", "--makefile", "--justfile"})
_IN_TEXT: Final = re.compile(r"[\w.~/+-]+")
_NAME: Final = re.compile(r"[A-Za-z_]\w*")
_SUFFIXES: Final = (".js", ".mjs", ".cjs", ".ts", ".py", ".rb", "/index.js")
_INCLUDE: Final = re.compile(r"^[ ]*(?:-|s)?include[ \t]+(.+)$", re.MULTILINE)


class Script(NamedTuple):
    """A file of the workspace that a command runs, and the hash of its content."""

    name: str
    digest: Sha256


class CommandScripts(NamedTuple):
    """The scripts that a command is known to run. `is_whole` is False where its text does not tell."""

    files: tuple[Script, ...]
    is_whole: bool = True


def scripts_of(command: Command, roots: Iterable[Path]) -> CommandScripts:
    """The files of the workspace that a command names, or that its program is known to run. Blocks on file I/O."""
    reader = _Reader(tuple(root.resolve() for root in roots))
    if command.line is None:
        words = tuple(ShellWord(word) for word in command.argv)
        reader.read((SimpleCommand(words),), (command.cwd,))
    else:
        reader.read(_split(command.line), (command.cwd,))
    files = sorted({Script(name, digest) for name, digest in reader.files.values()})
    return CommandScripts(tuple(files), reader.is_whole)


class _Reader:
    """Collects the files of one command."""

    def __init__(self, roots: tuple[Path, ...]) -> None:
        self._roots = roots
        self._bytes = 0
        self._words = 0
        self.files: dict[Path, Script] = {}
        self.is_whole = True

    def read(self, commands: Sequence[SimpleCommand], places: tuple[Path, ...], depth: int = 0) -> None:
        """Collect the files of commands that run in the last of `places`, or in one of the others."""
        if depth > _MOST_DEPTH:
            self.is_whole = False
            return
        for command in commands:
            self._words += len(command.words)
            if self._words > _MOST_WORDS:
                self.is_whole = False
                return
            program = program_of(command.words)
            if program and program[0].text in ("cd", "pushd", "chdir"):
                places = self._entered(program, places)
                continue
            inside = (*places, *self._folders_named(command.words, places))
            for word in command.words:
                self._named(word, inside)
            self._find(command.words, inside)
            if program:
                self._run(program, command, inside, depth)

    def _folders_named(self, words: Sequence[ShellWord], places: Sequence[Path]) -> Iterator[Path]:
        """The folders that an option has a program enter before it runs."""
        for number, word in enumerate(words):
            option, equals, value = word.text.partition("=")
            following = words[number + 1 : number + 2]
            if option in _FOLDER_OPTIONS and (equals or following):
                yield from (place / (value if equals else following[0].text) for place in places)

    def _find(self, words: Sequence[ShellWord], places: Sequence[Path]) -> None:
        """The files that a program finds by itself, such as tests."""
        line = f" {' '.join(word.text.rpartition('/')[2] for word in words)} "
        patterns = [names for found, names in _FOUND.items() if f" {found} " in line]
        if not patterns:
            return
        texts = [word.text.removesuffix("...").partition("::")[0] for word in words[1:]]
        named = [place / text for place in places for text in texts if text and (place / text).exists()]
        for folder in dict.fromkeys(named or places):
            for path in self._listed(folder):
                if any(names.fullmatch(path.relative_to(folder).as_posix()) for names in patterns):
                    self._add(path)

    def _listed(self, folder: Path) -> Iterator[Path]:
        seen, entered = 0, set[str]()
        for inner, folders, names in os.walk(folder, followlinks=True):
            real = os.path.realpath(inner)
            folders[:] = [
                name for name in folders if not _NOT_ENTERED.fullmatch(name) and real not in entered
            ]
            entered.add(real)
            seen += len(names)
            if seen > _MOST_LISTED:
                self.is_whole = False
                return
            yield from (Path(inner, name) for name in names)

    def _entered(self, words: Sequence[ShellWord], places: tuple[Path, ...]) -> tuple[Path, ...]:
        target = next((word for word in words[1:] if not word.text.startswith("-")), None)
        if target is None or target.is_open or target.is_pattern:
            self.is_whole = False
            return places
        # A folder may be left again at the end of a bracket, so the earlier ones stay.
        return (*places[-_MOST_FOLDERS + 1 :], places[-1] / target.text)

    def _run(
        self, words: Sequence[ShellWord], command: SimpleCommand, places: tuple[Path, ...], depth: int
    ) -> None:
        """Collect what a program is known to run besides the files that its words name."""
        if words[0].is_open:
            self.is_whole = False
            return
        name = last_name(words[0].text)
        started = [word.text for word in command.words]
        feeds = command.gets_output or "xargs" in started or "parallel" in started
        if name in SHELLS:
            self._shell(words, places, depth, feeds=feeds)
        elif name in ("source", "."):
            self._require_told(words[1:2])
        elif name == "eval":
            self._require_told(words[1:])
            self.read(_split(" ".join(word.text for word in words[1:])), places, depth + 1)
        elif INTERPRETERS.fullmatch(name):
            self._interpreter(name, words, places, feeds=feeds)
        elif name == "find" and any(text in ("-exec", "-execdir", "-ok") for text in started):
            self._found(words)
        elif name == "go" and len(words) > 1 and words[1].text in ("run", "generate"):
            for word in words[2:]:
                self._inside(places, word.text, "*.go")
        self._implied(name, words, places, depth)

    def _shell(
        self, words: Sequence[ShellWord], places: tuple[Path, ...], depth: int, *, feeds: bool
    ) -> None:
        for number, word in enumerate(words[1:], start=1):
            if word.text.startswith("-") and not word.text.startswith("--") and "c" in word.text[1:]:
                self._require_told(words[number + 1 : number + 2])
                for text in words[number + 1 : number + 2]:
                    self.read(_split(text.text), places, depth + 1)
                return
            if not word.text.startswith("-"):
                self._script(number, words, places)
                return
        # A shell without a script runs what it reads.
        self.is_whole = self.is_whole and not feeds

    def _interpreter(
        self, name: str, words: Sequence[ShellWord], places: tuple[Path, ...], *, feeds: bool
    ) -> None:
        for number, word in enumerate(words[1:], start=1):
            following = words[number + 1 : number + 2]
            if word.text in ("-c", "-e", "--eval", "-p"):
                code = " ".join(each.text for each in following)
                for module in dict.fromkeys(_NAME.findall(code)[:_MOST_WORDS]):
                    self._module(module, places)
                return
            if word.text == "-m" and _PYTHON.fullmatch(name):
                self._require_told(following)
                for module in following:
                    self._module(module.text, places)
                    self._implied(module.text, words[number + 1 :], places, _MOST_DEPTH)
                return
            if not word.text.startswith("-"):
                self._script(number, words, places)
                for inside in ("__main__.py", "index.js", "package.json"):
                    self._file(places, f"{word.text}/{inside}")
                return
        self.is_whole = self.is_whole and not feeds

    def _script(self, number: int, words: Sequence[ShellWord], places: tuple[Path, ...]) -> None:
        """The script that a program is given as its word of this number, or behind it if that belongs to an option."""
        last = number + 2 if words[number - 1].text.startswith("-") else number + 1
        self._require_told(words[number:last])
        for word in words[number:last]:
            if word.is_pattern:
                self._inside(places, ".", word.text)

    def _module(self, module: str, places: tuple[Path, ...]) -> None:
        """A module of the workspace with the whole package that it belongs to."""
        package = module.partition(".")[0]
        if not package.isidentifier():
            return
        for source in ("", "src/"):
            self._file(places, f"{source}{package}.py")
            self._inside(places, f"{source}{package}", "**/*.py")

    def _found(self, words: Sequence[ShellWord]) -> None:
        """A command that is run with names of files that only the disk tells."""
        texts = [word.text for word in words]
        for number, text in enumerate(texts):
            started = texts[number + 1 : number + 2] if text in ("-exec", "-execdir", "-ok") else []
            for program in started:
                last = program.rpartition("/")[2]
                if program == "{}" or last in SHELLS or INTERPRETERS.fullmatch(last):
                    self.is_whole = False

    def _implied(self, name: str, words: Sequence[ShellWord], places: tuple[Path, ...], depth: int) -> None:
        names = _IMPLIED.get(name, ())
        for number, word in enumerate(words if names else ()):
            if word.text in _FILE_OPTIONS:
                self._require_told(words[number + 1 : number + 2])
        for each in names:
            for path in self._file(places, each):
                if names == _PACKAGE:
                    self._package_scripts(path, words, depth)
                elif name == "make":
                    self._includes(path, depth)

    def _package_scripts(self, path: Path, words: Sequence[ShellWord], depth: int) -> None:
        """The files run by the scripts of a package.json that a command names."""
        try:
            scripts = json.loads(_text(path))["scripts"]
            named = [word.text for word in words if isinstance(scripts.get(word.text), str)]
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return
        for script in named:
            for each in (f"pre{script}", script, f"post{script}"):
                line = scripts.get(each)
                if isinstance(line, str):
                    self.read(_split(line), (path.parent,), depth + 1)

    def _includes(self, path: Path, depth: int) -> None:
        """The files that a makefile includes."""
        for found in _INCLUDE.finditer(_text(path)):
            if depth > _MOST_DEPTH or "$" in found[1]:
                self.is_whole = False
                return
            for name in found[1].partition("#")[0].split():
                for included in self._file((path.parent,), name):
                    self._includes(included, depth + 1)

    def _require_told(self, words: Iterable[ShellWord]) -> None:
        """A script whose name something else completes is not known; what a pattern stands for may grow."""
        for word in words:
            is_expanded = word.text.startswith("~") or ("{" in word.text and "," in word.text)
            if word.is_open or word.is_pattern or is_expanded:
                self.is_whole = False

    def _named(self, word: ShellWord, places: tuple[Path, ...]) -> None:
        """The files that a word names, its value if it is an option with one, or a text in it such as code."""
        texts = [word.text, word.text.rpartition("=")[2], *word.text.split(",")]
        if re.match(r"-[A-Za-z][^-]", word.text):
            texts.append(word.text[2:])
        texts += _IN_TEXT.findall(word.text)[:_MOST_WORDS]
        for text in dict.fromkeys(texts):
            self._file(places, text)
            if text.startswith("."):
                for suffix in _SUFFIXES:
                    self._file(places, text + suffix)

    def _inside(self, places: Iterable[Path], folder: str, pattern: str) -> None:
        for place in places:
            for path in _matches(place / folder, pattern):
                self._add(path)
                if len(self.files) >= MOST_FILES:
                    self.is_whole = False
                    return

    def _file(self, places: Iterable[Path], name: str) -> list[Path]:
        return [path for place in places if name and (path := self._add(place / name)) is not None]

    def _add(self, path: Path) -> Path | None:
        """Hash a file of the workspace; None if there is none."""
        try:
            real = path.resolve()
            root = next((each for each in self._roots if real.is_relative_to(each)), None)
            if root is None or not real.is_file():
                return None
            if real not in self.files:
                self._bytes += real.stat().st_size
                if self._bytes > MOST_BYTES or len(self.files) >= MOST_FILES:
                    self.is_whole = False
                    return None
                with real.open("rb") as file:
                    digest = Sha256(hashlib.file_digest(file, "sha256").hexdigest())
                self.files[real] = Script(real.relative_to(root).as_posix(), digest)
        except (OSError, ValueError, RuntimeError):
            return None
        return real


def _split(line: str) -> tuple[SimpleCommand, ...]:
    return simple_commands(line, ESCAPE)


def _matches(folder: Path, pattern: str) -> Iterator[Path]:
    try:
        if not Path(pattern).is_absolute():
            yield from folder.glob(pattern)
    except (OSError, ValueError, NotImplementedError, IndexError):
        return


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_MOST_READ).decode("utf-8", "replace")
    except OSError:
        return ""
