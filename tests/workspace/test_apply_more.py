"""Applying a changeset to files that have changed: other texts, renames, links, encodings, many files."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import pytest

from planloom.domain.changes import EditFile, RenameFile
from planloom.domain.text.positions import Encoding
from planloom.domain.values import Uri
from planloom.workspace.editor import EditorCapabilities, TextOperation
from planloom.workspace.edits.after_crash import outcomes_after_crash
from planloom.workspace.edits.touched_places import look_at
from tests.support.fake_editor import EVERYTHING, ApplyOnly, Before, Refuse, Silent
from tests.workspace.room import Room, tree

TEXT = "".join(f"line {n}\n" for n in range(200))
NO_EDITOR = EditorCapabilities()
TEXT_ONLY = EditorCapabilities(apply_edit=True)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
async def test_positions_are_in_the_negotiated_encoding(tmp_path: Path, encoding: Encoding) -> None:
    before = "😀 one é\n👨‍👩‍👧 two\r\nx\u2028😀y\n"
    after = before.replace("two", "zwei 😀").replace("y", "z")
    room = Room(tmp_path, {"a": before}, encoding=encoding)
    room.editor.open(room.path("a"))
    assert (await room.apply(room.edit("a", before, after))).kind == "applied"
    assert room.text("a") == after


@pytest.mark.parametrize("capabilities", [EVERYTHING, NO_EDITOR])
async def test_one_line_of_a_crlf_file_is_one_edit(tmp_path: Path, capabilities: EditorCapabilities) -> None:
    before = TEXT.replace("\n", "\r\n")
    after = before.replace("line 77", "LINE 77")
    room = Room(tmp_path, {"a": before}, capabilities=capabilities, closed="disk")
    assert (await room.apply(room.edit("a", before, after))).kind == "applied"
    assert room.path("a").read_bytes() == after.encode()
    for sent in room.editor.received:
        [operation] = sent.operations
        assert isinstance(operation, TextOperation)
        [edit] = operation.edits
        assert edit.range.end.line - edit.range.start.line <= 1


async def test_line_ends_that_the_editor_made_uniform_are_no_conflict(tmp_path: Path) -> None:
    before = "one\ntwo\r\nthree\nfour\r\n"
    room = Room(tmp_path, {"a": before})
    room.editor.open(room.path("a"), before.replace("\r\n", "\n"))
    outcome = await room.apply(room.edit("a", before, before.replace("three", "THREE")))
    assert outcome.kind == "applied"
    assert not outcome.merged
    assert room.text("a") == "one\ntwo\nTHREE\nfour\n"


@pytest.mark.parametrize("mark_kept", [True, False])
async def test_a_byte_order_mark_is_kept_open_and_closed(tmp_path: Path, mark_kept: bool) -> None:
    room = Room(tmp_path, {"a": b"\xef\xbb\xbfone\ntwo\n"})
    room.editor.open(room.path("a"), ("\ufeff" if mark_kept else "") + "one\ntwo\n")
    assert (await room.apply(room.edit("a", "one\ntwo\n", "ONE\ntwo\n"))).kind == "applied"
    assert room.text("a") == ("\ufeff" if mark_kept else "") + "ONE\ntwo\n"
    closed = Room(tmp_path, {"b": b"\xef\xbb\xbfone\n"}, capabilities=NO_EDITOR)
    assert (await closed.apply(closed.edit("b", "one\n", "ONE\n"))).kind == "applied"
    assert closed.path("b").read_bytes() == b"\xef\xbb\xbfONE\n"


@pytest.mark.parametrize("before", ["", "\n\n\n", "x", "x\n"])
@pytest.mark.parametrize("after", ["", "\n\n\n", "x", "x\n", "a\nb"])
async def test_empty_files_and_final_newlines(tmp_path: Path, before: str, after: str) -> None:
    room = Room(tmp_path, {"a": before})
    room.editor.open(room.path("a"))
    outcome = await room.apply(room.edit("a", before, after))
    assert outcome.kind == "applied"
    assert room.text("a") == after
    assert len(room.editor.received) == (before != after)


async def test_a_closed_file_in_utf16_is_written_in_utf16(tmp_path: Path) -> None:
    room = Room(tmp_path, {"a": "\ufeffone é\r\n".encode("utf-16-le")})
    assert (await room.apply(room.edit("a", "one é\r\n", "two é\r\n"))).kind == "applied"
    assert room.path("a").read_bytes() == "\ufefftwo é\r\n".encode("utf-16-le")


@pytest.mark.parametrize("content", [b"caf\xe9\n", b"\x89PNG\x00"])
async def test_a_file_that_is_no_text_is_left_as_it_is(tmp_path: Path, content: bytes) -> None:
    room = Room(tmp_path, {"a": content})
    assert (await room.apply(room.edit("a", "x", "y"))).kind == "refused"
    assert room.path("a").read_bytes() == content


async def test_a_closed_file_that_changed_on_disk_is_merged_once_it_is_approved(tmp_path: Path) -> None:
    room = Room(tmp_path, {"a": TEXT}, capabilities=NO_EDITOR)
    room.path("a").write_text(TEXT.replace("line 150", "theirs"))
    outcome = await room.apply(room.edit("a", TEXT, TEXT.replace("line 7\n", "ours\n")))
    assert outcome.kind == "superseded"
    assert (await room.apply(*outcome.changeset.changes)).kind == "applied"
    assert room.path("a").read_text() == TEXT.replace("line 150", "theirs").replace("line 7\n", "ours\n")


async def test_a_deleted_file_is_not_made_again_unasked(tmp_path: Path) -> None:
    room = Room(tmp_path)
    outcome = await room.apply(room.edit("a", "old\n", "new\n"))
    assert outcome.kind == "superseded"
    [change] = outcome.changeset.changes
    assert change.kind == "create"
    assert tree(tmp_path) == {}


async def test_a_renamed_file_is_not_edited_under_its_new_name(tmp_path: Path) -> None:
    room = Room(tmp_path, {"new": "old\n"})
    room.view.did_rename(room.uri("a"), room.uri("new"))
    outcome = await room.apply(room.edit("a", "old\n", "new\n"))
    assert outcome.kind == "refused"
    assert "renamed" in outcome.reason
    assert room.text("new") == "old\n"


async def test_a_file_opened_before_the_edit_arrives_is_compared_anew(tmp_path: Path) -> None:
    room = Room(tmp_path, {"a": TEXT})
    intend = room.journal.intend

    async def opens(grant: object, files: object) -> object:
        if not room.editor.buffers:
            room.editor.open(room.path("a"), TEXT + "unsaved\n")
        return await intend(grant, files)  # type: ignore[arg-type]

    room.journal.intend = opens  # type: ignore[method-assign,assignment]
    outcome = await room.apply(room.edit("a", TEXT, TEXT.replace("line 7\n", "ours\n")))
    assert outcome.kind == "applied"
    assert outcome.merged
    assert room.text("a") == TEXT.replace("line 7\n", "ours\n") + "unsaved\n"


async def test_a_file_opened_under_another_name_is_edited_there(tmp_path: Path) -> None:
    room = Room(tmp_path, {"a": TEXT})
    room.path("other").symlink_to("a")
    room.editor.open(room.path("other"), TEXT + "unsaved\n")
    outcome = await room.apply(room.edit("a", TEXT, TEXT.replace("line 7\n", "ours\n")))
    assert outcome.kind == "applied"
    assert [file.uri for file in outcome.files] == [room.uri("other")]
    assert room.text("other") == TEXT.replace("line 7\n", "ours\n") + "unsaved\n"


async def test_a_change_that_is_not_the_approved_one_any_more_is_not_made(tmp_path: Path) -> None:
    before = "".join(f"{n}\n" for n in range(30))
    after = before.replace("\n3\n", "\nthree\n").replace("\n20\n", "\ntwenty\n")
    room = Room(tmp_path, {"a": before})
    room.editor.open(room.path("a"))
    room.editor.replace(room.path("a"), "\n20\n", "\ntwenty\n")
    outcome = await room.apply(room.edit("a", before, after))
    assert outcome.kind == "superseded"
    [change] = outcome.changeset.changes
    assert change.kind == "edit"
    assert (change.before, change.after) == (room.text("a"), after)
    assert room.editor.received == []


async def test_a_change_that_is_there_already_is_not_sent(tmp_path: Path) -> None:
    room = Room(tmp_path, {"a": "new\n", "d/x": ""})
    outcome = await room.apply(
        room.edit("a", "old\n", "new\n"), room.delete("gone", "x"), room.create("a", "new\n")
    )
    assert outcome.kind == "applied"
    assert outcome.files == ()
    assert room.journal.intents == []


async def test_create_never_overwrites(tmp_path: Path) -> None:
    room = Room(tmp_path, {"a": "theirs\n"})
    outcome = await room.apply(room.create("a", "ours\n"))
    assert outcome.kind == "conflicted"
    assert outcome.files[0].hunks[0].mine == "theirs\n"
    assert room.text("a") == "theirs\n"


@pytest.mark.parametrize("capabilities", [EVERYTHING, NO_EDITOR])
async def test_deletes_and_renames_that_meet_other_files_are_refused(
    tmp_path: Path, capabilities: EditorCapabilities
) -> None:
    room = Room(tmp_path, {"a": "a", "b": "b", "d/x": "x"}, capabilities=capabilities)
    for change in (room.rename("a", "b", "a"), room.rename("nothing", "c"), room.delete("a", None)):
        assert (await room.apply(change)).kind == "refused"
    assert (await room.apply(room.delete("a", "other"))).kind == "superseded"
    outcome = await room.apply(room.delete("d", None))
    assert outcome.kind == "refused"
    assert "not empty" in outcome.reason
    assert list(tree(tmp_path)) == ["a", "b", "d", "d/x"]


async def test_a_link_put_in_the_way_after_the_approval_is_refused(tmp_path: Path) -> None:
    outside = tmp_path / "out"
    outside.mkdir()
    (outside / "a").write_text("old\n")
    for capabilities in (EVERYTHING, NO_EDITOR):
        room = Room(tmp_path / "w", {"d/a": "old\n", "e/a": "old\n"}, capabilities=capabilities)
        changes = (room.edit("d/a", "old\n", "new\n"), room.create("d/b", "new\n"))
        room.path("d").rename(room.path("kept"))
        for target in (outside, room.path("e")):
            room.path("d").symlink_to(target)
            outcome = await room.apply(*changes)
            assert outcome.kind == "refused"
            room.path("d").unlink()
        room.path("kept").rename(room.path("d"))
        assert room.editor.received == []
    assert tree(outside) == {"a": "old\n"}


@pytest.mark.parametrize("name", [".git/hooks/pre-commit", ".planloom/x.md", "../x"])
async def test_some_names_are_never_written_even_with_an_approval(tmp_path: Path, name: str) -> None:
    room = Room(tmp_path / "w")
    (tmp_path / "w").mkdir()
    outcome = await room.apply(room.create(name, "x"))
    assert outcome.kind == "refused"
    assert tree(tmp_path / "w") == {}


@pytest.mark.parametrize(
    "uri", ["untitled:Untitled-1", "vscode-notebook-cell:/x#1", "git:/x", "file:///etc/motd"]
)
async def test_only_files_of_the_workspace_are_edited(tmp_path: Path, uri: str) -> None:
    room = Room(tmp_path)
    room.documents.did_open(uri, "text", 1, "old\n")
    outcome = await room.apply(EditFile(uri=Uri(uri), before="old\n", after="new\n"))
    assert outcome.kind == "refused"
    assert room.editor.received == []


@pytest.mark.parametrize(
    ("name", "text", "asks"),
    [
        ("package.json", "{}", True),
        ("a.json", '{"$schema": "https://x.example"}', True),
        ("a.json", "{}", False),
    ],
)
async def test_dangerous_changes_are_confirmed_in_the_editor_too(
    tmp_path: Path, name: str, text: str, asks: bool
) -> None:
    room = Room(tmp_path, {name: "{ }"})
    assert (await room.apply(room.edit(name, "{ }", text))).kind == "applied"
    assert room.editor.received[0].needs_confirmation is asks


@pytest.mark.parametrize(("new", "asks"), [("other", False), (".vscode", True)])
async def test_a_folder_is_confirmed_by_the_names_in_it(tmp_path: Path, new: str, asks: bool) -> None:
    room = Room(tmp_path, {"d/deep/a.txt": "a\n"})
    rename = RenameFile(uri=Uri(room.uri("d")), new_uri=Uri(room.uri(f"parts/{new}")))
    assert (await room.apply(rename)).kind == "applied"
    assert room.editor.received[0].needs_confirmation is asks


async def test_a_file_that_an_earlier_rename_brings_into_a_folder_is_judged_too(tmp_path: Path) -> None:
    room = Room(tmp_path, {"config.json": "{}\n", "d/a.txt": "a\n"})
    into = RenameFile(uri=Uri(room.uri("config.json")), new_uri=Uri(room.uri("d/config.json")), before="{}\n")
    away = RenameFile(uri=Uri(room.uri("d")), new_uri=Uri(room.uri(".docker")))
    look = await look_at(room.view, (into, away))
    assert [bool(each.dangers) for each in look.touched] == [False, True]


@pytest.mark.parametrize("reason", [None, "busy"])
async def test_an_edit_is_offered_once_more_after_a_first_refusal(tmp_path: Path, reason: str | None) -> None:
    room = Room(tmp_path, {"a": TEXT}, script=[Refuse(reason)])
    outcome = await room.apply(room.edit("a", TEXT, TEXT + "more\n"), room.create("d/new", "x\n"))
    assert outcome.kind == "applied"
    assert room.text("a") == TEXT + "more\n"
    assert ("createFolder", room.uri("d")) in [(file.change, file.uri) for file in outcome.files]


async def test_folders_made_for_a_refused_edit_are_removed(tmp_path: Path) -> None:
    room = Room(tmp_path, {"a": "x\n"}, script=[Refuse(), Refuse("no")])
    outcome = await room.apply(room.rename("a", "d/e/new", "x\n"), room.create("f/g", "y\n"))
    assert outcome.kind == "refused"
    assert tree(tmp_path) == {"a": "x\n"}


@pytest.mark.parametrize("done", [0, 1, 2, None])
async def test_silence_and_crashes_are_settled_file_by_file(tmp_path: Path, done: int | None) -> None:
    room = Room(tmp_path, {"a": TEXT, "b": TEXT}, script=[Silent(done)])
    for name in ("a", "b"):
        room.editor.open(room.path(name))
    after = TEXT.replace("line 7\n", "ours\n")
    outcome = await room.apply(room.edit("a", TEXT, after), room.edit("b", TEXT, after))
    room.editor.type(room.path("a"), len(room.text("a")), len(room.text("a")), "typed\n")
    findings = await outcomes_after_crash(room.view, room.journal.intents[0])
    count = 2 if done is None else done
    assert outcome.kind == ("refused", "partly_applied", "applied")[count]
    assert [finding == "verified" for finding in findings] == [count > 0, count > 1]


async def test_steps_at_one_file_run_one_after_the_other(tmp_path: Path) -> None:
    room = Room(tmp_path, {"a": TEXT})
    room.editor.open(room.path("a"))
    changes = [room.edit("a", TEXT, TEXT.replace(f"line {n * 10}\n", f"step {n}\n")) for n in range(1, 11)]
    outcomes = await asyncio.gather(*(room.apply(change) for change in changes))
    assert {outcome.kind for outcome in outcomes} == {"applied"}
    expected = TEXT
    for n in range(1, 11):
        expected = expected.replace(f"line {n * 10}\n", f"step {n}\n")
    assert room.text("a") == expected


@pytest.mark.slow
async def test_five_hundred_files_go_in_batches(tmp_path: Path) -> None:
    room = Room(tmp_path, {f"d/{n}": "old\n" for n in range(500)}, closed="disk")
    outcome = await room.apply(*(room.edit(f"d/{n}", "old\n", "new\n") for n in range(500)))
    assert outcome.kind == "applied"
    assert len(outcome.files) == 500
    assert len(room.editor.received) == len(room.journal.results) == 5


async def test_a_cancel_takes_effect_between_batches(tmp_path: Path) -> None:
    room = Room(tmp_path, {f"d/{n}": "old\n" for n in range(150)}, closed="disk")
    job = asyncio.create_task(room.apply(*(room.edit(f"d/{n}", "old\n", "new\n") for n in range(150))))
    room.editor.script.append(Before(job.cancel))
    with pytest.raises(asyncio.CancelledError):
        await job
    assert len(room.editor.received) == 1
    assert len(room.journal.results[0].applied) == 100


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("capabilities", [EVERYTHING, TEXT_ONLY], ids=["versions", "no versions"])
async def test_a_thousand_keystrokes_race_the_edits_and_none_is_lost(
    tmp_path: Path, seed: int, capabilities: EditorCapabilities
) -> None:
    """A user types, saves and closes while edits arrive; every typed mark must survive."""
    chance = random.Random(seed)
    room = Room(tmp_path, {"a": TEXT}, capabilities=capabilities)
    path = room.path("a")
    room.editor.open(path)
    typed: list[str] = []

    def act() -> None:
        if room.uri("a") not in room.editor.buffers:
            room.editor.open(path)
        text = room.text("a")
        match chance.random():
            case low if low < 0.05:
                room.editor.save_file(path)
            case low if low < 0.08:
                room.editor.save_file(path)
                room.editor.close(path)
            case _:
                mark = f"<{len(typed)}>"
                place = chance.randrange(len(text) + 1)
                while place < len(text) and not (
                    place == 0 or text[place - 1] == "\n" or text[place] == "\n"
                ):
                    place += 1
                room.editor.type(path, place, place, mark)
                typed.append(mark)

    async def types() -> None:
        while len(typed) < 250:
            act()
            await asyncio.sleep(0.001 * chance.randint(0, 2))

    async def edits() -> int:
        done = 0
        for n in range(60):
            live = await room.view.snapshot(room.uri("a"))
            assert live.text is not None
            lines = live.text.split("\n")
            at = chance.randrange(len(lines))
            after = "\n".join([*lines[:at], f"[edit {n}]", *lines[at:]])
            await asyncio.sleep(0.001 * chance.randint(0, 3))
            outcome = await room.apply(room.edit("a", live.text, after))
            done += outcome.kind == "applied"
        return done

    typing = asyncio.create_task(types())
    done = await edits()
    await typing
    text = room.text("a")
    assert [mark for mark in typed if text.count(mark) != 1] == []
    assert sum(text.count(f"[edit {n}]") for n in range(60)) == done
    assert done > 10


async def test_a_rename_that_half_an_edit_has_made_is_not_made_again(tmp_path: Path) -> None:
    """The file has since got other changes, and text of the user."""
    text = "".join(f"line {n}\n" for n in range(9))
    script = [ApplyOnly(1, says=True), Refuse("busy"), Refuse("busy")]
    room = Room(tmp_path, {"a.txt": text, "b.txt": text}, script=script)
    after = text.replace("line 3", "LINE 3")
    changes = (
        room.rename("a.txt", "c.txt", text),
        room.edit("c.txt", text, after),
    )
    assert (await room.apply(*changes)).kind == "refused"
    room.editor.open(room.path("c.txt"))
    room.editor.replace(room.path("c.txt"), "line 8", "typed")
    assert (await room.apply(*changes)).kind == "applied"
    assert room.text("c.txt") == after.replace("line 8", "typed")
    assert not room.path("a.txt").exists()
