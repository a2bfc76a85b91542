"""A real server whose storage fails: it stays up, says so, keeps what it had confirmed, and does nothing twice."""

from __future__ import annotations

import asyncio
import os
import random
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, closing, suppress
from pathlib import Path
from typing import Any, get_args

import pytest

from planloom.storage.ledger import Ledger
from planloom.storage.schema import VERSION
from tests.storage.test_ledger import begun
from tests.support.ledgers import Kind
from tests.support.lsp_client import EXTENSION, FULL
from tests.support.process_client import Failed, ProcessClient, ServerGone
from tests.support.warm_server import SUPPORTED, UNSUPPORTED, LedgerFault, WarmServers, warm_servers

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


@pytest.fixture(scope="module")
def warm() -> Iterator[WarmServers]:
    with warm_servers() as started:
        yield started


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
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "PLANLOOM_CONFIG": str(folder / "none.json")}
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
        ready = await client.request("planloom/plan/wait", {"planId": plan_id, "until": "ready", "timeoutSeconds": 20})
        plan = ready["plan"]
        if plan["status"] == "pending_approval":
            await client.request("planloom/plan/approve", {"planId": plan_id, "version": plan["version"]})
        await client.request("planloom/plan/wait", {"planId": plan_id, "until": "attention", "timeoutSeconds": 20})
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
            await client.request("planloom/approval/respond", {"approvalId": each["approvalId"], "decision": "allow"})
        await client.request(
            "planloom/plan/wait", {"planId": plan_id, "until": "attention", "timeoutSeconds": 20}
        )
    raise AssertionError(f"the plan does not end: {plan}")


def contents(client: ProcessClient, folder: Path) -> dict[str, str]:
    """What the user sees: buffers over the disk."""
    found = {path.name: path.read_text() for path in (folder / "workspace").iterdir() if path.is_file()}
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
    with closing(sqlite3.connect(folder / "state" / "ledger.sqlite3")) as raw:
        with suppress(sqlite3.OperationalError):
            return raw.execute("SELECT plan_id, seq FROM events").fetchall()
    return []


async def failing_at(warm: WarmServers, folder: Path, kind: Kind, nth: int, how: str) -> str:
    """One run whose ledger fails at its n-th statement; what was seen, '' if the run ended before that."""
    folder.mkdir()
    (folder / "workspace").mkdir()
    (folder / "workspace" / "a.txt").write_text("old\n")
    marker = folder / "failing"
    fault = LedgerFault(kind, nth, str(marker))
    async with serving(warm, folder, fault) as client:
        user = asyncio.ensure_future(used(client))
        while not user.done() and not marker.exists():
            await client.news(0.05)
        status = await client.request("planloom/status")
        for _ in range(40):
            if user.done() or status["health"] == "degraded":
                break
            await client.news(0.1)
            status = await client.request("planloom/status")
        user.cancel()
        with suppress(asyncio.CancelledError):
            await user
        if not marker.exists():
            return ""
        shown = [each["message"].removeprefix("Planloom: ") for each in client.shown()]
        said = status["health"] == "degraded" and set(status["problems"]) <= set(shown)
        memory = any("memory only" in problem for problem in status["problems"])
        if not memory:
            assert sorted((e["planId"], e["seq"]) for e in client.events) == sorted(kept(folder))
        told = ("memory " if memory else "") + ("said" if said else f"not said {status['health']} {shown}")
        if how == "mended":
            marker.unlink()
            async with asyncio.timeout(20):
                while not memory and (await client.request("planloom/status"))["health"] != "ok":
                    await client.news(0.2)
            check(folder, client, await finished(client))
            return told
        await client.killed()
    marker.unlink()
    async with serving(warm, folder, before=client) as client:
        if memory:
            assert kept(folder) == []
            return told
        check(folder, client, await finished(client))
    return told


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
        assert plan["status"] == "pending_approval" and status["health"] == "degraded", plan
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
