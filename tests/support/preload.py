"""Libraries that are loaded into a server (LD_PRELOAD) to stand between it and the system."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

NO_LOCKS = Path(__file__).with_name("no_locks.c")


def built(source: Path, folder: Path) -> Path | None:
    """The library of a C file, built into `folder`; None where there is no C compiler or no LD_PRELOAD."""
    compiler = shutil.which("cc")
    if sys.platform != "linux" or compiler is None:
        return None
    library = folder / f"{source.stem}.so"
    command = [compiler, "-shared", "-fPIC", "-O1", "-o", str(library), str(source), "-ldl", "-lpthread"]
    done = subprocess.run(command, capture_output=True, check=False)
    return library if done.returncode == 0 else None
