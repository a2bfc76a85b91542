"""Unpacks the server and what it needs into `client-vscode/bundled/`, for one platform and every Python.

All packages go to one folder, since compiled modules have their Python in their names and the rest of a package is the
same for each. `start.py` puts it on the path of an interpreter that was started with nothing else on it. Wheels are
taken only with hashes that are locked. For the target `universal` nothing is unpacked: the extension then starts the
`planloom` that it finds.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from supply.elf import without_sections
from supply.lock import LEFT_OUT as LEFT_OUT_OF_LOCKS
from supply.lock import closure, inputs, installed
from supply.targets import (
    BUILT,
    CLIENT,
    LOCKS,
    PLATFORMS,
    PROJECT,
    PYTHONS,
    UNIVERSAL,
    fitting,
    this_platform,
)

NOT_OF_EDITORS = ("rich", "prompt_toolkit", "agent-client-protocol")
"""Packages that the command line or the agent alone needs; editors start the server."""
NEVER_IMPORTED = frozenset({"jsonschema"})
"""Requirements that are not imported: `mcp` checks results with it, which `mcp_servers/connection.py` switches off."""
LEFT_OUT = re.compile(
    r"(^|/)(tests?|__pycache__|__pyinstaller)/|\.pyi$|(^|/)py\.typed$|\.data/|^planloom/(cli|acp|mcp)/"
    r"|\.dist-info/(?!METADATA$|licenses/|[^/]*(LICEN[CS]E|COPYING|NOTICE|AUTHORS)[^/]*$)"
)
"""Parts of wheels that the server never reads. What remains of `.dist-info` tells the version and the license."""


def main() -> None:
    """Read the arguments and fill `bundled/`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", choices=(*sorted(PLATFORMS), UNIVERSAL), default=this_platform())
    parser.add_argument("--fetch", action="store_true", help="only fetch the wheels")
    tools = os.environ.get("PLANLOOM_TOOLS") or Path.home() / ".cache" / "planloom-tools"
    parser.add_argument("--cache", type=Path, default=Path(tools) / "wheels")
    arguments = parser.parse_args()
    if arguments.fetch:
        dependencies(arguments.target, arguments.cache)
        return
    bundled = CLIENT / "bundled"
    for folder in (bundled, BUILT):
        shutil.rmtree(folder, ignore_errors=True)
    BUILT.mkdir()
    taken = {} if arguments.target == UNIVERSAL else fill(bundled, arguments.target, arguments.cache)
    (BUILT / "wheels.json").write_text(json.dumps(taken), encoding="utf-8")


def fill(bundled: Path, target: str, cache: Path) -> dict[str, dict[str, str]]:
    """Fill the folder for one platform. Returns the hashes of the wheels that were taken, by their packages."""
    packages = bundled / "packages"
    with tempfile.TemporaryDirectory() as scratch:
        unpack(own_wheel(PROJECT, Path(scratch)), packages)
    needed = server_needs()
    taken: dict[str, dict[str, str]] = {}
    for wheel in dependencies(target, cache):
        if (name := package_of(wheel)) in needed:
            unpack(wheel, packages)
            save_bills(wheel, BUILT / "bills" / name)
            taken.setdefault(name, {})[wheel.name] = hashlib.sha256(wheel.read_bytes()).hexdigest()
    shutil.copy(CLIENT / "scripts" / "start.py", bundled / "start.py")
    about = {"target": target, "pythons": PYTHONS}
    (bundled / "bundle.json").write_text(json.dumps(about), encoding="utf-8")
    return taken


def own_wheel(project: Path, to: Path) -> Path:
    """Build the server's wheel with the build back-end that is installed here."""
    pip(("wheel", "--no-index", "--no-deps", "--no-build-isolation", "--wheel-dir", str(to), str(project)))
    return next(to.glob("planloom-*.whl"))


def server_needs() -> set[str]:
    """The names of the packages that the server imports, directly or not."""
    asked = [
        text
        for text in inputs(PROJECT / "pyproject.toml").server
        if Requirement(text).name not in NOT_OF_EDITORS
    ]
    return closure(asked, installed(), LEFT_OUT_OF_LOCKS | NEVER_IMPORTED)


def package_of(wheel: Path) -> str:
    """The normal form of the name of a wheel's package."""
    return canonicalize_name(wheel.name.split("-")[0])


def dependencies(target: str, cache: Path) -> tuple[Path, ...]:
    """The locked wheels of the server's dependencies, downloaded once for one lock."""
    kept = kept_wheels(target, cache)
    if not kept.is_dir():
        partial = kept.with_suffix(".partial")
        shutil.rmtree(partial, ignore_errors=True)
        for python in PYTHONS:
            locked = ("--require-hashes", "--no-deps", "--requirement", str(LOCKS / "server.txt"))
            pip(("download", "--dest", str(partial), *locked, *fitting(target, python)))
        partial.rename(kept)
    return tuple(sorted(kept.glob("*.whl")))


def kept_wheels(target: str, cache: Path) -> Path:
    """The folder of the wheels of a target, whether they were fetched or not."""
    asked = json.dumps([(LOCKS / "server.txt").read_text(encoding="utf-8"), PYTHONS, PLATFORMS[target]])
    return cache / f"{target}-{hashlib.sha256(asked.encode()).hexdigest()[:16]}"


def pip(arguments: tuple[str, ...]) -> None:
    """Run pip of the running Python."""
    subprocess.run(
        [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments], check=True
    )


def unpack(wheel: Path, to: Path) -> None:
    """Unpack what the server reads of a wheel. Raises `ValueError` if another wheel has a file of the same name."""
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if name.endswith("/") or LEFT_OUT.search(name):
                continue
            content = without_sections(archive.read(name))
            place = to / name
            if place.exists() and place.read_bytes() != content:
                raise ValueError(f"{name} of {wheel.name} differs from that of another wheel")
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)


def save_bills(wheel: Path, to: Path) -> None:
    """Save what a wheel says of the parts that are compiled into it (PEP 770); it differs from wheel to wheel."""
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if re.search(r"\.dist-info/sboms/[^/]+\.json$", name):
                to.mkdir(parents=True, exist_ok=True)
                (to / f"{wheel.stem}.{Path(name).name}").write_bytes(archive.read(name))


if __name__ == "__main__":
    main()
