"""Writes `client-vscode/THIRD-PARTY-NOTICES.txt`: the licenses of all packages of others in the built extension."""

from __future__ import annotations

from collections.abc import Iterable

from supply.components import Component, bundled
from supply.targets import CLIENT

RULE = "-" * 80


def main() -> None:
    """Write the file."""
    (CLIENT / "THIRD-PARTY-NOTICES.txt").write_text(notices(bundled(CLIENT)), encoding="utf-8")


def notices(components: Iterable[Component]) -> str:
    """The file's text: each package with its license, then each license text once with the packages it belongs to."""
    listed = list(components)
    owners: dict[str, list[str]] = {}
    for component in listed:
        for text in component.texts:
            owners.setdefault(text, []).append(f"{component.name} {component.version}")
    lines = ["This extension contains packages of others, under these licenses:", ""]
    lines += [line(component) for component in listed]
    for text, names in owners.items():
        lines += ["", RULE, ", ".join(names), RULE, "", text]
    return "\n".join(lines) + "\n"


def line(component: Component) -> str:
    """One package in the list."""
    where = f", compiled into {component.part_of}" if component.part_of else ""
    return f"- {component.name} {component.version} ({component.ecosystem}): {component.license}{where}"


if __name__ == "__main__":
    main()
