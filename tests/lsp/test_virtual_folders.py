"""A workspace folder that only the editor can reach: planned for, edited and undone through the editor alone."""

from __future__ import annotations

import base64
import contextlib
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.lsp.test_whole import drafted, finished
from tests.support.lsp_client import EXTENSION, FULL, Failed, LspClient, connected
from tests.support.memory_editor import path_of
from tests.support.real_application import real_application
from tests.workspace.room import tree

ABLE = {**EXTENSION, "createContents": True, "createFolder": True, "files": True}
EMBEDDED = {"model": {"provider": "embedded"}}
EVERY_EFFECT = (
    '1. Create folder docs\n2. Create file src/x.py with content "x = 1"\n3. Replace "old" with "new" in a.txt\n'
    "4. Rename b.txt to c.txt\n5. Delete d.txt"
)
BEFORE = {"a.txt": "old\n", "b.txt": "b\n", "d.txt": "d\n"}


@pytest.fixture(autouse=True)
def _surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PLANLOOM_CONFIG", str(tmp_path / "none.json"))
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))


def _list(asked: dict[str, Any]) -> dict[str, Any]:
    entries = sorted(path_of(asked["uri"]).iterdir())
    return {"entries": [{"name": each.name, "kind": "folder" if each.is_dir() else "file"} for each in entries]}


def _read(asked: dict[str, Any]) -> dict[str, Any]:
    place = path_of(asked["uri"])
    if place.is_dir():
        return {"kind": "folder"}
    if not place.exists():
        return {"kind": "absent"}
    data = place.read_bytes()
    return {"kind": "file", "size": len(data), "content": base64.b64encode(data).decode()}


@contextlib.asynccontextmanager
async def virtual(
    tmp_path: Path, *, extension: dict[str, Any] = ABLE, storage: Path | None = None
) -> AsyncIterator[tuple[LspClient, str]]:
    """A client with one folder of the scheme `memfs`, whose files are those of a folder of the test; and its URI."""
    folder = tmp_path / "far"
    uri = "memfs:" + folder.as_posix()
    options: dict[str, Any] = {"initialize": False, "capabilities": FULL, "contents": True}
    async with connected(real_application(storage), **options) as client:
        client.answer("planloom/editor/files", _list)
        client.answer("planloom/editor/read", _read)
        folders = [{"uri": uri, "name": "far"}]
        given = {"planloomClient": extension, "planloom": EMBEDDED}
        await client.initialize((), given, workspaceFolders=folders)
        yield client, uri


def _filled(tmp_path: Path) -> Path:
    folder = tmp_path / "far"
    for name, text in BEFORE.items():
        folder.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    return folder


def _mirrors(tmp_path: Path) -> list[Path]:
    return list((tmp_path / "tmp").iterdir())


async def test_every_effect_is_made_and_undone_through_the_editor(tmp_path: Path) -> None:
    folder = _filled(tmp_path)
    async with virtual(tmp_path) as (client, uri):
        plan = await finished(client, await drafted(client, EVERY_EFFECT))
        assert plan["status"] == "completed", plan
        assert plan["workspaceFolders"] == [uri]
        assert client.buffers[f"{uri}/a.txt"].text == "new\n"
        assert tree(folder) == {
            "a.txt": "old\n",
            "c.txt": "b\n",
            "docs": None,
            "src/x.py": "x = 1",
        } or (folder / "docs").is_dir()
        assert not (folder / "b.txt").exists() and not (folder / "d.txt").exists()
        kinds = [each.get("kind") for edit in client.editor.applied for each in edit["edit"]["documentChanges"]]
        assert kinds == ["create", None, None, "rename", "delete"]
        undone = await client.request("planloom/plan/undo", {"planId": plan["planId"]})
        assert undone["conflicts"] == []
        assert client.buffers[f"{uri}/a.txt"].text == "old\n"
        assert tree(folder) == BEFORE
        await client.request("planloom/plan/undo", {"planId": plan["planId"], "redo": True})
        assert (folder / "src" / "x.py").read_text() == "x = 1"
        assert len(_mirrors(tmp_path)) == 1
    assert _mirrors(tmp_path) == []


