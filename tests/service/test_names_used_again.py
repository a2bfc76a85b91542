"""A name that a plan frees and takes again means one file before and another after it, whatever happens between."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from planloom.domain.errors import WrongState
from planloom.domain.events import catalog as ev
from planloom.domain.plans.plan import Plan, Review
from tests.depth import points
from tests.support.crash import Crash, DyingLedger, Job, begun, finished, killed, restarted
from tests.support.fake_editor import EVERYTHING, After
from tests.support.studio import Studio, studio
from tests.workspace.room import tree

FILES = {"a.txt": "A\n", "b.txt": "B\n", "d/f.txt": "F\n"}
KEPT = {"d": None, "d/f.txt": "F\n"}
CHAINS: dict[str, tuple[str, dict[str, str | None]]] = {
    "rename, create": (
        '1. Rename b.txt to r.txt\n2. Create file b.txt with content "new"',
        {"a.txt": "A\n", "b.txt": "new", "r.txt": "B\n", **KEPT},
    ),
    "rename, delete": (
        "1. Rename a.txt to c.txt\n2. Delete c.txt\n3. Create folder z",
        {"b.txt": "B\n", "z": None, **KEPT},
    ),
    "swap": (
        "1. Rename a.txt to t.txt\n2. Rename b.txt to a.txt\n3. Rename t.txt to b.txt",
        {"a.txt": "B\n", "b.txt": "A\n", **KEPT},
    ),
    "delete, rename": (
        "1. Delete a.txt\n2. Rename b.txt to a.txt",
        {"a.txt": "B\n", **KEPT},
    ),
    "rename, delete, create": (
        '1. Rename b.txt to r.txt\n2. Delete r.txt\n3. Create file b.txt with content "new"\n'
        '4. Replace "A" with "AA" in a.txt',
        {"a.txt": "AA\n", "b.txt": "new", **KEPT},
    ),
    "change, rename, change, create, change": (
        '1. Replace "A" with "AA" in a.txt\n2. Rename a.txt to c.txt\n3. Replace "AA" with "AAA" in c.txt\n'
        '4. Create file a.txt with content "new"\n5. Replace "new" with "newer" in a.txt',
        {"a.txt": "newer", "b.txt": "B\n", "c.txt": "AAA\n", **KEPT},
    ),
    "folder": (
        '1. Rename d to e\n2. Create file d/f.txt with content "new"\n3. Rename e/f.txt to d/g.txt',
        {"a.txt": "A\n", "b.txt": "B\n", "d": None, "d/f.txt": "new", "d/g.txt": "F\n", "e": None},
    ),
    "swap beside a longer chain": (
        "1. Rename a.txt to t.txt\n2. Rename b.txt to a.txt\n3. Rename t.txt to b.txt\n4. Rename d/f.txt to d/g.txt\n"
        '5. Rename d/g.txt to d/h.txt\n6. Replace "F" with "FF" in d/h.txt\n7. Rename d/h.txt to d/i.txt\n'
        "8. Rename d/i.txt to d/j.txt",
        {"a.txt": "B\n", "b.txt": "A\n", "d": None, "d/j.txt": "FF\n"},
    ),
    "folder made by a rename": (
        "1. Rename a.txt to m/a.txt\n2. Rename m/ to n\n3. Create folder m\n4. Rename n/a.txt to x.txt\n"
        "5. Rename n/ to m/n",
        {"b.txt": "B\n", "m": None, "m/n": None, "m/n/x.txt": "A\n", **KEPT},
    ),
}


def seen(at: Studio) -> dict[str, str | None]:
    """The workspace with the text of open buffers."""
    return {name: at.text(name) if text is not None else None for name, text in tree(at.folder).items()}


def started(at: Studio) -> dict[str, str | None]:
    return {"a.txt": "A\n", "b.txt": "B\n", **KEPT}


async def undone(at: Studio, plan: Plan, *, redo: bool = False) -> None:
    result = await at.app.plans.undo(plan.plan_id, None, redo=redo)
    assert result.conflicts == (), result


@pytest.mark.parametrize("review", ["each", "end", "auto"])
@pytest.mark.parametrize("chain", CHAINS)
async def test_it_is_made_undone_and_redone(tmp_path: Path, chain: str, review: Review) -> None:
    text, after = CHAINS[chain]
    async with studio(tmp_path, FILES, settings={"execution.review": review}) as at:
        plan = await finished(at, await at.approve(await at.ask(text, mode="plan")))
        assert plan.status == "completed", plan.steps
        assert seen(at) == after
        assert all(step.status == "completed" and not step.waits for step in plan.steps)
        for _ in range(2):
            await undone(at, plan)
            assert seen(at) == started(at)
            assert [step.reverted for step in at.now(plan).steps] == ["whole"] * len(plan.steps)
            with pytest.raises(WrongState, match="nothing to take back"):
                await undone(at, plan)
            await undone(at, plan, redo=True)
            assert seen(at) == after
            assert not any(step.reverted for step in at.now(plan).steps)


@pytest.mark.parametrize("review", ["each", "end", "auto"])
@pytest.mark.parametrize("last", ["Rename a.txt to c.txt", "Delete a.txt"])
async def test_a_client_without_operations_on_files_does_not_stop_at_the_text_of_the_plan(
    tmp_path: Path, last: str, review: Review
) -> None:
    able = EVERYTHING._replace(
        create_files=False, rename_files=False, delete_files=False, save=review != "end"
    )
    settings = {"execution.review": review}
    async with studio(tmp_path, FILES, settings=settings, capabilities=able) as at:
        at.editor.open(at.path("a.txt"))
        text = f'1. Replace "A" with "AA" in a.txt\n2. {last}'
        plan = await finished(at, await at.approve(await at.ask(text, mode="plan")))
        assert plan.status == "completed", [step.result for step in plan.steps]
        assert tree(at.folder).get("c.txt") == ("AA\n" if "c.txt" in last else None)
        assert not at.path("a.txt").exists()
        await undone(at, plan)
        assert at.path("a.txt").read_text() == "A\n" and not at.path("c.txt").exists()


async def test_in_review_end_it_is_one_question(tmp_path: Path) -> None:
    async with studio(tmp_path, FILES, settings={"execution.review": "end"}) as at:
        plan = await at.approve(await at.ask(CHAINS["swap"][0], mode="plan"))
        (asked,) = plan.pending.approvals
        names = [[uri.rpartition("/")[2] for uri in file.uris] for file in asked.files]
        assert names == [["a.txt", "t.txt"], ["b.txt", "a.txt"], ["t.txt", "b.txt"]]
        assert (await at.respond(plan)).status == "completed"


@pytest.mark.slow
@pytest.mark.deep
@pytest.mark.parametrize("review", ["each", "end", "auto"])
@pytest.mark.parametrize("chain", CHAINS)
async def test_killed_at_every_event_it_is_made_once(tmp_path: Path, chain: str, review: Review) -> None:
    text, expected = CHAINS[chain]
    settings = {"execution.review": review}
    job = Job(text)
    (tmp_path / "first").mkdir()
    async with studio(tmp_path / "first", FILES, settings=settings) as at:
        plan = await finished(at, await at.approve(await begun(at, job)))
    first = next(recorded.seq for recorded in at.events if recorded.event.type == "plan_approved")
    for number in points(range(first, plan.seq + 1), 6, len(chain + review)):
        folder = tmp_path / f"{number}"
        folder.mkdir()
        ledger = DyingLedger(folder / "l.db", number)
        before = Studio(folder, FILES, settings=settings, ledger=ledger)
        await killed(before, ledger, job)
        after = restarted(before, folder / "l.db", settings, job)
        try:
            (found,) = after.app.plans.list(None, (), None, True)
            ended = await finished(after, found)
            assert (ended.status, seen(after)) == ("completed", expected), f"killed at event {number}"
            assert all(step.status == "completed" for step in ended.steps), f"killed at event {number}"
        finally:
            await after.app.close()


@pytest.mark.deep
@pytest.mark.parametrize("redo", [False, True])
@pytest.mark.parametrize("review", ["end", "auto"])
@pytest.mark.parametrize("chain", CHAINS)
async def test_an_undo_or_redo_that_was_killed_between_two_edits_goes_on(
    tmp_path: Path, chain: str, review: Review, redo: bool
) -> None:
    settings = {"execution.review": review}
    for nth in points(range(1, 5), 2, len(chain + review)):
        folder = tmp_path / f"{nth}"
        folder.mkdir()
        ledger = DyingLedger(folder / "l.db")
        before = Studio(folder, FILES, settings=settings, ledger=ledger)
        plan = await finished(before, await before.approve(await before.ask(CHAINS[chain][0], mode="plan")))
        wanted = [started(before), CHAINS[chain][1]]
        if redo:
            await undone(before, plan)
            wanted.reverse()
        made = 0

        def dies(event: ev.Event, nth: int = nth) -> bool:
            nonlocal made
            made += event.type == "edit_applied"
            return made == nth

        ledger.at = dies
        with contextlib.suppress(Crash):
            await undone(before, plan, redo=redo)
        ledger.dead = True
        await before.app._jobs.stop("")
        ledger.release()
        after = restarted(before, folder / "l.db", settings, Job(""))
        try:
            await after.app._ownership.reconcile_adopted()
            (found,) = after.app.plans.list(None, (), None, True)
            if seen(after) != wanted[0]:
                await undone(after, found, redo=redo)
            assert seen(after) == wanted[0], f"killed at edit {nth}"
            await undone(after, found, redo=not redo)
            assert seen(after) == wanted[1], f"killed at edit {nth}"
        finally:
            await after.app.close()


async def test_a_command_waits_for_a_part_that_a_crash_has_left_out(tmp_path: Path) -> None:
    """The editor's part of the one edit was made, the server's part was not."""
    job = Job('1. Create folder made\n2. Replace "A" with "AA" in a.txt\n3. Run `ls > seen.log`')
    settings = {"execution.review": "end"}
    ledger = DyingLedger(tmp_path / "l.db")
    before = Studio(tmp_path, FILES, settings=settings, ledger=ledger)
    before.editor.script.append(After(ledger.die))
    await killed(before, ledger, job)
    after = restarted(before, tmp_path / "l.db", settings, job)
    try:
        (plan,) = after.app.plans.list(None, (), None, True)
        plan = await finished(after, plan)
        assert plan.status == "completed" and after.text("a.txt") == "AA\n"
        assert "made" in after.path("seen.log").read_text().split()
    finally:
        await after.app.close()


async def test_a_file_with_typing_is_saved_before_the_server_changes_and_renames_it(tmp_path: Path) -> None:
    """The editor would keep the text under a name that another file takes."""
    able = EVERYTHING._replace(create_files=False, rename_files=False, delete_files=False, save=False)
    text = '1. Replace "A" with "AA" in a.txt\n2. Rename a.txt to c.txt\n3. Rename b.txt to a.txt'
    files, settings = {"a.txt": "A\n1\n2\n", "b.txt": "B\n"}, {"execution.review": "end"}
    async with studio(tmp_path, files, settings=settings, capabilities=able) as at:
        plan = await finished(at, await at.approve(await at.ask(text, mode="plan")))
        await undone(at, plan)
        at.editor.save_file(at.path("a.txt"))
        buffer = at.editor.open(at.path("a.txt"))
        at.editor.type(at.path("a.txt"), 6, 6, "typed\n")
        with pytest.raises(WrongState, match=r"'a\.txt' has unsaved changes"):
            await undone(at, plan, redo=True)
        assert buffer.text == "A\n1\n2\ntyped\n"
        at.editor.save_file(at.path("a.txt"))
        await undone(at, plan, redo=True)
        at.editor.reload()
        assert buffer.text == "B\n"
        assert seen(at) == {"a.txt": "B\n", "c.txt": "AA\n1\n2\ntyped\n"}
