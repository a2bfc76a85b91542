"""What happens before a person has trusted a folder, or asked anything in it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sqlite3
import sys
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from planloom.lsp.language_server import ServerOptions
from planloom.models.offline.scripted import ScriptedModel, says
from planloom.serving.opening import MakeApplication
from planloom.settings import Settings
from planloom.storage.decisions import FILE, Decisions
from tests.lsp.test_fallback import User, run
from tests.lsp.test_whole import EMBEDDED
from tests.service.test_surroundings import FILES, user_message
from tests.support import command_line
from tests.support.fake_application import FakeApplication
from tests.support.http_server import Asked, Wire, serving
from tests.support.lsp_client import FULL, Failed, LspClient, connected
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


ASKS = {**FULL, "window": {**FULL["window"], "showMessage": {"messageActionItem": {}}}}
"""An editor that shows messages with buttons."""
NAMED = {"name": "An editor"}


def plain_editor(
    tmp_path: Path, make: MakeApplication | None = None, **more: Any
) -> AbstractAsyncContextManager[LspClient]:
    """A connection of an editor without an extension, which can be asked."""
    work = tmp_path / "work"
    work.mkdir(exist_ok=True)
    (work / "a.txt").write_text("old\n")
    given = ServerOptions(state=lambda: tmp_path / "state")
    known = {
        "capabilities": ASKS,
        "extension": None,
        "given": given,
        "folders": [work],
        "name": NAMED["name"],
    }
    return connected(make or real_application(), **{**known, **more})


class TrustUser(User):
    """Presses the buttons of the script for questions of trust alone; other messages are dismissed."""

    def press(self, asked: dict[str, Any]) -> Any:
        return super().press(asked) if "do you trust" in asked["message"] else None


async def test_an_editor_that_does_not_say_is_asked_once_when_a_person_asks_for_something(
    tmp_path: Path,
) -> None:
    async with plain_editor(tmp_path) as client:
        user = User(client, "Trust", "Allow once")
        assert (await client.request("planloom/status"))["trusted"] is False
        assert not user.messages
        assert (await run(client))["status"] == "completed"
        assert [f"trust {tmp_path / 'work'}?" in asked["message"] for asked in user.messages] == [True, False]
        assert (await client.request("planloom/status"))["trusted"] is True
    async with plain_editor(tmp_path) as client:
        assert (await client.request("planloom/status"))["trusted"] is True


async def test_a_refusal_is_kept_and_a_dismissed_question_is_put_again(tmp_path: Path) -> None:
    for presses, asked in ((None, "Only read"), 2), ((), 0):
        async with plain_editor(tmp_path) as client:
            user = TrustUser(client, *presses)
            for _ in range(3):
                plan = await run(client, until="attention")
                assert "not trusted" in plan["pending"]["recoveries"][0]["error"]
            assert len(user.messages) == asked
            client.shown()


async def test_options_that_a_folder_could_fill_do_not_trust_it(tmp_path: Path) -> None:
    async with plain_editor(tmp_path, extension={"trusted": True}) as client:
        assert (await client.request("planloom/status"))["trusted"] is False
    async with plain_editor(tmp_path, extension={"trusted": False}) as client:
        client.notify("planloom/workspace/trust", {"trusted": True})
        await client.request("planloom/status")
        assert (await client.request("planloom/status"))["trusted"] is True


async def test_a_folder_that_is_added_is_asked_about_too(tmp_path: Path) -> None:
    for name in ("work", "other"):
        (tmp_path / name).mkdir()
    Decisions(tmp_path / "state" / FILE).decide_folder(tmp_path / "work", trusted=True)
    async with plain_editor(tmp_path) as client:
        assert (await client.request("planloom/status"))["trusted"] is True
        added = {"uri": (tmp_path / "other").as_uri(), "name": "other"}
        client.notify("workspace/didChangeWorkspaceFolders", {"event": {"added": [added], "removed": []}})
        assert (await client.request("planloom/status"))["trusted"] is False


async def test_an_editor_that_cannot_be_asked_is_believed(tmp_path: Path) -> None:
    """The protocol says so: what is left out means trusted."""

    def refuses() -> Exception:
        return Failed({"code": -32601, "message": "no"})

    for unknown in ({"capabilities": FULL}, {"name": None}):
        async with plain_editor(tmp_path, **unknown) as client:
            assert (await client.request("planloom/status"))["trusted"] is True
    async with plain_editor(tmp_path) as client:
        User(client, refuses, "Allow once")
        assert (await run(client))["status"] == "completed"


OPTIONS = {
    "model": {"provider": "embedded"},
    "approvals": {"write": "allow", "execute": "deny"},
    "budget.maxRequests": 5,
    "planning.perspectives": "never",
}
"""What a file of a folder can put into `initializationOptions` of several editors."""


@pytest.mark.parametrize("answer", ["Keep them", "Ignore them", None])
async def test_options_that_widen_count_only_if_the_user_keeps_them(
    tmp_path: Path, answer: str | None
) -> None:
    def decided() -> bool:
        path = tmp_path / "state" / FILE
        with contextlib.suppress(sqlite3.Error), contextlib.closing(sqlite3.connect(path)) as connection:
            return bool(connection.execute("SELECT * FROM options").fetchall())
        return False

    async def settings_after(expected: int, options: dict[str, Any], *presses: str | None) -> Settings:
        app = FakeApplication()
        async with plain_editor(tmp_path, make=app.make, initialize=False) as client:
            user = User(client, *presses)
            await client.initialize([tmp_path / "work"], {"planloom": options}, clientInfo=NAMED)
            await client.request("planloom/status")
            await client.until(lambda: len(user.messages) == expected)
            async with asyncio.timeout(10):
                while presses[:1] not in [(), (None,)] and not decided():
                    await client.request("planloom/status")
                # The answer is stored before it counts.
                while presses == ("Keep them",) and app.settings.approvals.write == "ask":
                    await client.request("planloom/status")
            assert all('approvals.write: "allow"' in asked["message"] for asked in user.messages)
            found: Settings = app.settings
            return found

    first = await settings_after(1, OPTIONS, answer)
    kept = answer == "Keep them"
    assert first.approvals.write == ("allow" if kept else "ask")
    assert first.model.provider == ("embedded" if kept else "auto")
    # What narrows or is free needs no answer.
    assert first.approvals.execute == "deny" and first.budget.max_requests == 5
    assert first.planning.perspectives == "never"

    again = await settings_after(0 if answer else 1, OPTIONS)
    assert again == first
    other = await settings_after(1, {**OPTIONS, "model": {"baseUrl": "http://127.0.0.1:1"}})
    assert other.model.base_url == "" and other.approvals.write == "ask"


async def test_options_count_from_the_start_if_the_client_refuses_to_ask(tmp_path: Path) -> None:
    app = FakeApplication()
    async with plain_editor(tmp_path, make=app.make, initialize=False) as client:
        User(client, Failed({"code": -32601, "message": "no"}))
        await client.initialize([tmp_path / "work"], {"planloom": OPTIONS}, clientInfo=NAMED)
        await client.request("planloom/status")
        assert app.opening is not None and app.opening.settings.approvals.write == "allow"


async def test_options_count_if_whoever_starts_the_server_vouches_for_them(tmp_path: Path) -> None:
    app = FakeApplication()
    given = ServerOptions(state=lambda: tmp_path / "state", options_are_users=True)
    async with plain_editor(tmp_path, settings=OPTIONS, given=given, make=app.make) as client:
        assert (await client.request("planloom/status"))["trusted"] is True
        assert app.settings.approvals.write == "allow"
        assert not [name for name, _ in client.asked if name == "window/showMessageRequest"]


async def test_the_users_own_state_is_not_touched_in_a_folder_around_it(tmp_path: Path) -> None:
    text = '1. Create file "state/decisions.sqlite3" with content "x"\n2. Create file none.json with content "{}"'
    given = ServerOptions(state=lambda: tmp_path / "work" / "state", options_are_users=True)
    async with plain_editor(tmp_path, given=given, settings=EMBEDDED) as client:
        User(client, "Allow once", "Allow once")
        plan = await run(client, text, until="attention")
        assert "own state" in json.dumps(plan)
        assert not (tmp_path / "work" / "state").exists()
        client.shown()