async def test_a_change_beside_typing_is_merged_and_one_of_the_same_line_is_a_conflict(tmp_path: Path) -> None:
    folder = _filled(tmp_path)
    (folder / "a.txt").write_text("one\nold\nthree\n")
    async with virtual(tmp_path) as (client, uri):
        client.open(f"{uri}/a.txt")
        plan = await drafted(client, '1. Replace "old" with "new" in a.txt')
        await client.request(
            "planloom/plan/approve", {"planId": plan["planId"], "version": plan["version"], "review": "each"}
        )
        asked = await client.wait_event("approval_request")
        client.type(f"{uri}/a.txt", None, "one\nmine\nthree\n")
        answer = {"approvalId": asked["approval"]["approvalId"], "decision": "allow"}
        await client.request("planloom/approval/respond", answer)
        conflict = await client.wait_event("edit_conflict")
        assert client.buffers[f"{uri}/a.txt"].text == "one\nmine\nthree\n"
        keep = {"editId": conflict["editId"], "choice": "keep_mine"}
        with contextlib.suppress(Failed):
            await client.request("planloom/conflict/resolve", keep)


async def test_what_another_has_changed_there_is_seen_before_an_edit(tmp_path: Path) -> None:
    folder = _filled(tmp_path)
    async with virtual(tmp_path) as (client, uri):
        plan = await drafted(client, '1. Replace "old" with "new" in a.txt')
        (folder / "a.txt").write_text("their line\nold\n")
        plan = await finished(client, plan)
        assert plan["status"] == "completed", plan
        assert client.buffers[f"{uri}/a.txt"].text == "their line\nnew\n"


async def test_a_new_file_whose_name_is_taken_by_then_is_not_written(tmp_path: Path) -> None:
    folder = _filled(tmp_path)
    async with virtual(tmp_path) as (client, _):
        plan = await drafted(client, '1. Create file new.txt with content "mine"')
        (folder / "new.txt").write_text("theirs")
        await finished(client, plan)
        assert (folder / "new.txt").read_text() == "theirs"
        client.shown()


async def test_a_plan_whose_edit_was_not_answered_is_carried_on_by_the_next_server(tmp_path: Path) -> None:
    folder, storage = _filled(tmp_path), tmp_path / "state"
    storage.mkdir()
    async with virtual(tmp_path, storage=storage / "ledger.db") as (client, uri):
        gone = client.server.messages

        def apply(params: dict[str, Any]) -> dict[str, Any]:
            client.editor.apply(params)
            gone.disconnect()
            raise Failed({"code": -1, "message": "never heard"})

        client.answer("workspace/applyEdit", apply)
        plan = await drafted(client, '1. Create file new.txt with content "made once"')
        ids = {"planId": plan["planId"], "version": plan["version"], "review": "auto"}
        await client.request("planloom/plan/approve", ids)
        await client.until(lambda: (folder / "new.txt").exists())
    async with virtual(tmp_path, storage=storage / "ledger.db") as (client, uri):
        plan = (await client.request("planloom/plan/get", {"planId": plan["planId"]}))["plan"]
        assert (folder / "new.txt").read_text() == "made once"
        assert [edit["state"] for edit in plan["edits"]] == ["applied"], plan["edits"]


async def test_commands_and_git_are_not_to_be_had(tmp_path: Path) -> None:
    _filled(tmp_path)
    async with virtual(tmp_path) as (client, _):
        plan = await drafted(client, "1. Run `touch made.txt`")
        plan = await finished(client, plan)
        client.shown()
        assert plan["steps"][0]["status"] == "failed"
        assert "Commands cannot be run here" in str(plan["steps"][0])


async def test_a_client_that_does_not_serve_files_has_no_folder(tmp_path: Path) -> None:
    _filled(tmp_path)
    async with virtual(tmp_path, extension=EXTENSION) as (client, _):
        status = await client.request("planloom/status")
        assert status["workspaceFolders"] == []
        assert not [method for method, _ in client.asked if method.startswith("planloom/editor/")]
