"""The approval of a plan covers what stood whole in it and only adds; everything else is asked."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from planloom.domain.events import catalog as ev
from planloom.domain.indexed_tuple import IndexedTuple
from planloom.domain.plans.covered_calls import asks_again
from planloom.domain.plans.editing import AddStep, StepChanges
from planloom.domain.plans.plan import Check, Plan, Step
from planloom.domain.values import PlanId, SessionId, StepId
from planloom.settings import resolve
from planloom.tools.confinement.abilities import abilities
from tests.support.studio import Studio, studio

CONFINED = pytest.mark.skipif(
    not (abilities().files and abilities().network), reason="commands cannot be confined here"
)


def step(tool: str, **more: Any) -> AddStep:
    """A literal step; `more` are its arguments, but for its `when`, `for_each`, `depends_on` and `checks`."""
    rules = {
        name: more.pop(name)
        for name in ("when", "for_each", "depends_on", "step_id", "checks")
        if name in more
    }
    step_id = rules.pop("step_id", None)
    return AddStep(
        step_id=step_id,
        step=StepChanges(description=f"{tool} {len(more)}", kind="tool_call", tool=tool, args=more, **rules),
    )


@asynccontextmanager
async def literal_studio(folder: Path, files: Mapping[str, str] = {}, **more: Any) -> AsyncIterator[Studio]:
    """A studio with the default of what an approval covers."""
    more["settings"] = {"approvals.plan": "literal", **more.get("settings", {})}
    async with studio(folder, files, **more) as at:
        yield at


async def approved(at: Studio, steps: Sequence[AddStep]) -> tuple[int, int]:
    """Run a plan and allow all that it asks. Returns how often it asked, and how often its review said it would."""
    plan = await at.app.plans.adopt("Do it", "", steps)
    said = sum(each.requires_approval for each in plan.steps)
    plan = await at.approve(plan)
    asked = 0
    while plan.pending.approvals:
        asked += 1
        plan = await at.respond(plan)
    return asked, said


def covering(at: Studio) -> list[int]:
    """The versions of the plan by whose approval something was done."""
    events = (recorded.event for recorded in at.events)
    return [
        each.covered_by
        for each in events
        if isinstance(each, ev.EditStarted | ev.StepUpdate) and each.covered_by is not None
    ]


class Case(NamedTuple):
    steps: tuple[AddStep, ...]
    asked: int
    settings: Mapping[str, Any] = {}
    said: int | None = None
    """How often the review says that it asks, where that differs."""


NEW = step("write_file", path="data/new.txt", content="one\ntwo\n")
FOLDER = step("create_folder", path="data/in")
SCRIPT = (
    step("write_file", path="a.sh", content="echo hello\n", step_id=StepId("w")),
    step("run_command", command="sh a.sh", depends_on=(StepId("w"),)),
)
CHECK = Check(kind="command", command="test -d data")
WEB = Check(kind="command", command="curl -s http://localhost:1 || true")
TESTED = Check(kind="command", command=f"{sys.executable} -S -c 'from test_calc import *; test_add()'")
TEST = "from calc import add\ndef test_add():\n    assert add(1, 2) == 3\n"
CASES = {
    "a new file": Case((NEW,), 0),
    "a new folder": Case((FOLDER,), 0),
    "an existing file": Case((step("write_file", path="old.txt", content="new"),), 1),
    "an edit": Case((step("edit_file", path="old.txt", old_text="old", new_text="new"),), 1),
    "a deletion": Case((step("delete_path", path="old.txt"),), 1),
    "a rename": Case((step("rename_path", path="old.txt", new_path="b.txt"),), 1),
    "the same name twice": Case((NEW, step("write_file", path="data/new.txt", content="three")), 1),
    "a protected name": Case((step("write_file", path=".vscode/tasks.json", content="{}"),), 1),
    "a protected name in another case": Case(
        (step("write_file", path=".VSCode/Tasks.json", content="{}"),), 1
    ),
    "a name of secrets": Case((step("write_file", path=".env", content="A=1"),), 1),
    "a key": Case((step("write_file", path="a.txt", content="ghp_" + "a1B2" * 9),), 1),
    "hidden characters": Case((step("write_file", path="a.txt", content="a\u202eb"),), 1),
    "text far to the right": Case((step("write_file", path="a.txt", content=f"a{' ' * 200}b"),), 1),
    "a name in letters of two alphabets": Case(
        (step("write_file", path="p\u0430ypal.txt", content="a"),), 1, said=0
    ),
    "what a step has read": Case(
        (
            step("read_file", path="old.txt", step_id=StepId("r")),
            step("write_file", path="a.txt", content="$r", depends_on=(StepId("r"),)),
        ),
        1,
    ),
    "a loop": Case((step("write_file", path="{{item}}.txt", content="a", for_each='["x", "y"]'),), 2, said=1),
    "a command": Case((step("run_command", command="echo hello"),), 0),
    "a command as a list": Case((step("run_command", command=["echo", "hello"]),), 0),
    "a command of a file that the plan has made": Case(SCRIPT, 0),
    "one of a file that nobody was asked about": Case(
        SCRIPT,
        1,
        {"approvals": {"write": "allow"}},
        said=0,
    ),
    "a command that needs the network": Case(
        (step("run_command", command="curl http://localhost:1 || true"),), 1
    ),
    "a command with a network by setting": Case(
        (step("run_command", command="echo hello"),), 1, {"commands": {"network": "all"}}
    ),
    "a command that may write elsewhere": Case(
        (step("run_command", command="echo hello"),), 1, {"commands": {"writable": ["/opt"]}}
    ),
    "a command that deletes": Case((step("run_command", command="rm -rf nothing"),), 1),
    "a command of which the text does not tell all": Case(
        (step("run_command", command="echo a | sh"),), 1, said=0
    ),
    "a check": Case(
        (
            NEW,
            step("create_folder", path="a", checks=(CHECK,)),
        ),
        0,
    ),
    "a check that needs the network": Case((step("create_folder", path="a", checks=(WEB,)),), 1, said=0),
    "the checks of five steps": Case(
        (
            step(
                "write_file",
                path="calc.py",
                content="def add(a, b):\n    return a - b\n",
                step_id=StepId("a"),
            ),
            step(
                "write_file",
                path="test_calc.py",
                content=TEST,
                depends_on=(StepId("a"),),
                step_id=StepId("b"),
            ),
            step(
                "edit_file",
                path="calc.py",
                old_text="a - b",
                new_text="a + b",
                depends_on=(StepId("b"),),
                step_id=StepId("c"),
                checks=(TESTED,),
            ),
            step(
                "edit_file",
                path="test_calc.py",
                old_text="1, 2) == 3",
                new_text="2, 2) == 4",
                depends_on=(StepId("c"),),
                step_id=StepId("d"),
                checks=(TESTED,),
            ),
            step("run_command", command=TESTED.command, depends_on=(StepId("d"),)),
        ),
        2,
    ),
    "nothing by setting": Case(
        (NEW, FOLDER, step("run_command", command="echo hello")), 3, {"approvals": {"plan": "none"}}
    ),
}


@CONFINED
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
async def test_what_is_asked_after_the_approval_of_a_plan(case: Case, tmp_path: Path) -> None:
    async with literal_studio(tmp_path, {"old.txt": "old\n"}, settings=case.settings) as at:
        asked, said = await approved(at, case.steps)
        assert (asked, said) == (case.asked, case.asked if case.said is None else case.said)


@CONFINED
async def test_the_events_name_the_version_whose_approval_covers_them(tmp_path: Path) -> None:
    async with literal_studio(tmp_path) as at:
        await approved(at, (FOLDER, NEW, step("run_command", command="echo hello")))
        assert covering(at) == [1, 1, 1]
        assert at.text("data/new.txt") == "one\ntwo\n"


async def test_deny_is_stronger_than_the_approval_of_a_plan(tmp_path: Path) -> None:
    async with literal_studio(tmp_path, settings={"approvals": {"write": "deny"}}) as at:
        assert await approved(at, (NEW,)) == (0, 0)
        assert not at.path("data").exists()


def _file(at: Studio) -> None:
    at.path("data").mkdir()
    at.path("data/new.txt").write_text("mine")


def _link(at: Studio) -> None:
    at.path("other").mkdir()
    at.path("data").symlink_to("other")


BY_THE_TIME = {
    "the file": (_file, {"tool": "write_file", "path": "data/new.txt", "content": "theirs"}),
    "a link in place of its folder": (
        _link,
        {"tool": "write_file", "path": "data/new.txt", "content": "theirs"},
    ),
    "a link in place of a command's folder": (
        _link,
        {"tool": "run_command", "command": "echo hello", "cwd": "data"},
    ),
}


@pytest.mark.parametrize(("meanwhile", "call"), BY_THE_TIME.values(), ids=BY_THE_TIME)
async def test_what_is_there_by_the_time_is_asked(
    meanwhile: Callable[[Studio], None], call: dict[str, Any], tmp_path: Path
) -> None:
    first = step("edit_file", path="old.txt", old_text="old", new_text="new", step_id=StepId("first"))
    second = step(**call, depends_on=(StepId("first"),))
    async with literal_studio(tmp_path, {"old.txt": "old\n"}) as at:
        plan = await at.approve(await at.app.plans.adopt("Do it", "", (first, second)))
        meanwhile(at)
        plan = await at.respond(plan)
        assert [each.step_id for each in plan.pending.approvals] == [plan.steps[1].step_id]
        await at.respond(plan, "deny")
        assert covering(at) == []


async def test_a_version_that_was_edited_is_not_covered_by_an_earlier_approval(tmp_path: Path) -> None:
    """Each version is approved by itself; what the ledger does not say was covered is asked."""
    gate = AddStep(step=StepChanges(description="Go on?", kind="approval", question="Go on?"))
    async with literal_studio(tmp_path) as at:
        plan = await at.approve(await at.app.plans.adopt("Do it", "", (gate, NEW)))
        assert (plan.version, plan.covering_version) == (1, 1)
        plan = await at.app.plans.pause(plan.plan_id)
        plan = await at.app.plans.edit(plan.plan_id, plan.version, (FOLDER,))
        assert plan.status == "pending_approval" and plan.covering_version != plan.version
        at.app.configure(resolve({"user": {"approvals": {"plan": "none"}}}).settings)
        plan = await at.approve(plan)
        at.app.configure(resolve({}).settings)
        plan = await at.respond(plan)
        assert plan.covering_version is None and plan.pending.approvals


async def test_a_restart_keeps_what_the_ledger_says(tmp_path: Path) -> None:
    gate = AddStep(step=StepChanges(description="Go on?", kind="approval", question="Go on?"))
    after = step("write_file", path="a.txt", content="a")
    ledger = tmp_path / "ledger"
    async with literal_studio(tmp_path, ledger=ledger) as at:
        plan = await at.app.plans.adopt("Do it", "", (gate, after))
        plan = await at.approve(plan)
        await at.app.plans.pause(plan.plan_id)
    async with literal_studio(tmp_path, ledger=ledger) as at:
        await at.app.plans.resume(plan.plan_id)
        plan = await at.until(plan, lambda now: bool(now.pending.approvals))
        plan = await at.respond(plan)
        assert plan.status == "completed" and covering(at) == [1]


@CONFINED
async def test_a_call_is_covered_once(tmp_path: Path) -> None:
    settings = {"execution": {"onFailure": "ask"}}
    async with literal_studio(tmp_path, settings=settings) as at:
        plan = await at.app.plans.adopt("Do it", "", (step("run_command", command="exit 3"),))
        plan = await at.approve(plan)
        assert not plan.pending.approvals and covering(at) == [1]
        await at.app.steps.recover(plan.plan_id, plan.steps[0].step_id, "retry", None)
        plan = await at.until(plan, lambda now: bool(now.pending.approvals))
        await at.respond(plan, "deny")


async def test_the_calls_of_a_direct_request_are_asked(tmp_path: Path) -> None:
    async with literal_studio(tmp_path) as at:
        plan = await at.ask("Create folder data", mode="direct")
        assert len(plan.pending.approvals) == 1 and plan.steps[0].requires_approval


def test_an_opened_folder_only_narrows_what_is_covered() -> None:
    def value(user: str, workspace: str) -> str:
        sources = {"user": {"approvals": {"plan": user}}, "workspace": {"approvals": {"plan": workspace}}}
        return resolve(sources).settings.approvals.plan  # type: ignore[arg-type]

    assert [value("none", "literal"), value("literal", "none")] == ["none", "none"]


def test_the_review_says_how_many_steps_ask_again() -> None:
    def one(step_id: str, **more: Any) -> Step:
        return Step(step_id=StepId(step_id), description="", instruction="", **more)

    steps = (
        one("a", kind="tool_call", tool="edit_file", requires_approval=True),
        one("b", kind="tool_call", tool="write_file"),
        one("c", agent="chapo"),
        one("d"),
    )
    plan = Plan(plan_id=PlanId("p"), session_id=SessionId("s"), steps=IndexedTuple(steps))
    assert asks_again(plan) == "Asks again for 2 of 4 steps."
