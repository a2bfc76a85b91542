"""The wheel, built from the sdist alone, in a clean environment of every Python that is found here.

`PLANLOOM_PYTHONS` names more interpreters than those on PATH and the one that `make pythons` fetches. The locked wheels
come from where `make wheels` keeps them, so that the tests use no network.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from email import message_from_bytes
from functools import cache
from pathlib import Path

import pytest

from planloom.version import VERSION
from supply.bundle import kept_wheels
from supply.packages import sdist, wheel_of
from supply.targets import LOCKS, PLATFORMS, PROJECT, PYTHONS, this_platform
from tests.supply.test_package import TOOLS, checkout

pytestmark = [pytest.mark.slow, pytest.mark.process, pytest.mark.timeout(600)]

PLAN = """\
1. Create folder notes
2. Create file notes/hello.md with content "# Hello"
3. Replace "Hello" with "Bye" in notes/hello.md"""
PROBE = "import sys; print('%d.%d' % sys.version_info[:2])"


@cache
def pythons() -> dict[str, str]:
    """The interpreter of each version that is found; the first one of several."""
    named = [Path(each) for each in os.environ.get("PLANLOOM_PYTHONS", "").split(os.pathsep) if each]
    folders = [Path(each) for each in os.environ.get("PATH", "").split(os.pathsep) if each]
    # A version manager keeps its interpreters beside each other, and puts on PATH those that are chosen now.
    folders += [*sorted(Path.home().glob(".pyenv/versions/*/bin")), TOOLS / "python" / "usr" / "bin"]
    candidates = [folder / f"python{version}" for version in PYTHONS for folder in folders]
    found: dict[str, str] = {}
    for each in (*named, Path(sys.executable), *candidates):
        if not each.exists():
            continue
        asked = subprocess.run(
            [each, "-I", "-c", PROBE], check=False, capture_output=True, text=True, timeout=60
        )
        version = asked.stdout.strip()
        if asked.returncode == 0 and version in PYTHONS:
            found.setdefault(version, str(each))
    return found


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("packages")
    return wheel_of(sdist(PROJECT, place), place)


@pytest.fixture(scope="session")
def wheels() -> Path:
    """The folder with the locked wheels."""
    if this_platform() not in PLATFORMS:
        pytest.skip(f"no wheels are locked for {this_platform()}")
    kept = kept_wheels(this_platform(), TOOLS / "wheels")
    if not kept.is_dir():
        pytest.skip("needs the locked wheels: run `make wheels` once")
    return kept


def installed(python: str, place: Path, wheels: Path, wheel: Path) -> Path:
    """A new environment with the wheel and its locked dependencies. Returns its `planloom`."""
    subprocess.run([python, "-m", "venv", "--without-pip", str(place)], check=True)
    of_place = place / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(of_place), "--disable-pip-version-check", "install"]
    offline = ["--quiet", "--no-index", "--no-deps"]
    lock = ["--require-hashes", "--find-links", str(wheels), "--requirement", str(LOCKS / "server.txt")]
    subprocess.run([*pip, *offline, *lock], check=True)
    subprocess.run([*pip, *offline, str(wheel)], check=True)
    return place / "bin" / "planloom"


@pytest.mark.parametrize("version", PYTHONS)
def test_it_plans_and_undoes_where_only_the_lock_is_installed(
    version: str, tmp_path: Path, wheels: Path, wheel: Path
) -> None:
    python = pythons().get(version)
    if python is None:
        pytest.skip(f"no Python {version} is on PATH or in PLANLOOM_PYTHONS")
    planloom = installed(python, tmp_path / "environment", wheels, wheel)
    work = tmp_path / "work"
    work.mkdir()
    (tmp_path / "home").mkdir()
    surroundings = {"PATH": os.environ["PATH"], "HOME": str(tmp_path / "home"), "TERM": "dumb"}

    def run(*arguments: str) -> str:
        done = subprocess.run(
            [planloom, *arguments],
            check=False,
            cwd=work,
            env=surroundings,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, f"{arguments}: {done.stdout}{done.stderr}"
        return done.stdout

    assert run("--version") == f"planloom {VERSION}\n"
    assert re.search(rf"Python\s+{re.escape(version)}\.", run("doctor"))
    run("run", "--yes", "--trust", PLAN)
    assert (work / "notes" / "hello.md").read_text() == "# Bye"
    run("undo", "--yes", "--trust")
    assert list(work.iterdir()) == []


def test_the_sdist_is_the_same_wherever_it_is_made_and_holds_the_server_alone(tmp_path: Path) -> None:
    first, second = tmp_path / "a", tmp_path / "another place"
    made = [sdist(checkout(place / "project"), place / "dist") for place in (first, second)]
    assert made[0].read_bytes() == made[1].read_bytes()
    with tarfile.open(made[0]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    beside = {name for name in names if not name.startswith("server/planloom/")}
    assert beside == {
        *(".gitignore", "CHANGELOG.md", "LICENSE", "PKG-INFO", "README.md", "pyproject.toml"),
    }


def test_the_wheel_says_who_made_it_for_what_and_where_more_is(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        about = message_from_bytes(archive.read(f"planloom-{VERSION}.dist-info/METADATA"))
        assert "planloom/py.typed" in archive.namelist()
    assert (about["Version"], about["License-Expression"]) == (VERSION, "MIT")
    assert about["Author"] == "The Planloom developers"
    kinds = {each.partition(",")[0] for each in about.get_all("Project-URL", [])}
    assert kinds == {"Homepage", "Documentation", "Changelog", "Issues", "Source"}


def test_the_same_tree_gives_the_same_wheel_through_another_sdist(wheel: Path, tmp_path: Path) -> None:
    again = wheel_of(sdist(checkout(tmp_path / "project"), tmp_path / "dist"), tmp_path / "dist")
    assert again.read_bytes() == wheel.read_bytes()


def test_a_python_that_is_found_runs(tmp_path: Path) -> None:
    """Else every case above could be skipped without a word."""
    assert f"{sys.version_info[0]}.{sys.version_info[1]}" in pythons()
    assert shutil.which("git") is not None
