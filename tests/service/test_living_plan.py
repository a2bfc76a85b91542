"""A step can change the steps still to come: what narrows the plan is recorded, what widens it is asked."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from planloom.domain.events import catalog as ev
from planloom.domain.plans.editing import StepChanges, UpdateStep
from planloom.domain.plans.plan import Check
from planloom.domain.values import StepId
from planloom.models.offline.scripted import ScriptedModel, Turn, When, makes
from planloom.models.port import ModelRequest
from planloom.storage.ledger import Ledger
from tests.support.studio import studio

STEPS: list[Any] = [
    {"id": name, "description": f"Write {name}.txt", "instruction": f"Write {name}.txt."} for name in "abcd"
]
PLAN = makes(("submit_plan", {"summary": "Four files.", "steps": STEPS}))


def writes(name: str) -> Turn:
    return makes(
        ("write_file", {"path": f"{name}.txt", "content": name}),
        ("task_completed", {"summary": f"Wrote {name}."}),
    )


def revises(*steps: dict[str, Any]) -> Turn:
    return makes(("submit_plan", {"summary": "Less to do.", "steps": list(steps)}))


@pytest.mark.parametrize(
    ("rest", "order"),
    [
        ([{"id": "b"}, {"id": "d"}], "abd"),
        ([{"id": "d"}, {"id": "b"}, {"id": "c"}], "adbc"),
        ([{"id": "b", "description": "Write b.txt, shortly"}, {"id": "c"}, {"id": "d"}], "abcd"),
        ([], "a"),
    ],
)
async def test_what_narrows_the_rest_is_recorded_and_goes_on(
    tmp_path: Path, rest: list[dict[str, Any]], order: str
) -> None:
    model = ScriptedModel([PLAN, revises(*rest), *map(writes, order)])
    ledger = tmp_path / "ledger.db"
    async with studio(tmp_path, model=model, ledger=ledger) as at:
        plan = await at.run("Write a, b, c and d", mode="plan")
        assert plan.status == "completed" and "".join(step.step_id for step in plan.steps) == order
        assert sorted(path.stem for path in at.folder.glob("*.txt")) == sorted(order)
        (edited,) = (each.event for each in at.events if isinstance(each.event, ev.PlanEdited))
        assert (edited.by, edited.step_id, edited.version) == ("model", "a", 2)
        assert model.requests[2].messages[-1].text.startswith(
            "The rest of the plan is now as you wrote it."
        ) or ("The rest of the plan is now as you wrote it." in str(model.requests[2].messages))
        last = plan
    async with studio(tmp_path, ledger=Ledger(ledger)) as at:
        assert at.now(last).steps == last.steps


NEW = [{"id": "b"}, {"id": "n", "description": "Write n.txt"}]


def told(request: ModelRequest) -> str:
    """The last result of a call in a request."""
    return [message.text for message in request.messages if message.role == "tool"][-1]


@pytest.mark.parametrize(
    ("rest", "changes"),
    [
        (NEW, ["dropped 3. Write c.txt", "dropped 4. Write d.txt", "added 3. Write n.txt"]),
        (
            [{"id": "d"}, {"id": "b", "instruction": "Write N."}, {"id": "c"}],
            [
                "moved 4. Write d.txt to 2. Write d.txt",
                "changed 2. Write b.txt\nWrite b.txt. to 3. Write b.txt\nWrite N.",
            ],
        ),
        (
            [{"id": "b", "tool": "delete_path", "args": {"path": "a.txt"}}, {"id": "c"}, {"id": "d"}],
            [
                'changed 2. Write b.txt\nWrite b.txt. to 2. Write b.txt\nCalls delete_path {"path": "a.txt"}',
            ],
        ),
    ],
)
async def test_what_widens_the_plan_is_asked(
    tmp_path: Path, rest: list[dict[str, Any]], changes: list[str]
) -> None:
    """The step waits, and the person sees each step before and after; approving review or policy allow nothing."""
    model = ScriptedModel([PLAN, revises(*rest), *map(writes, "abcd")])
    async with studio(tmp_path, model=model, settings={"approvals.write": "allow"}) as at:
        plan = await at.approve(await at.ask("Write a, b, c and d", mode="plan"), review="auto")
        (approval,) = plan.pending.approvals
        assert (approval.tool, approval.step_id, approval.files) == ("submit_plan", "a", ())
        assert approval.title.startswith("Change the rest of the plan (")
        assert approval.title.endswith("): Less to do.")
        seen = [
            f"{each.kind} {' to '.join(filter(None, (each.before, each.after)))}"
            for each in approval.plan_changes
        ]
        assert seen == changes
        assert len(model.requests) == 2 and plan.version == 1


async def test_what_is_allowed_is_a_new_approved_version(tmp_path: Path) -> None:
    model = ScriptedModel([PLAN, revises(*NEW), *map(writes, "abn")])
    ledger = tmp_path / "ledger.db"
    async with studio(tmp_path, model=model, ledger=ledger) as at:
        plan = await at.run("Write a, b, c and d", mode="plan")
        assert plan.status == "completed" and [step.step_id for step in plan.steps] == ["a", "b", "n"]
        assert sorted(path.name for path in at.folder.glob("*.txt")) == ["a.txt", "b.txt", "n.txt"]
        (edited,) = (each.event for each in at.events if isinstance(each.event, ev.PlanEdited))
        allowed = next(each.event for each in at.events if isinstance(each.event, ev.ApprovalResolved))
        assert (edited.version, edited.step_id, edited.approval_id) == (2, "a", allowed.approval_id)
        assert plan.approved_version == 2
        assert told(model.requests[2]).startswith("The user has allowed it")
        last = plan
    async with studio(tmp_path, ledger=Ledger(ledger)) as at:
        assert at.now(last).steps == last.steps


async def test_what_is_denied_leaves_the_plan_as_it_is_and_says_why(tmp_path: Path) -> None:
    model = ScriptedModel([PLAN, revises(*NEW), *map(writes, "abcd")])
    async with studio(tmp_path, model=model) as at:
        plan = await at.approve(await at.ask("Write a, b, c and d", mode="plan"))
        plan = await at.respond(plan, "deny", reason="Keep to four files.")
        while plan.pending.approvals:
            plan = await at.respond(plan)
        assert plan.status == "completed" and "".join(step.step_id for step in plan.steps) == "abcd"
        assert plan.version == 1
        assert "The plan stays as it is. The user did not allow it: Keep to four files." in told(
            model.requests[2]
        )


async def test_the_plan_can_be_cancelled_instead(tmp_path: Path) -> None:
    model = ScriptedModel([PLAN, revises(*NEW)])
    async with studio(tmp_path, model=model) as at:
        plan = await at.approve(await at.ask("Write a, b, c and d", mode="plan"))
        plan = await at.respond(plan, "cancel")
        assert plan.status == "cancelled" and not list(at.folder.glob("*.txt"))


async def test_a_step_that_a_crash_met_in_the_question_asks_again(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.db"
    model = ScriptedModel([PLAN, revises(*NEW)])
    async with studio(tmp_path, model=model, ledger=ledger) as at:
        plan = await at.approve(await at.ask("Write a, b, c and d", mode="plan"))
        assert plan.pending.approvals
        copy = tmp_path / "crashed.db"
        with sqlite3.connect(ledger) as live, sqlite3.connect(copy) as dead:
            live.backup(dead)
            dead.execute("UPDATE leases SET owner = 'dead', pid = 0, renewed = 0")
    again = ScriptedModel([revises(*NEW), *map(writes, "abn")])
    async with studio(tmp_path, model=again, ledger=copy) as at:
        found = at.now(plan)
        assert found.status == "paused" and not found.pending.approvals and found.version == 1
        await at.app.plans.resume(plan.plan_id)
        found = await at.reach(found, "attention")
        assert [each.tool for each in found.pending.approvals] == ["submit_plan"]
        while found.pending.approvals:
            found = await at.respond(found)
        assert found.status == "completed" and [step.step_id for step in found.steps] == ["a", "b", "n"]


@pytest.mark.parametrize(
    ("rest", "why"),
    [
        ([{"id": "a", "instruction": "Do more."}], "a: It is running: only its checks can change."),
        ([{"id": 3}], "steps.0.id: Input should be a valid string"),
        ([{"id": "n", "description": "New", "tool": "no_such_tool", "args": {}}], "no_such_tool"),
        ([{"id": "b", "done": "a did it."}, {"id": "c"}], "b is not shown to be done: it names no file"),
    ],
)
async def test_what_cannot_be_leaves_the_plan_as_it_is_and_says_why(
    tmp_path: Path, rest: list[dict[str, Any]], why: str
) -> None:
    model = ScriptedModel([PLAN, revises(*rest), *map(writes, "abcd")])
    async with studio(tmp_path, model=model) as at:
        plan = await at.run("Write a, b, c and d", mode="plan")
        assert plan.status == "completed" and "".join(step.step_id for step in plan.steps) == "abcd"
        assert "The plan stays as it is" in told(model.requests[2]) and why in told(model.requests[2])


def with_files(*names: str) -> Turn:
    """A plan whose steps write a file each."""
    steps = [
        {"id": name, "description": f"Write {name}.txt", "expectedFiles": [f"{name}.txt"]} for name in names
    ]
    return makes(("submit_plan", {"summary": "Files.", "steps": steps}))


def written(*names: str) -> list[tuple[str, dict[str, Any]]]:
    return [("write_file", {"path": f"{name}.txt", "content": name}) for name in names]


DONE = ("task_completed", {"summary": "Wrote it."})
IS_DONE = (
    "submit_plan",
    {"summary": "Further on.", "steps": [{"id": "b", "done": "a wrote it."}, {"id": "c"}]},
)


async def test_a_step_that_the_work_so_far_has_done_is_completed(tmp_path: Path) -> None:
    model = ScriptedModel([with_files(*"abc"), makes(*written("a", "b"), IS_DONE), makes(DONE), writes("c")])
    ledger = tmp_path / "ledger.db"
    async with studio(tmp_path, model=model, ledger=ledger) as at:
        plan = await at.run("Write a, b and c", mode="plan")
        assert plan.status == "completed" and [step.status for step in plan.steps] == ["completed"] * 3
        done = plan.steps[1]
        assert done.attempts == 0 and done.result is not None and done.result.summary == "a wrote it."
        assert plan.version == 1 and len(model.requests) == 4
        assert told(model.requests[2]).startswith("The rest of the plan is now as you wrote it.")
        last = plan
    async with studio(tmp_path, ledger=Ledger(ledger)) as at:
        assert at.now(last).steps == last.steps


async def test_a_step_is_not_done_before_its_files_were_changed(tmp_path: Path) -> None:
    """A file that was there before is no evidence."""
    turns = [with_files(*"abc"), makes(*written("a"), IS_DONE), makes(DONE), writes("b"), writes("c")]
    model = ScriptedModel(turns)
    async with studio(tmp_path, {"b.txt": "before"}, model=model) as at:
        plan = await at.run("Write a, b and c", mode="plan")
        assert plan.status == "completed" and plan.steps[1].attempts == 1 and at.text("b.txt") == "b"
        assert "b is not shown to be done: no call of this plan has changed b.txt." in told(model.requests[2])


async def test_a_step_is_not_done_by_changes_that_the_user_denied(tmp_path: Path) -> None:
    model = ScriptedModel([with_files(*"abc"), makes(*written("a", "b"), IS_DONE), makes(DONE)])
    async with studio(tmp_path, model=model) as at:
        plan = await at.approve(await at.ask("Write a, b and c", mode="plan"))
        await at.app.approvals.respond(plan.pending.approvals[0].approval_id, "deny", "Not so.", None)
        await at.until(plan, lambda _: len(model.requests) > 2)
        assert "The changes were not made: Not so." in told(model.requests[2])
        assert at.now(plan).steps[1].status != "completed"


async def test_a_step_is_not_done_by_changes_that_are_only_staged(tmp_path: Path) -> None:
    turns = [with_files(*"abc"), makes(*written("a", "b"), IS_DONE), makes(DONE), writes("b"), writes("c")]
    model = ScriptedModel(turns)
    async with studio(tmp_path, model=model) as at:
        await at.approve(await at.ask("Write a, b and c", mode="plan"), review="end")
        assert "b is not shown to be done: no call of this plan has changed b.txt." in told(model.requests[2])


@pytest.mark.parametrize("holds", [True, False])
async def test_a_step_is_done_only_if_its_checks_pass(tmp_path: Path, *, holds: bool) -> None:
    text = "b" if holds else "bb"
    check = Check(kind="file_contains", path="b.txt", text=text)
    turns = [with_files(*"abc"), makes(*written("a", "b"), IS_DONE), makes(DONE)]
    model = ScriptedModel([*turns, *([] if holds else [makes(*written("b"), DONE)]), writes("c")])
    async with studio(tmp_path, model=model) as at:
        plan = await at.ask("Write a, b and c", mode="plan")
        change = UpdateStep(step_id=StepId("b"), set=StepChanges(checks=(check,)))
        plan = await at.approve(await at.app.plans.edit(plan.plan_id, plan.version, [change]))
        while plan.pending.approvals and len(model.requests) < 3:
            plan = await at.respond(plan)
        said = told(model.requests[2])
        assert said.startswith("The rest of the plan") if holds else "does not contain the text" in said


async def test_a_step_is_done_only_if_the_command_that_checks_it_succeeds(tmp_path: Path) -> None:
    check = Check(kind="command", command="exit 3")
    turns = [with_files(*"abc"), makes(*written("a", "b"), IS_DONE), makes(DONE)]
    model = ScriptedModel(turns)
    async with studio(tmp_path, model=model, settings={"approvals.execute": "allow"}) as at:
        plan = await at.ask("Write a, b and c", mode="plan")
        change = UpdateStep(step_id=StepId("b"), set=StepChanges(checks=(check,)))
        plan = await at.approve(await at.app.plans.edit(plan.plan_id, plan.version, [change]))
        await at.app.approvals.respond(plan.pending.approvals[0].approval_id, "allow", None, None)
        await at.until(plan, lambda _: len(model.requests) > 2)
        assert "b is not shown to be done: The check" in told(model.requests[2])


@pytest.mark.parametrize(("rest", "asked"), [([{"id": "c"}], 1), ([{"id": "c"}, NEW[1]], 3)])
async def test_a_plan_that_only_narrows_keeps_what_was_allowed_for_it(
    tmp_path: Path, rest: list[dict[str, Any]], asked: int
) -> None:
    """What widens it is another plan: it is asked about itself, and then about its changes."""
    narrows = makes(("submit_plan", {"summary": "Other.", "steps": rest}))
    order = [str(step["id"]) for step in rest]
    change_a = makes(*written("a"), DONE)
    turns = [PLAN, change_a, narrows, *map(writes, ["b", *order])]
    model = ScriptedModel(turns)
    async with studio(tmp_path, model=model) as at:
        plan = await at.approve(await at.ask("Write a, b, c and d", mode="plan"))
        while plan.pending.approvals:
            plan = await at.respond(plan, "allowForPlan")
        assert plan.status == "completed", plan
        assert sum(type(each.event) is ev.ApprovalRequested for each in at.events) == asked


async def test_what_was_allowed_is_not_made_once_other_steps_have_gone_on(tmp_path: Path) -> None:
    """While the user thinks about what `a` proposes, `b` beside it ends and the step to be dropped begins."""
    steps = [
        {"id": "a", "description": "Write a.txt", "instruction": "Do A", "dependsOn": []},
        {"id": "b", "description": "Write b.txt", "instruction": "Do B", "dependsOn": []},
        {"id": "c", "description": "Write c.txt", "instruction": "Do C", "dependsOn": ["b"]},
    ]

    def on(name: str, turn: Turn) -> Turn:
        return turn.model_copy(update={"when": When(last_contains=(f"CURRENT TASK\nWrite {name}.txt",))})

    revised = makes(("submit_plan", {"summary": "Other.", "steps": [{"id": "n", "description": "New"}]}))
    submitted = makes(("submit_plan", {"summary": "Three files.", "steps": steps}))
    model = ScriptedModel(
        [submitted, on("a", revised), on("b", writes("b")), writes("a"), on("c", writes("c"))]
    )
    async with studio(tmp_path, model=model) as at:
        plan = await at.approve(await at.ask("Write a, b and c", mode="plan"))
        plan = await at.until(plan, lambda now: len(now.pending.approvals) == 2)
        write, revision = sorted(plan.pending.approvals, key=lambda each: each.tool == "submit_plan")
        await at.app.approvals.respond(write.approval_id, "allow", None, None)
        await at.until(plan, lambda now: now.steps[2].status == "running")
        await at.app.approvals.respond(revision.approval_id, "allow", None, None)
        count = len(model.requests)
        await at.until(plan, lambda _: len(model.requests) > count)
        now = at.now(plan)
        assert now.version == 1 and [step.step_id for step in now.steps] == ["a", "b", "c"]
        results = [m.text for request in model.requests for m in request.messages if m.role == "tool"]
        assert any("but other steps have gone on meanwhile" in text for text in results)
