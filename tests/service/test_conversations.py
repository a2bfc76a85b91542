"""The native conversation of a plan: append-only within a step and over its steps, with all that the model wrote."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest

from planloom.domain.plans.plan import Plan
from planloom.models.offline.scripted import ScriptedModel, Turn, makes, says
from planloom.models.port import Capabilities, Message, ModelRequest, Reasoning
from tests.service.test_model_work import allowed, planned
from tests.support.studio import Studio, studio

FILES = {"a.txt": "alpha\n", "b.txt": "beta\n"}


def body(request: ModelRequest) -> bytes:
    """What a provider is sent of a request, in an order in which a prefix can be cached."""
    tools = [tool.model_dump(mode="json") for tool in request.tools]
    return json.dumps([tools, *(message.model_dump(mode="json") for message in request.messages)]).encode()


def results(request: ModelRequest) -> list[str]:
    return [message.text for message in request.messages if message.role == "tool"]


def done(summary: str) -> Turn:
    return makes(("task_completed", {"summary": summary}))


async def test_every_request_of_a_plan_begins_with_the_one_before(tmp_path: Path) -> None:
    model = ScriptedModel(
        [
            makes(("read_file", {"path": "a.txt"}), text="I look at a.txt first."),
            makes(("edit_file", {"path": "a.txt", "old_text": "alpha", "new_text": "ALPHA"})),
            done("a.txt is in capitals."),
            makes(("run_command", {"command": "cat a.txt"})),
            done("It prints ALPHA."),
            makes(("write_file", {"path": "c.txt", "content": "gamma\n"}), text="Now the new file."),
            done("c.txt is there."),
        ]
    )
    async with studio(tmp_path, FILES) as at:
        plan = await planned(at, "Work", ("Capitals", "in a.txt"), ("Try", "run it"), ("Add c.txt", "add it"))
        at.model.model = model
        plan = await allowed(at, plan)
        assert plan.status == "completed" and at.text("c.txt") == "gamma\n"
        bodies = [body(request)[:-1] for request in model.requests]
        assert all(later.startswith(earlier) for earlier, later in pairwise(bodies))
        last = model.requests[-1]
        assert [
            message.text for message in last.messages if message.role == "assistant" and message.text
        ] == [
            "I look at a.txt first.",
            "Now the new file.",
        ]
        edit = next(c for m in last.messages for c in m.tool_calls if c.name == "edit_file")
        assert edit.arguments == {"path": "a.txt", "old_text": "alpha", "new_text": "ALPHA"}
        assert sum(message.text.count("USER REQUEST") for message in last.messages) == 1
        assert sum(message.text.count("CURRENT TASK\n") for message in last.messages) == 3


async def test_every_call_has_its_result_and_no_id_is_used_twice(tmp_path: Path) -> None:
    """Some servers give every call the same id; a conversation with that is refused by all others."""
    read = {"name": "read_file", "arguments": {"path": "a.txt"}, "call_id": "call_0"}
    other = {**read, "arguments": {"path": "b.txt"}}
    finish = {"name": "task_completed", "arguments": {"summary": "Read."}, "call_id": "call_0"}
    turns = [Turn.model_validate({"calls": [each]}) for each in (read, other, finish)]
    async with studio(tmp_path, FILES) as at:
        plan = await planned(at, "Work", ("Look", "at both"), ("Look again", "at both"))
        at.model.model = model = ScriptedModel(
            [*turns, makes(("list_files", {}), ("task_completed", {"summary": "Looked."}))]
        )
        assert (await allowed(at, plan)).status == "completed"
        messages = model.requests[3].messages
        ids = [call.call_id for message in messages for call in message.tool_calls]
        assert len(set(ids)) == len(ids) == 3
        assert [message.tool_call_id for message in messages if message.role == "tool"] == ids
        assert [text.split()[-1] for text in results(model.requests[3])[:2]] == ["alpha", "beta"]


async def test_reasoning_goes_back_with_its_message(tmp_path: Path) -> None:
    kept = (Reasoning(provider="anthropic", data={"type": "thinking", "thinking": "Hm", "signature": "S"}),)
    looks = [*makes(("list_files", {})).played(1)]
    looks[-1] = looks[-1].model_copy(update={"reasoning": kept})
    async with studio(tmp_path, FILES) as at:
        plan = await planned(at, "Work", ("Look", "look"))
        at.model.model = model = ScriptedModel([Turn(events=tuple(looks)), done("Looked.")])
        assert (await allowed(at, plan)).status == "completed"
        assert [m.reasoning for m in model.requests[1].messages if m.role == "assistant"] == [kept]


async def test_a_denied_change_is_told_in_the_conversation_and_stays_in_it(tmp_path: Path) -> None:
    edit = makes(("edit_file", {"path": "a.txt", "old_text": "alpha", "new_text": "ALPHA"}))
    async with studio(tmp_path, FILES) as at:
        plan = await planned(at, "Work", ("Capitals", "in a.txt"))
        again = makes(("write_file", {"path": "n.txt", "content": "ALPHA\n"}))
        at.model.model = model = ScriptedModel([edit, done("Done."), again, done("Done otherwise.")])
        plan = await at.respond(await at.approve(plan), "deny", reason="a.txt must stay as it is")
        plan = await at.respond(await at.until(plan, lambda now: bool(now.pending.approvals)))
        assert plan.status == "completed" and at.text("a.txt") == "alpha\n"
        for request in model.requests[2:]:
            assert "a.txt must stay as it is" in results(request)[1]


WRITE_B = ("write_file", {"path": "b.txt", "content": "BETA\n"})
READ_A = ("read_file", {"path": "a.txt"})


async def test_an_answer_that_ends_a_task_may_begin_the_next_and_end_it(tmp_path: Path) -> None:
    model = ScriptedModel(
        [
            makes(READ_A, ("task_completed", {"summary": "Read."}), WRITE_B),
            makes(
                ("task_completed", {"summary": "Written."}),
                ("read_file", {"path": "b.txt"}),
                ("task_completed", {"summary": "It says BETA."}),
            ),
        ]
    )
    async with studio(tmp_path, FILES) as at:
        plan = await planned(
            at, "Work", ("Read a.txt", "Read"), ("Write b.txt", "Write"), ("Read b.txt", "Read")
        )
        at.model.model = model
        plan = await allowed(at, plan)
        assert plan.status == "completed" and at.text("b.txt") == "BETA\n"
        assert [step.result.summary for step in plan.steps if step.result] == [
            "Read.",
            "Written.",
            "It says BETA.",
        ]
        assert [call.tool for call in plan.steps[1].tools_executed] == ["write_file"]
        assert len(model.requests) == 2
        read, done_text, written = results(model.requests[1])
        assert read.endswith("alpha") and "b.txt" in written and done_text == "Done."


@pytest.mark.parametrize(
    ("instruction", "answer", "why"),
    [
        (
            "Write",
            (("read_file", {"path": "x.txt"}), ("task_completed", {"summary": "Read."}), WRITE_B),
            "a call failed",
        ),
        (
            "Only if it is empty",
            (READ_A, ("task_completed", {"summary": "Read."}), WRITE_B),
            "it was never shown",
        ),
    ],
)
async def test_what_was_written_ahead_is_not_run_if(
    tmp_path: Path, instruction: str, answer: tuple[tuple[str, dict[str, str]], ...], why: str
) -> None:
    model = ScriptedModel(
        [makes(*answer), *(makes(READ_A, ("task_completed", {"summary": "Read."})) for _ in range(4))]
    )
    async with studio(tmp_path, FILES) as at:
        plan = await planned(at, "Work", ("Read a.txt", "Read"), ("Write b.txt", instruction))
        at.model.model = model
        await allowed(at, plan)
        assert at.text("b.txt") == "beta\n", why
        assert any("was not run" in text for text in results(model.requests[1]))


async def test_the_end_of_a_task_may_be_written_before_its_calls(tmp_path: Path) -> None:
    model = ScriptedModel(
        [
            makes(("task_completed", {"summary": "Written."}), WRITE_B),
            makes(READ_A, ("task_completed", {"summary": "Read."})),
        ]
    )
    async with studio(tmp_path, FILES) as at:
        plan = await planned(at, "Work", ("Write b.txt", "Write"), ("Read a.txt", "Read"))
        at.model.model = model
        plan = await allowed(at, plan)
        assert plan.status == "completed" and at.text("b.txt") == "BETA\n"
        assert [len(step.tools_executed) for step in plan.steps] == [1, 1]


async def test_a_result_says_what_has_become_of_its_change_when_it_is_sent(tmp_path: Path) -> None:
    """Staged if the call's turn was all; denied or made if a command of the same turn was waiting for it."""
    edit = ("edit_file", {"path": "a.txt", "old_text": "alpha", "new_text": "ALPHA"})
    other = ("edit_file", {"path": "b.txt", "old_text": "beta", "new_text": "BETA"})
    run = ("run_command", {"command": "cat a.txt b.txt"})
    model = ScriptedModel([makes(edit), makes(other, run), makes(other, run), done("b.txt is in capitals.")])
    async with studio(tmp_path, FILES, settings={"approvals.execute": "allow"}) as at:
        plan = await planned(at, "Work", ("Capitals", "in both"))
        at.model.model = model
        plan = await at.respond(await at.approve(plan), "deny", reason="not a.txt")
        plan = await at.respond(await at.until(plan, lambda now: bool(now.pending.approvals)))
        assert plan.status == "completed"
        first, denied, _, made, _ = results(model.requests[-1])
        assert results(model.requests[1]) == [first] == ["Staged: Edited a.txt in 1 place"]
        assert denied == (
            "[FAILED] Not made, since the user did not allow it (not a.txt). "
            "The call's result was: Edited b.txt in 1 place"
        )
        assert made == "Edited b.txt in 1 place"


