"""Each recipe of docs/extending.md is complete: whoever follows it in a copy of the project fails no guard."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

PROJECT = Path(__file__).parents[2]
RECIPES = {path.stem: path for path in sorted((PROJECT / "tests/data/recipes").glob("*.toml"))}
GUARDS = (
    *("tests/codegen", "tests/docs", "tests/test_settings.py", "tests/bench/test_prompts.py"),
    *("tests/tools/test_builtin_tools.py", "tests/tools/test_counting.py", "tests/planning/test_schema.py"),
    *("tests/security/test_tools_and_secrets.py", "tests/models/test_providers.py"),
    *("tests/domain/test_lifecycle.py::test_every_event_has_a_rule", "tests/lsp/test_derived_messages.py"),
    "tests/lsp/test_golden.py",
)


def copy(to: Path) -> None:
    """Copy all that is under version control, or would be. The copy has no environment of its own."""
    listed = ("git", "-C", str(PROJECT), "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    names = subprocess.run(listed, check=True, capture_output=True, text=True).stdout.split("\0")
    for name in filter(None, names):
        if (PROJECT / name).is_file():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(PROJECT / name, to / name)
    (to / ".venv").symlink_to(Path(sys.prefix))


def perform(recipe: dict[str, Any], root: Path) -> None:
    """Put each text before its place, or in place of a part of it."""
    for part in recipe["add"]:
        path, place = root / part["path"], part.get("before", "")
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        assert place in text, f"mend tests/data/recipes: {part['path']} has no {place!r}"
        head, tail = text[: text.index(place)], text[text.index(place) :]
        path.write_text(head + part["text"] + tail.removeprefix(part.get("instead", "")), encoding="utf-8")


@pytest.mark.slow
@pytest.mark.process
@pytest.mark.timeout(900)
@pytest.mark.skipif(sys.platform != "linux", reason="the golden files of journeys are written on Linux")
def test_whoever_follows_the_recipes_fails_no_guard(tmp_path: Path) -> None:
    copy(tmp_path)
    for path in RECIPES.values():
        perform(tomllib.loads(path.read_text(encoding="utf-8")), tmp_path)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "server")}
    environment = {name: value for name, value in environment.items() if not name.startswith("PYTEST_")}
    make = ("make", "--silent", "-o", ".venv/.ready")
    guards = (".venv/bin/pytest", "-n", "2", "-m", "not slow and not process", *GUARDS)
    for command in ((*make, "generate"), (*make, "lint", "imports"), guards):
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"
