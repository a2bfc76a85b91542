"""Language servers that die, hang, flood or lie are bounded, said once, and lose nothing; good ones judge."""

from __future__ import annotations

import asyncio
import socket
import time
from pathlib import Path

import pytest

from planloom.domain.changes import Changeset, DeleteFile, RenameFile
from planloom.domain.safety.confinement import Abilities
from planloom.domain.text.positions import Position
from planloom.languages import server
from planloom.settings import resolve
from planloom.tools.confinement.abilities import abilities  # noqa: F401 - the mark below reads it
from planloom.workspace.language import NotKnown
from tests.languages.support import Bench, scripted

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif("not abilities().files", reason="a program of the folder starts only confined"),
]
GOOD = ("pulls", "pushes", "pushes without versions", "answers nonsense", "prints much", "asks")
LONG = 20.0
"""Seconds that a judgement may take on a busy machine; a good server takes a few milliseconds."""


def is_running(process: int) -> bool:
    return Path(f"/proc/{process}").exists()


async def lines(found: Bench, name: str, after: str, seconds: float = LONG) -> list[str]:
    """The new problems of a change, as lines."""
    judged = await found.languages.judge(found.edit(name, after), {}, seconds)
    assert judged is not None
    assert judged.unknown is None, judged.unknown
    return [f"{each.line + 1} {each.severity} {each.message}" for each in judged.problems]


@pytest.mark.parametrize("how", GOOD)
async def test_a_change_is_judged_by_what_it_adds(tmp_path: Path, how: str) -> None:
    async with scripted(tmp_path, how, {"a.txt": "one\nbad two\n"}) as found:
        assert await lines(found, "a.txt", "zero\none\nbad two\n") == []
        assert await lines(found, "a.txt", "odd zero\none\nbad two\nbad three\n") == [
            "4 error bad thing",
            "1 warning odd thing",
        ]
        assert await lines(found, "a.txt", "one\n") == []
        assert await lines(found, "new.txt", "bad\n") == ["1 error bad thing"]


async def test_what_is_staged_below_and_unsaved_counts_as_before(tmp_path: Path) -> None:
    async with scripted(tmp_path, "pulls", {"a.txt": "one\n"}) as found:
        uri = found.uri("a.txt")
        change = found.edit("a.txt", "one\nbad\nbad\n")
        judged = await found.languages.judge(change, {uri: "one\nbad\n"}, LONG)
        assert judged is not None and judged.total == 1
        found.session.view.documents.did_open(str(uri), "plaintext", 1, "bad\nbad\nbad\n", on_disk="one\n")
        judged = await found.languages.judge(change, {}, LONG)
        assert judged is not None and judged.is_clean and judged.by == "server"


async def test_a_buffer_that_was_unsaved_when_it_was_opened_is_what_is_asked_about(tmp_path: Path) -> None:
    async with scripted(tmp_path, "pulls", {"a.txt": "one\n"}) as found:
        uri = found.uri("a.txt")
        found.session.view.documents.did_open(str(uri), "plaintext", 1, "bad\n")
        (file,) = await found.languages.diagnostics((uri,), {})
        assert [each.message for each in file.items] == ["bad thing"]


async def test_a_renamed_file_keeps_its_old_problems(tmp_path: Path) -> None:
    async with scripted(tmp_path, "pulls", {"a.txt": "bad\n"}) as found:
        renamed = RenameFile(uri=found.uri("a.txt"), new_uri=found.uri("b.txt"), before="bad\n")
        judged = await found.languages.judge(Changeset(changes=(renamed,)), {}, LONG)
        assert judged is not None and judged.is_clean


async def test_a_renamed_symbol_keeps_its_old_problems(tmp_path: Path) -> None:
    files = {"a.txt": "area\nlacks area\n", "taken.txt": "lacks area\narea\nsurface\n"}
    async with scripted(tmp_path, "pulls", files) as found:
        assert await lines(found, "a.txt", "surface\nlacks surface\n") == []
        assert await lines(found, "a.txt", "surface\nlacks surface\nlacks surface\n") != []
        # One place alone is another name, not a rename; so is a name that was there before.
        assert await lines(found, "a.txt", "area\nlacks surface\n") == ["2 error `surface` is missing"]
        assert await lines(found, "taken.txt", "lacks surface\nsurface\nsurface\n") != []