async def test_a_file_that_was_read_earlier_in_the_conversation_is_not_replaced_unread(
    tmp_path: Path,
) -> None:
    """In the same step before a command, or in an earlier step; not if it has changed since."""
    read = [("read_file", {"path": name}) for name in FILES]
    replaces = [("write_file", {"path": name, "content": f"new {name}\n"}) for name in FILES]
    other = ("write_file", {"path": "c.txt", "content": "gamma\n"})
    run = ("run_command", {"command": "true"})
    model = ScriptedModel(
        [makes(*read, other, run), makes(replaces[0]), done("Replaced."), makes(replaces[1]), done("Both.")]
    )
    settings = {"approvals.execute": "allow", "approvals.write": "allow"}
    async with studio(tmp_path, FILES, settings=settings) as at:
        plan = await planned(at, "Work", ("Replace a.txt", "whole"), ("Replace b.txt", "whole"))
        at.model.model = model
        plan = await at.approve(plan)
        assert (plan.status, at.text("a.txt"), at.text("b.txt")) == (
            "completed",
            "new a.txt\n",
            "new b.txt\n",
        )


async def test_a_message_that_is_written_anew_says_what_has_become_of_each_change(tmp_path: Path) -> None:
    class WithoutTools(ScriptedModel):
        async def capabilities(self) -> Capabilities:
            return Capabilities(tools=False, json_schema=True, context_tokens=64_000)

    edit = {"name": "edit_file", "arguments": {"path": "a.txt", "old_text": "alpha", "new_text": "ALPHA"}}
    other = {"name": "write_file", "arguments": {"path": "n.txt", "content": "new\n"}}
    answers = [{"tool_calls": [edit]}, {"tool_calls": [], "task_completed": "Done."}, {"tool_calls": [other]}]
    last = {"tool_calls": [], "task_completed": "Done otherwise."}
    async with studio(tmp_path, FILES) as at:
        plan = await planned(at, "Work", ("Capitals", "in a.txt"))
        at.model.model = model = WithoutTools([says(json.dumps(each)) for each in (*answers, last)])
        plan = await at.respond(await at.approve(plan), "deny", reason="a.txt must stay")
        plan = await at.respond(await at.until(plan, lambda now: bool(now.pending.approvals)))
        assert plan.status == "completed"
        _, staged, denied, again = (request.messages[-1].text for request in model.requests)
        assert "\nStaged: Edited a.txt in 1 place" in staged
        assert "\nNot made, since the user did not allow it (a.txt must stay)." in denied
        assert "edit_file [FAILED]" in denied and "\nEdited a.txt" not in denied
        assert "\nStaged: Created n.txt" in again


