"""What a client is told of steps that wait for each other, of their commands' output, and of what they cost so far."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.lsp_client import LspClient, connected
from tests.support.real_application import real_application

SETTINGS = {"model": {"provider": "embedded"}, "approvals": {"plan": "none"}}


@pytest.fixture(autouse=True)
def _no_user_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PLANLOOM_CONFIG", str(tmp_path / "settings.json"))


async def started(client: LspClient, text: str) -> dict[str, Any]:
    """A plan of this request, approved."""
    created = await client.request("planloom/plan/create", {"text": text, "mode": "plan"})
    plan_id = created["plan"]["planId"]
    ready = await client.request("planloom/plan/wait", {"planId": plan_id, "until": "ready"})
    approved = await client.request(
        "planloom/plan/approve", {"planId": plan_id, "version": ready["plan"]["version"], "review": "each"}
    )
    plan: dict[str, Any] = approved["plan"]
    return plan


async def asked(client: LspClient, plan: dict[str, Any]) -> dict[str, Any]:
    """The approval that the plan waits for."""
    waiting = await client.request("planloom/plan/wait", {"planId": plan["planId"], "until": "attention"})
    approval: dict[str, Any] = waiting["plan"]["pending"]["approvals"][0]
    return approval


def step_of(plan: dict[str, Any], index: int) -> str:
    return str(plan["steps"][index]["stepId"])


async def waits_of(client: LspClient, plan: dict[str, Any], wanted: list[dict[str, Any]]) -> None:
    """Wait until the last that was told of the plan is this."""
    await client.until(
        lambda: (
            [each["waits"] for each in client.told("planloom/waits") if each["planId"] == plan["planId"]][-1:]
            == [wanted]
        )
    )


@pytest.mark.parametrize(
    ("first", "second", "what"),
    [
        (
            '1. Replace "a" with "b" in note.txt\n2. List files',
            '1. Replace "c" with "d" in note.txt\n2. List files',
            {"resource": "path", "path": "note.txt"},
        ),
        ("1. Run `true`\n2. List files", "1. Run `false`\n2. List files", {"resource": "terminal"}),
    ],
)
async def test_a_step_that_waits_for_another_plan_names_it(
    tmp_path: Path, first: str, second: str, what: dict[str, str]
) -> None:
    work = tmp_path / "workspace"
    work.mkdir()
    (work / "note.txt").write_text("a c\n")
    async with connected(real_application(tmp_path / "l.db"), folders=[work], settings=SETTINGS) as client:
        holder = await started(client, first)
        await asked(client, holder)
        waiter = await started(client, second)
        used_by = {"usedByPlan": holder["planId"], "usedByStep": step_of(holder, 0)}
        await waits_of(client, waiter, [{"stepId": step_of(waiter, 0), **what, **used_by}])
        assert not any(each["planId"] == holder["planId"] for each in client.told("planloom/waits"))
        await client.request("planloom/plan/cancel", {"planId": holder["planId"]})
        await waits_of(client, waiter, [])
        assert (await asked(client, waiter))["stepId"] == step_of(waiter, 0)


async def test_a_plan_that_is_cancelled_while_it_waits_waits_no_more(tmp_path: Path) -> None:
    work = tmp_path / "workspace"
    work.mkdir()
    async with connected(real_application(tmp_path / "l.db"), folders=[work], settings=SETTINGS) as client:
        holder = await started(client, "1. Run `true`\n2. Run `true`")
        await asked(client, holder)
        waiter = await started(client, "1. Run `false`\n2. Run `false`")
        await client.until(lambda: client.told("planloom/waits"))
        await client.request("planloom/plan/cancel", {"planId": waiter["planId"]})
        await waits_of(client, waiter, [])


async def test_the_output_of_a_steps_commands_is_there_after_a_restart(tmp_path: Path) -> None:
    work = tmp_path / "workspace"
    work.mkdir()
    make = real_application(tmp_path / "l.db")
    async with connected(make, folders=[work], settings=SETTINGS) as client:
        plan = await started(client, "1. Run `echo one; echo two >&2`\n2. List files")
        approval = await asked(client, plan)
        await client.request(
            "planloom/approval/respond", {"approvalId": approval["approvalId"], "decision": "allow"}
        )
        await client.request("planloom/plan/wait", {"planId": plan["planId"], "until": "ended"})
    async with connected(make, folders=[work], settings=SETTINGS) as client:
        of = {"planId": plan["planId"]}
        found = await client.request("planloom/step/output", {**of, "stepId": step_of(plan, 0)})
        (command,) = found["commands"]
        assert sorted(command.pop("output").split()) == ["one", "two"]
        expected = {"command": "echo one; echo two >&2", "ok": True, "exitCode": 0}
        assert {name: value for name, value in command.items() if name != "callId"} == expected
        assert await client.request("planloom/step/output", {**of, "stepId": step_of(plan, 1)}) == {
            "commands": []
        }
        assert (await client.fails("planloom/step/output", {**of, "stepId": "none"})).word == "unknown_step"