async def test_files_of_no_server_are_not_judged(tmp_path: Path) -> None:
    async with scripted(tmp_path, "pulls", {"a.txt": "one\n", "a.md": "bad\n"}) as found:
        assert await found.languages.judge(found.edit("a.md", "bad bad\n"), {}, LONG) is None
        gone = DeleteFile(uri=found.uri("a.txt"), before="one\n")
        assert await found.languages.judge(Changeset(changes=(gone,)), {}, LONG) is None
        assert not found.languages.serves(found.uri("a.md"))


async def test_nothing_starts_in_a_folder_that_is_not_trusted_or_where_it_is_switched_off(
    tmp_path: Path,
) -> None:
    async with scripted(tmp_path, "pulls", {"a.txt": "one\n"}) as found:
        found.session.trust(False)
        assert await found.languages.judge(found.edit("a.txt", "bad\n"), {}, LONG) is None
        assert [each.state for each in found.languages.reports()] == ["not started"]


async def test_what_is_there_and_what_is_missing_is_reported(tmp_path: Path) -> None:
    async with scripted(tmp_path, "pulls", {"a.txt": "one\n", "b/main.go": "package main\n"}) as found:
        servers = ["gopls", *found.session.settings.language.servers]
        found.session.configure(resolve({"user": {"language.servers": servers}}).settings)
        (there, missing) = found.languages.reports()
        assert (there.name, there.state) == ("server", "ready to start")
        assert (missing.name, missing.program, missing.state) == ("gopls", ".go", "missing")
        found.session.trust(False)
        assert found.languages.reports()[0].state == "not started"


async def test_changes_of_the_disk_that_nobody_tells_of_are_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("planloom.languages.server._SECONDS_BETWEEN_LOOKS", 0.0)
    async with scripted(tmp_path, "pulls", {"a.txt": "one\n", "b.txt": "one\n"}) as found:
        assert await lines(found, "a.txt", "bad\n") == ["1 error bad thing"]
        (running,) = found.languages._servers._servers.values()
        before = running.generation
        (found.folder / "b.txt").write_text("two and more\n")
        assert await lines(found, "a.txt", "bad\n") == ["1 error bad thing"]
        assert running.generation == before + 1


async def test_a_server_that_is_prepared_is_there_when_it_is_asked(tmp_path: Path) -> None:
    async with scripted(tmp_path, "pulls", {"a.txt": "one\n", "a.md": "one\n"}) as found:
        for name in ("a.txt", "a.txt", "a.md"):
            found.languages.prepare(found.uri(name))
        while [each.state for each in found.languages.reports()] != ["running"]:
            await asyncio.sleep(0.01)
        assert await lines(found, "a.txt", "bad\n", 5) == ["1 error bad thing"]


async def test_it_is_confined(tmp_path: Path) -> None:
    async with scripted(tmp_path, "writes", {"a.txt": "one\n"}) as found:
        assert await lines(found, "a.txt", "bad\n") == ["1 error bad thing"]
        assert not (found.folder / "written-by-server").exists()


async def test_where_nothing_confines_it_a_program_of_the_folder_does_not_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    none = Abilities(files=False, network=False, processes=False, how="nothing")
    monkeypatch.setattr("planloom.languages.servers.abilities", lambda: none)
    async with scripted(tmp_path, "pulls", {"a.txt": "one\n"}) as found:
        judged = await found.languages.judge(found.edit("a.txt", "bad\n"), {}, LONG)
        assert judged is not None and judged.unknown is not None
        assert "it can run code of the project, and nothing confines it here" in judged.unknown
        assert found.languages.reports()[0].state == "given up"


async def test_it_has_no_network(tmp_path: Path) -> None:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        listening.setblocking(False)
        files = {"a.txt": "one\n", "port": str(listening.getsockname()[1])}
        async with scripted(tmp_path, "connects", files) as found:
            assert await lines(found, "a.txt", "bad\n") == ["1 error bad thing"]
        with pytest.raises(BlockingIOError):
            listening.accept()


async def test_it_reads_no_secret_of_the_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    (home / ".ssh").mkdir(parents=True)
    (home / ".ssh" / "id").write_text("a key")
    monkeypatch.setenv("HOME", str(home))
    async with scripted(tmp_path, "reads the home", {"a.txt": "one\n"}) as found:
        assert await lines(found, "a.txt", "bad\n") == ["1 error bad thing"]


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ("dies", "has ended: out of ideas"),
        ("floods", "has sent more than can be read"),
        ("sends a giant", "has sent more than can be read"),
        ("speaks no protocol", "has sent what is no message"),
        ("does not start", "has ended: no licence"),
        ("counts bytes", "counts positions in another way than was agreed"),
    ],
)
async def test_a_server_that_fails_is_given_up_after_two_starts(tmp_path: Path, how: str, says: str) -> None:
    async with scripted(tmp_path, how, {"a.txt": "one\n"}) as found:
        for _ in range(2):
            judged = await found.languages.judge(found.edit("a.txt", "bad\n"), {}, LONG)
            assert judged is not None
            assert judged.unknown == f"The language server server {says}."
            assert judged.problems == ()
        (report,) = found.languages.reports()
        assert (report.state, report.why) == ("given up", judged.unknown)


