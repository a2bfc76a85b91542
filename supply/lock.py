"""Writes `supply/locks/`: exact versions of all Python packages that `make` installs, with hashes of their wheels.

`python -m supply.lock` keeps the versions that are locked and still fit `pyproject.toml`, `--upgrade` resolves all
anew. pip resolves, from whatever index it is configured with; of each package the wheels of every platform and Python
in `supply/targets.py` are listed, and no source distribution, so that no installation runs code of the package.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from supply.targets import LOCKS, PLATFORMS, PROJECT, PYTHONS, fitting

SYSTEMS = {"linux": ("Linux", "posix"), "darwin": ("Darwin", "posix"), "win32": ("Windows", "nt")}
"""For each `sys_platform`, the markers `platform_system` and `os_name`."""
LEFT_OUT = frozenset({"pywin32"})
"""Requirements that nothing here uses: with it `mcp` starts processes on Windows, and the server starts its own."""
HEADER = "# Written by `python -m supply.lock` from pyproject.toml.\n"


@dataclass(frozen=True)
class Wheel:
    """A wheel that pip would install: package, version, SHA-256 in hex, and what it requires."""

    name: str
    version: str
    sha256: str
    requires: tuple[str, ...]


@dataclass(frozen=True)
class Inputs:
    """What `pyproject.toml` requires for the server, for developing and building it, and for each dependency group.

    The server's are those of the extra `mcp`, too: the extension for VS Code has them, and the tests.
    """

    server: tuple[str, ...]
    dev: tuple[str, ...]
    groups: dict[str, tuple[str, ...]]


def main() -> None:
    """Read the arguments and write the locks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--upgrade", action="store_true", help="take the newest versions that pyproject.toml allows"
    )
    kept = (
        ()
        if parser.parse_args().upgrade
        else tuple(pin for lock in LOCKS.glob("*.txt") for pin in pins(lock))
    )
    asked = inputs(PROJECT / "pyproject.toml")
    resolved = resolve((*asked.server, *asked.dev), kept)
    server = closure(asked.server, resolved)
    listed = hashes(tuple(f"{wheel.name}=={wheel.version}" for wheel in resolved.values()))
    dev = {name: found for name, found in listed.items() if name.split("==")[0] not in server}
    write("server", {name: found for name, found in listed.items() if name not in dev})
    write("dev", dev, "-r server.txt\n")
    for name, pinned in asked.groups.items():
        write(name, hashes(pinned, everywhere=False))


def inputs(pyproject: Path) -> Inputs:
    """Read what is required from `pyproject.toml`."""
    stated = tomllib.loads(pyproject.read_text(encoding="utf-8"))
    project = stated["project"]
    dev = (*project["optional-dependencies"]["dev"], *stated["build-system"]["requires"])
    groups = {name: tuple(pinned) for name, pinned in stated["dependency-groups"].items()}
    return Inputs((*project["dependencies"], *project["optional-dependencies"]["mcp"]), dev, groups)


def pins(lock: Path) -> Iterator[str]:
    """The lines `name==version` of a lock."""
    for line in lock.read_text(encoding="utf-8").splitlines():
        if "==" in line and not line.startswith(("#", " ")):
            yield line.removesuffix("\\").strip()


def hashes_of(lock: Path) -> dict[str, dict[str, str]]:
    """The SHA-256 of the wheels of each package in a lock, numbered from 1."""
    found: dict[str, dict[str, str]] = {}
    name = ""
    for line in lock.read_text(encoding="utf-8").splitlines():
        if "==" in line and not line.startswith(("#", " ")):
            name = line.partition("==")[0]
        elif digest := line.partition("--hash=sha256:")[2].removesuffix("\\").strip():
            wheels = found.setdefault(name, {})
            wheels[str(len(wheels) + 1)] = digest
    return found


