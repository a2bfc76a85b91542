"""What a model proposes for the rest of a running plan: the edits, and what of them the user has not approved."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planloom.domain.plans.editing import EditRefused, edit_plan
from planloom.domain.plans.plan import Check, Step
from planloom.domain.plans.revision import Revision, WantedStep, plan_changes, revision, widening
from planloom.domain.values import StepId

NAMES = "abcde"
RUNNING = StepId("b")


def plan(marks: str = "x>   ", **dependencies: str) -> tuple[Step, ...]:
    """Five steps; `x` is completed, `>` runs, a blank is still to come."""
    status = {"x": "completed", ">": "running", " ": "pending"}
    return tuple(
        Step.model_validate(
            {
                "step_id": name,
                "description": f"Do {name}",
                "instruction": f"Do all of {name}.",
                "status": status[mark],
                "expected_files": (f"{name}.py", f"{name}.md"),
                "depends_on": tuple(dependencies.get(name, "")),
            }
        )
        for name, mark in zip(NAMES, marks, strict=True)
    )


def wanted(*steps: dict[str, Any]) -> tuple[WantedStep, ...]:
    return tuple(WantedStep.model_validate(step) for step in steps)


def edited(found: Any, steps: tuple[Step, ...]) -> tuple[Step, ...]:
    assert isinstance(found, Revision), found
    now = edit_plan(steps, found.edits)
    assert not isinstance(now, EditRefused), now
    return now


def after(found: Any, steps: tuple[Step, ...]) -> list[str]:
    return [step.step_id for step in edited(found, steps)]


@pytest.mark.parametrize(
    ("rest", "order", "widens"),
    [
        ([{"id": "c"}, {"id": "d"}, {"id": "e"}], "abcde", []),
        ([{"id": "c"}, {"id": "e"}], "abce", []),
        ([], "ab", []),
        ([{"id": "e"}, {"id": "c"}, {"id": "d"}], "abecd", []),
        ([{"id": "c", "description": "Do c well"}], "abc", []),
        ([{"id": "c", "expectedFiles": ["c.py"]}], "abc", []),
        ([{"id": "c", "agent": "chapo"}], "abc", []),
        ([{"id": "c", "instruction": "Do more."}], "abc", ["c has another instruction."]),
        ([{"id": "c", "expectedFiles": ["c.py", "x.py"]}], "abc", ["c writes x.py too."]),
        ([{"id": "c", "tool": "delete_path", "args": {"path": "a"}}], "abc", ["c makes another call."]),
        ([{"id": "c", "when": "exists('a')"}], "abc", ["c has another condition or loop."]),
        ([{"id": "c", "forEach": "$a"}], "abc", ["c has another condition or loop."]),
        ([{"id": "c", "repeatUntil": "last.ok"}], "abc", ["c has another condition or loop."]),
        ([{"id": "c", "checks": [{"kind": "command", "command": "make"}]}], "abc", ["c has other checks."]),
        ([{"id": "c", "checks": ["make"]}], "abc", ["c has other checks."]),
        ([{"id": "c", "checks": []}], "abc", []),
        ([{"id": "c", "kind": "approval", "question": "Go on?"}], "abc", ["c makes another call."]),
        ([{"id": "c"}, {"id": "n", "description": "New"}], "abcn", ["New is new."]),
        ([{"id": "n", "description": "New"}, {"id": "d", "dependsOn": ["n"]}], "abnd", ["New is new."]),
    ],
)
def test_a_revision(rest: list[dict[str, Any]], order: str, widens: list[str]) -> None:
    steps = plan()
    found = revision(steps, wanted(*rest), RUNNING)
    assert "".join(after(found, steps)) == order
    assert list(widening(steps, edited(found, steps))) == widens


@pytest.mark.parametrize("kind", ["check", "approval"])
@pytest.mark.parametrize(
    ("rest", "sequential", "widens"),
    [
        ([{"id": "c"}, {"id": "d"}, {"id": "e"}], True, []),
        ([{"id": "c"}, {"id": "e"}, {"id": "d"}], True, []),
        ([{"id": "c"}], True, []),
        ([{"id": "d"}, {"id": "c"}, {"id": "e"}], True, ["d no longer waits for c."]),
        ([{"id": "d"}, {"id": "e"}], True, ["c, which is there to stop the plan, is dropped."]),
        ([{"id": "d"}, {"id": "c"}, {"id": "e"}], False, []),
        ([{"id": "c"}, {"id": "d"}, {"id": "e", "dependsOn": []}], False, ["e no longer waits for c."]),
    ],
)
def test_what_a_gate_or_a_check_stops_cannot_pass_it_unasked(
    kind: str, rest: list[dict[str, Any]], sequential: bool, widens: list[str]
) -> None:
    steps = [
        each.model_copy(update={"kind": kind} if each.step_id == "c" else {})
        for each in (plan() if sequential else plan(e="c"))
    ]
    found = revision(steps, wanted(*rest), RUNNING)
    assert list(widening(steps, edited(found, steps), sequential=sequential)) == widens


def test_a_gate_that_asks_something_else_is_asked_for() -> None:
    steps = [each.model_copy(update={"kind": "approval", "question": "Put it online?"}) for each in plan()]
    found = revision(steps, wanted({"id": "c", "question": "Tidy up?"}, {"id": "d"}, {"id": "e"}), RUNNING)
    assert list(widening(steps, edited(found, steps))) == ["c asks another question."]


def test_a_person_sees_all_that_a_new_step_runs_and_what_decides_about_it() -> None:
    check = Step(
        step_id=StepId("n"),
        description="Try it",
        instruction="Try it",
        kind="check",
        checks=(Check(kind="command", command="make test"), Check(kind="file_exists", path="a.txt")),
        when="exists('b')",
        repeat_until="last.ok",
    )
    template = check.as_written().model_copy(
        update={"kind": "sub_plan", "template_id": "t", "args": {"name": "x"}, "checks": ()}
    )
    rules = ["Only if exists('b')", "Until last.ok"]
    for step, lines in (
        (check, [*rules, "Checks: command make test", "Checks: file exists a.txt"]),
        (template, ['Template t {"name": "x"}', *rules]),
        (
            check.model_copy(update={"kind": "approval", "checks": ()}),
            ["Asks whether the plan goes on", *rules],
        ),
        (
            check.model_copy(update={"kind": "processing", "for_each": "$a", "checks": ()}),
            [rules[0], "For each of $a", rules[1]],
        ),
    ):
        (change,) = plan_changes((), (step,), ())
        assert (change.after or "").split("\n") == ["1. Try it", *lines]


def test_a_new_step_without_an_id_gets_a_free_one() -> None:
    steps = plan()
    found = revision(steps, wanted({"description": "New"}, {"description": "Newer"}), RUNNING)
    assert after(found, steps) == ["a", "b", "step_6", "step_7"]


@pytest.mark.parametrize(
    ("rest", "problem"),
    [
        ([{"id": "a"}], "It is completed and stays as it is: give only steps still to come."),
        ([{"id": "b", "instruction": "Do more."}, {"id": "c"}], "It is running: only its checks can change."),
        ([{"id": "b", "done": "It is."}], "It is the CURRENT TASK: end it with task_completed."),
        ([{"id": "n"}], "A new step needs a description."),
        (
            [{"id": "n", "description": "New", "done": "It is."}],
            "Only a step of the plan can be named as done.",
        ),
        ([{"id": "c"}, {"id": "c"}], "It is named twice."),
        (
            [{"id": "c", "done": "It is.", "expectedFiles": []}],
            "A step that is done cannot be changed.",
        ),
    ],
)
def test_a_revision_that_cannot_be(rest: list[dict[str, Any]], problem: str) -> None:
    found = revision(plan(), wanted(*rest), RUNNING)
    assert not isinstance(found, Revision) and [each.problem for each in found] == [problem]


@pytest.mark.parametrize(("rest", "order"), [((), "abcde"), ("ec", "abec")])
def test_a_running_step_may_have_other_checks_and_named_alone_keeps_the_rest(rest: str, order: str) -> None:
    steps = plan()
    own = {"id": "b", "description": "Do b", "checks": ["make test"]}
    found = revision(steps, wanted(own, *({"id": name} for name in rest)), RUNNING)
    assert isinstance(found, Revision)
    refused = edit_plan(steps, found.edits)
    assert isinstance(refused, EditRefused) and "is running" in refused.problems[0].problem
    after_it = edit_plan(steps, found.edits, RUNNING)
    assert not isinstance(after_it, EditRefused)
    assert [step.step_id for step in after_it] == list(order)
    assert widening(steps, after_it) == ("b has other checks.",)


def test_a_dropped_step_that_another_waits_for_is_refused_by_the_edits() -> None:
    steps = plan(e="d")
    found = revision(steps, wanted({"id": "e"}), RUNNING)
    assert isinstance(found, Revision)
    refused = edit_plan(steps, found.edits)
    assert isinstance(refused, EditRefused)
    assert refused.problems[0].problem == "d cannot be removed: e waits for it."


def test_a_step_that_is_named_as_done_keeps_its_place() -> None:
    steps = plan()
    found = revision(
        steps, wanted({"id": "c", "done": " b wrote it too. "}, {"id": "d"}, {"id": "e"}), RUNNING
    )
    assert isinstance(found, Revision) and found.done == ((StepId("c"), "b wrote it too."),)
    assert after(found, steps) == list(NAMES)


@given(st.permutations("cde"), st.sets(st.sampled_from("cde")))
def test_any_order_and_choice_of_the_rest_is_reached_and_widens_nothing(
    order: list[str], kept: set[str]
) -> None:
    steps = plan()
    rest = [name for name in order if name in kept]
    found = revision(steps, wanted(*({"id": name} for name in rest)), RUNNING)
    assert after(found, steps) == ["a", "b", *rest]
    assert not widening(steps, edited(found, steps))


def test_a_person_sees_each_step_that_changes_before_and_after() -> None:
    steps = plan()
    found = revision(
        steps,
        wanted(
            {"id": "e"},
            {"id": "d", "instruction": "Do more.", "expectedFiles": ["d.py", "x.py"]},
            {"id": "n", "description": "Run it", "tool": "run_command", "args": {"command": "make"}},
        ),
        RUNNING,
    )
    assert isinstance(found, Revision)
    changes = plan_changes(steps, edited(found, steps), {StepId("e")})
    assert [(each.kind, each.before, each.after) for each in changes] == [
        ("dropped", "3. Do c", None),
        ("moved", "5. Do e", "3. Do e"),
        ("changed", "4. Do d\nDo all of d.\nWrites d.py, d.md", "4. Do d\nDo more.\nWrites d.py, x.py"),
        ("added", None, '5. Run it\nCalls run_command {"command": "make"}'),
    ]


def test_a_person_sees_the_conditions_and_loops_of_a_new_step() -> None:
    steps = plan()
    check = {"kind": "command", "command": "make test"}
    loop = {"repeatUntil": "last.ok", "repeatMost": 3, "checks": [check], "when": "!exists('done')"}
    found = revision(
        steps,
        wanted(
            {"id": "n", "description": "Mend it", **loop},
            {"id": "m", "description": "Ask", "kind": "approval", "question": "Go on?", "forEach": "$a"},
        ),
        RUNNING,
    )
    assert isinstance(found, Revision)
    assert [
        each.after for each in plan_changes(steps, edited(found, steps), set()) if each.kind == "added"
    ] == [
        "3. Mend it\nOnly if !exists('done')\nUntil last.ok, at most 3 times\nChecks: command make test",
        "4. Ask\nAsks: Go on?\nFor each of $a",
    ]
