"""What holds for every test: none fails because the machine is busy, and a run tries what the last one tried."""

from __future__ import annotations

import os
import signal

from hypothesis import settings

EXPLORING = os.environ.get("PLANLOOM_EXPLORE") == "1"
"""Whether a run tries new examples and seeds, instead of those of every run."""

settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.register_profile("exploring", deadline=None)
settings.load_profile("exploring" if EXPLORING else "repeatable")

if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    # A run in the background ignores it, and every process that a test starts would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
