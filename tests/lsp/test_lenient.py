"""Empty params in every way that clients write them, and answers that come late, twice or never."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from planloom.lsp import commands, methods
from planloom.lsp.methods import ClientRequest
from planloom.lsp.plan_documents import shown_documents
from planloom.lsp.transport import outgoing
from tests.lsp import samples
from tests.lsp.test_fallback import plain
from tests.lsp.test_plan_documents import Reader, plan
from tests.support.lsp_client import Failed, LspClient, NeverAnswered, connected

ABSENT: Any = object()
EMPTY = (None, [], ABSENT)


async def said(client: LspClient, method: str, params: Any) -> dict[str, Any] | None:
    """The data of the error that a request is answered with; None for a result."""
    given = {} if params is ABSENT else {"params": params}
    _, answer = client.start_text(
        lambda ident: json.dumps({"jsonrpc": "2.0", "id": ident, "method": method, **given})
    )
    try:
        await answer
    except Failed as error:
        return dict(error.data)
    return None


@pytest.mark.parametrize("method", methods.CLIENT_REQUESTS, ids=lambda method: method.name)
async def test_a_method_takes_nothing_as_an_empty_object(method: ClientRequest, tmp_path: Path) -> None:
    needed = [
        field.alias or name for name, field in method.params.model_fields.items() if field.is_required()
    ]
    async with connected(samples.application().make, folders=[tmp_path]) as client:
        for params in EMPTY:
            error = await said(client, method.name, params)
            if not needed:
                assert error is None, params
            else:
                assert error is not None and error["code"] == "invalid_params", params
                assert {each["field"] for each in error["details"]} == {*needed}, params


@pytest.mark.parametrize("command", commands.COMMANDS, ids=lambda command: command.name)
async def test_a_command_takes_nothing_as_no_arguments(command: commands.Command, tmp_path: Path) -> None:
    needed = [name for name in command.names() if not name.endswith("?")]
    async with connected(samples.application().make, folders=[tmp_path]) as client:
        for arguments in EMPTY:
            params = {"command": command.name, **({} if arguments is ABSENT else {"arguments": arguments})}
            error = await said(client, "workspace/executeCommand", params)
            if error is not None:
                assert error["code"] != "internal", arguments
            if needed:
                wanted = f"{command.name} needs {needed[0]}"
                assert error is not None and error["details"][0]["problem"] == wanted, arguments


EDIT = '1. Replace "old" with "new" in a.txt\n2. Create file b.txt with content "b"'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PLANLOOM_CONFIG", str(tmp_path.parent / "none.json"))
    monkeypatch.setattr(shown_documents, "_ANSWER_SECONDS", 0.2)
    monkeypatch.setattr(outgoing, "_SHOW_SECONDS", 0.2)
    (tmp_path / "a.txt").write_text("old\n")
    return tmp_path


async def test_a_client_that_answers_everything_twice_is_taken_at_its_first_word(folder: Path) -> None:
    async with plain(folder) as client:
        Reader(client, Start="Start execution", Allow="Allow once")
        once = client.raw

        def twice(message: Any) -> None:
            once(message)
            if isinstance(message, dict) and "result" in message:
                once({**message, "result": {"title": "Cancel the plan"}})

        client.raw = twice
        await plan(client, EDIT)
        await client.wait_shown("2 of 2 steps done")
        assert (folder / "b.txt").read_text() == "b"


@pytest.mark.parametrize("late", [True, False], ids=["late", "never"])
@pytest.mark.slow
async def test_a_client_that_does_not_answer_in_time_loses_nothing(folder: Path, *, late: bool) -> None:
    """What only shows something is not waited for: the document, the lenses, the edits of the document."""
    async with plain(folder) as client:
        Reader(client, Start="Start execution", Allow="Allow once")
        patience = asyncio.Event()

        async def answer(_: Any) -> dict[str, Any]:
            await patience.wait()
            if not late:
                raise NeverAnswered
            return {"success": True}

        for method in ("window/showDocument", "workspace/codeLens/refresh"):
            client.answer(method, answer)
        await plan(client, EDIT)
        await client.wait_shown("2 of 2 steps done")
        patience.set()
        (document,) = (folder / ".planloom").glob("*.plan.md")
        await client.until(lambda: "status: completed" in document.read_text())
        assert (await client.request("planloom/status"))["health"] == "ok"
