"""A model works on the steps of a plan: it proposes, the recorded effects decide."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from planloom.domain.plans.editing import AddStep, StepChanges, UpdateStep
from planloom.domain.plans.plan import Plan
from planloom.domain.values import StepId
from planloom.models.offline.scripted import ScriptedModel, Turn, fails, makes, says
from planloom.models.port import Capabilities, ModelRequest
from planloom.models.tokens import TokenCounter
from planloom.tools.registry import builtin
from tests.support.studio import Studio, studio

WEBAPP = (
    "Create a TypeScript project called webapp, write src/index.ts with a main function, "
    "write public/index.html, list all files"
)


def asked(request: ModelRequest) -> str:
    """The whole prompt as one text."""
    return "\n".join(message.text for message in request.messages)


async def planned(at: Studio, text: str, *steps: tuple[str, str]) -> Plan:
    """A plan with the user's own steps, each a description and an instruction."""
    plan = await at.ask(text, mode="plan")
    while plan.steps and plan.status != "pending_approval":
        plan = await at.reach(plan, "ready")
    keep = plan.steps
    edits = [
        AddStep(
            place="last",
            step_id=StepId(f"task_{n}"),
            step=StepChanges(description=description, instruction=instruction, kind="processing"),
        )
        for n, (description, instruction) in enumerate(steps, start=1)
    ]
    plan = await at.app.plans.edit(plan.plan_id, plan.version, edits)
    from planloom.domain.plans.editing import RemoveStep

    gone = [RemoveStep(step_id=step.step_id) for step in keep]
    return await at.app.plans.edit(plan.plan_id, plan.version, gone)


async def allowed(at: Studio, plan: Plan) -> Plan:
    """Approve, and allow everything, until the plan needs something else."""
    plan = await at.approve(plan)
    while plan.pending.approvals:
        plan = await at.respond(plan)
    return plan


async def test_a_premature_final_answer_does_not_end_the_plan(tmp_path: Path) -> None:
    """Every task runs although the model claims after the first that all is done."""
    model = ScriptedModel(
        [
            makes(("create_folder", {"path": "webapp"})),
            makes(("final_answer", {"text": "All done!"})),
            makes(("task_completed", {"summary": "Made the project folder."})),
            makes(("write_file", {"path": "webapp/src/index.ts", "content": "function main() {}\n"})),
            makes(("final_answer", {"text": "All done!"})),
            makes(("final_answer", {"text": "All done, really!"})),
            makes(
                ("write_file", {"path": "webapp/public/index.html", "content": "<!doctype html>\n"}),
                ("task_completed", {"summary": "Wrote the page."}),
            ),
            makes(("list_files", {"path": "webapp", "recursive": True})),
            makes(("final_answer", {"text": "webapp has two files."})),
        ]
    )
    async with studio(tmp_path) as at:
        plan = await planned(
            at,
            WEBAPP,
            ("Create the project", "Create a TypeScript project called webapp"),
            ("Write src/index.ts", "with a main function"),
            ("Write public/index.html", "a page"),
            ("List all files", "list them"),
        )
        at.model.model = model
        plan = await allowed(at, plan)
        assert plan.status == "completed"
        assert [step.status for step in plan.steps] == ["completed"] * 4
        assert at.text("webapp/src/index.ts") == "function main() {}\n"
        assert at.text("webapp/public/index.html") == "<!doctype html>\n"
        refusal = asked(model.requests[2])
        assert "It is too early for final_answer: 4 of 4 tasks remain" in refusal
        assert model.left == ()


@pytest.mark.parametrize("shared", [True, False])
async def test_every_task_begins_with_the_list_and_its_marks(tmp_path: Path, shared: bool) -> None:
    model = ScriptedModel(
        [
            makes(("create_folder", {"path": "a"}), ("task_completed", {"summary": "Made a."})),
            makes(("read_file", {"path": "missing.txt"})),
            makes(("list_files", {})),
            makes(("task_completed", {"summary": "Looked."})),
        ]
    )
    async with studio(tmp_path, settings={"context.shareConversation": shared}) as at:
        plan = await planned(at, "Do both", ("Make a", "make it"), ("Look", "look around"))
        at.model.model = model
        plan = await allowed(at, plan)
        assert plan.status == "completed"
        last = asked(model.requests[-1])
        assert "USER REQUEST\nDo both" in last
        assert "TASK LIST\n[x] 1. Make a ^task_1\n[>] 2. Look ^task_2" in last
        assert "CURRENT TASK\nLook\nlook around" in last
        assert ("COMPLETED TASKS\n1. Made a." in last) != shared
        assert (
            "create_folder" in str([message.tool_calls for message in model.requests[-1].messages])
        ) == shared
        assert "final_answer" not in last
        told = [message.text for message in model.requests[-1].messages if message.role == "tool"]
        failed, listed = told[-2:]
        assert failed.startswith("[FAILED] There is no file missing.txt") and listed == "a/"


