"""Whether a process runs: one that was killed does not, though nobody has collected its end."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from planloom.running_process import is_running

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no process can be asked there")


def test_this_process_runs_and_no_process_has_such_an_id() -> None:
    assert is_running(os.getpid()) and is_running(1)
    assert not is_running(0) and not is_running(-1) and not is_running(2**40)


@pytest.mark.process
def test_a_killed_process_runs_no_longer_before_and_after_its_end_is_collected() -> None:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    assert is_running(process.pid)
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert not is_running(process.pid)
    process.communicate()
    assert not is_running(process.pid)
