"""Plans as models write them, in every format, and texts that are not plans."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planloom.planning.formats.draft import NoPlan, PlanText
from planloom.planning.formats.reader import read_plan
from tests.depth import rounds
from tests.support.messy_plans import NOTHING, cases

EXAMPLES = [
    json.loads(line)
    for line in (Path(__file__).parents[2] / "data" / "plans_examples.jsonl").read_text("utf-8").splitlines()
]


def pairs(text: str) -> list[tuple[str, str]]:
    plan = read_plan(text)
    return [] if isinstance(plan, NoPlan) else [(step.description, step.instruction) for step in plan.steps]


def loose(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example["id"])
def test_the_shared_examples(example: dict[str, object]) -> None:
    plan = read_plan(str(example["text"]))
    expected = [(step["description"], step["instruction"]) for step in example["expected"]]  # type: ignore[attr-defined]
    if example.get("exact"):
        assert pairs(str(example["text"])) == expected
    assert [(loose(a), loose(b)) for a, b in pairs(str(example["text"]))] == [
        (loose(a), loose(b)) for a, b in expected
    ]
    assert (isinstance(plan, PlanText) and plan.cut) == bool(example.get("truncated"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("---PLAN-START---\nSTEP 1:\nBoil\nDO:\nFill it\n---PLAN-END---", [("Boil", "Fill it")]),
        ("---BEGIN PLAN---\nSTEP 1: A\nDO: b\n---END PLAN---\nBye", [("A", "b")]),
        ("--- START OF PLAN ---\nSTEP 1: A\nDO: b\n--- END OF PLAN ---\nBye", [("A", "b")]),
        ("STEP 1: A\nDO: b\n---END-PLAN---\nBye", [("A", "b")]),
        ("---PLAN-START---\nSTEP 1: A\nnote\nDO: b\n---PLAN-END---", [("A", "note\nb")]),
        ("---PLAN-START---\nSTEP 1: A\nbody only\n---PLAN-END---", [("A", "body only")]),
        (
            "---PLAN-START---\nSTEP 1:\nDO: first line\nsecond\n---PLAN-END---",
            [("first line", "first line\nsecond")],
        ),
        ("---PLAN-START---\nSTEP 1:\nDO:\nSTEP 2: B\n---PLAN-END---", [("B", "B")]),
        ("---PLAN-START---\nSTEP 1: A\nDO: a\n\n  b\n\n    c\n---PLAN-END---", [("A", "a\n\n  b\n\n    c")]),
        (
            "---PLAN-START---\nSTEP 1: A\nDO: do-while loops\nDo not stop\n---PLAN-END---",
            [("A", "do-while loops\nDo not stop")],
        ),
        (
            "---PLAN-START---\nSTEP 1: A\nDO: use **kwargs\n**STEP 2: Use **kwargs**\n---PLAN-END---",
            [("A", "use **kwargs"), ("Use **kwargs", "Use **kwargs")],
        ),
        ("---PLAN-START---\nSTEP 1: __init__ first\nDO: x\n---PLAN-END---", [("__init__ first", "x")]),
        (
            "---PLAN-START---\nSTEP 1/3: A\nDO: x\nStep 2 of 3: B\nDO: y\n---PLAN-END---",
            [("A", "x"), ("B", "y")],
        ),
        ("---PLAN-START---\nStep one: A\nDO: x\n---PLAN-END---", [("A", "x")]),
        (
            "---PLAN-START---\nSTEP 1: A\nDO: ```py\nSTEP 2: no\n```\nSTEP 2: B\nDO: y\n---PLAN-END---",
            [("A", "```py\nSTEP 2: no\n```"), ("B", "y")],
        ),
        (
            "---PLAN-START---\nSTEP 1: A\nDO: use ```py\nSTEP 2: no\n```\nSTEP 2: B\n---PLAN-END---",
            [("A", "use ```py\nSTEP 2: no\n```"), ("B", "B")],
        ),
        (
            "---PLAN-START---\nSTEP 1: A\nDO: x\n```js\ncode\nSTEP 2: B\nDO: y\n---PLAN-END---",
            [("A", "x\n```js\ncode"), ("B", "y")],
        ),
        (
            "I use ---PLAN-START--- and ---PLAN-END---.\n---PLAN-START---\nSTEP 1: A\nDO: x\n---PLAN-END---",
            [("A", "x")],
        ),
        (
            "---PLAN-START---\nSTEP 1: A\nDO: x\n---PLAN-END---\n---PLAN-START---\nnothing\n---PLAN-END---",
            [("A", "x")],
        ),
        ("STEP 1: A\nINSTRUCTION: x\n---PLAN-END---\nBye", [("A", "x")]),
        ("---PLAN-START--- STEP 1: A DO: x STEP 2: B DO: y ---PLAN-END---", [("A", "x"), ("B", "y")]),
        ("**STEP 1: A** **DO:** x\nSTEP 2: What to do next DO: y", [("A", "x"), ("What to do next", "y")]),
        ("STEP 1: DO: x\nSTEP 2: B DO:\ny", [("x", "x"), ("B", "y")]),
        ("Step one: A\nx\nStep two: B\ny", [("A", "x"), ("B", "y")]),
        ("STEP 1: A\nDO:\n    x\n      y\nSTEP 2: B\n  z", [("A", "x\n  y"), ("B", "z")]),
        ("Plan:\n```\nSTEP 1: A\nDO: x\n---PLAN-END---\n```\nBye", [("A", "x")]),
        ("STEP 1:** A\nDO: x\n**STEP 2: B** c\nDO: y", [("A", "x"), ("B c", "y")]),
        (
            '---PLAN-START---\n[{"task": "A", "do": "Print ---PLAN-END---"}, {"task": "B", "do": "y"}, {"ta',
            [("A", "Print ---PLAN-END---"), ("B", "y")],
        ),
        (
            '1. A - x\n   {"print": "---PLAN-END---"}\n2. B',
            [("A", 'x\n{"print": "---PLAN-END---"}'), ("B", "B")],
        ),
        ("1. A\n   DO: x\n2. B - y\n   - **Instruction:** z", [("A", "x"), ("B", "y\nz")]),
        ("1.**A** - x\n2. **B", [("A", "x"), ("B", "B")]),
        ('1. I looked\n2. I thought\n```json\n[{"task": "A"}]\n```', [("A", "A")]),
        ("Step 1: A\nx\nStep 2: B\ny", [("A", "x"), ("B", "y")]),
        ("```\nSTEP 1: A\nDO: x\n```", [("A", "x")]),
        ("Use this format:\n```\nSTEP 1: description\nDO: instruction\n```", []),
        ("Plan:\n```\n1. A - x\n2. B - y\n```", [("A", "x"), ("B", "y")]),
        ("1. A - b\n\nMore.\n\n2. C - d\n\nEnd.\n\n1. no\n2. no", [("A", "b\nMore."), ("C", "d")]),
        ("1. A - b\n# Phase two\n2. C", [("A", "b"), ("C", "C")]),
        ("1. A - b\n# Notes\n1. no", [("A", "b")]),
        ("1. Run `a - b` now - really\n2. B", [("Run `a - b` now", "really"), ("B", "B")]),
        ("1.Create it\n2.Test it", [("Create it", "Create it"), ("Test it", "Test it")]),
        ("wrapped at version\n3. However it goes", []),
        ("10. only one", []),
        ("   1. A - x\n   2. B - y\n      - z", [("A", "x"), ("B", "y\n- z")]),
        ("<think>1. a\n2. b", []),
        ("<think>---PLAN-START---\nSTEP 1: A\nDO: x\n---PLAN-END---", [("A", "x")]),
        ("Strip the `</think>` tag:\n1. A - x\n2. B - y", [("A", "x"), ("B", "y")]),
        ("[THINK]1. no[/THINK]1. A - x\n2. B - y", [("A", "x"), ("B", "y")]),
        (
            "<|channel|>analysis<|message|>1. no<|end|><|start|>assistant"
            "<|channel|>final<|message|>1. A - x\n2. B<|return|>",
            [("A", "x"), ("B", "B")],
        ),
        ('{"steps": {"1": {"task": "A"}, "2": "B"}}', [("A", "A"), ("B", "B")]),
        ('{"step_1": {"task": "A", "do": "x"}, "step_2": {"task": "B"}}', [("A", "x"), ("B", "B")]),
        ('[{"step": 1, "description": "A", "action": "x"}]', [("A", "x")]),
        ('[{"instruction": "do it\\nwell"}]', [("do it", "do it\nwell")]),
        ('{"plan": ["1. A", "Step 2: B"]}', [("A", "A"), ("B", "B")]),
        ('The API takes [{"title": "x"}] as input.', []),
        ('[{"name": "left-pad", "version": "1.0"}]', []),
        ('[{"name": "f", "description": "d", "parameters": {"type": "object", "properties": {}}}]', []),
        ('{"description": "A", "instruction": "x"}', []),
        ('{"steps": [{"description": "A", "instruction": "x", ...}, ...]}', [("A", "x")]),
        (
            '{"steps": [{"description": "A\\q", "instruction": "\\ud83d\\ude00 \\ud800"}]}',
            [("A\\q", "😀 \ufffd")],
        ),
        ("{'steps': [{'description': 'It\\'s', 'instruction': 'don't stop'}]}", [("It's", "don't stop")]),
        (
            '1. Config - write\n   ```json\n   {"steps": [{"name": "b", "run": "c"}]}\n   ```\n2. B',
            [("Config", 'write\n```json\n{"steps": [{"name": "b", "run": "c"}]}\n```'), ("B", "B")],
        ),
    ],
)
def test_what_models_write(text: str, expected: list[tuple[str, str]]) -> None:
    assert pairs(text) == expected


@pytest.mark.parametrize("text", NOTHING)
def test_no_plan_is_invented(text: str) -> None:
    assert isinstance(read_plan(text), NoPlan)


@pytest.mark.parametrize(
    ("lines", "agent", "after"),
    [
        ("AGENT: devo\nAFTER: 1", "devo", ("1",)),
        ("**Agent:** Koda\n- After: steps 1 and 2", "Koda", ("1", "2")),
        ("`AGENT: chapo`\nAFTER: none.", "chapo", ()),
        ("AFTER: #1; step 2, 3", None, ("1", "2", "3")),
        ("AGENT: devo", "devo", ("1",)),
    ],
)
def test_labelled_steps_may_name_their_agent_and_what_they_come_after(
    lines: str, agent: str | None, after: tuple[str, ...]
) -> None:
    for place in ("{}\nDO: y", "DO: y\n{}"):
        body = place.format(lines)
        plan = read_plan(
            f"---PLAN-START---\nSTEP 1: A\nAFTER: none\nDO: x\nSTEP 2: B\n{body}\n---PLAN-END---"
        )
        assert isinstance(plan, PlanText)
        step = plan.steps[1]
        assert (step.instruction, step.agent, step.depends_on) == ("y", agent, after)


def test_items_of_a_list_may_name_their_agent_and_what_they_come_after() -> None:
    plan = read_plan("1. A - x\n2. B - y\n   AGENT: devo\n   AFTER: none\n3. C - z\n   - After: 1 and 2")
    assert isinstance(plan, PlanText)
    assert [(step.instruction, step.agent, step.depends_on) for step in plan.steps] == [
        ("x", None, ()),
        ("y", "devo", ()),
        ("z", None, ("1", "2")),
    ]


def test_json_between_markers_keeps_what_it_states_of_the_plan() -> None:
    plan = read_plan(
        '---PLAN-START---\n{"goal": "Tea", "estimatedDuration": "2 min", "steps": ["Boil water"]}\n---PLAN-END---'
    )
    assert isinstance(plan, PlanText)
    assert (plan.format, plan.summary, plan.stated_seconds) == ("markers", "Tea", 120)


@pytest.mark.parametrize(
    "line",
    [
        "AGENT: smith",
        "AGENT: koda does it",
        "After: lunch",
        "AFTER: 1 hour",
        "Set agent: devo",
        "```\nAGENT: devo\n```",
    ],
)
def test_other_words_of_agents_and_of_what_comes_after_belong_to_the_instruction(line: str) -> None:
    plan = read_plan(f"---PLAN-START---\nSTEP 1: A\nDO: x\n{line}\n---PLAN-END---")
    assert isinstance(plan, PlanText)
    (step,) = plan.steps
    assert (step.instruction, step.agent, step.depends_on) == (f"x\n{line}", None, None)


def test_the_other_fields_of_json_are_kept() -> None:
    text = """[
      {"id": "a-1", "description": "A", "tool": "read_file", "args": {"path": "p"}, "agent": "Koda",
       "priority": "high", "critical": true, "kind": "tool_call",
       "checks": [{"kind": "file_exists", "path": "p"}], "expectedFiles": ["p"]},
      {"id": 2, "title": "B", "action": "write_file", "parameters": {"path": "q"}, "dependsOn": ["a-1", 1]},
      {"description": "C", "action": "look around", "blocked_by": "a-1, 2"}
    ]"""
    plan = read_plan(text, {"read_file", "write_file"})
    assert isinstance(plan, PlanText)
    first, second, third = plan.steps
    assert (first.raw_id, first.tool, first.args, first.agent) == ("a-1", "read_file", {"path": "p"}, "Koda")
    assert (first.priority, first.critical) == ("high", True)
    assert (first.kind, first.expected_files) == ("tool_call", ("p",))
    assert first.checks == ({"kind": "file_exists", "path": "p"},)
    assert first.depends_on is None
    assert (second.raw_id, second.tool, second.args) == ("2", "write_file", {"path": "q"})
    assert second.depends_on == ("a-1", "1")
    assert (third.tool, third.instruction, third.depends_on) == (None, "look around", ("a-1", "2"))


@pytest.mark.parametrize("seed", range(3))
def test_a_thousand_messy_outputs_lose_and_invent_nothing(seed: int) -> None:
    for case in cases(350, seed):
        plan = read_plan(case.text)
        found = [(loose(a), loose(b)) for a, b in pairs(case.text)]
        assert found == [(loose(a), loose(b)) for a, b in case.expected], (case.format, case.fault, case.text)
        if case.expected and case.cut is not None:
            assert isinstance(plan, PlanText)
            assert plan.cut == case.cut, (case.format, case.fault)


PIECES = [
    *(
        "---PLAN-START---\n",
        "---PLAN-END---\n",
        "STEP 1: a",
        "DO: b",
        "INSTRUCTION - c",
        "\n",
        "\n\n",
        "\r\n",
        "**",
        "### ",
    ),
    *(
        "1. x - y",
        "2) **t**: u",
        "- z",
        "```",
        "```json\n",
        "~~~",
        "{",
        "}",
        "[",
        "]",
        '"',
        "'",
        ":",
        ",",
        '"steps"',
        '{"description": "d",',
    ),
    *(
        '"instruction": "i"}',
        "<think>",
        "</think>",
        "\\",
        "\\u12",
        "null",
        "1e999",
        "//",
        "/*",
        "…",
        " ",
        "\u00a0",
        "“",
        "”",
        "<|im_end|>",
    ),
]


@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join) | st.text(max_size=300))
def test_any_text_is_read_without_an_exception(text: str) -> None:
    plan = read_plan(text)
    if isinstance(plan, PlanText):
        assert plan.steps
        assert all(step.description and step.instruction for step in plan.steps)
        plan.model_dump_json()


@pytest.mark.slow
@pytest.mark.deep
@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "piece",
    [
        *(
            "{",
            "[",
            '{"a":',
            '[{"',
            "[1,",
            '"',
            "\\",
            "<",
            "<think>",
            "</think>",
            "```\n",
            "```",
            "~~~\n",
            "- ",
            "-",
            "—",
            "*",
            "**",
            "_",
        ),
        *(
            "STEP 1: a\n",
            "STEP",
            "DO: b\n",
            "1. a - b\n",
            "1. a\n\n",
            "1. ",
            " ",
            "\n",
            " \n",
            "\t",
            "---PLAN-START---\n",
            "---PLAN-END---\n",
        ),
        *(
            '{"steps": [',
            '{"description": "a"},',
            '["a b",',
            "{a: ",
            "[{'x': '",
            "//\n",
            "/*",
            "}",
            "]",
            "1. **a",
            "1. `",
            "\u00a0",
            "{}",
            "[[]]",
        ),
        *(
            '"a" ',
            "<|im_end|>",
            '{"steps": [{"steps": [',
            "1. a\n\nb\n\n",
            "# ",
            "> ",
            "step ",
            '{"a": "b" ',
            "'",
            "“",
            "\\u",
            '["',
        ),
    ],
)
def test_time_is_linear(piece: str) -> None:
    def seconds(size: int) -> float:
        text = piece * (size // len(piece))
        start = time.process_time()
        read_plan(text)
        return time.process_time() - start

    size = rounds(40_000, 100_000)
    assert seconds(size) < max(seconds(size // 10), 0.02) * 60


@pytest.mark.timeout(20)
def test_a_long_mark_of_a_fence_before_a_backtick_takes_linear_time() -> None:
    assert pairs(f"1. A - x\n{'~' * 50_000} a`b\n2. B - y") == [("A", f"x\n{'~' * 50_000} a`b"), ("B", "y")]
