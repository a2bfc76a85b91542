"""The whole product with a real type checker: what a change breaks is known before anyone is asked."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from planloom.execution.session import Session
from planloom.languages.language import Languages
from planloom.models.offline.scripted import ScriptedModel, makes
from planloom.models.port import Model
from tests.languages.test_real_servers import ALL
from tests.support.fake_editor import EVERYTHING
from tests.support.studio import Studio, studio

pytestmark = pytest.mark.process
TY = next(each for each in ALL if each.name == "ty")
FILES = {
    "pyproject.toml": "[project]\nname = 'shapes'\nversion = '1'\n",
    "shapes.py": "def area(width: int, height: int) -> int:\n    return width * height\n",
    **{
        f"use{number}.py": f"from shapes import area\n\nx{number} = area(2, {number})\n"
        for number in range(1, 5)
    },
}
DONE = makes(("task_completed", {"summary": "Done."}))


def at_work(
    folder: Path, model: Model | None = None, files: Mapping[str, str] = FILES, **settings: Any
) -> AbstractAsyncContextManager[Studio]:
    def language(session: Session) -> Languages:
        return Languages(session, folder / "private" / "languages")

    chosen = {"language.servers": [TY.command, "-"], "language.enabled": True, **settings}
    can = EVERYTHING._replace(language=False, diagnostics=False)
    return studio(
        folder, files, model=model, language=language, settings=chosen, capabilities=can, patience=30
    )


def write(text: str) -> Any:
    return makes(("write_file", {"path": "shapes.py", "content": text}))


async def test_a_model_mends_what_it_broke_before_anyone_is_asked(tmp_path: Path) -> None:
    right = FILES["shapes.py"].replace("* height", "* height * 1")
    wrong = right.replace("* height", "* heihgt", 1)
    model = ScriptedModel([write(wrong), write(right), DONE])
    async with at_work(tmp_path, model) as at:
        plan = await at.ask("Multiply the area by one, please", mode="direct")
        told = model.requests[1].messages[-1].text
        assert "1 new problem:\nshapes.py:2: error: Name `heihgt` used when not defined [ty]" in told
        (approval,) = plan.pending.approvals
        assert approval.judged is not None and approval.judged.is_clean and approval.judged.by == "ty"
        assert at.path("shapes.py").read_text() == FILES["shapes.py"]
        plan = await at.respond(plan)
        assert (plan.status, at.text("shapes.py")) == ("completed", right)


async def test_the_approval_names_callers_in_other_files_that_would_break(tmp_path: Path) -> None:
    model = ScriptedModel([write(FILES["shapes.py"].replace("area(", "area(depth: int, ")), DONE, DONE, DONE])
    async with at_work(tmp_path, model) as at:
        plan = await at.ask("Give area a depth, please", mode="direct")
        (approval,) = plan.pending.approvals
        assert approval.judged is not None
        broken = {each.uri.rpartition("/")[2] for each in approval.judged.problems}
        assert broken == {f"use{number}.py" for number in range(1, 5)}
        assert {each.line for each in approval.judged.problems} == {2}


async def test_a_rename_over_five_files_is_one_step_without_a_model(tmp_path: Path) -> None:
    async with at_work(tmp_path) as at:
        # The folder is looked through before it is known which files it has.
        await at.app.index.current().wait_until_listed(at.patience)
        plan = await at.ask("Rename function area to surface everywhere", mode="plan")
        (step,) = plan.steps
        assert (step.tool, step.args) == ("rename_symbol", {"symbol": "area", "new_name": "surface"})
        plan = await at.approve(plan)
        (approval,) = plan.pending.approvals
        assert len(approval.files) == 5 and approval.judged is not None and approval.judged.is_clean
        plan = await at.respond(plan)
        assert plan.status == "completed"
        assert all(
            "surface" in at.text(name) and "area" not in at.text(name)
            for name in FILES
            if name.endswith("s.py")
        )
        await at.app.plans.undo(plan.plan_id, None, False)
        assert {name: at.text(name) for name in FILES} == dict(FILES)


@pytest.mark.slow
async def test_a_server_that_hangs_makes_no_plan_fail(tmp_path: Path) -> None:
    """It is waited for once, and the person is told that nothing is known."""
    silent = tmp_path / "silent"
    silent.write_text("#!/bin/sh\nsleep 600\n")
    silent.chmod(0o755)
    right = FILES["shapes.py"].replace("* height", "* height * 1")
    model = ScriptedModel([write(right), write(f"{right}\n"), DONE])
    async with at_work(tmp_path, model, **{"language.servers": [f".py: {silent}", "-"]}) as at:
        plan = await at.ask("Multiply the area by one, please", mode="direct")
        (approval,) = plan.pending.approvals
        assert approval.judged is None or approval.judged.unknown is not None
        plan = await at.respond(plan)
        assert (plan.status, at.text("shapes.py")) == ("completed", f"{right}\n")
