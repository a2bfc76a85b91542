"""The ledger keeps events and texts across processes, faults and versions."""

from __future__ import annotations

import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from planloom.domain.changes import sha256
from planloom.domain.errors import OwnedElsewhere, StorageFailed
from planloom.domain.events import catalog as ev
from planloom.domain.plans.plan import Detection, Plan, Step, StepResult, summary
from planloom.domain.values import CallId, PlanId, SessionId, StepId, Uri
from planloom.execution.plan_store import PlanStore
from planloom.storage.leases import LEASE_SECONDS
from planloom.storage.ledger import Ledger
from planloom.storage.schema import VERSION
from tests.support.ledgers import as_of_version
from tests.support.memory import MemoryStore

DETECTION = Detection(planned=True, rule="none", score=1, ambiguous=False)
START = ev.PlanStart(request="r", route="plan", detection=DETECTION)
STEP = Step(step_id=StepId("a"), description="ä 😀", instruction="a")


def begun(ledger: Ledger, name: str = "p", folder: str = "file:///w") -> Plan:
    plan_store = PlanStore(ledger)
    plan_id = PlanId(name)
    plan_store.open(
        plan_id,
        SessionId("s"),
        START.model_copy(update={"workspace_folders": (folder,)}),
    )
    return plan_store.record(
        plan_id, ev.PlanReady(version=1, steps=(STEP,), summary="", sequential=False, author="rules")
    )


def test_a_plan_is_the_same_when_another_process_reads_it(tmp_path: Path) -> None:
    first = Ledger(tmp_path / "state" / "ledger.db")
    plan = begun(first)
    first.close()
    assert PlanStore(Ledger(tmp_path / "state" / "ledger.db")).find(PlanId("p")) == plan


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


def without_definitions(path: Path) -> None:
    """Damage the definition of a table, so that SQLite's own message about it is no text."""
    Ledger(path).close()
    with closing(sqlite3.connect(path)) as raw, raw:
        raw.execute("PRAGMA writable_schema = ON")
        raw.execute("UPDATE sqlite_schema SET sql = CAST(x'435245415445cc' AS TEXT) WHERE name = 'events'")


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
        pytest.param(without_definitions, id="definitions that are no text"),
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


READY = ev.PlanReady(version=1, steps=(STEP,), summary="", sequential=False, author="rules")


def test_an_event_that_cannot_be_written_is_nowhere_and_its_plan_takes_no_other(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "l.db")
    plan_store, stopped = PlanStore(ledger), list[PlanId]()
    plan_store.on_stop(lambda plan_id, _: stopped.append(plan_id))
    plan = plan_store.open(PlanId("p"), SessionId("s"), START)
    ledger._connection.execute("PRAGMA query_only = ON")
    with pytest.raises(StorageFailed):
        plan_store.record(PlanId("p"), READY)
    assert ledger.problem is not None and "read-only" in ledger.problem
    ledger._connection.execute("PRAGMA query_only = OFF")
    with pytest.raises(StorageFailed):
        plan_store.record(PlanId("p"), READY)
    assert stopped == ["p"] and plan_store.find(PlanId("p")) == plan_store.replay(PlanId("p")) == plan
    plan_store.forget(PlanId("p"))
    plan_store.load(PlanId("p"))
    assert plan_store.record(PlanId("p"), READY).status == "pending_approval"
    assert ledger.problem is None


def test_a_full_disk_is_said_until_something_can_be_written_again(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "l.db")
    said: list[str | None] = []
    ledger.listen(lambda: said.append(ledger.problem))
    pages = ledger._connection.execute("PRAGMA page_count").fetchone()[0]
    ledger._connection.execute(f"PRAGMA max_page_count = {pages}")
    text = "".join(map(str, range(100_000)))
    for _ in range(2):
        with pytest.raises(StorageFailed) as error:
            ledger.keep(PlanId("p"), [(sha256(text), text)])
        assert "full" in error.value.message
    with pytest.raises(StorageFailed):
        ledger.probe()
    ledger._connection.execute(f"PRAGMA max_page_count = {pages + 1000}")
    ledger.probe()
    assert said == [error.value.message, None]


@pytest.mark.slow
def test_a_ledger_that_is_locked_as_it_opens_is_not_replaced(tmp_path: Path) -> None:
    Ledger(tmp_path / "l.db").close()
    with closing(sqlite3.connect(tmp_path / "l.db", isolation_level=None)) as raw:
        raw.execute("PRAGMA journal_mode = DELETE")
        raw.execute("PRAGMA locking_mode = EXCLUSIVE")
        raw.execute("BEGIN EXCLUSIVE")
        with pytest.raises(StorageFailed) as error:
            Ledger(tmp_path / "l.db")
    assert "locked" in error.value.message
    assert Ledger(tmp_path / "l.db").problem is None


