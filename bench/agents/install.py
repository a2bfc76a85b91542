"""Installs the agents that are measured beside Planloom, each in a folder of its own: `python -m bench.agents.install`.

They come from PyPI and npm, exactly as locked in `bench/agents/locks`, into `agents` in the folder that
`PLANLOOM_TOOLS` names. No package runs a script of its own while it is installed.
"""

from __future__ import annotations

import filecmp
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from bench.peers import install as peers

LOCKS: Final = Path(__file__).parent / "locks"
_NPM: Final = Path(__file__).parents[2] / "tests" / "support" / "npm.sh"


def folder() -> Path:
    """Where they are installed."""
    return peers.folder().parents[1] / "agents"


def mini() -> Path | None:
    """The program of mini-swe-agent; None if it is not installed."""
    return _there("mini-swe-agent/bin/mini")


def aider() -> Path | None:
    """The program of aider."""
    return _there("aider/bin/aider")


def cn() -> Path | None:
    """The program of Continue."""
    return _there("continue/node_modules/.bin/cn")


def _there(name: str) -> Path | None:
    path = folder() / name
    return path if path.exists() else None


def from_pypi(name: str) -> None:
    """Install what `locks/NAME.txt` lists into an environment of its own, unless it is there."""
    lock, target = LOCKS / f"{name}.txt", folder() / name
    kept = target / "lock.txt"
    if kept.exists() and filecmp.cmp(lock, kept, shallow=False):
        return
    shutil.rmtree(target, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", str(target)], check=True)
    options = (
        "--quiet",
        "--disable-pip-version-check",
        "--require-hashes",
        "--no-deps",
        "--only-binary",
        ":all:",
    )
    subprocess.run(
        [str(target / "bin/python"), "-m", "pip", "install", *options, "-r", str(lock)], check=True
    )
    shutil.copy(lock, kept)


def main() -> None:
    """Install all; those that are there already are left as they are."""
    if peers.codex() is None:
        peers.main()
    subprocess.run([str(_NPM), str(LOCKS / "continue"), str(folder() / "continue")], check=True)
    for name in ("mini-swe-agent", "aider"):
        from_pypi(name)


if __name__ == "__main__":
    main()
