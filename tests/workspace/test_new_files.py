"""New files come as workspace edits where the editor makes files, and are whole on disk whatever it does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from planloom.domain.text.positions import FileForm, Position
from planloom.workspace.editor import CreateOperation, EditorCapabilities, NewFiles, TextOperation
from planloom.workspace.edits.after_crash import outcomes_after_crash
from planloom.workspace.edits.new_files import complete_after_crash
from planloom.workspace.edits.outcomes import EditResult
from planloom.workspace.edits.undo import reverse
from tests.support.fake_editor import (
    EVERYTHING,
    After,
    ApplyOnly,
    Before,
    Behaviour,
    Hang,
    Lie,
    Refuse,
    Silent,
)
from tests.workspace.room import Room, tree

CONTENTS = EVERYTHING._replace(create_contents=True, create_folders=True)
SAVES = EVERYTHING
PLAIN = EVERYTHING._replace(save=False)
CANNOT = EVERYTHING._replace(create_files=False)
TEXT = "one\r\ntwo 😀\n"
CLIENTS: dict[str, tuple[EditorCapabilities, NewFiles]] = {
    "contents": (CONTENTS, "auto"),
    "saves": (SAVES, "auto"),
    "plain": (PLAIN, "editor"),
    "plain, by default": (PLAIN, "auto"),
    "disk": (CONTENTS, "disk"),
    "cannot": (CANNOT, "editor"),
}
MAKES = ["contents", "saves", "plain"]
"""The clients that make new files themselves."""


def room_of(folder: Path, client: str, **more: object) -> Room:
    capabilities, new_files = CLIENTS[client]
    return Room(folder, capabilities=capabilities, new_files=new_files, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("client", CLIENTS)
async def test_new_files_are_made_in_the_one_edit_of_their_changeset(tmp_path: Path, client: str) -> None:
    room = room_of(tmp_path, client, files={"a": "a\n", "b": "b\n"})
    outcome = await room.apply(
        room.folder_of("d"),
        room.create("d/e/new", TEXT),
        room.create("empty", ""),
        room.edit("a", "a\n", "b\n"),
        room.rename("b", "c", "b\n"),
    )
    assert outcome.kind == "applied" and outcome.outcome == "verified"
    [sent] = room.editor.received
    made = ["create", "text", "create"] if client in MAKES else []
    assert [operation.kind for operation in sent.operations] == [*made, "text", "rename"]
    if made:
        create, text, *_ = sent.operations
        assert isinstance(create, CreateOperation) and isinstance(text, TextOperation)
        assert (text.uri, text.version, [edit.new_text for edit in text.edits]) == (create.uri, None, [TEXT])
        assert text.edits[0].range.end == Position(line=0, character=0)
    assert room.path("d/e/new").read_bytes() == TEXT.encode()
    assert room.path("empty").read_bytes() == b""
    assert room.editor.folders == []
    assert [file.change for file in outcome.files][:2] == ["createFolder", "createFolder"]
    back = await reverse(room.view, room.journal.intents[-1])
    assert (await room.apply(*back.changeset.changes)).kind == "applied"
    assert set(tree(tmp_path)) == {"a", "b"}


@pytest.mark.parametrize("client", MAKES)
@pytest.mark.parametrize(
    ("behaviour", "result"),
    [
        (Lie(), "applied"),
        (ApplyOnly(1, says=True), "applied"),
        (ApplyOnly(1, says=False), "applied"),
        (ApplyOnly(1, says=False, failed_change=1), "applied"),
        (ApplyOnly(2, says=False), "applied"),
        (Refuse("not now"), "applied"),
        (Silent(0), "refused"),
        (Silent(1), "applied"),
        (Silent(None), "applied"),
    ],
)
@pytest.mark.parametrize("closed", ["open", "hidden", "disk"])
async def test_no_file_is_left_empty_whatever_the_editor_does(
    tmp_path: Path, client: str, behaviour: Behaviour, result: str, closed: str
) -> None:
    room = room_of(tmp_path, client, closed=closed, script=[behaviour])
    outcome = await room.apply(room.create("d/new", TEXT))
    assert outcome.kind == result
    made = tree(tmp_path)
    assert made == ({"d": None, "d/new": TEXT} if result == "applied" else {})


@pytest.mark.parametrize("client", MAKES)
async def test_a_second_refusal_leaves_nothing(tmp_path: Path, client: str) -> None:
    room = room_of(tmp_path, client, script=[Refuse("no"), Refuse("never")])
    outcome = await room.apply(room.folder_of("d"), room.create("d/new", TEXT), room.create("e/f/g", TEXT))
    assert outcome.kind == "refused" and "never" in outcome.reason
    assert tree(tmp_path) == {}


@pytest.mark.parametrize("answers", [True, False])
@pytest.mark.parametrize("client", MAKES)
async def test_a_file_that_is_made_late_is_whole(tmp_path: Path, client: str, answers: bool) -> None:
    room = room_of(tmp_path, client, script=[Hang()])
    found: list[EditResult] = []

    async def record(_: object, result: EditResult) -> None:
        found.append(result)

    room.journal.record_result = record  # type: ignore[method-assign,assignment]
    await room.apply(room.create("new", TEXT))
    assert tree(tmp_path) == {}
    room.editor.wake(answers=answers)
    await room.view.unanswered.look((room.uri("new"),))
    assert tree(tmp_path) == {"new": TEXT}
    assert [file.uri for file in found[-1].applied] == [room.uri("new")]


@pytest.mark.parametrize("client", MAKES)
async def test_an_editor_that_hangs_is_not_sent_the_file_again(tmp_path: Path, client: str) -> None:
    room = room_of(tmp_path, client, script=[Hang()])
    await room.apply(room.create("new", TEXT))
    assert (await room.apply(room.create("new", TEXT))).kind == "applied"
    assert len(room.editor.received) == 1
    room.editor.wake()
    assert tree(tmp_path) == {"new": TEXT} and room.editor.buffers == {}


@pytest.mark.parametrize("client", MAKES)
async def test_what_is_typed_in_a_new_file_at_once_is_kept_by_its_undo(tmp_path: Path, client: str) -> None:
    path = tmp_path / "new"

    def typed() -> None:
        if str(path.as_uri()) not in room.editor.buffers:
            room.editor.open(path)
        room.editor.type(path, 0, 0, "mine\n")

    room = room_of(tmp_path, client, script=[After(typed)])
    assert (await room.apply(room.create("new", TEXT))).kind == "applied"
    assert room.text("new") == "mine\n" + TEXT
    assert path.read_bytes() == TEXT.encode()
    back = await reverse(room.view, room.journal.intents[-1])
    assert [kept.uri for kept in back.kept] == [room.uri("new")]
    assert (await room.apply(*back.changeset.changes)).kind == "applied"
    assert room.text("new") == "mine\n" + TEXT


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize(
    ("meanwhile", "left"),
    [
        (lambda path: path.write_text("theirs\n"), {"d": None, "d/new": "theirs\n"}),
        (lambda path: path.mkdir(), {"d": None, "d/new": None}),
        (lambda path: (path.parent.rmdir(), path.parent.write_text("a file")), {"d": "a file"}),
    ],
)
async def test_a_name_that_is_taken_by_the_time_is_left_as_it_is(
    tmp_path: Path, client: str, meanwhile: Callable[[Path], object], left: dict[str, str | None]
) -> None:
    room = room_of(tmp_path, client)
    room.path("d").mkdir()
    intend = room.journal.intend

    async def taken(grant: object, files: object) -> object:
        if not room.journal.intents:
            meanwhile(room.path("d/new"))
        return await intend(grant, files)  # type: ignore[arg-type]

    room.journal.intend = taken  # type: ignore[method-assign,assignment]
    outcome = await room.apply(room.create("d/new", TEXT))
    assert outcome.kind in ("refused", "conflicted", "superseded")
    assert tree(tmp_path) == left


@pytest.mark.parametrize("client", MAKES)
async def test_a_file_of_another_encoding_is_made_on_disk(tmp_path: Path, client: str) -> None:
    room = room_of(tmp_path, client)
    form = FileForm(encoding="utf-16-le", bom=True)
    change = room.create("new", TEXT).model_copy(update={"form": form})
    assert (await room.apply(change)).kind == "applied"
    assert room.path("new").read_bytes() == ("\ufeff" + TEXT).encode("utf-16-le")
    refused = await room.apply(room.create("half", "\ud83d"))
    assert refused.kind == "refused" and "surrogate" in refused.reason
    assert room.editor.received == []


@pytest.mark.parametrize("client", CLIENTS)
async def test_an_empty_folder_is_made_by_the_editor_that_can(tmp_path: Path, client: str) -> None:
    room = room_of(tmp_path, client)
    outcome = await room.apply(room.folder_of("d/e"))
    assert outcome.kind == "applied"
    assert tree(tmp_path) == {"d": None, "d/e": None}
    assert room.editor.folders == ([room.uri("d/e")] if client == "contents" else [])
    assert room.editor.received == []


async def test_an_editor_that_refuses_a_folder_says_why(tmp_path: Path) -> None:
    room = room_of(tmp_path, "contents")
    room.editor.script.append(Before(lambda: room.path("d").write_text("")))
    outcome = await room.apply(room.create("x", TEXT), room.folder_of("d/e"))
    assert (
        outcome.kind == "partly_applied" and "d/e" in outcome.reason and "Not a directory" in outcome.reason
    )
    assert tree(tmp_path) == {"d": "", "x": TEXT}


@pytest.mark.parametrize("client", MAKES)
async def test_a_file_in_the_place_of_a_renamed_one_is_made(tmp_path: Path, client: str) -> None:
    room = room_of(tmp_path, client, files={"old": "o\n"})
    outcome = await room.apply(room.rename("old", "new", "o\n"), room.create("old", TEXT))
    assert outcome.kind == "applied"
    assert tree(tmp_path) == {"new": "o\n", "old": TEXT}


@pytest.mark.parametrize("client", MAKES)
async def test_a_crash_between_a_file_and_its_text_is_completed(tmp_path: Path, client: str) -> None:
    room = room_of(tmp_path, client, script=[Silent(0)])
    await room.apply(room.create("new", TEXT), room.create("other", TEXT))
    [intent] = room.journal.intents
    room.path("new").touch()
    await complete_after_crash(room.view, intent)
    assert await outcomes_after_crash(room.view, intent) == ("verified", "not_applied")
    assert tree(tmp_path) == {"new": TEXT}


async def test_a_new_file_with_more_lines_was_made(tmp_path: Path) -> None:
    room = room_of(tmp_path, "contents")
    await room.apply(room.create("new", TEXT))
    [intent] = room.journal.intents
    room.path("new").write_bytes(b"typed\r\n" + TEXT.encode())
    assert await outcomes_after_crash(room.view, intent) == ("verified",)
    room.path("new").write_bytes(b"another\n")
    assert await outcomes_after_crash(room.view, intent) == ("unexpected",)