async def test_steps_side_by_side_fork_the_conversation_at_their_last_common_point(tmp_path: Path) -> None:
    """Both begin with what the first step has seen; the last step continues one of them and is told of the other."""
    steps = [
        {"id": "first", "description": "First", "instruction": "read"},
        {"id": "a", "description": "Side a", "instruction": "read", "depends_on": ["first"]},
        {"id": "b", "description": "Side b", "instruction": "read", "depends_on": ["first"]},
        {"id": "last", "description": "Last", "instruction": "list", "depends_on": ["a", "b"]},
    ]
    model = ScriptedModel(
        [
            says(json.dumps({"title": "Work", "steps": steps})),
            makes(("read_file", {"path": "a.txt"}), ("task_completed", {"summary": "Read a.txt."})),
            *(
                makes(
                    ("read_file", {"path": f"{name}.txt"}),
                    ("task_completed", {"summary": f"Side {name} is done."}),
                    when={"last_contains": (f"CURRENT TASK\nSide {name}",)},
                )
                for name in "ab"
            ),
            makes(("list_files", {}), ("task_completed", {"summary": "All."})),
        ]
    )
    async with studio(tmp_path, FILES, model=model) as at:
        plan = await at.ask("Read the files and tell their sum", mode="plan")
        assert [len(step.depends_on) for step in plan.steps] == [0, 1, 1, 2] and not plan.sequential
        plan = await allowed(at, plan)
        assert plan.status == "completed"
        _, first, one, other, last = model.requests
        assert body(one).startswith(body(first)[:-1]) and body(other).startswith(body(first)[:-1])
        continued, forked = (one, other) if body(last).startswith(body(one)[:-1]) else (other, one)
        assert body(last).startswith(body(continued)[:-1])
        missing = "Side b is done." if "CURRENT TASK\nSide b" in _last_text(forked) else "Side a is done."
        assert "COMPLETED TASKS" in _last_text(last) and missing in _last_text(last)


