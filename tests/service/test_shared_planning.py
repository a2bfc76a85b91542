"""The steps of a plan continue the conversation in which a model has planned it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from planloom.domain.plans.editing import StepChanges, UpdateStep
from planloom.domain.values import StepId
from planloom.models.offline.scripted import ScriptedModel, Turn, makes, says
from planloom.models.port import Capabilities, ModelIdentity, ModelRequest
from planloom.storage.ledger import Ledger
from tests.support.studio import Studio, studio

REQUEST = "Make the greeting polite and cover it with a test"
FILES = {"greet.py": "def greet():\n    return 'hi'\n", "test_greet.py": "from greet import greet\n"}
STEPS: list[Any] = [
    {"id": "polite", "description": "Make it polite", "instruction": "Return 'Good day'."},
    {"id": "test", "description": "Test it", "instruction": "Assert 'Good day'.", "dependsOn": ["polite"]},
]
LOOK = makes(
    ("read_file", {"path": "greet.py"}), ("read_file", {"path": "test_greet.py"}), text="First the code."
)
SUBMIT = makes(("submit_plan", {"summary": "Polite, and tested.", "steps": STEPS}), text="Two steps.")
EDIT = makes(
    ("edit_file", {"path": "greet.py", "old_text": "'hi'", "new_text": "'Good day'"}),
    ("task_completed", {"summary": "It is polite."}),
)
TEST = makes(
    ("write_file", {"path": "test_greet.py", "content": "from greet import greet\n\nassert greet()\n"}),
    ("task_completed", {"summary": "It is tested."}),
)
NO_ASKING = {"approvals.review": "auto"}


def body(request: ModelRequest) -> bytes:
    """What a provider is sent, in the order in which a prefix can be cached."""
    tools = [tool.model_dump(mode="json") for tool in request.tools]
    return json.dumps([tools, *(message.model_dump(mode="json") for message in request.messages)]).encode()[
        :-1
    ]


def shown(request: ModelRequest) -> str:
    return "\n".join(message.text for message in request.messages)


def submitted(request: ModelRequest) -> str:
    """The result of the call that has submitted the plan."""
    calls = {call.name: call.call_id for message in request.messages for call in message.tool_calls}
    (result,) = (each.text for each in request.messages if each.tool_call_id == calls["submit_plan"])
    return result


async def approved(at: Studio) -> None:
    plan = await at.approve(await at.ask(REQUEST, mode="plan"))
    while plan.pending.approvals:
        plan = await at.respond(plan)
    assert plan.status == "completed"


async def test_every_request_begins_with_the_one_before_from_the_planning_on(tmp_path: Path) -> None:
    model = ScriptedModel([LOOK, SUBMIT, EDIT, TEST])
    async with studio(tmp_path, FILES, model=model, settings=NO_ASKING) as at:
        await approved(at)
        assert all(body(later).startswith(body(earlier)) for earlier, later in pairwise(model.requests))
        step = model.requests[2]
        assert submitted(step).startswith("The user has approved the plan.")
        assert "READ WHILE PLANNING" not in shown(step) and shown(step).count("return 'hi'") == 1
        assert shown(step).count("USER REQUEST") == 1
        last = step.messages[-1]
        assert last.role == "user" and last.text.startswith("TASK LIST\n[>] 1. Make it polite")
        assert "HOW TO WORK\nYou carry out a plan that the user has approved" in last.text


async def test_the_model_is_told_that_the_user_has_changed_its_plan(tmp_path: Path) -> None:
    model = ScriptedModel([LOOK, SUBMIT, EDIT, TEST])
    async with studio(tmp_path, FILES, model=model, settings=NO_ASKING) as at:
        plan = await at.ask(REQUEST, mode="plan")
        changes = StepChanges(instruction="Return 'Good evening'.")
        change = UpdateStep(step_id=StepId("polite"), set=changes)
        plan = await at.app.plans.edit(plan.plan_id, plan.version, [change])
        plan = await at.approve(plan)
        await at.reach(plan, "attention")
        assert submitted(model.requests[2]).startswith("The user has changed the plan and approved it")
        assert "Return 'Good evening'." in model.requests[2].messages[-1].text


async def test_the_model_is_told_of_what_has_changed_since_it_was_read(tmp_path: Path) -> None:
    model = ScriptedModel([LOOK, SUBMIT, EDIT, TEST])
    async with studio(tmp_path, FILES, model=model, settings=NO_ASKING) as at:
        plan = await at.ask(REQUEST, mode="plan")
        at.path("test_greet.py").write_text("# moved\n")
        await at.approve(plan)
        told = model.requests[2].messages[-1].text
        assert "READ WHILE PLANNING (data): test_greet.py\nIt has changed since it was read" in told
        assert "READ WHILE PLANNING (data): greet.py" not in told and "# moved" not in told


class Other(ScriptedModel):
    """A model with another name."""

    @property
    def identity(self) -> ModelIdentity:
        return super().identity._replace(name="other")


@pytest.mark.parametrize("change", ["another model", "restart", "alone"])
async def test_a_conversation_that_cannot_be_continued_is_begun_anew(tmp_path: Path, change: str) -> None:
    """Then the first step is told what was read while planning."""
    model = ScriptedModel([LOOK, SUBMIT])
    settings: Mapping[str, Any] = NO_ASKING | {"context.shareConversation": change != "alone"}
    ledger = tmp_path / "ledger.db"
    works = Other([EDIT, TEST]) if change == "another model" else ScriptedModel([EDIT, TEST])
    async with studio(tmp_path, FILES, model=model, settings=settings, ledger=ledger) as at:
        plan = await at.ask(REQUEST, mode="plan")
        if change != "restart":
            at.model.model = works
            await at.approve(plan)
    if change == "restart":
        async with studio(tmp_path, FILES, model=works, settings=settings, ledger=Ledger(ledger)) as at:
            await at.approve(at.now(plan))
    first = works.requests[0]
    assert [message.role for message in first.messages] == ["system", "user"]
    assert "READ WHILE PLANNING (data): greet.py\n```\n1\tdef greet()" in shown(first)


async def test_a_small_context_plans_with_tools_that_read_alone(tmp_path: Path) -> None:
    can = Capabilities(tools=True, context_tokens=20_000)
    model = ScriptedModel([LOOK, SUBMIT, EDIT, TEST], capabilities=can)
    async with studio(tmp_path, FILES, model=model, settings=NO_ASKING) as at:
        await approved(at)
        assert "write_file" not in {tool.name for tool in model.requests[0].tools}
        assert "READ WHILE PLANNING (data): greet.py" in shown(model.requests[2])


async def test_what_stands_in_the_submitted_plan_can_be_written_ahead(tmp_path: Path) -> None:
    """The conversation has the instructions of all tasks, so two small ones are one request."""
    both = makes(*((call.name, call.arguments) for turn in (EDIT, TEST) for call in turn.calls))
    model = ScriptedModel([SUBMIT, both])
    async with studio(tmp_path, FILES, model=model, settings=NO_ASKING) as at:
        await approved(at)
        assert "Good day" in at.text("greet.py") and "assert greet()" in at.text("test_greet.py")
        assert len(model.requests) == 2


async def test_a_new_draft_continues_the_conversation_of_the_last(tmp_path: Path) -> None:
    second = makes(("submit_plan", {"summary": "Shorter.", "steps": STEPS[:1]}), text="One step.")
    model = ScriptedModel([LOOK, SUBMIT, LOOK, second, EDIT])
    async with studio(tmp_path, FILES, model=model, settings=NO_ASKING) as at:
        plan = await at.ask(REQUEST, mode="plan")
        await at.app.plans.regenerate(plan.plan_id, plan.version, "Shorter, please.")
        plan = await at.until(plan, lambda now: now.version == plan.version + 1)
        await at.approve(plan)
        step = model.requests[-1]
        assert body(step).startswith(body(model.requests[-2]))
        assert submitted(step).startswith("The user has approved the plan.")
        assert body(model.requests[2]).startswith(body(model.requests[1]))
        assert "The user wants another version" in shown(step)


@pytest.mark.parametrize("same", [True, False], ids=["the planner", "another model"])
async def test_a_step_is_sent_what_the_user_has_said_unless_its_conversation_shows_it(
    tmp_path: Path, same: bool
) -> None:
    model = ScriptedModel([SUBMIT, SUBMIT])
    turns = [EDIT, TEST]
    works = ScriptedModel(turns) if same else Other(turns)
    async with studio(tmp_path, FILES, model=model, settings=NO_ASKING) as at:
        plan = await at.ask(REQUEST, mode="plan")
        await at.app.messages.send(plan.plan_id, "In English, please.")
        plan = await at.reach(plan, "ready")
        at.model.model = works
        await at.approve(plan)
    text = shown(works.requests[0])
    assert text.count("In English, please.") == 1
    assert ("USER MESSAGE 1 (written after the request: follow it)\nIn English, please." in text) is not same


async def test_a_new_draft_is_not_sent_again_what_its_conversation_shows(tmp_path: Path) -> None:
    """Of the files that were read for the last draft, it is only told which have changed."""
    model = ScriptedModel([LOOK, SUBMIT, SUBMIT])
    async with studio(tmp_path, FILES, model=model) as at:
        plan = await at.ask(REQUEST, mode="plan")
        at.path("test_greet.py").write_text("# moved\n")
        await at.app.plans.regenerate(plan.plan_id, plan.version, "Shorter, please.")
        await at.until(plan, lambda now: now.version == plan.version + 1)
        told = model.requests[2].messages[-1].text
        assert shown(model.requests[2]).count("return 'hi'") == 1
        assert "READ WHILE PLANNING (data): test_greet.py\nIt has changed since it was read" in told
        assert "READ WHILE PLANNING (data): greet.py" not in told


@pytest.mark.parametrize("name", ["task_completed", "final_answer"])
async def test_an_end_before_there_is_a_plan_is_answered(tmp_path: Path, name: str) -> None:
    early: Turn = makes((name, {"summary": "Done.", "text": "Done."}))
    model = ScriptedModel([early, SUBMIT])
    async with studio(tmp_path, FILES, model=model) as at:
        assert (await at.ask(REQUEST, mode="plan")).status == "pending_approval"
        last = model.requests[1].messages[-1]
        assert (last.role, last.text) == (
            "tool",
            "Nothing has been done yet. Call submit_plan with what is to be done.",
        )


async def test_a_printed_plan_is_continued_as_well(tmp_path: Path) -> None:
    printed = says(json.dumps({"summary": "Polite, and tested.", "steps": STEPS}))
    model = ScriptedModel([LOOK, printed, EDIT, TEST])
    async with studio(tmp_path, FILES, model=model, settings=NO_ASKING) as at:
        await approved(at)
        assert body(model.requests[2]).startswith(body(model.requests[1]))
        assert "INSTRUCTIONS\nThe user has approved the plan." in model.requests[2].messages[-1].text


async def test_with_reading_denied_the_planner_reads_nothing(tmp_path: Path) -> None:
    model = ScriptedModel([LOOK, SUBMIT])
    async with studio(tmp_path, FILES, model=model, settings={"approvals.read": "deny"}) as at:
        assert (await at.ask(REQUEST, mode="plan")).status == "pending_approval"
        assert "read_file" not in {tool.name for tool in model.requests[0].tools}
        assert "return 'hi'" not in shown(model.requests[1])
