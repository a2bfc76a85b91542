"""Templates on the command line and as commands of any editor, with the real server."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from planloom.lsp import commands
from tests.cli.test_history import Machine
from tests.support.lsp_client import PLAIN, LspClient, connected
from tests.support.real_application import real_application

DOCS = "Write docs for a folder"


@pytest.mark.process
def test_templates_are_listed_shown_and_planned(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    listed = machine.run("templates")
    assert listed.code == 0 and "[page=docs/overview.md]" in " ".join(listed.out.split())
    lacks = machine.run("templates", DOCS)
    assert lacks.code == 1 and "folder: it is required" in lacks.out
    shown = machine.run("templates", DOCS.lower(), "-p", "folder=src", "-p", "page=src/README.md")
    assert shown.code == 0 and "2. Write src/README.md" in shown.out
    planned = machine.run("plan", "--template", DOCS, "-p", "folder=src", "--json")
    assert planned.code == 0, planned.err
    plan = json.loads(planned.out.splitlines()[-1])["plan"]
    assert (plan["author"], plan["status"]) == ("template", "pending_approval")
    assert plan["steps"][0]["description"] == "Look into src"
    unknown = machine.run("plan", "--template", "Write docs for a folde", "-p", "folder=src")
    assert unknown.code == 1 and f"Did you mean '{DOCS}'?" in unknown.out
    assert machine.run("plan", "--template", DOCS, "-p", "folder").code == 2
    assert machine.run("run").code == 2


async def test_any_editor_plans_by_a_template(tmp_path: Path) -> None:
    async def run(client: LspClient, name: str, *arguments: object) -> dict[str, object]:
        params = {"command": f"planloom.{name}", "arguments": list(arguments)}
        answer: dict[str, object] = await client.request("workspace/executeCommand", params)
        return answer

    app = real_application(tmp_path / "ledger.sqlite3")
    async with connected(app, folders=[tmp_path], capabilities=PLAIN, extension=None) as client:
        listed = (await run(client, "templates"))["templates"]
        assert isinstance(listed, list)
        assert DOCS in [each["name"] for each in listed]
        begun = await run(client, "template", DOCS, {"folder": "src"})
        plan = (await client.request("planloom/plan/get", {"planId": begun["planId"]}))["plan"]
        assert plan["templateId"] == "write_docs"
        for arguments in (["no such"], [DOCS], [DOCS, {"folder": 3}], [DOCS, ["src"]]):
            with pytest.raises(Exception, match=r"template|folder|parameters"):
                await run(client, "template", *arguments)
    assert {"planloom.templates", "planloom.template"} <= {each.name for each in commands.COMMANDS}
