"""Installs the other coding agents that benches measure beside Planloom, each in a folder of its own.

`python -m bench.peers.install` takes them from npm and PyPI, at the versions below, into `peers` in the folder that
`PLANLOOM_TOOLS` names. No package runs a script of its own while it is installed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

NPM: Final = {"codex": ("@openai/codex", "0.169.0"), "cn": ("@continuedev/cli", "1.5.47")}
"""Programs with their package and version."""
PYPI: Final = {
    # Its version of litellm does not start without mcp, which it does not ask for.
    "mini": ("mini-swe-agent==2.4.6", "litellm==1.106.2", "mcp==2.3.0"),
    "aider": ("aider-chat==0.86.2",),
}
"""Programs with what is installed for them, in a virtual environment of the program's name."""


def folder() -> Path:
    """Where the agents are."""
    tools = os.environ.get("PLANLOOM_TOOLS") or Path.home() / ".cache" / "planloom-tools"
    return Path(tools) / "peers"


def program(name: str) -> Path | None:
    """An installed agent's program; None if it is not installed."""
    path = (
        folder() / "npm" / "node_modules" / ".bin" / name if name in NPM else folder() / name / "bin" / name
    )
    return path if path.exists() else None


def main() -> None:
    """Install what is missing or of another version."""
    npm = folder() / "npm"
    npm.mkdir(parents=True, exist_ok=True)
    (npm / "package.json").write_text(
        json.dumps({"private": True, "dependencies": dict(NPM.values())}), encoding="utf-8"
    )
    subprocess.run(["npm", "install", "--no-fund", "--no-audit", "--ignore-scripts"], cwd=npm, check=True)
    for name, requirements in PYPI.items():
        environment = folder() / name
        if not (environment / "bin").exists():
            subprocess.run([sys.executable, "-m", "venv", environment], check=True)
        pip = [str(environment / "bin" / "pip"), "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "--only-binary", ":all:", *requirements], check=True)


if __name__ == "__main__":
    main()