async def test_a_server_that_dies_once_is_started_again(tmp_path: Path) -> None:
    async with scripted(tmp_path, "dies once", {"a.txt": "one\n"}) as found:
        assert await lines(found, "a.txt", "bad\n") == ["1 error bad thing"]


@pytest.mark.parametrize("how", ["hangs", "is slow to start", "pushes nothing"])
async def test_a_server_that_hangs_is_waited_for_once(
    tmp_path: Path, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with scripted(tmp_path, how, {"a.txt": "one\n"}) as found:
        change = found.edit("a.txt", "bad\n")
        judged = await found.languages.judge(change, {}, 0.5)
        assert judged is not None and judged.unknown is not None
        began = time.monotonic()
        judged = await found.languages.judge(change, {}, 60)
        assert judged is not None and judged.unknown == "server has not answered an earlier question yet."
        assert time.monotonic() - began < 30


async def test_a_server_that_hangs_is_ended_and_started_once_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "HANG_SECONDS", 0.2)
    async with scripted(tmp_path, "hangs once", {"a.txt": "one\n"}) as found:
        judged = await found.languages.judge(found.edit("a.txt", "bad\n"), {}, 1.5)
        assert judged is not None and judged.unknown is not None
        (running,) = found.languages._servers._servers.values()
        while running._overdue is not None:
            await asyncio.sleep(0.01)
        assert await lines(found, "a.txt", "bad\n") == ["1 error bad thing"]


async def test_whoever_stops_waiting_leaves_the_server_well(tmp_path: Path) -> None:
    async with scripted(tmp_path, "pulls", {"a.txt": "one\n"}) as found:
        for _ in range(5):
            judging = asyncio.ensure_future(found.languages.judge(found.edit("a.txt", "bad\n"), {}, LONG))
            await asyncio.sleep(0)
            judging.cancel()
            with pytest.raises(asyncio.CancelledError):
                await judging
        assert await lines(found, "a.txt", "bad\n") == ["1 error bad thing"]


async def test_a_server_that_takes_too_much_memory_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("planloom.languages.servers.MOST_MEMORY", 200 << 20)
    async with scripted(tmp_path, "takes memory", {"a.txt": "one\n"}) as found:
        judged = await found.languages.judge(found.edit("a.txt", "bad\n"), {}, 100)
        assert judged is not None and judged.unknown is not None
        assert "has ended" in judged.unknown


async def test_a_flood_of_problems_is_cut(tmp_path: Path) -> None:
    async with scripted(tmp_path, "floods with problems", {"a.txt": "one\n"}) as found:
        judged = await found.languages.judge(found.edit("a.txt", "bad\n"), {}, LONG)
        assert judged is not None and judged.total <= 5_000 and len(judged.problems) == 20


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ("renames what nobody can read", "The answer is no change that can be read."),
    ],
)
async def test_a_rename_that_cannot_be_read_is_no_change(tmp_path: Path, how: str, says: str) -> None:
    async with scripted(tmp_path, how, {"a.txt": "def area(): 1\n"}) as found:
        with pytest.raises(NotKnown, match=says):
            await found.languages.rename(found.uri("a.txt"), Position(line=0, character=5), "b", {})


async def test_what_a_server_cannot_do_is_said(tmp_path: Path) -> None:
    async with scripted(tmp_path, "pulls", {"a.txt": "def area(): 1\n"}) as found:
        with pytest.raises(NotKnown, match="server cannot tell that"):
            await found.languages.hover(found.uri("a.txt"), Position(line=0, character=5), {})
        (symbol,) = await found.languages.symbols(found.uri("a.txt"), {})
        assert (symbol.name, symbol.kind) == ("area", "function")


async def test_nothing_is_left_when_the_session_ends(tmp_path: Path) -> None:
    async with scripted(tmp_path, "hangs", {"a.txt": "one\n"}) as found:
        await found.languages.judge(found.edit("a.txt", "bad\n"), {}, 0.5)
        (running,) = found.languages._servers._servers.values()
        process = running.process_id
        assert process is not None and is_running(process)
    assert not is_running(process)
    assert running._tasks == set()
