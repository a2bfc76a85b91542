"""A plan from another machine brings texts that nobody here has written or seen."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from planloom.domain.errors import WrongState
from planloom.domain.plans.plan import Plan
from planloom.service.application import Application
from tests.service.test_renames import a_plan
from tests.support.studio import Studio, studio


@pytest.fixture(autouse=True)
def _machines(tmp_path: Path) -> None:
    for name in ("there", "here"):
        (tmp_path / name).mkdir()


async def exported(folder: Path, name: str) -> str:
    """The document of a plan that has changed a file from `old` to `new`."""
    model = a_plan(("edit_file", {"path": name, "old_text": "old", "new_text": "new"}))
    async with studio(folder, {name: "old\n"}, model=model) as at:
        plan = await at.approve(await at.ask("Tidy up", mode="plan"))
        while plan.pending.approvals:
            plan = await at.respond(plan)
        assert plan.status == "completed"
        return document(at.app, plan)


def document(app: Application, plan: Plan) -> str:
    return app.plans.full(plan.plan_id)


def with_other_text(text: str, old: str, new: str) -> str:
    """The document with another text under its own hash, as anybody can make it."""
    content: dict[str, Any] = json.loads(text)
    del content["sha256"]
    digests = [hashlib.sha256(each.encode()).hexdigest() for each in (old, new)]
    content["texts"] = [new if each == old else each for each in content["texts"]]
    content = json.loads(json.dumps(content).replace(*digests))
    digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode("ascii")).hexdigest()
    return json.dumps(content | {"sha256": digest})


async def imported(at: Studio, text: str) -> Plan:
    return await at.app.plans.import_plan(text)


@pytest.mark.parametrize("name", ["Makefile", ".vscode/tasks.json", "conftest.py", ".env"])
async def test_undoing_an_imported_plan_writes_nothing_that_runs_by_itself(tmp_path: Path, name: str) -> None:
    text = with_other_text(await exported(tmp_path / "there", name), "old\n", "evil\n")
    async with studio(tmp_path / "here", {name: "new\n"}) as at:
        plan = await imported(at, text)
        with pytest.raises(WrongState) as refused:
            await at.app.plans.undo(plan.plan_id, None, redo=False)
        assert Path(name).name in str(refused.value) and "another machine" in str(refused.value)
        assert at.path(name).read_text() == "new\n"
        # A second export and import is none the less one.
        again = document(at.app, at.now(plan))
        await at.app.plans.delete(plan.plan_id)
        plan = await imported(at, again)
        with pytest.raises(WrongState):
            await at.app.plans.undo(plan.plan_id, None, redo=False)


async def test_an_imported_plan_is_undone_in_files_that_do_nothing_by_themselves(tmp_path: Path) -> None:
    text = await exported(tmp_path / "there", "a.txt")
    async with studio(tmp_path / "here", {"a.txt": "new\n"}) as at:
        plan = await imported(at, text)
        undone = await at.app.plans.undo(plan.plan_id, None, redo=False)
        assert undone.reverted and at.text("a.txt") == "old\n"


async def test_a_plan_of_this_machine_is_undone_as_ever(tmp_path: Path) -> None:
    model = a_plan(("edit_file", {"path": "Makefile", "old_text": "old", "new_text": "new"}))
    async with studio(tmp_path, {"Makefile": "old\n"}, model=model) as at:
        plan = await at.approve(await at.ask("Tidy up", mode="plan"))
        while plan.pending.approvals:
            plan = await at.respond(plan)
        await at.app.plans.undo(plan.plan_id, None, redo=False)
        assert at.text("Makefile") == "old\n"
