"""Agents' reports: their fields, and the forms in which models write them."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from planloom.agent.findings import reports_text
from planloom.domain.plans.agents import Agent, ChapoPerspective, DevoPerspective, KodaPerspective
from planloom.planning.perspective_reports import (
    LONGEST_TEXT,
    MOST_ITEMS,
    fields_of,
    find_report,
    report_in_words,
    report_of,
    report_spec,
)
from planloom.planning.perspectives.prompts import perspective_prompt

AT = datetime(2026, 1, 2, tzinfo=UTC)
GOLDEN = Path(__file__).parents[1] / "golden" / "prompts"
AGENTS: tuple[Agent, ...] = ("chapo", "koda", "devo")
WHOLE = {
    "analysis": "One module.",
    "concerns": ["No tests."],
    "recommendations": ["Test first.", "Keep names."],
    "dependencies": ["A test runner."],
    "estimatedEffort": "small",
    "affectedFiles": ["src/a.py"],
    "codePatterns": ["functions"],
    "potentialBreakingChanges": ["login()"],
    "testingRequirements": ["login"],
}
KODA = KodaPerspective(
    analysis="One module.",
    concerns=("No tests.",),
    recommendations=("Test first.", "Keep names."),
    dependencies=("A test runner.",),
    estimated_effort="small",
    affected_files=("src/a.py",),
    code_patterns=("functions",),
    potential_breaking_changes=("login()",),
    testing_requirements=("login",),
    timestamp=AT,
)


@pytest.mark.parametrize("agent", AGENTS)
def test_the_fields_asked_for_are_those_of_the_typed_result(agent: Agent) -> None:
    typed = {"chapo": ChapoPerspective, "koda": KodaPerspective, "devo": DevoPerspective}[agent]
    camel = {
        "".join(part if not n else part.title() for n, part in enumerate(name.split("_")))
        for name in typed.model_fields
    }
    properties: Any = report_spec(agent).parameters["properties"]
    assert set(properties) == camel - {"agent", "timestamp"}
    assert {field.name for field in fields_of(agent)} == set(properties) - {"estimatedEffort"}


@pytest.mark.parametrize(
    "args",
    [
        WHOLE,
        {"report": WHOLE},
        {"AnalySis": WHOLE["analysis"]} | {key: value for key, value in WHOLE.items() if key != "analysis"},
        {
            "".join(f"_{ch.lower()}" if ch.isupper() else ch for ch in key): value
            for key, value in WHOLE.items()
        },
        WHOLE | {"recommendations": "- Test first.\n- Keep names.\n"},
        WHOLE | {"recommendations": "1. Test first.\n2) Keep names."},
        WHOLE | {"affectedFiles": "src/a.py", "concerns": [{"text": "No tests."}]},
        WHOLE | {"estimatedEffort": "Small (an hour)", "confidence": 0.9},
        WHOLE | {"analysis": ["One module."]},
        WHOLE | {"concerns": ["No tests.", "", None, "none"]},
    ],
)
def test_a_report_is_read_however_its_fields_are_written(args: dict[str, Any]) -> None:
    assert report_of("koda", args, AT) == KODA


@pytest.mark.parametrize("args", [{}, {"concerns": ["x"]}, {"analysis": ""}, {"analysis": None}, {"a": 1}])
def test_an_answer_that_says_nothing_is_no_report(args: dict[str, Any]) -> None:
    said = report_of("koda", args, AT)
    assert isinstance(said, str) and "analysis is missing" in said


def test_another_text_replaces_a_missing_analysis() -> None:
    said = report_of("devo", {"rollbackStrategy": "Deploy the release before."}, AT)
    assert isinstance(said, DevoPerspective) and said.analysis == "Deploy the release before."


@pytest.mark.parametrize(
    ("said", "effort"),
    [
        ("trivial", "trivial"),
        ("LOW", "small"),
        ("moderate effort", "medium"),
        ("big", "large"),
        ("?", "medium"),
        (3, "medium"),
    ],
)
def test_efforts(said: Any, effort: str) -> None:
    read = report_of("koda", {"analysis": "Words.", "estimatedEffort": said}, AT)
    assert isinstance(read, KodaPerspective) and read.estimated_effort == effort


def test_what_is_too_long_is_shortened() -> None:
    read = report_of(
        "koda", {"analysis": "word " * 4_000, "concerns": [f"{n} " + "c" * 9_000 for n in range(90)]}, AT
    )
    assert isinstance(read, KodaPerspective)
    assert len(read.analysis) <= LONGEST_TEXT and read.analysis.endswith("…")
    assert len(read.concerns) == MOST_ITEMS and all(len(each) <= 500 for each in read.concerns)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (json.dumps(WHOLE), True),
        (f"My report:\n```json\n{json.dumps(WHOLE, indent=2)}\n```\nThat is all.", True),
        (f"I looked at {{src}} first. {json.dumps({'report': WHOLE})}", True),
        (str(WHOLE), True),
        (json.dumps(WHOLE)[:-60], False),
        ('{"path": "src/a.py"}', False),
        ("One module holds it.", False),
        ("", False),
        ("{" * 500, False),
    ],
)
def test_a_report_that_is_printed(text: str, found: bool) -> None:
    assert find_report("koda", text, AT) == (KODA if found else None)


TITLED = """<think>Let me see.</think>
One module.

