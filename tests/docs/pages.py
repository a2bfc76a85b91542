"""The pages that people read, and what they tell to type: the blocks for a shell, cut into commands."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

PROJECT = Path(__file__).parents[2]
PAGES = [
    PROJECT / "README.md",
    PROJECT / "client-vscode/README.md",
    *sorted((PROJECT / "docs").rglob("*.md")),
    *sorted((PROJECT / "editors").rglob("*.md")),
]
_BLOCK = re.compile(r"^( *)```(?:sh|bash|console)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)


def name_of(page: Path) -> str:
    """The page as a person names it."""
    return page.relative_to(PROJECT).as_posix()


def blocks(page: Path) -> list[str]:
    """The blocks for a shell, without the prompt of one that shows a session."""
    return [
        re.sub(rf"^{indent}(?:\$ )?", "", text, flags=re.MULTILINE)
        for indent, text in _BLOCK.findall(page.read_text(encoding="utf-8"))
    ]


def commands(block: str) -> Iterator[str]:
    """The commands of a block: a line each, or more where a quotation goes on."""
    command = ""
    for line in block.splitlines():
        command += line
        try:
            is_whole = not command.endswith("\\")
            words = shlex.split(command, comments=True)
        except ValueError:
            is_whole = False
        if not is_whole:
            command += "\n"
            continue
        if words:
            yield command
        command = ""
    assert not command.strip(), f"a quotation has no end: {command}"
