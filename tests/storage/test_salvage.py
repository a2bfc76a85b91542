"""A damaged ledger is repaired: what can be read of it is in a fresh one, and nothing of it is lost."""

from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import datetime
from pathlib import Path

import pytest

from planloom.domain.changes import sha256
from planloom.domain.errors import PlanloomError, StorageFailed
from planloom.domain.plans.plan import Plan
from planloom.domain.values import PlanId
from planloom.execution.plan_store import PlanStore
from planloom.service.repair import Repaired, examined
from planloom.storage.ledger import Ledger
from planloom.storage.schema import VERSION
from tests.storage.test_ledger import begun
from tests.support.ledgers import as_of_version

NOW = datetime(2026, 1, 2, 3, 4, 5)
PLANS = 30
TEXT = "".join(map(str, range(2_000)))


def filled(path: Path, plans: int = PLANS) -> dict[PlanId, Plan]:
    """A ledger with several plans, each with a text of its own; the plans by id."""
    ledger = Ledger(path)
    made = {}
    for number in range(plans):
        plan = begun(ledger, f"p{number:02}")
        text = f"{number} {TEXT}"
        ledger.keep(plan.plan_id, [(sha256(text), text)])
        made[plan.plan_id] = plan
    ledger.keep_template("t", "{}")  # type: ignore[arg-type]
    ledger.close()
    return made


def repaired(path: Path) -> Repaired:
    with examined(path) as found:
        assert not found.is_sound
        return found.repair(NOW)


def read_back(path: Path) -> tuple[dict[PlanId, Plan], list[PlanId]]:
    """The plans of a ledger that can be read, and the ids of those that cannot."""
    ledger = Ledger(path)
    assert ledger.problem is None
    plan_store, readable, damaged = PlanStore(ledger), dict[PlanId, Plan](), list[PlanId]()
    for plan_id in ledger.all_plans():
        try:
            readable[plan_id] = plan_store.read(plan_id)
        except PlanloomError:
            damaged.append(plan_id)
    ledger.close()
    return readable, damaged


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_a_sound_ledger_is_left_as_it_is(tmp_path: Path) -> None:
    made = filled(tmp_path / "l.db")
    before = (tmp_path / "l.db").stat().st_ino
    with examined(tmp_path / "l.db") as found:
        assert found.is_sound and len(found.readable) == PLANS
    assert (tmp_path / "l.db").stat().st_ino == before and names(tmp_path) == {"l.db"}
    assert read_back(tmp_path / "l.db") == (made, [])


def test_a_damaged_plan_is_exported_and_the_others_move_in_their_order(tmp_path: Path) -> None:
    made = filled(tmp_path / "l.db")
    with closing(sqlite3.connect(tmp_path / "l.db")) as raw, raw:
        raw.execute("UPDATE events SET body = '{' WHERE plan_id = 'p03' AND seq = 2")
    done = repaired(tmp_path / "l.db")
    assert done.kept.name == "l.db.damaged-20260102-030405"
    assert names(tmp_path) == {"l.db", done.kept.name, "plan-p03.20260102-030405.json"}
    assert (tmp_path / "l.db").stat().st_mode & 0o077 == done.exported[0].stat().st_mode & 0o077 == 0
    exported = json.loads(done.exported[0].read_text())
    assert exported["planId"] == "p03" and [row["seq"] for row in exported["events"]] == [1, 2]
    assert (
        exported["events"][1]["body"] == "{" and json.loads(exported["events"][0]["body"])["request"] == "r"
    )
    del made[PlanId("p03")]
    assert read_back(tmp_path / "l.db") == (made, [])
    ledger = Ledger(tmp_path / "l.db")
    assert ledger.plans() == tuple(reversed(made)) and ledger.templates() == ("{}",)
    assert ledger.text(sha256(f"4 {TEXT}")) == f"4 {TEXT}"
    assert all(row.counted for row in ledger.summaries())
    assert read_back(done.kept)[1] == ["p03"], "the old file is as it was"


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100))
def test_bytes_flipped_anywhere_in_the_file_lose_no_plan_that_was_not_hit(tmp_path: Path, seed: int) -> None:
    path = tmp_path / "l.db"
    made = filled(path)
    draw = random.Random(seed)
    data = bytearray(path.read_bytes())
    for _ in range(draw.choice((1, 3, 20))):
        data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
    path.write_bytes(data)
    with examined(path) as found:
        sound = found.is_sound
        if not sound:
            kept = found.repair(NOW).kept
    if sound:
        return
    assert kept.exists()
    with examined(path) as again:
        assert again.is_sound
    readable, damaged = read_back(path)
    assert not damaged
    exported = {json.loads(file.read_text())["planId"] for file in tmp_path.glob("plan-*.json")}
    told = {PlanId(plan_id) for plan_id in exported} | set(readable)
    if kept.read_bytes()[:100] == bytes(data[:100]) and len(readable) > PLANS // 2:
        # A page of many plans may be gone; the plans beside it are not.
        assert len(told & set(made)) >= PLANS - 15