async def test_a_file_that_the_plan_has_renamed_is_named_and_not_guessed(tmp_path: Path) -> None:
    model = ScriptedModel(
        [
            makes(("rename_path", {"path": "a.txt", "new_path": "b.txt"})),
            makes(("task_completed", {"summary": "Renamed."})),
            makes(("read_file", {"path": "a.txt"})),
            makes(("edit_file", {"path": "a.txt", "old_text": "one", "new_text": "two"})),
            makes(("edit_file", {"path": "b.txt", "old_text": "one", "new_text": "two"})),
            makes(("task_completed", {"summary": "Edited."})),
        ]
    )
    async with studio(tmp_path, {"a.txt": "one\n"}, settings={"context.shareConversation": False}) as at:
        plan = await planned(at, "Do both", ("Rename a.txt", "to b.txt"), ("Edit a.txt", "to say two"))
        at.model.model = model
        plan = await allowed(at, plan)
        assert plan.status == "completed"
        told = [message.text for message in model.requests[-1].messages if message.role == "tool"]
        renamed = "[FAILED] There is no file a.txt: this plan has renamed it to b.txt."
        assert told[-3:-1] == [renamed, renamed]
        assert at.text("b.txt") == "two\n"


async def test_completed_then_a_question_then_its_answer_then_completed(tmp_path: Path) -> None:
    model = ScriptedModel(
        [
            makes(("list_files", {}), ("task_completed", {"summary": "Looked."})),
            makes(("ask_user", {"question": "Which colour?", "options": ["red", "blue"]})),
            makes(
                ("write_file", {"path": "colour.txt", "content": "blue"}),
                ("task_completed", {"summary": "Wrote it."}),
            ),
        ]
    )
    async with studio(tmp_path) as at:
        plan = await planned(at, "Paint", ("Look", "look"), ("Write the colour", "write colour.txt"))
        at.model.model = model
        plan = await at.approve(plan)
        assert (plan.status, plan.pause_reason) == ("paused", "clarification")
        assert plan.pending.questions[0].options == ("red", "blue")
        assert [step.status for step in plan.steps] == ["completed", "needs_clarification"]
        await at.app.steps.answer(plan.plan_id, StepId("task_2"), "blue")
        plan = await at.respond(await at.until(plan, lambda now: bool(now.pending.approvals)))
        assert plan.status == "completed" and at.text("colour.txt") == "blue"
        assert "Which colour?\nAnswer: blue" in asked(model.requests[-1])


async def test_the_unsaved_content_of_a_reference_is_sent(tmp_path: Path) -> None:
    model = ScriptedModel([makes(("final_answer", {"text": "nothing to do"}), repeat=True)])
    async with studio(tmp_path, {"src/file.cs": "class OnDisk {}\n"}) as at:
        at.editor.open(at.path("src/file.cs"), "class Unsaved {}\n")
        plan = await at.ask("refactor @src/file.cs to use interfaces", mode="direct")
        assert plan.status == "paused" and plan.pause_reason == "model_unavailable"
        at.model.model = model
        await at.app.plans.resume(plan.plan_id)
        await at.until(plan, lambda now: now.status == "completed")
        prompt = asked(model.requests[0])
        assert "class Unsaved {}" in prompt and "OnDisk" not in prompt


