"""`@` completion in any document, as a plain editor asks for it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.support.lsp_client import EGLOT, FULL, connected
from tests.support.real_application import real_application


@pytest.mark.parametrize("capabilities", [FULL, EGLOT], ids=["full", "eglot"])
async def test_a_reference_is_completed_where_it_is_typed(
    tmp_path: Path, capabilities: dict[str, Any]
) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "harbour.py").write_text("x\n")
    async with connected(real_application(), capabilities=capabilities, folders=[tmp_path]) as client:
        uri = (tmp_path / "todo.md").as_uri()
        client.open(uri, "first line\n😀 look at @harb and more\n", "markdown")
        asked = {"textDocument": {"uri": uri}, "position": {"line": 1, "character": 16}}
        item: dict[str, Any] | None = None
        async with asyncio.timeout(10):
            while item is None:
                # An index that is not built yet answers with what it has, and says that it is not all.
                found = await client.request("textDocument/completion", asked)
                item = next((each for each in found["items"] if "harbour.py" in each["label"]), None)
                assert item is not None or found["isIncomplete"]
        assert item["textEdit"] == {
            "range": {"start": {"line": 1, "character": 11}, "end": {"line": 1, "character": 16}},
            "newText": "@src/harbour.py",
        }
        assert item["filterText"] == "@harb"


@pytest.mark.parametrize(("line", "character"), [(0, 5), (1, 2), (9, 9)])
async def test_nothing_is_offered_where_no_reference_is_typed(
    tmp_path: Path, line: int, character: int
) -> None:
    async with connected(real_application(), folders=[tmp_path]) as client:
        uri = (tmp_path / "a.txt").as_uri()
        client.open(uri, "me@example.org\nab\n")
        asked = {"textDocument": {"uri": uri}, "position": {"line": line, "character": character}}
        assert (await client.request("textDocument/completion", asked))["items"] == []


async def test_a_document_that_is_not_open_has_no_completions(tmp_path: Path) -> None:
    async with connected(real_application(), folders=[tmp_path]) as client:
        asked = {"textDocument": {"uri": "file:///none"}, "position": {"line": 0, "character": 0}}
        assert (await client.request("textDocument/completion", asked))["items"] == []
