"""The package in docs/examples, installed as a user does: its tools, provider and planner in the real command line."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from planloom.settings import resolve
from tests.support import command_line
from tests.support.http_server import Asked, Wire, serving

pytestmark = [pytest.mark.slow, pytest.mark.process]

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "planloom-example"
NAME = "planloom-example"
BROKEN = {
    "raises": "raise RuntimeError('not today')",
    "ends": "import sys; print('on stdout'); sys.exit(3)",
    "empty": "TOOLS = ()",
    "taken": "from planloom.tools.catalog import READ_FILE; TOOLS = (READ_FILE,)",
    "wide": "from planloom_example.tools import TOOLS; TOOLS = (TOOLS[0]._replace(name='x', effect='fetch'),)",
    "twice": "from planloom_example.tools import TOOLS",
}
"""Packages whose module of tools says this."""

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment with Planloom, the example, and packages that are broken."""
    place = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(place)], check=True)
    found = place / "bin" / "python"
    ask = "import sysconfig; print(sysconfig.get_path('purelib'))"
    packages = Path(
        subprocess.run([found, "-c", ask], check=True, capture_output=True, text=True).stdout.strip()
    )
    # Planloom and what it needs, as they are installed here.
    (packages / "here.pth").write_text(f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    offline = ["--no-index", "--no-deps", "--no-build-isolation"]
    wheels = place / "wheels"
    subprocess.run([*pip, "wheel", *offline, "--wheel-dir", str(wheels), str(EXAMPLE)], check=True)
    subprocess.run(
        [*pip, "--python", str(found), "install", "--no-index", "--no-deps", *map(str, wheels.iterdir())],
        check=True,
    )
    for name, text in BROKEN.items():
        (packages / f"broken_{name}.py").write_text(text)
        about = packages / f"broken_{name}-1.dist-info"
        about.mkdir()
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: broken-{name}\nVersion: 1\n")
        (about / "entry_points.txt").write_text(f"[planloom.tools]\nx = broken_{name}:TOOLS\n")
    return found


@pytest.fixture
def run(python: Path, tmp_path: Path) -> Run:
    """The command line of that environment, in a folder with a file, with the example enabled."""
    work = tmp_path / "work"
    work.mkdir()
    (work / "a.txt").write_text("one two three\nfour five\n")
    enable(tmp_path, NAME)
    state = {"XDG_STATE_HOME": str(tmp_path / "state"), "PLANLOOM_CONFIG": str(tmp_path / "settings.json")}

    def planloom(*arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [python, "-I", "-m", "planloom", *arguments],
            cwd=work,
            env=command_line.environment(**state, **more),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=command_line.SECONDS,
            check=False,
        )

    return planloom


def enable(tmp_path: Path, *names: str, **more: Any) -> None:
    settings = {"extensions.enabled": list(names), "model.provider": "embedded", **more}
    (tmp_path / "settings.json").write_text(json.dumps(settings))


def document(tmp_path: Path, *steps: str) -> str:
    """The path of a plan document with these steps, each a tool and its argument."""
    lines = ["# By hand", "", "## Steps", ""]
    for step in steps:
        tool, name, value = step.split(" ", 2)
        lines += [f"- [ ] {tool}", f"  - tool: {tool}", f"    - {name}: {value}", ""]
    path = tmp_path / "by-hand.plan.md"
    path.write_text("\n".join(lines))
    return str(path)


def test_doctor_says_what_it_brings(run: Run) -> None:
    said = " ".join(run("doctor").stdout.split())
    brings = (
        "tool count_words, tool number_lines, tool send_note, provider planloom-example:echo, "
        "planner planloom-example:lines"
    )
    assert f"planloom-example 1.0.0: {brings}" in said


def test_its_tools_read_stage_and_are_asked_like_ours(run: Run, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    more = {"PLANLOOM_EXAMPLE_NOTES": str(notes)}
    source = document(tmp_path, "count_words path a.txt", "number_lines path a.txt", "send_note text hello")
    planned = run("plan", "--trust", "--from", source, **more)
    assert planned.returncode == 0, planned.stdout + planned.stderr
    # `--yes` allows changes of files; what may do anything wants a word of its own.
    left = run("resume", "--trust", "--yes", **more)
    assert left.returncode == 0, left.stdout + left.stderr
    assert 'send_note {"text": "hello"}' in left.stdout
    assert "in the package planloom-example" in left.stdout
    assert "a.txt has 5 words" in left.stdout
    assert (tmp_path / "work" / "a.txt").read_text() == "1 one two three\n2 four five\n"
    assert not notes.exists()
    assert run("undo", "--trust", "--yes").returncode == 0
    assert (tmp_path / "work" / "a.txt").read_text() == "one two three\nfour five\n"

    run("plan", "--trust", "--from", document(tmp_path, "send_note text hello"), **more)
    done = run("resume", "--trust", "--yes", "--yes-commands", **more)
    assert done.returncode == 0, done.stdout + done.stderr
    assert notes.read_text() == "hello\n"


def test_a_policy_that_denies_commands_denies_what_may_do_anything(run: Run, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    deny = ("--set", "approvals.execute=deny")
    more = {"PLANLOOM_EXAMPLE_NOTES": str(notes)}
    run("plan", "--trust", *deny, "--from", document(tmp_path, "send_note text hello"), **more)
    ended = run("resume", "--trust", "--yes", "--yes-commands", *deny, **more)
    assert "send_note  it was not allowed" in ended.stdout
    assert "What the tool does is up to its package" not in ended.stdout
    assert not notes.exists()


def test_its_planner_plans_where_the_setting_names_it(run: Run, tmp_path: Path) -> None:
    enable(tmp_path, NAME, **{"planning.planner": f"{NAME}:lines"})
    done = run("run", "--mode", "plan", "--trust", "--yes", "count a.txt")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "a.txt has 5 words" in done.stdout
    assert "written by package" in done.stdout


async def test_its_provider_is_asked_in_its_own_protocol(python: Path, run: Run, tmp_path: Path) -> None:
    async def answer(asked: Asked, wire: Wire) -> None:
        if asked.path.endswith("/models"):
            await wire.json(200, {"data": [{"id": "parrot"}]})
            return
        sent = asked.json()
        await wire.head(content_type="application/x-ndjson")
        line = {"text": f"You said: {sent['messages'][-1]['text']}", "end": "stop"}
        await wire.send(json.dumps(line).encode() + b"\n")

    async with serving(answer) as server:
        enable(tmp_path, NAME, **{"model.provider": f"{NAME}:echo"})
        more = {"ECHO_HOST": f"{server.origin}/v1", "ECHO_API_KEY": "its-own-key"}
        listed = await asyncio.to_thread(run, "models", **more)
        asked = await asyncio.to_thread(run, "run", "--trust", "--yes", "What is a plan?", **more)
    assert "parrot" in listed.stdout, listed.stdout + listed.stderr
    posts = server.posts()
    assert posts and {each.path for each in posts} == {"/v1/echo"}
    assert posts[0].headers["authorization"] == "Bearer its-own-key"
    assert "You said: " in asked.stdout, asked.stdout + asked.stderr


def test_a_folder_enables_no_package(run: Run, tmp_path: Path) -> None:
    enable(tmp_path)
    setting = {"planloom.extensions.enabled": [NAME]}
    for name in (".vscode/settings.json", ".planloom/settings.json", "settings.json"):
        place = tmp_path / "work" / name
        place.parent.mkdir(exist_ok=True)
        place.write_text(json.dumps(setting))
    assert "planloom-example" not in run("doctor").stdout
    resolved = resolve({"workspace": setting})
    assert resolved.settings.extensions.enabled == ()
    assert resolved.problems[0].reason == "it can be set only in user settings, not by an opened folder"


def test_a_package_that_fails_is_told_and_stops_nothing(run: Run, tmp_path: Path) -> None:
    enable(tmp_path, NAME, *(f"broken-{name}" for name in BROKEN), "not-there")
    done = run("doctor")
    said = " ".join(done.stdout.split())
    assert done.returncode == 0
    for why in (
        "it cannot be loaded: RuntimeError: not today",
        "it cannot be loaded: SystemExit: 3",
        "it has no tools, providers or planners for Planloom",
        "read_file is the name of a tool of Planloom",
        "x has the effect 'fetch', which is none of read, write, destroy, execute",
        "there is a tool count_words already",
        "it is not installed for",
    ):
        assert why in said, said
    assert "planloom-example 1.0.0: tool count_words" in said
    ended = run("run", "--trust", "--yes", 'Create file b.txt with content "b"')
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "The package broken-raises is not used" in ended.stdout + ended.stderr


def test_what_is_not_brought_is_said_where_it_is_needed(run: Run, tmp_path: Path) -> None:
    enable(tmp_path, **{"planning.planner": f"{NAME}:lines"})
    done = run("run", "--mode", "plan", "--trust", "--yes", "count a.txt")
    assert done.returncode == 1
    assert "No enabled package brings the planner planloom-example:lines." in done.stdout + done.stderr
    enable(tmp_path, **{"model.provider": f"{NAME}:echo"})
    assert "No enabled package brings the model provider planloom-example:echo" in run("doctor").stdout


def test_without_an_enabled_package_nothing_of_it_is_imported(python: Path, tmp_path: Path) -> None:
    requests = (
        {"id": 1, "method": "initialize", "params": {"processId": None, "rootUri": None, "capabilities": {}}},
        {"method": "initialized", "params": {}},
        {"id": 2, "method": "planloom/status", "params": {}},
        {"id": 3, "method": "shutdown"},
        {"method": "exit"},
    )
    bodies = [json.dumps({"jsonrpc": "2.0", **each}).encode() for each in requests]
    done = subprocess.run(
        [python, "-X", "importtime", "-I", "-m", "planloom", "serve", "--stdio"],
        input=b"".join(b"Content-Length: %d\r\n\r\n%b" % (len(each), each) for each in bodies),
        env=command_line.environment(XDG_STATE_HOME=str(tmp_path), PLANLOOM_CONFIG=str(tmp_path / "none")),
        capture_output=True,
        check=True,
        timeout=command_line.SECONDS,
    )
    imported = done.stderr.decode()
    assert "planloom.service.application" in imported
    assert "extension_loading" not in imported and "planloom_example" not in imported
