"""What a client without an extension is told by messages without buttons."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from planloom.models.offline.scripted import says
from tests.lsp.test_fallback import User, beside, plain, run, showing, with_model
from tests.support.lsp_client import FULL, PLAIN, connected

EDIT = '1. Replace "old" with "new" in a.txt\n2. List files'


@pytest.fixture(autouse=True)
def _no_user_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PLANLOOM_CONFIG", str(tmp_path.parent / "none.json"))


async def test_what_an_undo_leaves_as_it_is_is_a_message(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("old\n")
    uri = (tmp_path / "a.txt").as_uri()
    async with plain(tmp_path) as client:
        client.open(uri)
        User(client, "Allow once")
        plan = await run(client)
        client.type(uri, None, "newer, by me\n")
        await client.request(
            "workspace/executeCommand", {"command": "planloom.undo", "arguments": [plan["planId"]]}
        )
        told = await client.wait_shown("a.txt")
        assert told["type"] == 2
        assert client.buffers[uri].text == "newer, by me\n"


@pytest.mark.parametrize("capabilities", [FULL, PLAIN])
async def test_an_answer_that_is_too_long_for_a_message_is_a_file(
    tmp_path: Path, capabilities: dict[str, Any]
) -> None:
    answer = "It is so. " * 500
    shown: list[str] = []

    async with connected(
        with_model(says(answer)), folders=[tmp_path], capabilities=capabilities, extension=None
    ) as client:
        showing(client, shown)
        asked = {"text": "What is it?", "mode": "direct"}
        await client.request("planloom/plan/create", asked)
        told = await client.wait_shown("It is so.")
        assert "All of it is in .planloom/answer-" in told["message"] and len(told["message"]) < 2_200
        name = told["message"].split("All of it is in ")[1].rstrip(".")
        assert (tmp_path / name).read_text().strip() == answer.strip()
        assert [Path(each).name for each in shown] == ([Path(name).name] if capabilities is FULL else [])
        assert capabilities is PLAIN or beside(shown).strip() == answer.strip()
