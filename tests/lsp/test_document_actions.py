"""What a plan's document offers in each state, as lenses, code actions and commands, from one table."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, get_args

import pytest

from planloom.domain.changes import Conflict, ConflictFile, EditRecord
from planloom.domain.plans.plan import Pending, Plan, PlanStatus, Question, Recovery
from planloom.domain.safety.approvals import Approval, ApprovalFile, ListPlace, PlanChange
from planloom.domain.values import ApprovalId, EditId, PlanId, Sha256, StepId, Uri
from planloom.lsp import commands
from planloom.lsp.plan_documents import shown_documents
from planloom.view.actions import OFFERED, Situation, buttons
from tests.lsp.test_fallback import plain
from tests.lsp.test_plan_documents import KEPT, Reader, adopted, asked, at, plan
from tests.support.fake_application import a_plan
from tests.support.lsp_client import FULL, TIMEOUT, Failed, LspClient, NeverAnswered

ONE, TWO = StepId("step_1"), StepId("step_2")
REVIEW = ["Start execution", "Reject", "Execute directly", "Keep for later", "Cancel the plan", "Plan again"]
RUNS = ["Pause", "Cancel the plan"]


def made(name: str, step: StepId | None, *reverts: str, state: Any = "applied") -> EditRecord:
    """An edit of a step, or what reverts others."""
    ids = tuple(map(EditId, reverts))
    return EditRecord(edit_id=EditId(name), step_id=step, files=(), state=state, reverts=ids)


def with_steps(*statuses: str, **changes: Any) -> Plan:
    """A plan whose two steps have these statuses."""
    both = zip(a_plan().steps, statuses, strict=True)
    steps = tuple(step.model_copy(update={"status": status}) for step, status in both)
    return a_plan(**{"steps": steps, **changes})


APPROVAL = Approval(
    approval_id=ApprovalId("a1"),
    plan_id=PlanId("p1"),
    step_id=ONE,
    proposal=Sha256("0"),
    effect="write",
    title="a.txt",
)
FILE = ApprovalFile(uri=Uri("file:///a"), change="delete", added=0, removed=1, resolved_path="/a")
DELETE = APPROVAL.model_copy(update={"effect": "destroy", "files": (FILE,)})
LISTED = tuple(
    APPROVAL.model_copy(
        update={
            "approval_id": ApprovalId(command),
            "effect": "execute",
            "command": command,
            "listed": ListPlace(list_id="make", position=number, size=2),
        }
    )
    for number, command in enumerate(("make", "ls"), start=1)
)
QUESTION = Question(step_id=ONE, question="Which?", options=("80", "443"))
FAILED = Recovery(step_id=ONE, error="no", options=("retry", "skip", "abort"))
CONFLICT = Conflict(edit_id=EditId("e1"), step_id=TWO, files=(ConflictFile(uri=Uri("file:///a"), hunks=()),))
EDITS = (made("e1", ONE), made("e2", TWO))
UNDONE = (*EDITS[:1], made("e2", TWO, state="reverted"), made("u2", TWO, "e2"))

STATES: list[tuple[str, Situation, list[str], dict[str, list[str]]]] = [
    ("draft", Situation(a_plan(status="draft")), ["Execute directly", "Pause", "Cancel the plan"], {}),
    (
        "pending_approval",
        Situation(with_steps("pending", "skipped")),
        REVIEW,
        {ONE: ["Skip this step"], TWO: ["Do not skip"]},
    ),
    (
        "pending_approval, revised",
        Situation(
            with_steps(
                "completed",
                "completed",
                version=4,
                revised=(PlanChange(kind="added", step_id=TWO, before=None, after="2. Do it"),),
            )
        ),
        [*REVIEW, "Back to version 3"],
        {},
    ),
    (
        "pending_approval with feedback",
        Situation(with_steps("completed", "completed"), feedback=(TWO,)),
        [*REVIEW[:-1], "Plan again with the feedback"],
        {TWO: ["Plan again with the feedback"]},
    ),
    (
        "pending_approval, not trusted",
        Situation(with_steps("completed", "completed"), asks_trust=True),
        ["Trust this folder", *REVIEW],
        {},
    ),
    (
        "paused for files",
        Situation(
            a_plan(status="paused", pause_reason="unsaved_files", version=1, approved_version=1),
            can_save=True,
        ),
        ["Save and go on", "Run without saving", "Back to review", "Cancel the plan", "Plan again"],
        {ONE: ["Skip this step"], TWO: ["Skip this step"]},
    ),
    ("approved", Situation(a_plan(status="approved")), RUNS, {}),
    (
        "paused for files that the editor can save",
        Situation(
            with_steps("completed", "completed", status="paused", pause_reason="unsaved_files"), can_save=True
        ),
        ["Save and go on", "Back to review", "Cancel the plan", "Plan again"],
        {},
    ),
    (
        "executing, asks for an approval",
        Situation(a_plan(status="executing", pending=Pending(approvals=(APPROVAL,)))),
        RUNS,
        {ONE: ["Allow once", "Allow for this plan", "Skip these changes"]},
    ),
    (
        "executing, asks for two commands at once",
        Situation(a_plan(status="executing", pending=Pending(approvals=LISTED))),
        RUNS,
        {
            ONE: [
                *("Run all", "Run none"),
                *("Allow once: make", "Allow for this plan: make", "Do not run it: make"),
                *("Allow once: ls", "Allow for this plan: ls", "Do not run it: ls"),
                *("Show the command", "Show the command"),
            ]
        },
    ),
    (
        "executing, asks to delete",
        Situation(a_plan(status="executing", pending=Pending(approvals=(DELETE,)))),
        RUNS,
        {ONE: ["Allow once", "Skip these changes", "Show changes"]},
    ),
    (
        "executing, asks a question",
        Situation(a_plan(status="executing", pending=Pending(questions=(QUESTION,)))),
        RUNS,
        {ONE: ["80", "443"]},
    ),
    (
        "a text of an older version",
        Situation(with_steps("completed", "completed"), moved_on=True),
        ["Make the plan what this text says", "Show the plan as it is", *REVIEW[1:]],
        {},
    ),
    (
        "executing, an answer is written",
        Situation(a_plan(status="executing", pending=Pending(questions=(QUESTION,))), answers={ONE: "8080"}),
        RUNS,
        {ONE: ["80", "443", "Answer: 8080"]},
    ),
    (
        "executing, a conflict",
        Situation(a_plan(status="executing", pending=Pending(conflicts=(CONFLICT,)))),
        RUNS,
        {TWO: ["Keep mine", "Take Planloom's", "Keep both", "Use the merged document"]},
    ),
    (
        "paused, a step has failed",
        Situation(
            with_steps(
                *("failed", "pending"),
                status="paused",
                approved_version=1,
                pending=Pending(recoveries=(FAILED,)),
            )
        ),
        ["Resume", "Back to review", "Cancel the plan", "Plan again"],
        {ONE: ["Retry", "Skip", "End the plan"], TWO: ["Skip this step"]},
    ),
    (
        "paused before it was approved",
        Situation(with_steps("completed", "completed", status="paused")),
        ["Back to review", "Cancel the plan", "Plan again"],
        {},
    ),
    (
        "paused while it was drafted",
        Situation(a_plan(status="paused", version=0, steps=())),
        ["Resume", "Cancel the plan", "Plan again"],
        {},
    ),
    ("rejected", Situation(a_plan(status="rejected")), ["Plan again"], {}),
    ("failed", Situation(a_plan(status="failed")), ["Plan again"], {}),
    ("cancelled", Situation(a_plan(status="cancelled")), ["Plan again"], {}),
    (
        "completed",
        Situation(a_plan(status="completed", edits=EDITS)),
        ["Undo all edits of this plan"],
        {ONE: ["Undo this step"], TWO: ["Undo this step"]},
    ),
    (
        "completed, a step undone",
        Situation(a_plan(status="completed", edits=UNDONE)),
        ["Undo all edits of this plan", "Redo all edits of this plan"],
        {ONE: ["Undo this step"], TWO: ["Redo this step"]},
    ),
    (
        "completed as one edit",
        Situation(a_plan(status="completed", edits=(made("e1", None),))),
        ["Undo all edits of this plan"],
        {},
    ),
]


@pytest.mark.parametrize(
    ("situation", "of_plan", "of_steps"), [each[1:] for each in STATES], ids=[each[0] for each in STATES]
)
def test_each_state_offers_what_it_allows(
    situation: Situation, of_plan: list[str], of_steps: dict[str, list[str]]
) -> None:
    found: dict[str | None, list[str]] = {}
    for button in buttons(situation):
        found.setdefault(button.step_id, []).append(button.title)
        command = next(each for each in commands.COMMANDS if each.name == button.command)
        assert len(commands._parsed(command, button.arguments)) == len(command.names())
    assert found == {**({None: of_plan} if of_plan else {}), **of_steps}


def test_the_table_has_every_status_and_offers_each_of_its_commands_in_some() -> None:
    assert {situation.plan.status for _, situation, _, _ in STATES} == {*get_args(PlanStatus)}
    offered = {button.command for _, situation, _, _ in STATES for button in buttons(situation)}
    assert offered == {command for command, _ in OFFERED}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PLANLOOM_CONFIG", str(tmp_path.parent / "none.json"))
    (tmp_path / "a.txt").write_text("old\n")
    return tmp_path


async def offered(client: LspClient, reader: Reader, title: str, word: str) -> dict[str, Any]:
    """The action at a word of the document, once it is there, which is also a lens."""

    async def both() -> dict[str, Any] | None:
        place = at(reader.text, word)
        span, context = {"start": place, "end": place}, {"diagnostics": []}
        actions = await asked(client, reader, "codeAction", range=span, context=context)
        lenses = [each["command"] for each in await asked(client, reader, "codeLens")]
        commands_ = [each["command"] for each in actions if each["title"] == f"Planloom: {title}"]
        return commands_[0] if commands_ and commands_[0] in lenses else None

    async with asyncio.timeout(TIMEOUT):
        while (found := await both()) is None:
            pass
    return {"command": found["command"], "arguments": found["arguments"]}


async def press(client: LspClient, reader: Reader, title: str, word: str) -> None:
    command = await offered(client, reader, title, word)
    await client.request("workspace/executeCommand", command)


@pytest.mark.slow
async def test_steps_are_skipped_taken_back_undone_and_redone_from_the_document(folder: Path) -> None:
    async with plain(folder) as client:
        reader = Reader(client, Start=None, Allow="Allow once")
        await plan(client)
        await client.until(lambda: reader.shown)
        # What is typed and not saved is part of the plan before the command acts on it.
        reader.change("    - content: b\n", "    - content: c\n", save=False)
        await press(client, reader, "Skip this step", "^step_3")
        await client.until(lambda: "- [-] List files" in reader.text and "version: 3" in reader.text)
        await press(client, reader, "Skip this step", "^step_2")
        await client.until(lambda: "- [-] Write b.txt" in reader.text)
        await press(client, reader, "Do not skip", "^step_2")
        await client.until(lambda: "- [ ] Write b.txt" in reader.text)
        await press(client, reader, "Start execution", "# 1. Replace")
        await client.until(lambda: "status: completed" in reader.text)
        assert (folder / "b.txt").read_text() == "c"
        await press(client, reader, "Undo this step", "^step_2")
        await client.until(lambda: not (folder / "b.txt").exists())
        await press(client, reader, "Redo this step", "^step_2")
        await client.until((folder / "b.txt").exists)
        assert (folder / "b.txt").read_text() == "c"


async def test_feedback_below_a_step_goes_to_the_planner_once_and_stays_as_a_quotation(folder: Path) -> None:
    async with plain(folder) as client:
        reader = Reader(client)
        created = await plan(client)
        await client.until(lambda: reader.shown)
        reader.change("## Steps\n", "## Steps\n\nFeedback: fewer steps\n", save=False)
        reader.change("  - files: b.txt\n", "  - files: b.txt\n\nfeedback: call it c.txt \n", save=False)
        await press(client, reader, "Plan again with the feedback", "^step_2")
        await client.until(lambda: "> feedback: call it c.txt" in reader.text)
        assert "\n> Feedback: fewer steps\n" in reader.text
        events = await client.request("planloom/plan/events", {"planId": created["planId"]})
        drafting = [each for each in events["events"] if each["type"] == "plan_drafting"]
        assert drafting[-1]["feedback"] == "fewer steps\nstep_2 (Write b.txt): call it c.txt"
        command = await offered(client, reader, "Plan again", "^step_2")
        await client.request("workspace/executeCommand", command)
        events = await client.request("planloom/plan/events", {"planId": created["planId"]})
        drafting = [each for each in events["events"] if each["type"] == "plan_drafting"]
        assert len(drafting) == 3 and drafting[-1].get("feedback") is None


async def test_a_step_says_what_it_proposes_and_what_it_has_changed(folder: Path) -> None:
    """In fences that the text cannot end, and as much of it as can be read."""
    lines = "".join(f"line {number}\n" for number in range(50))
    (folder / "a.txt").write_text(lines + "```\n<img src=x>\u202e\n")
    async with plain(folder) as client:
        reader = Reader(client, Start="Start execution", Allow="Allow once")
        is_asked, go = asyncio.Event(), asyncio.Event()

        async def answer(params: dict[str, Any]) -> Any:
            if params["actions"][1]["title"] == "Allow once":
                is_asked.set()
                await go.wait()
            return await reader.answer(params)

        client.answer("window/showMessageRequest", answer)
        await plan(client, '1. Replace "line 49" with "line 50" in a.txt\n2. Delete a.txt')
        await client.until(is_asked.is_set)

        async def said(word: str) -> str:
            found = await asked(client, reader, "hover", position=at(reader.text, word, 1))
            return str(found["contents"]["value"]) if found else ""

        proposed = await said("^step_1")
        assert proposed == (
            "Waits for your approval\n\n**Proposed**\n\n`a.txt`: edited\n\n"
            "````diff\n@@ -47,6 +47,6 @@\n line 46\n line 47\n line 48\n"
            "-line 49\n+line 50\n ```\n <img src=x><U+202E>\n````"
        )
        await press(client, reader, "Show changes", "^step_1")
        await client.until(lambda: reader.shown[-1].endswith(".diff"))
        assert "\n+line 50\n" in client.buffers[reader.shown[-1]].text
        go.set()
        await client.until(lambda: "status: completed" in reader.text)
        assert proposed.partition("**Proposed**")[2] in await said("^step_1")
        assert "**Changed**" in await said("^step_1")
        deleted = await said("^step_2")
        assert deleted.count("\n-line") == 39 and deleted.endswith("and 13 more lines")


def refuse(_: Any) -> None:
    raise Failed({"code": -32601, "message": "no such method"})


@pytest.mark.parametrize(
    ("pressed", "plans"), [("Adopt as a new plan", 1), ("Later", 0), (None, 0), ("refused", 0), ("lens", 1)]
)
async def test_a_message_offers_to_adopt_a_kept_document(
    folder: Path, pressed: str | None, plans: int
) -> None:
    uri = (folder / "both.plan.md").as_uri()
    async with plain(folder) as client:
        reader = Reader(client, **{"Adopt as a new plan": "never" if pressed == "lens" else pressed})
        if pressed == "refused":
            client.answer("window/showMessageRequest", refuse)
        client.open(uri, KEPT, language_id="markdown")
        if pressed == "refused":
            await client.wait_shown("It is connected to no plan here")
            client.shown()
        else:
            await client.until(lambda: reader.asked)
            assert [each["title"] for each in reader.asked[0]["actions"]] == ["Later", "Adopt as a new plan"]
        if pressed == "lens":
            await adopted(client, uri)
            assert client.told("$/cancelRequest")
        if plans:
            await client.until(lambda: "status: pending approval" in client.buffers[uri].text)
        await client.request("planloom/status", {})
        assert len((await client.request("planloom/plan/list", {}))["plans"]) == plans


async def test_a_client_that_asks_for_texts_gets_diffs_and_plans_without_a_file(folder: Path) -> None:
    serving = {"textDocumentContent": {"dynamicRegistration": True}}
    capabilities = {**FULL, "workspace": {**FULL["workspace"], **serving}}
    async with plain(folder, capabilities) as client:
        texts = dict[str, str]()

        async def show(params: dict[str, Any]) -> dict[str, Any]:
            uri = params["uri"]
            if uri.startswith("planloom:"):
                served = await client.request("workspace/textDocumentContent", {"uri": uri})
                texts[uri.rpartition(".")[2]] = served["text"]
            return {"success": True}

        async def press(params: dict[str, Any]) -> dict[str, Any]:
            titles = [each["title"] for each in params["actions"]]
            wanted = (
                ["Start execution"]
                if "Start execution" in titles
                else ["Show changes"]
                if "diff" not in texts
                else ["Allow once"]
            )
            return {"title": wanted[0]}

        client.answer("window/showDocument", show)
        client.answer("window/showMessageRequest", press)
        created = await plan(client, '1. Replace "old" with "new" in a.txt\n2. List files')
        await client.wait_shown("2 of 2 steps done")
        asked = next(params for name, params in client.asked if name == "client/registerCapability")
        (registered,) = [each for each in asked["registrations"] if "textDocumentContent" in each["method"]]
        assert registered["registerOptions"] == {"schemes": ["planloom"]}
        assert (
            texts["diff"] == "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-old\n+new\n"
        )
        assert not [*(folder / ".planloom").glob("changes-*")]
        show_plan = {"command": "planloom.showPlan", "arguments": [created["planId"]]}
        answer = await client.request("workspace/executeCommand", show_plan)
        assert texts["md"] == answer["text"] and "a.txt" in texts["md"]
        for uri in ("planloom:/plans/none.md", "planloom:/changes/none.diff", "file:///etc/passwd"):
            error = await client.fails("workspace/textDocumentContent", {"uri": uri})
            assert error.word in ("unknown_plan", "unknown_approval")


async def never(_: dict[str, Any]) -> None:
    raise NeverAnswered


async def test_what_an_approval_without_files_asks_is_served(folder: Path) -> None:
    serving = {"textDocumentContent": {"dynamicRegistration": True}}
    capabilities = {**FULL, "workspace": {**FULL["workspace"], **serving}}
    async with plain(folder, capabilities) as client:
        asks = "- [ ] Deploy?\n  - kind: approval\n  - question: Is the backup made?\n"
        uri = (folder / "release.plan.md").as_uri()
        client.open(uri, f"# Release\n\n## Steps\n\n{asks}\n- [ ] List files\n  - tool: list_files\n")
        client.answer("window/showMessageRequest", never)
        adopted = await client.request(
            "workspace/executeCommand", {"command": "planloom.adopt", "arguments": [uri]}
        )
        approve = {"command": "planloom.approve", "arguments": [adopted["planId"], 1]}
        await client.request("workspace/executeCommand", approve)
        wait = {"planId": adopted["planId"], "until": "attention"}
        plan_ = (await client.request("planloom/plan/wait", wait))["plan"]
        address = f"planloom:/changes/{plan_['pending']['approvals'][0]['approvalId']}.diff"
        served = await client.request("workspace/textDocumentContent", {"uri": address})
        assert served["text"] == "Is the backup made?\n"


@pytest.mark.slow
async def test_an_offer_that_nobody_answers_does_not_hold_up_the_questions_of_plans(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shown_documents, "_OFFER_SECONDS", 0.05)
    async with plain(folder) as client:
        reader = Reader(client, Allow="Allow once", Start="Start execution")

        async def answer(params: dict[str, Any]) -> Any:
            if params["actions"][1]["title"] != "Adopt as a new plan":
                return await reader.answer(params)
            reader.asked.append(params)
            await client.until(lambda: client.told("$/cancelRequest"))
            raise Failed({"code": -32800, "message": "It was taken back."})

        client.answer("window/showMessageRequest", answer)
        client.open((folder / "both.plan.md").as_uri(), KEPT, language_id="markdown")
        await client.until(lambda: reader.asked)
        await plan(client)
        await client.wait_shown("3 of 3 steps done")
        assert client.told("$/cancelRequest")
