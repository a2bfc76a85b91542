"""Whole journeys of a client: plan and approve, refuse, revise, run directly, cancel and resume, load, undo."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from planloom.domain.values import SessionId
from planloom.models.offline.scripted import ScriptedCall, ScriptedModel, Turn
from planloom.models.port import Capabilities
from planloom.service.application import Application
from tests.support.acp_client import FS, AcpError, always, connected, over

REQUEST = '1. Replace "old" with "new" in a.txt\n2. Create b.txt with "hello"\n3. List files'


async def test_a_plan_is_reviewed_and_each_change_is_asked(folder: Path) -> None:
    async with connected(trusts=[folder]) as client:
        await client.open(folder)
        client.answers = always(switch_mode="Start execution", edit="Allow once")
        assert await client.prompt(REQUEST) == "end_turn"
        assert (folder / "a.txt").read_text() == "new\n"
        assert (folder / "b.txt").read_text().strip() == "hello"
        assert [status for _, status in client.entries()] == ["completed"] * 3
        review, *changes = client.asked
        assert "Planloom has planned 3 steps" in review["toolCall"]["content"][0]["content"]["text"]
        diffs = [each for asked in changes for each in asked["toolCall"]["content"] if each["type"] == "diff"]
        assert {
            (Path(each["path"]).name, each.get("oldText"), each["newText"].strip()) for each in diffs
        } == {
            ("a.txt", "old\n", "new"),
            ("b.txt", None, "hello"),
        }
        assert "Done" in client.said()


async def test_what_is_refused_is_not_done(folder: Path) -> None:
    async with connected(trusts=[folder]) as client:
        await client.open(folder)
        client.answers = always(
            switch_mode="Start execution", edit="Skip these changes", execute="Do not run it"
        )
        assert await client.prompt('1. Replace "old" with "new" in a.txt\n2. Run `touch c.txt`') == "end_turn"
        assert (folder / "a.txt").read_text() == "old\n" and not (folder / "c.txt").exists()
        assert [each["toolCall"]["kind"] for each in client.asked] == ["switch_mode", "edit", "execute"]
        assert [text.partition(" (")[2] != "" for text, _ in client.entries()] == [True, True]


async def test_a_command_runs_in_the_agents_own_confined_process(folder: Path) -> None:
    terminal = {**FS, "terminal": True}
    async with connected(trusts=[folder], capabilities=terminal) as client:
        await client.open(folder)
        client.answers = always(switch_mode="Start execution", execute="Allow once")
        await client.prompt("1. Run `echo hello > c.txt`")
        (command,) = (each for each in client.asked if each["toolCall"]["kind"] == "execute")
        assert "$ echo hello > c.txt" in command["toolCall"]["content"][0]["content"]["text"]
        assert (folder / "c.txt").read_text() == "hello\n"


async def test_a_deletion_is_asked_as_one(folder: Path) -> None:
    async with connected(trusts=[folder]) as client:
        await client.open(folder)
        client.answers = always(switch_mode="Start execution", delete="Skip these changes")
        await client.prompt("1. Delete a.txt")
        assert (folder / "a.txt").exists()
        client.answers = always(switch_mode="Start execution", delete="Allow once")
        await client.prompt("1. Delete a.txt")
        assert not (folder / "a.txt").exists()


async def test_a_rejected_plan_is_over(folder: Path) -> None:
    async with connected(trusts=[folder]) as client:
        await client.open(folder)
        client.answers = always(switch_mode="Reject")
        assert await client.prompt(REQUEST) == "end_turn"
        assert len(client.asked) == 1 and (folder / "a.txt").read_text() == "old\n"


async def test_a_plan_is_changed_as_a_document(folder: Path) -> None:
    async with connected(trusts=[folder]) as client:
        await client.open(folder)
        client.answers = always(switch_mode="Edit as a document")
        assert await client.prompt(REQUEST) == "end_turn"
        (document,) = (folder / ".planloom").glob("*.plan.md")
        assert document.name in client.said()
        document.write_text(document.read_text().replace("new_text: new", "new_text: newer"))
        client.answers = always(switch_mode="Start execution", edit="Allow once")
        await client.prompt("/document")
        assert (folder / "a.txt").read_text() == "newer\n"


async def test_feedback_revises_the_plan(folder: Path) -> None:
    model = ScriptedModel(
        [
            Turn(
                text='{"summary": "s", "steps": [{"description": "List files", "tool": "list_files", "args": {}}]}'
            ),
            Turn(
                text='{"summary": "s", "steps": [{"description": "Write b", "tool": "write_file",'
                ' "args": {"path": "b.txt", "content": "b"}}]}'
            ),
        ]
    )
    async with connected(over(None, model), trusts=[folder]) as client:
        await client.open(folder)
        client.answers = always(switch_mode="Say what should change")
        assert await client.prompt("Tidy up the whole folder, please") == "end_turn"
        assert "the next message revises the plan" in client.said()
        client.answers = always(switch_mode="Start execution", edit="Allow once")
        await client.prompt("Write b.txt instead")
        assert (folder / "b.txt").read_text() == "b"
        assert "Write b.txt instead" in "\n".join(each.text for each in model.requests[1].messages)


async def test_a_direct_request_is_done_at_once(folder: Path) -> None:
    async with connected(trusts=[folder]) as client:
        opened = await client.open(folder)
        assert [each["id"] for each in opened["modes"]["availableModes"]] == [
            "plan",
            "direct",
            "perspectives",
        ]
        await client.request("session/set_mode", {"sessionId": client.session_id, "modeId": "direct"})
        client.answers = always(edit="Allow once")
        await client.prompt('Replace "old" with "new" in a.txt')
        assert (folder / "a.txt").read_text() == "new\n"


async def test_a_cancel_pauses_and_the_next_message_goes_on(folder: Path) -> None:
    async with connected(trusts=[folder]) as client:
        await client.open(folder)
        never = asyncio.get_running_loop().create_future()
        client.answers = lambda params: (
            "Start execution" if params["toolCall"]["kind"] == "switch_mode" else never
        )
        turn = asyncio.ensure_future(client.prompt(REQUEST))
        await client.until(lambda: len(client.asked) == 2)
        client.cancel()
        assert await turn == "cancelled"
        assert (folder / "a.txt").read_text() == "old\n"
        client.answers = always(edit="Allow once")
        assert await client.prompt("/resume") == "end_turn"
        assert (folder / "a.txt").read_text() == "new\n" and (folder / "b.txt").exists()


async def test_a_session_is_loaded_from_the_ledger_and_goes_on(folder: Path, tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.sqlite3"
    async with connected(over(ledger), trusts=[folder]) as client:
        await client.open(folder)
        never = asyncio.get_running_loop().create_future()
        client.answers = lambda params: (
            "Start execution" if params["toolCall"]["kind"] == "switch_mode" else never
        )
        turn = asyncio.ensure_future(client.prompt(REQUEST))
        await client.until(lambda: len(client.asked) == 2)
        session_id = client.session_id
        # The client closes the pipes in the middle.
        await client.end()
        turn.cancel()
    async with connected(over(ledger)) as again:
        await again.open(folder, session_id)
        assert again.said("user_message_chunk") == REQUEST
        assert "/resume" in again.said() and len(again.entries()) == 3
        again.answers = always(edit="Allow once")
        await again.prompt("/resume")
        assert (folder / "a.txt").read_text() == "new\n" and (folder / "b.txt").exists()


async def test_undo_takes_all_edits_back(folder: Path) -> None:
    async with connected(trusts=[folder]) as client:
        await client.open(folder)
        client.answers = always(switch_mode="Start execution", edit="Allow once")
        await client.prompt(REQUEST)
        await client.prompt("/undo")
        assert (folder / "a.txt").read_text() == "old\n" and not (folder / "b.txt").exists()
        assert "Taken back: b.txt, a.txt" in client.said()
        await client.prompt("/redo")
        assert (folder / "a.txt").read_text() == "new\n"


async def test_a_question_of_the_model_is_answered_by_an_option_or_in_words(folder: Path) -> None:
    asked = {"question": "Which?", "options": ["one", "two"]}
    asks = Turn(calls=(ScriptedCall(name="ask_user", arguments=asked),))
    model = ScriptedModel([asks, Turn(text="It is two."), asks, Turn(text="It is three.")])
    opened: list[Application] = []
    async with connected(over(None, model, opened), trusts=[folder]) as client:
        await client.open(folder)
        await client.request("session/set_mode", {"sessionId": client.session_id, "modeId": "direct"})
        client.answers = always(other="two")
        await client.prompt("Which of them is it?")
        assert "It is two." in client.said()
        client.answers = always(other="Answer in words")
        await client.prompt("And now?")
        assert "Write your answer as the next message" in client.said()
        await client.prompt("three")
        assert "It is three." in client.said()
        plans = opened[0].plans.list(SessionId(client.session_id), (), None, False)
        found = [opened[0].plans.get(each.plan_id, None) for each in plans]
        assert [each.asked[0].answer for each in found if each is not None] == ["three", "two"]


async def test_commands_are_offered_and_say_what_they_need(folder: Path) -> None:
    async with connected(trusts=[folder]) as client:
        await client.open(folder)
        await client.until(lambda: client.of("available_commands_update"))
        (offered,) = client.of("available_commands_update")
        names = {each["name"] for each in offered["availableCommands"]}
        assert {"undo", "regenerate", "skip", "templates", "template"} <= names
        await client.prompt("/templates")
        assert "**" in client.said()
        with pytest.raises(AcpError, match="Name a template"):
            await client.prompt("/template")
        with pytest.raises(AcpError, match="no such plan"):
            await client.prompt("/undo")


async def test_a_step_is_skipped_by_its_number(folder: Path) -> None:
    async with connected(trusts=[folder]) as client:
        await client.open(folder)
        client.answers = lambda _: None
        await client.prompt(REQUEST)
        assert "waits for your answer" in client.said()
        client.answers = always(switch_mode="Start execution", edit="Allow once")
        await client.prompt("/skip 1")
        assert (folder / "a.txt").read_text() == "old\n" and (folder / "b.txt").exists()
        with pytest.raises(AcpError, match="from 1 to 3"):
            await client.prompt("/skip 9")


async def test_a_failed_step_is_skipped_by_an_answer(folder: Path) -> None:
    async with connected(trusts=[folder]) as client:
        await client.open(folder)
        client.answers = always(switch_mode="Start execution", edit="Allow once", other="Skip")
        await client.prompt('1. Replace "missing" with "new" in a.txt\n2. Create b.txt with "hello"')
        (failed,) = (each for each in client.asked if each["toolCall"]["kind"] == "other")
        assert "step 1 has failed" in failed["toolCall"]["title"]
        assert (folder / "b.txt").exists() and (folder / "a.txt").read_text() == "old\n"


async def test_perspectives_is_the_route_of_its_mode(folder: Path) -> None:
    opened: list[Application] = []
    async with connected(over(None, ScriptedModel([]), opened), trusts=[folder]) as client:
        await client.open(folder)
        await client.request("session/set_mode", {"sessionId": client.session_id, "modeId": "perspectives"})
        await client.prompt("Rebuild the whole module, please")
        (plan,) = opened[0].plans.list(SessionId(client.session_id), (), None, False)
        found = opened[0].plans.get(plan.plan_id, None)
        assert found is not None and found.route == "perspectives"


async def test_what_a_model_says_and_uses_is_told(folder: Path) -> None:
    answer = Turn(text="It holds one word.", prompt_tokens=120, completion_tokens=8)
    model = ScriptedModel([answer], capabilities=Capabilities(context_tokens=32_000))
    opened: list[Application] = []
    async with connected(over(None, model, opened), trusts=[folder]) as client:
        await client.open(folder)
        opened[0]._session.context_tokens = 32_000
        await client.request("session/set_mode", {"sessionId": client.session_id, "modeId": "direct"})
        await client.prompt("What is in a.txt?")
        assert "It holds one word." in client.said() and "It holds" in client.said("agent_thought_chunk")
        assert client.of("usage_update")[-1] == {"sessionUpdate": "usage_update", "used": 128, "size": 32_000}


async def test_a_plan_is_made_by_a_template(folder: Path) -> None:
    opened: list[Application] = []
    async with connected(over(None, None, opened), trusts=[folder]) as client:
        await client.open(folder)
        template = next(each for each in opened[0].templates.list() if each.parameters)
        values = " ".join(
            f"{each.name}={each.options[0] if each.options else 'a.txt'}" for each in template.parameters
        )
        client.answers = always(switch_mode="Reject")
        await client.prompt(f'/template "{template.name}" {values}')
        assert len(client.entries()) == len(template.steps)
