"""Undo and redo of whole plans and single steps, for every kind of client, any number of times."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from planloom.domain.errors import WrongState
from planloom.domain.events import catalog as ev
from planloom.domain.plans.plan import Plan
from planloom.workspace.editor import EditorCapabilities
from tests.support.fake_editor import EVERYTHING, ApplyOnly, Behaviour, Refuse
from tests.support.ledgers import cut_back
from tests.support.studio import Studio, studio
from tests.workspace.room import tree

CLIENTS = {
    "everything": EVERYTHING,
    "no save": EVERYTHING._replace(save=False),
    "whole new files": EVERYTHING._replace(create_contents=True, create_folders=True),
    "new files alone": EVERYTHING._replace(rename_files=False, delete_files=False),
    "no resource operations": EVERYTHING._replace(create_files=False, rename_files=False, delete_files=False),
    "nothing but edits": EditorCapabilities(apply_edit=True),
    "no edits": EditorCapabilities(),
}
every_client = pytest.mark.parametrize("capabilities", CLIENTS.values(), ids=CLIENTS.keys())
every_client_in_time = pytest.mark.parametrize(
    "capabilities",
    [
        pytest.param(able, id=name, marks=() if name in ("everything", "no edits") else pytest.mark.slow)
        for name, able in CLIENTS.items()
    ],
)
"""Every client; those between the two ends are left to the slow run."""
FILES = {"a.txt": "one\ntwo\n", "b.txt": "b\n"}
PLANS = {
    "moved into a new folder": (
        '1. Rename a.txt to moved/a.txt\n2. Replace "two" with "TWO" in moved/a.txt\n'
        "3. Rename b.txt to moved/b.txt"
    ),
    "made, then changed": (
        '1. Create file new/n.txt with content "first"\n2. Replace "first" with "second" in new/n.txt\n'
        '3. Replace "one" with "ONE" in a.txt'
    ),
    "renamed and deleted": "1. Rename a.txt to c.txt\n2. Delete c.txt\n3. Rename b.txt to d.txt",
    "renamed in a row": "1. Rename b.txt to c.txt\n2. Rename a.txt to b.txt\n3. Rename b.txt to a2.txt",
    "deleted": "1. Delete a.txt\n2. Create folder empty/inside",
}


async def done(at: Studio, text: str) -> Plan:
    """Run a plan in which only deletions need approval."""
    plan = await at.approve(await at.ask(text), review="auto")
    while plan.pending.approvals:
        plan = await at.respond(plan)
    assert plan.status == "completed", [step.error for step in plan.steps]
    return plan


async def undo(at: Studio, plan: Plan, *, redo: bool = False, step: str | None = None) -> tuple[str, ...]:
    undone = await at.app.plans.undo(plan.plan_id, step, redo)  # type: ignore[arg-type]
    return undone.conflicts


def seen(at: Studio) -> dict[str, str | None]:
    """The workspace as the user sees it, once the editor has processed the changes on disk."""
    at.editor.reload()
    return {name: None if text is None else at.text(name) for name, text in tree(at.folder).items()}


@every_client_in_time
@pytest.mark.parametrize("text", PLANS.values(), ids=PLANS.keys())
@pytest.mark.parametrize("saved", [False, True])
async def test_a_plan_is_taken_back_and_done_again_as_often_as_wanted(
    tmp_path: Path, capabilities: EditorCapabilities, text: str, saved: bool
) -> None:
    async with studio(tmp_path, FILES, capabilities=capabilities) as at:
        before = seen(at)
        plan = await done(at, text)
        if saved:
            for uri in tuple(at.editor.buffers):
                at.editor._save(at.editor.buffers[uri])
        after = seen(at)
        assert after != before
        for _ in range(3):
            assert await undo(at, plan) == ()
            assert seen(at) == before
            with pytest.raises(WrongState):
                await undo(at, plan)
            assert await undo(at, plan, redo=True) == ()
            assert seen(at) == after
            with pytest.raises(WrongState):
                await undo(at, plan, redo=True)
        assert [step.reverted for step in at.now(plan).steps] == [None] * len(plan.steps)


@every_client
async def test_a_file_that_comes_back_is_on_disk_with_its_text(
    tmp_path: Path, capabilities: EditorCapabilities
) -> None:
    async with studio(tmp_path, FILES, capabilities=capabilities) as at:
        at.editor.open(at.path("a.txt"))
        plan = await done(at, '1. Delete a.txt\n2. Create file new.txt with content "made"')
        assert at.path("new.txt").read_text() == "made"
        await undo(at, plan)
        assert at.path("a.txt").read_text() == FILES["a.txt"] and not at.path("new.txt").exists()
        await undo(at, plan, redo=True)
        assert at.path("new.txt").read_text() == "made" and not at.path("a.txt").exists()


@every_client
async def test_a_step_is_redone_beside_others_that_were_undone_since(
    tmp_path: Path, capabilities: EditorCapabilities
) -> None:
    text = '1. Replace "two" with "TWO" in a.txt\n2. Delete b.txt\n3. Create file c.txt with content "c"'
    async with studio(tmp_path, FILES, capabilities=capabilities) as at:
        before = seen(at)
        plan = await done(at, text)
        after = seen(at)
        first, second, third = (step.step_id for step in plan.steps)
        for step in (first, second):
            assert await undo(at, plan, step=step) == ()
        assert seen(at) == {**after, **FILES}
        with pytest.raises(WrongState):
            await undo(at, plan, redo=True, step=third)
        assert await undo(at, plan, redo=True, step=first) == ()
        assert seen(at) == {**after, "b.txt": FILES["b.txt"]}
        assert [step.reverted for step in at.now(plan).steps] == [None, "whole", None]
        assert await undo(at, plan, redo=True, step=second) == ()
        assert seen(at) == after
        # The undo of the whole plan is one: no step of it is redone alone.
        assert await undo(at, plan) == () and seen(at) == before
        with pytest.raises(WrongState):
            await undo(at, plan, redo=True, step=first)
        assert await undo(at, plan, redo=True) == () and seen(at) == after


TEXT = "one é\r\ntwo\r\n"
BYTES = {
    "plain.txt": TEXT.encode(),
    "marked.txt": TEXT.encode("utf-8-sig"),
    "little.txt": ("\ufeff" + TEXT).encode("utf-16-le"),
    "big.txt": ("\ufeff" + TEXT).encode("utf-16-be"),
}
TAKEN_AWAY = {
    "deleted": ("Delete {}",),
    "renamed and changed": ("Rename {0} to new-{0}", 'Replace "one" with "ONE" in new-{0}'),
    "renamed and deleted": ("Rename {0} to new-{0}", "Delete new-{0}"),
    "replaced": ("Delete {0}", 'Create file {0} with content "made"'),
}
each_way = pytest.mark.parametrize("steps", TAKEN_AWAY.values(), ids=TAKEN_AWAY.keys())


def of_each_file(steps: Sequence[str]) -> str:
    """A request for these steps with every file."""
    asked = [step.format(name) for name in BYTES for step in steps]
    return "\n".join(f"{number}. {step}" for number, step in enumerate(asked, start=1))


def on_disk(at: Studio) -> dict[str, bytes]:
    """The files of the workspace once the user has saved all that is open."""
    at.editor.reload()
    for buffer in at.editor.buffers.values():
        at.editor._save(buffer)
    return {path.name: path.read_bytes() for path in at.folder.rglob("*") if path.is_file()}


@every_client_in_time
@each_way
@pytest.mark.parametrize("opened", [False, True], ids=["closed", "open"])
async def test_files_come_back_byte_for_byte_also_after_a_restart(
    tmp_path: Path, capabilities: EditorCapabilities, steps: Sequence[str], opened: bool
) -> None:
    ledger = tmp_path / "l.db"

    def show(at: Studio) -> None:
        for path in at.folder.iterdir() if opened else ():
            at.editor.open(path)

    async with studio(tmp_path, BYTES, capabilities=capabilities, ledger=ledger) as at:
        show(at)
        plan = await done(at, of_each_file(steps))
        after = on_disk(at)
        for _ in range(2):
            assert await undo(at, plan) == () and on_disk(at) == BYTES
            assert await undo(at, plan, redo=True) == () and on_disk(at) == after
    async with studio(tmp_path, capabilities=capabilities, ledger=ledger) as at:
        show(at)
        assert await undo(at, plan) == () and on_disk(at) == BYTES
        assert await undo(at, plan, redo=True) == () and on_disk(at) == after


@every_client
@pytest.mark.parametrize("opened", [False, True], ids=["closed", "open"])
@pytest.mark.parametrize("cut", [False, True])
async def test_a_form_comes_back_also_where_the_text_is_the_same(
    tmp_path: Path, capabilities: EditorCapabilities, opened: bool, cut: bool
) -> None:
    ledger = tmp_path / "l.db"
    before, after = {"a.txt": "\ufeffsame".encode("utf-16-le")}, {"a.txt": b"same"}
    async with studio(tmp_path, before, capabilities=capabilities, ledger=ledger) as at:
        if opened:
            at.editor.open(at.path("a.txt"))
        plan = await done(at, '1. Delete a.txt\n2. Create file a.txt with content "same"')
        assert on_disk(at) == after
        assert await undo(at, plan) == () and on_disk(at) == before
        if not cut:
            assert await undo(at, plan, redo=True) == () and on_disk(at) == after
    if cut:
        # As if the server had ended between the intent of the undo and its edit.
        cut_back(ledger, next(e.seq for e in at.events if e.event.type == "edit_started" and e.event.reverts))
    async with studio(tmp_path, after, capabilities=capabilities, ledger=ledger) as at:
        if opened:
            at.editor.open(at.path("a.txt"))
        async with at.app._ownership.turn(plan.plan_id):
            pass
        assert await undo(at, plan) == () and on_disk(at) == before
        assert await undo(at, plan, redo=True) == () and on_disk(at) == after


@each_way
async def test_an_undo_that_a_crash_cut_off_brings_files_back_byte_for_byte_when_asked_again(
    tmp_path: Path, steps: Sequence[str]
) -> None:
    ledger = tmp_path / "l.db"
    async with studio(tmp_path, BYTES, ledger=ledger) as at:
        plan = await done(at, of_each_file(steps))
        after = on_disk(at)
        await undo(at, plan)
    # As if the server had ended between the intent and the edit.
    cut_back(ledger, next(e.seq for e in at.events if e.event.type == "edit_started" and e.event.reverts))
    shutil.rmtree(at.folder)
    async with studio(tmp_path, after, ledger=ledger) as at:
        async with at.app._ownership.turn(plan.plan_id):
            pass
        assert await undo(at, plan) == () and on_disk(at) == BYTES
        assert await undo(at, plan, redo=True) == () and on_disk(at) == after


@every_client
async def test_a_file_comes_back_byte_for_byte_where_another_has_got_its_name(
    tmp_path: Path, capabilities: EditorCapabilities
) -> None:
    files = {name: BYTES[name] for name in ("little.txt", "marked.txt")}
    async with studio(tmp_path, files, capabilities=capabilities) as at:
        plan = await done(at, "1. Delete little.txt\n2. Rename marked.txt to little.txt")
        assert on_disk(at) == {"little.txt": files["marked.txt"]}
        assert await undo(at, plan) == () and on_disk(at) == files


@pytest.mark.parametrize("saved", [True, False])
async def test_only_an_editor_with_unsaved_text_decides_in_which_form_a_file_comes_back(
    tmp_path: Path, saved: bool
) -> None:
    text = '1. Delete big.txt\n2. Create file big.txt with content "made"\n3. Replace "made" with "more" in big.txt'
    async with studio(tmp_path, {"big.txt": BYTES["big.txt"]}) as at:
        plan = await done(at, text)
        if saved:
            at.editor.save_file(at.path("big.txt"))
        assert await undo(at, plan) == ()
        assert on_disk(at) == {"big.txt": BYTES["big.txt"] if saved else TEXT.encode()}


async def test_a_file_that_was_changed_before_it_was_deleted_comes_back_byte_for_byte(tmp_path: Path) -> None:
    text = '1. Replace "one" with "ONE" in big.txt\n2. Delete big.txt\n3. Create file big.txt with content "made"'
    async with studio(tmp_path, {"big.txt": BYTES["big.txt"]}) as at:
        plan = await done(at, text)
        assert await undo(at, plan) == () and on_disk(at) == {"big.txt": BYTES["big.txt"]}
        assert await undo(at, plan, redo=True) == () and on_disk(at) == {"big.txt": b"made"}


async def test_folders_go_with_the_last_file_that_the_plan_has_made_in_them(tmp_path: Path) -> None:
    async with studio(tmp_path) as at:
        plan = await done(at, '1. Create file d/e/x with content "x"\n2. Create file d/e/y with content "y"')
        after = seen(at)
        await undo(at, plan, step=plan.steps[0].step_id)
        assert seen(at) == {"d": None, "d/e": None, "d/e/y": "y"}
        await undo(at, plan)
        assert seen(at) == {}
        await undo(at, plan, redo=True)
        await undo(at, plan, redo=True)
        assert seen(at) == after


@pytest.mark.parametrize(
    ("saved", "emptied", "goes"),
    [(None, True, True), ("", True, True), ("something of mine", True, False), (None, False, False)],
)
async def test_a_made_file_that_the_user_emptied_goes_unless_something_else_was_saved_in_it(
    tmp_path: Path, saved: str | None, emptied: bool, goes: bool
) -> None:
    async with studio(tmp_path) as at:
        plan = await done(
            at, '1. Create file n.txt with content "first"\n2. Replace "first" with "next" in n.txt'
        )
        path = at.path("n.txt")
        if saved is not None:
            at.editor.type(path, 0, len(at.text("n.txt")), saved)
            at.editor.save_file(path)
        at.editor.type(path, 0, len(at.text("n.txt")), "" if emptied else "typed over it")
        assert (await undo(at, plan) == ()) == goes
        assert path.exists() != goes
        if not goes:
            assert path.read_text() == (saved or "first")


async def test_steps_and_plans_are_taken_back_in_any_mixture(tmp_path: Path) -> None:
    text = '1. Replace "one" with "ONE" in a.txt\n2. Replace "b" with "B" in b.txt'
    async with studio(tmp_path, FILES) as at:
        before = seen(at)
        plan = await done(at, text)
        after = seen(at)
        first = plan.steps[0].step_id
        await undo(at, plan, step=first)
        assert (at.text("a.txt"), at.text("b.txt")) == (FILES["a.txt"], "B\n")
        await undo(at, plan)
        assert seen(at) == before
        await undo(at, plan, redo=True)
        assert (at.text("a.txt"), at.text("b.txt")) == (FILES["a.txt"], "B\n")
        await undo(at, plan, redo=True)
        assert seen(at) == after
        await undo(at, plan)
        assert seen(at) == before


async def test_what_a_user_typed_unsaved_still_stands_in_the_way_of_the_disk(tmp_path: Path) -> None:
    able = CLIENTS["no resource operations"]
    async with studio(tmp_path, FILES, capabilities=able) as at:
        plan = await done(at, "1. Rename a.txt to moved/a.txt")
        at.editor.open(at.path("moved/a.txt"))
        at.editor.type(at.path("moved/a.txt"), 0, 0, "mine ")
        with pytest.raises(WrongState, match="unsaved changes"):
            await undo(at, plan)
        assert at.text("moved/a.txt") == "mine one\ntwo\n"


@pytest.mark.parametrize("place", ["", "d/"], ids=["the workspace folder itself", "a folder in it"])
async def test_what_a_killed_server_was_writing_is_removed_when_the_next_one_settles(
    tmp_path: Path, place: str
) -> None:
    ended = await asyncio.create_subprocess_exec(sys.executable, "-c", "")
    await ended.wait()
    name = f".planloom-{ended.pid}-0123456789abcdef.tmp"
    ledger = tmp_path / "l.db"
    async with studio(tmp_path, FILES, ledger=ledger) as at:
        plan = await done(at, f'1. Create file {place}n.txt with content "n"')
    # As if the server had ended before the outcome of the edit was written down.
    cut_back(ledger, next(e.seq for e in at.events if e.event.type == "edit_started"), "executing")
    at.path(place + name).touch()
    at.path("other").mkdir()
    at.path("other/" + name).touch()
    async with studio(tmp_path, ledger=ledger) as at:
        async with at.app._ownership.turn(plan.plan_id):
            pass
        made = {place + "n.txt": "n", **({"d": None} if place else {})}
        assert tree(at.folder) == {**FILES, **made, "other": None, f"other/{name}": ""}
        assert at.now(plan).status == "paused"


@pytest.mark.parametrize(
    "script",
    [[ApplyOnly(1, says=False)], [ApplyOnly(2, says=True), Refuse("busy"), Refuse("busy")]],
    ids=["in its first edit", "between its edits"],
)
async def test_an_undo_that_a_crash_cut_off_in_a_renamed_file_is_completed_when_asked_again(
    tmp_path: Path, script: list[Behaviour]
) -> None:
    """The server ends when the editor has made a part of its changes; then the undo is repeated."""
    ledger = tmp_path / "l.db"
    text = '1. Rename a.txt to c.txt\n2. Replace "one" with "ONE" in c.txt\n3. Replace "b" with "B" in b.txt'
    made = {"c.txt": "ONE\ntwo\n", "b.txt": "B\n"}
    async with studio(tmp_path, FILES, ledger=ledger) as at:
        plan = await done(at, text)
        at.editor.script += script
        with pytest.raises(WrongState):
            await undo(at, plan)
        for buffer in at.editor.buffers.values():
            at.editor._save(buffer)
    cut_back(ledger, next(e.seq for e in at.events if e.event.type == "edit_started" and e.event.reverts))
    async with studio(tmp_path, ledger=ledger) as at:
        async with at.app._ownership.turn(plan.plan_id):
            pass
        assert await undo(at, plan) == () and seen(at) == FILES
        assert await undo(at, plan, redo=True) == () and seen(at) == made
        assert await undo(at, plan) == () and seen(at) == FILES


async def test_a_folder_that_stays_for_a_file_of_the_user_is_not_called_taken_back(tmp_path: Path) -> None:
    async with studio(tmp_path) as at:
        plan = await done(at, '1. Create folder own\n2. Create file own/n.txt with content "n"')
        at.path("own/mine.txt").write_text("mine")
        undone = await at.app.plans.undo(plan.plan_id, None, False)
        assert undone.reverted == (at.uri("own/n.txt"),) and undone.conflicts == ()
        assert seen(at) == {"own": None, "own/mine.txt": "mine"}
        logs = [each.event.message for each in at.events if isinstance(each.event, ev.Log)]
        assert logs[-1] == "Not empty, so still there: own."


async def test_an_undo_of_many_steps_lets_others_have_their_turn(tmp_path: Path) -> None:
    async with studio(tmp_path) as at:
        plan = await done(at, "\n".join(f'{n}. Create file n{n}.txt with content "n"' for n in range(1, 26)))
        told: set[int] = set()

        async def watch() -> None:
            while True:
                told.add(at.types().count("edit_reverted"))
                await asyncio.sleep(0)

        watching = asyncio.create_task(watch())
        await undo(at, plan)
        watching.cancel()
        assert seen(at) == {} and any(0 < count < 25 for count in told)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no permission bits")
@pytest.mark.parametrize("mode", [0o644, 0o755, 0o600])
async def test_a_deleted_file_comes_back_with_its_permissions_and_attributes(
    tmp_path: Path, mode: int
) -> None:
    async with studio(tmp_path, {"a.sh": "echo a\n"}) as at:
        path = at.path("a.sh")
        path.chmod(mode)
        attributes = {"user.tag": b"keep"} if sys.platform == "linux" and mode == 0o755 else {}
        for name, value in attributes.items():
            os.setxattr(path, name, value)
        plan = await done(at, "1. Delete a.sh\n2. Create folder z")
        for _ in range(2):
            await undo(at, plan)
            assert seen(at) == {"a.sh": "echo a\n"} and path.stat().st_mode & 0o777 == mode
            if sys.platform == "linux":
                assert {name: os.getxattr(path, name) for name in os.listxattr(path)} == attributes
            await undo(at, plan, redo=True)
            assert seen(at) == {"z": None}


async def test_an_undo_is_whole_on_the_disk_where_its_plan_was_saved(tmp_path: Path) -> None:
    request = (
        '1. Replace "two" with "TWO" in a.txt\n2. Create file new.txt with content "n"\n3. Delete b.txt\n'
        f'4. Run `{sys.executable} -c "print(1)"`'
    )
    settings = {"approvals.execute": "allow"}
    async with studio(tmp_path, {**FILES, "c.txt": "c\n"}, settings=settings) as at:
        at.editor.open(at.path("a.txt"))
        at.editor.open(at.path("c.txt"))
        plan = await done(at, request)
        assert at.path("a.txt").read_text() == "one\nTWO\n"
        at.editor.type(at.path("c.txt"), 0, 0, "typed ")
        assert await undo(at, plan) == ()
        assert tree(at.folder) == {**FILES, "c.txt": "c\n"}
        assert at.text("c.txt") == "typed c\n"
        await undo(at, plan, redo=True)
        assert tree(at.folder) == {"a.txt": "one\nTWO\n", "new.txt": "n", "c.txt": "c\n"}


async def test_what_the_user_has_not_saved_is_not_saved_by_an_undo(tmp_path: Path) -> None:
    before = "one\n\n\n\ntwo\n"
    async with studio(tmp_path, {"a.txt": before}) as at:
        at.editor.open(at.path("a.txt"))
        plan = await done(at, 'Replace "two" with "TWO" in a.txt')
        at.editor.type(at.path("a.txt"), 0, 0, "typed ")
        assert await undo(at, plan) == ()
        assert (at.text("a.txt"), at.path("a.txt").read_text()) == (f"typed {before}", before)
