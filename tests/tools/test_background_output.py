"""What a background command prints is read once, in bounds; what a dead server left running is ended with care."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from planloom.domain.plans.commands import CommandProcess
from planloom.tools.processes.child_process import HEAD_BYTES, TAIL_BYTES
from planloom.tools.processes.kept_output import KeptOutput
from planloom.tools.processes.left_over import end_left_over, left_over, process_stamp
from planloom.tools.processes.unread_output import UnreadOutput
from tests.tools.test_processes import gone

GONE = "it was running when the server ended, and runs no longer"
STOPPED = "it was still running after the server had ended, and was stopped"


def test_each_output_is_taken_once(tmp_path: Path) -> None:
    output = UnreadOutput(KeptOutput(tmp_path, "c1"))
    output.add(b"one\n")
    assert output.news.is_set()
    assert (output.take(last=False), output.news.is_set(), output.take(last=False)) == ("one\n", False, "")
    output.add(b"two")
    assert (output.take(last=True), output.end()) == ("two", "one\ntwo")


def test_a_character_or_an_escape_sequence_is_never_cut_in_two(tmp_path: Path) -> None:
    output = UnreadOutput(KeptOutput(tmp_path, "c1"))
    whole = "grün \x1b[31mrot\x1b[0m".encode()
    taken = ""
    for byte in whole:
        output.add(bytes([byte]))
        taken += output.take(last=False)
    assert taken + output.take(last=True) == "grün rot"


def test_a_flood_is_kept_in_part_and_what_is_lost_is_counted(tmp_path: Path) -> None:
    output = UnreadOutput(KeptOutput(tmp_path, "c1"))
    line = b"0123456789abcde\n"
    for _ in range(100_000):
        output.add(line)
    text = output.take(last=False)
    assert len(text) < HEAD_BYTES + TAIL_BYTES + 200
    (lost,) = re.findall(r"\[… (\d+) bytes were printed here: give pattern or lines to read them …\]", text)
    assert int(lost) + text.count(line.decode()) * len(line) == 100_000 * len(line)
    output.add(b"after\n")
    assert output.take(last=False) == "after\n"


@pytest.fixture
def left() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(["sleep", "60"], start_new_session=True)
    yield process
    process.kill()
    process.wait()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems do not tell processes apart")
async def test_only_the_very_process_is_ended(left: subprocess.Popen[bytes]) -> None:
    stamp = process_stamp(left.pid)
    assert stamp is not None
    assert end_left_over(CommandProcess(pid=left.pid, stamp=None)).endswith(
        f"may still be running as process {left.pid}"
    )
    assert end_left_over(CommandProcess(pid=left.pid, stamp=stamp + "1")) == GONE
    assert end_left_over(CommandProcess(pid=left.pid, stamp="another start of the machine:1")) == GONE
    assert left.poll() is None
    assert end_left_over(CommandProcess(pid=left.pid, stamp=stamp)) == STOPPED
    assert await gone(left.pid)


@pytest.fixture
def group() -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """The first process of a group, which ends with its input, and the id of another that stays."""
    first = subprocess.Popen(
        ["/bin/sh", "-c", "sleep 60 >/dev/null & echo $!; exec cat"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert first.stdout is not None
    other = int(first.stdout.readline())
    yield first, other
    first.kill()
    first.communicate()
    with suppress(ProcessLookupError):
        os.kill(other, signal.SIGKILL)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems do not tell processes apart")
async def test_a_group_whose_first_process_has_ended_is_ended_too(
    group: tuple[subprocess.Popen[bytes], int],
) -> None:
    first, other = group
    stamp = process_stamp(first.pid)
    first.kill()
    first.wait()
    assert end_left_over(CommandProcess(pid=first.pid, stamp=stamp)) == STOPPED
    assert await gone(other)


def test_a_process_that_is_gone_is_told() -> None:
    process = subprocess.Popen(["true"], start_new_session=True)
    stamp = process_stamp(process.pid) or f"{os.getpid()}:1"
    process.wait()
    assert end_left_over(CommandProcess(pid=process.pid, stamp=stamp)) == GONE


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems do not tell processes apart")
def test_a_process_that_has_ended_is_gone_though_its_parent_has_not_asked_how() -> None:
    process = subprocess.Popen(["cat"], stdin=subprocess.PIPE, start_new_session=True)
    assert process.stdin is not None
    found = CommandProcess(pid=process.pid, stamp=process_stamp(process.pid))
    assert left_over(found) == "running"
    process.stdin.close()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert left_over(found) == "ended"
    process.wait()