async def test_a_question_gets_no_tools_that_change_files_and_prose_is_its_answer(tmp_path: Path) -> None:
    model = ScriptedModel([says("It holds one line.")])
    async with studio(tmp_path, {"a.txt": "one\n"}, model=model) as at:
        plan = await at.ask("What is in @a.txt?")
        assert plan.status == "completed"
        offered = {tool.name for tool in model.requests[0].tools}
        changing = {tool.name for tool in builtin() if tool.effect in ("write", "destroy")}
        assert offered >= {
            "read_file",
            "fetch_url",
            "run_command",
            "task_completed",
            "ask_user",
            "submit_plan",
        }
        assert not offered & changing
        answers = [r.event for r in at.events if r.event.type == "answer"]
        assert [a.text for a in answers] == ["It holds one line."]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "early", [says("I created a.txt for you."), makes(("final_answer", {"text": "Done!"}))]
)
async def test_a_direct_run_that_claims_a_change_is_asked_back_once(tmp_path: Path, early: Turn) -> None:
    model = ScriptedModel(
        [
            early,
            makes(("write_file", {"path": "a.txt", "content": "a"})),
            makes(("final_answer", {"text": "Made."})),
        ]
    )
    async with studio(tmp_path, model=model) as at:
        plan = await at.run("Create a text file that holds the letter a", mode="direct")
        assert (plan.status, at.text("a.txt")) == ("completed", "a")
        assert "Nothing was changed." in asked(model.requests[1])


async def test_an_answer_beside_the_changes_that_it_speaks_of_ends_the_request(tmp_path: Path) -> None:
    write = ("write_file", {"path": "a.txt", "content": "a"})
    model = ScriptedModel([makes(write, ("final_answer", {"text": "a.txt is made."}))])
    async with studio(tmp_path, model=model) as at:
        plan = await at.run("Create a text file that holds the letter a", mode="direct")
        assert (plan.status, plan.answer, at.text("a.txt")) == ("completed", "a.txt is made.", "a")
        assert len(model.requests) == 1


@pytest.mark.parametrize(
    "call",
    [
        ("read_file", {"path": "b.txt"}),
        ("edit_file", {"path": "b.txt", "old_text": "not there", "new_text": "b"}),
        ("run_command", {"command": "exit 3"}),
    ],
)
async def test_an_answer_that_was_written_before_what_it_needs_to_know_is_asked_for_again(
    tmp_path: Path, call: tuple[str, dict[str, str]]
) -> None:
    answer = ("final_answer", {"text": "It holds the letter b."})
    model = ScriptedModel([makes(call, answer), makes(answer), makes(answer)])
    settings = {"approvals.execute": "allow", "execution.review": "auto"}
    async with studio(tmp_path, {"b.txt": "b"}, model=model, settings=settings) as at:
        plan = await at.run("Which letter is in b.txt", mode="direct")
        assert plan.status == "completed"
        assert (
            "Your final answer was set aside, since it was written before the results of the other calls. "
            "Look at them, then call final_answer again." in asked(model.requests[1])
        )


async def test_words_alone_are_an_answer_when_they_are_given_twice(tmp_path: Path) -> None:
    model = ScriptedModel([says("Roses are red."), says("Roses are red.")])
    async with studio(tmp_path, model=model) as at:
        plan = await at.run("Write a poem for me", mode="direct")
        assert plan.status == "completed" and plan.steps[0].result is not None
        assert plan.steps[0].result.value == "Roses are red."


async def test_a_direct_run_can_become_a_plan(tmp_path: Path) -> None:
    steps = [
        {"description": "First", "instruction": "do it"},
        {"description": "Second", "instruction": "and that"},
    ]
    model = ScriptedModel([makes(("submit_plan", {"summary": "Two.", "steps": steps}))])
    async with studio(tmp_path, model=model) as at:
        plan = await at.ask("Fix everything that is broken in here", mode="direct")
        assert plan.status == "pending_approval" and plan.version == 2
        assert [step.description for step in plan.steps] == ["First", "Second"]
        assert plan.author == "model"


async def test_a_direct_run_that_becomes_a_plan_tells_what_was_really_done(tmp_path: Path) -> None:
    write = ("write_file", {"path": "a.txt", "content": "a"})
    steps = [{"description": "First", "instruction": "do it"}]
    model = ScriptedModel(
        [
            makes(("list_files", {}), write),
            makes(("submit_plan", {"steps": []})),
            makes(("submit_plan", {"steps": steps})),
        ]
    )
    async with studio(tmp_path, {"b.txt": "b"}, model=model) as at:
        plan = await at.respond(await at.ask("Fix everything that is broken in here", mode="direct"))
        assert [(step.description, step.status) for step in plan.steps] == [
            ("Done before the plan: Created a.txt", "completed"),
            ("First", "pending"),
        ]
        assert at.text("a.txt") == "a" and plan.summary == "1 step."
        assert "the plan has no steps. Call submit_plan again." in asked(model.requests[2])


