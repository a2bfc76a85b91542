"""Messages with buttons come one at a time, the first button harms nothing, and none is lost without a word."""

from __future__ import annotations

import asyncio
import gc
import re
from pathlib import Path
from typing import Any

import pytest

import planloom
from planloom.lsp.transport.outgoing import LATER
from tests.lsp.test_fallback import NONE, User, plain
from tests.lsp.test_plan_documents import EDIT, Reader, plan
from tests.security.test_trust import plain_editor
from tests.support.lsp_client import EGLOT, FULL, PLAIN, Failed, LspClient

BUSY = Failed({"code": -32603, "message": "Command attempted to use minibuffer while in minibuffer"})
UNKNOWN = Failed({"code": -32601, "message": "no such method"})


@pytest.fixture(autouse=True)
def _no_user_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PLANLOOM_CONFIG", str(tmp_path.parent / "none.json"))


def test_every_message_with_buttons_goes_through_the_queue() -> None:
    """The request is sent in one place, which holds the queue; the clients among us only answer it."""
    package = Path(planloom.__file__).parent
    naming = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if re.search(r"SHOW_MESSAGE_REQUEST|[\"']window/showMessageRequest[\"']", path.read_text())
    }
    assert naming == {"lsp/transport/outgoing.py", "cli/client/session.py", "languages/client.py"}
    source = (package / "lsp/transport/outgoing.py").read_text()
    assert len(re.findall("SHOW_MESSAGE_REQUEST", source)) == 1


async def start(client: LspClient, plan_id: str) -> None:
    """Approve a plan once it is ready."""
    named = {"planId": plan_id}
    ready = (await client.request("planloom/plan/wait", {**named, "until": "ready"}))["plan"]
    command = {"command": "planloom.approve", "arguments": [plan_id, ready["version"]]}
    await client.request("workspace/executeCommand", command)


class Counting(User):
    """Counts the messages that are open, each of which stays open until `release` presses a button of it."""

    def __init__(self, client: LspClient) -> None:
        super().__init__(client)
        self.client = client
        self.open: list[dict[str, Any]] = []
        self.all: list[dict[str, Any]] = []
        self.pressed: dict[str, Any] = {}

    async def press(self, asked: dict[str, Any]) -> Any:
        self.open.append(asked)
        self.all.append(asked)
        title = await self.client.until(lambda: self.pressed.pop(asked["message"], None))
        self.open.remove(asked)
        return {"title": title}

    async def choose(self, part: str, title: str) -> None:
        """Press a button of the message with these words, which must be the only open one."""
        await self.client.until(lambda: any(part in asked["message"] for asked in self.open))
        (asked,) = self.open
        self.pressed[asked["message"]] = title
        await self.client.until(lambda: asked not in self.open)


async def test_trust_is_asked_in_the_queue_and_the_first_button_of_each_message_does_nothing(
    tmp_path: Path,
) -> None:
    async with plain_editor(tmp_path) as client:
        user = Counting(client)
        first = await plan(client, '1. Replace "old" with "new" in a.txt\n2. List files')
        await client.until(lambda: user.open)
        second = await plan(client, '1. Create file c.txt with content "c"\n2. List files')
        await start(client, second["planId"])
        # The question of trust waits for the message on the first plan.
        await client.request("planloom/status")
        await user.choose("Replace", LATER)
        await user.choose("do you trust", LATER)
        await user.choose("not trusted", LATER)
        assert all(asked["actions"][0] == {"title": LATER} for asked in user.all) and len(user.all) == 3
        statuses = [
            (await client.request("planloom/plan/get", {"planId": each["planId"]}))["plan"]["status"]
            for each in (first, second)
        ]
        assert statuses == ["pending_approval", "paused"]
        assert not (tmp_path / "work" / "c.txt").exists()
        client.shown()


async def test_a_message_waits_until_what_the_client_has_asked_is_answered(tmp_path: Path) -> None:
    async with plain(tmp_path) as client:
        protocol = client.server.messages
        asking = asyncio.Event()

        async def slow(_: Any) -> str:
            await asking.wait()
            return "slow"

        protocol.endpoints["workspace/slow"] = slow
        _, answer = client.start("workspace/slow")
        shown = asyncio.create_task(protocol.ask_by_message("info", "Well?", ["Yes"]))
        await client.request("planloom/status")
        assert not [name for name, _ in client.asked if name == "window/showMessageRequest"]
        asking.set()
        assert await answer == "slow"
        assert await shown is None
        results = [each.get("result", each.get("method")) for each in client.sent]
        assert results.index("slow") < results.index("window/showMessageRequest")


async def test_trust_that_is_given_elsewhere_takes_the_question_back(tmp_path: Path) -> None:
    async with plain_editor(tmp_path) as client:
        asked: list[str] = []

        async def answer(message: dict[str, Any]) -> dict[str, str]:
            asked.append(message["message"])
            if "do you trust" in message["message"]:
                await client.until(lambda: client.told("$/cancelRequest"))
                raise Failed({"code": -32800, "message": "cancelled"})
            return message["actions"][1]

        client.answer("window/showMessageRequest", answer)
        await plan(client, '1. Create file c.txt with content "c"\n2. List files')
        await client.until(lambda: any("do you trust" in message for message in asked))
        await client.request("workspace/executeCommand", {"command": "planloom.trust"})
        await client.wait_shown("2 of 2 steps done")
        assert client.told("$/cancelRequest")