def _last_text(request: ModelRequest) -> str:
    return next(message.text for message in reversed(request.messages) if message.role == "user")


async def test_a_server_that_stops_taking_tools_is_told_everything_in_one_message(tmp_path: Path) -> None:
    class Forgetful(ScriptedModel):
        async def capabilities(self) -> Capabilities:
            return Capabilities(tools=len(self.requests) < 2, json_schema=True, context_tokens=64_000)

    end = json.dumps({"tool_calls": [], "task_completed": "Read both."})
    async with studio(tmp_path, FILES) as at:
        plan = await planned(at, "Work", ("Look", "at both"))
        at.model.model = model = Forgetful(
            [makes(("read_file", {"path": "a.txt"})), makes(("read_file", {"path": "b.txt"})), says(end)]
        )
        assert (await allowed(at, plan)).status == "completed"
        roles = [message.role for message in model.requests[2].messages]
        assert roles == ["system", "user"] and not model.requests[2].tools
        text = model.requests[2].messages[1].text
        assert 'read_file [SUCCESS] {"path": "a.txt"}' in text and "beta" in text


@pytest.mark.parametrize("broken", [True, False])
async def test_a_call_that_cannot_be_run_is_answered_with_what_was_written(
    tmp_path: Path, broken: bool
) -> None:
    bad = (
        Turn.model_validate(
            {
                "broken_calls": [
                    {"call_id": "x", "name": "read_file", "arguments_text": '{"pa', "problem": "cut"}
                ]
            }
        )
        if broken
        else makes(("ask_user", {"question": ""}))
    )
    async with studio(tmp_path, FILES) as at:
        plan = await planned(at, "Work", ("Look", "look"))
        at.model.model = model = ScriptedModel([bad, makes(("list_files", {})), done("Looked.")])
        assert (await allowed(at, plan)).status == "completed"
        (told,) = results(model.requests[1])
        assert told.startswith("[FAILED] Not run:") and ('{"pa' in told) == broken


