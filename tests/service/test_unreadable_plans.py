"""A plan that cannot be read does not affect the others."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from planloom.domain.errors import PlanUnreadable
from planloom.domain.plans.plan import Plan
from planloom.service.requests import CreateRequest
from tests.support.ledgers import without_checksums
from tests.support.lsp_client import Failed, connected
from tests.support.real_application import real_application
from tests.support.studio import studio

EDIT = '1. Replace "old" with "new" in a.txt\n2. List files'
SETTINGS = {"model": {"provider": "embedded"}}


@pytest.fixture(autouse=True)
def _no_user_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PLANLOOM_CONFIG", str(tmp_path / "settings.json"))


async def two_plans(folder: Path) -> tuple[Plan, Plan]:
    """A plan that was running when its server died, and an ended one."""
    async with studio(folder, {"a.txt": "old\n"}, ledger=folder / "l.db") as at:
        ended = await at.run("1. List files\n2. List files")
        running = await at.approve(await at.ask(EDIT))
        at.app._jobs.cancel("")
        return running, ended


def spoilt(path: Path, statement: str, *values: Any) -> None:
    with closing(sqlite3.connect(path)) as raw, raw:
        raw.execute(statement, values)


CHECKED = {
    "another letter in a request": 'UPDATE events SET body = replace(body, \'"request":"1.\', \'"request":"2.\')'
    " WHERE plan_id = ? AND seq = 1",
    "another time": "UPDATE events SET at = replace(at, 'T', ' ') WHERE plan_id = ? AND seq = 4",
    "another checksum": "UPDATE events SET type = type || '0' WHERE plan_id = ? AND seq = 4",
    "another type": "UPDATE events SET type = 'plan_sung' WHERE plan_id = ? AND seq = 4",
}
"""Damages that leave valid events."""
DAMAGES = {
    "no JSON": "UPDATE events SET body = '{' WHERE plan_id = ? AND seq = 4",
    "no text": "UPDATE events SET body = CAST(x'7bff7d' AS TEXT) WHERE plan_id = ? AND seq = 4",
    "an event of a newer version": """UPDATE events SET body = '{"type": "plan_sung"}' WHERE plan_id = ? AND seq = 4""",
    "an event that cannot follow": 'UPDATE events SET body = \'{"type": "plan_executing"}\''
    " WHERE plan_id = ? AND seq = 2",
    "a missing event": "DELETE FROM events WHERE plan_id = ? AND seq = 4",
    "a missing end": "DELETE FROM events WHERE plan_id = ? AND seq > 4",
    "no events": "DELETE FROM events WHERE plan_id = ?",
    "a time that is none": "UPDATE events SET at = 'noon' WHERE plan_id = ? AND seq = 4",
    "a time without a zone": "UPDATE events SET at = '2026-01-02T12:00:00' WHERE plan_id = ? AND seq = 4",
    "a session that is no text": "UPDATE plans SET session_id = CAST(x'ff' AS TEXT) WHERE plan_id = ?",
}


@pytest.mark.parametrize(
    ("damage", "checked"),
    [
        *(pytest.param(each, True, id=name) for name, each in (DAMAGES | CHECKED).items()),
        *(pytest.param(each, False, id=f"{name}, without checksums") for name, each in DAMAGES.items()),
    ],
)
@pytest.mark.parametrize("which", [0, 1], ids=["of a running plan", "of an ended plan"])
async def test_a_plan_that_cannot_be_read_is_set_aside_alone(
    tmp_path: Path, damage: str, which: int, *, checked: bool
) -> None:
    plans = await two_plans(tmp_path)
    if not checked:
        without_checksums(tmp_path / "l.db")
    bad, good = plans[which], plans[1 - which]
    spoilt(tmp_path / "l.db", damage, bad.plan_id)
    with closing(sqlite3.connect(tmp_path / "l.db")) as raw:
        before = raw.execute(
            "SELECT seq, at, type, CAST(body AS BLOB) FROM events WHERE plan_id = ?", (bad.plan_id,)
        ).fetchall()
    async with studio(tmp_path, ledger=tmp_path / "l.db") as at:
        with pytest.raises(PlanUnreadable):
            at.now(bad)
        with pytest.raises(PlanUnreadable):
            await at.app.plans.cancel(bad.plan_id)
        assert [each.plan_id for each in at.app.plans.list(None, (), None, True)] == [good.plan_id]
        assert at.now(good).status == ("completed" if which == 0 else "paused")
        status = at.app.status()
        assert status.health == "degraded" and len(status.problems) == 1 and bad.plan_id in status.problems[0]
        assert at.notices == [("error", status.problems[0])]
        assert (await at.run("1. List files\n2. List files")).status == "completed"
        assert at.app.plans.raw(bad.plan_id).count('"body"') == len(before)
    with closing(sqlite3.connect(tmp_path / "l.db")) as raw:
        after = raw.execute(
            "SELECT seq, at, type, CAST(body AS BLOB) FROM events WHERE plan_id = ?", (bad.plan_id,)
        ).fetchall()
    assert after == before


async def test_a_client_gets_what_the_ledger_holds_of_a_plan_that_cannot_be_read(tmp_path: Path) -> None:
    running, _ = await two_plans(tmp_path)
    spoilt(tmp_path / "l.db", DAMAGES["no JSON"], running.plan_id)
    make = real_application(tmp_path / "l.db")
    async with connected(make, folders=[tmp_path / "workspace"], settings=SETTINGS) as client:
        status = await client.request("planloom/status")
        assert status["health"] == "degraded"
        health = [params for method, params in client.notifications if method == "planloom/health"]
        assert health == [{"health": "degraded", "problems": status["problems"]}]
        for format_ in ("json", "markdown"):
            exported = await client.request(
                "planloom/plan/export", {"planId": running.plan_id, "format": format_}
            )
            assert '"type": "plan_start"' in exported["text"]
        assert (await client.fails("planloom/plan/get", {"planId": running.plan_id})).word == "storage_failed"
        assert len(client.shown()) == 1


@pytest.mark.parametrize("seed", range(12))
async def test_bytes_flipped_anywhere_in_the_events_are_no_defect(tmp_path: Path, seed: int) -> None:
    running, ended = await two_plans(tmp_path)
    draw = random.Random(seed)
    with closing(sqlite3.connect(tmp_path / "l.db")) as raw, raw:
        rows = raw.execute("SELECT plan_id, seq, CAST(body AS BLOB) FROM events").fetchall()
        for plan_id, seq, body in draw.sample(rows, 3):
            changed = bytearray(body)
            changed[draw.randrange(len(changed))] ^= 1 << draw.randrange(8)
            raw.execute(
                "UPDATE events SET body = CAST(? AS TEXT) WHERE plan_id = ? AND seq = ?",
                (bytes(changed), plan_id, seq),
            )
    make = real_application(tmp_path / "l.db")
    async with connected(make, folders=[tmp_path / "workspace"], settings=SETTINGS) as client:
        client.answer("window/showMessageRequest", lambda _: None)
        named = [{"planId": plan.plan_id} for plan in (running, ended)]
        asked: list[tuple[str, dict[str, Any]]] = [
            ("planloom/status", {}),
            ("planloom/plan/list", {"allWorkspaces": True}),
            ("planloom/plan/create", {"text": "1. List files\n2. List files", "mode": "plan"}),
        ]
        for each in named:
            asked += [
                ("planloom/plan/get", each),
                ("planloom/plan/events", each),
                ("planloom/plan/tasks", each),
                ("planloom/plan/export", {**each, "format": "json"}),
                ("planloom/plan/resume", each),
                ("planloom/plan/undo", each),
                ("planloom/plan/delete", each),
            ]
        for method, params in asked:
            try:
                await client.request(method, params)
            except Failed as error:
                assert error.code == -32803, f"{method}: {error}"
        client.shown()


async def test_a_template_that_cannot_be_read_is_left_out(tmp_path: Path) -> None:
    async with studio(tmp_path, ledger=tmp_path / "l.db") as at:
        created = await at.app.plans.create(CreateRequest(text="1. List files\n2. List files"))
        plan = await at.reach(created.plan, "ready")
        kept = await at.app.templates.save(plan.plan_id, "mine", None, ())
        spoilt(tmp_path / "l.db", "INSERT INTO templates VALUES ('bad', '{')")
        saved = [each.template_id for each in at.app.templates.list() if not each.builtin]
        assert saved == [kept.template_id]
