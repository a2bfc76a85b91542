"""A plan of another workspace is neither read nor changed, by its id or through a document that names it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from planloom.lsp import methods
from planloom.lsp.commands import COMMANDS
from tests.lsp.test_fallback import plain
from tests.lsp.test_plan_documents import EDIT, Reader, diagnosed, plan
from tests.support.lsp_client import LspClient

OTHERS: dict[str, Any] = {
    "version": 1,
    "stepId": "step_1",
    "editId": "e",
    "uri": "file:///a.txt",
    "edits": [],
    "request": "Something else",
    "text": "Go on",
    "format": "full",
    "to": 1,
    "files": [{"uri": "file:///a.txt", "choice": "mine"}],
    "answer": "yes",
    "action": "retry",
    "name": "t",
    "parameters": [],
}
"""A value for each field that a request needs besides the id of the plan."""
NAMING = [
    request
    for request in methods.CLIENT_REQUESTS
    if "plan_id" in request.params.model_fields
    # A workspace has only entries of its own.
    and not request.name.startswith("planloom/memory/")
]


def params(request: methods.ClientRequest, plan_id: str) -> dict[str, Any]:
    fields = request.params.model_fields
    aliases = [field.alias or name for name, field in fields.items() if field.is_required()]
    return {"planId": plan_id} | {name: OTHERS[name] for name in aliases if name != "planId"}


@pytest.fixture
def elsewhere(tmp_path: Path) -> tuple[Path, Path, Path]:
    """Two workspaces and the ledger that their servers share."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.txt").write_text("old\n")
    return tmp_path / "one", tmp_path / "two", tmp_path / "ledger.sqlite"


async def waiting(folder: Path, ledger: Path) -> dict[str, Any]:
    """A plan that waits for its approval, and its server has ended."""
    async with plain(folder, ledger=ledger) as client:
        Reader(client, Start=None)
        created = await plan(client)
        found = await client.request(
            "planloom/plan/wait", {"planId": created["planId"], "until": "attention"}
        )
        made: dict[str, Any] = found["plan"]
        return made


async def got(client: LspClient, plan_id: str) -> dict[str, Any]:
    found = await client.request("planloom/plan/get", {"planId": plan_id, "allWorkspaces": True})
    plan: dict[str, Any] = found["plan"]
    return plan


@pytest.mark.parametrize("request_", NAMING, ids=lambda each: each.name)
async def test_no_request_reaches_a_plan_of_another_workspace(
    elsewhere: tuple[Path, Path, Path], request_: methods.ClientRequest
) -> None:
    one, two, ledger = elsewhere
    before = await waiting(one, ledger)
    async with plain(two, ledger=ledger) as client:
        refused = await client.fails(request_.name, params(request_, before["planId"]))
        assert (refused.word, refused.message) == ("unknown_plan", f"This plan works in {one}.")
        assert await got(client, before["planId"]) == before
    assert (two / "a.txt").read_text() == (one / "a.txt").read_text() == "old\n"


@pytest.mark.parametrize("method", ["get", "events", "export"])
async def test_a_plan_of_another_workspace_is_read_if_all_are_asked_for(
    elsewhere: tuple[Path, Path, Path], method: str
) -> None:
    one, two, ledger = elsewhere
    plan_id = (await waiting(one, ledger))["planId"]
    async with plain(two, ledger=ledger) as client:
        asked = {"planId": plan_id, "allWorkspaces": True}
        if method == "export":
            asked["format"] = "markdown"
        assert await client.request(f"planloom/plan/{method}", asked)


