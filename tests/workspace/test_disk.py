"""Changes on disk: atomic writes, mode and owner kept, no link in the path followed."""

from __future__ import annotations

import contextlib
import errno
import os
import resource
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from planloom.workspace.disk import ConfinedPath, DiskRefused, FileFingerprint, fingerprint_at, read, refusal
from planloom.workspace.disk_changes import (
    create_folders,
    delete_file,
    delete_folder,
    remove_leftovers,
    rename,
    write,
)
from planloom.workspace.paths.roots import root_at
from planloom.workspace.scratch_files import write_scratch_file


def at(folder: Path, name: str) -> ConfinedPath:
    return ConfinedPath(folder, tuple(name.split("/")))


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def over(folder: Path, name: str) -> FileFingerprint:
    found = fingerprint_at(at(folder, name))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("content", "kind", "text"),
    [
        (b"\xef\xbb\xbfa\n", "text", "a\n"),
        (b"", "text", ""),
        (b"\n\n", "text", "\n\n"),
        (b"a\rb\r\nc", "text", "a\rb\r\nc"),
        ("a\fb\u2028c\x85d\n".encode(), "text", "a\fb\u2028c\x85d\n"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "binary", None),
        (b"a\x00b", "binary", None),
        (b"caf\xe9\n", "undecodable", None),
        ("\ufeffhé\r\n".encode("utf-16-le"), "text", "hé\r\n"),
        (b"x" * 101, "too_large", None),
    ],
)
def test_what_a_file_holds(tmp_path: Path, content: bytes, kind: str, text: str | None) -> None:
    (tmp_path / "f").write_bytes(content)
    found = read(at(tmp_path, "f"), limit=100)
    assert found.kind == kind
    assert (found.decoded.text if found.decoded else None) == text
    assert (tmp_path / "f").read_bytes() == content


def test_what_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("folder")
    kinds = {name: read(at(tmp_path, name)).kind for name in ("pipe", "folder", "link", "nothing", "a/b")}
    assert kinds == {
        "pipe": "special",
        "folder": "folder",
        "link": "special",
        "nothing": "missing",
        "a/b": "missing",
    }
    assert read(ConfinedPath(tmp_path, ())).kind == "folder"
    assert read(at(tmp_path, "pipe/x")).kind == "unreadable"


def test_writing_keeps_mode_and_owner_and_leaves_nothing_beside(tmp_path: Path) -> None:
    path = tmp_path / "run.sh"
    path.write_text("old")
    path.chmod(0o4751)
    if os.geteuid() == 0:
        os.chown(path, 12345, 23456)
        path.chmod(0o4751)
    before = path.stat()
    assert write(at(tmp_path, "run.sh"), b"new", over=over(tmp_path, "run.sh")) is None
    after = path.stat()
    assert path.read_text() == "new"
    assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)
    assert names(tmp_path) == ["run.sh"]


def test_a_new_file_has_the_mode_that_the_user_gives_new_files(tmp_path: Path) -> None:
    assert write(at(tmp_path, "new"), b"x", over=None) is None
    (tmp_path / "other").touch()
    assert (tmp_path / "new").stat().st_mode == (tmp_path / "other").stat().st_mode


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a")
    (tmp_path / "b").write_text("b")
    (tmp_path / "d").mkdir()
    (tmp_path / "link").symlink_to("a")
    for refused in (
        write(at(tmp_path, "a"), b"x", over=None),
        write(at(tmp_path, "d"), b"x", over=None),
        write(at(tmp_path, "link"), b"x", over=None),
        rename(at(tmp_path, "a"), at(tmp_path, "b")),
        rename(at(tmp_path, "d"), at(tmp_path, "b")),
    ):
        assert refused is not None
        assert refused.cause == "exists"
    assert (tmp_path / "a").read_text() == "a"
    assert (tmp_path / "b").read_text() == "b"