async def test_what_a_direct_run_has_read_is_shown_to_the_steps_of_its_plan_after_a_restart(
    tmp_path: Path,
) -> None:
    steps = [{"description": "First", "instruction": "do it"}]
    reads = (("read_file", {"path": "a.txt"}), ("read_file", {"path": "b.txt"}))
    submits = makes(("submit_plan", {"steps": steps}))
    ledger = tmp_path / "ledger.sqlite3"
    model = ScriptedModel([makes(*reads), submits])
    async with studio(tmp_path, {"a.txt": "apples", "b.txt": "b"}, model=model, ledger=ledger) as at:
        plan = await at.ask("Fix everything that is broken in here", mode="direct")
        assert [read.path for read in plan.files_read] == ["a.txt", "b.txt"]
    model = ScriptedModel([makes(("task_completed", {"summary": "Nothing.", "unchanged": "It is."}))])
    async with studio(tmp_path, model=model, ledger=ledger) as at:
        await at.approve(plan)
        assert "READ WHILE PLANNING (data): a.txt\n" in asked(model.requests[0])
        assert "apples" in asked(model.requests[0])


async def test_writes_of_a_step_are_asked_for_once_and_a_denial_reaches_the_model(tmp_path: Path) -> None:
    model = ScriptedModel(
        [
            makes(
                ("write_file", {"path": "a.txt", "content": "a"}),
                ("write_file", {"path": "b.txt", "content": "b"}),
                ("task_completed", {"summary": "Wrote both."}),
            ),
            makes(("task_completed", {"summary": "Left it."})),
        ]
    )
    async with studio(tmp_path) as at:
        plan = await planned(at, "Write", ("Write both", "a and b"))
        at.model.model = model
        plan = await at.approve(plan)
        assert [file.uri.rpartition("/")[2] for file in plan.pending.approvals[0].files] == ["a.txt", "b.txt"]
        plan = await at.respond(plan, "deny", reason="wrong folder")
        assert plan.status == "cancelled"
        assert "The changes were not made: wrong folder" in asked(model.requests[1])
        assert not at.path("a.txt").exists()


async def test_content_with_a_part_left_out_is_asked_where_other_writes_are_not(tmp_path: Path) -> None:
    whole = "".join(f"line_{number} = {number}\n" for number in range(40))
    model = ScriptedModel(
        [
            makes(("read_file", {"path": "a.py"})),
            makes(
                ("write_file", {"path": "a.py", "content": "line_0 = 5\n# ... rest unchanged\n"}),
                ("task_completed", {"summary": "Wrote it."}),
            ),
        ]
    )
    async with studio(tmp_path, {"a.py": whole}) as at:
        plan = await planned(at, "Write", ("Change the first line", "to 5"))
        at.model.model = model
        plan = await at.approve(plan, review="auto")
        [approval] = plan.pending.approvals
        assert approval.effect == "destroy"
        assert "# ... rest unchanged" in (approval.warning or "")


async def test_some_files_of_an_approval_can_be_left_out(tmp_path: Path) -> None:
    model = ScriptedModel(
        [
            makes(
                ("write_file", {"path": "a.txt", "content": "a"}),
                ("write_file", {"path": "b.txt", "content": "b"}),
                ("task_completed", {"summary": "Wrote both."}),
            ),
            makes(("task_completed", {"summary": "Wrote one."})),
        ]
    )
    async with studio(tmp_path) as at:
        plan = await planned(at, "Write", ("Write both", "a and b"))
        at.model.model = model
        plan = await at.approve(plan)
        plan = await at.respond(plan, files=(plan.pending.approvals[0].files[0].uri,))
        assert plan.status == "completed"
        assert at.text("a.txt") == "a" and not at.path("b.txt").exists()
        assert "not b.txt" in asked(model.requests[1])


@pytest.mark.parametrize(
    ("turns", "part"),
    [
        ([says("I will do it soon."), says("Still thinking.")], "words twice"),
        ([makes(("list_files", {}), repeat=True)], "no progress in 8 turns"),
        ([makes(("ask_user", {"question": ""}), repeat=True)], "same malformed call"),
        ([makes(("final_answer", {"text": "done"}), repeat=True)], "final answer"),
        ([says("And then", finish="length", repeat=True)], "no progress in 8 turns"),
        ([makes(("read_file", {"path": f"{n}"})) for n in range(20)], "no progress in 8 turns"),
    ],
    ids=["prose", "repeated call", "malformed call", "only final answers", "cut", "only failures"],
)
async def test_a_model_that_goes_nowhere_fails_the_step(tmp_path: Path, turns: list[Turn], part: str) -> None:
    async with studio(tmp_path) as at:
        plan = await planned(at, "Work", ("Write x", "write the file"), ("Then more", "more"))
        at.model.model = ScriptedModel(turns)
        plan = await at.approve(plan)
        assert plan.pause_reason == "recovery"
        assert part in plan.pending.recoveries[0].error


