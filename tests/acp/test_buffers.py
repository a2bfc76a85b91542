"""The live buffers of a client: read whenever a text is needed, compared before a write, merged with what was typed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from planloom.acp import client as acp_client
from planloom.service.application import Application
from tests.support.acp_client import always, connected, over


async def test_what_is_typed_and_not_saved_is_kept_and_seen(folder: Path) -> None:
    path = str(folder / "a.txt")
    async with connected(trusts=[folder]) as client:
        await client.open(folder)
        client.buffers[path] = "typed\nold\n"
        client.answers = always(switch_mode="Start execution", edit="Allow once")
        await client.prompt('1. Replace "old" with "new" in a.txt')
        assert (folder / "a.txt").read_text() == "typed\nnew\n"
        assert ("write", path) in client.calls


async def test_what_is_typed_while_the_question_is_open_is_merged(folder: Path) -> None:
    path = str(folder / "a.txt")
    (folder / "a.txt").write_text("old\nmiddle\nend\n")
    async with connected(trusts=[folder]) as client:
        await client.open(folder)

        def types(params: dict[str, Any]) -> str:
            if params["toolCall"]["kind"] == "edit":
                client.buffers[path] = "old\nmiddle\nend, typed\n"
                return "Allow once"
            return "Start execution"

        client.answers = types
        await client.prompt('1. Replace "old" with "new" in a.txt')
        assert (folder / "a.txt").read_text() == "new\nmiddle\nend, typed\n"


async def test_what_is_typed_between_the_comparison_and_the_write_is_merged(folder: Path) -> None:
    path = str(folder / "a.txt")
    (folder / "a.txt").write_text("old\nmiddle\nend\n")
    opened: list[Application] = []
    async with connected(over(None, None, opened), trusts=[folder]) as client:
        await client.open(folder)
        client.answers = always(switch_mode="Start execution", edit="Allow once")

        # The intent is in the ledger when its event is heard: the next read is the comparison before the write.
        def types(_: str) -> None:
            if any(
                each["status"] == "in_progress"
                for each in client.of("tool_call")
                if "Change" in each["title"]
            ):
                client.buffers.setdefault(path, "old\nmiddle\nend, typed\n")

        client.on_read = types
        await client.prompt('1. Replace "old" with "new" in a.txt')
        assert (folder / "a.txt").read_text() == "new\nmiddle\nend, typed\n"


async def test_an_overlap_with_what_was_typed_is_asked(folder: Path) -> None:
    path = str(folder / "a.txt")
    async with connected(trusts=[folder]) as client:
        await client.open(folder)

        def types(params: dict[str, Any]) -> str:
            kind = params["toolCall"]["kind"]
            if kind == "edit":
                client.buffers[path] = "old and typed\n"
            return {"edit": "Allow once", "switch_mode": "Start execution", "other": "Keep mine"}[kind]

        client.answers = types
        await client.prompt('1. Replace "old" with "new" in a.txt')
        assert "overlap" in client.asked[-1]["toolCall"]["title"]
        assert client.buffers[path] == "old and typed\n" and (folder / "a.txt").read_text() == "old\n"
        assert ("write", path) not in client.calls


async def test_a_client_that_keeps_its_text_unsaved_has_it_in_its_buffer(folder: Path) -> None:
    path = str(folder / "a.txt")
    async with connected(trusts=[folder]) as client:
        await client.open(folder)
        client.on_write = client.buffers.__setitem__
        client.answers = always(switch_mode="Start execution", edit="Allow once")
        await client.prompt('1. Replace "old" with "new" in a.txt')
        assert client.buffers[path] == "new\n" and (folder / "a.txt").read_text() == "old\n"
        await client.prompt("/undo")
        assert client.buffers[path] == "old\n"


def as_it_is(path: str, text: str) -> None:
    Path(path).write_bytes(text.encode())


async def test_line_ends_of_the_file_are_kept(folder: Path) -> None:
    path = str(folder / "a.txt")
    (folder / "a.txt").write_bytes(b"one\r\nold\r\n")
    async with connected(trusts=[folder]) as client:
        await client.open(folder)
        client.on_write = as_it_is
        client.buffers[path] = "typed\nold\n"
        client.answers = always(switch_mode="Start execution", edit="Allow once")
        await client.prompt('1. Replace "old" with "new" in a.txt')
        assert (folder / "a.txt").read_bytes() == b"typed\r\nnew\r\n"


async def test_without_buffers_the_disk_is_changed(folder: Path) -> None:
    async with connected(trusts=[folder], capabilities={}) as client:
        await client.open(folder)
        client.answers = always(switch_mode="Start execution", edit="Allow once")
        await client.prompt('1. Replace "old" with "new" in a.txt')
        assert (folder / "a.txt").read_text() == "new\n" and client.calls == []


async def test_a_buffer_that_cannot_be_written_is_not_written_over_on_disk(folder: Path) -> None:
    async with connected(trusts=[folder], capabilities={"fs": {"readTextFile": True}}) as client:
        await client.open(folder)
        client.buffers[str(folder / "a.txt")] = "typed\nold\n"
        client.answers = lambda params: (
            "Start execution" if params["toolCall"]["kind"] == "switch_mode" else None
        )
        await client.prompt('1. Replace "old" with "new" in a.txt')
        assert (folder / "a.txt").read_text() == "old\n"


async def test_a_write_that_the_client_refuses_changes_nothing(folder: Path) -> None:
    async with connected(trusts=[folder]) as client:
        await client.open(folder)
        client.refused.add("fs/write_text_file")
        client.answers = lambda params: {"switch_mode": "Start execution", "edit": "Allow once"}.get(
            params["toolCall"]["kind"]
        )
        await client.prompt('1. Replace "old" with "new" in a.txt')
        assert (folder / "a.txt").read_text() == "old\n"
        assert any(each["status"] == "failed" for each in client.of("tool_call_update"))


async def test_a_client_that_never_tells_a_text_ends_in_bounded_time(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(acp_client, "READ_SECONDS", 0.05)
    async with connected(trusts=[folder]) as client:
        await client.open(folder)
        client.silent.add("fs/read_text_file")
        client.answers = lambda params: (
            "Start execution" if params["toolCall"]["kind"] == "switch_mode" else None
        )
        await client.prompt('1. Replace "old" with "new" in a.txt')
        assert (folder / "a.txt").read_text() == "old\n"


async def test_a_client_that_never_answers_a_write_leaves_an_open_intent(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("planloom.acp.editor.WRITE_SECONDS", 0.05)
    async with connected(trusts=[folder]) as client:
        await client.open(folder)
        client.silent.add("fs/write_text_file")
        client.answers = lambda params: {"switch_mode": "Start execution", "edit": "Allow once"}.get(
            params["toolCall"]["kind"]
        )
        await client.prompt('1. Replace "old" with "new" in a.txt')
        assert (folder / "a.txt").read_text() == "old\n"
        assert "did not answer in time" in str(client.updates) + str(client.asked)


async def test_a_folder_behind_a_link_is_spelled_as_the_client_does(folder: Path) -> None:
    link = folder.parent / "link"
    link.symlink_to(folder)
    async with connected(trusts=[folder, link]) as client:
        await client.open(link)
        client.buffers[str(link / "a.txt")] = "typed\nold\n"
        client.answers = always(switch_mode="Start execution", edit="Allow once")
        await client.prompt('1. Replace "old" with "new" in a.txt')
        assert (folder / "a.txt").read_text() == "typed\nnew\n"
        assert ("write", str(link / "a.txt")) in client.calls


async def test_a_link_in_the_folder_that_leads_out_is_not_written(folder: Path) -> None:
    (folder.parent / "outside.txt").write_text("old\n")
    (folder / "out.txt").symlink_to(folder.parent / "outside.txt")
    async with connected(trusts=[folder]) as client:
        await client.open(folder)
        client.answers = lambda params: "Start" if params["toolCall"]["kind"] == "switch_mode" else None
        await client.prompt('1. Replace "old" with "new" in out.txt')
        assert (folder.parent / "outside.txt").read_text() == "old\n"
        assert not [path for _, path in client.calls if "out" in Path(path).name]


async def test_secret_files_are_not_asked_for(folder: Path) -> None:
    (folder / ".env").write_text("KEY=1\n")
    async with connected(trusts=[folder]) as client:
        await client.open(folder)
        client.answers = lambda params: (
            "Start execution" if params["toolCall"]["kind"] == "switch_mode" else None
        )
        await client.prompt("1. Read .env")
        assert ("read", str(folder / ".env")) not in client.calls
