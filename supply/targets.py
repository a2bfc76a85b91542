"""The Pythons and platforms for which wheels are locked and the extension is packaged."""

from __future__ import annotations

import platform
import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
CLIENT = PROJECT / "client-vscode"
BUILT = CLIENT / "built"
"""What packaging the extension leaves for the reports on it, and does not package."""
LOCKS = PROJECT / "supply" / "locks"
NPM_LOCKS = (".", "node", "e2e/tools")
"""Folders of the extension with a package-lock.json: its own, of the Node that builds it, of the workbench."""
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
PLATFORMS = {
    "linux-x64": (
        "manylinux_2_28_x86_64",
        "manylinux_2_24_x86_64",
        "manylinux_2_17_x86_64",
        "manylinux2014_x86_64",
    ),
    "linux-arm64": ("manylinux_2_28_aarch64", "manylinux_2_17_aarch64", "manylinux2014_aarch64"),
    "alpine-x64": ("musllinux_1_2_x86_64", "musllinux_1_1_x86_64"),
    "alpine-arm64": ("musllinux_1_2_aarch64", "musllinux_1_1_aarch64"),
    "darwin-x64": ("macosx_11_0_x86_64", "macosx_10_12_x86_64", "macosx_10_13_x86_64"),
    "darwin-arm64": ("macosx_11_0_arm64",),
    "win32-x64": ("win_amd64",),
}
"""For each platform, in VS Code's words, the tags of the wheels that run on it."""

UNIVERSAL = "universal"
"""The target of an extension for every platform, which carries no server."""


def this_platform() -> str:
    """The platform of this machine, in VS Code's words; one with musl is taken for another Linux."""
    machine = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64"}.get(platform.machine().lower())
    return f"{sys.platform}-{machine or platform.machine()}"


def fitting(target: str, python: str) -> tuple[str, ...]:
    """Options by which pip takes only wheels for `target` and `python`."""
    tags = tuple(word for tag in PLATFORMS[target] for word in ("--platform", tag))
    return ("--only-binary", ":all:", "--python-version", python, *tags)
