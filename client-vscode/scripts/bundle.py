"""Unpacks the server and what it needs into `bundled/`, for one platform and every Python that it supports.

Pure packages are shared (`any/`); compiled ones go to one folder for each Python (`cp311/` …). `start.py` puts both on
the path of an interpreter that was started with nothing else on it.
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
import tomllib
import zipfile
from pathlib import Path

CLIENT = Path(__file__).resolve().parent.parent
PROJECT = CLIENT.parent
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
PLATFORMS = {
    "linux-x64": ("manylinux_2_28_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64"),
    "linux-arm64": ("manylinux_2_28_aarch64", "manylinux_2_17_aarch64", "manylinux2014_aarch64"),
    "darwin-x64": ("macosx_11_0_x86_64", "macosx_10_12_x86_64", "macosx_10_13_x86_64"),
    "darwin-arm64": ("macosx_11_0_arm64",),
    "win32-x64": ("win_amd64",),
}
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
        pip(("wheel", "--no-deps", "--wheel-dir", scratch, str(PROJECT)))
        wheels = (*Path(scratch).glob("*.whl"), *dependencies(arguments.target, arguments.cache))
        for wheel in sorted(wheels):
            unpack(wheel, bundled)
    shutil.copy(Path(__file__).with_name("start.py"), bundled / "start.py")
    about = {"target": arguments.target, "pythons": PYTHONS}
    (bundled / "bundle.json").write_text(json.dumps(about), encoding="utf-8")


def dependencies(target: str, cache: Path) -> tuple[Path, ...]:
    """The wheels of the server's dependencies as `constraints.txt` pins them, downloaded once for one set of pins."""
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pins = (PROJECT / "constraints.txt").read_text(encoding="utf-8")
    asked = json.dumps([project["dependencies"], pins, PYTHONS, PLATFORMS[target]])
    kept = cache / f"{target}-{hashlib.sha256(asked.encode()).hexdigest()[:16]}"
    if not kept.is_dir():
        partial = kept.with_suffix(".partial")
        download(tuple(project["dependencies"]), target, partial)
        partial.rename(kept)
    return tuple(kept.glob("*.whl"))


def download(requirements: tuple[str, ...], target: str, to: Path) -> None:
    """Fetch what fits `target` for every Python that is supported."""
    platforms = [word for name in PLATFORMS[target] for word in ("--platform", name)]
    pinned = ("--constraint", str(PROJECT / "constraints.txt"))
    for python in PYTHONS:
        fitting = ("--only-binary", ":all:", "--python-version", python, *platforms)
        pip(("download", "--dest", str(to), *pinned, *fitting, *requirements))


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
