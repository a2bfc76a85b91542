"""The ledger has a copy, made where it has changed, from which plans are taken back that its file has lost."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from planloom.domain.values import PlanId
from planloom.service.repair import examined
from planloom.storage import backup
from planloom.storage.backup import back_up, backup_of, backup_path
from planloom.storage.ledger import Ledger
from tests.storage.test_ledger import begun
from tests.storage.test_salvage import NOW, filled, read_back
from tests.support.ledgers import as_of_version


def emptied(path: Path) -> None:
    path.write_bytes(b"")
    os.utime(path, (1, 1))


def unreadable(path: Path) -> None:
    path.write_bytes(b"this is no database at all" * 100)


def removed(path: Path) -> None:
    path.unlink()


def test_it_is_made_where_the_ledger_has_changed(tmp_path: Path) -> None:
    path = tmp_path / "l.db"
    filled(path, plans=3)
    assert [back_up(path), back_up(path)] == [True, False]
    ledger = Ledger(path)
    begun(ledger, "new")
    assert [back_up(path), back_up(path)] == [True, False]
    found = backup_of(path)
    assert found is not None and found.plans == {"p00", "p01", "p02", "new"}
    assert backup_path(path).stat().st_mode & 0o777 == 0o600
    ledger.close()


@pytest.mark.parametrize("spoil", [emptied, unreadable, removed])
def test_lost_plans_are_told_of_and_taken_back_beside_newer_ones(
    tmp_path: Path, spoil: Callable[[Path], None]
) -> None:
    path = tmp_path / "l.db"
    made = filled(path, plans=3)
    assert back_up(path)
    spoil(path)
    ledger = Ledger(path)
    said = ledger.problem or ledger.note or ""
    assert "A backup of 20" in said and "holds 3 plans" in said and "doctor --repair" in said
    newer = {} if ledger.problem else {PlanId("newer"): begun(ledger, "newer")}
    ledger.close()
    assert not back_up(path), "the copy of the lost plans is not replaced"
    with examined(path) as found:
        assert not found.is_sound and found.lost == {*made}
        found.repair(NOW)
    plans, damaged = read_back(path)
    assert {*plans} == {*made, *newer} and damaged == []
    for plan_id, plan in made.items():
        assert plans[plan_id].steps == plan.steps
    after = Ledger(path)
    assert after.plans(limit=1) == tuple(newer or {PlanId("p02"): None})
    after.close()
    with examined(path) as found:
        assert found.is_sound


def test_an_open_plan_says_that_it_comes_from_the_backup(tmp_path: Path) -> None:
    path = tmp_path / "l.db"
    made = filled(path, plans=1)
    back_up(path)
    emptied(path)
    Ledger(path).close()
    with examined(path) as found:
        found.repair(NOW)
    ledger = Ledger(path)
    (plan_id,) = made
    assert "comes from the ledger's backup of" in ledger.raw_events(plan_id)[-1].body
    ledger.close()


def test_plans_that_the_user_has_deleted_are_not_kept(tmp_path: Path) -> None:
    path = tmp_path / "l.db"
    filled(path, plans=2)
    back_up(path)
    ledger = Ledger(path)
    ledger.delete(PlanId("p00"))
    assert not backup_path(path).exists()
    ledger.close()


def test_a_damaged_a_large_or_an_empty_ledger_is_not_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "l.db"
    Ledger(path).close()
    assert not back_up(path)
    filled(path, plans=2)
    monkeypatch.setattr(backup, "MOST_BYTES", 10)
    assert not back_up(path)
    monkeypatch.undo()
    assert back_up(path)
    whole = backup_path(path).read_bytes()
    ledger = Ledger(path)
    begun(ledger, "new")
    ledger.close()
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * 4096)
    assert not back_up(path) and backup_path(path).read_bytes() == whole
    assert {each.name for each in tmp_path.iterdir()} <= {"l.db", "l.db-wal", "l.db-shm", "l.db.backup"}


def test_a_copy_by_an_older_version_is_brought_up_to_date(tmp_path: Path) -> None:
    path = tmp_path / "l.db"
    made = filled(path, plans=2)
    back_up(path)
    as_of_version(backup_path(path), 5)
    emptied(path)
    Ledger(path).close()
    with examined(path) as found:
        found.repair(NOW)
    assert {*read_back(path)[0]} == {*made}
    with closing(sqlite3.connect(path)) as raw:
        assert raw.execute("PRAGMA quick_check").fetchone() == ("ok",)
