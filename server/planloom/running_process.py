"""Whether another process still runs: the server that holds a plan, the one that left a file, the editor."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def is_running(process: int) -> bool:
    """Whether a process of this id runs on this machine, in this container; True where that cannot be known.

    One that has ended does not, even if nobody has collected its end: in a container that may never happen.
    """
    # Signal 0 would end the process on Windows.
    if sys.platform == "win32":
        return True
    if process <= 0:
        return False
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    try:
        stat = Path(f"/proc/{process}/stat").read_bytes()
    except OSError:
        # There is no /proc, or the process has ended by now.
        return not Path("/proc/self").exists()
    # proc(5): the state stands behind the name, which may have any characters.
    return stat.rpartition(b")")[2].split()[:1] not in ([b"Z"], [b"X"])