async def test_a_command_may_be_run_again_and_again_and_each_result_is_told(tmp_path: Path) -> None:
    """A test may be flaky: the same command is run as often as the model asks for it, even within one turn."""
    count = ("run_command", {"command": "echo x >> log; wc -l < log"})
    model = ScriptedModel(
        [makes(count, count, count), makes(count), makes(("task_completed", {"summary": "Ran."}))]
    )
    settings = {"approvals.execute": "allow"}
    async with studio(tmp_path, settings=settings) as at:
        plan = await planned(at, "Work", ("Run the tests", "run them four times"))
        at.model.model = model
        plan = await allowed(at, plan)
        assert plan.status == "completed"
        told = [message.text for message in model.requests[-1].messages if message.role == "tool"]
        assert [re.search(r"^ *(\d)$", text, re.MULTILINE)[1] for text in told] == ["1", "2", "3", "4"]  # type: ignore[index]


async def test_words_and_malformed_calls_between_good_calls_are_forgiven(tmp_path: Path) -> None:
    model = ScriptedModel(
        [
            says("I begin."),
            makes(("list_files", {})),
            says("I go on."),
            makes(("ask_user", {"question": ""})),
            makes(("ask_user", {"question": ""})),
            makes(("write_file", {"path": "x", "content": "x"}), ("task_completed", {"summary": "Done."})),
        ]
    )
    async with studio(tmp_path) as at:
        plan = await planned(at, "Work", ("Write x", "write the file"))
        at.model.model = model
        plan = await allowed(at, plan)
        assert plan.status == "completed" and at.text("x") == "x"
        assert "You have made this very call of ask_user twice" in asked(model.requests[5])


async def test_an_unknown_tool_and_wrong_arguments_are_told_to_the_model(tmp_path: Path) -> None:
    model = ScriptedModel(
        [
            makes(("make_coffee", {})),
            makes(("read_file", {"lines": "1"})),
            makes(("list_files", {}), ("task_completed", {"summary": "Looked."})),
        ]
    )
    async with studio(tmp_path) as at:
        plan = await planned(at, "Work", ("Look", "look"))
        at.model.model = model
        plan = await allowed(at, plan)
        assert plan.status == "completed"
        last = asked(model.requests[-1])
        assert "There is no tool 'make_coffee'. The tools are: read_file" in last
        assert "`path` is missing" in last


async def test_a_model_that_is_gone_pauses_the_plan_and_nothing_is_done_twice(tmp_path: Path) -> None:
    model = ScriptedModel(
        [
            makes(("create_folder", {"path": "x"})),
            fails("unavailable"),
            makes(("task_completed", {"summary": "Done."})),
            makes(("create_folder", {"path": "x"}), ("task_completed", {"summary": "Done."})),
        ]
    )
    async with studio(tmp_path) as at:
        plan = await planned(at, "Work", ("Make x", "make it"))
        at.model.model = model
        plan = await at.approve(plan)
        assert (plan.status, plan.pause_reason) == ("paused", "model_unavailable")
        assert plan.steps[0].status == "pending" and len(plan.steps[0].tools_executed) == 1
        await at.app.plans.resume(plan.plan_id)
        plan = await at.until(plan, lambda now: now.status == "completed" or bool(now.pending.approvals))
        assert 'create_folder [FAILED] {"path": "x"}' in asked(model.requests[2])
        assert "Not made, since the run was interrupted: do it again" in asked(model.requests[2])
        assert "x was not changed" in asked(model.requests[3])
        plan = await at.respond(plan)
        assert plan.status == "completed" and at.path("x").is_dir()


