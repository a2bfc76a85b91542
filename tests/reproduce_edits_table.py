"""Runs every situation of the table in docs/edits.md, and shows that what it says of Planloom is what happens.

python -m tests.reproduce_edits_table
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from planloom.domain.events.catalog import ConflictChoice
from tests.service.test_crashes import FILES, LITERAL, killed_and_resumed
from tests.support.crash import begun
from tests.support.fake_editor import Before, Refuse
from tests.support.studio import Studio, studio

PAGE = Path(__file__).parent.parent / "docs" / "edits.md"
EDIT = '1. Replace "old" with "new" in a.txt\n2. List files'
TEXT = {"a.txt": "first\n\n\nold\n"}


async def unsaved_text(folder: Path) -> None:
    async with studio(folder, {"a.txt": "on disk\n"}) as at:
        at.editor.open(at.path("a.txt"), "old, unsaved\n")
        await at.run(EDIT)
        assert at.text("a.txt") == "new, unsaved\n"
        assert at.path("a.txt").read_text() == "on disk\n"


async def typing_while_asked(folder: Path) -> None:
    async with studio(folder, TEXT) as at:
        at.editor.open(at.path("a.txt"))
        plan = await at.approve(await at.ask(EDIT))
        at.editor.replace(at.path("a.txt"), "first", "FIRST")
        plan = await at.respond(plan)
        assert plan.status == "completed" and at.types().count("approval_request") == 1
        assert at.text("a.txt") == "FIRST\n\n\nnew\n"


async def typing_while_applied(folder: Path) -> None:
    async with studio(folder, TEXT) as at:
        at.editor.open(at.path("a.txt"))
        at.editor.script.append(Before(lambda: at.editor.replace(at.path("a.txt"), "first", "FIRST")))
        await at.run(EDIT)
        assert at.text("a.txt") == "FIRST\n\n\nnew\n"


async def same_lines(folder: Path) -> None:
    async with studio(folder, TEXT) as at:
        at.editor.open(at.path("a.txt"))
        plan = await at.approve(await at.ask(EDIT))
        at.editor.replace(at.path("a.txt"), "old", "mine")
        plan = await at.respond(plan)
        conflict = plan.pending.conflicts[0]
        hunk = conflict.files[0].hunks[0]
        assert (hunk.base, hunk.mine, hunk.theirs) == ("old\n", "mine\n", "new\n")
        assert at.text("a.txt") == "first\n\n\nmine\n"
        chosen = ConflictChoice(uri=conflict.files[0].uri, choice="text", text="both\n")
        await at.app.approvals.resolve_conflict(plan.plan_id, conflict.edit_id, (chosen,))
        await at.reach(plan, "ended")
        assert at.text("a.txt") == "both\n"


async def refused(folder: Path) -> None:
    async with studio(folder, TEXT) as at:
        at.editor.script.extend([Refuse("read-only"), Refuse("read-only")])
        plan = await at.run(EDIT)
        assert len(at.editor.received) == 2
        assert "read-only" in plan.pending.recoveries[0].error and at.text("a.txt") == TEXT["a.txt"]


async def killed(folder: Path) -> None:
    (folder / "whole").mkdir()
    async with studio(folder / "whole", FILES) as at:
        plan = await at.approve(await begun(at, LITERAL))
        while plan.pending.approvals:
            plan = await at.respond(plan)
        moments = [e.seq for e in at.events if e.event.type in ("edit_started", "edit_applied")]
    for moment in moments:
        for written in (False, True):
            place = folder / f"{moment}-{written}"
            place.mkdir()
            await killed_and_resumed(place, moment, LITERAL, {}, written=written)


async def undone_after_typing(folder: Path) -> None:
    async with studio(folder, TEXT) as at:
        at.editor.open(at.path("a.txt"))
        plan = await at.run(EDIT)
        at.editor.replace(at.path("a.txt"), "first", "FIRST")
        await at.app.plans.undo(plan.plan_id, None, False)
        assert at.text("a.txt") == "FIRST\n\n\nold\n"
        await at.app.plans.undo(plan.plan_id, None, True)
        assert at.text("a.txt") == "FIRST\n\n\nnew\n"


async def undone_without_git(folder: Path) -> None:
    async with studio(folder, TEXT) as at:
        plan = await at.run(EDIT + '\n3. Create file made/far/below/b.txt with content "b"')
        assert plan.status == "completed"
        await at.app.plans.undo(plan.plan_id, None, False)
        assert at.text("a.txt") == TEXT["a.txt"]
        assert not at.path("made").exists() and not at.path(".git").exists()


async def undone_in_the_editor(folder: Path) -> None:
    async with studio(folder, TEXT) as at:
        plan = await at.run(EDIT)
        at.editor.replace(at.path("a.txt"), "new", "old")
        assert at.now(plan).steps[0].reverted == "whole" and len(at.editor.received) == 1


async def reviewed_at_the_end(folder: Path) -> None:
    async with studio(folder, TEXT) as at:
        before = at.text("a.txt")
        text = '1. Replace "old" with "newer" in a.txt\n2. Replace "newer" with "new" in a.txt'
        plan = await at.approve(await at.ask(text), review="end")
        assert plan.pending.approvals[0].step_id is None and at.text("a.txt") == before
        await at.respond(plan)
        assert at.text("a.txt") == before.replace("old", "new") and len(at.editor.received) == 1


async def command_after_edit(folder: Path) -> None:
    async def ran(at: Studio) -> str:
        plan = await at.run('1. Replace "old" with "new" in a.txt\n2. Run `cat a.txt`')
        return f"{plan.pause_reason} {plan.steps[1].result}"

    (folder / "clean").mkdir()
    async with studio(folder / "clean", TEXT) as at:
        at.editor.open(at.path("a.txt"))
        assert "new" in await ran(at)
        assert at.path("a.txt").read_text() == "first\n\n\nnew\n"
    (folder / "dirty").mkdir()
    async with studio(folder / "dirty", TEXT) as at:
        at.editor.open(at.path("a.txt"), "unsaved\n\n\nold\n")
        assert "unsaved_files" in await ran(at)
        assert at.path("a.txt").read_text() == TEXT["a.txt"]


async def inside_git(folder: Path) -> None:
    async with studio(folder, TEXT) as at:
        plan = await at.ask('1. Create file .git/hooks/pre-commit with content "x"\n2. List files')
        if plan.status == "pending_approval":
            await at.approve(plan, review="auto")
        assert not at.path(".git").exists() and at.editor.received == []


SITUATIONS: Mapping[str, tuple[str, Callable[[Path], Awaitable[None]]]] = {
    "A file has unsaved text": ("The unsaved text is read and edited; nothing is saved.", unsaved_text),
    "You type elsewhere in the file while an approval waits": (
        "Your text is merged in; the approval holds.",
        typing_while_asked,
    ),
    "You type just as the edit arrives": ("The edit is merged and offered again.", typing_while_applied),
    "You change the same lines": ("Both sides are shown, you decide, nothing is overwritten.", same_lines),
    "The editor refuses the edit": ("It is offered once more, then its reason is told.", refused),
    "The server is killed in the middle of an edit": (
        "The files are compared at the restart: nothing is lost, nothing is made twice.",
        killed,
    ),
    "You undo a plan after typing more": (
        "Its lines are taken back, your typing stays; the undo can be undone.",
        undone_after_typing,
    ),
    "You undo without a git repository": (
        "It works; created files and folders go, no git state is touched.",
        undone_without_git,
    ),
    "You undo the edit with the editor's own undo, or close the file without saving it": (
        "The step shows it; nothing runs again by itself.",
        undone_in_the_editor,
    ),
    "You want to review everything at once": (
        "One approval and one edit at the end; later steps see what is staged.",
        reviewed_at_the_end,
    ),
    "A command follows an edit": (
        "Files that only the plan changed are saved first; with unsaved text of yours the plan waits.",
        command_after_edit,
    ),
    "A step wants to write below .git": ("Refused in every mode.", inside_git),
}


def table() -> dict[str, str]:
    """What the page says of Planloom, by situation."""
    rows = [
        line.split("|") for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")
    ]
    return {row[1].strip(): row[2].strip() for row in rows if row[1].strip() in SITUATIONS}


async def reproduce() -> None:
    """Run all of them. Raises AssertionError if one is not as the page says."""
    for situation, (statement, happens) in SITUATIONS.items():
        with tempfile.TemporaryDirectory() as folder:
            await happens(Path(folder))
        sys.stdout.write(f"{situation}: {statement}\n")


if __name__ == "__main__":
    assert table() == {situation: said for situation, (said, _) in SITUATIONS.items()}
    asyncio.run(reproduce())
