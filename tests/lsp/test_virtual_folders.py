"""A workspace folder that only the editor can reach: planned for, edited and undone through the editor alone."""

from __future__ import annotations

import base64
import contextlib
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from planloom.intake.surroundings.environment import Findings, WorkspaceFolder, environment_text
from tests.lsp.test_killed import Editor
from tests.lsp.test_whole import drafted, finished
from tests.support.lsp_client import EXTENSION, FULL, LspClient, connected
from tests.support.memory_editor import path_of
from tests.support.real_application import real_application
from tests.workspace.room import tree

ABLE = {**EXTENSION, "createContents": True, "createFolder": True, "files": True}
EMBEDDED = {"model": {"provider": "embedded"}, "approvals": {"plan": "none"}}
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
    return {
        "entries": [{"name": each.name, "kind": "folder" if each.is_dir() else "file"} for each in entries]
    }


def _read(asked: dict[str, Any]) -> dict[str, Any]:
    place = path_of(asked["uri"])
    if place.is_dir():
        return {"kind": "folder"}
    if not place.exists():
        return {"kind": "absent"}
    data = place.read_bytes()
    return {"kind": "file", "size": len(data), "content": base64.b64encode(data).decode()}


def _make(asked: dict[str, Any]) -> dict[str, Any]:
    path_of(asked["uri"]).mkdir()
    return {"created": True}


@contextlib.asynccontextmanager
async def virtual(
    tmp_path: Path, *, extension: dict[str, Any] = ABLE
) -> AsyncIterator[tuple[LspClient, str]]:
    """A client with one folder of the scheme `memfs`, whose files are those of a folder of the test; and its URI."""
    folder = tmp_path / "far"
    uri = "memfs:" + folder.as_posix()
    options: dict[str, Any] = {"initialize": False, "capabilities": FULL, "contents": True}
    async with connected(real_application(), **options) as client:
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
            "src": None,
            "src/x.py": "x = 1",
        }
        kinds = [
            each.get("kind") for edit in client.editor.applied for each in edit["edit"]["documentChanges"]
        ]
        assert kinds == ["create", None, None, "rename", "delete"]
        undone = await client.request("planloom/plan/undo", {"planId": plan["planId"]})
        assert undone["conflicts"] == []
        assert client.buffers[f"{uri}/a.txt"].text == "old\n"
        assert tree(folder) == BEFORE
        await client.request("planloom/plan/undo", {"planId": plan["planId"], "redo": True})
        assert (folder / "src" / "x.py").read_text() == "x = 1"
        assert len(_mirrors(tmp_path)) == 1
    assert _mirrors(tmp_path) == []


async def test_typing_in_the_lines_of_a_change_is_a_conflict(tmp_path: Path) -> None:
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
        choice = {"uri": f"{uri}/a.txt", "choice": "mine"}
        ids = {"planId": plan["planId"], "editId": conflict["conflict"]["editId"]}
        await client.request("planloom/conflict/resolve", {**ids, "files": [choice]})
        await client.wait_event("plan_cancelled")
        assert client.buffers[f"{uri}/a.txt"].text == "one\nmine\nthree\n"


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


class Far(Editor):
    """A client of a real server, with a folder of the scheme `memfs`."""

    declared = ABLE
    scheme = "memfs:"

    def told(self, method: str, params: dict[str, Any]) -> Any:
        answers = {
            "planloom/editor/files": _list,
            "planloom/editor/read": _read,
            "planloom/editor/createFolder": _make,
        }
        answer = answers.get(method)
        return None if answer is None else answer(params)


@pytest.mark.process
def test_killed_between_the_edit_and_its_answer(tmp_path: Path) -> None:
    """The next server finds the file whole, and neither makes it again nor asks for it."""
    (tmp_path / "workspace").mkdir()
    with contextlib.closing(Far(tmp_path, EMBEDDED, Editor.kill)) as editor:
        plan_id = editor.approved(
            '1. Create file new.txt with content "made once"\n2. Create folder more', "end"
        )
        with pytest.raises(EOFError):
            editor.allow(editor.until("approval_request"))
            editor.until("plan_completed")
    assert editor.text("new.txt") == "made once"
    with contextlib.closing(Far(tmp_path, EMBEDDED)) as editor:
        editor.request("planloom/plan/resume", {"planId": plan_id})
        asked = editor.until("approval_request")
        assert [file["uri"] for file in asked["approval"]["files"]] == [f"{editor.uri}/more"]
        editor.allow(asked)
        assert editor.until("plan_completed")["summary"].startswith("2 of 2 steps done")
        assert editor.text("new.txt") == "made once" and (editor.folder / "more").is_dir()


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


def test_a_model_is_told_that_there_are_no_commands() -> None:
    folder = WorkspaceFolder("far", "memfs:/far", is_virtual=True)
    system, place = environment_text(Findings(folders=(folder,))).split("\n")
    assert system.endswith("There are no commands and no git: only the editor reaches the files.")
    assert place == "Workspace folder: memfs:/far"