async def test_trust_that_was_left_for_later_is_a_lens(tmp_path: Path) -> None:
    async with plain_editor(tmp_path) as client:
        reader = Reader(client)
        await plan(client, '1. Create file c.txt with content "c"\n2. List files')
        await client.until(lambda: reader.shown)
        asked = {"textDocument": {"uri": reader.shown[0]}}
        (lens,) = [
            each
            for each in await client.request("textDocument/codeLens", asked)
            if each["command"]["title"] == "Trust this folder"
        ]
        command = {"command": lens["command"]["command"], "arguments": []}
        await client.request("workspace/executeCommand", command)
        assert (await client.request("planloom/status"))["trusted"] is True
        titles = [each["command"]["title"] for each in await client.request("textDocument/codeLens", asked)]
        assert "Trust this folder" not in titles
    async with plain_editor(tmp_path) as client:
        assert (await client.request("planloom/status"))["trusted"] is True


@pytest.mark.parametrize("known", [{"name": "Eglot"}, {"name": None, "extension": {"messages": True}}])
async def test_an_editor_that_does_not_declare_messages_is_asked_if_it_is_known_to_show_them(
    tmp_path: Path, known: dict[str, Any]
) -> None:
    async with plain_editor(tmp_path, capabilities=EGLOT, **known) as client:
        assert (await client.request("planloom/status"))["trusted"] is False


async def test_an_editor_that_cannot_ask_just_now_trusts_nothing(tmp_path: Path) -> None:
    async with plain_editor(tmp_path) as client:
        User(client, BUSY)
        created = await plan(client, '1. Create file c.txt with content "c"\n2. List files')
        await start(client, created["planId"])
        await client.until(lambda: any("not trusted" in str(asked) for _, asked in client.asked))
        assert (await client.request("planloom/status"))["trusted"] is False
        client.shown()


@pytest.mark.parametrize("refusal", [BUSY, UNKNOWN])
async def test_a_question_that_the_editor_refuses_to_show_is_told_with_its_document(
    tmp_path: Path, refusal: Failed
) -> None:
    (tmp_path / "a.txt").write_text("old\n")
    async with plain(tmp_path) as client:

        def refuse(_: Any) -> Any:
            raise refusal

        client.answer("window/showMessageRequest", refuse)
        created = await plan(client, EDIT)
        told = await client.wait_shown("Planloom has planned 3 steps")
        assert ".planloom/" in told["message"] and "code actions" in told["message"]
        await start(client, created["planId"])
        told = await client.wait_shown("Planloom: Replace")
        assert "a.txt" in told["message"] and ".plan.md, by its lenses" in told["message"]


@pytest.mark.parametrize("capabilities", [FULL, PLAIN])
async def test_a_question_of_a_plan_without_a_document_gets_one_when_it_is_left_for_later(
    tmp_path: Path, capabilities: dict[str, Any]
) -> None:
    (tmp_path / "a.txt").write_text("old\n")
    async with plain(tmp_path, capabilities) as client:
        shown: list[str] = []
        client.answer("window/showDocument", lambda asked: shown.append(asked["uri"]) or {"success": True})
        user = User(client, NONE)
        await client.request("planloom/plan/create", {"text": EDIT, "mode": "direct"})
        await client.until(lambda: user.messages)
        if capabilities is PLAIN:
            # It cannot show the document, so it is told where it is.
            told = await client.wait_shown("It can be answered in .planloom/")
            assert shown == []
            shown.append((tmp_path / told["message"].split(" in ")[1].split(",")[0]).as_uri())
        await client.until(lambda: shown)
        assert shown[0].endswith(".plan.md")
        client.open(shown[0])
        asked = {"textDocument": {"uri": shown[0]}}
        lenses = await client.request("textDocument/codeLens", asked)
        assert {"Allow once", "Skip these changes", "Cancel the plan"} <= {
            each["command"]["title"] for each in lenses
        }


async def test_a_plan_that_pauses_by_itself_asks_whether_to_go_on(tmp_path: Path) -> None:
    async with plain(tmp_path) as client:
        user = User(client, "Resume", "Cancel the plan")
        created = await plan(client, "1. Make it nicer\n2. List files")
        await start(client, created["planId"])
        named = {"planId": created["planId"], "until": "ended"}
        ended = (await client.request("planloom/plan/wait", named))["plan"]
        assert ended["status"] == "cancelled"
        assert ["needs a language model" in asked["message"] for asked in user.messages] == [True, True]
        assert "“1. Make it nicer”" in user.messages[0]["message"]


async def test_a_connection_that_ends_below_an_open_message_leaves_nothing_behind(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with plain(tmp_path) as client:
        reader = Reader(client)
        created = await plan(client, EDIT)
        await client.until(lambda: reader.asked)
        command = {"command": "planloom.reject", "arguments": [created["planId"]]}
        await client.request("workspace/executeCommand", command)
        await client.until(lambda: client.told("$/cancelRequest"))
    # The connection's end reaches who waits in the next turns of the loop.
    for _ in range(3):
        await asyncio.sleep(0)
    gc.collect()
    assert "never retrieved" not in caplog.text