def resolve(requirements: Iterable[str], kept: Iterable[str]) -> dict[str, Wheel]:
    """Every package needed on any target, by name, with versions that fit together; those in `kept` where they fit.

    pip judges markers by the Python that runs it, so what only another platform needs is asked for by its name.
    """
    wanted = [*requirements]
    constraints = [*kept]
    while True:
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write("\n".join(constraints))
            file.flush()
            found = would_install(("--only-binary", ":all:", "--constraint", file.name), wanted)
        missing = sorted(closure(wanted, found) - found.keys())
        if not missing:
            return found
        wanted += missing


def closure(
    requirements: Iterable[str], found: dict[str, Wheel], without: frozenset[str] = LEFT_OUT
) -> set[str]:
    """The names of all that `requirements` need on any target, as far as `found` knows what they require.

    Those `without` which it works are left out, with what they alone need.
    """
    names: set[str] = set()
    waiting = [Requirement(text) for text in requirements]
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        if name in without or (name in names and not requirement.extras):
            continue
        names.add(name)
        needed = found[name].requires if name in found else ()
        waiting += [each for text in needed if applies(each := Requirement(text), requirement.extras)]
    return names


def installed() -> dict[str, Wheel]:
    """What is installed for the running Python, by the normal form of the name; without hashes."""
    found = ((canonicalize_name(each.name), each) for each in importlib.metadata.distributions())
    return {name: Wheel(name, each.version, "", tuple(each.requires or ())) for name, each in found}


def applies(requirement: Requirement, extras: set[str]) -> bool:
    """Whether a requirement of a package, taken with `extras`, holds on any target."""
    return requirement.marker is None or any(
        requirement.marker.evaluate({**environment, "extra": extra})
        for environment in environments()
        for extra in extras or {""}
    )


def environments() -> Iterator[dict[str, str]]:
    """The markers of every target."""
    for target in PLATFORMS:
        sys_platform = target.split("-")[0].replace("alpine", "linux")
        system, os_name = SYSTEMS[sys_platform]
        for python in PYTHONS:
            yield {
                "sys_platform": sys_platform,
                "platform_system": system,
                "os_name": os_name,
                "python_version": python,
                "python_full_version": f"{python}.0",
                "implementation_name": "cpython",
                "platform_python_implementation": "CPython",
            }


def hashes(pinned: tuple[str, ...], *, everywhere: bool = True) -> dict[str, list[str]]:
    """For each `name==version`, the hashes of its wheels for every target; without `everywhere` some may have none."""
    found: dict[str, set[str]] = {}
    for target in PLATFORMS:
        for python in PYTHONS:
            print(f"{target}, Python {python}", flush=True)
            with tempfile.TemporaryDirectory() as nowhere:
                options = ("--no-deps", "--target", nowhere, *fitting(target, python))
                try:
                    wheels = would_install(options, pinned)
                except subprocess.CalledProcessError:
                    if everywhere:
                        raise
                    continue
                for name, wheel in wheels.items():
                    found.setdefault(f"{name}=={wheel.version}", set()).add(wheel.sha256)
    return {pin: sorted(found[pin]) for pin in sorted(found)}


def would_install(options: Iterable[str], requirements: Iterable[str]) -> dict[str, Wheel]:
    """What pip would install, by the normal form of the package's name.

    Raises `subprocess.CalledProcessError` if pip finds no wheels that fit; pip has said why.
    """
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--dry-run",
        "--ignore-installed",
        "--quiet",
        "--report",
        "-",
    ]
    said = subprocess.run([*command, *options, *requirements], check=True, stdout=subprocess.PIPE)
    wheels: dict[str, Wheel] = {}
    for each in json.loads(said.stdout)["install"]:
        about = each["metadata"]
        sha256 = each["download_info"]["archive_info"]["hashes"]["sha256"]
        name = canonicalize_name(about["name"])
        wheels[name] = Wheel(name, about["version"], sha256, tuple(about.get("requires_dist", ())))
    return wheels


def write(name: str, listed: dict[str, list[str]], first: str = "") -> None:
    """Write one lock."""
    entries = [
        " \\\n    ".join([pin, *(f"--hash=sha256:{each}" for each in found)]) for pin, found in listed.items()
    ]
    (LOCKS / f"{name}.txt").write_text(HEADER + first + "\n".join(entries) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
