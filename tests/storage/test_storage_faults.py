"""A real server whose storage fails: it stays up, says so, keeps what it had confirmed, and does nothing twice."""

from __future__ import annotations

import asyncio
import os
import random
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, closing, suppress
from pathlib import Path
from typing import Any, get_args

import pytest

from planloom.storage.ledger import Ledger
from planloom.storage.schema import VERSION
from tests.depth import DEEP, points
from tests.storage.test_ledger import begun
from tests.support.ledgers import Kind
from tests.support.lsp_client import EXTENSION, FULL
from tests.support.process_client import Failed, ProcessClient
from tests.support.warm_server import SUPPORTED, UNSUPPORTED, LedgerFault, WarmServers

# ruff: noqa: ASYNC221, ASYNC240
pytestmark = [
    pytest.mark.process,
    pytest.mark.timeout(900),
    pytest.mark.skipif(not SUPPORTED, reason=UNSUPPORTED),
]
REQUEST = """1. Replace "old" with "old new" in a.txt
2. Run `echo once >> log.txt`
3. Create file b.txt with content "b\""""
SETTINGS = {
    "model": {"provider": "embedded"},
    "execution": {"review": "auto"},
    "approvals": {"write": "allow", "execute": "allow"},
    "edits": {"save": "always"},
}
ENDED = ("completed", "failed", "cancelled")


@asynccontextmanager
async def serving(
    warm: WarmServers,
    folder: Path,
    fault: LedgerFault | None = None,
    before: ProcessClient | None = None,
) -> AsyncIterator[ProcessClient]:
    """A client of a server process over `folder`, killed in the end; its editor is that of the client `before`."""
    root = folder / "workspace"
    root.mkdir(exist_ok=True)
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "PLANLOOM_CONFIG": str(folder / "none.json"),
    }
    started = warm.start(
        ["--storage", str(folder / "state"), "--log-file", str(folder / "server.log")],
        environment,
        folder / "stderr.log",
        ledger_fault=fault,
    )
    client = ProcessClient(started, FULL)
    await client.connect()
    if before is not None:
        client.events += before.events
        client.editor.buffers.update(before.buffers)
    try:
        await client.initialize([root], {"planloom": SETTINGS, "planloomClient": EXTENSION})
        client.editor.reopen_all()
        yield client
    finally:
        await client.killed()


async def used(client: ProcessClient, text: str = REQUEST) -> str | None:
    """Let a plan be made and carried out; its id, None if the server could not begin it."""
    plan_id = None
    with suppress(Failed, TimeoutError):
        plan = (await client.request("planloom/plan/create", {"text": text, "mode": "plan"}))["plan"]
        plan_id = plan["planId"]
        ready = await client.request(
            "planloom/plan/wait", {"planId": plan_id, "until": "ready", "timeoutSeconds": 20}
        )
        plan = ready["plan"]
        if plan["status"] == "pending_approval":
            await client.request("planloom/plan/approve", {"planId": plan_id, "version": plan["version"]})
        await client.request(
            "planloom/plan/wait", {"planId": plan_id, "until": "attention", "timeoutSeconds": 20}
        )
    return plan_id


async def finished(client: ProcessClient) -> dict[str, Any] | None:
    """Resume and allow the newest plan until it has ended; None if there is none."""
    listed = (await client.request("planloom/plan/list", {}))["plans"]
    if not listed:
        return None
    plan_id = listed[0]["planId"]
    for _ in range(40):
        plan: dict[str, Any] = (await client.request("planloom/plan/get", {"planId": plan_id}))["plan"]
        if plan["status"] in ENDED:
            return plan
        if plan["status"] == "pending_approval":
            await client.request("planloom/plan/approve", {"planId": plan_id, "version": plan["version"]})
        elif plan["status"] == "paused":
            await client.request("planloom/plan/resume", {"planId": plan_id})
        for each in plan["pending"]["approvals"]:
            await client.request(
                "planloom/approval/respond", {"approvalId": each["approvalId"], "decision": "allow"}
            )
        await client.request(
            "planloom/plan/wait", {"planId": plan_id, "until": "attention", "timeoutSeconds": 20}
        )
    raise AssertionError(f"the plan does not end: {plan}")


