"""What README.md tells people to type works as it is printed."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from pathlib import Path

import pytest

from demo.demo import play
from planloom.cli.arguments import parsed
from planloom.settings import resolve

PROJECT = Path(__file__).parents[2]
README = (PROJECT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```sh\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
ELSEWHERE = re.compile(r"^(uv|pipx|ollama|planloom key) |--base-url", re.MULTILINE)
"""What installs something, asks for a key or asks a model."""
HERE = [block for block in BLOCKS if not ELSEWHERE.search(block)]
SPANS = [
    span
    for span in re.findall(r"`(planloom [^`]+)`", README)
    if not span.startswith(("planloom serve", "planloom acp"))
]


@pytest.mark.process
@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
def test_the_commands_that_need_no_model_run_in_their_order_and_leave_what_they_should(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "own"
    folder.mkdir()
    variables = {
        "HOME": str(tmp_path),
        "XDG_STATE_HOME": str(tmp_path / "state"),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "TERM": "dumb",
    }
    shown = []
    for block in HERE:
        code, output = play(["sh", "-ec", block], folder, variables)
        assert code == 0, output
        shown.append(output)
    run, look, later = shown
    assert "3 of 3 steps done" in run
    assert "+# Hello, world" in look and "Takes back plan" in look
    assert "2 of 2 steps done" in later
    assert {path.name for path in folder.iterdir() if not path.name.startswith(".")} == {"a.txt", "b.txt"}


@pytest.mark.parametrize("line", [*SPANS, *re.findall(r"^planloom .*?'$", "".join(BLOCKS), re.MULTILINE)])
def test_every_other_command_is_one_with_its_options(line: str) -> None:
    _, *words = shlex.split(line)
    parsed(words)


def test_the_settings_are_settings() -> None:
    (block,) = re.findall(r"^```json\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    found = resolve({"user": json.loads(block)})
    assert found.problems == () and found.settings.model.name == "qwen3"


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md"])
def test_the_targets_are_in_the_makefile(page: str) -> None:
    named = re.findall(r"(?:`|^|= )make (\w[\w-]*)", (PROJECT / page).read_text("utf-8"), re.MULTILINE)
    targets = re.findall(r"^([a-z0-9-]+):", (PROJECT / "Makefile").read_text("utf-8"), re.MULTILINE)
    assert named and set(named) <= set(targets)


def test_every_page_is_listed() -> None:
    listed = set(re.findall(r"\]\(([\w-]+\.md)\)", (PROJECT / "docs" / "README.md").read_text("utf-8")))
    assert listed == {path.name for path in (PROJECT / "docs").glob("*.md")} - {"README.md"}
