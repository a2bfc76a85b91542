"""Text synchronisation feeds our own store, in order, whatever the text holds."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.depth import rounds
from tests.support.fake_application import FakeApplication
from tests.support.lsp_client import FULL, LspClient, connected

URI = "file:///work/a.txt"


def at(line: int, start: int, end_line: int | None = None, end: int | None = None) -> dict[str, Any]:
    last = {"line": line if end_line is None else end_line, "character": start if end is None else end}
    return {"start": {"line": line, "character": start}, "end": last}


def stored(client: LspClient, uri: str = URI) -> Any:
    return client.server.connection.documents.get(uri)


async def test_a_document_is_opened_changed_saved_and_closed(tmp_path: Any) -> None:
    path = tmp_path / "a b.txt"
    path.write_text("one\ntwo\n")
    uri = path.as_uri()
    async with connected(FakeApplication().make) as client:
        client.open(uri)
        client.type(uri, at(1, 0, 1, 3), "zwei")
        document = stored(client, uri)
        assert (document.text, document.version, document.dirty) == ("one\nzwei\n", 2, True)
        client.save(uri)
        assert not stored(client, uri).dirty
        client.close(uri)
        assert stored(client, uri) is None


@pytest.mark.parametrize("odd", ["\f", "\v", "\x85", "\u2028", "\u2029", "\x1c", "\x1d", "\x1e"])
async def test_characters_that_end_no_line_do_not_move_what_is_below(odd: str) -> None:
    async with connected(FakeApplication().make) as client:
        client.open(URI, f"a{odd}b\nc\n")
        client.type(URI, at(1, 0, 1, 1), "X")
        assert stored(client).text == f"a{odd}b\nX\n" == client.buffers[URI].text


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
async def test_positions_are_in_the_encoding_that_was_agreed(encoding: str) -> None:
    capabilities = {**FULL, "general": {"positionEncodings": [encoding]}}
    async with connected(FakeApplication().make, capabilities=capabilities, encoding=encoding) as client:
        assert client.initialized["capabilities"]["positionEncoding"] == encoding
        client.open(URI, "😀é|x\r\n")
        column = {"utf-8": 6, "utf-16": 3, "utf-32": 2}[encoding]
        client.type(URI, at(0, column, 0, column + 1), "-")
        assert stored(client).text == "😀é-x\r\n" == client.buffers[URI].text


async def test_several_changes_in_one_message_follow_each_other() -> None:
    async with connected(FakeApplication().make) as client:
        client.open(URI, "abc")
        changes = [{"range": at(0, 0, 0, 1), "text": "XY"}, {"range": at(0, 2, 0, 3), "text": ""}]
        document = {"uri": URI, "version": 5}
        client.notify("textDocument/didChange", {"textDocument": document, "contentChanges": changes})
        assert (stored(client).text, stored(client).version) == ("XYc", 5)
        whole = [{"text": "new"}, {"range": at(0, 3), "text": "!"}]
        client.notify("textDocument/didChange", {"textDocument": document, "contentChanges": whole})
        assert stored(client).text == "new!"


async def test_what_the_editor_never_opened_is_passed_over(caplog: Any) -> None:
    async with connected(FakeApplication().make) as client:
        document = {"uri": URI, "version": 2}
        client.notify("textDocument/didChange", {"textDocument": document, "contentChanges": [{"text": "x"}]})
        client.notify("textDocument/didSave", {"textDocument": {"uri": URI}})
        client.notify("textDocument/didClose", {"textDocument": {"uri": URI}})
        assert stored(client) is None
        assert (await client.request("planloom/status"))["health"] == "ok"
    assert "without opening it" in caplog.text


async def test_documents_are_kept_before_initialized_is_said() -> None:
    async with connected(FakeApplication().make, initialize=False) as client:
        await client.request("initialize", {"processId": None, "capabilities": {}})
        client.open(URI, "x")
        client.notify("initialized", {})
        assert stored(client).text == "x"


async def test_the_library_keeps_no_copy_of_its_own() -> None:
    async with connected(FakeApplication().make) as client:
        client.open(URI, "x")
        client.type(URI, None, "y")
        assert not client.server.workspace.text_documents


_TEXT = st.text(st.sampled_from("ab \n\r\f\u2028😀é"), max_size=12)
_EDIT = st.tuples(*[st.integers(min_value=0, max_value=6)] * 4, _TEXT)


@pytest.mark.slow
@settings(max_examples=rounds(20, 400), suppress_health_check=list(HealthCheck))
@given(_TEXT, st.lists(_EDIT, max_size=8))
async def test_our_copy_is_the_editors(text: str, edits: list[tuple[int, int, int, int, str]]) -> None:
    # In UTF-32 every position is between two characters, as those that editors send are in any encoding.
    capabilities = {**FULL, "general": {"positionEncodings": ["utf-32"]}}
    async with connected(FakeApplication().make, capabilities=capabilities, encoding="utf-32") as client:
        client.open(URI, text)
        for line, start, more, end, new in edits:
            last = end if more else max(start, end)
            client.type(URI, at(line, start, line + more, last), new)
            assert stored(client).text == client.buffers[URI].text
