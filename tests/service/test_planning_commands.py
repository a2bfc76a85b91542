"""While planning a model may run the tests of the workspace: asked once, on files whose changes are thrown away."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from planloom.domain.plans.plan import Plan
from planloom.execution.commands.planning import runner_of, words_of
from planloom.models.offline.scripted import ScriptedModel, Turn, makes
from planloom.tools.confinement.abilities import abilities
from tests.journeys.journey import python_on_path
from tests.support.studio import Studio, studio

needs_throwaway = pytest.mark.skipif(not abilities().throwaway, reason="no overlays here")
FILES = {
    "calc.py": "def double(n):\n    return n + 2\n",
    "test_calc.py": (
        "from calc import double\n\n\ndef test_double():\n"
        "    open('made.txt', 'w').write('x')\n    assert double(3) == 6\n"
    ),
}
REQUEST = "The tests fail. Find the cause and fix it."
PLAN = {"summary": "Double.", "steps": [{"id": "fix", "description": "calc.py:2: `n + 2` → `n * 2`"}]}
SUBMITS = makes(("submit_plan", PLAN))
DONE = makes(
    ("edit_file", {"path": "calc.py", "old_text": "n + 2", "new_text": "n * 2"}),
    ("task_completed", {"summary": "Fixed."}),
)


def runs(command: Any = "python -m pytest -q", **more: Any) -> Turn:
    return makes(("run_command", {"command": command, **more}))


@asynccontextmanager
async def planning(
    folder: Path, *turns: Turn, **more: Any
) -> AsyncIterator[tuple[Studio, Plan, ScriptedModel]]:
    model = ScriptedModel(turns)
    with python_on_path(folder):
        async with studio(folder, FILES, model=model, patience=60, **more) as at:
            yield at, await at.ask(REQUEST, mode="plan"), model


def last(model: ScriptedModel) -> str:
    return model.requests[-1].messages[-1].text


@needs_throwaway
@pytest.mark.slow
async def test_the_tests_are_run_after_one_question_and_leave_nothing_behind(tmp_path: Path) -> None:
    again = runs("pytest test_calc.py -k 'double'")
    async with planning(tmp_path, runs(), again, SUBMITS, DONE) as (at, asked, model):
        (approval,) = asked.pending.approvals
        assert (asked.status, approval.command, approval.step_id) == ("draft", "python -m pytest -q", None)
        assert approval.confinement is not None and approval.confinement.offers == ()
        assert "thrown away" in approval.confinement.line and "other arguments" in (approval.warning or "")
        plan = await at.respond(asked)
        assert plan.status == "pending_approval" and at.types().count("approval_request") == 1
        first, second = plan.commands_run
        assert (first.command, first.outcome.exit_code) == ("python -m pytest -q", 1)
        assert second.command == "pytest test_calc.py -k 'double'" and "assert 5 == 6" in second.output
        assert "assert 5 == 6" in last(model)
        assert sorted(each.name for each in at.folder.iterdir()) == ["calc.py", "test_calc.py"]
        plan = await at.approve(plan)
        while plan.pending.approvals:
            plan = await at.respond(plan)
        assert plan.status == "completed", plan.error


@needs_throwaway
async def test_what_was_run_is_shown_to_steps_after_a_restart(tmp_path: Path) -> None:
    more = {"settings": {"approvals.execute": "allow"}, "ledger": tmp_path / "ledger.sqlite3"}
    async with planning(tmp_path, runs(), SUBMITS, **more) as (_, plan, _):
        assert plan.status == "pending_approval"
    model = ScriptedModel([DONE])
    async with studio(tmp_path, model=model, patience=60, **more) as at:
        await at.approve(plan)
        (request,) = model.requests
        assert "RUN WHILE PLANNING (data)" in request.messages[1].text
        assert "assert 5 == 6" in request.messages[1].text


@needs_throwaway
async def test_what_is_refused_is_not_asked_again(tmp_path: Path) -> None:
    async with planning(tmp_path, runs(), runs("python -m pytest -x"), SUBMITS) as (at, asked, model):
        plan = await at.respond(asked, "deny", reason="Not now.")
        assert plan.status == "pending_approval" and plan.commands_run == ()
        results = [message.text for message in model.requests[-1].messages if message.role == "tool"]
        assert results == ["[FAILED] Not now. Plan without it."] * 2


@pytest.mark.parametrize(
    ("settings", "trusted"),
    [({"approvals.execute": "deny"}, True), ({}, False)],
)
async def test_nothing_is_offered_where_nothing_may_run(
    tmp_path: Path, settings: dict[str, Any], trusted: bool
) -> None:
    more = {"settings": settings, "trusted": trusted}
    async with planning(tmp_path, runs(), SUBMITS, **more) as (_, plan, model):
        assert plan.status == "pending_approval" and not plan.commands_run
        assert "calls that change or run anything are refused" in model.requests[0].messages[1].text
        assert "before the user has approved the plan" in last(model)


@needs_throwaway
@pytest.mark.parametrize(
    "call",
    [
        {"command": "python -m pytest -q | tail -5"},
        {"command": "python -m pytest; rm calc.py"},
        {"command": "rm calc.py"},
        {"command": "python -m pytest", "background": True},
    ],
)
async def test_only_the_tests_are_run(tmp_path: Path, call: dict[str, Any]) -> None:
    async with planning(tmp_path, makes(("run_command", call)), SUBMITS) as (at, plan, model):
        assert plan.status == "pending_approval" and "approval_request" not in at.types()
        assert "While planning only `python -m pytest` can be run" in last(model)


@needs_throwaway
async def test_a_draft_that_is_cancelled_withdraws_its_question(tmp_path: Path) -> None:
    async with planning(tmp_path, runs(), SUBMITS) as (at, asked, _):
        await at.app.plans.cancel(asked.plan_id)
        plan = await at.reach(asked, "ended")
        assert (plan.status, plan.pending.approvals) == ("cancelled", ())


@needs_throwaway
async def test_unsaved_text_is_named(tmp_path: Path) -> None:
    async with planning(tmp_path, runs(), SUBMITS) as (at, asked, model):
        at.editor.open(at.path("calc.py"))
        at.editor.type(at.path("calc.py"), 0, 0, "# new\n")
        await at.respond(asked)
        assert "these have unsaved text: calc.py" in last(model)


@pytest.mark.parametrize(
    ("line", "known", "runner"),
    [
        ("pytest -q tests/test_x.py -x", ("pytest",), "pytest"),
        ("python3 -m pytest -q", ("pytest",), "pytest"),
        ("pytest 'tests/test_x.py::test_y[a | b]'", ("python -m pytest",), "pytest"),
        ("PYTHONPATH=src python -m pytest", ("pytest",), "pytest"),
        ("go test ./pkg -run X", ("go test ./...",), "go test"),
        ("npm test -- -t name", ("npm test",), "npm test"),
        ("npm run other", ("npm test",), None),
        ("pytest2", ("pytest",), None),
        ("pytest && rm x", ("pytest",), None),
        ("pytest > out", ("pytest",), None),
        ("pytest $(rm x)", ("pytest",), None),
        ("pytest\nrm x", ("pytest",), None),
        ("pytest;", ("pytest",), "pytest"),
        ("pytest -x  # the first alone\n", ("pytest",), "pytest"),
        ("pytest 'open", ("pytest",), None),
        ('pytest "open', ("pytest",), None),
        ("pytest open\\", ("pytest",), None),
        ('pytest "$ARGS"', ("pytest",), None),
        ('pytest "`rm x`"', ("pytest",), None),
        ("pytest; rm x", ("pytest",), None),
        ("pytest & rm x", ("pytest",), None),
        ("pytest #\nrm x", ("pytest",), None),
        ("(pytest)", ("pytest",), None),
        ("# pytest", ("pytest",), None),
        ("", ("pytest",), None),
        ("rm x", ("cd a && pytest",), None),
    ],
)
def test_a_command_is_known_by_its_first_words(line: str, known: tuple[str, ...], runner: str | None) -> None:
    words = words_of(line)
    found = runner_of(words, known) if words else None
    assert found == (None if runner is None else tuple(runner.split()))
