"""What a plan has changed can be kept or taken back where it stands, in every editor that shows lenses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.lsp.test_fallback import NONE, run
from tests.lsp.test_whole import EMBEDDED
from tests.support.lsp_client import FULL, LspClient, connected
from tests.support.real_application import real_application

LINES = "".join(f"line {number}\n" for number in range(1, 21))
TWO_PLACES = "1. In a.txt, replace 'line 3' with 'plan 3'\n2. In a.txt, replace 'line 14' with 'plan 14'"


def plain(folder: Path) -> Any:
    """A client without the extension; changes are not asked about."""
    settings = {**EMBEDDED, "approvals": {"write": "allow"}}
    return connected(
        real_application(), folders=[folder], settings=settings, capabilities=FULL, extension=NONE
    )


async def lenses(client: LspClient, uri: str) -> list[tuple[int, str, dict[str, Any]]]:
    found = await client.request("textDocument/codeLens", {"textDocument": {"uri": uri}})
    return [(each["range"]["start"]["line"], each["command"]["title"], each["command"]) for each in found]


async def press(client: LspClient, uri: str, line: int, title: str) -> None:
    (command,) = [one for at, words, one in await lenses(client, uri) if (at, words) == (line, title)]
    where = {"command": command["command"], "arguments": command["arguments"]}
    await client.request("workspace/executeCommand", where)


async def made(client: LspClient, uri: str, request: str = TWO_PLACES) -> dict[str, Any]:
    client.open(uri)
    return await run(client, request)


async def test_each_place_is_kept_or_taken_back_beside_typing(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(LINES)
    uri = (tmp_path / "a.txt").as_uri()
    async with plain(tmp_path) as client:
        await made(client, uri)
        client.type(uri, None, client.buffers[uri].text.replace("line 8\n", "line 8 of mine\n"))
        assert [(line, title) for line, title, _ in await lenses(client, uri)] == [
            (2, "Keep Planloom's change"),
            (2, "Undo"),
            (2, "Keep all 2"),
            (2, "Undo all 2"),
            (13, "Keep Planloom's change"),
            (13, "Undo"),
        ]
        await press(client, uri, 2, "Undo")
        text = client.buffers[uri].text
        assert "line 3\n" in text and "plan 14\n" in text and "line 8 of mine\n" in text
        await press(client, uri, 13, "Keep Planloom's change")
        assert await lenses(client, uri) == []
        assert client.buffers[uri].text == text


async def test_the_plans_own_undo_keeps_what_was_taken_back_by_a_lens(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(LINES)
    uri = (tmp_path / "a.txt").as_uri()
    async with plain(tmp_path) as client:
        plan = await made(client, uri)
        await press(client, uri, 2, "Undo")
        undo = {"command": "planloom.undo", "arguments": [plan["planId"]]}
        await client.request("workspace/executeCommand", undo)
        await client.until(lambda: client.buffers[uri].text == LINES)
        assert await lenses(client, uri) == []


async def test_all_places_at_once_and_a_new_file_with_its_step(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(LINES)
    uri, new = (tmp_path / "a.txt").as_uri(), (tmp_path / "new.txt").as_uri()
    async with plain(tmp_path) as client:
        await made(client, uri, f'{TWO_PLACES}\n3. Create file new.txt with content "new"')
        await press(client, uri, 2, "Undo all 2")
        assert client.buffers[uri].text == LINES
        client.open(new)
        await press(client, new, 0, "Undo")
        await client.until(lambda: not (tmp_path / "new.txt").exists())


async def test_the_lenses_of_an_ended_plan_go_with_the_end_of_the_next_one(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(LINES)
    (tmp_path / "b.txt").write_text("b\n")
    uri = (tmp_path / "a.txt").as_uri()
    async with plain(tmp_path) as client:
        await made(client, uri)
        assert await lenses(client, uri)
        await run(client, "In b.txt, replace 'b' with 'c'")
        assert await lenses(client, uri) == []
        assert await lenses(client, (tmp_path / "b.txt").as_uri())
