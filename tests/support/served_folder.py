"""Real server processes over one folder: each `serving` is one editor and its server."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.support.lsp_client import EXTENSION, FULL
from tests.support.process_client import ProcessClient
from tests.support.warm_server import WarmServers

UNASKED: dict[str, Any] = {
    "model": {"provider": "embedded"},
    "execution": {"review": "auto"},
    "approvals": {"write": "allow", "execute": "allow"},
}


@asynccontextmanager
async def serving(
    warm: WarmServers, folder: Path, settings: dict[str, Any] = UNASKED, **editor: Any
) -> AsyncIterator[ProcessClient]:
    """A client of a server process over `folder`, killed in the end if it lives."""
    root = folder / "workspace"
    root.mkdir(exist_ok=True)
    started = warm.start(
        ["--storage", str(folder / "state"), "--log-file", str(folder / "server.log")],
        {"PATH": os.environ["PATH"], "HOME": str(folder), "PLANLOOM_CONFIG": str(folder / "none.json")},
        folder / "stderr.log",
    )
    client = ProcessClient(started, FULL, **editor)
    await client.connect()
    try:
        await client.initialize([root], {"planloom": settings, "planloomClient": EXTENSION})
        yield client
    finally:
        await client.killed()


async def approved(client: ProcessClient, text: str, *edits: dict[str, Any]) -> str:
    """The id of a plan for the request, edited and approved."""
    plan = (await client.request("planloom/plan/create", {"text": text, "mode": "plan"}))["plan"]
    named = {"planId": plan["planId"]}
    plan = (await client.request("planloom/plan/wait", {**named, "until": "ready"}))["plan"]
    if edits:
        changed = {**named, "version": plan["version"], "edits": list(edits)}
        plan = (await client.request("planloom/plan/edit", changed))["plan"]
    await client.request("planloom/plan/approve", {**named, "version": plan["version"]})
    return str(plan["planId"])


async def awaited(client: ProcessClient, plan_id: str) -> dict[str, Any]:
    """The plan once it waits for a person or has ended."""
    params = {"planId": plan_id, "until": "attention", "timeoutSeconds": 30}
    plan: dict[str, Any] = (await client.request("planloom/plan/wait", params))["plan"]
    return plan
