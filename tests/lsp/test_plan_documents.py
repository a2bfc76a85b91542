"""A client that shows no plans itself gets them as documents: reviewed, changed by typing, and followed to the end."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path
from typing import Any

import pytest

from tests.lsp.test_fallback import plain
from tests.support.lsp_client import FULL, Failed, LspClient, NeverAnswered

EDIT = '1. Replace "old" with "new" in a.txt\n2. Create file b.txt with content "b"\n3. List files'


@pytest.fixture(autouse=True)
def _no_user_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PLANLOOM_CONFIG", str(tmp_path.parent / "none.json"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.txt").write_text("old\n")
    return tmp_path


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    """A file outside the workspace, which a second server opens after the first."""
    return tmp_path.parent / f"{tmp_path.name}.sqlite"


class Reader:
    """Opens what is shown, and presses the buttons of messages: `press` has what to press for the first button, or
    its first word.
    """

    def __init__(self, client: LspClient, **press: str | None) -> None:
        self.client = client
        self.press = press
        self.asked: list[dict[str, Any]] = []
        self.open_now = 0
        self.most_open = 0
        self.shown: list[str] = []
        client.answer("window/showDocument", self.show)
        client.answer("window/showMessageRequest", self.answer)

    def show(self, asked: dict[str, Any]) -> dict[str, Any]:
        self.shown.append(asked["uri"])
        if asked["uri"] not in self.client.buffers:
            self.client.open(asked["uri"], language_id="markdown")
        return {"success": True}

    async def answer(self, asked: dict[str, Any]) -> Any:
        self.asked.append(asked)
        title = asked["actions"][1]["title"]
        press = self.press.get(title, self.press.get(title.partition(" ")[0], "never"))
        if press == "never":
            raise NeverAnswered
        return None if press is None else {"title": press}

    @property
    def text(self) -> str:
        """The document as it stands in the editor."""
        return self.client.buffers[self.shown[0]].text

    def change(self, old: str, new: str, *, save: bool = True) -> None:
        """Type into the document, and save it."""
        assert old in self.text
        self.client.type(self.shown[0], None, self.text.replace(old, new, 1))
        if save:
            self.client.save(self.shown[0])


async def plan(client: LspClient, text: str = EDIT) -> dict[str, Any]:
    """Ask for a plan as any editor can."""
    asked = {"command": "planloom.plan", "arguments": [text]}
    found: dict[str, Any] = await client.request("workspace/executeCommand", asked)
    return found


def diagnostics(client: LspClient) -> list[dict[str, Any]]:
    told = client.told("textDocument/publishDiagnostics")
    found: list[dict[str, Any]] = told[-1]["diagnostics"] if told else []
    return found


async def diagnosed(client: LspClient, message: str) -> dict[str, Any]:
    """The diagnostic with these words, once it is there."""
    found: dict[str, Any] = await client.until(
        lambda: next((each for each in diagnostics(client) if message in each["message"]), None)
    )
    return found


@pytest.mark.slow
async def test_a_plan_is_shown_started_and_followed_in_its_document(folder: Path) -> None:
    async with plain(folder) as client:
        reader = Reader(client, Start="Start execution", Allow="Allow once")
        await plan(client)
        await client.wait_shown("3 of 3 steps done")
        assert "Planloom has planned 3 steps for “1. Replace" in reader.asked[0]["message"]
        name = reader.shown[0].rpartition("/")[2]
        assert f"The steps are in .planloom/{name}, where you can change them" in reader.asked[0]["message"]
        await client.until(lambda: reader.text.count("- [x] ") == 3 and "status: completed" in reader.text)
        assert (folder / "b.txt").read_text() == "b" and reader.shown[0].endswith(".plan.md")
        assert (folder / ".planloom" / ".gitignore").read_text() == "*\n"


@pytest.mark.slow
async def test_what_is_typed_into_the_document_is_the_plan(folder: Path) -> None:
    async with plain(folder) as client:
        reader = Reader(client, Start=None, Allow="Allow once")
        created = await plan(client)
        await client.until(lambda: reader.shown)
        reader.change("    - content: b\n", "    - content: c\n")
        await client.until(lambda: "version: 2" in reader.text)
        reader.change("- [ ] Write b.txt", "- [ ] Write something else")
        await client.until(lambda: "version: 3" in reader.text)
        reader.change("- [ ] List files", "Not needed, I think.\n\n- [-] List files")
        await client.until(lambda: "version: 4" in reader.text)
        assert "Not needed, I think." in reader.text
        asked = {"command": "planloom.approve", "arguments": [created["planId"], 4]}
        await client.request("workspace/executeCommand", asked)
        await client.wait_shown("Partly done, 2 of 3")
        assert (folder / "b.txt").read_text() == "c"
        await client.until(lambda: "- [-] List files" in reader.text and reader.text.count("[x]") == 2)
        assert "Not needed, I think." in reader.text


async def test_an_error_is_shown_where_it_stands_and_changes_nothing(folder: Path) -> None:
    async with plain(folder) as client:
        reader = Reader(client)
        created = await plan(client)
        await client.until(lambda: reader.shown)
        for old, new, wrong, message in (
            ("tool: list_files", "tool: lst_files", "lst_files", "There is no tool"),
            ("tool: lst_files", "tool: list_files\n  - after: step_9", "step_9", "There is no step 'step_9'"),
            ("step_9", "step_3", "step_3", "wait"),
        ):
            reader.change(old, new)
            found = await diagnosed(client, message)
            start, end = found["range"]["start"], found["range"]["end"]
            line = reader.text.split("\n")[start["line"]]
            assert line[start["character"] : end["character"]] == wrong
        reader.change("\n  - after: step_3", "")
        await client.until(lambda: not diagnostics(client))
        got = await client.request("planloom/plan/get", {"planId": created["planId"]})
        assert got["plan"]["version"] == 1


async def test_the_state_is_written_beside_what_is_not_saved_yet(folder: Path) -> None:
    async with plain(folder) as client:
        reader = Reader(client, Start="Start execution")
        await plan(client)
        await client.until(lambda: any("a.txt" in each["message"] for each in reader.asked[1:]))
        reader.change("- [ ] List files", "- [ ] List all files", save=False)
        approval = (await client.request("planloom/plan/list", {}))["plans"][0]["planId"]
        pending = (await client.request("planloom/plan/get", {"planId": approval}))["plan"]["pending"]
        answer = {"approvalId": pending["approvals"][0]["approvalId"], "decision": "allow"}
        await client.request("planloom/approval/respond", answer)
        await client.until(lambda: "- [x] Replace" in reader.text)
        assert "List all files" in reader.text


@pytest.mark.slow
async def test_an_editor_that_tells_its_changes_late_gets_no_edit_of_an_older_text(folder: Path) -> None:
    async with plain(folder, late=0.3) as client:
        reader = Reader(client)

        async def answer(asked: dict[str, Any]) -> dict[str, str]:
            """Start, and deny each change as soon as the document says that its step waits."""
            if asked["actions"][1]["title"] == "Start execution":
                return {"title": "Start execution"}
            await client.until(lambda: "- [?] " in reader.text)
            return {"title": "Skip these changes"}

        client.answer("window/showMessageRequest", answer)
        await plan(client)
        await client.wait_shown("Partly done, 1 of 3")
        await client.until(lambda: "status: completed" in reader.text)
        assert reader.text.count("- [-] ") == 2 and reader.text.count("- [x] ") == 1
        assert client.editor.misplaced == []


@pytest.mark.slow
async def test_what_is_typed_while_the_document_is_brought_up_to_date_stays_in_its_line(folder: Path) -> None:
    """The editor tells late and compares no versions, so that edits of the document are made in the wrong lines."""
    capabilities = {**FULL, "workspace": {"applyEdit": True}}
    async with plain(folder, capabilities=capabilities, late=0.05) as client:
        reader = Reader(client, Start="Start execution", Allow="Skip these changes")
        typed = 0

        async def edited(params: dict[str, Any]) -> Any:
            """Type a line above the steps just before an edit arrives."""
            nonlocal typed
            if reader.shown and reader.shown[0] in params["edit"].get("changes", {}) and typed < 4:
                typed += 1
                start = at(reader.text, "3 steps, nothing")
                client.type(reader.shown[0], {"start": start, "end": start}, f"note {typed}\n")
            return client.editor.apply(params)

        client.answer("workspace/applyEdit", edited)
        await plan(client)
        await client.wait_shown("Partly done, 1 of 3")
        await client.until(lambda: reader.text.count("- [-] ") == 2, timeout=20)
        await client.until(lambda: reader.text.count("- [x] ") == 1, timeout=20)
        assert client.editor.misplaced and typed == 4
        assert [reader.text.count(f"\nnote {number}\n") for number in (1, 2, 3, 4)] == [1] * 4, reader.text
        signs = [line[:6] for line in reader.text.split("\n") if "^step_" in line]
        assert signs == ["- [-] ", "- [-] ", "- [x] "] and reader.text.count("## Steps\n") == 1


@pytest.mark.parametrize("late", [0.0, 0.05])
async def test_what_the_server_itself_writes_into_a_document_is_no_error(folder: Path, late: float) -> None:
    async with plain(folder, late=late) as client:
        # Whatever the server waits for before it looks at a text, it is not enough time.
        client.server.connection.jobs.sleep = lambda _: asyncio.sleep(0)
        reader = Reader(client, Start="Start execution", Allow="Allow once")
        await plan(client)
        await client.wait_shown("3 of 3 steps done")
        await client.until(lambda: "status: completed" in reader.text)
        await asked(client, reader, "codeLens")
        assert [told for told in client.told("textDocument/publishDiagnostics") if told["diagnostics"]] == []


@pytest.mark.parametrize("heeds", [True, False])
async def test_one_message_is_open_at_a_time_and_is_taken_back_when_it_is_answered_elsewhere(
    folder: Path, *, heeds: bool
) -> None:
    async with plain(folder) as client:
        asked: list[dict[str, Any]] = []
        closes = asyncio.Event()

        async def answer(message: dict[str, Any]) -> None:
            asked.append(message)
            if heeds and len(asked) == 1:
                await client.until(lambda: client.told("$/cancelRequest"))
                raise Failed({"code": -32800, "message": "cancelled"})
            await closes.wait()

        client.answer("window/showMessageRequest", answer)
        first = await plan(client)
        await client.until(lambda: asked)
        await plan(client, "1. List files\n2. Read a.txt")
        await client.until(lambda: client.told("$/progress"))
        assert len(asked) == 1
        command = {"command": "planloom.reject", "arguments": [first["planId"]]}
        await client.request("workspace/executeCommand", command)
        await client.until(lambda: client.told("$/cancelRequest"))
        if not heeds:
            # The client still shows the message, and no second one comes above it until the user closes it.
            await client.request("planloom/status")
            assert len(asked) == 1
            closes.set()
        await client.until(lambda: len(asked) == 2)
        closes.set()


def at(text: str, words: str, inside: int = 0) -> dict[str, int]:
    """The position of some words in a text, or so many characters inside them."""
    before = text[: text.index(words) + inside]
    return {"line": before.count("\n"), "character": len(before.rpartition("\n")[2])}


async def asked(client: LspClient, reader: Reader, method: str, **more: Any) -> Any:
    """What the server says of the document."""
    return await client.request(f"textDocument/{method}", {"textDocument": {"uri": reader.shown[0]}, **more})


@pytest.mark.slow
async def test_the_document_offers_what_can_be_done_and_does_it(folder: Path) -> None:
    async with plain(folder) as client:
        reader = Reader(client, Start=None, Allow="Allow once")
        await plan(client)
        await client.until(lambda: reader.shown)
        lenses = {each["command"]["title"]: each for each in await asked(client, reader, "codeLens")}
        assert {"Start execution", "Reject", "Execute directly", "Plan again"} <= lenses.keys()
        line = lenses["Reject"]["range"]["start"]["line"]
        assert reader.text.split("\n")[line].startswith("# 1. Replace")
        # A lens acts on the document as it is, saved or not.
        reader.change("    - content: b\n", "    - content: c\n", save=False)
        command = lenses["Start execution"]["command"]
        named = {"command": command["command"], "arguments": command["arguments"]}
        await client.request("workspace/executeCommand", named)
        await client.wait_shown("3 of 3 steps done")
        assert (folder / "b.txt").read_text() == "c"
        await client.until(lambda: reader.text.count("[x]") == 3)
        span = {"start": at(reader.text, "Write b.txt"), "end": at(reader.text, "Write b.txt")}
        found = await asked(client, reader, "codeAction", range=span, context={"diagnostics": []})
        assert [each["title"] for each in found] == [
            "Planloom: Undo all edits of this plan",
            "Planloom: Undo this step",
        ]
        undo = found[1]["command"]
        named = {"command": undo["command"], "arguments": undo["arguments"]}
        await client.request("workspace/executeCommand", named)
        await client.until(lambda: not (folder / "b.txt").exists())
        hints = [each["label"] for each in await asked(client, reader, "inlayHint", range=span)]
        assert len(hints) == 3 and all(label.endswith("s") for label in hints)


async def test_the_document_has_symbols_folds_links_and_hovers(folder: Path) -> None:
    async with plain(folder) as client:
        reader = Reader(client)
        await plan(client)
        await client.until(lambda: reader.shown)
        symbols = await asked(client, reader, "documentSymbol")
        assert [each["name"] for each in symbols] == ["Replace 'old' in a.txt", "Write b.txt", "List files"]
        folds = await asked(client, reader, "foldingRange")
        assert [each["startLine"] for each in folds] == [each["range"]["start"]["line"] for each in symbols]
        links = await asked(client, reader, "documentLink")
        assert {each["target"] for each in links} == {(folder / "a.txt").as_uri()}
        hover = await asked(client, reader, "hover", position=at(reader.text, "write_file", 3))
        assert "**write_file**" in hover["contents"]["value"] and "`content`" in hover["contents"]["value"]


async def test_a_hover_on_a_step_shows_its_description_as_plain_text(folder: Path) -> None:
    async with plain(folder) as client:
        reader = Reader(client)
        await plan(client)
        await client.until(lambda: reader.shown)
        reader.change("Write b.txt", "See ![here](http://127.0.0.1/a.png)")
        reader.change("List files ^step_3\n", "List files ^step_3\n  - after: step_2\n")
        await client.until(lambda: "version: 2" in reader.text or "version: 3" in reader.text)
        hover = await asked(client, reader, "hover", position=at(reader.text, "after: step_2", 9))
        assert "here" in hover["contents"]["value"] and "![here](" not in hover["contents"]["value"]


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("  - tool: ", "edit_file"),
        ("  - after: ", "step_1"),
        ("  - agent: ", "operations"),
        ("  - af", "after: "),
        ("    - ", "recursive: "),
    ],
)
async def test_what_is_typed_is_completed(folder: Path, typed: str, offered: str) -> None:
    async with plain(folder) as client:
        reader = Reader(client)
        await plan(client)
        await client.until(lambda: reader.shown)
        reader.change("  - tool: list_files\n", f"  - tool: list_files\n{typed}\n", save=False)
        place = at(reader.text, f"list_files\n{typed}", len("list_files\n") + len(typed))
        items = (await asked(client, reader, "completion", position=place))["items"]
        assert offered in [each["label"] for each in items]


@pytest.mark.parametrize(
    ("old", "new", "message", "near"),
    [
        ("- tool: list_files\n", "- tool: list_files\n  - aftr: step_1\n", "Did you mean “after”?", "after"),
        ("- tool: list_files\n", "- tool: lst_files\n", "There is no tool", "list_files"),
    ],
)
async def test_a_word_that_is_nearly_one_is_mended_by_an_action(
    folder: Path, old: str, new: str, message: str, near: str
) -> None:
    async with plain(folder) as client:
        reader = Reader(client)
        await plan(client)
        await client.until(lambda: reader.shown)
        reader.change(old, new)
        found = await diagnosed(client, message)
        context = {"diagnostics": [found]}
        actions = await asked(client, reader, "codeAction", range=found["range"], context=context)
        (edit,) = actions[0]["edit"]["changes"][reader.shown[0]]
        assert edit["newText"] == near and actions[0]["title"] == f"Write “{near}”"


async def test_a_document_of_an_earlier_server_shows_its_plan_again(folder: Path, ledger: Path) -> None:
    async with plain(folder, ledger=ledger) as client:
        reader = Reader(client, Start=None)
        await plan(client)
        await client.until(lambda: reader.shown)
    uri = reader.shown[0]
    async with plain(folder, ledger=ledger) as client:
        reader = Reader(client, Start=None)
        client.open(uri)
        reader.shown.append(uri)
        lenses = await asked(client, reader, "codeLens")
        assert "Start execution" in [each["command"]["title"] for each in lenses]


@pytest.mark.slow
async def test_a_plan_that_another_server_runs_is_said_to_be_and_taken_over_when_that_one_ends(
    folder: Path, ledger: Path
) -> None:
    async with plain(folder, ledger=ledger) as client:
        reader = Reader(client, Start="Start execution")
        await plan(client)
        await client.until(lambda: len(reader.asked) == 2)
        await client.until(lambda: "status: executing" in reader.text)
        client.save(reader.shown[0])
        async with plain(folder, ledger=ledger) as later:
            after = Reader(later, Resume=None)
            later.open(reader.shown[0])
            after.shown.append(reader.shown[0])
            told = await later.wait_shown("Another Planloom server (process ")
            assert "takes the plan over" in told["message"]
            found = await diagnosed(later, "Another Planloom server (process ")
            assert found["severity"] == 3
            title = after.text.split("\n")[found["range"]["start"]["line"]]
            assert title.startswith("# ") and found["range"]["end"]["character"] == len(title)
            await client.shut_down()
            await later.until(lambda: "status: paused" in after.text)
            await later.until(lambda: diagnostics(later) == [])
            (asked,) = await later.until(lambda: after.asked)
            assert "The server ended while the plan ran." in asked["message"]


async def asking(client: LspClient, reader: Reader) -> str:
    """The id of a plan of which one step asks, without options."""
    created = await plan(client, "1. List files\n2. Read a.txt")
    await client.until(lambda: reader.shown)
    reader.change(
        "- [ ] Read a.txt",
        "- [ ] Ask\n  - kind: clarification\n  - question: Which port?\n\n- [ ] Read a.txt",
    )
    await client.until(lambda: "version: 2" in reader.text)
    return str(created["planId"])


async def asks(client: LspClient, reader: Reader) -> None:
    """Run a plan until one of its steps asks."""
    command = {"command": "planloom.approve", "arguments": [await asking(client, reader), 2]}
    await client.request("workspace/executeCommand", command)
    await client.until(lambda: "- [?] Ask" in reader.text and "\n\nAnswer:\n\n- " in reader.text)


async def chosen(client: LspClient, action: dict[str, Any]) -> None:
    """Choose a code action or a lens."""
    command = {name: action["command"][name] for name in ("command", "arguments")}
    await client.request("workspace/executeCommand", command)


@pytest.mark.slow
async def test_a_question_is_answered_by_what_is_selected(folder: Path) -> None:
    async with plain(folder) as client:
        reader = Reader(client)
        await asks(client, reader)
        told = await client.wait_shown("Which port?")
        assert "behind “Answer:” below the step" in told["message"]
        reader.change("## Steps\n", "## Steps\n\n8080, please\n", save=False)
        start, end = at(reader.text, "8080"), at(reader.text, "please", len("please"))
        span, context = {"start": start, "end": end}, {"diagnostics": []}
        found = await asked(client, reader, "codeAction", range=span, context=context)
        (action,) = [each for each in found if each["title"] == "Planloom: Answer with the selection"]
        assert action["command"]["arguments"][2] == "8080, please"
        none = await asked(
            client, reader, "codeAction", range={"start": start, "end": start}, context=context
        )
        assert action["title"] not in [each["title"] for each in none]
        await chosen(client, action)
        await client.wait_shown("3 of 3 steps done")
        # The line of the server, in which nothing stands, is gone.
        await client.until(lambda: "status: completed" in reader.text and "Answer:\n" not in reader.text)
        assert "8080, please" in reader.text


@pytest.mark.parametrize("by", ["codeLens", "codeAction"])
@pytest.mark.slow
async def test_a_question_is_answered_behind_its_line_in_the_document(folder: Path, by: str) -> None:
    """Nothing is done while the answer is typed, nor by a save; it stays as a quotation."""
    async with plain(folder) as client:
        reader = Reader(client)
        await asks(client, reader)
        await client.wait_shown("Which port?")
        reader.change("Answer:\n", "Answer: 8080\n")
        reader.change("Answer: 8080\n", "Answer: 8080,\nplease\n", save=False)
        place = at(reader.text, "8080")
        params = {"range": {"start": place, "end": place}, "context": {"diagnostics": []}}
        found = await asked(client, reader, by, **(params if by == "codeAction" else {}))
        (action,) = [each for each in found if each["command"]["title"] == "Answer: 8080, please"]
        assert action["command"]["arguments"][2] == "8080,\nplease"
        assert "- [?] Ask" in reader.text
        await chosen(client, action)
        await client.wait_shown("3 of 3 steps done")
        await client.until(lambda: "status: completed" in reader.text)
        await client.until(lambda: "\n> Answer: 8080,\n> please\n" in reader.text)


async def test_a_request_is_written_in_a_new_document_and_planned_by_its_action_or_lens(folder: Path) -> None:
    """For editors in which no command can be typed."""
    request = "Read @a.txt and\ncreate b.txt with what it says.\n"
    uri = (folder / "todo.plan.md").as_uri()
    async with plain(folder) as client:
        reader = Reader(client)
        client.open(uri, request, language_id="markdown")
        start = {"line": 0, "character": 0}
        place = {"textDocument": {"uri": uri}, "range": {"start": start, "end": start}}
        (action,) = await client.request("textDocument/codeAction", {**place, "context": {"diagnostics": []}})
        (lens,) = await client.request("textDocument/codeLens", {"textDocument": {"uri": uri}})
        assert action["command"] == lens["command"]
        assert action["command"]["arguments"] == [request.strip()]
        command = {name: action["command"][name] for name in ("command", "arguments")}
        await client.request("workspace/executeCommand", command)
        await client.until(lambda: reader.shown)
        assert reader.shown[0] != uri and "create b.txt" in reader.text
        client.type(uri, None, " \n")
        assert await client.request("textDocument/codeLens", {"textDocument": {"uri": uri}}) == []


SOURCE = "import os\n\n# TODO: read the name\n#   from the settings.\nNAME = 'x'\n"


@pytest.mark.parametrize(
    ("name", "text", "start", "end", "request_"),
    [
        ("a.py", SOURCE, (3, 4), (3, 4), "TODO: read the name from the settings.\n\n@a.py:3-4"),
        ("a.py", SOURCE, (2, 0), (4, 0), "TODO: read the name from the settings.\n\n@a.py:3-4"),
        ("a.py", SOURCE, (4, 0), (4, 0), None),
        ("a.py", SOURCE, (0, 0), (4, 3), None),
        ("a.c", "int a; \n/* Make it long. */\n", (1, 5), (1, 5), "Make it long.\n\n@a.c:2"),
        ("todo.md", "- [ ] Port it\n- to 3.13\n", (0, 6), (1, 9), "Port it\n- to 3.13\n\n@todo.md:1-2"),
    ],
)
async def test_what_is_selected_or_in_a_comment_can_be_planned(
    folder: Path, name: str, text: str, start: tuple[int, int], end: tuple[int, int], request_: str | None
) -> None:
    async with plain(folder) as client:
        uri = (folder / name).as_uri()
        client.open(uri, text, language_id="markdown" if name.endswith(".md") else "x")
        span = {
            at: {"line": line, "character": character}
            for at, (line, character) in (("start", start), ("end", end))
        }
        params = {"textDocument": {"uri": uri}, "range": span, "context": {"diagnostics": []}}
        found = await client.request("textDocument/codeAction", params)
        assert [each["command"]["arguments"] for each in found] == ([[request_]] if request_ else [])


async def test_a_diagnostic_can_be_mended(folder: Path) -> None:
    async with plain(folder) as client:
        uri = (folder / "a.txt").as_uri()
        client.open(uri, language_id="x")
        span = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 3}}
        wrong = {"range": span, "message": "`old` is not defined", "source": "linter"}
        params = {"textDocument": {"uri": uri}, "range": span, "context": {"diagnostics": [wrong]}}
        (found,) = await client.request("textDocument/codeAction", params)
        assert found["title"] == "Fix with Planloom" and found["kind"] == "quickfix"
        asked = {"command": found["command"]["command"], "arguments": found["command"]["arguments"]}
        created = await client.request("workspace/executeCommand", asked)
        got = (await client.request("planloom/plan/get", {"planId": created["planId"]}))["plan"]
        assert got["request"] == "Fix this problem in @a.txt:1: `old` is not defined"
        assert [each["uri"] for each in got["attachments"]] == [uri]


KEPT = """---
plan: 0000
version: 7
status: completed
---

