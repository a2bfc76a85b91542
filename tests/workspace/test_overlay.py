"""Staging: reads through an overlay, its changeset, and stacked overlays."""

from __future__ import annotations

from pathlib import Path

import pytest

from planloom.domain.changes import FileChange
from planloom.workspace.staged.overlay import Overlay
from tests.workspace.room import Room


def summaries(changes: tuple[FileChange, ...], room: Room) -> list[str]:
    """Each change as its kind and its paths below the folder."""
    root = room.uri("x")[:-1]
    short = []
    for change in changes:
        names = [change.uri] + ([change.new_uri] if change.kind == "rename" else [])
        short.append(" ".join([change.kind, *(name.removeprefix(root) for name in names)]))
    return short


async def test_staged_text_is_read_back_and_the_files_are_untouched(tmp_path: Path) -> None:
    room = Room(tmp_path, {"a.txt": "one\n"})
    overlay = Overlay(room.view)
    assert (await overlay.read(room.uri("a.txt"))).text == "one\n"
    assert await overlay.stage_write(room.uri("a.txt"), "two\n") is None
    assert (await overlay.read(room.uri("a.txt"))).text == "two\n"
    assert room.path("a.txt").read_text() == "one\n"
    [change] = overlay.changeset().changes
    assert change.kind == "edit"
    assert (change.before, change.after) == ("one\n", "two\n")


async def test_the_base_is_what_the_author_read_not_what_was_typed_since(tmp_path: Path) -> None:
    room = Room(tmp_path, {"a.txt": "one\n"})
    room.editor.open(room.path("a.txt"))
    overlay = Overlay(room.view)
    await overlay.read(room.uri("a.txt"))
    room.editor.type(room.path("a.txt"), 0, 0, "typed\n")
    await overlay.peek(room.uri("a.txt"))
    await overlay.stage_write(room.uri("a.txt"), "two\n")
    [change] = overlay.changeset().changes
    assert change.kind == "edit"
    assert change.before == "one\n"


async def test_writing_the_same_text_stages_nothing(tmp_path: Path) -> None:
    room = Room(tmp_path, {"a.txt": "one\r\n"})
    overlay = Overlay(room.view)
    await overlay.stage_write(room.uri("a.txt"), "two\n")
    await overlay.stage_write(room.uri("a.txt"), "one\n")
    assert overlay.changeset().changes == ()


async def test_two_writes_of_one_file_are_one_change(tmp_path: Path) -> None:
    room = Room(tmp_path, {"a.txt": "one\n"})
    overlay = Overlay(room.view)
    await overlay.stage_write(room.uri("a.txt"), "two\n", notes=("fuzzy",))
    await overlay.stage_write(room.uri("a.txt"), "three\n", notes=("shrinks",))
    [change] = overlay.changeset().changes
    assert change.kind == "edit"
    assert (change.before, change.after, change.notes) == ("one\n", "three\n", ("fuzzy", "shrinks"))


@pytest.mark.parametrize(
    ("neighbours", "eol"),
    [
        ({}, "\n"),
        ({"a.py": "x\r\ny\r\n"}, "\r\n"),
        ({"a.py": "x\r\n", "b.md": "x\n", "c.md": "x\n"}, "\n"),
        ({"a.md": "x\r\n", "b.py": "x\n"}, "\n"),
    ],
)
async def test_a_new_file_takes_the_line_ends_of_its_neighbours(
    tmp_path: Path, neighbours: dict[str, str], eol: str
) -> None:
    room = Room(tmp_path, {f"src/{name}": text for name, text in neighbours.items()})
    overlay = Overlay(room.view)
    await overlay.stage_write(room.uri("src/new.py"), "a\nb\n")
    [change] = overlay.changeset().changes
    assert change.kind == "create"
    assert change.after == f"a{eol}b{eol}"


@pytest.mark.parametrize(
    ("acts", "changes"),
    [
        ("write a 1", ["edit a"]),
        ("write new 1", ["create new"]),
        ("write new 1; delete new", []),
        ("write a 1; delete a", ["delete a"]),
        ("delete a; write a 1", ["edit a"]),
        ("folder x/y", ["createFolder x", "createFolder x/y"]),
        ("folder d", []),
        ("write x/y 1; folder x", ["createFolder x", "create x/y"]),
        ("write x/y 1; delete x all", []),
        ("rename a x/a; rename x y", ["rename a x/a", "rename x y"]),
        ("rename a x/a; folder x; rename x y", ["rename a x/a", "createFolder x", "rename x y"]),
        ("rename a x/a; rename x/a a; rename x y", ["rename a x/a", "rename x/a a", "rename x y"]),
        ("rename a x/a; rename x/a a; delete x", ["rename a x/a", "rename x/a a", "delete x"]),
        ("rename a b", ["rename a b"]),
        ("rename a b; rename b c", ["rename a b", "rename b c"]),
        ("rename a b; rename b a", ["rename a b", "rename b a"]),
        ("rename a b; write b 1", ["rename a b", "edit b"]),
        ("write a 1; rename a b", ["edit a", "rename a b"]),
        ("write a 1; rename a b; write b 2", ["edit a", "rename a b", "edit b"]),
        ("write new 1; rename new newer", ["create new", "rename new newer"]),
        ("rename a b; write a 1", ["rename a b", "create a"]),
        ("rename d e; write e/f 1", ["rename d e", "edit e/f"]),
        ("rename d e; folder e/g", ["rename d e", "createFolder e/g"]),
        ("delete d all", ["delete d/f", "delete d/s/t", "delete d/s", "delete d"]),
        ("write d/n 1; delete d all", ["delete d/f", "delete d/s/t", "delete d/s", "delete d"]),
        (
            "write a 1; folder x; delete d/f; rename d/s s",
            ["createFolder x", "edit a", "delete d/f", "rename d/s s"],
        ),
        ("rename a a2; delete a2", ["rename a a2", "delete a2"]),
        ("rename a a2; write a 1; delete a2", ["rename a a2", "create a", "delete a2"]),
        ("delete a; rename d/f a", ["delete a", "rename d/f a"]),
        ("rename a x; rename d/f a; rename x d/f", ["rename a x", "rename d/f a", "rename x d/f"]),
        ("rename d e; write d/f 1; rename e/f d/g", ["rename d e", "create d/f", "rename e/f d/g"]),
        (
            "rename d/f f; rename d/s/t t; delete d all",
            ["rename d/f f", "rename d/s/t t", "delete d/s", "delete d"],
        ),
        ("delete d all; rename a d", ["delete d/f", "delete d/s/t", "delete d/s", "delete d", "rename a d"]),
    ],
)
async def test_changes_are_in_order_and_joined_where_no_rename_lies_between(
    tmp_path: Path, acts: str, changes: list[str]
) -> None:
    room = Room(tmp_path, {"a": "a\n", "d/f": "f\n", "d/s/t": "t\n"})
    overlay = Overlay(room.view)
    for act in acts.split("; "):
        assert await _act(overlay, room, act) is None, act
    assert summaries(overlay.changeset().changes, room) == changes
    outcome = await room.apply(*overlay.changeset().changes)
    assert outcome.kind == "applied"


