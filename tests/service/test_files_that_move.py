"""The user renames files and folders of a plan: undo, redo, the report and waiting changes follow."""

from __future__ import annotations

from pathlib import Path

import pytest

from planloom.domain.changes import EditRecord
from planloom.domain.plans.plan import Plan
from planloom.domain.values import Uri
from planloom.execution.summary import changed_files
from planloom.storage.ledger import Ledger
from planloom.workspace.paths.uris import relative
from tests.support.studio import Studio, studio
from tests.workspace.room import tree

FILES = {"a.txt": "one\ntwo\n", "d/x.txt": "x\n"}
EDITS = '1. Replace "two" with "TWO" in a.txt\n2. Create file n.txt with content "new"'
IN_FOLDER = '1. Replace "x" with "X" in d/x.txt\n2. Create file d/n.txt with content "new"'


def move(at: Studio, old: str, new: str) -> None:
    """The user renames a file or folder in the editor, which tells of it."""
    for buffer in [*at.editor.buffers.values()]:
        at.editor.save_file(at.path(name(at, buffer.uri)))
    at.editor._rename(Uri(at.uri(old)), Uri(at.uri(new)))
    at.view.told_of_rename(at.uri(old), at.uri(new))


def name(at: Studio, uri: str) -> str:
    return str(relative(uri, at.uri("").rstrip("/")))


def seen(at: Studio) -> dict[str, str | None]:
    at.editor.reload()
    return {each: None if text is None else at.text(each) for each, text in tree(at.folder).items()}


async def taken_back(at: Studio, plan: Plan, *, redo: bool = False) -> tuple[list[str], list[str]]:
    result = await at.app.plans.undo(plan.plan_id, None, redo)
    return [name(at, uri) for uri in result.reverted], [name(at, uri) for uri in result.conflicts]


@pytest.mark.parametrize(
    ("text", "moves", "after", "back"),
    [
        (
            EDITS,
            [("a.txt", "b.txt"), ("n.txt", "d/m.txt")],
            {"b.txt": "one\nTWO\n", "d/m.txt": "new", "d/x.txt": "x\n"},
            {"b.txt": "one\ntwo\n", "d/x.txt": "x\n"},
        ),
        (
            IN_FOLDER,
            [("d", "deep/e")],
            {"a.txt": "one\ntwo\n", "deep/e/n.txt": "new", "deep/e/x.txt": "X\n"},
            {"a.txt": "one\ntwo\n", "deep/e/x.txt": "x\n"},
        ),
        (
            '1. Rename d/x.txt to d/y.txt\n2. Replace "x" with "X" in d/y.txt',
            [("d", "e")],
            {"a.txt": "one\ntwo\n", "e/y.txt": "X\n"},
            {"a.txt": "one\ntwo\n", "e/x.txt": "x\n"},
        ),
        (
            '1. Delete d/x.txt\n2. Create file d/x.txt with content "mine"',
            [("d/x.txt", "d/z.txt"), ("a.txt", "b.txt"), ("b.txt", "a.txt")],
            {"a.txt": "one\ntwo\n", "d/z.txt": "mine"},
            {"a.txt": "one\ntwo\n", "d/x.txt": "x\n"},
        ),
    ],
    ids=["files", "folder", "renamed in a moved folder", "a name that is used again"],
)
async def test_undo_and_redo_follow_what_the_user_has_renamed(
    tmp_path: Path,
    text: str,
    moves: list[tuple[str, str]],
    after: dict[str, str],
    back: dict[str, str],
) -> None:
    async with studio(tmp_path, FILES) as at:
        plan = await at.run(text)
        for old, new in moves:
            move(at, old, new)
        files = {each: text for each, text in seen(at).items() if text is not None}
        assert files == after
        assert {name(at, uri) for uri in changed_files(at.now(plan))} <= {*after, *back}
        reverted, conflicts = await taken_back(at, plan)
        files = {each: text for each, text in seen(at).items() if text is not None}
        assert (files, conflicts) == (back, [])
        assert not {*reverted} & ({old for old, _ in moves} - {*back})
        await taken_back(at, plan, redo=True)
        again = {each: text for each, text in seen(at).items() if text is not None}
        assert again == after


