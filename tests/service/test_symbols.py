"""Renames of symbols and code actions go through review, undo and the records of calls as every edit does."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from planloom.domain.plans.plan import Plan
from planloom.domain.text.positions import Position, Range, TextEdit
from planloom.models.offline.scripted import ScriptedModel, makes, says
from planloom.workspace.editor import Diagnostic
from planloom.workspace.language import CodeAction, CodeChange, FileEdits
from planloom.workspace.paths.uris import normalized
from tests.support.fake_language import FakeLanguage
from tests.support.studio import Studio, studio

FILES = {
    "src/shapes.py": "def area(side):\n    return side**2\n",
    "src/use.py": "from shapes import area\n\nprint(area(2))\n",
    "tests/test_area.py": "from shapes import area\n",
}
Call = tuple[str, dict[str, Any]]
RENAME: Call = ("rename_symbol", {"symbol": "area", "new_name": "surface"})
DONE: Call = ("task_completed", {"summary": "Renamed."})


def at_work(
    folder: Path, model: ScriptedModel | None, language: FakeLanguage | None = None, **more: Any
) -> AbstractAsyncContextManager[Studio]:
    known = language or FakeLanguage(folder / "workspace")
    return studio(folder, FILES, model=model, language=known, **more)


def texts(at: Studio) -> dict[str, str]:
    return {name: at.text(name) for name in FILES}


def renamed() -> dict[str, str]:
    return {name: text.replace("area", "surface") for name, text in FILES.items()}


async def test_a_rename_is_one_proposal_of_all_its_files_and_undone_as_one(tmp_path: Path) -> None:
    async with at_work(tmp_path, ScriptedModel([makes(RENAME, DONE)])) as at:
        plan = await at.ask("Rename the area function to surface, please", mode="direct")
        (approval,) = plan.pending.approvals
        assert [file.uri for file in approval.files] == [normalized(at.uri(name)) for name in FILES]
        assert texts(at) == FILES
        plan = await at.respond(plan)
        assert (plan.status, texts(at)) == ("completed", renamed())
        (call,) = plan.steps[0].tools_executed
        assert call.summary == (
            "Renamed area to surface: 4 places in 3 files: src/shapes.py (1), src/use.py (2), tests/test_area.py (1)"
        )
        await at.app.plans.undo(plan.plan_id, None, False)
        assert texts(at) == FILES


async def test_a_literal_rename_of_a_plan_is_asked_as_any_change(tmp_path: Path) -> None:
    steps: Any = [
        {"id": "rename", "description": "Rename area to surface", "tool": RENAME[0], "args": RENAME[1]}
    ]
    model = ScriptedModel([makes(("submit_plan", {"summary": "A rename.", "steps": steps}))])
    async with at_work(tmp_path, model, settings={"approvals.plan": "covered"}) as at:
        plan = await at.ask("Rename area", mode="plan")
        assert (plan.steps[0].kind, plan.steps[0].requires_approval) == ("tool_call", True)
        plan = await at.approve(plan)
        assert len(plan.pending.approvals) == 1 and texts(at) == FILES
        plan = await at.respond(plan)
        assert (plan.status, texts(at)) == ("completed", renamed())


async def test_a_rename_is_not_answered_from_an_earlier_one(tmp_path: Path) -> None:
    anew: Call = ("write_file", {"path": "src/new.py", "content": "def area():\n    pass\n"})
    async with at_work(tmp_path, ScriptedModel([makes(RENAME, anew, RENAME, DONE)])) as at:
        plan = await at.run("Rename area to surface", mode="direct")
        assert at.text("src/new.py") == "def surface():\n    pass\n"
        assert not any(call.deduplicated for call in plan.steps[0].tools_executed)


async def test_to_list_code_actions_is_no_work(tmp_path: Path) -> None:
    look: Call = ("code_action", {"path": "src/use.py"})
    step = {"id": "sort", "description": "Sort the imports", "instruction": "Sort them in src/use.py."}
    steps: Any = [{**step, "expectedFiles": ["src/use.py"]}]
    model = ScriptedModel(
        [makes(("submit_plan", {"steps": steps})), makes(look, DONE), makes(DONE), makes(DONE)]
    )
    async with at_work(tmp_path, model) as at:
        plan: Plan = await at.run("Sort the imports", mode="plan")
        assert plan.status == "paused" and texts(at) == FILES


async def test_a_code_action_is_made_by_its_title(tmp_path: Path) -> None:
    take: Call = ("code_action", {"path": "src/use.py", "title": "Organize imports"})
    language = FakeLanguage(tmp_path / "workspace")
    async with at_work(tmp_path, ScriptedModel([makes(take, DONE)]), language) as at:
        uri = normalized(at.uri("src/use.py"))
        span = Range(start=Position(line=0, character=0), end=Position(line=0, character=23))
        change = CodeChange((FileEdits(uri, (TextEdit(span, "import shapes"),)),), {uri: FILES["src/use.py"]})
        language.offered = (CodeAction("Organize imports", "source.organizeImports", change),)
        plan = await at.run("Organize the imports of src/use.py", mode="direct")
        assert plan.status == "completed"
        assert at.text("src/use.py").startswith("import shapes\n")


async def test_a_model_reads_the_problems_of_what_it_has_staged(tmp_path: Path) -> None:
    write: Call = ("write_file", {"path": "src/use.py", "content": "oops\n"})
    look: Call = ("read_diagnostics", {"path": "src/use.py"})
    model = ScriptedModel([makes(write, look), makes(DONE)])
    language = FakeLanguage(tmp_path / "workspace")
    async with at_work(tmp_path, model, language) as at:
        span = Range(start=Position(line=0, character=0), end=Position(line=0, character=4))
        language.reported = lambda text: (
            (Diagnostic(range=span, severity="error", message="oops is unknown"),) if "oops" in text else ()
        )
        await at.run("Break src/use.py", mode="direct")
        results = [message.text for message in model.requests[1].messages if message.role == "tool"]
        assert "src/use.py:1: error: oops is unknown" in results[1]
        assert "as before this step" not in results[1]


async def test_an_unknown_symbol_fails_a_literal_step_with_names_like_it(tmp_path: Path) -> None:
    steps: Any = [
        {
            "id": "x",
            "description": "Rename it",
            "tool": RENAME[0],
            "args": {"symbol": "areas", "new_name": "b"},
        }
    ]
    async with at_work(
        tmp_path, ScriptedModel([makes(("submit_plan", {"steps": steps})), says("No.")])
    ) as at:
        plan = await at.ask("Rename areas", mode="plan")
        plan = await at.approve(plan)
        failure = plan.steps[0].result
        assert "There is no symbol `areas`. Names like it: `area`." in str(failure and failure.error)


@pytest.mark.parametrize("mode", ["plan", "direct"])
@pytest.mark.parametrize(
    "text",
    ["Rename the function area to surface everywhere", "Benenne die Funktion area überall in surface um"],
)
async def test_a_rename_that_is_spelt_out_needs_no_model(tmp_path: Path, mode: Any, text: str) -> None:
    async with at_work(tmp_path, None) as at:
        plan = await at.run(text, mode=mode)
        assert [(step.tool, step.description) for step in plan.steps] == [
            ("rename_symbol", "Rename area to surface")
        ]
        assert (plan.status, texts(at)) == ("completed", renamed())


async def test_a_rename_of_a_symbol_stays_work_for_a_model_where_nobody_knows_symbols(tmp_path: Path) -> None:
    async with studio(tmp_path, FILES) as at:
        plan = await at.ask("Rename the function area to surface everywhere", mode="plan")
        assert [step.kind for step in plan.steps] == ["processing"]


async def test_a_symbol_is_completed_and_attached_by_its_name(tmp_path: Path) -> None:
    model = ScriptedModel([makes(("final_answer", {"text": "It squares."}))])
    async with at_work(tmp_path, model) as at:
        await at.app.index.current().wait_until_listed(5)
        offered = await at.app.references.complete("Explain @are", 12, 10, None)
        assert ("area", "symbol", "@area") in [
            (item.label, item.kind, item.insert_text) for item in offered.items
        ]
        plan = await at.run("Explain @area", mode="direct")
        (attached,) = plan.attachments
        assert (attached.reference, attached.label) == ("@area", "src/shapes.py")
        asked = "\n".join(message.text for message in model.requests[0].messages)
        assert "def area(side):" in asked and "from shapes import area" not in asked
