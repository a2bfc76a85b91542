"""A change of the document is the change of the plan that its author meant."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planloom.domain.document.difference import difference, place_of
from planloom.domain.document.feedback import Feedback, feedback_in, taken
from planloom.domain.document.reader import read_document
from planloom.domain.document.render import render
from planloom.domain.plans.editing import EditRefused, MoveStep, edit_plan
from planloom.domain.plans.plan import Step
from planloom.domain.values import StepId
from tests.depth import rounds
from tests.domain.document.test_round_trip import ARGS, CHECKS, TEXT, authored, plan_of

IDS = ("step_1", "step_2", "step_3", "step_4", "other")


@st.composite
def sensible_steps(draw: st.DrawFn) -> list[Step]:
    """Steps that wait for earlier ones alone; only calls have a tool."""
    ids = draw(st.permutations(IDS))[: draw(st.integers(1, 5))]
    found = []
    for number, each in enumerate(ids):
        tool = draw(st.none() | st.sampled_from(["write_file", "run_command"]))
        step = Step(
            step_id=StepId(each),
            description=draw(st.sampled_from(["Look", "Write it", "12"])),
            instruction=draw(TEXT),
            kind="tool_call" if tool else "processing",
            tool=tool,
            args=draw(ARGS) if tool else None,
            depends_on=tuple(StepId(name) for name in ids[:number] if draw(st.booleans())),
            priority=draw(st.sampled_from(["high", "normal"])),
            checks=tuple(draw(st.lists(CHECKS, max_size=1))),
            when=draw(st.none() | TEXT),
        )
        found.append(step)
    return found


@settings(max_examples=rounds(40, 2_000))
@given(sensible_steps(), sensible_steps())
def test_the_plan_becomes_what_the_document_says(before: list[Step], wanted: list[Step]) -> None:
    found = difference(plan_of(before), read_document(render(plan_of(wanted))))
    after = edit_plan(before, found.edits)
    assert not isinstance(after, EditRefused), after
    assert {step.step_id: authored(step) for step in after} == {
        step.step_id: authored(step) for step in wanted
    }
    assert [step.step_id for step in after] == [step.step_id for step in wanted]


PLAN = [
    Step(step_id=StepId("step_1"), description="Look", instruction="Look"),
    Step(step_id=StepId("step_2"), description="Write", instruction="Write", depends_on=(StepId("step_1"),)),
    Step(step_id=StepId("step_3"), description="Run", instruction="Run"),
]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("", "", []),
        ("Look ^", "Look well ^", ["update"]),
        ("- [ ] Run ^step_3\n", "", ["remove"]),
        ("- [ ] Run ^step_3\n", "- [ ] Run ^step_3\n- Then this\n", ["add"]),
        ("- [ ] Run ^step_3\n", "- [ ] Run ^step_3\n\nA thought of mine.\n", []),
        ("[ ] Run", "[-] Run", ["skip"]),
        ("  - after: step_1\n", "", ["update"]),
    ],
)
def test_the_smallest_edit_is_found(old: str, new: str, expected: list[str]) -> None:
    text = render(plan_of(PLAN))
    assert old in text
    found = difference(plan_of(PLAN), read_document(text.replace(old, new, 1)))
    assert [edit.op for edit in found.edits] == expected and not found.troubles


def test_one_step_is_moved_and_not_all_the_others() -> None:
    text = render(plan_of([PLAN[2], PLAN[0], PLAN[1]]))
    assert difference(plan_of(PLAN), read_document(text)).edits == (
        MoveStep(step_id=StepId("step_3"), after=None),
    )


def test_a_problem_is_found_at_its_place() -> None:
    """The place is that of the value, to the character."""
    text = render(plan_of(PLAN)).replace("after: step_1", "after: step_9")
    written = read_document(text)
    found = difference(plan_of(PLAN), written)
    refused = edit_plan(PLAN, found.edits)
    assert isinstance(refused, EditRefused)
    place = place_of(refused.problems[0], written, found.ids)
    assert text.split("\n")[place.line][place.start : place.end] == "step_9"


@pytest.mark.parametrize(
    ("line", "said", "place"),
    [
        ("  - aftr: step_1", "Did you mean “after”?", "aftr"),
        ("  - priority: hgih", "A priority is critical or high or normal or low.", "hgih"),
        ("  - critical: maybe", "It is yes or no.", "maybe"),
        ("  - arguments: [1", "Arguments are a JSON object", "[1"),
        ("  - check: all is well", "A check is", "all is well"),
        ("  - question:\n    ```\n    x", "The block does not end", ""),
        ("  - after: step_1\n  - After: step_2", "“after” stands in this step already", "After"),
        ("  - tool: a\n    - x: 1\n    - x: 2", "“x” stands in this step already", "x"),
        ("  - tool: a\n    - x: 1\n  - tool: b\n    - y: 1", "“tool” stands in this step already", "tool"),
        (
            '  - arguments: {"x": 1}\n  - tool: a\n    - y: 1',
            "The arguments stand in this step already",
            "tool",
        ),
        ('  - tool: a\n    - y: 1\n  - arguments: {"x": 1}', "The arguments stand in this", "arguments"),
        ('  - arguments: {"x": 1, "x": 2}', "Arguments are a JSON object", '{"x": 1, "x": 2}'),
        ("  - instruction: One.\n  Two.", "The instruction stands in this step already", "Two."),
        ("  Two.\n  - instruction: One.", "The instruction stands in this step already", "One."),
        ("- [ ] Again ^step_1", "There is a step ^step_1 already.", "step_1"),
    ],
)
def test_what_cannot_be_read_is_said_at_its_place(line: str, said: str, place: str) -> None:
    text = render(plan_of(PLAN)).rstrip("\n") + f"\n{line}\n"
    (trouble,) = read_document(text).troubles
    assert trouble.text.startswith(said)
    at = trouble.place
    assert text.split("\n")[at.line][at.start : at.end] == place


@pytest.mark.parametrize("name", ["Run ^step_3", "Then this"])
def test_a_typed_line_of_a_result_is_named_with_the_sign_that_makes_it_text(name: str) -> None:
    text = render(plan_of(PLAN)).replace("- [ ] Run ^step_3\n", f"- [ ] {name}\n  → Mine.\n")
    (trouble,) = difference(plan_of(PLAN), read_document(text)).troubles
    at = trouble.place
    assert trouble.text.startswith("Planloom writes this line")
    assert text.split("\n")[at.line][at.start : at.end] == "→" and trouble.instead == "\\→"
    mended = difference(plan_of(PLAN), read_document(text.replace("→", "\\→")))
    assert not mended.troubles and "'→ Mine.'" in repr(mended.edits)


def test_arguments_may_stand_above_their_tool() -> None:
    text = '## Steps\n\n- Look\n  - arguments: {"x": 1}\n  - tool: a\n'
    written = read_document(text)
    assert not written.troubles and written.steps[0].values["args"] == {"x": 1}


def test_a_document_without_its_heading_of_steps_removes_none_of_them() -> None:
    text = render(plan_of(PLAN, request="Do it")).replace("## Steps\n", "")
    (trouble,) = read_document(text).troubles
    assert "“## Steps” is missing" in trouble.text
    at = trouble.place
    assert text.split("\n")[at.line][at.start : at.end] == "# Do it"


@pytest.mark.parametrize("line", ["# Do it\n", "- [ ] Run ^step_3\n", "  - after: step_1\n"])
def test_what_a_merge_has_left_is_named_line_by_line(line: str) -> None:
    text = render(plan_of(PLAN, request="Do it"))
    both = f"<<<<<<< HEAD\n{line}=======\n{line}>>>>>>> other\n"
    merged = text.replace(line, both, 1)
    marked = [each for each in read_document(merged).troubles if "A merge" in each.text]
    lines = [merged.split("\n")[each.place.line] for each in marked]
    assert lines == ["<<<<<<< HEAD", "=======", ">>>>>>> other"]
    assert not [each for each in read_document(text).troubles if "A merge" in each.text]


def test_a_sign_that_only_the_server_sets_is_named() -> None:
    text = render(plan_of(PLAN)).replace("[ ] Run", "[x] Run")
    (trouble,) = difference(plan_of(PLAN), read_document(text)).troubles
    assert "“-” skips the step" in trouble.text and trouble.instead == " "


def test_notes_are_kept_below_their_step() -> None:
    text = render(plan_of(PLAN)).replace("- [ ] Write", "Ask Ada first.\n\nTwice.\n\n- [ ] Write")
    notes = read_document(text).notes
    assert notes == {"step_1": "Ask Ada first.\n\nTwice."}
    again = render(plan_of(PLAN), notes)
    assert read_document(again).notes == notes and "Ask Ada first." in again


@given(
    st.lists(st.sampled_from(["- [ ] a", "  ", "\n", "- tool: ", "```", "---", "^", "x: y", "é"])).map(
        "".join
    )
)
def test_any_text_can_be_read(text: str) -> None:
    difference(plan_of(PLAN), read_document("## Steps\n" + text))
    difference(plan_of(PLAN), read_document(text))


@pytest.mark.parametrize(
    ("typed", "instead"),
    [
        ("  Feedback: shorter\n", "Feedback:"),
        ("  answer: 80\n", "answer:"),
        ("  Feedback: x\n  - after: a\n", None),
    ],
)
def test_what_is_said_to_the_server_within_a_step_is_no_instruction(typed: str, instead: str | None) -> None:
    text = f"# Do it\n\n## Steps\n\n- [ ] One ^a\n- [ ] Two ^b\n{typed}"
    (trouble,) = read_document(text).troubles
    assert "stands at the margin" in trouble.text and trouble.instead == instead
    if instead is not None:
        lines = text.split("\n")
        lines[trouble.place.line] = instead + lines[trouble.place.line][trouble.place.end :]
        mended = read_document("\n".join(lines))
        assert not mended.troubles and mended.steps[1].values["instruction"] == "Two"


def test_feedback_ends_at_a_blank_line_and_belongs_to_the_step_above() -> None:
    text = (
        "# Do it\r\n\r\nFeedback: of the summary\r\n\r\n## Steps\r\n\r\nfeedback: fewer\r\nsteps\r\n\r\n"
        "- [ ] One ^a\r\n  - check: command: echo Feedback: no\r\n\r\nA note.\r\nFeedback:\r\n\r\n"
        "Feedback: two\r\n- [ ] New\r\n"
    )
    found = feedback_in(read_document(text))
    assert found == (Feedback(None, "fewer\nsteps"), Feedback(StepId("a"), "two"))
    assert feedback_in(read_document(taken(text))) == ()
    assert taken(text).replace("> ", "") == text and taken(text).count("> ") == 4
