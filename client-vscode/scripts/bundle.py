"""Unpacks the server and what it needs into `bundled/`, for one platform and every Python that it supports.

Pure packages are shared (`any/`); compiled ones go to one folder for each Python (`cp311/` …). `start.py` puts both on
the path of an interpreter that was started with nothing else on it.
"""

from __future__ import annotations

import argparse
import json
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
    target: str = parser.parse_args().target
    bundled = CLIENT / "bundled"
    shutil.rmtree(bundled, ignore_errors=True)
    with tempfile.TemporaryDirectory() as scratch:
        wheels = Path(scratch)
        collect(wheels, target)
        for wheel in sorted(wheels.glob("*.whl")):
            unpack(wheel, bundled)
    shutil.copy(Path(__file__).with_name("start.py"), bundled / "start.py")
    about = {"target": target, "pythons": PYTHONS}
    (bundled / "bundle.json").write_text(json.dumps(about), encoding="utf-8")


def collect(wheels: Path, target: str) -> None:
    """Build the server's wheel and download those of its dependencies, as pinned by `constraints.txt`."""
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pip(("wheel", "--no-deps", "--wheel-dir", str(wheels), str(PROJECT)))
    platforms = [word for name in PLATFORMS[target] for word in ("--platform", name)]
    for python in PYTHONS:
        options = ("--only-binary", ":all:", "--python-version", python, *platforms)
        pip(
            (
                "download",
                "--dest",
                str(wheels),
                "--constraint",
                str(PROJECT / "constraints.txt"),
                *options,
                *project["dependencies"],
            )
        )


def pip(arguments: tuple[str, ...]) -> None:
    """Run pip of the running Python."""
    subprocess.run([sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments], check=True)


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
