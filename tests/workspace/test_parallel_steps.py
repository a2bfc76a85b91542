"""Two parallel steps: every effect of both is staged for the plan, or reported as a conflict."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planloom.domain.changes import FileChange
from planloom.domain.values import Uri
from planloom.workspace.paths.uris import is_below
from planloom.workspace.staged.overlay import Overlay
from tests.workspace.room import Room, tree

FILES = {"a": "1\n2\n3\n4\n5\n", "b": "b\n", "d/x": "x\ny\nz\n", "d/e/y": "y\n"}
PLACES = ("a", "b", "c", "d", "d/x", "d/new", "d/e", "d/e/y", "f", "f/g")


async def both(folder: Path, one: list[tuple[str, ...]], other: list[tuple[str, ...]]) -> None:
    room = Room(folder, FILES)
    plan = Overlay(room.view)
    first, second = Overlay(plan), Overlay(plan)
    await work(room, first, one, "ONE")
    await work(room, second, other, "TWO")
    wanted = (*first.changeset().changes,), (*second.changeset().changes,)
    assert await first.merge_down() == ()
    named = {each.uri for each in await second.merge_down()}
    # A rename that both have made is made once, and one that cannot be made moves nothing.
    moves = [c for c in wanted[1] if c.kind == "rename" and c not in wanted[0]]
    for change in wanted[0]:
        places = (moved(change, moves), moved(change, []))
        assert any([await holds(plan, change, place, "ONE") for place in places]), f"{change} is lost"
    for change in wanted[1]:
        place = change.new_uri if change.kind == "rename" else change.uri
        if change.uri not in named:
            assert await holds(plan, change, place, "TWO"), f"the second step's {change} is lost"
    seen = await texts(plan, room.view.roots.folders[0].uri)
    outcome = await room.apply(*plan.changeset().changes)
    assert outcome.kind == "applied", outcome
    assert {room.uri(n): room.text(n) for n, text in tree(folder).items() if text is not None} == seen


async def texts(plan: Overlay, folder: Uri) -> dict[Uri, str | None]:
    """Every file with the plan's staged changes."""
    found: dict[Uri, str | None] = {}
    for entry in (await plan.list_folder(folder)).entries:
        if entry.kind == "folder":
            found |= await texts(plan, entry.uri)
        else:
            found[entry.uri] = (await plan.peek(entry.uri)).text
    return found


async def work(room: Room, step: Overlay, does: list[tuple[str, ...]], word: str) -> None:
    """Stage the actions, ignoring those that are refused."""
    for n, (kind, name, target) in enumerate(does):
        uri = room.uri(name)
        match kind:
            case "edit":
                found = await step.read(uri)
                if found.text is not None:
                    lines = found.text.splitlines(keepends=True)
                    at = len(target) * 3 % (len(lines) + 1)
                    lines.insert(at, f"{word} {n}\n")
                    await step.stage_write(uri, "".join(lines))
            case "write":
                await step.read(uri)
                await step.stage_write(uri, f"{word} {n} whole\n")
            case "delete":
                await step.read(uri)
                await step.stage_delete(uri, recursive=True)
            case "rename":
                await step.stage_rename(uri, room.uri(target))
            case "folder":
                await step.stage_create_folder(uri)


def moved(change: FileChange, moves: list[FileChange]) -> Uri:
    place = change.new_uri if change.kind == "rename" else change.uri
    for move in moves:
        if move.kind == "rename" and (place == move.uri or is_below(place, move.uri)):
            place = Uri(move.new_uri + place.removeprefix(move.uri))
    return place


async def holds(plan: Overlay, change: FileChange, place: Uri, word: str) -> bool:
    found = await plan.peek(place)
    match change.kind:
        case "edit" | "create":
            words = [line for line in change.after.splitlines() if line.startswith(word)]
            return found.text is not None and all(line in found.text.splitlines() for line in words)
        case "delete":
            return not found.exists
        case "rename":
            return found.exists or bool((await plan.list_folder(place)).entries)
        case "createFolder":
            return found.problem == "folder"


ACTION = st.tuples(
    st.sampled_from(("edit", "edit", "write", "delete", "rename", "folder")),
    st.sampled_from(PLACES),
    st.sampled_from(PLACES),
)


@given(st.lists(ACTION, max_size=3), st.lists(ACTION, max_size=3))
def test_no_effect_of_two_parallel_steps_is_dropped_silently(
    one: list[tuple[str, ...]], other: list[tuple[str, ...]]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(both(Path(folder), one, other))


@pytest.mark.parametrize(
    ("one", "other", "named"),
    [
        (("write", "c", ""), ("rename", "a", "c"), "a"),
        (("edit", "a", ""), ("delete", "a", ""), "a"),
        (("delete", "a", ""), ("edit", "a", ""), "a"),
        (("rename", "a", "c"), ("delete", "a", ""), "a"),
        (("write", "f", ""), ("folder", "f", ""), "f"),
        (("write", "f", ""), ("write", "f/g", ""), "f/g"),
        (("write", "d/new", ""), ("delete", "d", ""), "d"),
        (("delete", "d", ""), ("write", "d/new", ""), "d/new"),
    ],
)
async def test_what_cannot_be_joined_is_named_with_a_reason(
    tmp_path: Path, one: tuple[str, ...], other: tuple[str, ...], named: str
) -> None:
    room = Room(tmp_path, FILES)
    plan = Overlay(room.view)
    first, second = Overlay(plan), Overlay(plan)
    await work(room, first, [one], "ONE")
    await work(room, second, [other], "TWO")
    assert await first.merge_down() == ()
    left = await second.merge_down()
    assert room.uri(named) in [each.uri for each in left] and all(each.reason for each in left)
