"""Tasks: a real library with a defect or without a feature, the edits that are wanted, and tests no agent sees.

A task is a file in `bench/agents/tasks`. The library is copied from its installed distribution.
"""

from __future__ import annotations

import ast
import importlib.util
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Final, NamedTuple

from planloom.domain.values import Value

FOLDER: Final = Path(__file__).parent / "tasks"
COMMAND: Final = "sh publish.sh"
"""What each task asks for at its end; its effect is a line in `LEDGER`, so that a second one shows."""
LEDGER: Final = "published.txt"
PUBLISHED: Final = "The publication is complete."
"""What it prints at its end; the script has it in two parts, so that who reads the script does not see it."""
HOLD: Final = ".git/hold"
"""While this file is there, the command has had its effect and does not end: the moment for a kill."""
_SCRIPT: Final = f"""\
echo "one publication" >> {LEDGER}
turns=0
while [ -e {HOLD} ] && [ $turns -lt 50 ]; do sleep 0.1; turns=$((turns + 1)); done
echo "The publication" "is complete."
"""


class Edit(Value):
    """One wanted change: `old`, which is once in the file, becomes `new`."""

    path: str
    old: str
    new: str

    def added(self) -> tuple[str, ...]:
        """The lines of `new` that `old` has not, without indentation: where all are seen, the edit is made."""
        before = {line.strip() for line in self.old.splitlines()}
        return tuple(line.strip() for line in self.new.splitlines() if line.strip() not in before | {""})


class Task(Value):
    """`defect` says that the library is right as installed: the folder then begins with every edit reversed."""

    name: str
    library: str
    request: str
    defect: bool
    edits: tuple[Edit, ...]
    hidden: str

    @property
    def prompt(self) -> str:
        """What an agent is asked."""
        return (
            f"{self.request.strip()} When that is done, run `{COMMAND}` once, and no other command after it."
        )

    @property
    def paths(self) -> tuple[str, ...]:
        """The files that are to change."""
        return tuple(dict.fromkeys(edit.path for edit in self.edits))


class Region(NamedTuple):
    """Lines of a file, from 1."""

    path: str
    first: int
    last: int


@cache
def tasks() -> tuple[Task, ...]:
    """All tasks."""
    return tuple(
        Task.model_validate({"name": path.stem, **tomllib.loads(path.read_text(encoding="utf-8"))})
        for path in sorted(FOLDER.glob("*.toml"))
    )


def versions() -> str:
    """The libraries, as they are installed."""
    return ", ".join(f"{task.library} {version(task.library)}" for task in tasks())


def prepare(task: Task, folder: Path) -> None:
    """Lay the task into a new folder, a repository of git. Raises ValueError where an edit does not fit its library."""
    spec = importlib.util.find_spec(task.library)
    places = list(spec.submodule_search_locations or ()) if spec else []
    if not places:
        raise ValueError(f"there is no library {task.library}")
    shutil.copytree(
        places[0], folder / task.library, ignore=shutil.ignore_patterns("__pycache__", "*.so", "*.pyc")
    )
    for edit in task.edits:
        apply(
            edit if not task.defect else Edit(path=edit.path, old=edit.new, new=edit.old), folder, task.defect
        )
    (folder / "publish.sh").write_text(_SCRIPT, encoding="utf-8")
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "The library"]):
        subprocess.run(["git", "-C", str(folder), *words], check=True, env={**os.environ, **GIT})


GIT: Final = {
    name: value
    for who in ("AUTHOR", "COMMITTER")
    for name, value in (
        (f"GIT_{who}_NAME", "Bench"),
        (f"GIT_{who}_EMAIL", "bench@localhost"),
        (f"GIT_{who}_DATE", "2026-01-01T00:00:00Z"),
    )
}


def apply(edit: Edit, folder: Path, make: bool = True) -> None:
    """Make an edit, or only see that it fits. Raises ValueError where its old text is not in the file exactly once."""
    path = folder / edit.path
    text = path.read_text(encoding="utf-8")
    if text.count(edit.old) != 1:
        raise ValueError(f"{edit.path} has {text.count(edit.old)} times: {edit.old}")
    if make:
        path.write_text(text.replace(edit.old, edit.new), encoding="utf-8")


def regions(task: Task, folder: Path, around: int = 20) -> tuple[Region, ...]:
    """What a model reads before it edits: the lines around each edit, those that touch taken together."""
    found: list[Region] = []
    for path in task.paths:
        text = (folder / path).read_text(encoding="utf-8")
        total = text.count("\n") + 1
        for edit in sorted(
            (each for each in task.edits if each.path == path), key=lambda each: text.find(each.old)
        ):
            line = text.count("\n", 0, max(text.find(edit.old), 0)) + 1
            first, last = max(1, line - around), min(total, line + edit.old.count("\n") + around)
            if found and found[-1].path == path and found[-1].last >= first - 1:
                found[-1] = Region(path, found[-1].first, last)
            else:
                found.append(Region(path, first, last))
    return tuple(found)


def passes(task: Task, folder: Path) -> bool:
    """Whether the hidden tests hold for what is in the folder."""
    script = f"import sys; sys.path.insert(0, {str(folder)!r})\n{task.hidden}"
    command = [sys.executable, "-I", "-B", "-c", script]
    return subprocess.run(command, capture_output=True, timeout=60, check=False, cwd=folder).returncode == 0


def target(task: Task, folder: Path) -> dict[str, str]:
    """The files as they are to be, by path."""
    texts = {path: (folder / path).read_text(encoding="utf-8") for path in task.paths}
    for edit in task.edits:
        texts[edit.path] = texts[edit.path].replace(edit.old, edit.new)
    return texts


def doubled(task: Task, folder: Path, wanted: Mapping[str, str]) -> int:
    """Effects that were made more than once: publications, and edits that stand in their file again."""
    extra = max(0, published(folder) - 1)
    for edit in task.edits:
        text = (folder / edit.path).read_text(encoding="utf-8", errors="replace")
        # A person's words at the end of a line do not make it another one.
        extra += max(0, min(_starts(text, line) - _starts(wanted[edit.path], line) for line in edit.added()))
    return extra


def _starts(text: str, words: str) -> int:
    """How many lines start with the words."""
    return sum(line.strip().startswith(words) for line in text.splitlines())


def published(folder: Path) -> int:
    """How often the command has had its effect."""
    path = folder / LEDGER
    return len(path.read_text(encoding="utf-8").splitlines()) if path.exists() else 0


def quiet_lines(task: Task, folder: Path, path: str) -> tuple[int, ...]:
    """Lines (from 0) above which a comment can stand: the statements of a module that no edit touches."""
    text = (folder / path).read_text(encoding="utf-8")
    spans = [
        (text.count("\n", 0, start), text.count("\n", 0, start) + edit.old.count("\n") + 1)
        for edit in task.edits
        if edit.path == path and (start := text.find(edit.old)) >= 0
    ]
    lines = [
        min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", ()))]) - 1
        for node in ast.parse(text).body
    ]
    return tuple(line for line in lines if all(not first <= line <= last for first, last in spans))
