"""Clients that can neither save nor rename: a plan is not stopped by text that it has left unsaved itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.service.test_undo import CLIENTS, seen
from tests.support.studio import studio

FILES = {"a.txt": "one\ntwo\n", "d/x.txt": "x\n"}
EDIT = '1. Replace "two" with "TWO" in a.txt\n'
PLANS = {
    "renamed": (EDIT + "2. Rename a.txt to b.txt", {"b.txt": "one\nTWO\n", "d/x.txt": "x\n"}),
    "deleted": (EDIT + "2. Delete a.txt", {"d/x.txt": "x\n"}),
    "its folder renamed": (
        '1. Replace "x" with "X" in d/x.txt\n2. Rename d to e',
        {"a.txt": "one\ntwo\n", "e/x.txt": "X\n"},
    ),
    "renamed and changed": (
        EDIT + '2. Rename a.txt to b.txt\n3. Replace "one" with "ONE" in b.txt\n4. Rename b.txt to a.txt',
        {"a.txt": "ONE\nTWO\n", "d/x.txt": "x\n"},
    ),
}


@pytest.mark.parametrize("review", ["each", "end", "auto"])
@pytest.mark.parametrize(("text", "files"), PLANS.values(), ids=PLANS.keys())
@pytest.mark.parametrize("client", ["no resource operations", "nothing but edits"])
async def test_a_plan_takes_away_a_file_that_it_has_changed(
    tmp_path: Path, client: str, text: str, files: dict[str, str], review: str
) -> None:
    capabilities = CLIENTS[client]._replace(save=False)
    async with studio(tmp_path, FILES, capabilities=capabilities) as at:
        at.editor.open(at.path("a.txt"))
        plan = await at.approve(await at.ask(text), review=review)
        while plan.pending.approvals:
            plan = await at.respond(plan)
        assert plan.status == "completed", (plan.pause_detail, plan.pending.recoveries)
        assert {name: text for name, text in seen(at).items() if text is not None} == files
        await at.app.plans.undo(plan.plan_id, None, False)
        assert seen(at) == {**FILES, "d": None}


@pytest.mark.parametrize("change", ["Rename a.txt to b.txt", "Delete a.txt"])
async def test_what_the_user_has_typed_beside_it_is_to_be_saved_first(tmp_path: Path, change: str) -> None:
    capabilities = CLIENTS["no resource operations"]._replace(save=False)
    async with studio(tmp_path, FILES, capabilities=capabilities) as at:
        at.editor.open(at.path("a.txt"))
        plan = await at.approve(await at.ask(EDIT + f"2. {change}"), review="each")
        plan = await at.respond(plan)
        at.editor.reload()
        at.editor.type(at.path("a.txt"), 0, 0, "mine ")
        while plan.pending.approvals:
            plan = await at.respond(plan)
        assert plan.status != "completed" and at.text("a.txt") == "mine one\nTWO\n"
        assert at.path("a.txt").read_text() == "one\nTWO\n"
