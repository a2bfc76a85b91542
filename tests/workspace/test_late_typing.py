"""Typing that the editor tells late: it refuses the edit and tells afterwards, or makes the edit in the wrong lines."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from planloom.domain.text.diff import text_edits
from planloom.domain.text.positions import ContentChange, Position, Range, TextEdit
from planloom.workspace.documents import DocumentStore
from planloom.workspace.editor import EditAnswer, EditorCapabilities, EditorEdit, TextOperation
from planloom.workspace.edits.misplaced import TextHistory
from tests.support.fake_editor import EVERYTHING, Before, Refuse
from tests.workspace.room import Room

TEXT = "".join(f"line {n}\n" for n in range(40))
TEXT_ONLY = EditorCapabilities(apply_edit=True)
AFTER = TEXT.replace("line 7\n", "LINE 7\nline 7b\n").replace("line 30\n", "")


def typing(room: Room, *marks: tuple[int, str]) -> Callable[[], None]:
    """The user types each text before the line of this number."""

    def types() -> None:
        for line, mark in marks:
            place = room.text("a").index(f"line {line}\n")
            room.editor.type(room.path("a"), place, place, mark)

    return types


@pytest.mark.parametrize("line", [0, 6, 7, 20, 39])
async def test_an_edit_that_was_made_in_the_wrong_lines_is_taken_back_and_made_in_the_right_ones(
    tmp_path: Path, line: int
) -> None:
    room = Room(tmp_path, {"a": TEXT}, capabilities=TEXT_ONLY)
    room.editor.open(room.path("a"))
    room.editor.clamps = True
    room.editor.script.append(Before(typing(room, (line, "mine\n"))))
    outcome = await room.apply(room.edit("a", TEXT, AFTER))
    if line == 7:
        # Typed beside the very line that the edit changes, which is a conflict as ever; the user's text stays.
        assert room.text("a").count("mine\n") == 1
        return
    assert outcome.kind == "applied"
    assert room.text("a") == AFTER.replace(f"line {line}\n", f"mine\nline {line}\n")


async def test_typing_in_the_very_lines_is_a_conflict_and_nothing_of_the_edit_is_left(tmp_path: Path) -> None:
    room = Room(tmp_path, {"a": TEXT}, capabilities=TEXT_ONLY)
    room.editor.open(room.path("a"))
    room.editor.clamps = True
    typed = TEXT.replace("line 7\n", "line seven\n").replace("line 0\n", "above\nline 0\n")

    def types() -> None:
        room.editor.replace(room.path("a"), "line 7\n", "line seven\n")
        room.editor.replace(room.path("a"), "line 0\n", "above\nline 0\n")

    room.editor.script.append(Before(types))
    outcome = await room.apply(room.edit("a", TEXT, AFTER))
    assert outcome.kind == "conflicted"
    assert room.text("a") == typed


async def test_taking_back_can_be_misplaced_too(tmp_path: Path) -> None:
    room = Room(tmp_path, {"a": TEXT}, capabilities=TEXT_ONLY)
    room.editor.open(room.path("a"))
    room.editor.clamps = True
    for mark in ("one\n", "two\n", "three\n"):
        room.editor.script.append(Before(typing(room, (0, mark))))
        room.editor.script.append(None)  # type: ignore[arg-type]
    outcome = await room.apply(room.edit("a", TEXT, AFTER))
    assert outcome.kind == "applied"
    assert room.text("a") == f"one\ntwo\nthree\n{AFTER}"


@pytest.mark.parametrize("seed", range(60))
async def test_whatever_is_typed_while_an_edit_is_under_way_is_kept_once(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    room = Room(tmp_path, {"a": TEXT}, capabilities=TEXT_ONLY)
    room.editor.open(room.path("a"))
    room.editor.clamps = True
    lines = [line for line in range(40) if line not in (7, 8, 30, 31)]
    marks = [(chance.choice(lines), f"<{seed}.{n}>\n") for n in range(chance.randrange(1, 5))]
    room.editor.script.append(Before(typing(room, *marks)))
    outcome = await room.apply(room.edit("a", TEXT, AFTER))
    assert outcome.kind == "applied"
    assert [room.text("a").count(mark) for _, mark in marks] == [1] * len(marks)
    left = room.text("a")
    for _, mark in marks:
        left = left.replace(mark, "")
    assert left == AFTER


def test_typing_and_edit_in_one_message_are_told_apart() -> None:
    documents = DocumentStore()
    documents.did_open("file:///a", "x", 1, "one\ntwo\n")
    history = TextHistory(documents, (documents.all()[0].uri,))

    def at(line: int, start: int, end: int) -> Range:
        return Range(
            start=Position(line=line, character=start),
            end=Position(line=line, character=end),
        )

    edit = TextEdit(range=at(1, 0, 3), new_text="TWO")
    operation = TextOperation(uri=documents.all()[0].uri, version=None, edits=(edit,))
    typed = ContentChange(range=at(0, 0, 0), text="zero\n")
    documents.did_change("file:///a", 3, (typed, ContentChange(range=edit.range, text="TWO")))
    assert history.misplaced(operation) == ("zero\none\ntwo\n", ("zero\nTWO\ntwo\n",))


@pytest.mark.parametrize("in_one_message", [True, False])
@pytest.mark.parametrize("seed", range(60))
def test_an_edit_that_is_told_change_by_change_is_not_misplaced(seed: int, in_one_message: bool) -> None:
    """VS Code makes only what differs of an edit, and tells of the last change first, so that other positions hold."""
    chance = random.Random(seed)
    before = "".join(chance.choice(("gamma\n", "the end\n", "a\n", "\n", "BETA BETA\n")) for _ in range(6))
    after = "".join(
        chance.choice((line, line, "gamma\n", "the end of it\n", ""))
        for line in before.splitlines(keepends=True)
    )
    documents = DocumentStore()
    documents.did_open("file:///a", "x", 1, before)
    uri = documents.all()[0].uri
    history = TextHistory(documents, (uri,))
    edits = text_edits(before, after, documents.encoding)
    changes = [ContentChange(range=edit.range, text=edit.new_text) for edit in reversed(edits)]
    if in_one_message and changes:
        documents.did_change("file:///a", 2, changes)
    else:
        for version, change in enumerate(changes, 2):
            documents.did_change("file:///a", version, [change])
    assert documents.all()[0].text == after
    assert history.misplaced(TextOperation(uri=uri, version=1, edits=edits)) is None
    whole = Range(start=Position(line=0, character=0), end=Position(line=before.count("\n"), character=0))
    coarse = TextEdit(range=whole, new_text=after)
    assert history.misplaced(TextOperation(uri=uri, version=1, edits=(coarse,))) is None


def test_an_edit_of_two_lines_that_the_editor_makes_word_by_word_is_not_misplaced() -> None:
    documents = DocumentStore()
    documents.did_open("file:///a", "x", 1, "alpha\nBETA\nthe end\nmine")
    uri = documents.all()[0].uri
    history = TextHistory(documents, (uri,))

    def at(line: int, end: int) -> Range:
        return Range(start=Position(line=line, character=0), end=Position(line=line, character=end))

    changes = ContentChange(range=at(2, 7), text="gamma"), ContentChange(range=at(1, 4), text="beta")
    documents.did_change("file:///a", 2, changes)
    both = Range(start=Position(line=1, character=0), end=Position(line=2, character=7))
    edit = TextEdit(range=both, new_text="beta\ngamma")
    assert history.misplaced(TextOperation(uri=uri, version=1, edits=(edit,))) is None


async def test_an_editor_that_refuses_an_older_version_is_waited_for(tmp_path: Path) -> None:
    """eglot counts every key and tells of them only when the user pauses."""
    older = Refuse("Edits on `a' require version 1, you have 9")
    room = Room(tmp_path, {"a": TEXT}, capabilities=EVERYTHING, script=[older, older, older])
    room.editor.open(room.path("a"))
    room.editor.clamps = True
    applying = asyncio.create_task(room.apply(room.edit("a", TEXT, AFTER)))
    for count in range(3):
        while len(room.editor.received) <= count:
            await asyncio.sleep(0)
        typing(room, (0, f"{count}\n"))()
    outcome = await applying
    assert outcome.kind == "applied"
    assert room.text("a") == f"0\n1\n2\n{AFTER}"


@pytest.mark.parametrize("seed", range(60))
async def test_characters_that_are_typed_before_and_after_a_misplaced_edit_are_all_kept(
    tmp_path: Path, seed: int
) -> None:
    """The editor makes the edit late: keys are pressed before it, and more until it answers."""
    chance = random.Random(seed)
    room = Room(tmp_path, {"a": TEXT}, capabilities=TEXT_ONLY)
    room.editor.open(room.path("a"))
    room.editor.clamps = True
    keys = iter(range(0x4E00, 0x9FFF))
    near, real = chance.choice((6, 7, 9, 29, 31)), room.editor.apply

    def press(times: int) -> None:
        for _ in range(times):
            text = room.text("a")
            lines = [place for place, line in enumerate(text.splitlines()) if line]
            line = chance.choice([*lines, *[each for each in lines if abs(each - near) < 4] * 9])
            place = sum(map(len, text.splitlines(keepends=True)[:line])) + chance.randrange(7)
            room.editor.type(room.path("a"), place, place, chance.choice(("\n", "")) + chr(next(keys)))

    async def late(edit: EditorEdit) -> EditAnswer:
        room.editor.apply = real  # type: ignore[method-assign]
        press(chance.randrange(1, 5))
        answer = await real(edit)
        press(chance.randrange(4))
        return answer

    room.editor.apply = late  # type: ignore[method-assign]
    outcome = await room.apply(room.edit("a", TEXT, AFTER))
    typed = [chr(key) for key in range(0x4E00, next(keys))]
    left = room.text("a")
    assert [left.count(each) for each in typed] == [1] * len(typed), outcome
    words = "".join(each for each in left if each not in typed).split()
    assert words in (AFTER.split(), TEXT.split()) or not _is_whole(words), outcome


def _is_whole(words: list[str]) -> bool:
    """Whether no line was broken by a key."""
    return {"line", "LINE"}.issuperset(words[::2])