def truncated(path: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 2)


def zeroed(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(8192)
        file.write(bytes(4096))


@pytest.mark.parametrize("spoil", [truncated, zeroed])
def test_a_file_with_lost_pages_gives_back_what_is_left(
    tmp_path: Path, spoil: Callable[[Path], None]
) -> None:
    filled(tmp_path / "l.db")
    spoil(tmp_path / "l.db")
    assert repaired(tmp_path / "l.db").kept.exists()
    assert read_back(tmp_path / "l.db")[1] == []


def test_a_file_that_is_no_database_is_kept_and_an_empty_ledger_takes_its_place(tmp_path: Path) -> None:
    (tmp_path / "l.db").write_bytes(b"this is no database at all" * 100)
    done = repaired(tmp_path / "l.db")
    assert done.kept.read_bytes() == b"this is no database at all" * 100
    assert read_back(tmp_path / "l.db") == ({}, [])


def test_a_damaged_ledger_of_an_older_version_is_brought_up_to_date(tmp_path: Path) -> None:
    made = filled(tmp_path / "l.db")
    as_of_version(tmp_path / "l.db", 2)
    with closing(sqlite3.connect(tmp_path / "l.db")) as raw, raw:
        raw.execute("DELETE FROM events WHERE plan_id = 'p01' AND seq = 1")
    repaired(tmp_path / "l.db")
    del made[PlanId("p01")]
    assert read_back(tmp_path / "l.db") == (made, [])


def test_a_ledger_in_use_is_not_repaired(tmp_path: Path) -> None:
    filled(tmp_path / "l.db")
    server = Ledger(tmp_path / "l.db")
    with pytest.raises(StorageFailed, match="Close the editors"), examined(tmp_path / "l.db"):
        pass
    begun(server, "of a server")
    with pytest.raises(StorageFailed, match="runs plans"), examined(tmp_path / "l.db"):
        pass
    assert begun(server, "goes on").plan_id == "goes on" and server.problem is None
    server.close()
    with examined(tmp_path / "l.db") as found:
        assert found.is_sound and len(found.readable) == PLANS + 2


@pytest.mark.slow
def test_no_server_opens_a_ledger_while_it_is_repaired(tmp_path: Path) -> None:
    filled(tmp_path / "l.db")
    with examined(tmp_path / "l.db"), pytest.raises(StorageFailed, match="locked"):
        Ledger(tmp_path / "l.db")


def test_a_ledger_of_a_newer_version_is_not_repaired(tmp_path: Path) -> None:
    filled(tmp_path / "l.db")
    with closing(sqlite3.connect(tmp_path / "l.db")) as raw:
        raw.execute(f"PRAGMA user_version = {VERSION + 1}")
    with pytest.raises(StorageFailed, match="schema"), examined(tmp_path / "l.db"):
        pass
    assert names(tmp_path) == {"l.db"}


def test_what_was_kept_by_an_earlier_repair_is_never_overwritten(tmp_path: Path) -> None:
    filled(tmp_path / "l.db")
    (tmp_path / "l.db.damaged-20260102-030405").write_text("earlier")
    with closing(sqlite3.connect(tmp_path / "l.db")) as raw, raw:
        raw.execute("DELETE FROM events WHERE plan_id = 'p01' AND seq = 1")
    before = read_back(tmp_path / "l.db")
    with pytest.raises(StorageFailed):
        repaired(tmp_path / "l.db")
    assert read_back(tmp_path / "l.db") == before and before[1] == ["p01"]
    assert (tmp_path / "l.db.damaged-20260102-030405").read_text() == "earlier"
