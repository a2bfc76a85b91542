"""Applying a changeset: the resulting files, buffers and journal, for editors of all capabilities."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from planloom.workspace.editor import EditorCapabilities, TextOperation
from tests.support.fake_editor import EVERYTHING, ApplyOnly, Before, FormatAfter, Lie, Refuse, Silent, Wait
from tests.workspace.room import Room, tree

BEFORE = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n"
AFTER = BEFORE.replace("two", "TWO")


async def test_an_unsaved_buffer_is_edited_and_the_disk_left_alone(tmp_path: Path) -> None:
    room = Room(tmp_path, {"a.txt": "on disk\n"})
    room.editor.open(room.path("a.txt"), BEFORE)
    outcome = await room.apply(room.edit("a.txt", BEFORE, AFTER))
    assert outcome.kind == "applied"
    assert outcome.outcome == "verified"
    assert room.text("a.txt") == AFTER
    assert room.path("a.txt").read_text() == "on disk\n"
    operation = room.editor.received[0].operations[0]
    assert isinstance(operation, TextOperation)
    assert operation.version == 1
    assert [edit.new_text for edit in operation.edits] == ["TWO"]


async def test_text_typed_elsewhere_meanwhile_is_merged_and_nothing_is_asked(tmp_path: Path) -> None:
    room = Room(tmp_path, {"a.txt": BEFORE})
    room.editor.open(room.path("a.txt"))
    room.editor.replace(room.path("a.txt"), "six", "six and a half")
    outcome = await room.apply(room.edit("a.txt", BEFORE, AFTER))
    assert outcome.kind == "applied"
    assert outcome.merged
    assert room.text("a.txt") == AFTER.replace("six", "six and a half")


async def test_an_overlap_is_a_conflict_with_both_sides(tmp_path: Path) -> None:
    room = Room(tmp_path, {"a.txt": BEFORE})
    room.editor.open(room.path("a.txt"))
    room.editor.replace(room.path("a.txt"), "two", "zwei")
    outcome = await room.apply(room.edit("a.txt", BEFORE, AFTER))
    assert outcome.kind == "conflicted"
    [hunk] = outcome.files[0].hunks
    assert (hunk.base, hunk.mine, hunk.theirs) == ("two\n", "zwei\n", "TWO\n")
    assert room.editor.received == []
    assert room.journal.intents == []


async def test_text_typed_while_the_edit_is_under_way_is_kept(tmp_path: Path) -> None:
    room = Room(tmp_path, {"a.txt": BEFORE})
    path = room.path("a.txt")
    room.editor.open(path)
    room.editor.script.append(Before(lambda: room.editor.replace(path, "seven", "7")))
    outcome = await room.apply(room.edit("a.txt", BEFORE, AFTER))
    assert outcome.kind == "applied"
    assert room.text("a.txt") == AFTER.replace("seven", "7")
    assert len(room.editor.received) == 2
    assert [bool(result.applied) for result in room.journal.results] == [False, True]


async def test_a_second_refusal_is_final_and_says_why(tmp_path: Path) -> None:
    room = Room(tmp_path, {"a.txt": BEFORE}, script=[Refuse("no"), Refuse("not now")])
    room.editor.open(room.path("a.txt"))
    outcome = await room.apply(room.edit("a.txt", BEFORE, AFTER))
    assert outcome.kind == "refused"
    assert "not now" in outcome.reason
    assert len(room.editor.received) == 2
    assert room.text("a.txt") == BEFORE


async def test_format_on_save_is_noted(tmp_path: Path) -> None:
    room = Room(tmp_path, {"a.txt": BEFORE}, script=[FormatAfter(lambda text: text.replace("\n", " \n"))])
    room.editor.open(room.path("a.txt"))
    outcome = await room.apply(room.edit("a.txt", BEFORE, AFTER))
    assert outcome.kind == "applied"
    assert outcome.outcome == "normalized"


async def test_an_edit_reported_as_applied_that_was_not_is_found_out(tmp_path: Path) -> None:
    room = Room(tmp_path, {"a.txt": BEFORE}, script=[Lie()])
    room.editor.open(room.path("a.txt"))
    outcome = await room.apply(room.edit("a.txt", BEFORE, AFTER))
    assert outcome.kind == "refused"


async def test_without_an_answer_the_files_decide_what_was_applied(tmp_path: Path) -> None:
    for silence, kind in ((Silent(0), "refused"), (Silent(None), "applied")):
        room = Room(tmp_path, {"a.txt": BEFORE}, script=[silence])
        room.editor.open(room.path("a.txt"))
        outcome = await room.apply(room.edit("a.txt", BEFORE, AFTER))
        assert outcome.kind == kind


@pytest.mark.parametrize("says", [True, False])
async def test_half_an_edit_is_reported_file_by_file(tmp_path: Path, says: bool) -> None:
    room = Room(tmp_path, {"a.txt": BEFORE, "b.txt": BEFORE}, script=[ApplyOnly(1, says)])
    for name in ("a.txt", "b.txt"):
        room.editor.open(room.path(name))
    outcome = await room.apply(room.edit("a.txt", BEFORE, AFTER), room.edit("b.txt", BEFORE, AFTER))
    assert outcome.kind == "partly_applied"
    assert [file.uri for file in outcome.applied] == [room.uri("a.txt")]
    assert [file.uri for file in outcome.not_applied] == [room.uri("b.txt")]


async def test_a_cancel_while_the_editor_works_waits_and_records(tmp_path: Path) -> None:
    answer = asyncio.Event()
    room = Room(tmp_path, {"a.txt": BEFORE}, script=[Wait(answer)])
    room.editor.open(room.path("a.txt"))
    job = asyncio.create_task(room.apply(room.edit("a.txt", BEFORE, AFTER)))
    await room.editor.reached.wait()
    job.cancel()
    await asyncio.sleep(0.01)
    assert not job.done()
    answer.set()
    with pytest.raises(asyncio.CancelledError):
        await job
    assert room.text("a.txt") == AFTER
    assert len(room.journal.results) == 1
    assert room.journal.results[0].applied


CAPABILITIES = [
    EditorCapabilities(
        apply_edit=bool(bits & 1),
        document_changes=bool(bits & 2),
        rename_files=bool(bits & 4),
        delete_files=bool(bits & 8),
        change_annotations=bool(bits & 16),
    )
    for bits in range(32)
]


@pytest.mark.parametrize(
    ("capabilities", "closed"),
    [*((able, "open") for able in CAPABILITIES), (EVERYTHING, "hidden"), (EVERYTHING, "disk")],
)
async def test_every_set_of_editor_capabilities_leads_to_the_same_files(
    tmp_path: Path, capabilities: EditorCapabilities, closed: str
) -> None:
    room = Room(
        tmp_path,
        {"open.txt": BEFORE, "shut.txt": BEFORE, "gone.txt": "gone\n", "old.txt": "name\n"},
        capabilities=capabilities,
        closed=closed,  # type: ignore[arg-type]
    )
    room.editor.open(room.path("open.txt"))
    outcome = await room.apply(
        room.create("new/deep/file.txt", "fresh\n"),
        room.edit("open.txt", BEFORE, AFTER),
        room.edit("shut.txt", BEFORE, AFTER),
        room.delete("gone.txt", "gone\n"),
        room.rename("old.txt", "new/name.txt", "name\n"),
    )
    assert outcome.kind == "applied", outcome
    if not capabilities.apply_edit:
        # The buffer was clean, so the editor takes what is on disk.
        assert room.path("open.txt").read_text() == AFTER
    else:
        assert room.text("open.txt") == AFTER
    assert room.text("shut.txt") == AFTER
    assert room.text("new/deep/file.txt") == "fresh\n"
    assert not room.path("gone.txt").exists()
    assert room.path("new/name.txt").read_text() == "name\n"
    assert not room.path("old.txt").exists()
    changes = [(file.change, file.uri) for file in outcome.files]
    assert ("createFolder", room.uri("new/deep")) in changes
    assert len(room.editor.received) == (1 if capabilities.apply_edit else 0)
    for edit in room.editor.received:
        assert edit.needs_confirmation == (capabilities.change_annotations and _deletes(edit))


def _deletes(edit: object) -> bool:
    return any(operation.kind == "delete" for operation in edit.operations)  # type: ignore[attr-defined]


async def test_nothing_is_written_under_an_unsaved_buffer(tmp_path: Path) -> None:
    room = Room(tmp_path, {"a.txt": BEFORE}, capabilities=EditorCapabilities())
    room.editor.open(room.path("a.txt"))
    room.editor.replace(room.path("a.txt"), "seven", "7")
    outcome = await room.apply(room.edit("a.txt", BEFORE.replace("seven", "7"), AFTER.replace("seven", "7")))
    assert outcome.kind == "refused"
    assert "unsaved" in outcome.reason
    assert room.path("a.txt").read_text() == BEFORE


async def test_a_file_that_the_user_begins_to_type_in_while_others_are_written_is_left_alone(
    tmp_path: Path,
) -> None:
    files = [f"{number}.txt" for number in range(60)]
    room = Room(tmp_path, dict.fromkeys(files, BEFORE), capabilities=EditorCapabilities())
    room.editor.open(room.path(files[-1]))
    applying = asyncio.ensure_future(room.apply(*(room.edit(name, BEFORE, AFTER) for name in files)))
    while room.path(files[0]).read_text() == BEFORE:
        await asyncio.sleep(0)
    room.editor.replace(room.path(files[-1]), "seven", "7")
    outcome = await applying
    assert outcome.kind == "partly_applied"
    assert [file.uri for file in outcome.not_applied] == [room.uri(files[-1])]
    assert "unsaved" in outcome.reason
    assert room.path(files[-1]).read_text() == BEFORE


async def test_the_closing_of_a_deleted_files_buffer_that_is_told_late_is_waited_for(tmp_path: Path) -> None:
    room = Room(tmp_path, {"a.txt": BEFORE}, tells="late")
    room.editor.open(room.path("a.txt"))
    outcome = await room.apply(room.delete("a.txt", BEFORE), patience=5)
    assert outcome.kind == "applied"
    assert tree(tmp_path) == {}


async def test_a_buffer_told_late_is_waited_for(tmp_path: Path) -> None:
    room = Room(tmp_path, {"a.txt": BEFORE}, tells="late")
    room.editor.open(room.path("a.txt"))
    outcome = await room.apply(room.edit("a.txt", BEFORE, AFTER), patience=5)
    assert outcome.kind == "applied"
    assert outcome.outcome == "verified"


async def test_a_file_that_the_edit_itself_opens_is_waited_for(tmp_path: Path) -> None:
    """The editor reports a newly opened file first with the old text, then with the change."""
    room = Room(tmp_path, {"a.txt": BEFORE}, tells="late")
    outcome = await room.apply(room.edit("a.txt", BEFORE, AFTER), room.create("b.txt", "new\n"), patience=5)
    assert outcome.kind == "applied"
    assert outcome.outcome == "verified"
    assert (room.text("a.txt"), room.text("b.txt")) == (AFTER, "new\n")


async def test_a_closed_file_in_which_the_user_types_at_once_was_changed(tmp_path: Path) -> None:
    room = Room(tmp_path, {"b.txt": "old\n"}, script=[FormatAfter(lambda text: text + "typed")])
    outcome = await room.apply(room.edit("b.txt", "old\n", "new\n"))
    assert outcome.kind == "applied"
    assert room.text("b.txt") == "new\ntyped"
