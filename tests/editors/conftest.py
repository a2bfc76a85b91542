"""Where the editors are, and a workspace with a terminal for each test."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.editors.terminal import Terminal

ROOT = Path(__file__).parents[2]
PLAN = '1. Replace "old" with "new" in a.py 2. Create file c.txt with content "hi" 3. List files'
OLD, NEW = "def old():\n    return 1\n", "def new():\n    return 1\n"
"""What `PLAN` finds in a.py, and leaves there."""
_BLOCK = re.compile(r"^```(?:lua|elisp)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="session")
def tools() -> Path:
    """The folder into which `make editors` has put what the journeys need."""
    folder = os.environ.get("PLANLOOM_EDITORS")
    if not folder:
        pytest.skip("`make editors` runs this, with the editors that it installs")
    return Path(folder)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home folder without a model, and without what this machine's user has."""
    folder = tmp_path / "home"
    (folder / ".config").mkdir(parents=True)
    return folder


@pytest.fixture
def environment(home: Path) -> dict[str, str]:
    """What an editor started by hand would have, with `planloom` on its path."""
    programs = Path(sys.executable).parent
    return {
        "HOME": str(home),
        "PATH": f"{programs}:/usr/local/bin:/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "TERM": "xterm-256color",
        "PLANLOOM_CONFIG": str(home / "settings.json"),
    }


@pytest.fixture
def every_call_is_asked(home: Path) -> None:
    """The user has set that the approval of a plan covers no call."""
    (home / "settings.json").write_text('{"approvals": {"plan": "none"}}')


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A small repository."""
    folder = tmp_path / "ws"
    folder.mkdir()
    (folder / "a.py").write_text(OLD)
    (folder / "b.py").write_text("x = 1\n")
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    return folder


@pytest.fixture
def terminal(request: pytest.FixtureRequest) -> Iterator[Terminal]:
    """A terminal, ended after the test; its last screen is kept."""
    made = Terminal(ROOT / "dist" / "editors")
    yield made
    made.stop()


def configuration_of(page: str) -> str:
    """The configuration that a page of the documentation gives, which has at most ten lines."""
    found = _BLOCK.search((ROOT / "docs" / "editors" / page).read_text())
    assert found is not None and len(found[1].splitlines()) <= 10
    return found[1]