async def test_usage_and_a_request_budget(tmp_path: Path) -> None:
    model = ScriptedModel(
        [
            makes(("list_files", {}), prompt_tokens=100, completion_tokens=10),
            makes(("list_files", {"recursive": True}), prompt_tokens=100, completion_tokens=10),
            makes(("task_completed", {"summary": "Done."}), prompt_tokens=100, completion_tokens=10),
        ]
    )
    async with studio(tmp_path, settings={"budget.maxRequests": 2}) as at:
        plan = await planned(at, "Work", ("Look", "look"))
        at.model.model = model
        plan = await at.approve(plan)
        assert (plan.status, plan.pause_reason) == ("paused", "budget")
        assert (plan.usage.requests, plan.usage.prompt_tokens) == (2, 200)
        await at.app.plans.resume(plan.plan_id)
        plan = await at.reach(plan, "ended")
        assert plan.status == "completed" and plan.usage.requests == 3


async def test_a_pause_aborts_the_model_and_keeps_what_was_done(tmp_path: Path) -> None:
    model = ScriptedModel(
        [makes(("list_files", {})), fails("hang"), makes(("task_completed", {"summary": "Done."}))]
    )
    async with studio(tmp_path) as at:
        plan = await planned(at, "Work", ("Look", "look"))
        at.model.model = model
        await at.app.plans.approve(plan.plan_id, plan.version, None)
        await at.until(
            plan, lambda now: bool(now.steps and now.steps[0].tools_executed) and len(model.requests) > 1
        )
        paused = await at.app.plans.pause(plan.plan_id)
        assert paused.steps[0].status == "pending" and len(paused.steps[0].tools_executed) == 1
        await at.app.plans.resume(plan.plan_id)
        plan = await at.reach(plan, "ended")
        assert plan.status == "completed"


async def test_a_long_summary_is_cut_at_a_word_and_marked(tmp_path: Path) -> None:
    model = ScriptedModel([makes(("list_files", {}), ("task_completed", {"summary": "word " * 200}))])
    async with studio(tmp_path) as at:
        plan = await planned(at, "Work", ("Look", "look"))
        at.model.model = model
        plan = await allowed(at, plan)
        result = plan.steps[0].result
        assert result is not None and result.summary is not None
        assert len(result.summary) <= 500 and result.summary.endswith("word…")


async def test_an_edited_step_is_what_runs(tmp_path: Path) -> None:
    model = ScriptedModel([makes(("list_files", {}), ("task_completed", {"summary": "Looked."}))])
    async with studio(tmp_path) as at:
        plan = await planned(at, "Work", ("Look", "look"))
        change = UpdateStep(step_id=StepId("task_1"), set=StepChanges(instruction="look under the bed"))
        plan = await at.app.plans.edit(plan.plan_id, plan.version, (change,))
        at.model.model = model
        await allowed(at, plan)
        assert "look under the bed" in asked(model.requests[0])


@pytest.mark.parametrize("can", [{"json_schema": True}, {"tools": True}, {}])
async def test_every_turn_fits_a_context_of_4096_tokens(tmp_path: Path, can: dict[str, bool]) -> None:
    """Long files are read one after the other, over several steps; nothing is cut silently."""
    files = {f"f{n}.txt": f"line of file {n} with some words in it\n" * 300 for n in range(6)}
    small = Capabilities(context_tokens=4_096, **can)
    turns: list[Turn] = []
    for n in range(6):
        read = {"name": "read_file", "arguments": {"path": f"f{n}.txt"}}
        if can.get("tools"):
            turns += [makes(("read_file", {"path": f"f{n}.txt"})) for _ in range(n % 2 + 1)]
        else:
            turns.append(says(json.dumps({"tool_calls": [read]} if can else read)))
        if n % 2:
            done = {"task_completed": f"Read f{n}.txt, which has 300 lines."}
            call = {"name": "task_completed", "arguments": {"summary": done["task_completed"]}}
            turns.append(
                makes(("task_completed", call["arguments"]))  # type: ignore[arg-type]
                if can.get("tools")
                else says(json.dumps({"tool_calls": [], **done} if can else call))
            )
    model = ScriptedModel([*turns, says("The files have 300 lines each.", repeat=True)], capabilities=small)
    settings = {"execution.onFailure": "skip"}
    async with studio(tmp_path, files, settings=settings) as at:
        steps = [(f"Read f{n} and f{n + 1}", "Say what is in them. " * 20) for n in range(0, 6, 2)]
        plan = await planned(at, "Look at the files of this folder", *steps)
        at.model.model = model
        await allowed(at, plan)
        counter = TokenCounter()
        sizes = [
            counter.request(request.model_copy(update={"response_schema": None}))
            for request in model.requests
        ]
        assert len(sizes) >= 8 and max(sizes) <= 4_096 - 256
