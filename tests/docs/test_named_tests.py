"""The pages that name a test for each of their rows name tests that exist."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
FILE = re.compile(r"`((?:client-vscode|tests)/[\w./-]+\.\w+)`")


def page(name: str) -> str:
    return (PROJECT / "docs" / name).read_text(encoding="utf-8")


def rows(name: str) -> list[list[str]]:
    """The cells of every table row of a page, the heads left out."""
    lines = re.findall(r"^\| (.*) \|$", re.sub(r"^\|.*\n\|[-:|]+\|\n", "", page(name), flags=re.M), re.M)
    return [re.split(r"(?<!\\) \| ", line) for line in lines]


@cache
def functions_of(file: str) -> frozenset[str]:
    return frozenset(re.findall(r"^(?:async )?def (test_\w+)", (PROJECT / file).read_text("utf-8"), re.M))


@pytest.mark.parametrize(
    "name", ["durability.md", "edit-cases.md", "extending.md", "security.md", "security-attacks.md"]
)
def test_every_test_that_a_page_names_exists(name: str) -> None:
    named = TEST.findall(page(name))
    assert named
    assert [f"{file}::{test}" for file, test in named if test not in functions_of(file)] == []


@pytest.mark.parametrize("name", ["durability.md", "edit-cases.md", "security.md", "security-attacks.md"])
def test_every_test_file_that_a_page_names_exists(name: str) -> None:
    assert [file for file in FILE.findall(page(name)) if not (PROJECT / file).is_file()] == []


def test_every_edit_case_has_a_test() -> None:
    cases = rows("edit-cases.md")
    assert [case[0] for case in cases] == [str(number) for number in range(1, 62)]
    assert [case[1] for case in cases if not TEST.search(case[3])] == []


def test_every_fault_of_the_storage_has_a_test() -> None:
    table = page("durability.md").partition("| fault | what happens | test |\n|---|---|---|\n")[2]
    faults = table.partition("\n\n")[0].splitlines()
    assert len(faults) > 10
    assert [fault for fault in faults if not TEST.search(fault.split(" | ")[2])] == []


def test_every_threat_has_a_test_or_says_that_it_is_not_covered() -> None:
    threats = rows("security.md")
    assert len(threats) > 35
    assert [
        threat[0]
        for threat in threats
        if not (TEST.search(threat[2]) or FILE.search(threat[2]) or threat[2].startswith("Not covered"))
    ] == []


def test_the_attacks_are_counted_as_their_rows_say() -> None:
    counts = Counter(cells[2] for cells in rows("security-attacks.md"))
    said = re.search(
        r"^(\d+) held, (\d+) are mended, (\d+) holds? partly, (\d+) (?:is|are) broken",
        page("security-attacks.md"),
        re.M,
    )
    assert said is not None
    assert [int(each) for each in said.groups()] == [
        counts[each] for each in ("held", "mended", "partly", "broken")
    ]
