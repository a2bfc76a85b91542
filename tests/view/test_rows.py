"""The row of a step: the one thing that it says, the facts behind it, and its place in a drawing."""

from __future__ import annotations

import pytest

from planloom.domain.plans.plan import Step, Usage
from planloom.domain.values import StepId
from planloom.view.step.rows import asks, facts, note
from planloom.view.step.waves import places
from planloom.view.words import Words

T = Words()


def step(name: str, **more: object) -> Step:
    return Step.model_validate({"step_id": name, "description": f"Do {name}", "instruction": "", **more})


@pytest.mark.parametrize(
    ("more", "reviews"),
    [
        ({}, ()),
        ({"requires_approval": True, "tool": "edit_file"}, ("each", "end")),
        ({"requires_approval": True, "tool": "delete_path"}, ("each", "end", "auto")),
        ({"requires_approval": True, "tool": "edit_file", "status": "completed"}, ()),
    ],
)
def test_a_step_says_under_which_reviews_it_asks(more: dict[str, object], reviews: tuple[str, ...]) -> None:
    assert asks(step("a", **more)) == reviews


def test_the_facts_of_a_step_are_for_its_details() -> None:
    call = step("a", tool="edit_file", args={"path": "a.py", "old_text": "x"}, critical=True, attempts=2)
    call = call.model_copy(update={"usage": Usage(requests=1, prompt_tokens=900, completion_tokens=100)})
    assert list(facts(call, "1, 2", 1, None, T)) == [
        "edit_file a.py",
        "after 1, 2",
        "if it fails, the plan fails",
        "1 file changed",
        "attempt 2",
        "1.0k tokens · 1 request",
    ]
    assert list(facts(step("b"), "", 0, "make serve", T)) == ["Code", "runs in the background: make serve"]


def test_a_row_says_one_thing_besides_its_title() -> None:
    assert note("waits for your approval", "it failed", "round 1", T) == "waits for your approval"
    assert note(None, "it failed\nbecause", None, T) == "retrying: it failed"
    assert note(None, None, None, T) is None


def waves(*steps: Step, sequential: bool = False) -> list[int]:
    return [each.wave for each in places(steps, sequential=sequential)]


def test_a_step_is_one_wave_behind_the_latest_that_it_waits_for() -> None:
    steps = (step("a"), step("b", depends_on=["a", "gone"]), step("c"), step("d", depends_on=["b"]))
    assert waves(*steps) == [0, 1, 0, 2]
    assert waves(*steps, sequential=True) == [0, 1, 2, 3]
    chain = [step(f"s{at}", depends_on=[f"s{at - 1}"] if at else []) for at in range(400)]
    assert waves(*chain)[-1] == 399


@pytest.mark.parametrize(("sequential", "expected"), [(False, [0, 1, 1, 2, 3]), (True, [0, 1, 2, 3, 4])])
def test_a_loop_comes_behind_the_steps_that_it_became(sequential: bool, expected: list[int]) -> None:
    a, x1, x2, loop, after = (
        step("a"),
        step("x1", depends_on=["a"], parent="loop"),
        step("x2", depends_on=["a"], parent="loop"),
        step("loop", depends_on=["a"]),
        step("after", depends_on=["loop"]),
    )
    assert waves(a, x1, x2, loop, after, sequential=sequential) == expected
    moved = waves(a, loop, x1, x2, after, sequential=sequential)
    assert moved == [expected[0], expected[3], expected[1], expected[2], expected[4]]


def test_a_cycle_is_cut_and_a_link_that_a_longer_path_implies_is_left_out() -> None:
    ring = (step("a", depends_on=["b"]), step("b", depends_on=["a"]))
    assert sorted(waves(*ring)) == [0, 1]
    found = places(
        (step("a"), step("b", depends_on=["a"]), step("c", depends_on=["a", "b"])), sequential=False
    )
    assert [each.links for each in found] == [(), (StepId("a"),), (StepId("b"),)]
