"""There is one version, that of `server/planloom/version.py`, wherever a part of Planloom says which it is."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from planloom.version import VERSION
from supply.targets import CLIENT, PROJECT

EMACS = PROJECT / "editors" / "emacs" / "planloom.el"
LSP = {"processId": None, "rootUri": None, "capabilities": {}}
MCP = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "a test", "version": "1"}}


def framed(message: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n%b" % (len(message), message)


def lined(message: bytes) -> bytes:
    return message + b"\n"


@pytest.mark.process
@pytest.mark.parametrize(
    ("command", "params", "sent", "place"),
    [
        ("serve", LSP, framed, "serverInfo"),
        ("acp", {"protocolVersion": 1}, lined, "agentInfo"),
        ("mcp", MCP, lined, "serverInfo"),
    ],
)
def test_each_protocol_says_it(
    command: str, params: dict[str, Any], sent: Any, place: str, tmp_path: Path
) -> None:
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
    said = subprocess.run(
        [sys.executable, "-I", "-m", "planloom", command],
        input=sent(json.dumps(message).encode()),
        capture_output=True,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "HOME": str(tmp_path)},
        timeout=60,
    ).stdout
    answer = json.loads(said[said.index(b"{") :].splitlines()[0])
    assert (answer["result"][place]["name"], answer["result"][place]["version"]) == ("planloom", VERSION)


@pytest.mark.process
def test_the_command_line_says_it() -> None:
    command = [sys.executable, "-I", "-m", "planloom", "--version"]
    assert (
        subprocess.run(command, capture_output=True, text=True, check=True).stdout == f"planloom {VERSION}\n"
    )


def test_every_package_has_it() -> None:
    lock = json.loads((CLIENT / "package-lock.json").read_text(encoding="utf-8"))
    stated = {
        "the wheel": version("planloom"),
        "the extension": json.loads((CLIENT / "package.json").read_text(encoding="utf-8"))["version"],
        "its lock": lock["version"],
        "the package in its lock": lock["packages"][""]["version"],
        "the mode for Emacs": re.findall(r"^;; Version: (.+)$", EMACS.read_text(encoding="utf-8"), re.M)[0],
    }
    assert stated == dict.fromkeys(stated, VERSION)


@pytest.mark.parametrize(
    "log", [PROJECT / "CHANGELOG.md", CLIENT / "CHANGELOG.md"], ids=["server", "extension"]
)
def test_each_changelog_has_an_entry_for_it(log: Path) -> None:
    headings = re.findall(r"^## (\S+)", log.read_text(encoding="utf-8"), re.M)
    assert VERSION in headings
    assert len(headings) == len(set(headings))
