"""A client without an extension is asked by messages with buttons, and decides as well as any other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from planloom.execution.session import Session
from planloom.models.offline.scripted import ScriptedModel, makes
from planloom.service.application import Application
from planloom.serving.opening import ApplicationContext, MakeApplication
from planloom.storage.ledger import Ledger
from planloom.tools.confinement.abilities import abilities
from tests.lsp.test_whole import EMBEDDED, drafted, finished
from tests.support.lsp_client import FULL, Failed, LspClient, connected
from tests.support.real_application import real_application
from tests.support.studio import OneModel

EDIT = '1. Replace "old" with "new" in a.txt\n2. List files'
NONE: dict[str, Any] | None = None


@pytest.fixture(autouse=True)
def _no_user_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PLANLOOM_CONFIG", str(tmp_path.parent / "none.json"))


class User:
    """Presses buttons in the order of a script; a None dismisses the message. `reviews` are messages on whole plans."""

    def __init__(self, client: LspClient, *presses: Any) -> None:
        self.presses = list(presses)
        self.messages: list[dict[str, Any]] = []
        self.reviews: list[dict[str, Any]] = []
        client.answer("window/showMessageRequest", self.press)

    def press(self, asked: dict[str, Any]) -> Any:
        if asked["actions"][1]["title"] == "Start execution":
            self.reviews.append(asked)
            return None
        self.messages.append(asked)
        press = self.presses.pop(0) if self.presses else None
        if callable(press):
            press = press()
        if isinstance(press, Exception):
            raise press
        if press is None:
            return None
        assert press in [action["title"] for action in asked["actions"]], asked
        return {"title": press}


async def run(client: LspClient, text: str = EDIT, until: str = "ended") -> dict[str, Any]:
    """Approve a plan, and wait until it has ended or, until `attention`, also for a person."""
    created = (await client.request("planloom/plan/create", {"text": text}))["plan"]
    named = {"planId": created["planId"]}
    ready = (await client.request("planloom/plan/wait", {**named, "until": "ready"}))["plan"]
    await client.request("planloom/plan/approve", {**named, "version": ready["version"]})
    params = {**named, "until": until, "timeoutSeconds": 20}
    waited = await client.request("planloom/plan/wait", params, timeout=30)
    assert waited["reached"], f"the plan never came to `{until}`"
    plan: dict[str, Any] = waited["plan"]
    return plan


def showing(client: LspClient, shown: list[str]) -> None:
    """Take down which documents are shown, but for those of plans."""

    def show(asked: dict[str, Any]) -> dict[str, Any]:
        if not asked["uri"].endswith(".plan.md"):
            shown.append(asked["uri"])
        return {"success": True}

    client.answer("window/showDocument", show)


def beside(shown: list[str]) -> str:
    """The text of the document that was shown."""
    return Path(shown[0].removeprefix("file://")).read_text(encoding="utf-8")


def plain(
    folder: Path,
    capabilities: dict[str, Any] = FULL,
    ledger: Path | None = None,
    extension: dict[str, Any] | None = NONE,
    **editor: Any,
) -> Any:
    return connected(
        real_application(ledger),
        folders=[folder],
        settings={**EMBEDDED, "approvals": {"plan": "none"}},
        capabilities=capabilities,
        extension=extension,
        **editor,
    )


@pytest.mark.parametrize(
    ("press", "status", "text"),
    [
        ("Allow once", "completed", "new\n"),
        ("Allow for this plan", "completed", "new\n"),
        ("Skip these changes", "completed", "old\n"),
        ("Cancel the plan", "cancelled", "old\n"),
        (None, "executing", "old\n"),
        (Failed({"code": -32601, "message": "no such thing"}), "executing", "old\n"),
    ],
)
async def test_an_approval_is_a_message_and_a_dismissed_one_is_no_answer(
    tmp_path: Path, press: Any, status: str, text: str
) -> None:
    (tmp_path / "a.txt").write_text("old\n")
    uri = (tmp_path / "a.txt").as_uri()
    async with plain(tmp_path) as client:
        client.open(uri)
        user = User(client, press)
        plan = await run(client, until="attention" if status == "executing" else "ended")
        await client.until(lambda: user.messages)
        assert plan["status"] == status
        assert client.buffers[uri].text == text
        assert "a.txt" in user.messages[0]["message"] and "+1 −1" in user.messages[0]["message"]
        if status == "executing":
            approval = plan["pending"]["approvals"][0]["approvalId"]
            arguments = {"command": "planloom.respond", "arguments": [approval, "allow"]}
            await client.request("workspace/executeCommand", arguments)
            await client.until(lambda: client.buffers[uri].text == "new\n")


async def test_a_fetch_is_a_message_with_its_host_and_address(tmp_path: Path) -> None:
    async with plain(tmp_path) as client:
        user = User(client, "Do not fetch it", "End the plan")
        created = (await client.request("planloom/plan/create", {"text": EDIT}))["plan"]
        named = {"planId": created["planId"]}
        ready = (await client.request("planloom/plan/wait", {**named, "until": "ready"}))["plan"]
        url = "https://аpple.com/a?b"
        step = {"description": "Read it", "kind": "tool_call", "tool": "fetch_url", "args": {"url": url}}
        edits = [{"op": "add", "after": None, "step": step}]
        edits += [{"op": "remove", "stepId": each["stepId"]} for each in ready["steps"]]
        params = {**named, "version": ready["version"], "edits": edits}
        edited = (await client.request("planloom/plan/edit", params))["plan"]
        await client.request("planloom/plan/approve", {**named, "version": edited["version"]})
        await client.until(lambda: user.messages)
        lines = user.messages[0]["message"].splitlines()
        assert lines[:2] == ["Planloom: Read it", "sends a request to the web"]
        assert "may only look like" in lines[2]
        assert lines[3:5] == ["https://xn--pple-43d.com/a?b", "from xn--pple-43d.com (аpple.com)"]
        assert "Allow for this plan: All pages of this host, for this version of the plan" in lines


async def test_the_changes_can_be_looked_at_before_the_answer(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("old\n")
    shown: list[str] = []
    async with plain(tmp_path) as client:
        showing(client, shown)
        User(client, "Show changes", "Allow once")
        assert (await run(client))["status"] == "completed"
        assert shown[0].startswith((tmp_path / ".planloom").as_uri())
        assert "-old\n+new\n" in beside(shown)
        assert (tmp_path / ".planloom" / ".gitignore").read_text() == "*\n"


async def test_a_client_can_have_the_changes_shown_with_each_question(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("old\n")
    shown: list[str] = []
    async with plain(tmp_path, extension={"changesFirst": True}) as client:
        showing(client, shown)
        User(client, "Allow once")
        assert (await run(client))["status"] == "completed"
        assert "-old\n+new\n" in beside(shown)


@pytest.mark.parametrize(
    ("presses", "words"),
    [(["Allow unseen"], []), (["Show changes", "Allow once"], ["changes-"])],
)
async def test_a_long_change_is_allowed_when_it_was_shown_or_by_another_word(
    tmp_path: Path, presses: list[str], words: list[str]
) -> None:
    (tmp_path / "long.txt").write_text("line\n" * 100)
    shown: list[str] = []
    async with plain(tmp_path) as client:
        showing(client, shown)
        user = User(client, *presses)
        await run(client, "1. Delete long.txt\n2. List files")
        titles = [[action["title"] for action in asked["actions"]] for asked in user.messages]
        assert titles[0] == ["Later", "Allow unseen", "Skip these changes", "Show changes", "Cancel the plan"]
        assert [word in uri for word, uri in zip(words, shown, strict=True)] == [True] * len(words)
        assert not on_disk(tmp_path, "long.txt")


@pytest.mark.parametrize(
    ("presses", "made"),
    [(["Allow unseen"], True), (["Show the command", "Allow once"], True), (["Do not run it"], False)],
)
async def test_a_long_command_is_shown_in_a_document(tmp_path: Path, presses: list[str], made: bool) -> None:
    command = f"touch a #{'x' * 700}END"
    done = makes(("task_completed", {"summary": "done"}))
    model = with_model(
        makes(("run_command", {"command": command})), done, makes(("final_answer", {"text": "done"}))
    )
    shown: list[str] = []
    async with connected(model, folders=[tmp_path], capabilities=FULL, extension=NONE) as client:
        showing(client, shown)
        User(client, *presses)
        created = (await client.request("planloom/plan/create", {"text": "Make it", "mode": "direct"}))[
            "plan"
        ]
        params = {"planId": created["planId"], "until": "ended", "timeoutSeconds": 20}
        await client.request("planloom/plan/wait", params, timeout=30)
        assert on_disk(tmp_path, "a") == made
        assert len(shown) == presses.count("Show the command")
        assert not shown or beside(shown).endswith("END\n")


async def test_a_failed_step_is_a_message(tmp_path: Path) -> None:
    async with plain(tmp_path) as client:
        user = User(client, "Skip")
        plan = await run(client)
        assert plan["status"] == "completed" and plan["steps"][0]["status"] == "skipped"
        assert [action["title"] for action in user.messages[0]["actions"]] == [
            "Later",
            "Retry",
            "Skip",
            "Skip and go on",
            "End the plan",
            "Ask the model",
        ]


@pytest.mark.parametrize(
    ("press", "text"),
    [
        ("Keep mine", "old by me\n"),
        ("Take Planloom's", "new\n"),
        ("Keep both", "old by me\nnew\n"),
        ("edited", "new, by us both\n"),
        ("saved", "new, by us both\n"),
    ],
)
@pytest.mark.parametrize("can_show", [True, False])
@pytest.mark.slow
async def test_a_conflict_is_a_document_with_both_and_a_message(
    tmp_path: Path, press: str, text: str, can_show: bool
) -> None:
    (tmp_path / "a.txt").write_text("old\n")
    uri = (tmp_path / "a.txt").as_uri()
    capabilities = FULL if can_show else {**FULL, "window": {}}
    shown: list[str] = []
    async with plain(tmp_path, capabilities) as client:
        client.open(uri)
        showing(client, shown)

        def both() -> str:
            (found,) = (tmp_path / ".planloom").glob("a-both-*.txt")
            assert shown == ([found.as_uri()] if can_show else [])
            assert found.read_text() == "<<<<<<< yours\nold by me\n=======\nnew\n>>>>>>> Planloom's\n"
            return found.as_uri()

        def typed() -> str:
            client.type(uri, None, "old by me\n")
            return "Allow once"

        def chosen() -> str:
            document = both()
            if press in ("edited", "saved"):
                client.open(document)
                client.type(document, None, "new, by us both\n")
            if press == "saved":
                client.save(document)
                client.close(document)
            return "Use the merged document" if press in ("edited", "saved") else press

        user = User(client, typed, chosen)
        plan = await run(client)
        assert plan["status"] == "completed"
        assert client.buffers[uri].text == text
        told = user.messages[1]["message"]
        assert "Your typing and step 1 overlap: a.txt" in told and ".planloom/a-both-" in told
        # What was written for the question is gone with the plan.
        await client.until(lambda: not [*(tmp_path / ".planloom").glob("a-both-*")])


@pytest.mark.parametrize("place", ["the merged document", "the plan's document"])
@pytest.mark.slow
async def test_a_conflict_is_left_edited_and_taken_from_a_document(tmp_path: Path, place: str) -> None:
    """After a message that was dismissed, or answered too early; nothing is taken that still has both."""
    (tmp_path / "a.txt").write_text("old\n")
    uri = (tmp_path / "a.txt").as_uri()
    shown: list[str] = []
    async with plain(tmp_path) as client:
        client.open(uri)
        client.answer("window/showDocument", lambda asked: shown.append(asked["uri"]) or {"success": True})

        def typed() -> str:
            client.type(uri, None, "old by me\n")
            return "Allow once"

        user = User(client, typed, "Use the merged document", None)
        plan = await run(client, until="attention")
        assert "has both versions: edit it" in (await client.wait_shown("has both versions"))["message"]
        # What waits is asked again when the plan goes on, and stays in its document.
        resume = {"command": "planloom.resume", "arguments": [plan["planId"]]}
        await client.request("workspace/executeCommand", resume)
        await client.until(lambda: len(user.messages) == 3)
        assert user.messages[2]["message"] == user.messages[1]["message"]
        document = next(each for each in shown if "-both-" in each)
        plans = await client.until(lambda: next((each for each in shown if each.endswith(".plan.md")), None))
        client.open(plans)
        await client.until(lambda: "- [?] Replace" in client.buffers[plans].text)
        assert "waits for your choice" in client.buffers[plans].text
        client.open(document)
        client.type(document, None, "new, by us both\n")
        where = {"textDocument": {"uri": document if place == "the merged document" else plans}}
        lenses = await client.request("textDocument/codeLens", where)
        (lens,) = [
            each["command"] for each in lenses if each["command"]["title"] == "Use the merged document"
        ]
        span = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}
        if place == "the merged document":
            actions = await client.request(
                "textDocument/codeAction", {**where, "range": span, "context": {"diagnostics": []}}
            )
            assert "Planloom: Use the merged document" in [each["title"] for each in actions]
        await client.request(
            "workspace/executeCommand", {"command": lens["command"], "arguments": lens["arguments"]}
        )
        await client.until(lambda: client.buffers[uri].text == "new, by us both\n")


async def test_what_is_typed_beside_the_merged_document_stays(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("old\n" + "line\n" * 9)
    uri = (tmp_path / "a.txt").as_uri()
    shown: list[str] = []
    async with plain(tmp_path) as client:
        client.open(uri)
        showing(client, shown)

        def typed() -> str:
            client.type(uri, None, "old by me\n" + "line\n" * 9)
            return "Allow once"

        def merged() -> str:
            client.type(uri, None, "old by me\n" + "line\n" * 9 + "typed in the file itself\n")
            client.open(shown[0])
            client.type(shown[0], None, "new, by us both\n" + "line\n" * 9)
            return "Use the merged document"

        User(client, typed, merged)
        assert (await run(client))["status"] == "completed"
        assert client.buffers[uri].text == "new, by us both\n" + "line\n" * 9 + "typed in the file itself\n"


async def test_a_client_that_asks_itself_is_not_asked_twice(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("old\n")
    async with connected(real_application(), folders=[tmp_path], settings=EMBEDDED) as client:
        user = User(client)
        plan = await finished(client, await drafted(client, EDIT))
        assert plan["status"] == "completed" and user.messages == []


def on_disk(folder: Path, name: str) -> bool:
    return (folder / name).exists()


def with_model(*turns: Any) -> MakeApplication:
    """The application with a model that gives these answers."""

    async def make(opening: ApplicationContext) -> Application:
        session = Session(opening.settings, opening.view, opening.editor)
        return Application(session, Ledger(None), OneModel(ScriptedModel(list(turns))))  # type: ignore[arg-type]

    return make


@pytest.mark.parametrize(
    ("presses", "made", "asked"),
    [
        (["Run all"], "ab", 1),
        (["Run none"], "", 1),
        (["One by one", "Do not run it: touch a", "Allow once: touch b"], "b", 3),
        (["Cancel the plan"], "", 1),
    ],
)
async def test_the_commands_of_one_answer_are_one_message(
    tmp_path: Path, presses: list[str], made: str, asked: int
) -> None:
    answers = makes(("run_command", {"command": "touch a"}), ("run_command", {"command": "touch b"}))
    done = makes(("task_completed", {"summary": "done"}))
    model = with_model(answers, done, makes(("final_answer", {"text": "done"})))
    async with connected(model, folders=[tmp_path], capabilities=FULL, extension=NONE) as client:
        user = User(client, *presses)
        created = (await client.request("planloom/plan/create", {"text": "Make it", "mode": "direct"}))[
            "plan"
        ]
        params = {"planId": created["planId"], "until": "ended", "timeoutSeconds": 20}
        await client.request("planloom/plan/wait", params, timeout=30)
        lines = user.messages[0]["message"].splitlines()
        assert lines[0] == "Planloom: 2 commands of step 1"
        assert {"$ touch a", "$ touch b"} <= {line.partition(". ")[2] for line in lines}
        assert len(user.messages) == asked
        assert {name for name in "ab" if on_disk(tmp_path, name)} == set(made)


@pytest.mark.skipif(not abilities().network, reason="nothing here can confine the network of a command")
async def test_a_command_gets_other_rights_by_a_second_message(tmp_path: Path) -> None:
    model = with_model(
        makes(("run_command", {"command": "touch a"})),
        makes(("task_completed", {"summary": "done"})),
        makes(("final_answer", {"text": "done"})),
    )
    async with connected(model, folders=[tmp_path], capabilities=FULL, extension=NONE) as client:
        user = User(
            client, "Run it with other rights", "Back", "Run it with other rights", "Run without confinement"
        )
        created = (await client.request("planloom/plan/create", {"text": "Make it", "mode": "direct"}))[
            "plan"
        ]
        named = {"planId": created["planId"]}
        await client.request(
            "planloom/plan/wait", {**named, "until": "ended", "timeoutSeconds": 20}, timeout=30
        )
        assert "Confined: writes only in the workspace, no network." in user.messages[0]["message"]
        assert (
            "Run without confinement: Not confined: it has all of your rights." in user.messages[1]["message"]
        )
        events = (await client.request("planloom/plan/events", named))["events"]
        (resolved,) = [event for event in events if event["type"] == "approval_resolved"]
        assert resolved["decision"] == "allow" and resolved["confinement"]["confined"] is False
        assert on_disk(tmp_path, "a")
