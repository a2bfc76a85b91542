"""Direct runs: which requests are literal calls, what always needs approval, and what a question may do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from planloom.models.offline.scripted import ScriptedModel, makes, says
from tests.support.studio import studio

ALL_ALLOWED = {
    "approvals.write": "allow",
    "approvals.destroy": "allow",
    "approvals.execute": "allow",
    "execution.review": "auto",
}
MENTIONS = [
    "Do not do any of the following:\n- Delete a.txt\n- Rename b.txt to c.txt",
    "What is wrong with this list:\n- rename b.txt to c.txt\n- create folder qq",
    "Summarize these steps:\n- create folder x\n- delete a.txt",
    "Create file howto.txt with content: first build it, then delete a.txt",
    "Write a script which will read config.json, create folder out and delete a.txt",
]
TWO_FILES = {"a.txt": "one\n", "b.txt": "two\n"}


def left(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() if path.is_file() else "" for path in folder.iterdir()}


@pytest.mark.parametrize("text", MENTIONS)
async def test_what_is_only_mentioned_is_never_done_without_a_model(tmp_path: Path, text: str) -> None:
    async with studio(tmp_path, TWO_FILES, settings=ALL_ALLOWED) as at:
        plan = await at.ask(text, mode="direct")
        assert [(step.kind, step.instruction) for step in plan.steps] == [("processing", text)]
        assert left(at.folder) == TWO_FILES and at.editor.received == []


@pytest.mark.parametrize("text", MENTIONS)
async def test_what_is_only_mentioned_is_given_to_the_model(tmp_path: Path, text: str) -> None:
    model = ScriptedModel([says("I have done nothing.", repeat=True)])
    async with studio(tmp_path, TWO_FILES, model=model, settings=ALL_ALLOWED) as at:
        await at.ask(text, mode="direct")
        assert model.requests and text in model.requests[0].messages[-1].text
        assert left(at.folder) == TWO_FILES and at.editor.received == []


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("Delete a.txt", {"b.txt": "two\n"}),
        ('Create file a.txt with content "new"', {"a.txt": "new", "b.txt": "two\n"}),
        ('Replace "one\n" with "" in a.txt', {"a.txt": "", "b.txt": "two\n"}),
    ],
    ids=["a delete", "an overwrite", "an emptying"],
)
@pytest.mark.parametrize("review", ["each", "end", "auto"])
async def test_a_literal_call_that_destroys_is_asked_whatever_is_allowed(
    tmp_path: Path, text: str, rest: dict[str, str], review: str
) -> None:
    settings = {**ALL_ALLOWED, "execution.review": review}
    async with studio(tmp_path, TWO_FILES, settings=settings) as at:
        plan = await at.ask(text, mode="direct")
        (approval,) = plan.pending.approvals
        assert approval.effect == "destroy" and left(at.folder) == TWO_FILES
        plan = await at.respond(plan)
        assert plan.status == "completed"
        assert {name: at.text(name) for name in rest} == rest
        assert ("a.txt" in rest) == at.path("a.txt").exists()


async def test_a_literal_command_that_looks_destructive_is_asked_whatever_is_allowed(tmp_path: Path) -> None:
    async with studio(tmp_path, TWO_FILES, settings=ALL_ALLOWED) as at:
        plan = await at.ask("Run `rm -f a.txt`", mode="direct")
        assert [each.command for each in plan.pending.approvals] == ["rm -f a.txt"]


async def test_other_literal_calls_run_as_the_settings_say(tmp_path: Path) -> None:
    async with studio(tmp_path, TWO_FILES, settings=ALL_ALLOWED) as at:
        plan = await at.ask(
            'Create folder c, create file d.txt with content "4" and run `true`', mode="direct"
        )
        assert (plan.status, len(plan.steps)) == ("completed", 3)
        assert "approval_request" not in at.types()
        assert at.path("c").is_dir() and at.text("d.txt") == "4"


async def test_an_approved_plan_is_asked_as_the_settings_say(tmp_path: Path) -> None:
    async with studio(tmp_path, TWO_FILES, settings=ALL_ALLOWED) as at:
        plan = await at.approve(await at.ask("Delete a.txt", mode="plan"))
        assert plan.status == "completed" and not at.path("a.txt").exists()
        assert "approval_request" not in at.types()


@pytest.mark.parametrize(
    "text", ["Could you delete a.txt?", "Can you please run `rm a.txt`?", "Will you create folder c?"]
)
async def test_a_question_changes_nothing_though_it_reads_as_calls(tmp_path: Path, text: str) -> None:
    async with studio(tmp_path, TWO_FILES, settings=ALL_ALLOWED) as at:
        plan = await at.ask(text, mode="direct")
        assert [step.kind for step in plan.steps] == ["processing"]
        assert left(at.folder) == TWO_FILES and at.editor.received == []


async def test_a_question_that_only_reads_needs_no_model(tmp_path: Path) -> None:
    async with studio(tmp_path, TWO_FILES) as at:
        plan = await at.ask("Could you read a.txt?", mode="direct")
        assert (plan.status, [step.tool for step in plan.steps]) == ("completed", ["read_file"])


async def test_a_command_in_answer_to_a_question_is_asked_whatever_is_allowed(tmp_path: Path) -> None:
    model = ScriptedModel(
        [
            makes(("run_command", {"command": "echo found > seen.txt; cat a.txt"})),
            makes(("final_answer", {"text": "It is a file."})),
        ]
    )
    async with studio(tmp_path, TWO_FILES, model=model, settings=ALL_ALLOWED) as at:
        plan = await at.ask("What is a.txt?", mode="direct")
        (approval,) = plan.pending.approvals
        assert approval.command is not None and "question" in (approval.warning or "")
        assert not at.path("seen.txt").exists()
        plan = await at.respond(plan)
        assert plan.status == "completed" and at.path("seen.txt").exists()


async def test_a_model_that_answers_a_question_is_offered_no_tool_that_writes(tmp_path: Path) -> None:
    model = ScriptedModel(
        [makes(("delete_path", {"path": "a.txt"})), makes(("final_answer", {"text": "It is a file."}))]
    )
    async with studio(tmp_path, TWO_FILES, model=model, settings=ALL_ALLOWED) as at:
        plan = await at.ask("What is a.txt? Delete it?", mode="direct")
        assert plan.status == "completed" and left(at.folder) == TWO_FILES


@pytest.mark.parametrize("text", ["touch a.txt", "Create an empty file a.txt", "Create file a.txt"])
@pytest.mark.parametrize("opened", [False, True])
async def test_creating_an_empty_file_leaves_one_that_is_there(
    tmp_path: Path, text: str, opened: bool
) -> None:
    async with studio(tmp_path, TWO_FILES, settings=ALL_ALLOWED) as at:
        if opened:
            at.editor.open(at.path("a.txt"), "typed, not saved\n")
        plan = await at.ask(text, mode="direct")
        assert plan.status == "completed" and "approval_request" not in at.types()
        assert at.text("a.txt") == ("typed, not saved\n" if opened else "one\n")
        result = plan.steps[0].result
        assert result is not None and "left as it is" in result.summary


async def test_a_reference_in_a_literal_call_is_the_file_it_resolved_to(tmp_path: Path) -> None:
    files = {"src/auth/login.ts": "x\n"}
    async with studio(tmp_path, files, settings=ALL_ALLOWED) as at:
        plan = await at.ask("Rename @login.ts to signin.ts", mode="direct")
        assert plan.status == "completed"
        assert at.path("src/auth/signin.ts").exists() and not at.path("src/auth/login.ts").exists()


async def test_a_reference_in_a_plan_is_the_file_it_resolved_to(tmp_path: Path) -> None:
    async with studio(tmp_path, {"src/auth/login.ts": "x\n"}) as at:
        plan = await at.ask("Delete @login.ts and create folder c", mode="plan")
        assert [step.args for step in plan.steps] == [{"path": "src/auth/login.ts"}, {"path": "c"}]


@pytest.mark.parametrize("text", ["How do I run the tests?", "Which of these is the newer one?"])
async def test_the_users_own_question_is_not_put_to_the_user(tmp_path: Path, text: str) -> None:
    async with studio(tmp_path) as at:
        plan = await at.ask(text, mode="plan")
        assert [(step.kind, step.instruction) for step in plan.steps] == [("processing", text)]


async def test_a_request_in_quotation_marks_is_divided_but_done_by_a_model_only(tmp_path: Path) -> None:
    text = "“Add a login page. Use basic auth. Delete a.txt. Then write unit tests.”"
    async with studio(tmp_path, TWO_FILES, settings=ALL_ALLOWED) as at:
        plan = await at.ask(text, mode="plan")
        assert [step.description for step in plan.steps] == [
            "Add a login page",
            "Use basic auth",
            "Delete a.txt",
            "Write unit tests",
        ]
        assert {step.kind for step in plan.steps} == {"processing"}


async def test_steps_of_one_kind_have_different_titles(tmp_path: Path) -> None:
    async with studio(tmp_path) as at:
        text = (
            '1. Replace "a" with "b" in n.txt\n2. Replace "c" with "d" in n.txt\n3. Read n.txt\n4. Read n.txt'
        )
        plan = await at.ask(text, mode="plan")
        titles: Any = [step.description for step in plan.steps]
        assert titles == ["Replace 'a' in n.txt", "Replace 'c' in n.txt", "Read n.txt", "Read n.txt (2)"]


WRITE = ("write_file", {"path": "c.txt", "content": "three\n"})
DONE = ("task_completed", {"summary": "Wrote c.txt; the check passes."})


@pytest.mark.parametrize(
    "calls",
    [
        (WRITE, DONE),
        (DONE, WRITE),
        (WRITE, ("run_command", {"command": "grep three c.txt"}), DONE),
        (WRITE, ("final_answer", {"text": "Wrote c.txt; the check passes."})),
    ],
    ids=["a write", "the end first", "a command that succeeds", "an answer"],
)
async def test_calls_that_prove_the_request_done_end_it_in_one_answer(
    tmp_path: Path, calls: tuple[tuple[str, dict[str, Any]], ...]
) -> None:
    model = ScriptedModel([makes(*calls)])
    async with studio(tmp_path, TWO_FILES, model=model, settings=ALL_ALLOWED) as at:
        plan = await at.ask("Write c.txt and check that it is right", mode="direct")
        assert (plan.status, len(model.requests)) == ("completed", 1)
        assert at.text("c.txt") == "three\n"
        assert plan.report is not None and plan.report.closing == "Wrote c.txt; the check passes."


@pytest.mark.parametrize(
    ("call", "result"),
    [
        (("run_command", {"command": "grep four c.txt"}), "exit code 1"),
        (("edit_file", {"path": "a.txt", "old_text": "none", "new_text": "x"}), "a.txt"),
        (("edit_file", {"path": "a.txt", "patch": 4}), "patch"),
    ],
    ids=["a command", "an edit", "a call that cannot be read"],
)
async def test_a_call_that_fails_beside_the_end_leads_to_another_request(
    tmp_path: Path, call: tuple[str, dict[str, Any]], result: str
) -> None:
    model = ScriptedModel([makes(WRITE, call, DONE), makes(("final_answer", {"text": "It is not right."}))])
    async with studio(tmp_path, TWO_FILES, model=model, settings=ALL_ALLOWED) as at:
        plan = await at.ask("Write c.txt and check that it is right", mode="direct")
        assert (plan.status, len(model.requests)) == ("completed", 2)
        *_, failed, end = model.requests[1].messages
        assert result in failed.text
        assert end.text == (
            "task_completed does not count, since a call beside it failed. Look at its result, then go on."
        )
        assert plan.answer == "It is not right."


@pytest.mark.parametrize(
    "call",
    [("read_file", {"path": "a.txt"}), ("run_command", {"command": "sleep 9", "background": True})],
    ids=["reads", "runs on"],
)
@pytest.mark.slow
async def test_the_end_beside_a_call_whose_result_proves_nothing_is_set_aside(
    tmp_path: Path, call: tuple[str, dict[str, Any]]
) -> None:
    model = ScriptedModel([makes(WRITE, call, DONE), makes(DONE)])
    async with studio(tmp_path, TWO_FILES, model=model, settings=ALL_ALLOWED) as at:
        plan = await at.ask("Write c.txt and see what a.txt says", mode="direct")
        assert (plan.status, len(model.requests)) == ("completed", 2)
        assert "written before the results" in model.requests[1].messages[-1].text
