"""What npm installs is locked with hashes, and no package runs a script while it is installed, but those named here."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from supply.targets import CLIENT, PROJECT

LOCKS = {
    "package-lock.json": {"@vscode/vsce-sign", "esbuild"},
    "node/package-lock.json": set(),
    "e2e/tools/package-lock.json": {"argon2", "code-server"},
}
"""For each lock the packages that have a script for their installation. None of them runs: the extension is not signed
here, esbuild's replaces a launcher by the program itself, and code-server's and argon2's are for other uses."""
RUN = {"@vscode/native-watchdog", "@vscode/spdlog"}
"""Packages of code-server's own lock that the workbench does not start without; their scripts compile them."""
SCRIPTS = [PROJECT / "Makefile", PROJECT / ".ci" / "run", *CLIENT.glob("scripts/*"), *CLIENT.glob("e2e/*.*")]


@pytest.mark.parametrize("lock", LOCKS)
def test_every_package_has_a_hash_and_the_ones_with_scripts_are_known(lock: str) -> None:
    packages = json.loads((CLIENT / lock).read_text(encoding="utf-8"))["packages"]
    others = {path.rpartition("node_modules/")[2]: about for path, about in packages.items() if path}
    assert [name for name, about in others.items() if not about["integrity"].startswith("sha512-")] == []
    assert {name for name, about in others.items() if about.get("hasInstallScript")} == LOCKS[lock]


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_fits_its_package_json_and_names_no_address(lock: str) -> None:
    path = CLIENT / lock
    stated = json.loads(path.with_name("package.json").read_text(encoding="utf-8"))
    locked = json.loads(path.read_text(encoding="utf-8"))["packages"][""]
    kinds = ("dependencies", "devDependencies", "optionalDependencies")
    assert {kind: stated.get(kind) for kind in kinds} == {kind: locked.get(kind) for kind in kinds}
    assert '"resolved"' not in path.read_text(encoding="utf-8")


def calls(verb: str) -> list[str]:
    """The lines of all scripts that call npm with `verb`."""
    lines = [line for path in SCRIPTS if path.is_file() for line in path.read_text("utf-8").splitlines()]
    return [
        line for line in lines if re.search(rf"\bnpm {verb}\b", line) and not line.lstrip().startswith("#")
    ]


def test_npm_installs_from_locks_alone_and_runs_no_scripts() -> None:
    assert len(calls("ci")) == 4
    assert [line for line in calls("ci") if "--ignore-scripts " not in line] == []
    assert calls("(install|i|add|update|exec|x)") == []


def test_the_scripts_that_run_are_those_named_here() -> None:
    named = {word for line in calls("rebuild") for word in line.split() if word.startswith("@")}
    assert named == RUN


def test_installing_by_hand_runs_no_scripts_either() -> None:
    assert "ignore-scripts=true" in Path(CLIENT / ".npmrc").read_text(encoding="utf-8").splitlines()
