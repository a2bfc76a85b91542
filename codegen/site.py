"""Builds the site of the documentation strictly: `python -m codegen.site [TO]`.

Zensical reads copies of the pages, which lie there as they lie here: a link leads where it does on GitHub.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from codegen.targets import ROOT

COPIED = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "client-vscode/CHANGELOG.md")
"""Pages beside the folders `docs` and `editors`, which are copied whole."""
CODE = re.compile(r"`[^`]*`")
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
WIDTH = 160


def main() -> int:
    to = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "dist" / "site"
    with tempfile.TemporaryDirectory() as work:
        said = built(Path(work), to)
    sys.stderr.write(said)
    return 1 if said else 0


def built(work: Path, to: Path) -> str:
    """Build the site in place of what is there. What is wrong with the pages, or "": then nothing is there."""
    shutil.rmtree(to, ignore_errors=True)
    shutil.copy(ROOT / "docs" / "site" / "zensical.toml", work)
    pages = work / "pages"
    for folder in ("docs", "editors"):
        shutil.copytree(ROOT / folder, pages / folder)
    for name in COPIED:
        (pages / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, pages / name)
    for page in pages.rglob("*.md"):
        page.write_text(with_plain_pipes(page.read_text(encoding="utf-8")), encoding="utf-8")
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean"]
    done = subprocess.run(
        command,
        cwd=work,
        env={**os.environ, "NO_COLOR": "1"},
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode != 0:
        # A report shows whole lines, and a line of these pages is a paragraph; it ends in a traceback of Zensical.
        report = COLOUR.sub("", done.stdout).partition("Traceback")[0] or done.stdout
        return "\n".join(line[:WIDTH] for line in report.splitlines()) + "\n"
    shutil.move(work / "site", to)
    return ""


def with_plain_pipes(page: str) -> str:
    r"""The page for Python-Markdown, which shows the `\` that GitHub wants before a `|` in code of a table."""
    lines = (
        CODE.sub(lambda code: code[0].replace("\\|", "|"), line) if line.startswith("|") else line
        for line in page.split("\n")
    )
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
