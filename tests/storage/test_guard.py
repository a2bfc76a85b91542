"""A ledger on a file system that cannot keep servers apart: one uses it at a time, and everybody is told."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from planloom.storage.guard import guarded, network_kind
from planloom.storage.ledger import Ledger
from tests.storage.test_storage_faults import REQUEST, asked, check, finished, serving, used
from tests.support import command_line
from tests.support.preload import NO_LOCKS, built
from tests.support.process_client import Failed
from tests.support.warm_server import SUPPORTED, UNSUPPORTED, WarmServers, warm_servers

MOUNTS = """\
24 1 254:0 / / rw,relatime - ext4 /dev/root rw
30 24 0:25 / /home rw,relatime shared:1 - nfs4 server:/home rw
31 30 0:26 / /home/me/local\\040disk rw - ext4 /dev/sdb1 rw
32 24 0:27 / /mnt rw - fuse.sshfs me@there:/ rw
33 24 0:28 / /media rw - fuseblk /dev/sdc1 rw
34 24 0:29 / /work rw - ext4 /dev/sdd rw
35 34 0:30 / /work rw - 9p host rw
"""


@pytest.mark.parametrize(
    ("folder", "kind"),
    [
        ("/", None),
        ("/homes", None),
        ("/home/me/.local/state", "nfs4"),
        ("/home/me/local disk/state", None),
        ("/mnt/state", "fuse.sshfs"),
        ("/media/state", None),
        ("/work/state", "9p"),
    ],
)
def test_the_file_system_of_a_folder_is_that_of_its_last_and_nearest_mount(
    folder: str, kind: str | None
) -> None:
    assert network_kind(MOUNTS, Path(folder)) == kind


def test_a_usual_file_system_needs_no_guard(tmp_path: Path) -> None:
    assert guarded(tmp_path / "l.db") is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform != "linux", reason="No folder is known where nobody can make a file.")
def test_a_folder_in_which_no_file_can_be_made_is_reported_by_the_ledger_itself() -> None:
    assert guarded(Path("/proc/l.db")) is None


@pytest.fixture(scope="module")
def no_locks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    library = built(NO_LOCKS, tmp_path_factory.mktemp("library"))
    if library is None:
        pytest.skip("There is no C compiler, or no LD_PRELOAD.")
    return library


@pytest.fixture(scope="module")
def warm(no_locks: Path) -> Iterator[WarmServers]:
    if not SUPPORTED:
        pytest.skip(UNSUPPORTED)
    with warm_servers(no_locks) as started:
        yield started


def prepared(folder: Path) -> Path:
    (folder / "workspace").mkdir()
    (folder / "workspace" / "a.txt").write_text("old\n")
    return folder / "state" / "ledger.sqlite3"


@pytest.mark.process
@pytest.mark.timeout(300)
async def test_the_second_server_is_kept_away_until_the_first_has_ended(
    warm: WarmServers, tmp_path: Path
) -> None:
    ledger = prepared(tmp_path)
    async with serving(warm, tmp_path) as one:
        status = await one.request("planloom/status")
        assert "whose locks do not hold" in status["storageNote"] and status["health"] == "ok"
        await one.wait_shown("whose locks do not hold")
        async with serving(warm, tmp_path) as other:
            with pytest.raises(Failed) as refused:
                await other.request("planloom/plan/list", {})
            assert refused.value.word == "storage_failed"
            assert f"process {one.pid}" in refused.value.message
            plan_id = await used(one)
            await one.shut_down()
            plans = (await other.request("planloom/plan/list", {}))["plans"]
            assert [plan["planId"] for plan in plans] == [plan_id]
            check(tmp_path, one, await finished(other))
    with closing(sqlite3.connect(ledger)) as raw:
        assert raw.execute("PRAGMA journal_mode").fetchone() == ("delete",)


@pytest.mark.process
@pytest.mark.timeout(300)
async def test_the_plan_of_a_server_that_was_killed_is_taken_over_at_once(
    warm: WarmServers, tmp_path: Path
) -> None:
    prepared(tmp_path)
    async with serving(warm, tmp_path) as one:
        created = await one.request("planloom/plan/create", {"text": REQUEST, "mode": "plan"})
        await one.killed()
    async with serving(warm, tmp_path) as other:
        plan = {"planId": created["plan"]["planId"]}
        assert (await other.request("planloom/plan/get", plan))["plan"]["status"] in (
            "pending_approval",
            "paused",
        )
        check(tmp_path, other, await finished(other))


@pytest.mark.process
@pytest.mark.timeout(300)
async def test_a_server_whose_ledger_was_taken_while_it_slept_writes_nothing_more(
    warm: WarmServers, tmp_path: Path
) -> None:
    ledger = prepared(tmp_path)
    async with serving(warm, tmp_path) as one:
        await one.request("planloom/plan/create", {"text": REQUEST, "mode": "plan"})
        held = ledger.with_name(f"{ledger.name}.server")
        # Another machine has found its file stale, and has made its own.
        held.write_text(json.dumps({"holder": "another", "pid": 1, "host": "there"}))
        await one.wait_shown("Another server uses the plan ledger", timeout=30)
        before = ledger.read_bytes()
        with suppress(Failed):
            await asked(one, "planloom/plan/create", {"text": REQUEST, "mode": "plan"})
        assert ledger.read_bytes() == before
        assert "memory only" in (await one.request("planloom/status"))["problems"][0]
    assert json.loads(held.read_text())["holder"] == "another"


def in_another_process(no_locks: Path, code: str, ledger: Path) -> str:
    """What Python code prints on a file system without locks; `ledger` is its argument."""
    done = subprocess.run(
        [sys.executable, "-c", code, str(ledger)],
        env={**os.environ, "LD_PRELOAD": str(no_locks)},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


OPENS = """
import pathlib, sys
from planloom.storage.ledger import Ledger
ledger = Ledger(pathlib.Path(sys.argv[1]))
print("opened", ledger.note)
"""


@pytest.mark.parametrize(("age", "opens"), [(5, False), (60, True)])
def test_a_holder_on_another_machine_is_believed_as_long_as_its_file_is_fresh(
    no_locks: Path, tmp_path: Path, age: float, *, opens: bool
) -> None:
    held = tmp_path / "l.db.server"
    held.write_text(json.dumps({"holder": "another", "pid": 1, "host": "there"}))
    now = held.stat().st_mtime
    os.utime(held, (now - age, now - age))
    said = in_another_process(no_locks, OPENS, tmp_path / "l.db")
    assert ("opened" in said) == opens and ("process 1 on there" in said) != opens, said
    assert [path.name for path in tmp_path.glob("*.server*")] == ["l.db.server"]


@pytest.mark.slow
def test_of_many_that_find_a_stale_file_one_wins(no_locks: Path, tmp_path: Path) -> None:
    held = tmp_path / "l.db.server"
    held.write_text(json.dumps({"holder": "another", "pid": 1, "host": "there"}))
    os.utime(held, (1, 1))
    code = OPENS + "sys.stdout.flush()\nsys.stdin.readline()\n"
    command = [sys.executable, "-c", code, str(tmp_path / "l.db")]
    started = [
        subprocess.Popen(
            command,
            env={**os.environ, "LD_PRELOAD": str(no_locks)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        for _ in range(6)
    ]
    said = []
    for process in started:
        assert process.stdout is not None
        said.append(process.stdout.readline())
    for process in started:
        process.communicate("\n")
    assert sum("opened" in line for line in said) == 1, said


@pytest.mark.process
def test_the_doctor_says_what_the_file_system_cannot_do(no_locks: Path, tmp_path: Path) -> None:
    more = {
        "LD_PRELOAD": str(no_locks),
        "PLANLOOM_STORAGE_PATH": str(tmp_path / "state"),
        "PLANLOOM_CONFIG": str(tmp_path / "none.json"),
    }
    ended = command_line.run(tmp_path, ["doctor", "-w", str(tmp_path)], None, cold=True, **more)
    assert "whose locks do not hold" in " ".join(ended.out.split())


async def test_a_ledger_without_wal_takes_events_and_its_upkeep(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from tests.support.studio import studio

    monkeypatch.setattr("planloom.storage.guard._kind", lambda _: "nfs4")
    async with studio(tmp_path, {"a.txt": "old\n"}, ledger=tmp_path / "l.db") as at:
        assert (await at.run('1. Replace "old" with "new" in a.txt\n2. List files')).status == "completed"
        await at.app.upkeep.round()
        assert at.notices[0][0] == "warning" and "that other machines may use" in at.notices[0][1]
        other = Ledger(tmp_path / "l.db")
        assert other.problem is None and other.note is not None, (
            "servers of one machine share it by its locks"
        )
        other.close()
    with closing(sqlite3.connect(tmp_path / "l.db")) as raw:
        assert raw.execute("PRAGMA journal_mode").fetchone() == ("delete",)
