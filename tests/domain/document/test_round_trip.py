"""What is written as a document reads as it was."""

from __future__ import annotations

from typing import Any, get_args

from hypothesis import given, settings
from hypothesis import strategies as st

from planloom.domain.document.adoption import adoption
from planloom.domain.document.fields import FIELDS
from planloom.domain.document.reader import read_document, values_of
from planloom.domain.document.render import render, step_lines
from planloom.domain.indexed_tuple import IndexedTuple
from planloom.domain.plans.editing import EditRefused, edit_plan
from planloom.domain.plans.plan import Check, ExpectedTool, Plan, Step, StepKind
from planloom.domain.values import PlanId, SessionId
from tests.depth import rounds

_ODD = 'a.py|12|null|"x"|- tool: x|→ y|\\|```|> q|# h|---|^step_1|\u2028|\r|\t| |  |- [ ] z|true|{|## Steps|none|, |: '
WORDS = st.sampled_from(_ODD.split("|"))
TEXT = st.lists(WORDS | st.text(max_size=6) | st.just("\n"), max_size=8).map("".join)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)
ARGS = st.dictionaries(st.sampled_from(["path", "content", "old_text", "count"]) | TEXT, JSON, max_size=3)
NAMES = st.lists(TEXT.filter(bool), max_size=3).map(tuple)
CHECKS = st.builds(
    Check,
    kind=st.sampled_from(["file_exists", "file_contains", "no_new_errors", "command", "condition"]),
    path=st.none() | TEXT,
    text=st.none() | TEXT,
    command=st.none() | TEXT,
)

TOOLS = st.lists(st.builds(ExpectedTool, tool=TEXT.filter(bool), args=st.none() | ARGS), max_size=2).map(
    tuple
)


@st.composite
def steps(draw: st.DrawFn) -> list[Step]:
    """Steps that differ in everything that their author can write."""
    ids = [f"step_{number + 1}" for number in range(draw(st.integers(1, 4)))]
    return [
        Step(
            step_id=each,  # type: ignore[arg-type]
            description=draw(TEXT),
            instruction=draw(TEXT),
            kind=draw(st.sampled_from(get_args(StepKind))),
            agent=draw(st.sampled_from(["koda", "chapo", "devo"])),
            tool=draw(st.none() | st.sampled_from(["write_file", "run_command"])),
            args=draw(st.none() | ARGS),
            depends_on=tuple(draw(st.lists(st.sampled_from(ids), unique=True, max_size=2))),  # type: ignore[arg-type]
            priority=draw(st.sampled_from(["critical", "high", "normal", "low"])),
            critical=draw(st.booleans()),
            question=draw(st.none() | TEXT),
            checks=tuple(draw(st.lists(CHECKS, max_size=2))),
            expected_files=draw(NAMES),
            tools_to_execute=draw(TOOLS),
            when=draw(st.none() | TEXT),
            for_each=draw(st.none() | TEXT),
            repeat_until=draw(st.none() | TEXT),
            repeat_most=draw(st.none() | st.integers(-1, 99)),
            template_id=draw(st.none() | TEXT),
        )
        for each in ids
    ]


def plan_of(drawn: list[Step], **more: Any) -> Plan:
    return Plan(plan_id=PlanId("p"), session_id=SessionId("s"), version=2, steps=IndexedTuple(drawn), **more)


def authored(step: Step) -> dict[str, Any]:
    return {"description": step.description} | {
        field.attribute: getattr(step, field.attribute) for field in FIELDS.values()
    }


@settings(max_examples=rounds(40, 2_000))
@given(steps())
def test_what_is_written_reads_as_it_was(drawn: list[Step]) -> None:
    text = render(plan_of(drawn))
    found = read_document(text)
    assert not found.troubles and not found.notes, text
    assert [step.step_id for step in found.steps] == [step.step_id for step in drawn]
    for written, step in zip(found.steps, drawn, strict=True):
        assert dict(values_of(written)) == authored(step), text


def test_a_template_makes_a_sub_plan_whose_parameters_stand_below_it() -> None:
    lines = (
        "- [ ] Tests ^tests",
        "  - template: Add tests",
        "    - file: a.py",
        "    - count: 2",
    )
    text = "\n".join(("# Try", "", "## Steps", "", *lines, ""))
    found = adoption(text)
    assert found is not None and not found.troubles
    steps = edit_plan((), found.found.edits)
    assert not isinstance(steps, EditRefused)
    (step,) = steps
    assert (step.kind, step.template_id, step.args) == ("sub_plan", "Add tests", {"file": "a.py", "count": 2})
    assert "\n".join(step_lines(step, " ")) == "\n".join(lines)


def test_a_kind_that_leaves_a_template_without_effect_is_told() -> None:
    found = adoption("# Try\n\n## Steps\n\n- [ ] Tests\n  - kind: check\n  - template: Add tests\n")
    assert found is not None
    (trouble,) = found.found.troubles
    assert (trouble.place.line, trouble.instead) == (5, "sub plan")
