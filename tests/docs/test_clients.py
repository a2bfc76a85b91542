"""The clients of docs/clients: short, and each carries a plan through against the real server, answered by lines."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from codegen.targets import ROOT

CLIENTS = ROOT / "docs" / "clients"
ESBUILD = ROOT / "client-vscode" / "node_modules" / ".bin" / "esbuild"
REQUEST = """\
1. Replace "old" with "new" in @open.txt
2. Which colour should it be?
3. Replace "old" with "new" in @closed.txt
4. Create file sub/made.txt with content "made"
5. Run `cat open.txt closed.txt sub/made.txt`"""
ANSWERS = (
    *("y", "Start execution", "Allow once", "blue", "Allow once", "Allow once", "Allow once"),
    *("Undo all edits of this plan", ""),
)
STATES = [
    "Ready for review",
    "Waits for your approval",
    "Waits for your answer",
    *["Waits for your approval"] * 3,
]


def command(client: Path, folder: Path) -> list[str]:
    """The command that runs a client; one in TypeScript is made JavaScript for a Node that takes no types."""
    if client.suffix == ".py":
        return [sys.executable, str(client)]
    node = shutil.which("node")
    if node is None or not ESBUILD.exists():
        pytest.skip("Node or the packages of the extension are not installed: `make client` has both")
    runs = subprocess.run(
        [node, "-p", "process.features.typescript"], check=True, capture_output=True, text=True
    )
    if runs.stdout.strip() == "strip":
        return [node, str(client)]
    script = folder / "client.mjs"
    subprocess.run([ESBUILD, client, f"--outfile={script}", "--log-level=warning"], check=True)
    return [node, str(script)]


@pytest.mark.parametrize("name", ["client.py", "client.mts"])
def test_a_client_fits_on_three_pages(name: str) -> None:
    assert len((CLIENTS / name).read_text(encoding="utf-8").splitlines()) <= 150


@pytest.mark.process
@pytest.mark.skipif(sys.platform == "win32", reason="the clients take paths of POSIX")
@pytest.mark.parametrize("name", ["client.py", "client.mts"])
def test_a_client_reviews_allows_edits_answers_and_undoes(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "workspace"
    folder.mkdir()
    (folder / "open.txt").write_bytes("é😀 old, 😀\r\nlast\n".encode())
    (folder / "closed.txt").write_bytes(b"first\nold\n")
    settings = tmp_path / "settings.json"
    settings.write_text('{"planloom.approvals.plan": "none", "planloom.model.provider": "embedded"}')
    environment = {
        "PLANLOOM_CONFIG": str(settings),
        "HOME": str(tmp_path),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "XDG_STATE_HOME": str(tmp_path / "state"),
    }
    ran = subprocess.run(
        [*command(CLIENTS / name, tmp_path), str(folder), REQUEST, "open.txt"],
        input="".join(f"{answer}\n" for answer in ANSWERS),
        capture_output=True,
        text=True,
        encoding="utf-8",
        env=environment,
        timeout=60,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, ""), ran.stdout
    states = re.findall(r"^(?:> |.*\(y\) )?([A-Z][a-z ]+): ", ran.stdout, re.MULTILINE)
    assert states == [*STATES, "Done", "Undone"], ran.stdout
    assert re.findall(r"^[-+]\w.*$", ran.stdout, re.MULTILINE) == [
        *("-é😀 old, 😀", "+é😀 new, 😀", "-old", "+new", "+made")
    ]
    assert "Which colour should it be?" in ran.stdout.splitlines()
    assert "[1] Redo all edits of this plan" in ran.stdout.splitlines(), "the undo was not made"
    # The plan's text was saved before the command, so that its undo is saved too.
    assert (folder / "open.txt").read_bytes() == "é😀 old, 😀\r\nlast\n".encode()
    assert (folder / "closed.txt").read_bytes() == b"first\nold\n"
    assert not (folder / "sub").exists()