def contents(client: ProcessClient, folder: Path) -> dict[str, str]:
    """What the user sees: buffers over the disk, without what a write that was cut off has left."""
    files = [path for path in (folder / "workspace").iterdir() if not path.name.startswith(".planloom")]
    found = {path.name: path.read_text() for path in files}
    return found | {uri.rpartition("/")[2]: buffer.text for uri, buffer in client.buffers.items()}


def check(folder: Path, client: ProcessClient, plan: dict[str, Any] | None) -> None:
    now = contents(client, folder)
    if plan is None or plan["status"] == "failed":
        assert now == {"a.txt": "old\n"}, now
        return
    assert plan["status"] == "completed", plan
    log = now.pop("log.txt")
    assert now == {"a.txt": "old new\n", "b.txt": "b"}, now
    assert log in ("once\n", "once\nonce\n"), log
    if log != "once\n":
        assert any(event["type"] == "approval_request" for event in client.events), "run again unasked"


def kept(folder: Path) -> list[tuple[str, int]]:
    """The plan and number of every event in the file."""
    with (
        closing(sqlite3.connect(folder / "state" / "ledger.sqlite3")) as raw,
        suppress(sqlite3.OperationalError),
    ):
        return raw.execute("SELECT plan_id, seq FROM events ORDER BY plan_id, seq").fetchall()
    return []


async def failing_at(warm: WarmServers, folder: Path, kind: Kind, nth: int, *, restart: bool) -> str:
    """One run whose ledger fails at its n-th statement; what was seen, '' if the run ended before that."""
    folder.mkdir()
    (folder / "workspace").mkdir()
    (folder / "workspace" / "a.txt").write_text("old\n")
    marker = folder / "failing"
    async with serving(warm, folder, LedgerFault(kind, nth, str(marker))) as client:
        user = asyncio.ensure_future(used(client))
        problems = await struck(client, user, marker)
        if not marker.exists():
            return ""
        shown = {each["message"].removeprefix("Planloom: ") for each in client.shown()}
        assert client.alive and problems and (problems <= shown or problems == {"refused"}), (problems, shown)
        in_memory = any("memory only" in problem for problem in problems)
        if not in_memory:
            heard = sorted((event["planId"], event["seq"]) for event in client.events)
            assert heard == kept(folder), "what was told is what is in the file"
        if not restart:
            marker.unlink()
            async with asyncio.timeout(20):
                while not in_memory and await problems_of(client):
                    await client.news(0.2)
            check(folder, client, await finished(client))
    marker.unlink(missing_ok=True)
    if restart and not in_memory:
        async with serving(warm, folder, before=client) as after:
            check(folder, after, await finished(after))
    return "in memory" if in_memory else "refused" if "refused" in problems else "stopped, resumed"


async def problems_of(client: ProcessClient) -> set[str]:
    """The problems in the status; `refused` while the ledger cannot be opened, which every answer says then."""
    try:
        return set((await client.request("planloom/status"))["problems"])
    except Failed as error:
        assert error.word == "storage_failed" and "ledger" in error.message, error
        return {"refused"}


async def struck(client: ProcessClient, user: asyncio.Future[Any], marker: Path) -> set[str]:
    """Wait until the fault has been met, or the user is done; the problems that the status names then."""
    while not user.done() and not marker.exists():
        await client.news(0.05)
    problems = await problems_of(client)
    async with asyncio.timeout(30):
        while not user.done() and not problems:
            await client.news(0.1)
            problems = await problems_of(client)
    user.cancel()
    with suppress(asyncio.CancelledError):
        await user
    return problems