async def test_an_answered_question_continues_the_conversation(tmp_path: Path) -> None:
    asks = makes(("ask_user", {"question": "Which file?"}), text="I need to know more.")
    async with studio(tmp_path, FILES) as at:
        plan = await planned(at, "Work", ("Look", "look"))
        look = makes(("read_file", {"path": "b.txt"}))
        at.model.model = model = ScriptedModel([makes(("list_files", {})), asks, look, done("Looked.")])
        plan = await at.approve(plan)
        await at.app.steps.answer(plan.plan_id, plan.steps[0].step_id, "b.txt")
        plan = await at.until(plan, lambda now: now.status == "completed")
        messages = model.requests[2].messages
        assert [message.text for message in messages if message.role == "assistant"][
            -1
        ] == "I need to know more."
        assert _is_question_answered(messages)


def _is_question_answered(messages: tuple[Message, ...]) -> bool:
    return messages[-2].role == "tool" and "Which file?\nAnswer: b.txt" in messages[-1].text


async def test_an_exit_code_is_a_result_that_the_model_reads_and_acts_on(tmp_path: Path) -> None:
    """Tests fail, the model reads why, mends it and runs them again: nobody is asked, and nothing ends early."""
    tests = {"command": "grep -q ALPHA a.txt || { echo 'a.txt: ALPHA is missing'; exit 3; }"}
    model = ScriptedModel(
        [
            makes(("run_command", tests)),
            makes(("edit_file", {"path": "a.txt", "old_text": "alpha", "new_text": "ALPHA"})),
            makes(("run_command", tests)),
            makes(("final_answer", {"text": "Mended."})),
        ]
    )
    settings = {"approvals.execute": "allow", "approvals.write": "allow"}
    async with studio(tmp_path, FILES, model=model, settings=settings) as at:
        plan = await at.ask("The tests fail. Find out why, fix it and run them.", mode="direct")
        plan = await at.until(plan, lambda now: now.status == "completed")
        first, _, second = results(model.requests[-1])
        assert first.startswith("The command ended with exit code 3.") and "ALPHA is missing" in first
        assert second.startswith("The command ended with exit code 0.")
        assert at.text("a.txt") == "ALPHA\n"


async def test_a_step_that_is_tried_again_is_given_its_task_again(tmp_path: Path) -> None:
    async with studio(tmp_path, FILES) as at:
        plan = await planned(at, "Work", ("Look", "look"))
        words = [says("I look."), says("I still look.")]
        at.model.model = model = ScriptedModel([*words, makes(("list_files", {})), done("Looked.")])
        plan = await at.approve(plan)
        assert plan.pause_reason == "recovery"
        await at.app.steps.recover(plan.plan_id, plan.steps[0].step_id, "retry", None)
        await at.until(plan, lambda now: now.status == "completed")
        assert "CURRENT TASK\nLook" in model.requests[2].messages[-1].text
        assert [m.text for m in model.requests[2].messages if m.role == "assistant"] == [
            "I look.",
            "I still look.",
        ]


