"""What holds for every test: none fails because the machine is busy, and a run tries what the last one tried.

Files of tests lie in memory where there is some to spare: ledgers sync every commit, which on a disk takes longer than
all else, and no test is about the disk itself (those of power cuts stand between the ledger and it).
"""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings

from tests.depth import QUICK, few, rounds
from tests.support.warm_server import WarmServers, shared

EXPLORING = os.environ.get("PLANLOOM_EXPLORE") == "1"
"""Whether a run tries new examples and seeds, instead of those of every run."""

MEMORY = Path("/dev/shm")
SPARE_BYTES = 4_000_000_000
"""More than the files of a whole run."""

if "TMPDIR" not in os.environ and os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > SPARE_BYTES:
    # Of this process, and of all that it starts.
    tempfile.tempdir = os.environ["TMPDIR"] = str(MEMORY)

if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    # A run below `nohup` would pass that on to the servers that it starts, and they would heed it.
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

# Servers that lie beside the interpreter would judge every change of a Python file. What is about them starts its own.
os.environ["PLANLOOM_LANGUAGE_ENABLED"] = "false"

settings.register_profile(
    "planloom", deadline=None, derandomize=not EXPLORING, max_examples=rounds(100, 2_000)
)
settings.load_profile("planloom")

if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    # A run in the background ignores it, and every process that a test starts would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if QUICK:
        kept = few(items)
        config.hook.pytest_deselected(items=[*{*items} - {*kept}])
        items[:] = kept


@pytest.fixture
def warm() -> WarmServers:
    """The process that forks servers; one of each run's processes has one, since it takes a second to start."""
    return shared()
