"""Wrong requests: each is answered once, none breaks anything, and the server is as good as before."""

from __future__ import annotations

import asyncio
import logging
import os
from pathlib import Path

import pytest

from planloom.lsp.methods import CLIENT_NOTIFICATIONS, CLIENT_REQUESTS
from tests.depth import rounds
from tests.fuzzing.protocol import USER, run, send, works
from tests.fuzzing.protocol_cases import Case, Cases, Known
from tests.support.lsp_client import EXTENSION, FULL, connected
from tests.support.process_client import ProcessClient
from tests.support.real_application import real_application
from tests.support.warm_server import WarmServers


@pytest.mark.slow
def test_the_cases_reach_every_method_and_are_the_same_for_a_seed() -> None:
    cases, again = Cases(3, Known()), Cases(3, Known())
    made = [cases.next() for _ in range(3_000)]
    assert [each.text(1) for each in made] == [again.next().text(1) for _ in range(3_000)]
    methods = {each.method for each in made}
    assert {each.name for each in (*CLIENT_REQUESTS, *CLIENT_NOTIFICATIONS)} <= methods
    assert {"textDocument/hover", "textDocument/didChange", "workspace/executeCommand"} <= methods
    assert any(not each.is_json for each in made) and any(len(each.text(1)) > 100_000 for each in made)


async def test_an_internal_error_and_a_lost_answer_are_findings(tmp_path: Path) -> None:
    class Broken(Cases):
        def next(self) -> Case:
            return Case("planloom/status", {}, is_request=True)

    async with connected(real_application(), folders=[tmp_path], settings=dict(USER)) as client:

        async def breaks(_: object) -> None:
            raise RuntimeError

        client.server.messages.endpoints["planloom/status"] = breaks
        found = await send(client, Broken(1, Known()), Known(), 1)
        assert ["-32603" in each.problem for each in found] == [True]
        assert await works(client, tmp_path) == []


@pytest.mark.parametrize("half", ["\ud800", "x\udfff"])
async def test_half_of_a_surrogate_pair_is_no_internal_error(tmp_path: Path, half: str) -> None:
    async with connected(
        real_application(tmp_path / "l.db"), folders=[tmp_path], settings=dict(USER)
    ) as client:
        made = await client.request(
            "planloom/plan/create", {"text": f"Create the folder a{half}", "mode": "plan"}
        )
        plan_id = made["plan"]["planId"]
        assert (await client.fails("planloom/plan/get", {"planId": half})).code != -32603
        saved = {"planId": plan_id, "name": "n", "description": half}
        await client.wait_event("plan_ready", plan_id=plan_id)
        assert "template" in await client.request("planloom/template/save", saved)


@pytest.mark.slow
@pytest.mark.deep
@pytest.mark.timeout(300)
def test_wrong_requests_are_answered_and_break_nothing() -> None:
    logging.disable(logging.CRITICAL)
    try:
        assert asyncio.run(run(seed=1, count=rounds(2_000, 10_000))) == []
    finally:
        logging.disable(logging.NOTSET)


@pytest.mark.slow
@pytest.mark.deep
@pytest.mark.process
@pytest.mark.timeout(300)
async def test_a_server_in_a_process_of_its_own_bears_the_same(warm: WarmServers, tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "PLANLOOM_CONFIG": str(tmp_path / "none.json"),
    }
    arguments = ["--storage", str(tmp_path / "state"), "--log-file", str(tmp_path / "server.log")]
    client = ProcessClient(warm.start(arguments, environment, tmp_path / "stderr.log"), FULL)
    await client.connect()
    try:
        await client.initialize([workspace], {"planloom": USER, "planloomClient": EXTENSION})
        known = Known()
        assert await send(client, Cases(77, known), known, rounds(500, 1_500)) == []
        assert client.alive and await works(client, workspace) == []
    finally:
        await client.killed()
    assert "Traceback" not in (tmp_path / "stderr.log").read_text()
