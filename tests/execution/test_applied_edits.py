"""What follows an applied edit: the index of files and the saving of files, before the step goes on."""

from __future__ import annotations

from pathlib import Path

from tests.support.studio import Studio, studio


async def indexed(at: Studio) -> set[str]:
    index = at.app.index.current()
    assert await index.wait_until_listed(at.patience)
    return set(await index.below("", 100))


async def test_the_index_follows_each_edit_of_a_plan_and_its_undo(tmp_path: Path) -> None:
    async with studio(tmp_path, {"old.txt": "one\n"}) as at:
        assert await indexed(at) == {"old.txt"}
        plan = await at.run('create new.txt with "made", then rename old.txt to kept.txt')
        assert plan.status == "completed" and await indexed(at) == {"new.txt", "kept.txt"}
        await at.app.plans.undo(plan.plan_id, None, False)
        await at.app._jobs.join("edit-applied:")
        assert await indexed(at) == {"old.txt"}


async def test_an_undo_saves_what_was_saved(tmp_path: Path) -> None:
    async with studio(tmp_path, {"a.txt": "one\n"}, settings={"edits.save": "always"}) as at:
        at.editor.open(at.path("a.txt"))
        plan = await at.run('replace "one" with "two" in a.txt')
        assert at.path("a.txt").read_text() == "two\n"
        await at.app.plans.undo(plan.plan_id, None, False)
        await at.app._jobs.join("edit-applied:")
        assert at.text("a.txt") == at.path("a.txt").read_text() == "one\n"
