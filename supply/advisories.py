"""Tells which locked packages have known advisories: `python -m supply.advisories`.

It asks the OSV database (https://google.github.io/osv.dev/api/) for all Python and npm packages in the locks and, after
`make vsix`, for the crates in the extension. Exit code 0: none is known, 1: some are, 2: the database was not reached.
"""

from __future__ import annotations

import argparse
import http.client
import json
import sys
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from supply.components import crates
from supply.lock import pins
from supply.targets import BUILT, CLIENT, LOCKS, NPM_LOCKS

DATABASE = "https://api.osv.dev"
MOST_QUERIES = 1000
"""Queries that the database takes in one request."""
SECONDS = 30.0


class Unreached(Exception):
    """The database was not reached, or did not answer as documented."""


@dataclass(frozen=True, order=True)
class Package:
    """A package, its ecosystem as OSV names it."""

    ecosystem: str
    name: str
    version: str


def main() -> int:
    """Read the arguments, ask, print, and return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--database", default=DATABASE, help="another address with the same interface")
    packages = sorted(set(locked()))
    try:
        found = advisories(packages, parser.parse_args().database)
    except Unreached as error:
        print(f"NOT CHECKED for advisories: {error}.", file=sys.stderr)
        return 2
    for package, names in found.items():
        print(f"{package.name} {package.version} ({package.ecosystem}): {', '.join(names)}")
    print(f"{len(found)} of {len(packages)} packages have known advisories.")
    return 1 if found else 0


def locked() -> Iterator[Package]:
    """Every package in the locks, and the crates in the extension if it was packaged here."""
    for lock in LOCKS.glob("*.txt"):
        for pin in pins(lock):
            name, version = pin.split("==")
            yield Package("PyPI", name, version)
    for folder in NPM_LOCKS:
        lock = CLIENT / folder / "package-lock.json"
        for place, about in json.loads(lock.read_text(encoding="utf-8"))["packages"].items():
            if place:
                yield Package("npm", place.rpartition("node_modules/")[2], about["version"])
    for bill in BUILT.glob("bills/*/*.json"):
        for crate in crates(bill, bill.parent.name):
            yield Package("crates.io", crate.name, crate.version)


def advisories(packages: list[Package], database: str) -> dict[Package, list[str]]:
    """The ids of the advisories of each package that has any. Raises `Unreached`."""
    found: dict[Package, list[str]] = {}
    waiting = [(package, query(package)) for package in packages]
    while waiting:
        now, waiting = waiting[:MOST_QUERIES], waiting[MOST_QUERIES:]
        for (package, asked), answer in zip(now, ask([each for _, each in now], database), strict=True):
            names = [each["id"] for each in answer.get("vulns", ())]
            if names:
                found.setdefault(package, []).extend(names)
            if token := answer.get("next_page_token"):
                waiting.append((package, {**asked, "page_token": token}))
    return found


def query(package: Package) -> dict[str, Any]:
    """What OSV is asked about one package."""
    return {"package": {"ecosystem": package.ecosystem, "name": package.name}, "version": package.version}


def ask(queries: list[dict[str, Any]], database: str) -> list[dict[str, Any]]:
    """One answer for each query. Raises `Unreached`."""
    body = json.dumps({"queries": queries}).encode()
    request = urllib.request.Request(f"{database}/v1/querybatch", body, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=SECONDS) as response:
            results: list[dict[str, Any]] = json.load(response)["results"]
    except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError) as error:
        raise Unreached(f"{database} gave no answer ({error})") from error
    if len(results) != len(queries):
        raise Unreached(f"{database} answered {len(results)} of {len(queries)} queries")
    return results


if __name__ == "__main__":
    sys.exit(main())
