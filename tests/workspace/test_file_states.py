"""What differs between two listings of a folder, and which names count wherever they are."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from planloom.workspace.index import file_states
from planloom.workspace.index.file_states import differences

FILES = {
    ".gitignore": "ignored/\n",
    "a/x.txt": "x\n",
    "a/.vscode/tasks.json": "{}\n",
    "a/.git/config": "[core]\n",
    "ignored/y.txt": "y\n",
    "ignored/b/AGENTS.md": "rules\n",
    "build/out.o": "o\n",
    "tool/.vscode.json": "{}\n",
}


def put(root: Path, name: str, text: str) -> None:
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text(text)


def moved(root: Path, old: str, new: str) -> None:
    (root / new).parent.mkdir(parents=True, exist_ok=True)
    shutil.move(root / old, root / new)


def newest(folder: Path) -> int:
    return max(path.stat().st_ctime_ns for path in (folder, *folder.rglob("*")))


CASES: dict[str, tuple[Callable[[Path], object], set[tuple[str, str]]]] = {
    "nothing": (lambda _: None, set()),
    "an ignored file": (lambda root: put(root, "ignored/y.txt", "z\n"), set()),
    "instructions in an ignored folder": (
        lambda root: put(root, "ignored/c/d/AGENTS.md", "EVIL\n"),
        {("create", "ignored/c/d/AGENTS.md")},
    ),
    "instructions in what a build fills": (
        lambda root: put(root, "build/AGENTS.md", "x\n"),
        {("create", "build/AGENTS.md")},
    ),
    "a hook in what a build fills": (
        lambda root: put(root, "build/.git/hooks/x", "EVIL\n"),
        {("create", "build/.git"), ("create", "build/.git/hooks/x")},
    ),
    "a hook of a nested repository": (
        lambda root: put(root, "a/.git/hooks/x", "EVIL\n"),
        {("create", "a/.git/hooks/x")},
    ),
    "what git itself writes of a nested repository": (lambda root: put(root, "a/.git/index", "i\n"), set()),
    "a repository under another name": (
        lambda root: [put(root, f"s/{name}", "EVIL\n") for name in ("HEAD", "commondir", "config")],
        {("create", f"s/{name}") for name in ("HEAD", "commondir", "config")},
    ),
    "the folder above is renamed": (
        lambda root: moved(root, "a", "b"),
        {("rename", f"b/{name}") for name in ("x.txt", ".vscode/tasks.json", ".git", ".git/config")},
    ),
    "a harmless file gets a name that acts": (
        lambda root: moved(root, "tool/.vscode.json", "tool/.vscode/tasks.json"),
        {("create", "tool/.vscode/tasks.json"), ("delete", "tool/.vscode.json")},
    ),
    "the same content with the times set back": (
        lambda root: [
            put(root, "a/.vscode/tasks.json", "[]\n"),
            os.utime(root / "a/.vscode/tasks.json", (1, 1)),
        ],
        {("edit", "a/.vscode/tasks.json")},
    ),
}


@pytest.mark.parametrize(("change", "expected"), CASES.values(), ids=CASES)
@pytest.mark.parametrize("is_read_again", [True, False])
def test_what_differs(
    tmp_path: Path,
    change: Callable[[Path], object],
    expected: set[tuple[str, str]],
    is_read_again: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Ignored folders are not read again once they have been the same for a moment: here for one tick of the clock.
    monkeypatch.setattr(file_states, "GRAIN_NS", 0)
    root = tmp_path / "w"
    for name, text in FILES.items():
        put(root, name, text)
    os.utime(root / "a/.vscode/tasks.json", (1, 1))
    made = newest(tmp_path)
    while newest(tmp_path) == made:
        put(tmp_path, "probe", "")
    before = file_states.file_states(root, (), {})
    change(root)
    after = file_states.file_states(root, (), {} if is_read_again else before.ignored)
    found = {(each.change, each.path) for each in differences(root, before, after, 0)}
    assert found == expected
