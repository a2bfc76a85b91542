"""Another agent hands work over, a person approves it, and the files change: the whole server but for its process."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any, Literal

import mcp_types as types
import pytest
from mcp.shared.exceptions import MCPError

from planloom.mcp.tools import TOOLS
from planloom.storage.decisions import FILE, Decisions
from planloom.user_folders import state_folder
from planloom.view.plan_view import view
from planloom.view.states import Around
from planloom.view.words import Words
from tests.mcp.agent import REQUEST, Agent, Mode, choosing, connected, files

APPROVE = choosing("Start execution", "Allow once", "Take back")
MODES: tuple[Mode, ...] = ("legacy", "auto")


async def done(agent: Agent) -> dict[str, Any]:
    """A plan that was carried out."""
    created = await agent.call("create_plan", request=REQUEST)
    ended = await agent.call("wait", plan_id=created["plan_id"])
    assert ended["status"] == "completed", ended
    return ended


@pytest.mark.parametrize("mode", MODES)
async def test_a_person_approves_in_the_clients_dialogs_and_the_files_change(work: Path, mode: Mode) -> None:
    async with connected(work, APPROVE, mode=mode) as agent:
        plan = await agent.planned()
        assert "asks the person in your client" in plan["next"]
        assert files(work) == {"a.txt": "old\n"}
        ended = await agent.call("wait", plan_id=plan["plan_id"])
        assert (ended["status"], ended["next"]) == ("completed", "The plan has ended.")
        assert ended["changed_files"] == ["a.txt: edited", "b.txt: new file"]
        assert [step["state"] for step in ended["steps"]] == ["done", "done"]
        assert files(work) == {"a.txt": "new\n", "b.txt": "b"}
        review, edit, creation = (each.message for each in agent.asked)
        assert "1. Replace 'old' in a.txt\n   edit_file" in review
        assert "-old\n+new" in edit
        assert "+b" in creation


async def test_progress_is_told_while_it_is_waited_for(work: Path) -> None:
    async with connected(work, APPROVE) as agent:
        await done(agent)
        assert agent.progress[-1] == "Done"
        assert "Waits for your approval · 1 of 2" in agent.progress


@pytest.mark.parametrize("mode", MODES)
async def test_a_person_rejects_with_feedback_which_the_agent_reads(work: Path, mode: Mode) -> None:
    def person(_: types.ElicitRequestFormParams) -> types.ElicitResult:
        return types.ElicitResult(action="accept", content={"answer": "Reject", "feedback": "Not b.txt"})

    async with connected(work, person, mode=mode) as agent:
        plan = await agent.planned()
        rejected = await agent.call("wait", plan_id=plan["plan_id"])
        assert rejected["status"] == "rejected"
        assert rejected["feedback"] == "Not b.txt"
        assert "edit_plan" in rejected["next"]
        assert files(work) == {"a.txt": "old\n"}


async def test_an_effect_that_the_person_skips_is_not_made(work: Path) -> None:
    def person(params: types.ElicitRequestFormParams) -> types.ElicitResult:
        if "b.txt" in params.message and "+b" in params.message:
            return types.ElicitResult(action="accept", content={"answer": "Skip these changes"})
        return APPROVE(params)

    async with connected(work, person) as agent:
        plan = await agent.planned()
        await agent.call("wait", plan_id=plan["plan_id"])
        assert files(work) == {"a.txt": "new\n"}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("action", ["cancel", "decline"])
async def test_a_dismissed_question_is_no_answer(
    work: Path, mode: Mode, action: Literal["cancel", "decline"]
) -> None:
    async with connected(work, lambda _: types.ElicitResult(action=action), mode=mode) as agent:
        plan = await agent.planned()
        left = await agent.call("wait", plan_id=plan["plan_id"])
        assert left["status"] == "pending_approval"
        assert "gave no answer of theirs" in left["asked"]


async def test_an_answer_that_was_not_offered_is_none(work: Path) -> None:
    async with connected(
        work, lambda _: types.ElicitResult(action="accept", content={"answer": "Yes!"})
    ) as agent:
        plan = await agent.planned()
        left = await agent.call("wait", plan_id=plan["plan_id"])
        assert left["status"] == "pending_approval"


async def test_a_client_that_never_answers_is_waited_for_until_the_time_is_over(work: Path) -> None:
    never = asyncio.Event()
    async with connected(work, never) as agent:
        plan = await agent.planned()
        left = await agent.call("wait", plan_id=plan["plan_id"], timeout_seconds=0.2)
        assert (left["status"], len(agent.asked)) == ("pending_approval", 1)
        assert "gave no answer of theirs" in left["asked"]


async def test_a_cancelled_call_leaves_the_plan_as_it_is_and_takes_the_question_back(work: Path) -> None:
    never = asyncio.Event()
    async with connected(work, never) as agent:
        plan = await agent.planned()
        waiting = asyncio.create_task(agent.tried("wait", plan_id=plan["plan_id"]))
        await agent.heard.wait()
        waiting.cancel()
        await asyncio.wait({waiting})
        assert (await agent.call("get_plan", plan_id=plan["plan_id"]))["status"] == "pending_approval"
        agent.person = APPROVE
        assert (await agent.call("wait", plan_id=plan["plan_id"]))["status"] == "completed"


async def test_two_calls_that_wait_for_one_plan_ask_each_question_once(work: Path) -> None:
    async with connected(work, APPROVE) as agent:
        plan = await agent.planned()
        ended = await asyncio.gather(*(agent.call("wait", plan_id=plan["plan_id"]) for _ in range(2)))
        assert [each["status"] for each in ended] == ["completed", "completed"]
        assert len(agent.asked) == 3


async def test_without_dialogs_the_plan_waits_and_the_agent_reads_how_the_person_goes_on(work: Path) -> None:
    async with connected(work) as agent:
        plan = await agent.planned()
        waits = await agent.call("wait", plan_id=plan["plan_id"])
        assert waits["status"] == "pending_approval"
        assert waits["waits_for"] == "waits for your review"
        assert waits["next"] == (
            "The plan waits for a person. You cannot approve it or answer for them, and must not run the command "
            f"yourself. They go on in a terminal in {work} by `planloom resume {plan['plan_id'][:8]}`, or in an "
            "editor with Planloom. Tell them so, and call wait when they have."
        )


async def test_a_client_whose_dialogs_are_not_to_be_used_is_not_asked(work: Path) -> None:
    async with connected(work, APPROVE, asks=False) as agent:
        plan = await agent.planned()
        waits = await agent.call("wait", plan_id=plan["plan_id"])
        assert (waits["status"], agent.asked) == ("pending_approval", [])


async def test_an_edited_plan_is_reviewed_again_by_its_new_version(work: Path) -> None:
    async with connected(work, APPROVE) as agent:
        plan = await agent.planned()
        last = plan["steps"][-1]["step_id"]
        edits = [
            {"op": "update", "step_id": last, "args": {"path": "c.txt", "content": "c"}},
            {
                "op": "add",
                "description": "Write d",
                "tool": "write_file",
                "args": {"path": "d.txt", "content": "d"},
            },
        ]
        of_version = {"plan_id": plan["plan_id"], "version": plan["version"]}
        edited = await agent.call("edit_plan", **of_version, edits=edits)
        assert (edited["version"], edited["status"], edited["steps_total"]) == (2, "pending_approval", 3)
        stale = await agent.tried("edit_plan", **of_version, edits=edits)
        assert stale["code"] == "stale_version"
        await agent.call("wait", plan_id=plan["plan_id"])
        assert files(work) == {"a.txt": "new\n", "c.txt": "c", "d.txt": "d"}


async def test_a_plan_that_was_edited_during_its_question_is_asked_about_anew(work: Path) -> None:
    async with connected(work) as editing:
        plan = await editing.planned()

        async def person(params: types.ElicitRequestFormParams) -> types.ElicitResult:
            if len(agent.asked) == 1:
                edits = [{"op": "remove", "step_id": plan["steps"][-1]["step_id"]}]
                await editing.call("edit_plan", plan_id=plan["plan_id"], version=1, edits=edits)
            return APPROVE(params)

        async with connected(work, person) as agent:
            ended = await agent.call("wait", plan_id=plan["plan_id"])
            assert (ended["status"], ended["version"]) == ("completed", 2)
            assert "has changed" in agent.asked[1].message
            assert files(work) == {"a.txt": "new\n"}


async def test_edits_that_make_no_plan_are_refused_with_the_reason(work: Path) -> None:
    async with connected(work) as agent:
        plan = await agent.planned()
        of_version = {"plan_id": plan["plan_id"], "version": 1}
        wrong: list[dict[str, Any]] = [
            {},
            {"edits": [{"op": "remove"}]},
            {"edits": [{"op": "remove", "step_id": "nine"}]},
            {"edits": [{"op": "add", "description": "x", "tool": "no_such_tool"}]},
            {"edits": [{"op": "approve", "step_id": "step_1"}]},
            {"edits": [{"op": "skip", "step_id": "step_1"}], "feedback": "x"},
            {"feedback": "x"},
        ]
        for each in wrong[:-1]:
            assert "error" in await agent.tried("edit_plan", **of_version, **each), each
        assert (await agent.call("get_plan", plan_id=plan["plan_id"]))["version"] == 1


@pytest.mark.parametrize("mode", MODES)
async def test_changes_are_taken_back_if_the_person_agrees(work: Path, mode: Mode) -> None:
    async with connected(work, APPROVE, mode=mode) as agent:
        ended = await done(agent)
        undone = await agent.call("undo", plan_id=ended["plan_id"])
        assert "Take back what the plan" in agent.asked[-1].message
        assert (undone["state"], undone["taken_back"]) == ("Undone", 2)
        assert files(work) == {"a.txt": "old\n"}


async def test_changes_are_not_taken_back_without_a_person(work: Path) -> None:
    async with connected(work, choosing("Start execution", "Allow once", "Leave it")) as agent:
        ended = await done(agent)
        refused = await agent.tried("undo", plan_id=ended["plan_id"])
        assert refused["error"].startswith("The person has not agreed.")
    async with connected(work) as agent:
        refused = await agent.tried("undo", plan_id=ended["plan_id"])
        assert f"`planloom undo {ended['plan_id'][:8]}`" in refused["error"]
    assert files(work) == {"a.txt": "new\n", "b.txt": "b"}


async def test_the_plan_says_whose_words_the_request_is(work: Path) -> None:
    async with connected(work) as agent:
        await agent.planned()
        (plan,) = (await agent.call("get_plan"))["plans"]
        assert (plan["state"], plan["request"]) == ("Ready for review", REQUEST)
        app = await agent.application()
        sentence = "The request is not the user's own words: another agent sent it by MCP."
        found = app.plans.get(plan["plan_id"], None)
        assert found is not None
        assert sentence in [line.message for line in view(found, Around(Words())).log]


async def test_the_clients_roots_are_the_workspace_else_the_current_folder(
    work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(work)
    other = tmp_path / "other"
    other.mkdir()
    for roots, folder in (([other], other), ([], work), ([tmp_path / "missing"], work), (None, work)):
        for mode in MODES:
            async with connected(None, mode=mode, roots=roots) as agent:
                assert str(folder) in (await agent.planned())["next"]


async def test_the_whole_disk_is_no_workspace(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/")
    async with connected(None) as agent:
        refused = await agent.tried("create_plan", request=REQUEST)
        assert refused["code"] == "workspace_required"


async def test_in_a_folder_that_is_not_trusted_nothing_is_written_until_the_person_trusts_it(
    work: Path,
) -> None:
    decisions = Decisions(state_folder() / FILE)

    def person(params: types.ElicitRequestFormParams) -> types.ElicitResult:
        if "Retry" in params.requested_schema["properties"]["answer"]["enum"]:
            assert files(work) == {"a.txt": "old\n"}
            decisions.decide_folder(work, trusted=True)
            return types.ElicitResult(action="cancel")
        return APPROVE(params)

    async with connected(work, person, trust=False) as agent:
        plan = await agent.planned()
        assert "Only the person may trust it" in plan["untrusted"]
        failed = await agent.call("wait", plan_id=plan["plan_id"])
        assert failed["status"] == "paused", failed
        agent.person = choosing("Retry", "Allow once")
        assert (await agent.call("wait", plan_id=plan["plan_id"]))["status"] == "completed"
    assert files(work) == {"a.txt": "new\n", "b.txt": "b"}


async def test_a_result_is_bounded_and_its_rest_can_be_read(work: Path) -> None:
    request = "\n".join(f'{n}. Create file f{n}.txt with content "{n} {"x" * 700}"' for n in range(1, 121))
    async with connected(work) as agent:
        plan = await agent.planned(request)
        seen = [*plan["steps"]]
        while len(seen) < plan["steps_total"]:
            page = await agent.call("get_plan", plan_id=plan["plan_id"], from_step=len(seen) + 1)
            assert len(json.dumps(page)) < 40_000
            seen += page["steps"]
        assert [step["number"] for step in seen] == list(range(1, 121))


async def test_a_plan_that_does_not_fit_is_approved_by_a_button_that_says_so(work: Path) -> None:
    request = "\n".join(f'{n}. Create file f{n}.txt with content "{"x" * 500}"' for n in range(1, 41))
    async with connected(work, choosing("Reject")) as agent:
        plan = await agent.planned(request)
        await agent.call("wait", plan_id=plan["plan_id"])
        offered = agent.asked[0].requested_schema["properties"]["answer"]["enum"]
        assert offered == ["Start execution (not all of it was shown)", "Reject"]


async def test_a_question_that_does_not_fit_says_that_it_was_not_all_shown(work: Path) -> None:
    text = "y" * 20_000
    answer = choosing("Start execution", "Allow once (not all of it was shown)")
    async with connected(work, answer) as agent:
        plan = await agent.planned(f'Create file b.txt with content "{text}"')
        await agent.call("wait", plan_id=plan["plan_id"])
        assert "has not been shown" in agent.asked[-1].message
        assert "Allow for this plan" not in agent.asked[-1].requested_schema["properties"]["answer"]["enum"]
        assert (work / "b.txt").read_text() == text


async def test_a_tool_that_there_is_not_and_wrong_arguments_are_errors(work: Path) -> None:
    async with connected(work) as agent:
        with pytest.raises(MCPError, match="There is no tool 'approve'"):
            await agent.client.call_tool("approve", {})
        for tool in TOOLS:
            wrong = await agent.tried(tool, unknown=True)
            assert wrong["code"] == "invalid_params"
        assert (await agent.tried("get_plan", plan_id="nothing"))["code"] == "unknown_plan"
        assert (await agent.tried("create_plan", request=" "))["code"] == "invalid_params"
