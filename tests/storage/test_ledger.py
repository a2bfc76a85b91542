"""The ledger keeps what it was given, across processes, faults and versions."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from planloom.domain import events as ev
from planloom.domain.changes import sha256
from planloom.domain.plan import Detection, Plan, Step
from planloom.domain.values import PlanId, SessionId, StepId
from planloom.execution.book import Book
from planloom.storage.ledger import Ledger
from planloom.storage.schema import VERSION

DETECTION = Detection(planned=True, rule="none", score=1, ambiguous=False)
STEP = Step(step_id=StepId("a"), description="ä 😀", instruction="a")


def begun(ledger: Ledger, name: str = "p", folder: str = "file:///w") -> Plan:
    book = Book(ledger)
    plan_id = PlanId(name)
    book.open(
        plan_id,
        SessionId("s"),
        ev.PlanStart(request="r", route="plan", detection=DETECTION, workspace_folders=(folder,)),  # type: ignore[arg-type]
    )
    return book.record(
        plan_id, ev.PlanReady(version=1, steps=(STEP,), summary="", sequential=False, author="rules")
    )


def test_a_plan_is_the_same_when_another_process_reads_it(tmp_path: Path) -> None:
    first = Ledger(tmp_path / "state" / "ledger.db")
    plan = begun(first)
    first.close()
    assert Book(Ledger(tmp_path / "state" / "ledger.db")).find(PlanId("p")) == plan


def test_the_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "state" / "ledger.db")
    begun(ledger)
    assert (tmp_path / "state").stat().st_mode & 0o077 == 0
    assert (tmp_path / "state" / "ledger.db").stat().st_mode & 0o077 == 0


def test_two_servers_can_write_at_once(tmp_path: Path) -> None:
    one, other = Ledger(tmp_path / "l.db"), Ledger(tmp_path / "l.db")
    begun(one, "p1")
    begun(other, "p2")
    assert set(one.plans()) == set(other.plans()) == {"p1", "p2"}


def test_a_lease_keeps_others_out_until_its_holder_is_gone(tmp_path: Path) -> None:
    one, other = Ledger(tmp_path / "l.db"), Ledger(tmp_path / "l.db")
    assert one.claim(PlanId("p"), "now") is None
    held = other.claim(PlanId("p"), "now")
    assert held is not None and held.owner == one.owner
    one.release()
    assert other.claim(PlanId("p"), "now") is None


def test_a_lease_of_a_dead_process_is_free(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "l.db")
    raw = sqlite3.connect(tmp_path / "l.db")
    raw.execute("INSERT INTO leases VALUES ('p', 'somebody', 2147483646, 'then', 9e18)")
    raw.commit()
    assert ledger.claim(PlanId("p"), "now") is None


def test_plans_are_listed_newest_first_by_workspace_and_status(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "l.db")
    begun(ledger, "old")
    begun(ledger, "new")
    begun(ledger, "elsewhere", "file:///other")
    assert ledger.plans(workspace="file:///w") == ("new", "old")
    assert ledger.plans(workspace="file:///w", limit=1) == ("new",)
    assert ledger.plans(statuses=("completed",)) == ()


def test_texts_are_kept_by_hash_and_go_with_their_plan(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "l.db")
    begun(ledger)
    ledger.keep(PlanId("p"), [(sha256("text\udcff"), "text\udcff")])
    assert ledger.text(sha256("text\udcff")) == "text\udcff"
    ledger.delete(PlanId("p"))
    assert ledger.text(sha256("text\udcff")) is None and list(ledger.events(PlanId("p"))) == []


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(lambda path: path.write_bytes(b"this is no database at all" * 100), id="damaged"),
        pytest.param(lambda path: path.mkdir(), id="a folder"),
        pytest.param(
            lambda path: sqlite3.connect(path).execute(f"PRAGMA user_version = {VERSION + 1}"), id="newer"
        ),
    ],
)
def test_a_ledger_that_cannot_be_used_is_said_so_and_work_goes_on(tmp_path: Path, spoil: object) -> None:
    spoil(tmp_path / "l.db")  # type: ignore[operator]
    ledger = Ledger(tmp_path / "l.db")
    assert ledger.problem is not None and "memory only" in ledger.problem
    assert begun(ledger).status == "pending_approval"


def test_a_disk_that_fails_later_is_said_so_and_no_event_is_lost(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "l.db")
    book = Book(ledger)
    book.open(PlanId("p"), SessionId("s"), ev.PlanStart(request="r", route="plan", detection=DETECTION))
    ledger._connection.execute("PRAGMA query_only = ON")
    ready = ev.PlanReady(version=1, steps=(STEP,), summary="", sequential=False, author="rules")
    plan = book.record(PlanId("p"), ready)
    assert ledger.problem is not None
    assert book.replay(PlanId("p")) == plan


def test_an_event_of_another_server_on_the_same_plan_is_not_overwritten(tmp_path: Path) -> None:
    from planloom.domain.errors import StorageFailed

    one, other = Book(Ledger(tmp_path / "l.db")), Book(Ledger(tmp_path / "l.db"))
    one.open(PlanId("p"), SessionId("s"), ev.PlanStart(request="r", route="plan", detection=DETECTION))
    other.load(PlanId("p"))
    one.record(PlanId("p"), ev.Log(level="info", message="mine"))
    with pytest.raises(StorageFailed):
        other.record(PlanId("p"), ev.Log(level="info", message="theirs"))