def test_a_file_that_changed_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("one")
    known = over(tmp_path, "a")
    path.write_text("three")
    for refused in (
        write(at(tmp_path, "a"), b"x", over=known),
        delete_file(at(tmp_path, "a"), was=known),
    ):
        assert refused is not None
        assert refused.cause == "changed"
    path.unlink()
    gone = write(at(tmp_path, "a"), b"x", over=known)
    assert gone is not None
    assert gone.cause == "missing"
    assert names(tmp_path) == []


def test_a_read_only_file_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("a")
    path.chmod(0o444)
    refused = write(at(tmp_path, "a"), b"x", over=over(tmp_path, "a"))
    assert refused is not None
    assert refused.cause == "read_only"
    assert path.read_text() == "a"
    assert stat.S_IMODE(path.stat().st_mode) == 0o444


@pytest.mark.skipif(os.geteuid() == 0, reason="root may do everything")
def test_a_write_without_permission_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "d"
    folder.mkdir(mode=0o555)
    refused = write(at(tmp_path, "d/a"), b"x", over=None)
    assert refused is not None
    assert refused.cause == "permission"


def test_a_full_disk_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        refused = [
            write(at(tmp_path, "a"), b"x" * 10_000, over=over(tmp_path, "a")),
            write(at(tmp_path, "new"), b"x" * 10_000, over=None),
        ]
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert [r.cause for r in refused if r] == ["full", "full"]
    assert path.read_text() == "old"
    assert names(tmp_path) == ["a"]


@pytest.mark.parametrize(
    ("number", "cause"),
    [
        (errno.ENOSPC, "full"),
        (errno.EDQUOT, "full"),
        (errno.EROFS, "read_only"),
        (errno.EACCES, "permission"),
        (errno.ENAMETOOLONG, "too_long"),
        (errno.EIO, "failed"),
    ],
)
def test_every_failure_has_its_cause(number: int, cause: str) -> None:
    refused = refusal(OSError(number, os.strerror(number)), ConfinedPath(Path("/w"), ("a",)))
    assert refused.cause == cause
    assert refused.reason.startswith("/w/a ")


def test_a_name_that_is_too_long_is_refused(tmp_path: Path) -> None:
    refused = write(at(tmp_path, "x" * 300), b"x", over=None)
    assert refused is not None
    assert refused.cause == "too_long"


def test_folders_are_made_and_only_empty_ones_removed(tmp_path: Path) -> None:
    made = create_folders(at(tmp_path, "a/b/c/d/e"))
    assert isinstance(made, tuple)
    assert len(made) == 5
    assert create_folders(at(tmp_path, "a/b/c/d/e")) == ()
    (tmp_path / "a/mine").touch()
    ends = [delete_folder(spot) for spot in reversed(made)]
    assert ends[:4] == [None] * 4
    assert ends[4] is not None
    assert ends[4].cause == "not_empty"
    (tmp_path / "file").touch()
    refused = create_folders(at(tmp_path, "file/x"))
    assert isinstance(refused, DiskRefused)


def test_a_name_may_change_its_case(tmp_path: Path) -> None:
    (tmp_path / "Readme.md").write_text("x")
    assert rename(at(tmp_path, "Readme.md"), at(tmp_path, "README.md")) is None
    assert names(tmp_path) == ["README.md"]


