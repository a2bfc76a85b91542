"""Bills of materials in CycloneDX 1.6: `python -m supply.sbom` writes that of the built extension to
`client-vscode/sbom.cdx.json`, `supply.packages` that of the wheel with what the lock installs beside it.

They have no time and no serial number, so that the same packages give the same bytes.
"""

from __future__ import annotations

import base64
import json
import sysconfig
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from planloom.version import VERSION
from supply.components import Component, bundled, python_packages
from supply.lock import hashes_of, pins
from supply.targets import BUILT, CLIENT, LOCKS


def main() -> None:
    """Write the extension's."""
    wheels = json.loads((BUILT / "wheels.json").read_text(encoding="utf-8"))
    lock = json.loads((CLIENT / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    integrity = {
        place.rpartition("node_modules/")[2]: about.get("integrity") for place, about in lock.items()
    }
    write(bill(VERSION, bundled(CLIENT), wheels, integrity), CLIENT / "sbom.cdx.json")


def of_server() -> dict[str, Any]:
    """That of the server in the environment which its lock makes: the running one, as `make` has installed it.

    A locked package that only another platform needs is not installed here, and left out.
    """
    lock = LOCKS / "server.txt"
    names = frozenset(pin.split("==")[0] for pin in pins(lock))
    found = python_packages(Path(sysconfig.get_path("purelib")), names=names)
    return bill(VERSION, found, hashes_of(lock), {})


def write(document: Mapping[str, Any], to: Path) -> None:
    """Write a document."""
    to.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def bill(
    version: str,
    components: Iterable[Component],
    wheels: Mapping[str, Mapping[str, str]],
    integrity: Mapping[str, str],
) -> dict[str, Any]:
    """The document, as CycloneDX's JSON schema 1.6 has it.

    `wheels` has the SHA-256 of each file by the name of its Python package (where only the lock is known, numbered in
    place of the file's name), `integrity` the subresource integrity of
    each npm package.
    """
    listed = list(components)
    own = {"type": "application", "bom-ref": "planloom", "name": "planloom", "version": version}
    licensed = {"licenses": [{"license": {"id": "MIT"}}]}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {**own, **licensed}},
        "components": [
            entry(each, wheels.get(each.name, {}), integrity.get(each.name, "")) for each in listed
        ],
        "dependencies": [
            {"ref": "planloom", "dependsOn": [each.purl for each in listed if not each.part_of]},
            *(
                {"ref": each.purl, "dependsOn": parts}
                for each in listed
                if (
                    parts := [
                        part.purl for part in listed if each.ecosystem == "pypi" and part.part_of == each.name
                    ]
                )
            ),
        ],
    }


def entry(component: Component, wheels: Mapping[str, str], integrity: str) -> dict[str, Any]:
    """One component; hashes of several wheels stand as properties, since CycloneDX has one file for a component."""
    stated: dict[str, Any] = {
        "type": "library",
        "bom-ref": component.purl,
        "name": component.name,
        "version": component.version,
        "licenses": [{"expression": component.license}],
        "purl": component.purl,
    }
    if component.ecosystem == "npm":
        stated["hashes"] = [{"alg": "SHA-512", "content": base64.b64decode(integrity.split("-", 1)[1]).hex()}]
    if component.ecosystem == "pypi":
        stated["properties"] = [
            {"name": f"sha256:{file}", "value": sha256} for file, sha256 in wheels.items()
        ]
    return stated


if __name__ == "__main__":
    main()
