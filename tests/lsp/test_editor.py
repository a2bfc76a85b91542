"""The editor as the tools see it, over what clients can really do."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from planloom.domain.text.positions import Position, Range, TextEdit
from planloom.domain.values import Args, Json, Uri
from planloom.lsp.editor import lsp_editor
from planloom.workspace.editor import (
    CreateOperation,
    DeleteOperation,
    EditorEdit,
    EditorSilent,
    FolderAnswer,
    Operation,
    RenameOperation,
    TextOperation,
)
from tests.support.fake_application import FakeApplication
from tests.support.lsp_client import BARE, EGLOT, FULL, PLAIN, Failed, LspClient, NeverAnswered, connected


def replace(uri: str, new: str, *, version: int | None = None, end: int = 3) -> TextOperation:
    edit = TextEdit(
        range=Range(start=Position(line=0, character=0), end=Position(line=0, character=end)), new_text=new
    )
    return TextOperation(uri=Uri(uri), version=version, edits=(edit,))


def edit(*operations: Operation, confirm: bool = False) -> EditorEdit:
    return EditorEdit(label="Planloom: step 1 – x", operations=operations, needs_confirmation=confirm)


async def editor_of(client: LspClient) -> lsp_editor.LspEditor:
    await client.request("planloom/status")
    return client.server.connection.editor


def never(_: Any) -> Any:
    raise NeverAnswered


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        (FULL, (True, True, True, True, True, True, "textOnlyTransactional")),
        (PLAIN, (True, True, False, False, False, False, None)),
        (EGLOT, (True, False, False, False, False, False, None)),
        (BARE, (False, False, False, False, False, False, None)),
    ],
)
async def test_capabilities_are_those_that_the_client_declares(
    declared: dict[str, Any], expected: tuple[Any, ...]
) -> None:
    async with connected(FakeApplication().make, capabilities=declared, extension=None) as client:
        can = (await editor_of(client)).capabilities
        found = (can.apply_edit, can.document_changes, can.create_files, can.rename_files, can.delete_files)
        assert (*found, can.change_annotations, can.failure_handling) == expected
        assert not can.create_contents and not can.create_folders
        assert (can.save, can.diagnostics, can.language) == (False, False, False)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ({"created": True}, FolderAnswer(created=True)),
        ({"created": False, "reason": "It is full."}, FolderAnswer(created=False, reason="It is full.")),
        ({"created": "yes"}, None),
        (Failed({"code": -32603, "message": "no"}), None),
    ],
)
async def test_an_empty_folder_is_asked_of_the_editor(answer: Any, expected: FolderAnswer | None) -> None:
    def answered(_: Any) -> Any:
        if isinstance(answer, Failed):
            raise answer
        return answer

    extension = {"createContents": True, "createFolder": True}
    async with connected(FakeApplication().make, extension=extension) as client:
        client.answer("planloom/editor/createFolder", answered)
        editor = await editor_of(client)
        assert editor.capabilities.create_contents and editor.capabilities.create_folders
        if expected is None:
            with pytest.raises(EditorSilent, match="createFolder"):
                await editor.create_folder(Uri("file:///w/d"))
        else:
            assert await editor.create_folder(Uri("file:///w/d")) == expected
        assert client.asked[-1] == ("planloom/editor/createFolder", {"uri": "file:///w/d"})


async def test_a_new_file_is_created_empty_and_then_gets_its_text() -> None:
    async with connected(FakeApplication().make) as client:
        editor, uri = await editor_of(client), Uri("file:///w/new.txt")
        sent = edit(CreateOperation(uri), replace(uri, "text\n", end=0))
        changes = lsp_editor.workspace_edit(sent, editor.capabilities)["documentChanges"]
        options = {"overwrite": False, "ignoreIfExists": False}
        assert changes[0] == {"kind": "create", "uri": uri, "options": options}
        assert changes[1]["textDocument"] == {"uri": uri, "version": None}


async def test_a_versioned_edit_is_applied_to_an_open_buffer(tmp_path: Any) -> None:
    uri = (tmp_path / "a.txt").as_uri()
    async with connected(FakeApplication().make, folders=[tmp_path]) as client:
        editor = await editor_of(client)
        client.open(uri, "one two")
        answer = await editor.apply(edit(replace(uri, "ONE", version=1)))
        assert answer.applied
        assert client.buffers[uri].text == "ONE two"
        asked = client.editor.applied[0]
        assert asked["label"] == "Planloom: step 1 – x"
        assert asked["edit"]["documentChanges"][0]["textDocument"] == {"uri": uri, "version": 1}


async def test_an_edit_of_a_buffer_that_has_moved_on_is_refused_without_a_reason(tmp_path: Any) -> None:
    uri = (tmp_path / "a.txt").as_uri()
    async with connected(FakeApplication().make) as client:
        editor = await editor_of(client)
        client.open(uri, "one two")
        client.type(uri, None, "user")
        answer = await editor.apply(edit(replace(uri, "ONE", version=1)))
        assert (answer.applied, answer.reason) == (False, None)
        assert client.buffers[uri].text == "user"


async def test_files_are_renamed_and_deleted_in_the_order_given(tmp_path: Any) -> None:
    moved, old, gone = ((tmp_path / name).as_uri() for name in ("moved.txt", "old.txt", "gone.txt"))
    (tmp_path / "old.txt").write_text("old")
    (tmp_path / "gone.txt").write_text("gone")
    async with connected(FakeApplication().make) as client:
        editor = await editor_of(client)
        answer = await editor.apply(
            edit(
                RenameOperation(uri=Uri(old), new_uri=Uri(moved)),
                replace(moved, "text", end=3),
                DeleteOperation(uri=Uri(gone)),
            )
        )
        assert answer.applied
        assert client.buffers[moved].text == "text"
        assert sorted(path.name for path in tmp_path.iterdir()) == ["moved.txt"]


async def test_the_operation_that_failed_is_named(tmp_path: Any) -> None:
    there = tmp_path / "there.txt"
    there.write_text("x")
    async with connected(FakeApplication().make) as client:
        editor = await editor_of(client)
        rename = RenameOperation(uri=Uri(there.as_uri()), new_uri=Uri(there.as_uri()))
        answer = await editor.apply(edit(replace(there.as_uri(), "y", end=1), rename))
        assert (answer.applied, answer.reason, answer.failed_change) == (False, "there.txt exists", 1)


async def test_without_document_changes_edits_go_by_uri(tmp_path: Any) -> None:
    one, two = ((tmp_path / name).as_uri() for name in ("1.txt", "2.txt"))
    async with connected(FakeApplication().make, capabilities=EGLOT) as client:
        editor = await editor_of(client)
        client.open(one, "one")
        client.open(two, "two")
        assert (await editor.apply(edit(replace(one, "1"), replace(two, "2")))).applied
        assert set(client.editor.applied[0]["edit"]) == {"changes"}
        assert (client.buffers[one].text, client.buffers[two].text) == ("1", "2")


async def test_a_confirmation_is_asked_only_where_the_client_can(tmp_path: Any) -> None:
    uri = (tmp_path / "a.txt").as_uri()
    for capabilities, asked in ((FULL, True), (PLAIN, False)):
        async with connected(FakeApplication().make, capabilities=capabilities) as client:
            editor = await editor_of(client)
            client.open(uri, "one")
            await editor.apply(edit(replace(uri, "1", version=1), confirm=True))
            sent = client.editor.applied[0]["edit"]
            assert ("changeAnnotations" in sent) is asked
            assert ("annotationId" in sent["documentChanges"][0]["edits"][0]) is asked


async def test_a_document_is_named_as_the_editor_spells_it() -> None:
    async with connected(FakeApplication().make) as client:
        editor = await editor_of(client)
        client.open("file:///c%3A/a%20b.txt", "one")
        await editor.apply(edit(replace("file:///C:/a b.txt", "1", version=1)))
        named = client.editor.applied[0]["edit"]["documentChanges"][0]["textDocument"]["uri"]
        assert named == "file:///c%3A/a%20b.txt"


async def test_the_request_goes_out_before_anything_else_can_happen() -> None:
    async with connected(FakeApplication().make) as client:
        editor = await editor_of(client)
        coroutine = editor.apply(edit(replace("file:///a", "x")))
        known = len(client.sent)
        task = asyncio.ensure_future(coroutine)
        await asyncio.sleep(0)
        assert client.sent[known]["method"] == "workspace/applyEdit"
        await task


async def test_a_silent_editor_is_told_from_one_that_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lsp_editor, "APPLY_SECONDS", 0.02)
    async with connected(FakeApplication().make) as client:
        editor = await editor_of(client)
        client.answer("workspace/applyEdit", never)
        with pytest.raises(EditorSilent):
            await editor.apply(edit(replace("file:///a", "x")))
        client.answer("workspace/applyEdit", _failing)
        answer = await editor.apply(edit(replace("file:///a", "x")))
        assert (answer.applied, answer.reason) == (False, "busy")
        for riddle in (None, {}, {"applied": "true"}, [], {"applied": True, "failedChange": "x"}):
            client.answer("workspace/applyEdit", lambda _, riddle=riddle: riddle)
            with pytest.raises(EditorSilent):
                await editor.apply(edit(replace("file:///a", "x")))


def _failing(_: Any) -> Any:
    raise Failed({"code": -32603, "message": "busy"})


async def test_a_late_answer_and_a_cancelled_caller_upset_nothing(
    monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    monkeypatch.setattr(lsp_editor, "APPLY_SECONDS", 0.02)
    release = asyncio.Event()

    async def late(_: Any) -> Any:
        await release.wait()
        return {"applied": True}

    async with connected(FakeApplication().make) as client:
        editor = await editor_of(client)
        client.answer("workspace/applyEdit", late)
        with pytest.raises(EditorSilent):
            await editor.apply(edit(replace("file:///a", "x")))
        task = asyncio.ensure_future(editor.apply(edit(replace("file:///a", "x"))))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        release.set()
        assert (await client.request("planloom/status"))["health"] == "ok"
        assert not client.shown()
    assert "InvalidState" not in caplog.text and "never retrieved" not in caplog.text


async def test_an_editor_that_is_gone_is_silent() -> None:
    async with connected(FakeApplication().make) as client:
        editor = await editor_of(client)
        client.answer("workspace/applyEdit", never)
        task = asyncio.ensure_future(editor.apply(edit(replace("file:///a", "x"))))
        await asyncio.sleep(0)
        await client.request("shutdown")
        client.server.messages.disconnect()
        with pytest.raises(EditorSilent):
            await task
        with pytest.raises(EditorSilent):
            await editor.save((Uri("file:///a"),))
        client.notify("exit")


async def test_saving_and_diagnostics_are_asked_of_the_extension(tmp_path: Any) -> None:
    uri = (tmp_path / "a.txt").as_uri()
    item = {
        "range": {"start": {"line": 0, "character": 1}, "end": {"line": 0, "character": 2}},
        "severity": 2,
        "message": "m",
        "code": 7,
        "tags": [1],
    }
    plain = {key: item[key] for key in ("range", "message")}
    async with connected(FakeApplication().make) as client:
        editor = await editor_of(client)
        client.open(uri, "text")
        saved = await editor.save((Uri(uri), Uri("file:///closed")))
        assert saved.saved == (uri,) and saved.failed[0].uri == "file:///closed"
        assert (tmp_path / "a.txt").read_text() == "text"
        client.answer(
            "planloom/editor/diagnostics",
            lambda _: {"diagnostics": [{"uri": uri, "items": [item, plain], "version": 3}]},
        )
        found = (await editor.diagnostics((Uri(uri),)))[0]
        assert found.version == 3
        assert [(each.severity, each.code) for each in found.items] == [("warning", "7"), ("error", None)]
        client.answer("planloom/editor/diagnostics", lambda _: {"diagnostics": [{"uri": uri}]})
        with pytest.raises(EditorSilent):
            await editor.diagnostics((Uri(uri),))


AT = {"position": {"line": 0, "character": 1}}
FOUND = [{"uri": "file:///w/b.txt", "range": {"start": AT["position"], "end": AT["position"]}}]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ({"result": FOUND}, FOUND),
        ({"result": None}, None),
        ({"result": [], "problem": "One of two servers gave no answer."}, []),
        ({"result": None, "problem": "No language server serves a.txt."}, "No language server serves a.txt."),
        ({"problem": 1}, "The editor's answer to planloom/editor/language could not be read."),
        (Failed({"code": -32603, "message": "no"}), "The editor refused planloom/editor/language: no"),
    ],
)
async def test_what_language_servers_know_is_asked_of_the_extension(answer: Any, expected: Any) -> None:
    ours, theirs = "file:///w/a b.txt", "file:///w/a%20b.%74xt"

    def answered(_: Any) -> Any:
        if isinstance(answer, Failed):
            raise answer
        return answer

    async with connected(FakeApplication().make) as client:
        editor = await editor_of(client)
        assert editor.capabilities.language
        client.open(theirs, "text")
        client.answer("planloom/editor/language", answered)
        asked: Args = {"textDocument": {"uri": ours}, **AT}
        found: Json
        try:
            found = await editor.language("textDocument/references", asked)
        except EditorSilent as silent:
            found = str(silent)
        assert found == expected
        params = {"textDocument": {"uri": theirs}, **AT}
        assert client.asked[-1] == (
            "planloom/editor/language",
            {"method": "textDocument/references", "params": params},
        )


async def test_a_question_that_nobody_waits_for_is_taken_back_from_the_editor() -> None:
    async with connected(FakeApplication().make) as client:
        editor = await editor_of(client)
        client.answer("planloom/editor/language", never)
        task = asyncio.ensure_future(editor.language("workspace/symbol", {"query": "x"}))
        await client.until(lambda: client.asked[-1:] and client.asked[-1][0] == "planloom/editor/language")
        task.cancel()
        await client.until(lambda: client.told("$/cancelRequest"))


async def test_findings_come_under_the_name_that_we_know_a_file_by() -> None:
    ours, theirs = Uri("file:///w/a b.txt"), "file:///w/a%20b.%74xt"
    async with connected(FakeApplication().make) as client:
        editor = await editor_of(client)
        client.open(theirs, "text")
        found = await editor.diagnostics((ours,))
        assert [each.uri for each in found] == [ours]
        asked = [params for method, params in client.asked if method == "planloom/editor/diagnostics"]
        assert asked == [{"uris": [theirs]}]
