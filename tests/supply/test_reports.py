"""What the reports on a package are made of: licenses, notices, the bill of materials, archives without traces."""

from __future__ import annotations

import base64
import json
import os
import sys
import time
import zipfile
from pathlib import Path

import pytest

from supply import archive
from supply.components import Component, bundled, permitted
from supply.elf import without_sections
from supply.notices import notices
from supply.sbom import bill

LIBRARY = Component("pypi", "library", "1.0", "MIT", ("Copyright A. Author", "Notice of a part"))
CRATE = Component("cargo", "crate", "2.0", "Apache-2.0 OR MIT", (), "library")
SCRIPT = Component("npm", "@scope/script", "3.0", "ISC", ("Copyright A. Author",))


@pytest.mark.parametrize(
    ("expression", "may"),
    [
        ("MIT", True),
        ("GPL-3.0-only", False),
        ("AGPL-3.0-or-later AND MIT", False),
        ("MIT AND (GPL-2.0-only OR Apache-2.0)", True),
        ("MIT OR Apache-2.0 OR LGPL-2.1-or-later", True),
        ("(MIT OR Apache-2.0) AND GPL-2.0-only", False),
        ("Apache-2.0 WITH LLVM-exception", True),
        ("GPL-2.0-only WITH Classpath-exception-2.0", False),
        ("MIT GPL-3.0-only", False),
        ("a license of our own", False),
    ],
)
def test_an_expression_is_permitted_if_allowed_licenses_meet_it(expression: str, may: bool) -> None:
    assert permitted(expression) is may


def test_the_notices_have_each_package_and_each_text_once() -> None:
    text = notices([LIBRARY, CRATE, SCRIPT])
    assert "- crate 2.0 (cargo): Apache-2.0 OR MIT, compiled into library" in text
    assert "library 1.0, @scope/script 3.0" in text
    assert text.count("Copyright A. Author") == text.count("Notice of a part") == 1


def test_the_bill_of_materials_says_what_is_part_of_what_and_which_files_it_was() -> None:
    digest = bytes(range(64))
    integrity = {"@scope/script": f"sha512-{base64.b64encode(digest).decode()}"}
    document = bill("0.1.0", [LIBRARY, CRATE, SCRIPT], {"library": {"library-1.0.whl": "ab"}}, integrity)
    first, second, third = document["components"]
    assert (document["bomFormat"], document["specVersion"]) == ("CycloneDX", "1.6")
    assert first["properties"] == [{"name": "sha256:library-1.0.whl", "value": "ab"}]
    assert second["licenses"] == [{"expression": "Apache-2.0 OR MIT"}]
    assert third["purl"] == "pkg:npm/%40scope/script@3.0" and third["hashes"][0]["content"] == digest.hex()
    assert document["dependencies"] == [
        {"ref": "planloom", "dependsOn": [LIBRARY.purl, SCRIPT.purl]},
        {"ref": LIBRARY.purl, "dependsOn": [CRATE.purl]},
    ]


def test_components_are_read_from_what_was_built(tmp_path: Path) -> None:
    def put(path: str, text: str) -> None:
        place = tmp_path / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")

    packages = "bundled/packages"
    put(f"{packages}/Library-1.0.dist-info/METADATA", "Name: Library\nVersion: 1.0\nLicense: MIT\n")
    put(f"{packages}/Library-1.0.dist-info/licenses/LICENSE", "Copyright A. Author\r\n")
    put(f"{packages}/Library-1.0.dist-info/licenses/NOTICE", "Notice of a part\n")
    put(f"{packages}/planloom-0.1.0.dist-info/METADATA", "Name: planloom\nVersion: 0.1.0\n")
    about = {"name": "crate", "version": "2.0", "purl": "pkg:cargo/crate@2.0"}
    licensed = {"licenses": [{"expression": "Apache-2.0 OR MIT"}]}
    parts = [{**about, **licensed}, {**about, **licensed, "purl": "pkg:cargo/builder@1", "scope": "excluded"}]
    put("built/bills/library/x.json", json.dumps({"components": parts}))
    put("built/packages.json", '["node_modules/@scope/script"]')
    put(
        "node_modules/@scope/script/package.json",
        '{"name": "@scope/script", "version": "3.0", "license": "ISC"}',
    )
    put("node_modules/@scope/script/LICENSE.md", "Copyright A. Author")
    assert bundled(tmp_path) == (CRATE, SCRIPT, LIBRARY)

    put(f"{packages}/Library-1.0.dist-info/METADATA", "Name: Library\nVersion: 1.0\n")
    with pytest.raises(ValueError, match="states no license"):
        bundled(tmp_path)
    put(
        f"{packages}/Library-1.0.dist-info/licenses/LICENSE",
        "   Apache License\n  Version 2.0, January 2004\n",
    )
    assert [each.license for each in bundled(tmp_path) if each.name == "library"] == ["Apache-2.0"]


def test_an_archive_shows_neither_time_nor_order_nor_modes(tmp_path: Path) -> None:
    paths = [tmp_path / "first.zip", tmp_path / "second.zip"]
    names = ["b/two.txt", "a.txt", "b/one.txt"]
    for path, order, year, mode in zip(
        paths, (names, names[::-1]), (1999, 2024), (0o600, 0o755), strict=True
    ):
        with zipfile.ZipFile(path, "w") as made:
            for name in order:
                entry = zipfile.ZipInfo(name, (year, 1, 1, 0, 0, 0))
                entry.external_attr = mode << 16
                made.writestr(entry, name * 100)
        archive.rewrite(path, archive.EPOCH)
    assert paths[0].read_bytes() == paths[1].read_bytes()
    with zipfile.ZipFile(paths[0]) as made:
        assert made.namelist() == sorted(names)
        assert made.read("b/two.txt") == b"b/two.txt" * 100
        assert {entry.date_time for entry in made.infolist()} == {time.gmtime(archive.EPOCH)[:6]}


@pytest.mark.skipif(sys.platform != "linux", reason="only libraries of Linux are in this format")
def test_a_library_without_its_sections_keeps_all_that_is_loaded() -> None:
    library = Path(os.path.realpath("/proc/self/exe")).read_bytes()
    cut = without_sections(library)
    assert cut[64:] == library[64 : len(cut)] and len(cut) <= len(library)
    assert without_sections(cut) == cut
    assert without_sections(b"MZ of another system") == b"MZ of another system"
