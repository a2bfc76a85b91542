"""Edits of a plan under review: all or none."""

from __future__ import annotations

import pytest

from planloom.domain.plans.editing import (
    AddStep,
    EditRefused,
    MoveStep,
    RemoveStep,
    SkipStep,
    StepChanges,
    StepEdit,
    UnskipStep,
    UpdateStep,
    edit_plan,
)
from planloom.domain.plans.plan import ExpectedTool, Step
from planloom.domain.values import StepId
from tests.domain.test_graph import MARKS, steps


def update(step_id: str, **changes: object) -> UpdateStep:
    return UpdateStep(step_id=StepId(step_id), set=StepChanges(**changes))  # type: ignore[arg-type]


def add(description: str, after: str | None = None, **more: object) -> AddStep:
    return AddStep(
        place="after" if after else "last",
        after=StepId(after) if after else None,
        step=StepChanges(description=description),
        **more,  # type: ignore[arg-type]
    )


def move(step_id: str, after: str | None) -> MoveStep:
    return MoveStep(step_id=StepId(step_id), after=StepId(after) if after else None)


def remove(step_id: str) -> RemoveStep:
    return RemoveStep(step_id=StepId(step_id))


def shown(found: tuple[Step, ...]) -> str:
    marks = {status: mark for mark, status in MARKS.items()}
    return " ".join(
        step.step_id
        + marks.get(step.status, "")
        + ("<" if step.depends_on else "")
        + ",".join(step.depends_on)
        for step in found
    )


@pytest.mark.parametrize(
    ("before", "edits", "after"),
    [
        ("a b c", [move("c", "a")], "a c b"),
        ("a b c", [move("c", None)], "c a b"),
        ("a b c", [move("a", "c")], "b c a"),
        ("a b c", [remove("b")], "a c"),
        ("a b<a", [remove("b"), remove("a")], ""),
        ("a b<a", [remove("a"), remove("b")], ""),
        ("a b<a", [remove("a"), update("b", depends_on=())], "b"),
        ("a b", [add("new")], "a b step_3"),
        ("a step_7", [add("new", "a")], "a step_8 step_7"),
        ("a b", [add("new", "a", step_id=StepId("n")), update("b", depends_on=("n",))], "a n b<n"),
        ("a b", [SkipStep(step_id=StepId("a"))], "a- b"),
        ("a- b", [UnskipStep(step_id=StepId("a"))], "a b"),
        ("a b c", [update("a", depends_on=("b",))], "b a<b c"),
        ("a+ b c<b", [move("b", "a"), move("c", "b")], "a+ b c<b"),
    ],
)
def test_edits_are_made(before: str, edits: list[StepEdit], after: str) -> None:
    result = edit_plan(steps(before), edits)
    assert not isinstance(result, EditRefused), result
    assert shown(result) == after


@pytest.mark.parametrize(
    ("before", "edits", "problem"),
    [
        ("a b<a", [move("b", None)], "b cannot stand before a, which it waits for."),
        ("a b<a c<a", [move("a", "c")], "a cannot stand after b and c, which wait for it."),
        ("a b<a", [remove("a")], "a cannot be removed: b waits for it."),
        ("a b<a c<a", [remove("a")], "a cannot be removed: b and c wait for it."),
        ("a+ b", [update("a", description="x")], "a is completed and can no longer be changed."),
        ("a! b", [move("a", "b")], "a has failed and can no longer be changed."),
        ("a> b", [SkipStep(step_id=StepId("a"))], "a is running and can no longer be changed."),
        ("a b", [UnskipStep(step_id=StepId("a"))], "a is not skipped."),
        ("a b", [update("x", description="y")], "There is no step 'x'."),
        ("a b", [move("a", "x")], "There is no step 'x'."),
        ("a b", [move("a", "a")], "A step cannot be put after itself."),
        ("a b", [update("a", depends_on=("zz",))], "There is no step 'zz' to depend on."),
        (
            "a b<a",
            [update("a", depends_on=("b",))],
            "These steps wait for each other in a circle: a → b → a.",
        ),
        ("a b", [update("a", description="  ")], "The description is empty; say what the step does."),
        ("a b", [add("x", step_id=StepId("a"))], "There is a step 'a' already."),
        ("a b", [add(" ")], "A new step needs a description."),
        (
            "a b",
            [add("x", step_id=StepId("1-x"))],
            "'1-x' is not a step id; it must be a letter, then letters, digits and underscores.",
        ),
    ],
)
def test_edits_are_refused(before: str, edits: list[StepEdit], problem: str) -> None:
    result = edit_plan(steps(before), [*edits, update("b", description="never")])
    assert isinstance(result, EditRefused)
    assert problem in [found.problem for found in result.problems]


def test_kind_follows_the_tool_and_a_stale_active_form_goes() -> None:
    plain = Step(step_id=StepId("a"), description="a", instruction="a", active_form="Doing a")
    (called,) = edit_plan((plain,), [update("a", tool="read_file", args={"path": "p"}, description="b")])  # type: ignore[misc]
    assert (called.kind, called.tool, called.active_form) == ("tool_call", "read_file", "")
    (cleared,) = edit_plan((called,), [update("a", cleared=("tool", "args"))])  # type: ignore[misc]
    assert (cleared.kind, cleared.tool, cleared.args) == ("processing", None, None)


def test_what_was_wrong_before_does_not_stop_an_edit() -> None:
    result = edit_plan(steps("a<gone b"), [update("b", description="x")])
    assert not isinstance(result, EditRefused)


def test_the_expected_tools_can_be_edited() -> None:
    expected = (ExpectedTool(tool="write_file"), ExpectedTool(tool="run_command", args={"command": "make"}))
    edited = edit_plan(steps("a"), [update("a", tools_to_execute=expected)])
    assert not isinstance(edited, EditRefused) and edited[0].tools_to_execute == expected


@pytest.mark.parametrize(
    ("before", "changes", "kind"),
    [
        ({}, {"template_id": "t"}, "sub_plan"),
        ({}, {"template_id": "t", "tool": "read_file"}, "tool_call"),
        ({}, {"template_id": "t", "kind": "processing"}, "processing"),
        ({"kind": "check"}, {"template_id": "t"}, "check"),
        ({"kind": "tool_call", "tool": "read_file"}, {"template_id": "t"}, "tool_call"),
        ({"kind": "sub_plan", "template_id": "t"}, {"template_id": "u"}, "sub_plan"),
        ({"kind": "processing", "template_id": "t"}, {"template_id": "u"}, "processing"),
    ],
)
def test_the_kind_follows_a_new_template(
    before: dict[str, object], changes: dict[str, object], kind: str
) -> None:
    step = Step(step_id=StepId("a"), description="A", instruction="A").model_copy(update=before)
    edited = edit_plan((step,), [update("a", **changes)])
    assert not isinstance(edited, EditRefused) and edited[0].kind == kind