# Write both

> Write both
> of them.

What was agreed.

## Steps

Ask Ada first.

- [x] Write a ^step_1
  - tool: write_file
    - path: a.md
    - content: A
  → Wrote a.md
- [-] Write b ^step_2
  - tool: write_file
    - path: b.md
    - content: B
  - after: step_1
"""


async def adopted(client: LspClient, uri: str) -> dict[str, Any]:
    """Choose the lens on a document, and return the plan that it makes."""
    (lens,) = await client.request("textDocument/codeLens", {"textDocument": {"uri": uri}})
    assert lens["command"]["title"] == "Adopt as a new plan"
    asked = {"command": lens["command"]["command"], "arguments": lens["command"]["arguments"]}
    created = await client.request("workspace/executeCommand", asked)
    got = await client.request("planloom/plan/get", {"planId": created["planId"]})
    plan: dict[str, Any] = got["plan"]
    return plan


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
async def test_a_kept_document_becomes_a_new_plan_and_shows_it(folder: Path, ending: str) -> None:
    (folder / "docs").mkdir()
    uri = (folder / "docs" / "both.plan.md").as_uri()
    async with plain(folder) as client:
        reader = Reader(client, Start="Start execution", Allow="Allow once")
        client.open(uri, KEPT.replace("\n", ending), language_id="markdown")
        found = await diagnosed(client, "It is connected to no plan here")
        assert found["severity"] == 3
        action = {"range": found["range"], "context": {"diagnostics": []}, "textDocument": {"uri": uri}}
        offered = await client.request("textDocument/codeAction", action)
        assert [each["title"] for each in offered] == ["Adopt as a new plan"]
        plan = await adopted(client, uri)
        assert plan["request"] == "Write both\nof them." and plan["summary"] == "What was agreed."
        assert [each["status"] for each in plan["steps"]] == ["pending", "skipped"]
        await client.wait_shown("Partly done, 1 of 2")
        assert (folder / "a.md").read_text() == "A" and not (folder / "b.md").exists()
        text = await client.until(
            lambda: found if "status: completed" in (found := client.buffers[uri].text) else None
        )
        assert f"plan: {plan['planId']}" in text and "version: 1" in text and "Ask Ada first." in text
        assert text.count("What was agreed.") == 1 and "- [x] Write a" in text
        assert reader.shown == [uri]
        assert not (folder / ".planloom").exists()
        again = {"command": "planloom.adopt", "arguments": [uri]}
        with pytest.raises(Failed, match="it shows the plan"):
            await client.request("workspace/executeCommand", again)


@pytest.mark.parametrize(
    ("old", "new", "message", "wrong"),
    [
        ("# Write both", "Write both", "What the plan is for is missing", "Write both"),
        ("after: step_1", "after: step_9", "There is no step", "step_9"),
        ("tool: write_file", "tool: wrte_file", "There is no tool", "wrte_file"),
    ],
)
async def test_a_document_with_errors_is_adopted_once_they_are_mended(
    folder: Path, old: str, new: str, message: str, wrong: str
) -> None:
    uri = (folder / "both.plan.md").as_uri()
    async with plain(folder) as client:
        client.open(uri, KEPT.replace(old, new, 1), language_id="markdown")
        found = await diagnosed(client, message)
        start, end = found["range"]["start"], found["range"]["end"]
        line = client.buffers[uri].text.split("\n")[start["line"]]
        assert line[start["character"] : end["character"]] == wrong
        with pytest.raises(Failed, match="errors, which are marked"):
            await adopted(client, uri)
        client.type(uri, None, KEPT)
        await client.until(lambda: [each["severity"] for each in diagnostics(client)] == [3])
        assert (await adopted(client, uri))["status"] == "pending_approval"


async def test_a_copy_is_offered_as_new_and_a_renamed_document_is_still_its_plans(folder: Path) -> None:
    async with plain(folder) as client:
        reader = Reader(client)
        created = await plan(client)
        await client.until(lambda: reader.shown)
        copy = (folder / "copy.plan.md").as_uri()
        client.open(copy, reader.text, language_id="markdown")
        other = await adopted(client, copy)
        assert other["planId"] != created["planId"]
        text = reader.text
        client.close(reader.shown[0])
        (written,) = (folder / ".planloom").glob("*.plan.md")
        written.unlink()
        moved = (folder / "moved.plan.md").as_uri()
        client.open(moved, text, language_id="markdown")
        lenses = await client.request("textDocument/codeLens", {"textDocument": {"uri": moved}})
        assert [created["planId"], 1] in [each["command"]["arguments"] for each in lenses]


async def test_a_document_is_adopted_in_a_folder_that_is_not_trusted_and_nothing_of_it_is_done(
    folder: Path,
) -> None:
    uri = (folder / "both.plan.md").as_uri()
    async with plain(folder) as client:
        client.notify("planloom/workspace/trust", {"trusted": False})
        client.open(uri, KEPT, language_id="markdown")
        plan = await adopted(client, uri)
        asked = {"command": "planloom.approve", "arguments": [plan["planId"], 1]}
        await client.request("workspace/executeCommand", asked)
        await client.request("planloom/plan/wait", {"planId": plan["planId"], "until": "attention"})
        assert not (folder / "a.md").exists()


@pytest.mark.parametrize(
    ("old", "new", "request_", "summary"),
    [
        ("> 2. Read a.txt", "> 2. Read @a.txt", "1. List files\n2. Read @a.txt", None),
        ("# 1. List files", "# 1. List all", "1. List all\n2. Read a.txt", None),
        ("## Steps", "A word of mine.\n\n## Steps", "1. List files\n2. Read a.txt", "A word of mine."),
    ],
)
async def test_a_changed_request_or_summary_is_the_plans(
    folder: Path, ledger: Path, old: str, new: str, request_: str, summary: str | None
) -> None:
    async with plain(folder, ledger=ledger) as client:
        reader = Reader(client)
        created = await plan(client, "1. List files\n2. Read a.txt")
        await client.until(lambda: reader.shown)
        reader.change("status: pending", "owner: Ada\nstatus: pending", save=False)
        reader.change(old, new)
        await client.until(lambda: "version: 2" in reader.text)
        got = (await client.request("planloom/plan/get", {"planId": created["planId"]}))["plan"]
        assert got["request"] == request_ and got["version"] == 2
        assert summary is None or got["summary"].endswith(summary)
        assert [each["reference"] for each in got["attachments"]] == (["@a.txt"] if "@" in request_ else [])
        assert f"> {request_}".replace("\n", "\n> ") in reader.text and "owner: Ada" in reader.text
        assert diagnostics(client) == []
    async with plain(folder, ledger=ledger) as client:
        (listed,) = (await client.request("planloom/plan/list", {}))["plans"]
        assert listed["request"] == request_


async def older(client: LspClient, reader: Reader) -> str:
    """The text of a document as it was before its plan changed, with the plan at version 2."""
    await plan(client)
    await client.until(lambda: reader.shown)
    before = reader.text
    reader.change("    - content: b\n", "    - content: c\n")
    await client.until(lambda: "version: 2" in reader.text)
    return before


@pytest.mark.parametrize(
    ("title", "content", "version"),
    [("Make the plan what this text says", "b", 3), ("Show the plan as it is", "c", 2)],
)
async def test_an_older_text_of_a_plan_waits_for_a_choice(
    folder: Path, ledger: Path, title: str, content: str, version: int
) -> None:
    """As it comes out of git: neither is the plan changed back by a save, nor the text overwritten."""
    async with plain(folder, ledger=ledger) as client:
        reader = Reader(client)
        text = await older(client, reader)
    uri = reader.shown[0]
    own = text.replace("## Steps", "## Steps\n\nMy own note.")
    async with plain(folder, ledger=ledger) as client:
        reader = Reader(client)
        client.open(uri, own, language_id="markdown")
        reader.shown.append(uri)
        found = await diagnosed(client, "The plan has moved on since this text was written")
        assert found["severity"] == 3 and reader.text == own
        await client.wait_shown("The plan has moved on")
        client.type(uri, None, own + "More of mine.\n")
        client.save(uri)
        await client.wait_shown("The plan has moved on")
        lenses = {each["command"]["title"]: each for each in await asked(client, reader, "codeLens")}
        assert "Start execution" not in lenses and "version: 1" in reader.text
        await chosen(client, lenses[title])
        await client.until(lambda: f"version: {version}" in reader.text)
        assert f"    - content: {content}\n" in reader.text and "My own note." in reader.text
        assert "More of mine." in reader.text
        await client.until(lambda: diagnostics(client) == [])
        lenses = {each["command"]["title"]: each for each in await asked(client, reader, "codeLens")}
        assert title not in lenses
        plan_id = lenses["Start execution"]["command"]["arguments"][0]
        got = (await client.request("planloom/plan/get", {"planId": plan_id}))["plan"]
        assert got["version"] == version and got["steps"][1]["args"]["content"] == content


async def test_an_older_text_that_comes_into_an_open_document_waits_for_a_choice(
    folder: Path, ledger: Path
) -> None:
    """As a checkout brings it back while the document is open."""
    async with plain(folder, ledger=ledger) as client:
        reader = Reader(client)
        text = await older(client, reader)
        client.save(reader.shown[0])
    uri = reader.shown[0]
    async with plain(folder, ledger=ledger) as client:
        reader = Reader(client)
        client.open(uri, language_id="markdown")
        reader.shown.append(uri)
        await asked(client, reader, "codeLens")
        client.type(uri, None, text)
        client.save(uri)
        await client.wait_shown("The plan has moved on")
        assert reader.text == text
        lenses = {each["command"]["title"]: each for each in await asked(client, reader, "codeLens")}
        await chosen(client, lenses["Show the plan as it is"])
        await client.until(lambda: "version: 2" in reader.text and "    - content: c\n" in reader.text)
        await client.until(lambda: diagnostics(client) == [])


async def test_a_closed_document_of_any_name_and_folder_is_brought_up_to_date_where_it_lies(
    folder: Path, ledger: Path
) -> None:
    second = folder / "second"
    second.mkdir()
    async with plain(second, ledger=ledger) as client:
        reader = Reader(client)
        created = await plan(client)
        await client.until(lambda: reader.shown)
        client.save(reader.shown[0])
    (kept,) = (second / ".planloom").glob("*.plan.md")
    named = kept.rename(kept.with_name("Übung nr 1.plan.md"))
    first = folder / "first"
    first.mkdir()
    async with plain(first, ledger=ledger) as client:
        event = {"added": [{"uri": second.as_uri(), "name": "second"}], "removed": []}
        client.notify("workspace/didChangeWorkspaceFolders", {"event": event})
        reader = Reader(client)
        client.open(named.as_uri(), language_id="markdown")
        reader.shown.append(named.as_uri())
        await asked(client, reader, "codeLens")
        client.close(named.as_uri())
        command = {"command": "planloom.skipStep", "arguments": [created["planId"], "step_3"]}
        await client.request("workspace/executeCommand", command)
        await client.until(lambda: "version: 2" in named.read_text())
        assert not (first / ".planloom").exists()
        copy = second / "Übung nr 2.plan.md"
        copy.write_text(named.read_text())
        client.open(copy.as_uri(), language_id="markdown")
        (offer,) = await client.until(lambda: reader.asked)
        assert offer["message"].startswith("Planloom: Übung nr 2.plan.md: It is connected to no plan here.")


async def test_a_document_that_was_changed_without_a_server_is_not_written_over(
    folder: Path, ledger: Path
) -> None:
    async with plain(folder, ledger=ledger) as client:
        reader = Reader(client)
        plan_id = await asking(client, reader)
        client.save(reader.shown[0])
    (kept,) = (folder / ".planloom").glob("*.plan.md")
    kept.write_text(
        kept.read_text().replace("] Read a.txt", "] Read it well").replace("## Steps", "Mine.\n\n## Steps")
    )
    async with plain(folder, ledger=ledger) as client:
        reader = Reader(client)
        command = {"command": "planloom.approve", "arguments": [plan_id, 2]}
        await client.request("workspace/executeCommand", command)
        await client.wait_shown("Which port?")
        await client.until(lambda: reader.shown and "- [?] Ask" in reader.text)
        assert reader.shown == [kept.as_uri()]
        assert "] Read it well" in reader.text and "Mine.\n" in reader.text


@pytest.mark.parametrize("late", [0.0, 0.02])
@pytest.mark.slow
async def test_someone_types_anywhere_while_the_plan_runs(folder: Path, late: float) -> None:
    """Nothing typed is lost, and once it is taken back the document says what has become of the plan."""
    steps = "\n".join(
        f'{number}. Create file f{number}.txt with content "{number}"' for number in range(1, 9)
    )
    dice = random.Random(7)
    async with plain(folder, late=late) as client:
        reader = Reader(client, Start="Start execution", Allow="Allow once")
        await plan(client, steps)
        await client.wait_shown("Perspectives need a language model")
        await client.until(lambda: reader.shown and "pending approval" not in reader.text)
        typed: list[str] = []
        while len(typed) < 30:
            typed.append(chr(0x4E00 + len(typed)))
            place = at(reader.text, reader.text[dice.randrange(len(reader.text)) :])
            client.type(reader.shown[0], {"start": place, "end": place}, typed[-1])
            await client.request("planloom/status")
            assert [each for each in typed if each not in reader.text] == []
        await client.wait_shown("8 of 8 steps done")
        for each in typed:
            start = at(reader.text, each)
            end = {"line": start["line"], "character": start["character"] + 1}
            client.type(reader.shown[0], {"start": start, "end": end}, "")
            await client.request("planloom/status")
        client.save(reader.shown[0])
        await client.until(lambda: "status: completed" in reader.text and reader.text.count("- [x] ") == 8)
        await client.until(lambda: diagnostics(client) == [] and reader.text.count("→ Created") == 8)


async def test_the_documents_of_plans_are_no_unsaved_work_that_a_command_waits_for(folder: Path) -> None:
    async with plain(folder) as client:
        reader = Reader(client, Start="Start execution", Resume=None, Allow="Allow once")
        client.open((folder / "a.txt").as_uri(), "typed\n")
        created = await plan(client, "1. Run `touch made.txt`\n2. List files")
        await client.until(lambda: reader.shown and "status: paused" in reader.text)
        found = (await client.request("planloom/plan/get", {"planId": created["planId"]}))["plan"]
        assert found["pauseReason"] == "unsaved_files"
        assert "a.txt" in found["pauseDetail"] and ".plan.md" not in found["pauseDetail"]
        client.save((folder / "a.txt").as_uri())
        await client.until((folder / "made.txt").exists)
