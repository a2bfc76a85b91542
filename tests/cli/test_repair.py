"""`planloom doctor --repair` checks the ledger, asks, and repairs it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from planloom.domain.values import PlanId
from planloom.execution.plan_store import PlanStore
from planloom.storage.ledger import Ledger
from tests.storage.test_ledger import begun
from tests.support import command_line

pytestmark = pytest.mark.process


def arguments(folder: Path, *more: str) -> list[str]:
    return ["doctor", "--repair", "--set", f"storage.path={folder / 'state'}", *more]


def damaged(folder: Path) -> Path:
    """A ledger with two plans, one of them damaged."""
    path = folder / "state" / "ledger.sqlite3"
    ledger = Ledger(path)
    for name in ("good", "bad"):
        begun(ledger, name)
    ledger.close()
    with closing(sqlite3.connect(path)) as raw, raw:
        raw.execute("UPDATE events SET body = '{' WHERE plan_id = 'bad' AND seq = 2")
    return path


def plans(path: Path) -> tuple[PlanId, ...]:
    ledger = Ledger(path)
    found = ledger.all_plans()
    ledger.close()
    return found


def test_a_sound_ledger_is_told_to_be_in_order(tmp_path: Path) -> None:
    ended = command_line.run(tmp_path, arguments(tmp_path))
    assert ended.code == 0 and "is in order: 0 plans" in " ".join(ended.out.split())


@pytest.mark.skipif(not hasattr(command_line.signal, "SIGHUP"), reason="It needs a pseudo-terminal.")
def test_a_person_is_asked_first(tmp_path: Path) -> None:
    path = damaged(tmp_path)
    for answer, code in (("n", 1), ("y", 0)):
        at = command_line.AtTerminal(tmp_path, arguments(tmp_path))
        try:
            at.wait_for("1 plan can be read")
            at.wait_for("1 plan cannot")
            at.type(answer, after="[y/N] ")
            assert at.finish().code == code
        finally:
            at.close()
        assert set(plans(path)) == ({"good", "bad"} if code else {"good"})
    assert len(list(path.parent.glob("plan-bad.*.json"))) == 1
    (kept,) = path.parent.glob("ledger.sqlite3.damaged-*")
    assert set(plans(kept)) == {"good", "bad"}
    ledger = Ledger(path)
    assert PlanStore(ledger).read(PlanId("good")).status == "pending_approval"
    ledger.close()


def test_without_a_terminal_nothing_is_changed_unless_told(tmp_path: Path) -> None:
    path = damaged(tmp_path)
    ended = command_line.run(tmp_path, arguments(tmp_path))
    assert ended.code == 1 and "Nothing was changed" in ended.out and "bad" in plans(path)
    assert command_line.run(tmp_path, arguments(tmp_path, "--yes")).code == 0
    assert plans(path) == ("good",)


def test_a_ledger_that_a_server_runs_plans_of_is_left_alone(tmp_path: Path) -> None:
    path = damaged(tmp_path)
    server = Ledger(path)
    begun(server, "running")
    ended = command_line.run(tmp_path, arguments(tmp_path, "--yes"))
    assert ended.code == 1 and "Close its editor" in " ".join(ended.out.split())
    server.close()
    assert set(plans(path)) == {"good", "bad", "running"}