def test_an_event_of_another_server_on_the_same_plan_is_not_overwritten(tmp_path: Path) -> None:
    one, other = PlanStore(Ledger(tmp_path / "l.db")), PlanStore(Ledger(tmp_path / "l.db"))
    one.open(PlanId("p"), SessionId("s"), START)
    other.load(PlanId("p"))
    one.record(PlanId("p"), ev.Log(level="info", message="mine"))
    with pytest.raises(OwnedElsewhere):
        other.record(PlanId("p"), ev.Log(level="info", message="theirs"))
    assert one.plan(PlanId("p")).seq == 2 == len(list(one.store.events(PlanId("p"))))


def test_a_lease_holds_though_its_holder_has_another_time_of_day(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = Ledger(tmp_path / "l.db"), Ledger(tmp_path / "l.db")
    with monkeypatch.context() as clock:
        clock.setattr(time, "time", lambda: 1e9)
        assert one.claim(PlanId("p"), "now") is None
    held = other.claim(PlanId("p"), "now")
    assert held is not None and held.owner == one.owner


def test_a_lease_that_was_not_renewed_is_free_though_a_process_of_its_number_lives(tmp_path: Path) -> None:
    one, other = Ledger(tmp_path / "l.db"), Ledger(tmp_path / "l.db")
    assert one.claim(PlanId("p"), "now") is None
    with closing(sqlite3.connect(tmp_path / "l.db")) as raw, raw:
        raw.execute("UPDATE leases SET renewed = renewed - ?", (LEASE_SECONDS + 1,))
    assert other.claim(PlanId("p"), "now") is None


def test_plans_are_listed_in_the_order_in_which_they_were_made_whatever_the_clock_says(
    tmp_path: Path,
) -> None:
    ledger = Ledger(tmp_path / "l.db")
    noon = datetime(2026, 1, 2, 12, tzinfo=UTC)
    for number, name in enumerate(("first", "second", "third")):
        plan_store = PlanStore(ledger, lambda number=number: noon - timedelta(days=number))  # type: ignore[misc]
        plan_store.open(PlanId(name), SessionId("s"), START)
    assert ledger.plans() == ("third", "second", "first")
    assert ledger.plans(session_id=SessionId("s"), limit=1) == ("third",)


def test_a_ledger_of_the_version_before_is_brought_up_to_date_and_counts_its_plans_when_asked(
    tmp_path: Path,
) -> None:
    plan = begun(Ledger(tmp_path / "l.db"))
    as_of_version(tmp_path / "l.db", 2)
    ledger = Ledger(tmp_path / "l.db")
    (listed,) = ledger.summaries()
    assert not listed.counted and PlanStore(ledger).find(PlanId("p")) == plan
    ledger.keep_state(plan)
    (listed,) = ledger.summaries()
    assert listed.counted and listed.summary == summary(plan)


def test_events_of_an_older_ledger_lose_the_fields_that_are_gone(tmp_path: Path) -> None:
    plan = begun(Ledger(tmp_path / "l.db"))
    rows = (
        (2, "task_completed", '{"type":"task_completed","staged":false,"é":"\\ud83d"}'),
        (3, "task_failed", '{"type":"task_failed","usage":null}'),
        (4, "tool_started", '{"type":"tool_started"}'),
        (5, "tool_started", "damaged"),
    )
    with closing(sqlite3.connect(tmp_path / "l.db")) as raw, raw:
        raw.execute("DELETE FROM events WHERE seq > 1")
        raw.executemany("INSERT INTO events VALUES ('p', ?, '', ?, ?)", rows)
        raw.execute("UPDATE plans SET status = 'completed'")
    as_of_version(tmp_path / "l.db", 3)
    found = {each.seq: each.body for each in Ledger(tmp_path / "l.db").raw_events(plan.plan_id)}
    assert found[2] == '{"type":"task_completed","é":"\\ud83d"}' and found[3] == '{"type":"task_failed"}'
    assert found[4] == '{"type":"tool_started","effect":"read"}' and found[5] == "damaged"


def test_two_servers_can_bring_a_ledger_up_to_date_at_once(tmp_path: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        ledgers = list(pool.map(lambda _: Ledger(tmp_path / "l.db"), range(4)))
    assert [ledger.problem for ledger in ledgers] == [None] * 4


def test_a_new_ledger_waits_for_a_lock_for_which_sqlite_does_not_wait(tmp_path: Path) -> None:
    """SQLite fails at once where a change of the journal meets the lock of another server that has read the file."""
    path = tmp_path / "l.db"
    path.touch()
    with closing(sqlite3.connect(path)) as other:
        other.executescript("CREATE TABLE t (a); BEGIN; SELECT * FROM t;")
        met = list[str]()

        class Connection(sqlite3.Connection):
            def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
                try:
                    return super().execute(sql, *values)
                except sqlite3.OperationalError as error:
                    met.append(f"{error}: {sql}")
                    other.rollback()
                    raise

        ledger = Ledger(path, connect=partial(sqlite3.connect, factory=Connection))
    assert met == ["database is locked: PRAGMA journal_mode = WAL"]
    assert ledger.problem is None and ledger.path == path


def test_what_waits_for_the_disk() -> None:
    """The start and end of commands, and the ends of steps with effects: these must not run again unasked."""
    step_id, call, read = StepId("a"), CallId("c"), CallId("r")
    plan_store = PlanStore(MemoryStore())
    plan_store.open(PlanId("p"), SessionId("s"), START)
    plan_store.record(PlanId("p"), READY)
    plan_store.record(PlanId("p"), ev.PlanApproved(version=1, review="each"), ev.PlanExecuting())
    plan_store.record(PlanId("p"), ev.StepStarted(step_id=step_id, agent="devo"))
    called = ev.ToolStarted(step_id=step_id, call_id=call, tool="run_command", args={}, effect="execute")
    reading = ev.ToolStarted(step_id=step_id, call_id=read, tool="read_file", args={}, effect="read")
    runs = ev.StepUpdate(step_id=step_id, status="running", command_started=True)
    seen = ev.ToolCompleted(step_id=step_id, call_id=read, ok=True, summary="", duration_ms=1)
    ended = ev.ToolCompleted(
        step_id=step_id, call_id=call, ok=True, summary="", duration_ms=1, command="ended"
    )
    result = StepResult(ok=True, duration_ms=1, timestamp=datetime(2026, 1, 2, tzinfo=UTC))
    completed = ev.StepCompleted(step_id=step_id, result=result)
    plan = plan_store.record(PlanId("p"), called, reading, seen)
    assert ev.is_durable(runs, plan) and not ev.is_durable(reading, plan)
    assert ev.is_durable(ended, plan) and not ev.is_durable(seen, plan)
    assert not ev.is_durable(completed, plan)
    assert ev.is_durable(completed, plan_store.record(PlanId("p"), ended))


def test_the_end_of_a_literal_step_waits_for_no_disk_since_its_call_is_found_again() -> None:
    """What its only call has done is on the disk, and a step that runs again takes that for its outcome."""
    step_id, uri = StepId("a"), Uri("file:///w/a.txt")
    step = Step(
        step_id=step_id, description="Write", instruction="Write", kind="tool_call", tool="write_file"
    )
    plan_store = PlanStore(MemoryStore())
    plan_store.open(PlanId("p"), SessionId("s"), START)
    plan_store.record(PlanId("p"), READY.model_copy(update={"steps": (step,)}))
    plan_store.record(PlanId("p"), ev.PlanApproved(version=1, review="each"), ev.PlanExecuting())
    plan_store.record(PlanId("p"), ev.StepStarted(step_id=step_id, agent="koda"))

    def calls(call_id: CallId) -> Plan:
        started = ev.ToolStarted(step_id=step_id, call_id=call_id, tool="write_file", args={}, effect="write")
        ended = ev.ToolCompleted(
            step_id=step_id, call_id=call_id, ok=True, summary="", duration_ms=1, changes=(uri,)
        )
        made = ev.StepUpdate(step_id=step_id, status="running", held="made")
        return plan_store.record(PlanId("p"), started, ended, made)

    result = StepResult(ok=True, duration_ms=1, timestamp=datetime(2026, 1, 2, tzinfo=UTC))
    completed = ev.StepCompleted(step_id=step_id, result=result)
    assert not ev.is_durable(completed, calls(CallId("one")))
    # A model has taken the step over.
    assert ev.is_durable(completed, calls(CallId("another")))


def test_a_direct_run_waits_for_the_disk_only_where_a_person_chose_it_for_a_plan() -> None:
    """The request alone has no effect yet: the intent of its first effect puts all before it on the disk."""
    direct = ev.PlanDirect(steps=(), sequential=True, author="rules")
    plan_store = PlanStore(MemoryStore())
    requested = plan_store.open(PlanId("p"), SessionId("s"), START)
    assert not ev.is_durable(direct, requested)
    assert ev.is_durable(direct, plan_store.record(PlanId("p"), READY))
