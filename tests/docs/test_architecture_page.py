"""What docs/architecture.md points at is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
PAGE = (PROJECT / "docs/architecture.md").read_text(encoding="utf-8")
HOPS = re.findall(r"`([a-z_/]+\.py)` `([A-Za-z_]+)`", PAGE)


def test_the_journeys_have_hops() -> None:
    assert len(HOPS) > 20


@pytest.mark.parametrize(("module", "name"), HOPS)
def test_a_hop_is_a_function_or_class_of_its_module(module: str, name: str) -> None:
    text = (PROJECT / "server/planloom" / module).read_text(encoding="utf-8")
    assert re.search(rf"^\s*(?:async def|def|class) {name}\b", text, re.MULTILINE)


@pytest.mark.parametrize("path", sorted(set(re.findall(r"`(tests/[\w/.]+)`", PAGE))))
def test_the_tests_that_hold_a_rule_exist(path: str) -> None:
    assert (PROJECT / path).exists()


def test_every_room_is_in_the_picture() -> None:
    rooms = [each.name for each in (PROJECT / "server/planloom").iterdir() if (each / "__init__.py").exists()]
    picture = PAGE.partition("## Rooms")[2].partition("```\n\n")[0]
    assert [room for room in rooms if room not in picture] == []