def test_hard_links_are_two_files_for_a_rename(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    os.link(tmp_path / "a", tmp_path / "b")
    refused = rename(at(tmp_path, "a"), at(tmp_path, "b"))
    assert refused is not None
    assert names(tmp_path) == ["a", "b"]


def test_a_link_in_the_path_is_not_followed(tmp_path: Path) -> None:
    inside, outside = tmp_path / "in", tmp_path / "out"
    inside.mkdir()
    outside.mkdir()
    (outside / "a").write_text("secret")
    (inside / "d").symlink_to(outside)
    (inside / "f").symlink_to(outside / "a")
    known = over(outside, "a")
    assert read(at(inside, "d/a")).kind == "unreadable"
    assert read(at(inside, "f")).kind == "special"
    for refused in (
        write(at(inside, "d/new"), b"x", over=None),
        write(at(inside, "d/a"), b"x", over=known),
        write(at(inside, "f"), b"x", over=known),
        delete_file(at(inside, "d/a"), was=known),
        rename(at(inside, "d/a"), at(inside, "b")),
        create_folders(at(inside, "d/e")),
    ):
        assert isinstance(refused, DiskRefused)
    assert names(outside) == ["a"]
    assert (outside / "a").read_text() == "secret"


@pytest.mark.slow
def test_a_thousand_swaps_write_nothing_outside(tmp_path: Path) -> None:
    inside, outside = tmp_path / "in", tmp_path / "out"
    (inside / "d").mkdir(parents=True)
    outside.mkdir()
    ended = threading.Event()

    def swap() -> None:
        while not ended.is_set():
            with contextlib.suppress(OSError):
                (inside / "d").rename(inside / "kept")
                (inside / "d").symlink_to(outside)
                (inside / "d").unlink()
                (inside / "kept").rename(inside / "d")

    swapper = threading.Thread(target=swap)
    swapper.start()
    try:
        for n in range(1000):
            write(at(inside, f"d/{n}"), b"x", over=None)
            read(at(inside, f"d/{n}"))
    finally:
        ended.set()
        swapper.join()
    assert names(outside) == []


def test_what_is_saved_while_the_new_content_is_flushed_stays(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("old")
    was = over(tmp_path, "f")

    def save() -> None:
        while not any(name.endswith(".tmp") for name in names(tmp_path)):
            pass
        (tmp_path / "f").write_text("what the user saved")

    user = threading.Thread(target=save)
    user.start()
    refused = write(at(tmp_path, "f"), b"x" * 50_000_000, over=was)
    user.join()
    assert isinstance(refused, DiskRefused) and refused.cause == "changed"
    assert (tmp_path / "f").read_text() == "what the user saved"
    assert names(tmp_path) == ["f"]


def test_only_what_an_ended_process_was_writing_is_removed(tmp_path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    token = "0123456789abcdef"
    gone = f".planloom-{ended.pid}-{token}.tmp"
    kept = [
        f".planloom-{os.getpid()}-{token}.tmp",
        f".planloom-{ended.pid}-{token}.moving",
        f".planloom-{ended.pid}-mine.tmp",
        f".{token}.tmp",
        f"planloom-{ended.pid}-{token}.tmp",
    ]
    for name in (gone, *kept):
        (tmp_path / name).touch()
    (tmp_path / "deeper").mkdir()
    (tmp_path / "deeper" / gone).touch()
    remove_leftovers(ConfinedPath(tmp_path, ()))
    assert names(tmp_path) == sorted([*kept, "deeper"]) and (tmp_path / "deeper" / gone).exists()


def test_a_process_that_is_killed_as_it_writes_leaves_a_name_that_is_known(tmp_path: Path) -> None:
    code = (
        "import os, sys, signal; from pathlib import Path; from planloom.workspace import disk_changes as d;"
        "from planloom.workspace.disk import ConfinedPath;"
        "d.os.fsync = lambda _: os.kill(os.getpid(), signal.SIGKILL);"
        "d.write(ConfinedPath(Path(sys.argv[1]), ('new',)), b'half', over=None)"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False)
    assert len(names(tmp_path)) == 1
    remove_leftovers(ConfinedPath(tmp_path, ()))
    assert names(tmp_path) == []


def test_a_scratch_file_is_written_where_nothing_of_a_killed_process_is_left(tmp_path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    (tmp_path / ".planloom").mkdir()
    (tmp_path / ".planloom" / f".planloom-{ended.pid}-0123456789abcdef.tmp").touch()
    assert write_scratch_file(root_at(tmp_path), "plan.md", "text\n") is not None
    assert names(tmp_path / ".planloom") == [".gitignore", "plan.md"]
