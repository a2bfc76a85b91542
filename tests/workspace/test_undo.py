"""Undo removes what an edit did, keeps what was typed since, and can be undone."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from planloom.workspace.edits.outcomes import JournalFile
from planloom.workspace.edits.undo import reverse
from planloom.workspace.staged.overlay import Overlay
from tests.workspace.room import Room, tree

TEXT = "".join(f"line {n}\n" for n in range(10))


async def test_a_plan_is_undone_byte_for_byte_and_redone(tmp_path: Path) -> None:
    room = Room(
        tmp_path,
        {
            "a.txt": TEXT,
            "crlf.txt": TEXT.replace("\n", "\r\n"),
            "gone/x.txt": "x\ny",
            "old.txt": "n\n",
            "keep": "",
        },
        closed="disk",
    )
    before = tree(tmp_path)
    overlay = Overlay(room.view)
    await overlay.stage_write(room.uri("a.txt"), TEXT.replace("3", "three"))
    await overlay.stage_write(room.uri("crlf.txt"), TEXT.replace("5", "five"))
    await overlay.stage_write(room.uri("one/two/three/four/five/new.txt"), "fresh\n")
    await overlay.stage_delete(room.uri("gone"), recursive=True)
    await overlay.stage_rename(room.uri("old.txt"), room.uri("new/name.txt"))
    assert (await room.apply(*overlay.changeset().changes)).kind == "applied"
    after = tree(tmp_path)
    assert after["one/two/three/four/five/new.txt"] == "fresh\n"
    assert "gone" not in after

    back = await reverse(room.view, room.journal.intents[-1])
    assert back.kept == ()
    assert (await room.apply(*back.changeset.changes)).kind == "applied"
    assert tree(tmp_path) == before

    again = await reverse(room.view, room.journal.intents[-1])
    assert (await room.apply(*again.changeset.changes)).kind == "applied"
    assert tree(tmp_path) == after


async def test_what_was_typed_since_stays(tmp_path: Path) -> None:
    room = Room(tmp_path, {"a.txt": TEXT})
    path = room.path("a.txt")
    room.editor.open(path)
    await room.apply(room.edit("a.txt", TEXT, TEXT.replace("line 3", "LINE 3")))
    room.editor.replace(path, "line 8", "typed")
    back = await reverse(room.view, room.journal.intents[-1])
    assert (await room.apply(*back.changeset.changes)).kind == "applied"
    assert room.text("a.txt") == TEXT.replace("line 8", "typed")


async def test_lines_changed_again_are_reported_and_left(tmp_path: Path) -> None:
    room = Room(tmp_path, {"a.txt": TEXT, "b.txt": TEXT})
    for name in ("a.txt", "b.txt"):
        room.editor.open(room.path(name))
    after = TEXT.replace("line 3", "LINE 3")
    await room.apply(room.edit("a.txt", TEXT, after), room.edit("b.txt", TEXT, after))
    room.editor.replace(room.path("a.txt"), "LINE 3", "mine")
    back = await reverse(room.view, room.journal.intents[-1])
    [kept] = back.kept
    assert kept.conflict is not None
    assert kept.conflict.hunks[0].mine == "mine\n"
    await room.apply(*back.changeset.changes)
    assert room.text("a.txt") == after.replace("LINE 3", "mine")
    assert room.text("b.txt") == TEXT


async def test_several_edits_of_one_file_are_taken_back_together(tmp_path: Path) -> None:
    room = Room(tmp_path, {"a.txt": TEXT})
    room.editor.open(room.path("a.txt"))
    texts = [TEXT, TEXT.replace("line 1", "1"), TEXT.replace("line 1", "1").replace("line 5", "5")]
    for before, after in pairwise(texts):
        await room.apply(room.edit("a.txt", before, after))
    files = [file for intent in room.journal.intents for file in intent]
    back = await reverse(room.view, files)
    await room.apply(*back.changeset.changes)
    assert room.text("a.txt") == TEXT
    assert len(room.editor.received) == 3


@pytest.mark.parametrize("added", [True, False])
async def test_undo_removes_only_empty_folders(tmp_path: Path, added: bool) -> None:
    room = Room(tmp_path, closed="disk")
    await room.apply(room.create("d/e/new.txt", "x\n"))
    if added:
        room.path("d/mine.txt").write_text("mine")
    back = await reverse(room.view, room.journal.intents[-1])
    assert (await room.apply(*back.changeset.changes)).kind == "applied"
    assert list(tree(tmp_path)) == (["d", "d/mine.txt"] if added else [])


async def test_a_created_file_keeps_what_was_added_to_it(tmp_path: Path) -> None:
    room = Room(tmp_path)
    await room.apply(room.create("new.txt", "made\n"))
    room.editor.open(room.path("new.txt"))
    room.editor.type(room.path("new.txt"), 0, 5, "mine entirely\n")
    back = await reverse(room.view, room.journal.intents[-1])
    assert [kept.uri for kept in back.kept] == [room.uri("new.txt")]
    assert room.text("new.txt") == "mine entirely\n"


async def test_a_deleted_file_does_not_overwrite_its_successor(tmp_path: Path) -> None:
    room = Room(tmp_path, {"a.txt": "old\n"}, closed="disk")
    await room.apply(room.delete("a.txt", "old\n"))
    room.path("a.txt").write_text("successor\n")
    back = await reverse(room.view, room.journal.intents[-1])
    assert back.changeset.changes == ()
    assert "there now" in back.kept[0].reason


async def test_a_file_that_an_older_ledger_knows_without_its_form_comes_back_as_utf8(tmp_path: Path) -> None:
    room = Room(tmp_path, {"a.txt": "one\r\n".encode("utf-8-sig")}, closed="disk")
    await room.apply(room.delete("a.txt", "one\r\n"))
    files = [file._replace(form=None) for file in room.journal.intents[-1]]
    back = await reverse(room.view, files)
    assert (await room.apply(*back.changeset.changes)).kind == "applied"
    assert room.path("a.txt").read_bytes() == b"one\r\n"


SWAP = (("rename", "a", "t"), ("rename", "b", "a"), ("rename", "t", "b"))
CHAINS = [
    (("rename", "b", "r"), ("write", "b", "new")),
    (("delete", "a", ""), ("rename", "b", "a")),
    (("rename", "a", "d/r"), ("rename", "b", "a"), ("rename", "d/r", "b")),
    SWAP,
    (
        ("write", "a", "A2"),
        ("rename", "a", "c"),
        ("write", "c", "A3"),
        ("delete", "c", ""),
        ("write", "a", "new"),
    ),
    (("rename", "d", "e"), ("write", "d/f", "new"), ("rename", "e/f", "d/g"), ("delete", "e", "")),
    (
        ("delete", "d", ""),
        ("rename", "a", "d"),
        ("write", "d", "A2"),
        ("rename", "d", "D"),
        ("rename", "b", "d"),
    ),
]


async def stage(overlay: Overlay, room: Room, act: tuple[str, str, str]) -> None:
    kind, name, more = act
    uri = room.uri(name)
    if kind == "rename":
        assert await overlay.stage_rename(uri, room.uri(more)) is None
    elif kind == "delete":
        assert await overlay.stage_delete(uri, recursive=True) is None
    else:
        assert await overlay.stage_write(uri, f"{more}\n") is None


def files_of(intents: list[tuple[JournalFile, ...]]) -> list[JournalFile]:
    return [file for intent in intents for file in intent]


@pytest.mark.parametrize("at_once", [True, False], ids=["one write-set", "one by one"])
@pytest.mark.parametrize("chain", CHAINS)
async def test_names_that_are_used_again_are_undone_and_redone_in_order(
    tmp_path: Path, chain: tuple[tuple[str, str, str], ...], at_once: bool
) -> None:
    room = Room(tmp_path, {"a": "A\n", "b": "B\n", "d/f": "F\n"}, closed="disk")
    before = tree(tmp_path)
    overlay = Overlay(room.view)
    for act in chain:
        await stage(overlay, room, act)
        if not at_once:
            assert (await room.apply(*overlay.changeset().changes)).kind == "applied"
            overlay.clear()
    assert (await room.apply(*overlay.changeset().changes)).kind == "applied"
    after, made = tree(tmp_path), len(room.journal.intents)
    back = await reverse(room.view, files_of(room.journal.intents))
    assert back.kept == () and (await room.apply(*back.changeset.changes)).kind == "applied"
    assert tree(tmp_path) == before
    again = await reverse(room.view, files_of(room.journal.intents[made:]))
    assert again.kept == () and (await room.apply(*again.changeset.changes)).kind == "applied"
    assert tree(tmp_path) == after


async def test_a_file_that_is_left_keeps_its_name_and_its_older_changes(tmp_path: Path) -> None:
    room = Room(tmp_path, {"a": TEXT, "b": "B\n"}, closed="disk")
    overlay = Overlay(room.view)
    changed = TEXT.replace("line 3", "LINE 3")
    for act in (("write", "a", changed[:-1]), ("rename", "a", "c"), ("write", "c", changed + "more")):
        await stage(overlay, room, act)
    await stage(overlay, room, ("rename", "b", "a"))
    assert (await room.apply(*overlay.changeset().changes)).kind == "applied"
    room.path("c").write_text((changed + "more\n").replace("more", "mine"))
    back = await reverse(room.view, files_of(room.journal.intents))
    assert [each.uri for each in back.kept] == [room.uri("c")]
    assert (await room.apply(*back.changeset.changes)).kind == "applied"
    assert tree(tmp_path) == {"b": "B\n", "c": changed + "mine\n"}
