"""Clients that fail: one stops reading, two share a folder, a panel is reloaded, the server is ended in its work."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.support.process_client import Failed, ProcessClient, ServerGone
from tests.support.served_folder import UNASKED, approved, awaited, serving
from tests.support.warm_server import SUPPORTED, UNSUPPORTED, WarmServers

pytestmark = [
    pytest.mark.process,
    pytest.mark.timeout(300),
    pytest.mark.skipif(not SUPPORTED, reason=UNSUPPORTED),
]
BOUND = 20.0
"""Seconds within which an ended server is gone: ten that it grants to work in hand, and as many for a busy machine."""
LINES = "".join(f"line-{number:02}\n" for number in range(40))


async def holds(condition: Callable[[], Any], seconds: float = 60.0) -> Any:
    """What a condition comes to once it holds; nobody tells of it."""
    async with asyncio.timeout(seconds):
        while not (found := condition()):
            await asyncio.sleep(0.01)
    return found


def lives(process: int) -> bool:
    try:
        os.kill(process, 0)
        return not Path("/proc").is_dir() or "State:\tZ" not in Path(f"/proc/{process}/status").read_text()
    except (ProcessLookupError, FileNotFoundError):
        return False


def running(mark: str) -> bool:
    """Whether a process whose command line holds this mark is alive, in whatever namespace."""
    if not Path("/proc/self/cmdline").exists():
        pytest.skip("The command lines of other processes can be read on Linux only.")
    for process in Path("/proc").iterdir():
        with suppress(OSError):
            if process.name.isdigit() and mark.encode() in (process / "cmdline").read_bytes():
                return True
    return False


def memory_mb(process: int) -> float:
    """What a process holds in memory."""
    status = Path(f"/proc/{process}/status")
    if not status.exists():
        pytest.skip("The memory of another process can be read on Linux only.")
    (line,) = [line for line in status.read_text().splitlines() if line.startswith("VmRSS")]
    return int(line.split()[1]) / 1024


def stored(folder: Path) -> list[str]:
    """The types of the events in the ledger, where a checksum stands behind each."""
    with closing(sqlite3.connect(folder / "state" / "ledger.sqlite3")) as raw:
        return [type_.split()[0] for (type_,) in raw.execute("SELECT type FROM events")]


# A client that stops reading.


async def test_a_plan_goes_on_for_a_client_that_stops_reading_and_catches_up(
    warm: WarmServers, tmp_path: Path
) -> None:
    loud = "\n".join(f"{number}. Run `seq 1 300000`" for number in range(1, 9))
    async with serving(warm, tmp_path) as client:
        plan_id = await approved(client, f"{loud}\n9. Run `touch done`")
        client.stop_reading()
        before = memory_mb(client.pid)
        await holds((tmp_path / "workspace" / "done").exists)
        assert memory_mb(client.pid) - before < 60
        client.read_again()
        plan = await awaited(client, plan_id)
        assert plan["status"] == "completed"
        numbers = [event["seq"] for event in client.events if event["planId"] == plan_id]
        assert numbers == list(range(1, plan["seq"] + 1))
        # What the commands have printed while nobody read is not sent later.
        assert sum(len(text["delta"]) for text in client.told("planloom/stream")) < 8 * 2_000_000


async def test_an_edit_waits_for_a_client_that_reads_again_and_is_made_once(
    warm: WarmServers, tmp_path: Path
) -> None:
    async with serving(warm, tmp_path) as client:
        (tmp_path / "workspace" / "a.txt").write_text("one\ntwo\n")
        plan_id = await approved(
            client,
            '1. Run `touch begun; until test -f go; do sleep 0.01; done`\n2. Replace "two" with "two\nINS" in a.txt',
        )
        await holds((tmp_path / "workspace" / "begun").exists)
        client.stop_reading()
        (tmp_path / "workspace" / "go").touch()
        await holds(lambda: "edit_started" in stored(tmp_path))
        client.read_again()
        assert (await awaited(client, plan_id))["status"] == "completed"
        (buffer,) = client.buffers.values()
        assert buffer.text == "one\ntwo\nINS\n"


@pytest.mark.parametrize("way", ["input", "both pipes"])
async def test_a_client_that_never_reads_again_is_left_in_bounded_time(
    warm: WarmServers, tmp_path: Path, way: str
) -> None:
    async with serving(warm, tmp_path) as client:
        plan_id = await approved(client, "1. Run `seq 1 300000; touch begun; sleep 300`")
        client.stop_reading()
        await holds((tmp_path / "workspace" / "begun").exists)
        client.hang_up() if way == "input" else client.let_go()
        await holds(lambda: not lives(client.pid), BOUND)
        if way == "input":
            client.read_again()
    async with serving(warm, tmp_path) as after:
        plan = (await after.request("planloom/plan/get", {"planId": plan_id}))["plan"]
        assert (plan["status"], plan["pauseReason"]) == ("paused", "restart")


# The end of a server with commands at work.


async def ended(client: ProcessClient, way: str) -> None:
    if way == "shutdown":
        await client.request("shutdown", timeout=BOUND)
        client.notify("exit")
    elif way == "exit":
        client.notify("exit")
    elif way == "input":
        client.hang_up()
    else:
        os.kill(client.pid, {"terminate": signal.SIGTERM, "hangup": signal.SIGHUP}[way])


@pytest.mark.parametrize("background", [False, True], ids=["foreground", "background"])
@pytest.mark.parametrize("way", ["shutdown", "exit", "input", "terminate", "hangup"])
async def test_the_end_of_a_server_ends_its_commands(
    warm: WarmServers, tmp_path: Path, way: str, background: bool
) -> None:
    mark = f"300.{os.getpid()}{time.monotonic_ns()}"
    command = {"command": f"touch begun; exec sleep {mark}", "background": background}
    async with serving(warm, tmp_path) as client:
        plan_id = await approved(
            client,
            "1. Run `true`\n2. Run `sleep 300`",
            {"op": "update", "stepId": "step_1", "set": {"args": command}},
        )
        await holds((tmp_path / "workspace" / "begun").exists)
        assert running(mark)
        await ended(client, way)
        await holds(lambda: not lives(client.pid), BOUND)
        assert not running(mark)
    async with serving(warm, tmp_path) as after:
        plan = (await after.request("planloom/plan/get", {"planId": plan_id}))["plan"]
        assert (plan["status"], plan["pauseReason"]) == ("paused", "restart")
        assert "running" not in {step["status"] for step in plan["steps"]}


# A panel that is reloaded.


async def test_a_panel_that_is_reloaded_misses_no_event_at_full_speed(
    warm: WarmServers, tmp_path: Path
) -> None:
    steps = "\n".join(f"{number}. Create folder made{number}" for number in range(1, 81))
    async with serving(warm, tmp_path) as client:
        plan_id = await approved(client, steps)
        seen: list[dict[str, Any]] = []
        while not seen or seen[-1]["type"] != "plan_completed":
            # Each turn is a panel that knows the events up to one, and reads a page of those after it.
            after = seen[-1]["seq"] if seen else 0
            page = {"planId": plan_id, "after": after, "limit": 7}
            seen += (await client.request("planloom/plan/events", page))["events"]
        assert [event["seq"] for event in seen] == list(range(1, len(seen) + 1))
        await client.wait_event("plan_completed")
        assert seen == [event for event in client.events if event["planId"] == plan_id]


# Two editors on one folder.


async def allowed(client: ProcessClient, plan: dict[str, Any]) -> dict[str, Any]:
    """The plan when everything that it asks approval for was allowed."""
    while approvals := plan["pending"]["approvals"]:
        ask = {"approvalId": approvals[0]["approvalId"], "decision": "allow"}
        await client.request("planloom/approval/respond", ask)
        plan = await awaited(client, plan["planId"])
    return plan


async def test_an_edit_of_another_editors_plan_is_met_like_any_change_of_the_file(
    warm: WarmServers, tmp_path: Path
) -> None:
    asks = {**UNASKED, "approvals": {"write": "ask"}, "execution": {"review": "each"}}
    async with (
        serving(warm, tmp_path, asks, open_on_edit=False) as one,
        serving(warm, tmp_path, open_on_edit=False) as other,
    ):
        path = tmp_path / "workspace" / "a.txt"
        path.write_text(LINES)
        first = await approved(one, '1. Replace "line-03" with "line-03 of the first" in a.txt')
        plan = await awaited(one, first)
        second = await approved(other, '1. Replace "line-30" with "line-30 of the second" in a.txt')
        assert (await awaited(other, second))["status"] == "completed"
        # The file has changed on disk since the question, so that a merge of both changes is asked for.
        assert (await allowed(one, plan))["status"] == "completed"
        made = LINES.replace("line-03", "line-03 of the first").replace("line-30", "line-30 of the second")
        assert path.read_text() == made
        # Each sees the other's plan, and leaves it to its owner.
        listed = (await other.request("planloom/plan/list", {}))["plans"]
        assert {each["planId"] for each in listed} == {first, second}
        assert (await other.fails("planloom/plan/undo", {"planId": first})).word == "owned_elsewhere"
        await one.request("shutdown")
        one.notify("exit")
        await one.dead()
        await other.request("planloom/plan/undo", {"planId": first})
        assert path.read_text() == LINES.replace("line-30", "line-30 of the second")


async def test_both_plans_at_the_same_lines_ask_who_is_right(warm: WarmServers, tmp_path: Path) -> None:
    asks = {**UNASKED, "approvals": {"write": "ask"}, "execution": {"review": "each"}}
    async with (
        serving(warm, tmp_path, asks, open_on_edit=False) as one,
        serving(warm, tmp_path, open_on_edit=False) as other,
    ):
        path = tmp_path / "workspace" / "a.txt"
        path.write_text(LINES)
        first = await approved(one, '1. Replace "line-03" with "first" in a.txt')
        plan = await awaited(one, first)
        second = await approved(other, '1. Replace "line-03" with "second" in a.txt')
        await awaited(other, second)
        plan = await allowed(one, plan)
        (conflict,) = plan["pending"]["conflicts"]
        assert conflict["files"][0]["hunks"][0]["mine"] == "second\n"
        assert path.read_text() == LINES.replace("line-03", "second")


async def test_the_plan_of_an_editor_that_dies_is_carried_on_by_the_other(
    warm: WarmServers, tmp_path: Path
) -> None:
    asks = {**UNASKED, "approvals": {"write": "ask"}, "execution": {"review": "each"}}
    async with serving(warm, tmp_path, asks) as one, serving(warm, tmp_path, open_on_edit=False) as other:
        path = tmp_path / "workspace" / "a.txt"
        path.write_text(LINES)
        plan_id = await approved(one, '1. Create folder made\n2. Replace "line-03" with "first" in a.txt')
        while not (await awaited(one, plan_id))["pending"]["approvals"]:
            pass
        named = {"planId": plan_id}
        assert (await other.fails("planloom/plan/cancel", named)).word == "owned_elsewhere"
        await one.killed()
        with pytest.raises((Failed, ServerGone)):
            await one.request("planloom/status")
        await other.request("planloom/plan/resume", named)
        assert (await allowed(other, await awaited(other, plan_id)))["status"] == "completed"
        assert path.read_text() == LINES.replace("line-03", "first")
        assert (tmp_path / "workspace" / "made").is_dir()
