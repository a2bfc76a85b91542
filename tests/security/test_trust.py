"""What happens before a person has trusted a folder, or asked anything in it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from planloom.models.offline.scripted import ScriptedModel, says
from tests.service.test_surroundings import FILES, user_message
from tests.support import command_line
from tests.support.http_server import Asked, Wire, serving
from tests.support.lsp_client import connected
from tests.support.real_application import real_application
from tests.support.studio import studio


@pytest.fixture(autouse=True)
def _no_user_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PLANLOOM_CONFIG", str(tmp_path.parent / "none.json"))


async def test_the_models_server_hears_nothing_before_a_person_asks(tmp_path: Path) -> None:
    async def answer(_: Asked, wire: Wire) -> None:
        await wire.json(200, {"data": [{"id": "m"}]})

    async with serving(answer) as server:
        settings = {"model": {"baseUrl": f"{server.origin}/v1"}}
        async with connected(real_application(), folders=[tmp_path], settings=settings) as client:
            status = await client.request("planloom/status")
            assert "not asked yet" in status["model"]["reason"]
            listed = await client.request("planloom/model/list", {})
            assert not listed["models"][0]["reachable"] and "not asked yet" in listed["models"][0]["reason"]
            await client.request("planloom/reference/complete", {"text": "@", "offset": 1})
            await client.request("planloom/detect", {"text": "Fix it, then test it"})
            assert not server.asked
            listed = await client.request("planloom/model/list", {"select": True})
            assert server.asked and listed["models"][0]["reachable"]


async def test_what_may_not_be_read_is_not_told_to_a_model(tmp_path: Path) -> None:
    model = ScriptedModel([says("I cannot see it.")])
    settings = {"approvals": {"read": "deny"}}
    async with studio(tmp_path, FILES, model=model, settings=settings) as at:
        await at.run("What do you indent with?", mode="direct")
    prompt = user_message(model.requests[0])
    assert "Use tabs." not in prompt and "app.py" not in prompt and "pyproject.toml" not in prompt
    assert str(at.folder) in prompt


REQUEST = '1. Create file "made.txt" with content "x"\n2. List files'


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "AGENTS.md").write_text("Use tabs.\n")
    return folder


def own_state(work: Path) -> dict[str, str]:
    """A home, state and configuration of this test alone."""
    home = work.parent / "home"
    return {
        "HOME": str(home),
        "XDG_STATE_HOME": str(home / "state"),
        "XDG_CONFIG_HOME": str(home / "config"),
        "PLANLOOM_CONFIG": str(home / "none.json"),
    }


def planloom(work: Path, *arguments: str, trust: bool = False) -> command_line.Finished:
    return command_line.run(work.parent, arguments, trust=trust, **own_state(work))


def run_arguments(work: Path, *flags: str) -> list[str]:
    return ["run", REQUEST, "-w", str(work), "--provider", "embedded", *flags]


@pytest.mark.process
def test_without_a_terminal_an_unknown_folder_is_only_read(work: Path) -> None:
    ended = planloom(work, *run_arguments(work, "--yes", "--json"))
    assert ended.code == 3 and not (work / "made.txt").exists()
    assert "is not trusted" in ended.err and "--trust" in ended.err
    assert json.loads(ended.out.splitlines()[-1])["error"] == {"code": "untrusted_workspace"}
    assert planloom(work, "plan", REQUEST, "-w", str(work), "--provider", "embedded").code == 0


@pytest.mark.process
def test_the_flag_trusts_one_run_and_the_command_keeps_the_decision(work: Path) -> None:
    assert planloom(work, *run_arguments(work, "--yes"), trust=True).code == 0
    (work / "made.txt").unlink()
    assert planloom(work, *run_arguments(work, "--yes")).code == 3
    assert planloom(work, "trust", str(work)).code == 0
    assert str(work) in planloom(work, "trust", "--list").out
    assert planloom(work, *run_arguments(work, "--yes")).code == 0 and (work / "made.txt").exists()
    assert planloom(work, "trust", "--revoke", str(work)).code == 0
    undone = planloom(work, "undo", "--yes", "-w", str(work))
    assert undone.code == 3 and "is not trusted" in undone.err and (work / "made.txt").exists()


@pytest.mark.process
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such terminals")
def test_a_person_is_asked_once_for_each_folder(work: Path) -> None:
    def run_to_the_review(*answers: str) -> tuple[int, str]:
        at = command_line.AtTerminal(work.parent, run_arguments(work), trust=False, **own_state(work))
        try:
            for answer in answers:
                at.type(answer, after="Do you trust")
            at.type("c", after="Execute this plan?")
            ended = at.finish()
            return ended.code, ended.out
        finally:
            at.close()

    _, told = run_to_the_review("n")
    assert "is not trusted" in told
    _, told = run_to_the_review()
    assert "Do you trust" not in told and "is not trusted" in told
    assert planloom(work, "trust", "--revoke", str(work)).code == 0
    _, told = run_to_the_review("y")
    assert "is not trusted" not in told
    _, told = run_to_the_review()
    assert "Do you trust" not in told and "is not trusted" not in told
