"""Modules, folders and commands that a page names are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from lsprotocol import types

PROJECT = Path(__file__).parents[2]
SERVER = PROJECT / "server" / "planloom"
CLIENT = PROJECT / "client-vscode"
PAGES = [*sorted(PROJECT.glob("*.md")), *sorted((PROJECT / "docs").rglob("*.md"))]

ROOMS = [path.name for path in SERVER.iterdir() if path.is_dir() and path.name != "__pycache__"]
MADE = ("dist",)
"""Folders of what the targets of the Makefile make; a checkout has none."""
ROOTS = [path.name for path in PROJECT.iterdir() if path.is_dir() and not path.name.startswith((".", *MADE))]
FILE = re.compile(
    rf"(?<![\w./@-])(?<!\]\()(?:{'|'.join([*ROOMS, *ROOTS])})/[\w./-]*\.(?:py|ts|mjs|sh|md|json)\b"
)
"""A file below a folder of the project or a room of the server; what a link leads to is tested below."""
QUOTED = re.compile(rf"`((?:{'|'.join([*ROOMS, *ROOTS])})/[\w/-]*)(?:\.(\w+))?`")
"""A folder or module in backticks, also with a name of it: `lsp/routing.parsed_params`."""
ALONE = re.compile(r"`(\w+\.(?:py|ts|mjs|sh))`")
"""A file named without its folder."""
COMMAND = re.compile(r"python -m ([\w.]+)")
ENDINGS = ("", ".py", ".ts")


def exists(path: str) -> bool:
    return any((base / f"{path}{end}").exists() for base in (PROJECT, SERVER, CLIENT) for end in ENDINGS)


def is_there(path: str, name: str) -> bool:
    """Whether a folder or module is there, and the name in it."""
    if name in ("c", "py", "ts", "mjs", "sh", "md", "json", "jsonl", "toml"):
        return exists(f"{path}.{name}")
    module = SERVER / f"{path}.py"
    return exists(path) and (not name or (module.is_file() and name in module.read_text("utf-8")))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(PROJECT).as_posix())
def test_every_path_that_a_page_names_exists(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    missing = [path for path in FILE.findall(text) if not exists(path)]
    missing += [
        f"{path}.{name}"
        for path, name in QUOTED.findall(text)
        if path not in types.METHOD_TO_TYPES and not is_there(path, name)
    ]
    folders = (SERVER, CLIENT / "src", PROJECT / "tests")
    missing += [name for name in ALONE.findall(text) if not any(any(at.rglob(name)) for at in folders)]
    missing += [name for name in COMMAND.findall(text) if not exists(name.replace(".", "/"))]
    assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(PROJECT).as_posix())
def test_every_link_between_pages_leads_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for file, heading in re.findall(r"\]\((?!https?:)([^)#\s]*)#?([^)\s]*)\)", text):
        target = page.parent / file if file else page
        assert target.exists(), file
        found = target.read_text("utf-8") if heading else ""
        headings = re.findall(r"^#+ (.+)$", found, re.M)
        links = [re.sub(r"[^\w -]", "", each).lower().replace(" ", "-") for each in headings]
        links += re.findall(r'^<a id="([\w-]+)"></a>$', found, re.M)
        assert not heading or heading in links, f"{file}#{heading}"
