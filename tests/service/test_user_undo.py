"""An edit that the user undoes or redoes in the editor is detected, and nothing runs again by itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from planloom.domain.plans.plan import Plan
from tests.support.studio import Studio, studio

THRICE = "\n".join(f'{n}. Replace "{n - 1}" with "{n}" in a.txt' for n in (1, 2, 3))

TWO = '1. Replace "old" with "new" in a.txt\n2. Replace "old" with "new" in b.txt'
FILES = {"a.txt": "old\n", "b.txt": "old\n"}


def reverted(at: Studio, plan: Plan) -> list[str | None]:
    return [step.reverted for step in at.now(plan).steps]


def fates(at: Studio, plan: Plan) -> set[str]:
    return {fate for step in at.now(plan).steps for call in step.tools_executed for fate in call.fates}


async def test_a_step_that_the_user_undid_in_the_editor_shows_it(tmp_path: Path) -> None:
    async with studio(tmp_path, FILES) as at:
        plan = await at.run(TWO)
        assert reverted(at, plan) == [None, None]
        at.editor.replace(at.path("a.txt"), "new", "old")
        assert reverted(at, plan) == ["whole", None]
        at.editor.replace(at.path("a.txt"), "old", "older")
        at.editor.replace(at.path("b.txt"), "new", "newer")
        assert reverted(at, plan) == ["whole", None]
        assert len(at.editor.received) == 2 and at.now(plan).status == "completed"


async def test_an_edit_of_many_files_is_undone_file_by_file(tmp_path: Path) -> None:
    async with studio(tmp_path, FILES, settings={"execution.review": "end"}) as at:
        plan = await at.run(TWO)
        at.editor.replace(at.path("a.txt"), "new", "old")
        assert reverted(at, plan) == ["part", "part"]
        at.editor.replace(at.path("b.txt"), "new", "old")
        assert reverted(at, plan) == ["whole", "whole"]


async def test_what_the_user_redoes_in_the_editor_is_done_again_file_by_file(tmp_path: Path) -> None:
    async with studio(tmp_path, FILES, settings={"execution.review": "end"}) as at:
        plan = await at.run(TWO)
        for name in FILES:
            at.editor.replace(at.path(name), "new", "old")
        assert fates(at, plan) == {"undone"}
        at.editor.replace(at.path("a.txt"), "old", "new")
        assert reverted(at, plan) == ["part", "part"] and fates(at, plan) == {"made", "undone"}
        at.editor.replace(at.path("b.txt"), "old", "new")
        assert reverted(at, plan) == [None, None] and fates(at, plan) == {"made"}
        at.editor.replace(at.path("b.txt"), "new", "old")
        assert reverted(at, plan) == ["part", "part"]


async def test_the_same_text_by_another_plan_is_no_redo_of_an_earlier_one(tmp_path: Path) -> None:
    async with studio(tmp_path, FILES) as at:
        earlier = await at.run(TWO)
        for name in FILES:
            at.editor.replace(at.path(name), "new", "old")
        later = await at.run(TWO)
        assert (reverted(at, earlier), reverted(at, later)) == (["whole", "whole"], [None, None])


async def test_two_edits_of_a_file_are_undone_and_redone_in_the_editor_one_by_one(tmp_path: Path) -> None:
    async with studio(tmp_path, FILES) as at:
        plan = await at.run('1. Replace "old" with "new" in a.txt\n2. Replace "new" with "newest" in a.txt')
        seen = []
        for text in ("new", "old", "new", "newest", "other", "new"):
            at.editor.replace(at.path("a.txt"), at.text("a.txt"), f"{text}\n")
            seen.append(reverted(at, plan))
        none, last, both = [None, None], [None, "whole"], ["whole", "whole"]
        assert seen == [last, both, last, none, none, last]


async def test_an_undo_by_planloom_is_itself_undone_and_redone_in_the_editor(tmp_path: Path) -> None:
    async with studio(tmp_path, FILES) as at:
        plan = await at.run('1. Replace "old" with "new" in a.txt')
        path = at.path("a.txt")
        await at.app.plans.undo(plan.plan_id, None, False)
        at.editor.replace(path, "old", "new")
        assert reverted(at, plan) == [None]
        at.editor.replace(path, "new", "old")
        assert reverted(at, plan) == ["whole"]
        await at.app.plans.undo(plan.plan_id, None, True)
        assert at.text("a.txt") == "new\n" and reverted(at, plan) == [None]
        at.editor.replace(path, "new", "old")
        assert reverted(at, plan) == ["whole"]
        at.editor.replace(path, "old", "new")
        assert reverted(at, plan) == [None]


async def test_an_undo_in_the_editor_while_the_plan_runs_shows_when_it_rests(tmp_path: Path) -> None:
    async with studio(tmp_path, FILES) as at:
        plan = await at.respond(await at.approve(await at.ask(TWO)))
        assert plan.status == "executing"
        at.editor.replace(at.path("a.txt"), "new", "old")
        assert reverted(at, plan) == [None, None]
        plan = await at.respond(plan)
        await at.until(plan, lambda now: [step.reverted for step in now.steps] == ["whole", None])


async def test_an_undo_by_planloom_is_reported_once(tmp_path: Path) -> None:
    async with studio(tmp_path, FILES) as at:
        plan = await at.run(TWO)
        await at.app.plans.undo(plan.plan_id, None, False)
        assert at.types().count("edit_reverted") == 2
        await at.app.plans.undo(plan.plan_id, None, True)
        assert (at.text("a.txt"), at.text("b.txt")) == ("new\n", "new\n")
        assert reverted(at, plan) == [None, None]


@pytest.mark.slow
async def test_typing_in_a_large_file_that_a_plan_changed_never_joins_its_text(tmp_path: Path) -> None:
    async with studio(tmp_path, {"a.txt": "old\n" + "line\n" * 400_000}) as at:
        at.editor.open(at.path("a.txt"))
        plan = await at.run('1. Replace "old" with "new" in a.txt')
        at.editor.type(at.path("a.txt"), 3, 3, "er")
        document = at.documents.get(at.uri("a.txt"))
        assert document is not None and "text" not in vars(document.content)
        at.editor.replace(at.path("a.txt"), "newer", "old")
        assert reverted(at, plan) == ["whole"]


async def test_files_that_the_editor_creates_and_deletes_again_are_those_of_the_edit(tmp_path: Path) -> None:
    async with studio(tmp_path, FILES) as at:
        plan = await at.run(
            '1. Create file made.txt with content "made"\n2. Replace "old" with "new" in a.txt\n3. Delete b.txt'
        )
        made, gone = at.path("made.txt"), at.path("b.txt")

        async def seen() -> list[str | None]:
            for path in (made, gone):
                await at.app.user_undo.file_changed(path.as_uri())
            return reverted(at, plan)

        text = made.read_text()
        assert await seen() == [None, None, None]
        made.unlink()
        assert await seen() == ["whole", None, None]
        made.write_text("something else")
        gone.write_text("old\n")
        assert await seen() == ["whole", None, "whole"]
        made.write_text(text)
        gone.unlink()
        assert await seen() == [None, None, None]


async def test_what_a_later_plan_reads_of_an_ended_one_follows_the_editors_undo_and_redo(
    tmp_path: Path,
) -> None:
    async with studio(tmp_path, FILES) as at:
        await at.run('1. Replace "old" with "new" in a.txt')

        def kept() -> str:
            return str(at.app.memory.search("", 1))

        at.editor.replace(at.path("a.txt"), "new", "old")
        assert "undone" in kept()
        at.editor.replace(at.path("a.txt"), "old", "new")
        assert "undone" not in kept()


async def test_what_the_user_discards_by_closing_a_file_without_saving_shows_as_undone(
    tmp_path: Path,
) -> None:
    async with studio(tmp_path, FILES) as at:
        plan = await at.run(TWO)
        at.editor.save_file(at.path("b.txt"))
        at.editor.close(at.path("b.txt"))
        at.editor.type(at.path("a.txt"), 0, 0, "mine, then discarded: ")
        at.editor.close(at.path("a.txt"))
        await at.until(plan, lambda now: [step.reverted for step in now.steps] == ["whole", None])
        undone = await at.app.plans.undo(plan.plan_id, None, False)
        assert [Path(uri).name for uri in undone.reverted] == ["b.txt"] and at.text("b.txt") == "old\n"
        await at.app.plans.undo(plan.plan_id, None, True)
        assert (at.text("a.txt"), at.text("b.txt")) == ("old\n", "new\n")
        assert reverted(at, plan) == ["whole", None]


async def test_a_discard_while_the_plan_runs_shows_when_it_rests(tmp_path: Path) -> None:
    async with studio(tmp_path, FILES) as at:
        plan = await at.respond(await at.approve(await at.ask(TWO)))
        at.editor.close(at.path("a.txt"))
        plan = await at.respond(plan)
        await at.until(plan, lambda now: [step.reverted for step in now.steps] == ["whole", None])


async def test_a_text_before_several_edits_undoes_all_of_them(tmp_path: Path) -> None:
    async with studio(tmp_path, {"a.txt": "0\n"}) as at:
        plan = await at.run(THRICE)
        at.editor.replace(at.path("a.txt"), "3", "1")
        assert reverted(at, plan) == [None, "whole", "whole"]
    async with studio(tmp_path, {"a.txt": "0\n"}) as at:
        plan = await at.run(THRICE)
        at.editor.close(at.path("a.txt"))
        await at.until(plan, lambda now: [step.reverted for step in now.steps] == ["whole"] * 3)


async def test_an_edit_that_is_made_after_a_discard_stands(tmp_path: Path) -> None:
    async with studio(tmp_path, FILES) as at:
        plan = await at.run('1. Replace "old" with "new" in a.txt')
        at.editor.close(at.path("a.txt"))
        await at.until(plan, lambda now: now.steps[0].reverted == "whole")
        again = await at.run('1. Replace "old" with "new" in a.txt')
        assert reverted(at, again) == [None] and at.text("a.txt") == "new\n"


async def test_a_document_that_is_closed_and_opened_again_with_its_text_stands(tmp_path: Path) -> None:
    async with studio(tmp_path, FILES) as at:
        plan = await at.run(TWO)
        text = at.text("a.txt")
        at.editor.close(at.path("a.txt"))
        at.editor.open(at.path("a.txt"), text)
        await at.app.user_undo.file_changed(at.path("a.txt").as_uri())
        assert reverted(at, plan) == [None, None]