def edit(name: str, old: str, new: str) -> tuple[str, dict[str, str]]:
    return ("edit_file", {"path": name, "old_text": old, "new_text": new})


END = ("task_completed", {"summary": "Done."})
GROW = {name: edit(name, f"{name}\n", f"{name}\n+\n") for name in "abcd"}
FORKED = [
    {"id": "a", "description": "Edit a", "instruction": "Add to a."},
    {"id": "b", "description": "Edit b", "instruction": "Add to b.", "dependsOn": ["a"]},
    {"id": "c", "description": "Edit c", "instruction": "Add to c.", "dependsOn": ["a"]},
    {"id": "d", "description": "Edit d", "instruction": "Add to d.", "dependsOn": ["b", "c"]},
]


async def forked(at: Studio, model: ScriptedModel) -> Plan:
    at.model.model = model
    return await allowed(at, await at.ask("Let all files grow.", mode="plan"))


async def test_calls_written_ahead_for_steps_side_by_side_run_once_each(tmp_path: Path) -> None:
    ahead = makes(GROW["a"], END, GROW["b"], END, GROW["c"], END, GROW["d"], END)
    model = ScriptedModel([makes(("submit_plan", {"summary": "Grow.", "steps": FORKED})), ahead])
    async with studio(tmp_path, {name: f"{name}\n" for name in GROW}) as at:
        plan = await forked(at, model)
        assert plan.status == "completed" and len(model.requests) == 2
        assert [at.text(name) for name in GROW] == [f"{name}\n+\n" for name in GROW]
        assert [len(step.tools_executed) for step in plan.steps] == [1, 1, 1, 1]


async def test_what_was_not_run_is_answered_as_such_in_every_fork(tmp_path: Path) -> None:
    """The step that follows fails to find its text, so what was written behind it is dropped."""
    wrong = edit("b", "not there", "x")
    model = ScriptedModel(
        [
            makes(("submit_plan", {"summary": "Grow.", "steps": FORKED})),
            makes(GROW["a"], END, wrong, END, GROW["c"], END),
            *(
                makes(GROW[name], END, when={"last_contains": (f"CURRENT TASK\nEdit {name}",)})
                for name in "cd"
            ),
            makes(GROW["b"], END, when={"last_contains": ("TASK LIST",)}),
            makes(GROW["b"], END),
        ]
    )
    async with studio(tmp_path, {name: f"{name}\n" for name in GROW}) as at:
        plan = await forked(at, model)
        assert plan.status == "completed"
        assert [at.text(name) for name in GROW] == [f"{name}\n+\n" for name in GROW]
        texts = results(model.requests[2])
        assert texts.count("Done.") == 1
        assert all("was not run" in text or "does not count" in text for text in texts[-3:])


async def test_what_reads_beside_the_plan_is_run_and_what_writes_waits_for_its_task(tmp_path: Path) -> None:
    step = {"id": "s1", "description": "Capitals", "instruction": "in a.txt"}
    plan = ("submit_plan", {"summary": "Capitals", "steps": [step]})
    edit = ("edit_file", {"path": "a.txt", "old_text": "alpha", "new_text": "ALPHA"})
    model = ScriptedModel(
        [makes(READ_A, WRITE_B, plan), makes(edit, ("task_completed", {"summary": "Capitals."}))]
    )
    async with studio(tmp_path, FILES, model=model) as at:
        made = await allowed(at, await at.ask("Write a.txt in capitals and test it", mode="plan"))
        assert made.status == "completed"
        read, written, _ = results(model.requests[1])
        assert read.split()[-1] == "alpha" and written.startswith("[FAILED] It was not run.")
        assert (at.text("a.txt"), at.text("b.txt")) == ("ALPHA\n", "beta\n")
