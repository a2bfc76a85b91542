"""Installs Codex, which benches measure beside Planloom: `python -m bench.peers.install`.

It comes from npm, into `peers` in the folder that `PLANLOOM_TOOLS` names. No package runs a script of its own while it
is installed.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Final

PACKAGE: Final = "@openai/codex@0.169.0"


def folder() -> Path:
    """Where it is installed."""
    tools = os.environ.get("PLANLOOM_TOOLS") or Path.home() / ".cache" / "planloom-tools"
    return Path(tools) / "peers" / "npm"


def codex() -> Path | None:
    """The program of Codex; None if it is not installed."""
    path = folder() / "node_modules" / ".bin" / "codex"
    return path if path.exists() else None


def main() -> None:
    folder().mkdir(parents=True, exist_ok=True)
    options = ("--no-fund", "--no-audit", "--ignore-scripts")
    # A project around the folder would be installed into without the prefix.
    subprocess.run(["npm", "install", "--prefix", str(folder()), *options, PACKAGE], check=True)


if __name__ == "__main__":
    main()