### Concerns
- No tests.

**Recommendations:**
1. Test first.
2. Keep names.

Dependencies: A test runner.
Estimated Effort: small
- **Affected files:** src/a.py
**Code Patterns**: functions
Potential breaking changes: login()
Testing requirements:
* login
"""


def test_an_answer_in_words_keeps_its_titles() -> None:
    assert report_in_words("koda", TITLED, AT) == KODA


@pytest.mark.parametrize(
    "text", ["", "Done.", "I am ready", "<think>A long thought about all of it.</think>"]
)
def test_too_few_words_are_no_report(text: str) -> None:
    assert report_in_words("koda", text, AT) is None


@given(st.sampled_from(AGENTS), st.text(max_size=300))
def test_any_text_is_read_without_an_exception(agent: Agent, text: str) -> None:
    find_report(agent, text, AT)
    report_in_words(agent, text, AT)


words = st.text(max_size=20)
anything = st.recursive(
    st.none() | st.booleans() | st.floats() | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=6,
)


@given(
    st.sampled_from(AGENTS),
    st.dictionaries(
        st.sampled_from([*WHOLE, "report", "rollbackStrategy", "riskAssessment"]) | words,
        anything,
        max_size=4,
    ),
)
def test_any_arguments_are_read_without_an_exception(agent: Agent, args: dict[str, Any]) -> None:
    read = report_of(agent, args, AT)
    assert isinstance(read, str) or (read.agent == agent and read.analysis)


def test_repeated_sentences_and_items_are_kept_once() -> None:
    told = "You can use it. You can use it. It is small. " * 30
    read = report_of("koda", {"analysis": told, "concerns": ["No tests."] * 5 + [told]}, AT)
    assert isinstance(read, KodaPerspective)
    assert read.analysis == "You can use it. It is small."
    assert read.concerns == ("No tests.", "You can use it. It is small.")


@pytest.mark.parametrize("most", [0, 50, 100, 400, 10_000])
def test_reports_fit_their_budget(most: int) -> None:
    told = reports_text([KODA, KODA.model_copy(update={"analysis": "word " * 500})], most)
    assert len(told) <= most
    assert ("- analysis: One module." in told) == (most >= 200)


def test_the_text_of_a_report_for_the_synthesis() -> None:
    assert reports_text([KODA]) == (
        "Koda (effort: small)\n- analysis: One module.\n- concerns: No tests.\n"
        "- recommendations: Test first.; Keep names.\n- dependencies: A test runner.\n- affectedFiles: src/a.py\n"
        "- codePatterns: functions\n- potentialBreakingChanges: login()\n- testingRequirements: login"
    )


@pytest.mark.parametrize("agent", AGENTS)
def test_golden_prompts_of_the_agents(agent: Agent) -> None:
    assert perspective_prompt(agent) + "\n" == (GOLDEN / f"perspective_{agent}.txt").read_text("utf-8")


def test_reports_do_not_take_what_is_no_effort() -> None:
    with pytest.raises(ValidationError):
        KodaPerspective.model_validate({**KODA.model_dump(), "estimated_effort": "huge"})
