"""What becomes of each item of a list, and which words are literal: requests with the plans that are expected."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planloom.domain.plans.outputs import literal, output_reference
from planloom.domain.plans.plan import Step
from planloom.planning.port import PlanningRequest, StepDrafted
from planloom.planning.rules.planner import RulesPlanner, plan_by_rules
from planloom.tools.registry import builtin

FILE = Path(__file__).parents[1] / "data" / "list_requests.jsonl"
ROWS: list[dict[str, Any]] = [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]
THERE = {"tmp", "src", "docs", "old.txt", "tests", "config.json", "LICENSE"}
"""The names of files and folders that the workspace of these requests has."""
TOOLS = builtin()


def plan(text: str) -> tuple[Step, ...]:
    return plan_by_rules(text, TOOLS, exists=THERE.__contains__)


def shown(step: Step) -> object:
    """A call with its values, a question as it is asked, or "words"."""
    return step.question or ([step.tool, *(step.args or {}).values()] if step.tool else "words")


def written(call: Step) -> list[str]:
    """The paths, texts and commands of a call, as the request has to have them."""
    found: list[str] = []
    for name, value in (call.args or {}).items():
        if name == "patch":
            found += [line[1:] for line in str(value).splitlines() if line[:1] == "+" and line[:3] != "+++"]
        elif isinstance(value, str) and output_reference(value) is None:
            text = str(literal(value))
            found += text.split("/") if name in ("path", "new_path", "cwd") else text.splitlines()
    return found


def assert_literal(text: str) -> None:
    # A quotation mark inside of its quotation has a backslash.
    said = text + text.replace('\\"', '"')
    for step in plan(text):
        assert [part for part in written(step) if part not in said] == []


@pytest.mark.parametrize("row", ROWS, ids=[f"{row['set']}: {row['request'][:50]}" for row in ROWS])
def test_a_request_has_the_steps_that_it_spells_out_and_no_call_has_more(row: dict[str, Any]) -> None:
    assert [shown(step) for step in plan(row["request"])] == row["steps"]
    assert_literal(row["request"])


WORDS = [
    *(
        "create",
        "folder",
        "file",
        "a",
        "b.txt",
        "src",
        "with content",
        '"x"',
        "`ls`",
        "and",
        ", ",
        "\n- ",
        "\n1. ",
    ),
    *(
        "lösche",
        "Datei",
        "erstelle",
        "Ordner",
        "mit",
        "Inhalt",
        "crea",
        "la carpeta",
        "y",
        "borra",
        "dossier",
        "le",
    ),
    *(
        "rename",
        "to",
        "replace",
        "in",
        "copy",
        "mv",
        "rm",
        "the",
        "delete",
        "&",
        ";",
        "it",
        "$step_1",
        ":",
        "\n\n",
    ),
]


@given(st.lists(st.sampled_from(WORDS), max_size=14).map(" ".join))
def test_no_call_is_invented(text: str) -> None:
    assert_literal(text)


@given(st.sampled_from(["$step_1", "$$", "$x.y", "$$step_1"]))
def test_content_that_looks_like_a_reference_is_content(content: str) -> None:
    (step,) = plan(f"create file a.txt with content '{content}'")
    assert step.args is not None
    assert output_reference(step.args["content"]) is None and literal(step.args["content"]) == content


ITEMS = {
    "Create folder a": ["create_folder", "a"],
    "Make sure it is empty": "words",
    "If that fails, stop": "words",
    "Don't touch b.txt": "words",
    "Which port should it use?": "Which port should it use?",
    'Create file b.txt with content "x"': ["write_file", "b.txt", "x"],
}
MARKS = ["- {}", "{n}. {}", "{n}) {}", "**{n}.** {}", "- [ ] {}", "{letter}) {}", "[ ] {}"]
HEADINGS = ["", "# Setup\n\n", "Setup:\n", "Here is what I need:\n", "TODO\n", "Steps\n"]


@given(
    st.sampled_from(HEADINGS),
    st.sampled_from(MARKS),
    st.lists(st.sampled_from(sorted(ITEMS)), min_size=2, max_size=6),
)
def test_an_item_is_a_step_whatever_the_others_are(heading: str, mark: str, items: list[str]) -> None:
    lines = [mark.format(item, n=n, letter="abcdef"[n - 1]) for n, item in enumerate(items, 1)]
    only_asks = all(item.endswith("?") for item in items)
    expected = ["words" if only_asks else ITEMS[item] for item in items]
    assert [shown(step) for step in plan(heading + "\n".join(lines))] == expected


def test_a_title_that_may_take_back_its_items_stands_in_each_step() -> None:
    steps = plan("Kitchen sink:\n- delete a.txt\n- rename b.txt to c.txt")
    assert [step.tool for step in steps] == [None, None]
    assert [step.instruction for step in steps] == [
        "Kitchen sink:\ndelete a.txt",
        "Kitchen sink:\nrename b.txt to c.txt",
    ]
    assert steps[0].description == "Kitchen sink: delete a.txt"


async def test_a_copy_writes_what_its_own_step_has_read_after_finished_steps() -> None:
    text = "1. Copy a.txt to b.txt\n2. Copy c.txt to d.txt"
    first = plan(text)
    assert [step.args for step in first if step.tool == "write_file"] == [
        {"path": "b.txt", "content": "$step_1"},
        {"path": "d.txt", "content": "$step_3"},
    ]
    request = PlanningRequest(text=text, finished=first[:1])
    left = [
        event.step async for event in RulesPlanner(TOOLS).draft(request) if isinstance(event, StepDrafted)
    ]
    assert [(step.step_id, (step.args or {}).get("content")) for step in left] == [
        ("step_2", "$step_1"),
        ("step_3", None),
        ("step_4", "$step_3"),
    ]