async def test_a_name_that_the_user_gave_stays_where_the_plan_had_renamed_the_file(tmp_path: Path) -> None:
    async with studio(tmp_path, FILES) as at:
        plan = await at.run('1. Rename a.txt to b.txt\n2. Replace "two" with "TWO" in b.txt')
        move(at, "b.txt", "mine.txt")
        reverted, conflicts = await taken_back(at, plan)
        assert (reverted, conflicts) == (["mine.txt"], ["mine.txt"])
        assert seen(at)["mine.txt"] == "one\ntwo\n" and "a.txt" not in seen(at)


async def test_a_rename_that_the_user_made_undone_is_reverted(tmp_path: Path) -> None:
    async with studio(tmp_path, FILES) as at:
        plan = await at.run('1. Replace "two" with "TWO" in a.txt\n2. Rename a.txt to b.txt')
        move(at, "b.txt", "a.txt")
        _, conflicts = await taken_back(at, plan)
        assert conflicts == [] and seen(at)["a.txt"] == "one\ntwo\n"


async def test_what_was_renamed_before_a_restart_is_followed_after_it(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.sqlite3"
    async with studio(tmp_path, FILES, ledger=ledger) as at:
        plan = await at.run(EDITS)
        move(at, "a.txt", "b.txt")
    async with studio(tmp_path, {}, ledger=Ledger(ledger)) as at:
        await taken_back(at, plan)
        assert seen(at)["b.txt"] == "one\ntwo\n"


async def test_the_editors_report_of_the_plans_own_rename_is_none_of_the_users(tmp_path: Path) -> None:
    async with studio(tmp_path, FILES) as at:
        rename = at.editor._rename

        def told(uri: Uri, new_uri: Uri) -> None:
            rename(uri, new_uri)
            at.view.told_of_rename(uri, new_uri)

        at.editor._rename = told  # type: ignore[method-assign]
        plan = await at.run("1. Rename a.txt to b.txt")
        assert [_by_user(edit) for edit in at.now(plan).edits] == [False]
        await taken_back(at, plan)
        assert not any(_by_user(edit) for edit in at.now(plan).edits)


def _by_user(edit: EditRecord) -> bool:
    return edit.by_user


@pytest.mark.parametrize("review", ["each", "end"])
async def test_a_change_that_waits_follows_the_folder_and_is_asked_with_the_new_name(
    tmp_path: Path, review: str
) -> None:
    async with studio(tmp_path, FILES) as at:
        plan = await at.approve(await at.ask('1. Replace "x" with "X" in d/x.txt'), review=review)
        (asked,) = plan.pending.approvals
        move(at, "d", "e")
        plan = await at.respond(plan)
        (asked,) = plan.pending.approvals
        assert [name(at, file.uri) for file in asked.files] == ["e/x.txt"]
        plan = await at.respond(plan)
        assert plan.status == "completed" and plan.report is not None
        assert [name(at, file.uri) for file in plan.report.files] == ["e/x.txt"]
        assert seen(at)["e/x.txt"] == "X\n" and not at.path("d").exists()


async def test_what_is_staged_follows_a_folder_that_moves_before_the_end(tmp_path: Path) -> None:
    async with studio(tmp_path, FILES) as at:
        text = '1. Replace "x" with "X" in d/x.txt\n2. Rename d/x.txt to d/y.txt\n3. Run `true`'
        plan = await at.approve(await at.ask(text), review="end")
        move(at, "d", "e")
        for _ in range(4):
            if plan.pending.approvals:
                plan = await at.respond(plan)
        assert plan.status == "completed", (plan.pause_reason, plan.pause_detail, at.events[-6:])
        assert seen(at)["e/y.txt"] == "X\n" and not at.path("d").exists()
