"""What a client without an extension is asked says all that one has to know, when it waits, in the user's language."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.lsp.test_fallback import EDIT, User, plain, showing
from tests.lsp.test_plan_documents import Reader, asked, at, plan
from tests.lsp.test_whole import EMBEDDED
from tests.support.lsp_client import FULL, PLAIN, LspClient, connected
from tests.support.real_application import real_application

EXTENSION: dict[str, Any] | None = None
SAME_NAMES = """1. Replace "old" with "new" in lib/calc.py
2. Replace "old" with "new" in src/calc.py
3. Create file src/new.txt with content "hi"
4. Delete gone.txt"""


@pytest.fixture(autouse=True)
def _no_user_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PLANLOOM_CONFIG", str(tmp_path.parent / "none.json"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.txt").write_text("old\n")
    return tmp_path


def at_the_end(folder: Path, capabilities: dict[str, Any] = FULL) -> Any:
    """A client whose plans are reviewed at their end, so that one question is about several files."""
    settings = {**EMBEDDED, "approvals": {"plan": "none"}, "execution": {"review": "end"}}
    return connected(
        real_application(),
        folders=[folder],
        settings=settings,
        capabilities=capabilities,
        extension=EXTENSION,
    )


async def started(client: LspClient, text: str) -> dict[str, Any]:
    """A plan that was started as soon as it was ready."""
    created = await plan(client, text)
    named = {"planId": created["planId"]}
    ready = (await client.request("planloom/plan/wait", {**named, "until": "ready"}))["plan"]
    await client.request("planloom/plan/approve", {**named, "version": ready["version"]})
    return created


async def test_files_of_one_name_are_told_apart_and_their_diff_applies(tmp_path: Path) -> None:
    work, copy = tmp_path / "work", tmp_path / "copy"
    for place in (work, copy):
        for name in ("lib/calc.py", "src/calc.py", "gone.txt"):
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_text("old\nline\n" if name.endswith(".py") else "gone")
    shown: list[str] = []
    async with at_the_end(work) as client:
        showing(client, shown)
        diffs: list[str] = []

        def seen() -> None:
            diffs.append(Path(shown[0].removeprefix("file://")).read_text(encoding="utf-8"))

        user = User(client, "Show changes", seen)
        created = await started(client, SAME_NAMES)
        await client.until(lambda: diffs)
        lines = user.messages[0]["message"].splitlines()
        assert "lib/calc.py: edited (+1 −1)" in lines and "src/calc.py: edited (+1 −1)" in lines
        await client.request("planloom/plan/cancel", {"planId": created["planId"]})
        # What was written for the question goes with the plan.
        await client.until(lambda: not [*(work / ".planloom").glob("changes-*")])
    applied = ["git", "apply", "-"]
    await asyncio.to_thread(subprocess.run, applied, cwd=copy, input=diffs[0], text=True, check=True)
    assert [(copy / name).read_text() for name in ("lib/calc.py", "src/calc.py", "src/new.txt")] == [
        "new\nline\n",
        "new\nline\n",
        "hi",
    ]
    assert not (copy / "gone.txt").exists()


async def test_a_hover_names_files_by_their_paths(folder: Path) -> None:
    (folder / "src").mkdir()
    (folder / "src" / "a.txt").write_text("old\n")
    async with plain(folder) as client:
        reader = Reader(client, Start="Start execution", Allow="Allow once")
        await plan(client, '1. Replace "old" with "new" in src/a.txt\n2. List files')
        await client.until(lambda: reader.shown and "status: completed" in reader.text)
        found = await asked(client, reader, "hover", position=at(reader.text, "^step_1", 1))
        assert "`src/a.txt`: edited" in found["contents"]["value"]


async def test_a_client_that_may_not_show_choices_or_documents_is_told_of_both(folder: Path) -> None:
    async with plain(folder, PLAIN) as client:
        user = User(client)
        created = await started(client, EDIT)
        await client.until(lambda: user.messages)
        *_, choices = user.messages[0]["message"].splitlines()
        (written,) = (folder / ".planloom").glob("changes-*.diff")
        assert f"The changes are in .planloom/{written.name}." in user.messages[0]["message"]
        assert choices == (
            "Choices: Later, Allow once, Allow for this plan, Skip these changes, Cancel the plan"
        )
        assert "-old\n+new\n" in written.read_text()
        # The code action says the same.
        client.shown()
        named = {"planId": created["planId"]}
        pending = (await client.request("planloom/plan/get", named))["plan"]["pending"]["approvals"]
        show = {"command": "planloom.showChanges", "arguments": [pending[0]["approvalId"]]}
        await client.request("workspace/executeCommand", show)
        await client.wait_shown(f"The changes are in .planloom/{written.name}.")


async def test_a_message_waits_until_the_client_has_drawn_what_it_was_shown(folder: Path) -> None:
    """Some editors stand still while a message is open, so that what is not drawn by then stays unseen."""
    async with plain(folder) as client:
        order: list[str] = []
        drawn = asyncio.Event()

        async def configuration(params: dict[str, Any]) -> Any:
            order.append("catches up")
            await drawn.wait()
            return [None for _ in params["items"]]

        client.answer("window/showDocument", lambda _: order.append("document") or {"success": True})
        client.answer("window/showMessageRequest", lambda _: order.append("message"))
        await client.request("planloom/status")
        client.answer("workspace/configuration", configuration)
        await plan(client)
        await client.until(lambda: order == ["document", "catches up"])
        await client.request("planloom/status")
        assert order == ["document", "catches up"]
        drawn.set()
        await client.until(lambda: order[-1] == "message")


async def test_what_waits_in_a_paused_plan_is_asked_at_the_next_start(folder: Path) -> None:
    ledger = folder.parent / f"{folder.name}.sqlite"
    async with plain(folder, ledger=ledger) as client:
        user = User(client)
        created = await started(client, "1. Make it nicer\n2. List files")
        await client.until(lambda: user.messages)
        await client.request("planloom/plan/wait", {"planId": created["planId"], "until": "attention"})
    async with plain(folder, ledger=ledger) as client:
        user = User(client, "Cancel the plan")
        await client.request("planloom/status")
        await client.until(lambda: user.messages)
        assert "Planloom has paused “1. Make it nicer”." in user.messages[0]["message"]
        named = {"planId": created["planId"], "until": "ended"}
        assert (await client.request("planloom/plan/wait", named))["plan"]["status"] == "cancelled"
    async with plain(folder, ledger=ledger) as client:
        user = User(client)
        await client.request("planloom/status")
        await client.request("planloom/plan/list", {})
        assert not user.messages


@pytest.mark.slow
async def test_a_step_that_waits_is_seen_in_the_document_after_its_message_was_dismissed(
    folder: Path,
) -> None:
    async with plain(folder) as client:
        reader = Reader(client, Start="Start execution", Allow=None)
        await plan(client, EDIT)
        await client.until(lambda: reader.shown and "- [?] Replace" in reader.text)
        assert "status: executing, waits for your approval\n" in reader.text
        span = {"start": at(reader.text, "^step_1"), "end": at(reader.text, "^step_1")}
        hints = [each["label"] for each in await asked(client, reader, "inlayHint", range=span)]
        assert hints[0] == "waits for your approval"


async def test_a_client_is_spoken_to_in_the_language_of_its_user(folder: Path) -> None:
    async with plain(folder, locale="de-DE") as client:
        shown: list[dict[str, Any]] = []

        def press(message: dict[str, Any]) -> dict[str, Any] | None:
            shown.append(message)
            titles = [each["title"] for each in message["actions"]]
            return next(({"title": each} for each in titles if each == "Ausführung starten"), None)

        reader = Reader(client)
        client.answer("window/showMessageRequest", press)
        await plan(client, EDIT)
        await client.until(lambda: len(shown) == 2 and "- [?] " in reader.text)
        assert shown[0]["message"].startswith("Planloom hat 2 Schritte für „1. Replace")
        assert [each["title"] for each in shown[0]["actions"]] == [
            "Später",
            "Ausführung starten",
            "Ablehnen",
            "Anzeigen",
        ]
        assert "a.txt: bearbeitet (+1 −1)" in shown[1]["message"].splitlines()
        lenses = [each["command"]["title"] for each in await asked(client, reader, "codeLens")]
        assert {"Einmal zulassen", "Diese Änderungen überspringen", "Plan abbrechen"} <= {*lenses}
        hover = await asked(client, reader, "hover", position=at(reader.text, "^step_1", 1))
        assert "**Vorgeschlagen**" in hover["contents"]["value"]
        (allow,) = [
            each["command"]
            for each in await asked(client, reader, "codeLens")
            if each["command"]["title"] == "Einmal zulassen"
        ]
        command = {"command": allow["command"], "arguments": allow["arguments"]}
        await client.request("workspace/executeCommand", command)
        await client.wait_shown("Planloom: Fertig. 2 von 2 Schritten erledigt. 1 Datei geändert.")
