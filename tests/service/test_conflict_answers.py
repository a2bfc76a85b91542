"""A choice in a conflict is for the text that was shown; it never overwrites what was typed after that."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from planloom.domain.changes import Conflict, sha256
from planloom.domain.errors import UnknownThing
from planloom.domain.events.catalog import ConflictChoice
from planloom.domain.plans.plan import Plan
from tests.support.studio import Studio, studio

BASE = "".join(f"line {n}\n" for n in range(20))
TWO = '1. Replace "line 3" with "PLAN 3" in a.txt\n2. Replace "line 15" with "PLAN 15" in a.txt'
MINE = BASE.replace("line 3\n", "mine 3\n")


async def in_conflict(at: Studio) -> tuple[Plan, Conflict]:
    """A plan whose changes of lines 3 and 15 conflict with the user's typing in line 3."""
    at.editor.open(at.path("a.txt"))
    plan = await at.approve(await at.ask(TWO), review="end")
    at.editor.replace(at.path("a.txt"), "line 3\n", "mine 3\n")
    plan = await at.until(await at.respond(plan), lambda now: bool(now.pending.conflicts))
    return plan, plan.pending.conflicts[0]


async def answer(at: Studio, plan: Plan, conflict: Conflict, choice: Any, **more: Any) -> Plan:
    """Answer, and return the plan once it asks something else or has ended."""
    chosen = ConflictChoice(uri=conflict.files[0].uri, choice=choice, **more)
    await at.app.approvals.resolve_conflict(plan.plan_id, conflict.edit_id, (chosen,))
    return await at.until(
        plan,
        lambda now: (
            conflict not in now.pending.conflicts
            and (
                bool(now.pending.conflicts or now.pending.approvals)
                or now.status in ("completed", "cancelled")
            )
        ),
    )


def changed(text: str, *words: str) -> str:
    for word in words:
        number = word.split()[-1]
        text = text.replace(f"line {number}\n", f"{word}\n")
    return text


async def test_a_conflict_names_the_text_in_which_it_was_found(tmp_path: Path) -> None:
    async with studio(tmp_path, {"a.txt": BASE}) as at:
        _, conflict = await in_conflict(at)
        assert conflict.files[0].sha256 == sha256(MINE)


@pytest.mark.parametrize("says", [True, False])
@pytest.mark.parametrize(
    ("choice", "text", "result"),
    [
        ("mine", None, MINE),
        ("theirs", None, changed(BASE, "PLAN 3", "PLAN 15")),
        ("both", None, changed(MINE, "PLAN 15").replace("mine 3\n", "mine 3\nPLAN 3\n")),
        ("text", changed(BASE, "us 3"), changed(BASE, "us 3")),
    ],
)
async def test_what_was_typed_elsewhere_after_the_conflict_was_shown_stays(
    tmp_path: Path, choice: Any, text: str | None, result: str, says: bool
) -> None:
    async with studio(tmp_path, {"a.txt": BASE}) as at:
        plan, conflict = await in_conflict(at)
        at.editor.replace(at.path("a.txt"), "line 8\n", "typed since\n")
        shown = {"sha256": conflict.files[0].sha256} if says else {}
        plan = await answer(at, plan, conflict, choice, text=text, **shown)
        assert plan.status == ("cancelled" if choice == "mine" else "completed")
        assert at.text("a.txt") == result.replace("line 8\n", "typed since\n")


@pytest.mark.parametrize("choice", ["theirs", "both"])
async def test_an_overlap_that_was_never_shown_is_shown_and_not_decided(tmp_path: Path, choice: Any) -> None:
    async with studio(tmp_path, {"a.txt": BASE}) as at:
        plan, conflict = await in_conflict(at)
        at.editor.replace(at.path("a.txt"), "line 15\n", "typed 15\n")
        live = at.text("a.txt")
        plan = await answer(at, plan, conflict, choice, sha256=sha256(live))
        assert at.text("a.txt") == live
        [fresh] = plan.pending.conflicts
        assert [(hunk.mine, hunk.theirs) for hunk in fresh.files[0].hunks] == [("typed 15\n", "PLAN 15\n")]
        assert fresh.files[0].sha256 == sha256(live)
        plan = await answer(at, plan, fresh, "theirs")
        assert plan.status == "completed" and "PLAN 3\n" in at.text("a.txt")


async def test_typing_again_in_the_lines_of_the_answer_is_asked_again(tmp_path: Path) -> None:
    async with studio(tmp_path, {"a.txt": BASE}) as at:
        plan, conflict = await in_conflict(at)
        at.editor.replace(at.path("a.txt"), "mine 3\n", "mine 3, and more\n")
        plan = await answer(at, plan, conflict, "text", text=changed(BASE, "us 3"))
        [fresh] = plan.pending.conflicts
        assert [(hunk.mine, hunk.theirs) for hunk in fresh.files[0].hunks] == [
            ("mine 3, and more\n", "us 3\n")
        ]
        plan = await answer(at, plan, fresh, "mine")
        assert "mine 3, and more\n" in at.text("a.txt")


async def test_a_text_written_for_the_newest_text_is_taken_as_it_is(tmp_path: Path) -> None:
    async with studio(tmp_path, {"a.txt": BASE}) as at:
        plan, conflict = await in_conflict(at)
        at.editor.replace(at.path("a.txt"), "line 8\n", "typed since\n")
        live = at.text("a.txt")
        whole = live.replace("typed since\n", "").replace("mine 3", "us 3")
        plan = await answer(at, plan, conflict, "text", text=whole, sha256=sha256(live))
        assert plan.status == "completed" and at.text("a.txt") == whole


async def test_an_answer_for_an_unknown_text_loses_nothing_that_is_there(tmp_path: Path) -> None:
    async with studio(tmp_path, {"a.txt": BASE}) as at:
        plan, conflict = await in_conflict(at)
        at.editor.replace(at.path("a.txt"), "line 8\n", "typed since\n")
        text = changed(BASE, "us 3")
        plan = await answer(at, plan, conflict, "text", text=text, sha256=sha256("no such text"))
        assert at.text("a.txt") == text.replace("line 8\n", "typed since\n")


async def test_the_whole_texts_of_a_conflict_can_be_merged_by_the_editor(tmp_path: Path) -> None:
    async with studio(tmp_path, {"a.txt": BASE}) as at:
        plan, conflict = await in_conflict(at)
        file = conflict.files[0]
        found = at.app.approvals.conflict_texts(conflict.edit_id, file.uri)
        assert (found.base, found.mine, found.theirs) == (BASE, MINE, changed(BASE, "PLAN 3", "PLAN 15"))
        assert sha256(found.mine) == file.sha256
        assert "<<<<<<< yours\nmine 3\n" in found.both and "PLAN 15\n" in found.both
        await answer(at, plan, conflict, "mine")
        with pytest.raises(UnknownThing):
            at.app.approvals.conflict_texts(conflict.edit_id, file.uri)
