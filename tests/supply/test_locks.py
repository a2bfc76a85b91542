"""Everything that `make` installs is locked with hashes, and the locks are complete."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from supply.lock import closure, inputs, installed, pins, would_install, write
from supply.targets import LOCKS, PROJECT

SERVER, DEV = (LOCKS / f"{name}.txt" for name in ("server", "dev"))
STATED = inputs(PROJECT / "pyproject.toml")
GROUPS = {name: LOCKS / f"{name}.txt" for name in STATED.groups}


def versions(*locks: Path) -> dict[str, str]:
    """Version by the normal form of the name."""
    pairs = (pin.split("==") for lock in locks for pin in pins(lock))
    return {canonicalize_name(name): version for name, version in pairs}


@pytest.mark.parametrize(
    ("asked", "locks"),
    [
        (STATED.server, [SERVER]),
        (STATED.dev, [SERVER, DEV]),
        *((asked, [GROUPS[name]]) for name, asked in STATED.groups.items()),
    ],
    ids=["server", "dev", *GROUPS],
)
def test_what_pyproject_asks_for_is_locked_in_a_version_that_fits(
    asked: tuple[str, ...], locks: list[Path]
) -> None:
    locked = versions(*locks)
    for requirement in map(Requirement, asked):
        assert requirement.specifier.contains(locked[canonicalize_name(requirement.name)]), requirement


def test_the_locks_hold_all_that_is_required_on_any_platform_and_nothing_else() -> None:
    server, everything = versions(SERVER), versions(SERVER, DEV)
    assert closure(STATED.server, installed()) == set(server)
    assert closure((*STATED.server, *STATED.dev), installed()) == set(everything)


def test_what_is_installed_here_is_what_is_locked() -> None:
    locked = versions(SERVER, DEV)
    assert {name: wheel.version for name, wheel in installed().items() if name in locked} == locked


@pytest.mark.parametrize("lock", [SERVER, DEV, *GROUPS.values()], ids=lambda lock: lock.stem)
def test_each_package_has_hashes_and_no_address_is_written(lock: Path) -> None:
    text = lock.read_text(encoding="utf-8")
    entries = re.findall(r"^[a-z0-9-]+==\S+(?: \\\n    --hash=sha256:[0-9a-f]{64})+$", text, re.M)
    assert len(entries) == len(list(pins(lock))) > 0
    assert "://" not in text and "index" not in text


@pytest.mark.slow
@pytest.mark.process
def test_other_bytes_of_the_same_version_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the options of the Makefile, on a package of its own."""
    wheel = tmp_path / "harmless-1.0-py3-none-any.whl"
    about = "Metadata-Version: 2.1\nName: harmless\nVersion: 1.0\n"

    def build(code: str) -> None:
        with zipfile.ZipFile(wheel, "w") as archive:
            archive.writestr("harmless.py", code)
            archive.writestr("harmless-1.0.dist-info/METADATA", about)
            archive.writestr(
                "harmless-1.0.dist-info/WHEEL",
                "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
            )
            archive.writestr("harmless-1.0.dist-info/RECORD", "")

    build("value = 1\n")
    local = ("--no-index", "--find-links", str(tmp_path))
    found = would_install(local, ["harmless"])["harmless"]
    monkeypatch.setattr("supply.lock.LOCKS", tmp_path)
    write("lock", {"harmless==1.0": [found.sha256]})

    options = re.search(
        r"^LOCKED := \S+ -m pip install (.*)$", (PROJECT / "Makefile").read_text("utf-8"), re.M
    )
    assert options is not None
    command = [sys.executable, "-m", "pip", "install", "--dry-run", *options[1].split(), *local]
    command += ["-r", str(tmp_path / "lock.txt")]
    assert subprocess.run(command, check=False, capture_output=True).returncode == 0
    build("value = 2\n")
    refused = subprocess.run(command, check=False, capture_output=True, text=True)
    assert refused.returncode != 0 and "DO NOT MATCH THE HASHES" in refused.stderr
