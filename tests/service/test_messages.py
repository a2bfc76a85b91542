"""What a person says to a plan: at its review, while it runs, and after its end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from planloom.domain.errors import InvalidParams, ModelFailed
from planloom.domain.events import catalog as ev
from planloom.domain.plans.editing import AddStep, RemoveStep, StepChanges, UpdateStep
from planloom.domain.plans.plan import Plan
from planloom.domain.values import StepId
from planloom.models.offline.scripted import ScriptedModel, Turn, fails, makes, says
from planloom.models.port import Capabilities, ModelRequest
from planloom.service.requests import MessageResult
from planloom.storage.ledger import Ledger
from tests.support.studio import InterruptedModel, Studio, studio

FILES = {"greet.py": "def greet():\n    return 'hi'\n"}
LITERAL = "Write a.txt with content `a`, write b.txt with content `b`"
REQUEST = "Make the greeting polite and test it with unittest"
POLITE = {"id": "polite", "description": "Make it polite", "instruction": "Return 'Good day'."}
UNITTEST = {
    "id": "test",
    "description": "Test with unittest",
    "instruction": "Assert 'Good day'.",
    "dependsOn": ["polite"],
}
PYTEST = {**UNITTEST, "description": "Test with pytest"}
ALONE = {**PYTEST, "dependsOn": []}
INSTEAD = "use pytest instead"


def submits(*steps: Any) -> Turn:
    return makes(("submit_plan", {"summary": "Polite.", "steps": [*steps]}))


def done(summary: str) -> Turn:
    return makes(("task_completed", {"summary": summary}))


def answers(text: str) -> Turn:
    return makes(("final_answer", {"text": text}))


def shown(request: ModelRequest) -> str:
    return "\n".join(message.text for message in request.messages)


async def say(at: Studio, plan: Plan, text: str) -> MessageResult:
    return await at.app.messages.send(plan.plan_id, text)


async def revised(at: Studio, plan: Plan, text: str) -> Plan:
    """Say it, and wait for the new version."""
    said = await say(at, plan, text)
    assert said.outcome == "revising" and said.plan.status == "draft"
    return await at.reach(plan, "ready")


def logged(at: Studio) -> list[str]:
    return [each.event.message for each in at.events if isinstance(each.event, ev.Log)]


# ---- at the review


async def test_a_sentence_at_the_review_gives_a_new_version(tmp_path: Path) -> None:
    model = ScriptedModel([submits(POLITE, UNITTEST), submits(POLITE, PYTEST)])
    async with studio(tmp_path, FILES, model=model) as at:
        plan = await at.ask(REQUEST, mode="plan")
        plan = await revised(at, plan, INSTEAD)
        assert (plan.status, plan.version, plan.approved_version) == ("pending_approval", 2, None)
        assert [(step.step_id, step.description) for step in plan.steps] == [
            ("polite", "Make it polite"),
            ("test", "Test with pytest"),
        ]
        assert [(each.text, each.state) for each in plan.messages] == [(INSTEAD, "read")]
        asked = shown(model.requests[1])
        assert f"FEEDBACK OF THE USER\n{INSTEAD}" in asked
        assert "- test: Test with unittest\n  Assert 'Good day'.\n  dependsOn: polite" in asked


async def test_steps_that_stay_keep_their_ids_whatever_the_planner_calls_them(tmp_path: Path) -> None:
    first, second = {**POLITE, "id": "step_1"}, {**UNITTEST, "id": "step_2", "dependsOn": ["step_1"]}
    new = {"id": "step_1", "description": "Look first", "instruction": "Read greet.py."}
    moved = [
        new,
        {**first, "id": "step_2", "dependsOn": ["step_1"]},
        {**second, "id": "step_3", "dependsOn": ["step_2"]},
    ]
    model = ScriptedModel([submits(first, second), submits(*moved)])
    async with studio(tmp_path, FILES, model=model) as at:
        plan = await revised(at, await at.ask(REQUEST, mode="plan"), "look at the file first")
        assert [(step.step_id, step.description, step.depends_on) for step in plan.steps] == [
            ("step_3", "Look first", ()),
            ("step_1", "Make it polite", ("step_3",)),
            ("step_2", "Test with unittest", ("step_1",)),
        ]


async def test_an_edit_by_hand_stays_with_all_that_a_planner_cannot_say(tmp_path: Path) -> None:
    by_hand = StepChanges(instruction="Return 'Good evening'.", priority="critical", critical=True)
    kept = {**POLITE, "instruction": "Return 'Good evening'."}
    model = ScriptedModel([submits(POLITE, UNITTEST), submits(kept, PYTEST), submits(ALONE)])
    async with studio(tmp_path, FILES, model=model) as at:
        plan = await at.ask(REQUEST, mode="plan")
        edit = UpdateStep(step_id=StepId("polite"), set=by_hand)
        plan = await at.app.plans.edit(plan.plan_id, plan.version, (edit,))
        plan = await revised(at, plan, INSTEAD)
        assert "- polite: Make it polite [edited by the user]\n  Return 'Good evening'." in shown(
            model.requests[1]
        )
        polite = plan.steps[0]
        assert (polite.instruction, polite.priority, polite.critical) == (
            "Return 'Good evening'.",
            "critical",
            True,
        )
        assert plan.edited == {"polite"}
        plan = await revised(at, plan, "leave the greeting alone")
        assert "The new version leaves out a step that you had edited: Make it polite" in logged(at)
        assert plan.edited == frozenset()


async def test_a_sentence_while_the_plan_is_drafted_begins_the_draft_again_with_it(tmp_path: Path) -> None:
    hangs = fails("hang", when={"contains": [INSTEAD], "lacks": ["and in English"]}, repeat=True)
    model = ScriptedModel([hangs, submits(POLITE, UNITTEST), submits(POLITE, PYTEST)])
    async with studio(tmp_path, FILES, model=model) as at:
        plan = await at.ask(REQUEST, mode="plan")
        for text in (INSTEAD, "and keep it short", "and in English"):
            said = await say(at, plan, text)
            await at.until(plan, lambda now: bool(now.usage.requests) and now.status == "draft")
            assert said.outcome == "revising"
        plan = await at.reach(plan, "ready")
        assert plan.version == 2 and plan.steps[1].description == "Test with pytest"
        assert f"FEEDBACK OF THE USER\n{INSTEAD}\nand keep it short\nand in English" in shown(
            model.requests[-1]
        )
        assert {each.state for each in plan.messages} == {"read"}


async def test_a_revision_that_fails_leaves_the_plan_and_tells_that_the_sentence_was_dropped(
    tmp_path: Path,
) -> None:
    model = ScriptedModel([submits(POLITE, UNITTEST), fails("refused"), submits(POLITE, PYTEST)])
    async with studio(tmp_path, FILES, model=model) as at:
        plan = await revised(at, await at.ask(REQUEST, mode="plan"), "do something bad")
        assert (plan.status, plan.version, plan.steps[1].description) == (
            "pending_approval",
            1,
            "Test with unittest",
        )
        assert [each.state for each in plan.messages] == ["dropped"]
        plan = await revised(at, plan, INSTEAD)
        said = f"## Said since the request\n\n- do something bad (not followed)\n- {INSTEAD}\n"
        assert said in at.app.plans.markdown(plan.plan_id)
        assert "do something bad" not in shown(model.requests[-1])


async def test_a_revision_that_a_crash_cut_off_goes_on_with_the_next_sentence(tmp_path: Path) -> None:
    ledger = tmp_path / "plans.sqlite"
    model = ScriptedModel([submits(POLITE, UNITTEST), fails("hang")])
    async with studio(tmp_path, FILES, ledger=ledger, model=model) as at:
        plan = await at.ask(REQUEST, mode="plan")
        await say(at, plan, INSTEAD)
    model = ScriptedModel([submits(POLITE, PYTEST)])
    async with studio(tmp_path, ledger=Ledger(ledger), model=model) as at:
        plan = at.now(plan)
        assert (plan.status, [each.state for each in plan.messages]) == ("failed", ["open"])
        plan = await revised(at, plan, "in English")
        assert (plan.status, plan.version) == ("pending_approval", 2)
        asked = shown(model.requests[0])
        assert (
            f"FEEDBACK OF THE USER\n{INSTEAD}\nin English" in asked and "- test: Test with unittest" in asked
        )


async def test_a_draft_that_failed_is_drafted_again_with_the_sentence(tmp_path: Path) -> None:
    model = ScriptedModel([fails("refused"), submits(POLITE, PYTEST)])
    async with studio(tmp_path, FILES, model=model) as at:
        plan = await at.ask(REQUEST, mode="plan")
        assert plan.status == "failed"
        plan = await revised(at, plan, INSTEAD)
        assert plan.status == "pending_approval" and INSTEAD in shown(model.requests[-1])


async def test_without_a_model_the_sentence_is_refused_with_what_can_be_done(tmp_path: Path) -> None:
    async with studio(tmp_path, FILES) as at:
        plan = await at.ask(LITERAL, mode="plan")
        with pytest.raises(ModelFailed) as refused:
            await say(at, plan, INSTEAD)
        assert refused.value.code == "model_unavailable"
        assert refused.value.hint is not None and "edit the steps by hand" in refused.value.hint
        now = at.now(plan)
        assert (now.status, now.version, now.messages) == ("pending_approval", plan.version, ())
        with pytest.raises(InvalidParams):
            await say(at, plan, "  ")


async def test_a_plan_of_rules_is_revised_by_the_model(tmp_path: Path) -> None:
    async with studio(tmp_path, FILES) as at:
        plan = await at.ask(LITERAL, mode="plan")
        call = {"tool": "write_file", "args": {"path": "c.txt", "content": "a"}}
        at.model.model = model = ScriptedModel([submits({"id": "c", "description": "Create c.txt", **call})])
        plan = await revised(at, plan, "one file c.txt is enough")
        assert plan.author == "model" and [step.tool for step in plan.steps] == ["write_file"]
        assert '  write_file {"path": "a.txt", "content": "a"}' in shown(model.requests[0])


# ---- while it runs


@pytest.mark.parametrize("tools", [True, False], ids=["native", "text"])
async def test_a_sentence_reaches_the_running_step_before_its_next_request(
    tmp_path: Path, tools: bool
) -> None:
    sent: list[MessageResult] = []
    async with studio(tmp_path, FILES) as at:

        async def meanwhile() -> None:
            sent.append(await say(at, at.now(plan), "the name is in capitals"))

        read, write = (
            ("read_file", {"path": "greet.py"}),
            ("write_file", {"path": "n.txt", "content": "ANN\n"}),
        )
        turns = [makes(read), makes(write), done("Done.")]
        if not tools:
            turns = [says(json.dumps({"tool_calls": [{"name": call.name, "arguments": call.arguments}]}))
                     for turn in turns for call in turn.calls]  # fmt: skip
        model = InterruptedModel(turns, {1: meanwhile})
        if not tools:
            model._capabilities = Capabilities(context_tokens=32_000)
        at.model.model = None
        plan = await planned_step(at)
        at.model.model = model
        plan = await at.approve(plan)
        while plan.pending.approvals:
            plan = await at.respond(plan)
        assert plan.status == "completed"
        assert [each.outcome for each in sent] == ["delivered"]
        assert "the name is in capitals" not in shown(model.requests[0])
        heading = "USER MESSAGE 1 (written after the request: follow it)\nthe name is in capitals"
        assert heading in model.requests[1].messages[-1].text
        assert shown(model.requests[2]).count(heading) == 1
        assert [each.state for each in plan.messages] == ["read"]
        read_by = [each.event for each in at.events if isinstance(each.event, ev.MessagesRead)]
        assert [(each.step_id, each.count) for each in read_by] == [("work", 1)]


async def planned_step(at: Studio) -> Plan:
    """A plan with one step for a model."""
    plan = await at.ask(LITERAL, mode="plan")
    step = StepChanges(description="Work", instruction="Write the name into n.txt", kind="processing")
    edits = (
        AddStep(place="first", step_id=StepId("work"), step=step),
        *(RemoveStep(step_id=each.step_id) for each in reversed(plan.steps)),
    )
    return await at.app.plans.edit(plan.plan_id, plan.version, edits)


async def test_a_step_does_not_end_before_it_has_read_the_sentence(tmp_path: Path) -> None:
    async with studio(tmp_path, FILES) as at:

        async def meanwhile() -> None:
            (running,) = at.app.plans.list(None, ("executing",), None, False)
            await at.app.messages.send(running.plan_id, "and say it in French")

        at.model.model = model = InterruptedModel([answers("Hello."), answers("Bonjour.")], {1: meanwhile})
        plan = await at.ask("What does greet.py say?", mode="direct")
        assert (plan.status, plan.answer) == ("completed", "Bonjour.")
        assert "and say it in French" in model.requests[1].messages[-1].text


async def test_what_was_written_ahead_is_asked_for_anew_if_the_user_has_written_since(tmp_path: Path) -> None:
    """An answer that ends a step may hold the calls of the next one, which know nothing of the sentence."""
    async with studio(tmp_path, FILES) as at:
        plan = await planned_step(at)
        more = AddStep(
            place="last",
            step_id=StepId("more"),
            step=StepChanges(description="More", instruction="Write it into m.txt", kind="processing"),
        )
        plan = await at.app.plans.edit(plan.plan_id, plan.version, (more,))
        write = ("write_file", {"path": "n.txt", "content": "Ann\n"})
        ahead = ("write_file", {"path": "m.txt", "content": "Ann\n"})
        completed = ("task_completed", {"summary": "Done."})
        capitals = ("edit_file", {"path": "n.txt", "old_text": "Ann", "new_text": "ANN"})
        again = ("write_file", {"path": "m.txt", "content": "ANN\n"})
        turns = [
            makes(write, completed, ahead, completed),
            makes(capitals, completed),
            makes(again, completed),
        ]
        at.model.model = model = ScriptedModel(turns)
        plan = await at.approve(plan)
        await say(at, plan, "in capitals")
        while plan.pending.approvals:
            plan = await at.respond(plan)
        assert plan.status == "completed" and (at.text("n.txt"), at.text("m.txt")) == ("ANN\n", "ANN\n")
        assert len(model.requests) == 3 and "in capitals" in model.requests[1].messages[-1].text


async def test_what_was_written_ahead_is_asked_for_anew_if_only_a_step_beside_has_read_the_sentence(
    tmp_path: Path,
) -> None:
    steps = [
        {"id": "n", "description": "Write n", "instruction": "Write it into n.txt."},
        {"id": "m", "description": "Write m", "instruction": "Write it into m.txt.", "dependsOn": ["n"]},
        {"id": "look", "description": "Look", "instruction": "Run it.", "dependsOn": []},
    ]
    completed = ("task_completed", {"summary": "Done."})
    of_n, of_look = ({"last_contains": (f"CURRENT TASK\n{name}",)} for name in ("Write n", "Look"))
    write = ("write_file", {"path": "n.txt", "content": "Ann\n"})
    ahead = ("write_file", {"path": "m.txt", "content": "Ann\n"})
    model = ScriptedModel(
        [
            submits(*steps),
            makes(write, completed, ahead, completed, when=of_n),
            makes(("run_command", {"command": "true"}), when=of_look),
            makes(completed, when={"last_contains": ("in capitals",)}),
            makes(
                ("edit_file", {"path": "n.txt", "old_text": "Ann", "new_text": "ANN"}),
                completed,
                when={"last_contains": ("in capitals",)},
            ),
            makes(("write_file", {"path": "m.txt", "content": "ANN\n"}), completed),
        ]
    )
    async with studio(tmp_path, FILES, model=model) as at:
        plan = await at.approve(await at.ask("Write the name into two files", mode="plan"))
        plan = await at.until(plan, lambda now: len(now.pending.approvals) == 2)
        await say(at, plan, "in capitals")
        (command,) = (each for each in plan.pending.approvals if each.step_id == "look")
        await at.app.approvals.respond(command.approval_id, "allow", None, None)
        plan = await at.until(plan, lambda now: now.steps[2].status == "completed")
        while plan.pending.approvals:
            plan = await at.respond(plan)
        assert plan.status == "completed" and (at.text("n.txt"), at.text("m.txt")) == ("ANN\n", "ANN\n")


async def test_a_sentence_while_a_step_waits_for_permission_is_read_after_it(tmp_path: Path) -> None:
    write = makes(
        ("write_file", {"path": "n.txt", "content": "Ann\n"}), ("task_completed", {"summary": "Done."})
    )
    edit = makes(("edit_file", {"path": "n.txt", "old_text": "Ann", "new_text": "ANN"}))
    async with studio(tmp_path, FILES) as at:
        plan = await planned_step(at)
        at.model.model = model = ScriptedModel([write, edit, done("Now in capitals.")])
        plan = await at.approve(plan)
        said = await say(at, plan, "in capitals")
        assert said.outcome == "queued"
        assert said.waits_for is not None and said.waits_for.startswith("The plan waits for your permission")
        assert at.now(plan).pending.approvals == plan.pending.approvals
        while plan.pending.approvals:
            plan = await at.respond(plan)
        assert plan.status == "completed" and at.text("n.txt") == "ANN\n"
        assert "in capitals" in model.requests[1].messages[-1].text


async def test_a_sentence_is_not_the_answer_to_an_open_question(tmp_path: Path) -> None:
    ask = makes(("ask_user", {"question": "Which name?", "options": ["Ann", "Bob"]}))
    write = makes(
        ("write_file", {"path": "n.txt", "content": "ANN\n"}), ("task_completed", {"summary": "Done."})
    )
    async with studio(tmp_path, FILES) as at:
        plan = await planned_step(at)
        at.model.model = model = ScriptedModel([ask, write])
        plan = await at.approve(plan)
        said = await say(at, plan, "in capitals")
        assert (said.outcome, said.waits_for) == ("queued", "The plan waits for your answer to: Which name?")
        assert said.plan.pending.questions and len(model.requests) == 1
        await at.app.steps.answer(plan.plan_id, StepId("work"), "Ann")
        plan = await at.until(plan, lambda now: bool(now.pending.approvals))
        while plan.pending.approvals:
            plan = await at.respond(plan)
        assert plan.status == "completed" and "in capitals" in model.requests[1].messages[-1].text


async def test_a_sentence_to_a_paused_plan_survives_a_crash_and_is_read_at_the_resume(tmp_path: Path) -> None:
    ledger = tmp_path / "plans.sqlite"
    async with studio(tmp_path, FILES, ledger=ledger) as at:
        plan = await planned_step(at)
        at.model.model = ScriptedModel([fails("hang")])
        await at.app.plans.approve(plan.plan_id, plan.version, None)
        await at.until(plan, lambda now: now.steps[0].status == "running")
        plan = await at.app.plans.pause(plan.plan_id)
        said = await say(at, plan, "in capitals")
        assert (said.outcome, said.plan.status) == ("queued", "paused")
        assert said.waits_for == "The plan is paused, and reads the message when it is resumed."
    write = makes(
        ("write_file", {"path": "n.txt", "content": "ANN\n"}), ("task_completed", {"summary": "Done."})
    )
    model = ScriptedModel([write])
    async with studio(tmp_path, ledger=Ledger(ledger), model=model) as at:
        await at.app.plans.resume(plan.plan_id)
        plan = await at.reach(plan, "attention")
        while plan.pending.approvals:
            plan = await at.respond(plan)
        assert plan.status == "completed" and "in capitals" in shown(model.requests[0])


async def test_what_no_step_has_read_continues_the_plan_at_its_end(tmp_path: Path) -> None:
    """A plan of literal steps has no model to read it."""
    async with studio(tmp_path, FILES) as at:
        plan = await at.ask(LITERAL, mode="plan")
        plan = await at.approve(plan)
        at.model.model = model = ScriptedModel([answers("a.txt has one letter.")])
        said = await say(at, plan, "What is in a.txt?")
        assert said.outcome == "queued"
        while plan.pending.approvals:
            plan = await at.respond(plan)
        assert plan.status == "completed"
        start = [each for each in at.events if isinstance(each.event, ev.PlanStart)][-1]
        follow = await at.reach(at.app.plans.get(start.plan_id, None), "ended")  # type: ignore[arg-type]
        assert (follow.follows, follow.request, follow.answer) == (
            plan.plan_id,
            "What is in a.txt?",
            "a.txt has one letter.",
        )
        assert len(model.requests) == 1


# ---- after its end


async def test_a_sentence_after_the_end_continues_the_conversation_in_a_new_plan(tmp_path: Path) -> None:
    model = ScriptedModel(
        [makes(("read_file", {"path": "greet.py"})), answers("It says hi."), answers("In French: salut.")]
    )
    async with studio(tmp_path, FILES, model=model) as at:
        ended = await at.ask("What does greet.py say?", mode="direct")
        said = await say(at, ended, "What is that in French?")
        assert said.outcome == "continued" and said.plan.plan_id != ended.plan_id
        plan = await at.reach(said.plan, "ended")
        assert (plan.status, plan.answer, plan.follows) == ("completed", "In French: salut.", ended.plan_id)
        before, after = model.requests[1], model.requests[2]
        assert after.messages[: len(before.messages)] == before.messages
        assert "USER REQUEST\nWhat is that in French?" in after.messages[-1].text
        assert at.now(ended) == ended


async def test_after_a_restart_the_report_of_the_ended_plan_stands_in_for_its_conversation(
    tmp_path: Path,
) -> None:
    ledger = tmp_path / "plans.sqlite"
    async with studio(tmp_path, FILES, ledger=ledger, model=ScriptedModel([answers("It says hi.")])) as at:
        ended = await at.ask("What does greet.py say?", mode="direct")
    model = ScriptedModel([answers("Something else."), answers("In French: salut.")])
    async with studio(tmp_path, ledger=Ledger(ledger), model=model) as at:
        await at.ask("What is this?", mode="direct")
        said = await say(at, ended, "What is that in French?")
        await at.reach(said.plan, "ended")
        assert "Request: What does greet.py say?" in shown(model.requests[1])
        assert "What is this?" not in shown(model.requests[1])


async def test_a_message_to_a_cancelled_plan_continues_it(tmp_path: Path) -> None:
    model = ScriptedModel([submits(POLITE, UNITTEST), submits(ALONE)])
    async with studio(tmp_path, FILES, model=model) as at:
        plan = await at.ask(REQUEST, mode="plan")
        await at.app.plans.cancel(plan.plan_id)
        plan = await at.reach(plan, "ended")
        said = await say(at, plan, "1. make the greeting polite 2. test it with pytest")
        new = await at.reach(said.plan, "ready")
        assert (said.outcome, new.status, new.follows) == ("continued", "pending_approval", plan.plan_id)
        assert at.now(plan).status == "cancelled"


async def test_a_sentence_on_one_steps_file_is_read_by_that_step_and_holds_up_no_other(
    tmp_path: Path,
) -> None:
    steps = [
        {
            "id": name,
            "description": f"Write {name}",
            "instruction": "Write.",
            "expectedFiles": [f"{name}.txt"],
        }
        for name in "nm"
    ]
    for each in steps:
        each["dependsOn"] = []
    of = {name: {"last_contains": (f"CURRENT TASK\nWrite {name}",)} for name in "nm"}
    ends = [
        makes(
            ("write_file", {"path": f"{name}.txt", "content": "x\n"}),
            ("task_completed", {"summary": "Done."}),
            when=of[name],
        )
        for name in "nm"
    ]
    fix = ("edit_file", {"path": "n.txt", "old_text": "x", "new_text": "X"})
    follows = makes(
        fix, ("task_completed", {"summary": "In capitals."}), when={"last_contains": ("capitals",)}
    )
    model = ScriptedModel([submits(*steps), *ends, follows])
    async with studio(tmp_path, FILES, model=model) as at:
        plan = await at.approve(await at.ask("Write both files", mode="plan"))
        plan = await at.until(plan, lambda now: len(now.pending.approvals) == 2)
        await say(at, plan, "n.txt in capitals, please")
        while plan.pending.approvals:
            plan = await at.respond(plan)
        assert plan.status == "completed" and (at.text("n.txt"), at.text("m.txt")) == ("X\n", "x\n")
        assert len(model.requests) == 4
