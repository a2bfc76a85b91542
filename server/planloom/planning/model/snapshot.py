"""Summarizes the workspace for a planner: languages, manifests, and as much of the tree as fits."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Sequence

from planloom.intake.languages import language_of

MOST_ENTRIES = 30
"""The most entries of one folder that are shown; the rest is counted."""
_SMALLEST = 100
"""The fewest characters for which a part of the text is worth showing."""
_LANGUAGES = 6
_MANIFESTS = 20
_NOT_CODE = frozenset({"plaintext", "json", "jsonc", "jsonl", "ini", "diff", "toml", "yaml", "ignore"})
_NAMES = frozenset(
    (
        *(
            "package.json",
            "tsconfig.json",
            "deno.json",
            "pyproject.toml",
            "setup.py",
            "setup.cfg",
            "requirements.txt",
        ),
        *(
            "Pipfile",
            "Cargo.toml",
            "go.mod",
            "pom.xml",
            "build.gradle",
            "build.gradle.kts",
            "settings.gradle",
        ),
        *(
            "Gemfile",
            "composer.json",
            "mix.exs",
            "pubspec.yaml",
            "Package.swift",
            "CMakeLists.txt",
            "meson.build",
        ),
        *(
            "Makefile",
            "justfile",
            "Dockerfile",
            "docker-compose.yml",
            "compose.yaml",
            "flake.nix",
            "Chart.yaml",
        ),
        *(
            "main.tf",
            "Jenkinsfile",
            ".gitlab-ci.yml",
            "build.zig",
            "dune-project",
            "project.clj",
            "stack.yaml",
        ),
    )
)
_SUFFIXES = (".csproj", ".sln", ".fsproj", ".cabal", ".gemspec")


class _Folder:
    """The contents of a folder; `files` counts the files below it at any depth."""

    def __init__(self) -> None:
        self.folders: dict[str, _Folder] = {}
        self.names: list[str] = []
        self.files = 0
        self.shown = False


def snapshot(paths: Sequence[str], most_characters: int, *, whole: bool = True) -> str:
    """The summary in at most `most_characters`, upper levels first; empty without paths.

    `paths` are relative and sorted, folders end with a slash; `whole`: the list is complete.
    """
    if not paths:
        return ""
    head = "".join(f"{line}\n" for line in _facts(paths, whole=whole))
    root = _tree(paths)
    _unfold(root, most_characters - len(head))
    return shortened_lines(head + "".join(f"{line}\n" for line in _lines(root, 0)), most_characters)


def shortened_lines(text: str, most: int | None) -> str:
    """The text cut after a line, with a note; empty if there is too little space."""
    if most is None or len(text) <= most:
        return text
    if most < _SMALLEST:
        return ""
    kept = text[: most - 40].rpartition("\n")[0]
    left = text.count("\n") - kept.count("\n")
    return f"{kept}\n… ({left} more lines)"


def _facts(paths: Sequence[str], *, whole: bool) -> Iterator[str]:
    files = [path for path in paths if not path.endswith("/")]
    yield _counted(len(files)) + ("" if whole else " and more")
    counted = Counter(language for path in files if (language := language_of(path)) is not None)
    languages = [each for each in counted.most_common() if each[0] not in _NOT_CODE][:_LANGUAGES]
    if languages:
        yield "Languages: " + ", ".join(f"{language} ({count})" for language, count in languages)
    manifests = sorted(
        (path for path in files if _is_manifest(path)), key=lambda path: (path.count("/"), path)
    )
    if manifests:
        more = f" and {len(manifests) - _MANIFESTS} more" if len(manifests) > _MANIFESTS else ""
        yield "Manifests: " + ", ".join(manifests[:_MANIFESTS]) + more


def _counted(files: int) -> str:
    return "1 file" if files == 1 else f"{files} files"


def _is_manifest(path: str) -> bool:
    name = path.rpartition("/")[2]
    return name in _NAMES or name.endswith(_SUFFIXES)


def _tree(paths: Sequence[str]) -> _Folder:
    root = _Folder()
    for path in paths:
        *above, name = path.removesuffix("/").split("/")
        folder = root
        is_file = not path.endswith("/")
        folder.files += is_file
        for each in above:
            folder = folder.folders.setdefault(each, _Folder())
            folder.files += is_file
        if is_file:
            folder.names.append(name)
        else:
            folder.folders.setdefault(name, _Folder())
    return root


def _unfold(root: _Folder, available: int) -> None:
    """Show folders from the top down, as long as their contents fit."""
    queue = deque([(root, 0)])
    while queue:
        folder, depth = queue.popleft()
        folder.shown = True
        cost = sum(len(line) + 1 for line in _entries(folder, depth))
        if cost > available and depth:
            folder.shown = False
            continue
        available -= cost
        queue.extend((inner, depth + 1) for inner in list(folder.folders.values())[:MOST_ENTRIES])


def _entries(folder: _Folder, depth: int) -> Iterator[str]:
    """The lines for the direct contents of a folder, with its folders closed."""
    indent = "  " * depth
    for name, inner in list(folder.folders.items())[:MOST_ENTRIES]:
        yield f"{indent}{name}/ ({_counted(inner.files)})"
    yield from (f"{indent}{name}" for name in folder.names[:MOST_ENTRIES])
    more = max(0, len(folder.names) - MOST_ENTRIES) + max(0, len(folder.folders) - MOST_ENTRIES)
    if more:
        yield f"{indent}… {more} more"


def _lines(folder: _Folder, depth: int) -> Iterator[str]:
    folders = list(folder.folders.items())[:MOST_ENTRIES]
    for line, (name, inner) in zip(_entries(folder, depth), folders, strict=False):
        if not inner.shown:
            yield line
            continue
        yield f"{'  ' * depth}{name}/"
        yield from _lines(inner, depth + 1)
    yield from list(_entries(folder, depth))[len(folders) :]