@pytest.mark.deep
@pytest.mark.parametrize("kind", get_args(Kind))
async def test_a_ledger_that_fails_at_any_statement_stops_the_plan_and_is_told(
    warm: WarmServers, tmp_path: Path, kind: Kind
) -> None:
    for number in points((20, 3, 90, 130, 170, 199, 241, 280, 290), 4):
        assert await failing_at(warm, tmp_path / str(number), kind, number, restart=number % 2 == 0)


def filled(folder: Path) -> list[str]:
    """Make a ledger with twelve plans of the workspace; their ids."""
    (folder / "workspace").mkdir()
    (folder / "workspace" / "a.txt").write_text("old\n")
    ledger = Ledger(folder / "state" / "ledger.sqlite3")
    ids = [begun(ledger, f"p{number:02}", (folder / "workspace").as_uri()).plan_id for number in range(12)]
    ledger.close()
    return list(ids)


def flipped(path: Path, seed: int) -> None:
    draw = random.Random(seed)
    data = bytearray(path.read_bytes())
    for _ in range(draw.choice((1, 3, 20))):
        data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
    path.write_bytes(data)


async def asked(client: ProcessClient, method: str, params: dict[str, Any]) -> Any:
    """The answer, or the word of the error, which is never a defect of the server."""
    try:
        return await client.request(method, params)
    except Failed as error:
        assert error.code != -32603, f"{method}: {error}"
        return error.word


async def served(client: ProcessClient, ids: Sequence[str]) -> str:
    """Use a server over a damaged ledger as a person would; what it said of it."""
    status = await client.request("planloom/status")
    listed = await asked(client, "planloom/plan/list", {})
    read = [await asked(client, "planloom/plan/get", {"planId": plan_id}) for plan_id in ids]
    for plan_id in ids:
        await asked(client, "planloom/plan/export", {"planId": plan_id, "format": "json"})
    plan_id = await used(client, "1. List files\n2. List files")
    status = await client.request("planloom/status")
    shown = {each["message"].removeprefix("Planloom: ") for each in client.shown()}
    assert set(status["problems"]) <= shown, (status["problems"], shown)
    assert client.alive and not client.faults()
    whole = isinstance(listed, dict) and all(isinstance(each, dict) and each["plan"] for each in read)
    assert whole or status["health"] == "degraded", (listed, read)
    if plan_id is None:
        assert status["health"] == "degraded"
        return "no new plan, said"
    plan = (await client.request("planloom/plan/get", {"planId": plan_id}))["plan"]
    if plan["status"] != "completed":
        # The damage was met while it ran: it was stopped as any other.
        assert plan["status"] not in ENDED and status["health"] == "degraded", plan
        return "the plan stopped, said"
    if any("memory only" in problem for problem in status["problems"]):
        return "new plans in memory, said"
    return "works" if status["health"] == "ok" else "plans set aside, said"


async def flipped_run(warm: WarmServers, folder: Path, seed: int) -> str:
    folder.mkdir()
    ids = filled(folder)
    flipped(folder / "state" / "ledger.sqlite3", seed)
    async with serving(warm, folder) as client:
        return await served(client, ids)


@pytest.mark.deep
async def test_bytes_flipped_anywhere_in_the_file_are_told_and_never_a_defect(
    warm: WarmServers, tmp_path: Path
) -> None:
    for seed in range(40) if DEEP else (5, 17, 19):
        assert await flipped_run(warm, tmp_path / str(seed), seed)


