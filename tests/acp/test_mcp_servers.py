"""MCP servers that a client names are used once the person has seen their whole line, and each call is asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from planloom.models.offline.scripted import ScriptedModel, makes
from planloom.serving.opening import ApplicationContext, open_application
from tests.mcp_servers.support import PYTHON, SCRIPT
from tests.support.acp_client import connected
from tests.support.studio import OneModel

DONE = ("task_completed", {"summary": "Done."})


def server(folder: Path) -> dict[str, Any]:
    program = folder / "server.py"
    program.write_bytes(SCRIPT.read_bytes())
    arguments = [str(program), "good"]
    return {"name": "box", "command": PYTHON, "args": arguments, "env": [{"name": "MODE", "value": "quiet"}]}


@pytest.mark.parametrize(("answer", "used"), [("Use it", True), ("Do not use it", False), (None, False)])
async def test_a_server_is_asked_once_with_its_whole_line(
    folder: Path, answer: str | None, used: bool
) -> None:
    async def make(context: ApplicationContext) -> Any:
        app = await open_application(context)
        model = OneModel(
            ScriptedModel([makes(("box__look", {"what": "that"}), DONE), makes(DONE, repeat=True)])
        )
        app.models.current = model.current  # type: ignore[method-assign]
        app.models.for_work = model.for_work  # type: ignore[method-assign,assignment]
        return app

    def choose(params: dict[str, Any]) -> str | None:
        return answer if "MCP server" in params["toolCall"]["title"] else "Allow once"

    async with connected(make, trusts=[folder]) as client:
        await client.open(folder, mcpServers=[server(folder)])
        client.answers = choose
        await client.request("session/set_mode", {"sessionId": client.session_id, "modeId": "direct"})
        for _ in range(2):
            await client.prompt("Look into the box, please")
        asked = [each for each in client.asked if "MCP server" in each["toolCall"]["title"]]
        text = asked[0]["toolCall"]["content"][0]["content"]["text"]
        assert len(asked) == 1 and "MODE=quiet" in text and "server.py good" in text
        calls = [
            each["toolCall"]["content"][0]["content"]["text"] for each in client.asked if each not in asked
        ]
        assert any("box" in call and "look" in call and "that" in call for call in calls) is used


async def test_a_prompt_of_a_server_is_a_command(folder: Path) -> None:
    async with connected(open_application, trusts=[folder]) as client:
        await client.open(folder, mcpServers=[server(folder)])
        client.answers = lambda params: "Use it" if "MCP server" in params["toolCall"]["title"] else None
        await client.prompt("/box:tidy what=shelf")
        shown = str(client.asked[-1]["toolCall"])
        assert "Tidy shelf up: look into the box." in shown, shown
        await client.prompt("/templates")
        assert "**box:tidy** what=… how=" in str(client.updates)
