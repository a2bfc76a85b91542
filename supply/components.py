"""What of others is in the packaged extension: Python packages, what is compiled into them, and JavaScript packages.

It is read from the built extension itself: `bundled/packages` and `built/bills`, which `supply.bundle` writes, and
`built/packages.json`, which the bundler of the JavaScript writes.
"""

from __future__ import annotations

import email
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from email.message import Message
from pathlib import Path
from urllib.parse import quote

from packaging.utils import canonicalize_name

TEXT = re.compile(r"^(licen[cs]e|copying|notice|authors|third-?party-?notices)", re.I)
"""The names of files that a package's license wants to go along."""
CLASSIFIED = {"License :: OSI Approved :: MIT License": "MIT"}
"""What a classifier means, for packages that state their license by one alone."""
HEADED = {"Apache License Version 2.0": "Apache-2.0"}
"""What the first words of the shipped text mean, for packages that state their license by it alone."""
READ = {"prompt-toolkit": "BSD-3-Clause"}
"""Licenses that were read by a person, of packages whose words name none of several."""
PERMISSIVE = (
    "0BSD",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BlueOak-1.0.0",
    "CNRI-Python",
    "ISC",
    "MIT",
    "MIT-0",
)
ALLOWED = {
    *PERMISSIVE,
    "CC-BY-4.0",
    "MPL-2.0",
    "PSF-2.0",
    "Unicode-3.0",
    "Unicode-DFS-2016",
    "Unlicense",
    "Zlib",
}
"""Licenses under which a package may go into the extension: none asks that the extension itself be under it."""


@dataclass(frozen=True)
class Component:
    """One package: its ecosystem as in a package URL, its license as an SPDX expression, and the texts to go along.

    `part_of` names the package into which it was compiled; its texts are those that this one ships.
    """

    ecosystem: str
    name: str
    version: str
    license: str
    texts: tuple[str, ...]
    part_of: str = ""

    @property
    def purl(self) -> str:
        """The package URL (https://github.com/package-url/purl-spec)."""
        return f"pkg:{self.ecosystem}/{quote(self.name, safe='/')}@{self.version}"


def bundled(client: Path) -> tuple[Component, ...]:
    """Everything of others in a built extension, ordered by package URL.

    Raises `ValueError` if a package states no license.
    """
    found = {component.purl: component for component in (*of_the_server(client), *of_the_client(client))}
    return tuple(found[purl] for purl in sorted(found))


def of_the_server(client: Path) -> list[Component]:
    """The Python packages, and the crates that are compiled into them as far as they say so themselves (PEP 770)."""
    found = []
    for package in python_packages(client / "bundled" / "packages"):
        found.append(package)
        bills = sorted((client / "built" / "bills" / package.name).glob("*.json"))
        found += [crate for bill in bills for crate in crates(bill, package.name)]
    return found


def python_packages(folder: Path, names: frozenset[str] | None = None) -> list[Component]:
    """The Python packages that are installed in a folder, of these names if any are given; without ours."""
    found = []
    for about in sorted(folder.glob("*.dist-info")):
        metadata = email.message_from_string((about / "METADATA").read_text(encoding="utf-8"))
        name = canonicalize_name(metadata["Name"])
        if name != "planloom" and (names is None or name in names):
            shipped = texts(about)
            found.append(Component("pypi", name, metadata["Version"], license_of(metadata, shipped), shipped))
    return found


def crates(bill: Path, part_of: str) -> list[Component]:
    """The crates that a CycloneDX document lists, without those that only the build used."""
    listed = json.loads(bill.read_text(encoding="utf-8")).get("components", [])
    return [
        Component("cargo", each["name"], each["version"], each["licenses"][0]["expression"], (), part_of)
        for each in listed
        if each.get("purl", "").startswith("pkg:cargo/") and each.get("scope") != "excluded"
    ]


def of_the_client(client: Path) -> list[Component]:
    """The JavaScript packages of which the bundler took something."""
    found = []
    for place in json.loads((client / "built" / "packages.json").read_text(encoding="utf-8")):
        stated = json.loads((client / place / "package.json").read_text(encoding="utf-8"))
        if not stated.get("license"):
            raise ValueError(f"{stated['name']} states no license")
        found.append(
            Component("npm", stated["name"], stated["version"], stated["license"], texts(client / place))
        )
    return found


def license_of(metadata: Message, shipped: Iterable[str] = ()) -> str:
    """The license of a Python package, whose texts are `shipped`. Raises `ValueError` if it states none."""
    classified = [CLASSIFIED.get(each) for each in metadata.get_all("Classifier", [])]
    heads = [" ".join(text.split()) for text in shipped]
    headed = [name for words, name in HEADED.items() for head in heads if head.startswith(words)]
    read = READ.get(canonicalize_name(metadata["Name"]))
    for stated in (metadata["License-Expression"], metadata["License"], *classified, *headed, read):
        if stated:
            return str(stated)
    raise ValueError(f"{metadata['Name']} states no license")


def texts(package: Path) -> tuple[str, ...]:
    """The texts of licenses and notices in the folder of a package or in its folder `licenses`."""
    places = (*package.iterdir(), *package.glob("licenses/**/*"))
    files = sorted(path for path in places if path.is_file() and TEXT.match(path.name))
    return tuple(path.read_text(encoding="utf-8-sig").replace("\r\n", "\n").strip() for path in files)


def permitted(expression: str) -> bool:
    """Whether an SPDX license expression can be met with allowed licenses; an exception only widens its license."""
    tokens = re.findall(r"[()]|[^\s()]+", expression)

    def alternatives() -> bool:
        met = conjunction()
        while tokens and tokens[0] == "OR":
            tokens.pop(0)
            met = conjunction() or met
        return met

    def conjunction() -> bool:
        met = single()
        while tokens and tokens[0] == "AND":
            tokens.pop(0)
            met = single() and met
        return met

    def single() -> bool:
        token = tokens.pop(0)
        if token == "(":
            met = alternatives()
            tokens.pop(0)
            return met
        if tokens[:1] == ["WITH"]:
            del tokens[:2]
        return token in ALLOWED

    return alternatives() and not tokens