@pytest.mark.parametrize("name", [".planloom/x.plan.md", "docs/x.plan.md"])
async def test_a_document_that_names_a_plan_of_another_workspace_is_no_document_of_it(
    elsewhere: tuple[Path, Path, Path], name: str
) -> None:
    one, two, ledger = elsewhere
    before = await waiting(one, ledger)
    document = two / name
    document.parent.mkdir()
    document.write_text(
        f"---\nplan: {before['planId']}\nversion: 1\nstatus: pending approval\n---\n\n# Title\n\n## Steps\n\n"
        "- [ ] Write it ^step_1\n  - tool: write_file\n    - path: evil.sh\n    - content: evil\n"
    )
    async with plain(two, ledger=ledger) as client:
        Reader(client)
        client.open(document.as_uri(), document.read_text(), language_id="markdown")
        await diagnosed(client, "It is connected to no plan here")
        client.type(document.as_uri(), None, document.read_text().replace("Write it", "Write that"))
        client.save(document.as_uri())
        await client.request("textDocument/codeLens", {"textDocument": {"uri": document.as_uri()}})
        assert "evil.sh" in client.buffers[document.as_uri()].text
        assert EDIT.splitlines()[1][3:] not in client.buffers[document.as_uri()].text
        assert await got(client, before["planId"]) == before


async def test_a_plan_is_reached_where_one_of_several_folders_is_its_own(
    elsewhere: tuple[Path, Path, Path],
) -> None:
    one, two, ledger = elsewhere
    before = await waiting(one, ledger)
    async with plain(one, ledger=ledger) as client:
        client.notify(
            "workspace/didChangeWorkspaceFolders",
            {"event": {"added": [{"uri": two.as_uri(), "name": "two"}], "removed": []}},
        )
        found = await client.request("planloom/plan/get", {"planId": before["planId"]})
        assert found["plan"]["planId"] == before["planId"]


async def test_a_plan_that_runs_here_can_be_cancelled_after_its_folder_was_closed(
    elsewhere: tuple[Path, Path, Path],
) -> None:
    one, two, ledger = elsewhere
    async with plain(one, ledger=ledger) as client:
        Reader(client, Start=None)
        created = await plan(client)
        event = {
            "added": [{"uri": two.as_uri(), "name": "two"}],
            "removed": [{"uri": one.as_uri(), "name": "one"}],
        }
        client.notify("workspace/didChangeWorkspaceFolders", {"event": event})
        cancelled = await client.request("planloom/plan/cancel", {"planId": created["planId"]})
        assert cancelled["plan"]["planId"] == created["planId"]


async def test_a_session_of_another_workspace_has_no_plan_here(elsewhere: tuple[Path, Path, Path]) -> None:
    one, two, ledger = elsewhere
    session = (await waiting(one, ledger))["sessionId"]
    async with plain(two, ledger=ledger) as client:
        found = await client.request("planloom/plan/get", {"sessionId": session})
        assert found["plan"] is None


async def test_no_command_reaches_a_plan_of_another_workspace(elsewhere: tuple[Path, Path, Path]) -> None:
    one, two, ledger = elsewhere
    before = await waiting(one, ledger)
    values = {"planId": before["planId"], "version": 1, "text": "Go on", "stepId": "step_1", "answer": "yes"}
    async with plain(two, ledger=ledger) as client:
        for command in COMMANDS:
            names = [name.removesuffix("?") for name in command.names()]
            if "planId" in names:
                arguments = [values.get(name) for name in names]
                await client.fails(
                    "workspace/executeCommand", {"command": command.name, "arguments": arguments}
                )
        assert await got(client, before["planId"]) == before


@pytest.mark.parametrize("all_workspaces", [False, True])
async def test_a_plan_that_cannot_be_read_is_exported_raw_only_where_it_belongs(
    elsewhere: tuple[Path, Path, Path], all_workspaces: bool
) -> None:
    one, two, ledger = elsewhere
    plan_id = (await waiting(one, ledger))["planId"]
    with closing(sqlite3.connect(ledger)) as connection, connection:
        connection.execute("UPDATE events SET body = 'x' WHERE seq = 2")
    asked = {"planId": plan_id, "format": "json", "allWorkspaces": all_workspaces}
    async with plain(two, ledger=ledger) as client:
        if all_workspaces:
            assert (await client.request("planloom/plan/export", asked))["text"]
        else:
            assert (await client.fails("planloom/plan/export", asked)).word == "unknown_plan"
        await client.wait_shown("cannot be read")
