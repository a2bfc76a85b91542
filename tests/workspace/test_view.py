"""The view reads the buffer, else text the editor acknowledged, else the disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from planloom.domain.changes import sha256
from planloom.domain.text.positions import ContentChange
from planloom.workspace.paths.roots import Roots, root_at
from tests.workspace.room import Room


async def test_an_open_buffer_is_read_before_the_disk(tmp_path: Path) -> None:
    room = Room(tmp_path, {"a.txt": "disk\r\n"})
    found = await room.view.snapshot(room.uri("a.txt"))
    assert (found.text, found.source, found.eol, found.version) == ("disk\r\n", "disk", "\r\n", None)
    room.editor.open(room.path("a.txt"), "typed\n")
    found = await room.view.snapshot(room.uri("a.txt"))
    assert (found.text, found.source, found.version, found.dirty) == ("typed\n", "buffer", 1, True)
    assert found.sha256 == sha256("typed\n")
    room.editor.close(room.path("a.txt"))
    assert (await room.view.snapshot(room.uri("a.txt"))).text == "disk\r\n"


@pytest.mark.parametrize(
    ("content", "problem"),
    [(b"\x89PNG\x00", "binary"), (b"caf\xe9", "undecodable"), (b"x" * 6_000_000, "too_large")],
)
async def test_a_file_that_is_no_text_names_its_problem(tmp_path: Path, content: bytes, problem: str) -> None:
    room = Room(tmp_path, {"f": content})
    found = await room.view.snapshot(room.uri("f"))
    assert (found.exists, found.text, found.problem) == (True, None, problem)
    room.editor.buffers.clear()
    room.documents.did_open(room.uri("f"), "text", 1, "the editor reads it")
    assert (await room.view.snapshot(room.uri("f"))).text == "the editor reads it"


async def test_a_byte_order_mark_is_never_part_of_the_text(tmp_path: Path) -> None:
    room = Room(tmp_path, {"f": b"\xef\xbb\xbfx\n"})
    found = await room.view.snapshot(room.uri("f"))
    assert (found.text, found.bom) == ("x\n", True)
    room.documents.did_open(room.uri("f"), "text", 1, "\ufeffx\n")
    found = await room.view.snapshot(room.uri("f"))
    assert (found.text, found.bom) == ("x\n", True)


@pytest.mark.parametrize(
    "uri", ["untitled:Untitled-1", "git:/x?y", "file:///etc/passwd", "vscode-remote://x/y"]
)
async def test_a_file_outside_is_read_only_while_it_is_open(tmp_path: Path, uri: str) -> None:
    room = Room(tmp_path)
    found = await room.view.snapshot(uri)
    assert (found.exists, found.text, found.problem) == (False, None, "refused")
    room.documents.did_open(uri, "text", 1, "typed")
    assert (await room.view.snapshot(uri)).text == "typed"


async def test_a_buffer_is_found_when_it_is_open_under_another_name(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    room = Room(tmp_path / "real", {"a.txt": "x", "b.txt": "y"})
    (tmp_path / "link").symlink_to("real")
    room.path("also-b.txt").symlink_to("b.txt")
    room.view.roots = Roots((root_at(tmp_path / "link"),))
    room.editor.open(room.path("a.txt"), "unsaved")
    room.documents.did_open(f"{room.view.roots.folders[0].uri}/also-b.txt", "text", 7, "unsaved too")
    found = await room.view.snapshot(f"{room.view.roots.folders[0].uri}/a.txt")
    assert (found.text, found.uri) == ("unsaved", room.uri("a.txt"))
    found = await room.view.snapshot(f"{room.view.roots.folders[0].uri}/b.txt")
    assert (found.text, found.version) == ("unsaved too", 7)


@pytest.mark.parametrize("ends", ["disk", "open", "told"])
async def test_an_acknowledged_text_counts_until_something_says_otherwise(tmp_path: Path, ends: str) -> None:
    room = Room(tmp_path, {"a.txt": "old\n"})
    uri = room.uri("a.txt")
    await room.view.acknowledge(uri, "acknowledged\n")
    found = await room.view.snapshot(uri)
    assert (found.text, found.source) == ("acknowledged\n", "acknowledged")
    match ends:
        case "disk":
            room.path("a.txt").write_text("from outside\n")
        case "open":
            room.editor.open(room.path("a.txt"), "from outside\n")
            room.editor.save_file(room.path("a.txt"))
            room.editor.close(room.path("a.txt"))
        case _:
            room.view.forget(uri)
            room.path("a.txt").write_text("from outside\n")
    assert (await room.view.snapshot(uri)).text == "from outside\n"


async def test_a_late_report_of_an_older_text_does_not_count_as_typed(tmp_path: Path) -> None:
    room = Room(tmp_path, {"a.txt": "one\n"})
    uri = room.uri("a.txt")
    room.documents.did_open(uri, "text", 1, "one\n")

    def reported(text: str) -> None:
        room.documents.did_change(uri, 2, [ContentChange(text=text)])

    # Changed on disk, then moved away, before the editor has reported the first.
    for before, after in (("one\n", "two\n"), ("two\n", None)):
        room.view.mark_stale(uri, before, after)
    room.path("a.txt").rename(room.path("b.txt"))
    for late in ("one\n", "two\n"):
        reported(late)
        room.view.forget(uri)
        assert (await room.view.snapshot(uri)).text is None
    reported("typed\n")
    assert (await room.view.snapshot(uri)).text == "typed\n"


@pytest.mark.parametrize("made", [True, False])
async def test_a_buffer_counts_again_once_it_has_the_text_on_disk(tmp_path: Path, made: bool) -> None:
    room = Room(tmp_path, {"a.txt": "one\n"})
    uri = room.uri("a.txt")
    room.documents.did_open(uri, "text", 1, "one\n")
    known = room.view.mark_stale(uri, "one\n", "two\n")
    assert room.view.buffer(uri) is None
    if made:
        room.path("a.txt").write_text("two\n")
        room.documents.did_change(uri, 2, [ContentChange(text="two\n")])
    else:
        room.view.unmark_stale(known)
    assert room.view.buffer(uri) is not None and not room.view.is_stale(uri)


async def test_folders_are_listed_without_git(tmp_path: Path) -> None:
    room = Room(tmp_path, {"d/a.txt": "", "d/.git/config": "", "d/sub/x": ""})
    (tmp_path / "d/link").symlink_to("a.txt")
    listing = await room.view.list_folder(room.uri("d"))
    assert [(entry.name, entry.kind) for entry in listing.entries] == [
        ("a.txt", "file"),
        ("link", "link"),
        ("sub", "folder"),
    ]
    assert (await room.view.list_folder(room.uri("nothing"))).problem == "missing"
    assert (await room.view.list_folder(room.uri("d/sub/x"))).problem == "not_a_folder"
    assert (await room.view.list_folder("file:///etc")).problem == "refused"


async def test_roots_added_and_removed_are_honoured(tmp_path: Path) -> None:
    room = Room(tmp_path / "one", {"a": "a"})
    (tmp_path / "two").mkdir()
    (tmp_path / "two/b").write_text("b")
    other = root_at(tmp_path / "two")
    assert (await room.view.snapshot(f"{other.uri}/b")).problem == "refused"
    room.view.roots = Roots((other,))
    assert (await room.view.snapshot(f"{other.uri}/b")).text == "b"
    assert (await room.view.snapshot(room.uri("a"))).problem == "refused"


async def test_dirty_is_found_by_comparing_with_the_disk(tmp_path: Path) -> None:
    room = Room(tmp_path, {"a": "one"})
    assert not await room.view.is_dirty(room.uri("a"))
    room.editor.open(room.path("a"))
    assert not await room.view.is_dirty(room.uri("a"))
    room.editor.type(room.path("a"), 0, 3, "typed")
    assert await room.view.is_dirty(room.uri("a"))
    room.path("a").write_text("typed")
    assert not await room.view.is_dirty(room.uri("a"))


async def test_a_buffer_is_not_unsaved_because_the_disk_changed_under_it(tmp_path: Path) -> None:
    """A file changes on disk, as by `git checkout`; the editor reloads it now, later or never."""
    room = Room(tmp_path, {"a": "one", "kept": "old"})
    room.editor.open(room.path("a"))
    assert not await room.view.is_dirty(room.uri("a"))
    room.path("a").write_text("changed outside")
    assert not await room.view.is_dirty(room.uri("a"))
    room.editor.type(room.path("a"), 0, 3, "changed outside")
    assert not await room.view.is_dirty(room.uri("a"))
    room.editor.type(room.path("a"), 0, 7, "typed")
    assert await room.view.is_dirty(room.uri("a"))
    room.documents.did_open(room.uri("kept"), "text", 1, "unsaved text that the editor has kept")
    assert await room.view.is_dirty(room.uri("kept"))


async def test_a_look_ahead_reads_closed_files_that_may_be_read(tmp_path: Path) -> None:
    room = Room(tmp_path, {"a": "a\n", "open": "old\n", ".env": "KEY=1\n"})
    room.editor.open(room.path("open"), "new\n")
    found = await room.view.look_up(
        [("a", "read"), ("new", "write"), ("open", "write"), (".env", "read"), ("../x", "read")], None
    )
    assert [place.kind for place, _ in found] == ["resolved"] * 4 + ["refused"]
    assert [file and (file.exists, file.text) for _, file in found] == [
        (True, "a\n"),
        (False, None),
        None,
        None,
        None,
    ]