def truncated(path: Path) -> None:
    with path.open("rb+") as file:
        file.truncate(path.stat().st_size // 2)


def emptied(path: Path) -> None:
    path.write_bytes(b"")
    os.utime(path, (1, 1))


def replaced(path: Path) -> None:
    path.write_bytes(b"this is no database at all" * 100)


def of_a_newer_version(path: Path) -> None:
    with closing(sqlite3.connect(path)) as raw:
        raw.execute(f"PRAGMA user_version = {VERSION + 1}")


BEFORE = {
    truncated: "new plans in memory, said",
    emptied: "works, said",
    replaced: "new plans in memory, said",
    of_a_newer_version: "new plans in memory, said",
}


@pytest.mark.parametrize("spoil", BEFORE)
async def test_a_ledger_that_was_spoilt_before_the_start(
    warm: WarmServers, tmp_path: Path, spoil: Callable[[Path], None]
) -> None:
    ids = filled(tmp_path)
    path = tmp_path / "state" / "ledger.sqlite3"
    spoil(path)
    before = path.read_bytes()
    async with serving(warm, tmp_path) as client:
        if spoil is emptied:
            assert (await client.request("planloom/plan/list", {}))["plans"] == []
            await client.wait_shown("was empty (0 bytes)")
            return
        assert await served(client, ids) == BEFORE[spoil]
    assert path.read_bytes() == before, "it is never overwritten"


async def test_a_ledger_that_is_deleted_while_a_server_runs(warm: WarmServers, tmp_path: Path) -> None:
    filled(tmp_path)
    async with serving(warm, tmp_path) as client:
        await client.request("planloom/status")
        for file in (tmp_path / "state").iterdir():
            file.unlink()
        with suppress(Failed):
            await client.request("planloom/plan/create", {"text": REQUEST, "mode": "plan"})
        await client.wait_shown("was deleted or replaced")
        status = await client.request("planloom/status")
        assert status["health"] == "degraded" and "deleted" in status["problems"][0]
        plan_id = await used(client, "1. List files\n2. List files")
        plan = (await client.request("planloom/plan/get", {"planId": plan_id}))["plan"]
        assert plan["status"] == "completed"


@pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() != 0, reason="A small file system is mounted by root."
)
async def test_a_full_disk_stops_the_plan_until_there_is_room(warm: WarmServers, tmp_path: Path) -> None:
    state, work = tmp_path / "state", tmp_path / "workspace"
    state.mkdir()
    work.mkdir()
    (work / "a.txt").write_text("old\n")
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", str(state)], check=False)
    if mounted.returncode:
        pytest.skip("Nothing can be mounted here.")
    try:
        fault = LedgerFault("full", 10**9)  # Only so that the leases are renewed often.
        async with serving(warm, tmp_path, fault) as client:
            await client.request("planloom/status")
            filler = state / "filler"
            with suppress(OSError), filler.open("wb", buffering=0) as out:
                while True:
                    out.write(bytes(1024))
            marker = filler
            user = asyncio.ensure_future(used(client))
            async with asyncio.timeout(60):
                while not await problems_of(client):
                    if user.done():
                        # The log of the ledger had room left: it grows with each plan.
                        user = asyncio.ensure_future(used(client, "1. List files\n2. List files"))
                    await client.news(0.05)
            await client.wait_shown("The disk is full")
            user.cancel()
            with suppress(asyncio.CancelledError):
                await user
            heard = sorted((event["planId"], event["seq"]) for event in client.events)
            assert heard == kept(tmp_path)
            marker.unlink()
            async with asyncio.timeout(20):
                while await problems_of(client):
                    await client.news(0.1)
            plan = await finished(client)
            assert plan is None or plan["status"] in ENDED
    finally:
        subprocess.run(["umount", "-l", str(state)], check=False)


async def test_two_servers_share_a_ledger(warm: WarmServers, tmp_path: Path) -> None:
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace" / "a.txt").write_text("old\n")
    async with serving(warm, tmp_path) as one, serving(warm, tmp_path) as other:
        plan = (await one.request("planloom/plan/create", {"text": REQUEST, "mode": "plan"}))["plan"]
        ready = {"planId": plan["planId"], "until": "ready", "timeoutSeconds": 20}
        version = (await one.request("planloom/plan/wait", ready))["plan"]["version"]
        approval = {"planId": plan["planId"], "version": version}
        assert await asked(other, "planloom/plan/approve", approval) == "owned_elsewhere"
        await one.killed()
        await other.request("planloom/plan/approve", approval)
        check(tmp_path, other, await finished(other))
