"""docs/model-text.md is true: its examples are read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agent.toolcalls.cases import ALL
from tests.scoring import stream_tool_calls

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "model-text.md").read_text(encoding="utf-8")
FAMILY = re.compile(r"^\| (\d+) \| .*? \| (.*) \|$", re.MULTILINE)
CODE = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")


def _examples() -> Iterator[tuple[int, str]]:
    for number, examples in FAMILY.findall(PAGE):
        for marks, code in CODE.findall(examples):
            example = code.replace("\\|", "|").replace("⏎", "\n")
            yield int(number), example.strip(" ") if len(marks) > 1 else example


@pytest.mark.parametrize(("family", "example"), list(_examples()))
def test_the_example_of_a_family_is_read(family: int, example: str) -> None:
    assert stream_tool_calls([example])[0] == [{"name": "read_file", "arguments": {"path": "p"}}], family


def test_every_family_has_an_example() -> None:
    assert [int(number) for number, _ in FAMILY.findall(PAGE)] == sorted({case.family for case in ALL})
