"""Unpacks the server and what it needs into `client-vscode/bundled/`, for one platform and every Python.

Pure packages are shared (`any/`); compiled ones go to one folder for each Python (`cp311/` …). `start.py` puts both on
the path of an interpreter that was started with nothing else on it. Wheels are taken only with hashes that are locked.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from supply.targets import CLIENT, LOCKS, PLATFORMS, PROJECT, PYTHONS, fitting

# Parts that only a developer of these packages would miss.
LEFT_OUT = ("/tests/", "/test/", "/__pycache__/", ".dist-info/RECORD", ".dist-info/direct_url.json")


def main() -> None:
    """Read the arguments and fill `bundled/`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", choices=sorted(PLATFORMS), required=True)
    tools = os.environ.get("PLANLOOM_TOOLS") or Path.home() / ".cache" / "planloom-tools"
    parser.add_argument("--cache", type=Path, default=Path(tools) / "wheels")
    arguments = parser.parse_args()
    bundled = CLIENT / "bundled"
    shutil.rmtree(bundled, ignore_errors=True)
    with tempfile.TemporaryDirectory() as scratch:
        wheels = (own_wheel(PROJECT, Path(scratch)), *dependencies(arguments.target, arguments.cache))
        for wheel in sorted(wheels):
            unpack(wheel, bundled)
    shutil.copy(CLIENT / "scripts" / "start.py", bundled / "start.py")
    about = {"target": arguments.target, "pythons": PYTHONS}
    (bundled / "bundle.json").write_text(json.dumps(about), encoding="utf-8")


def own_wheel(project: Path, to: Path) -> Path:
    """Build the server's wheel with the build back-end that is installed here."""
    pip(("wheel", "--no-index", "--no-deps", "--no-build-isolation", "--wheel-dir", str(to), str(project)))
    return next(to.glob("planloom-*.whl"))


def dependencies(target: str, cache: Path) -> tuple[Path, ...]:
    """The locked wheels of the server's dependencies, downloaded once for one lock."""
    asked = json.dumps([(LOCKS / "server.txt").read_text(encoding="utf-8"), PYTHONS, PLATFORMS[target]])
    kept = cache / f"{target}-{hashlib.sha256(asked.encode()).hexdigest()[:16]}"
    if not kept.is_dir():
        partial = kept.with_suffix(".partial")
        shutil.rmtree(partial, ignore_errors=True)
        for python in PYTHONS:
            locked = ("--require-hashes", "--no-deps", "--requirement", str(LOCKS / "server.txt"))
            pip(("download", "--dest", str(partial), *locked, *fitting(target, python)))
        partial.rename(kept)
    return tuple(kept.glob("*.whl"))


def pip(arguments: tuple[str, ...]) -> None:
    """Run pip of the running Python."""
    subprocess.run(
        [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments], check=True
    )


def unpack(wheel: Path, bundled: Path) -> None:
    """Unpack a wheel to the folder that its tag names; one for any Python 3 is shared."""
    _, python, abi, _ = wheel.stem.rsplit("-", 3)
    place = bundled / (python if abi not in ("none", "abi3") else "any")
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if ".data/" not in name and not any(part in f"/{name}" for part in LEFT_OUT):
                archive.extract(name, place)


if __name__ == "__main__":
    main()