async def _act(overlay: Overlay, room: Room, act: str) -> object:
    match act.split(" "):
        case ["write", name, text]:
            return await overlay.stage_write(room.uri(name), text)
        case ["delete", name, *everything]:
            return await overlay.stage_delete(room.uri(name), recursive=bool(everything))
        case ["folder", name]:
            return await overlay.stage_create_folder(room.uri(name))
        case ["rename", name, new_name]:
            return await overlay.stage_rename(room.uri(name), room.uri(new_name))
        case _:
            raise AssertionError(act)


@pytest.mark.parametrize(
    ("acts", "says"),
    [
        ("write d 1", "folder"),
        ("write a/b 1", "file"),
        ("write new 1; write new/below 1", "file"),
        ("folder a", "file"),
        ("write new 1; folder new", "file"),
        ("delete d", "2 entries"),
        ("delete nothing", "does not exist"),
        ("delete bin", "binary"),
        ("rename a d", "exists"),
        ("rename d d/e", "into itself"),
        ("rename nothing b", "does not exist"),
        ("write bin 1", "binary"),
        ("write latin 1", "encoding"),
        ("write .git/config 1", "Git"),
        ("write ../x 1", "outside"),
    ],
)
async def test_what_cannot_be_staged_says_why(tmp_path: Path, acts: str, says: str) -> None:
    folder = tmp_path / "w"
    room = Room(folder, {"a": "a\n", "d/f": "f\n", "d/g": "g\n", "bin": b"\x89PNG\x00", "latin": b"caf\xe9"})
    overlay = Overlay(room.view)
    *before, last = acts.split("; ")
    for act in before:
        assert await _act(overlay, room, act) is None
    refused = await _act(overlay, room, last)
    assert refused is not None
    assert says in refused.reason  # type: ignore[attr-defined]


async def test_a_listing_shows_what_is_staged(tmp_path: Path) -> None:
    room = Room(tmp_path, {"a": "a\n", "d/f": "f\n", "old": "o\n"})
    overlay = Overlay(room.view)
    for act in ("write new 1", "delete a", "rename old newer", "write x/y/z 1"):
        assert await _act(overlay, room, act) is None
    root = room.view.roots.folders[0].uri
    assert [(entry.name, entry.kind) for entry in (await overlay.list_folder(root)).entries] == [
        ("d", "folder"),
        ("new", "file"),
        ("newer", "file"),
        ("x", "folder"),
    ]
    assert [entry.name for entry in (await overlay.list_folder(room.uri("x"))).entries] == ["y"]
    assert (await overlay.list_folder(room.uri("nothing"))).problem == "missing"


async def test_a_step_over_its_plan_hands_its_changes_down(tmp_path: Path) -> None:
    room = Room(tmp_path, {"a": "one\ntwo\nthree\n", "b": "b\n"})
    plan = Overlay(room.view)
    first, second = Overlay(plan), Overlay(plan)
    await first.read(room.uri("a"))
    await second.read(room.uri("a"))
    await first.stage_write(room.uri("a"), "ONE\ntwo\nthree\n")
    await second.stage_write(room.uri("a"), "one\ntwo\nTHREE\n")
    await second.stage_rename(room.uri("b"), room.uri("c"))
    assert await first.merge_down() == ()
    assert first.changeset().changes == ()
    assert await second.merge_down() == ()
    assert (await plan.peek(room.uri("a"))).text == "ONE\ntwo\nTHREE\n"
    assert summaries(plan.changeset().changes, room) == ["edit a", "rename b c"]
    third = Overlay(plan)
    await third.read(room.uri("a"))
    await third.stage_write(room.uri("a"), "one\ntwo\nTHREE\n")
    await plan.stage_write(room.uri("a"), "Eins\ntwo\nTHREE\n")
    [conflict] = await third.merge_down()
    assert conflict.uri == room.uri("a")
