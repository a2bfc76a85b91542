"""What the pages tell people to type is run as it is printed, or is in a table that says why not, and is then read."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from demo.demo import play
from planloom.cli.arguments import parsed
from planloom.settings import fields, resolve
from tests.docs.pages import PAGES, blocks, commands, name_of
from tests.support.model_server import model_process

NOT_HERE = {
    r"uv |pipx ": "installs from a package index",
    r"ollama ": "needs Ollama",
    r"make agents|\.venv/bin/python -m bench\.agents": "installs other agents, and runs them for an hour",
    r"(?:python|node) client\.": "tests/docs/test_clients.py drives these clients against the server",
}
"""Commands that are not run here, by how they begin, and why."""
NO_ARGUMENTS = re.compile(
    r"planloom (?:serve|acp)\b|planloom COMMAND|planloom --version$|planloom plan --template$|.* NAME VALUE$"
)
"""What the parser of the commands does not read: the servers', a command in general, and the name of an option."""
PREPARED = {"docs/command-line.md": 'fpath=("" "$HOME"); mkdir -p ~/.config/fish/completions'}
"""What a shell of a person who reads the page has already."""
MODEL = "http://localhost:8080/v1"
"""The model's server of the pages; a scripted one stands for it."""
SHOWN = {
    "README.md": (
        "3 of 3 steps done",
        "+# Hello, world",
        "Takes back plan",
        "2 of 2 steps done",
        "A calculator.",
    ),
}
"""What a person then sees, in its order."""
WRITES = "Write a small calculator"
"""The request of the pages that needs a model; whichever service is meant, a scripted one answers."""
KEY = "a-key-that-is-typed"
STEP = {"id": "a", "description": "Write it", "instruction": "Write it"}
VERDICT = {
    "planned": True,
    "task_type": "code",
    "complexity": "simple",
    "risk_level": "low",
    "reason": "It is small.",
}
CALLS = [
    {"name": "write_file", "arguments": {"path": "calculator.py", "content": "print(1 + 1)\n"}},
    {"name": "task_completed", "arguments": {"summary": "Written."}},
]
TURNS = [
    {"when": {"contains": ["You sort requests"]}, "text": json.dumps(VERDICT), "repeat": True},
    {"when": {"tool": "write_file"}, "calls": CALLS, "repeat": True},
    {"text": json.dumps({"summary": "A calculator.", "steps": [STEP]}), "repeat": True},
]
"""Whether the request is planned, its step, and the plan, which is asked for with no tool that writes."""


def not_here(command: str) -> str | None:
    """Why a command is not run."""
    return next((why for start, why in NOT_HERE.items() if re.match(start, command)), None)


def runnable(page: Path) -> list[str]:
    return [command for block in blocks(page) for command in commands(block) if not_here(command) is None]


def named(page: Path) -> Iterator[str]:
    """Every line of `planloom` with arguments, in blocks and in the text."""
    text = page.read_text(encoding="utf-8")
    yield from (
        command for block in blocks(page) for command in commands(block) if command.startswith("planloom ")
    )
    yield from (each for each in re.findall(r"`(planloom [^`\n]+)`", text) if not NO_ARGUMENTS.match(each))


NAMED = [
    pytest.param(line, id=f"{name_of(page)}: {line}"[:100])
    for page in PAGES
    for line in dict.fromkeys(named(page))
]


@pytest.mark.parametrize("line", NAMED)
def test_a_command_line_is_one_with_its_options_and_settings(line: str) -> None:
    _, *words = shlex.split(re.sub(r" [|>] .*", "", line), comments=True)
    args = parsed(words)
    assignments = dict(vars(args).get("set") or ())
    if args.command == "config" and args.name is not None:
        assignments[args.name] = args.value or ""
    resolved = resolve({"user": {name: _read(value) for name, value in assignments.items()}})
    assert [each for each in resolved.problems if args.command != "config" or args.action == "set"] == []
    assert all("no such" not in each.reason for each in resolved.problems)


def _read(value: str) -> object:
    try:
        return json.loads(value)
    except ValueError:
        return value


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_a_setting_that_a_page_names_is_one(page: Path) -> None:
    groups = "|".join({name.partition(".")[0] for name in fields() if "." in name})
    named = re.findall(rf"`(?:planloom\.)?((?:{groups})\.[a-zA-Z]+)`", page.read_text(encoding="utf-8"))
    assert [name for name in named if name not in fields()] == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_a_block_of_settings_holds_settings(page: Path) -> None:
    for block in re.findall(r"^```json\n(.*?)^```$", page.read_text("utf-8"), re.MULTILINE | re.DOTALL):
        values = json.loads(block) if '"planloom.' in block else {}
        ours = {name: value for name, value in values.items() if name.startswith("planloom.")}
        assert resolve({"user": ours}).problems == ()


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
@pytest.mark.parametrize("page", [page for page in PAGES if runnable(page)], ids=name_of)
def test_the_commands_of_a_page_run_in_their_order(page: Path, tmp_path: Path) -> None:
    folder, home = tmp_path / "own", tmp_path / "home"
    folder.mkdir()
    home.mkdir()
    variables = {
        "HOME": str(home),
        **{f"XDG_{kind}_HOME": str(home / kind) for kind in ("STATE", "CONFIG", "CACHE", "DATA")},
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "TERM": "dumb",
        "OLLAMA_HOST": "127.0.0.1:9",
    }
    shown = ""
    with model_process(tmp_path, TURNS) as address:
        for command in runnable(page):
            script = f"{PREPARED.get(name_of(page), ':')}\n{command.replace(MODEL, address)}"
            if command.startswith("planloom key set"):
                script = f"{script} <<< {KEY}"
            model = {"PLANLOOM_MODEL_BASE_URL": address} if WRITES in command else {}
            code, output = play(["bash", "-ec", script], folder, variables | model)
            assert code == 0, f"{command}\n{output}"
            shown += output
    for each in SHOWN.get(name_of(page), ()):
        _, found, shown = shown.partition(each)
        assert found, each
    if any(WRITES in command for command in runnable(page)):
        assert (folder / "calculator.py").read_text() == "print(1 + 1)\n"
    if any(command.startswith("planloom key set") for command in runnable(page)):
        assert KEY in (home / "CONFIG/planloom/keys.json").read_text()


def test_what_is_said_not_to_run_here_is_on_a_page() -> None:
    lines = [command for page in PAGES for block in blocks(page) for command in commands(block)]
    for start in NOT_HERE:
        assert any(re.match(start, command) for command in lines), start
