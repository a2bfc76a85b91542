"""Order, readiness and unreachable steps, on plans written as one line."""

from __future__ import annotations

import time
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planloom.domain.plans import graph
from planloom.domain.plans.plan import Pending, Plan, Recovery, Step
from planloom.domain.values import PlanId, SessionId, StepId
from tests.domain.reference_directives import unreachable

MARKS = {"+": "completed", "!": "failed", "-": "skipped", ">": "running", "?": "needs_clarification"}


def steps(text: str) -> tuple[Step, ...]:
    """`a+ b<a c<a,b` are three steps: a is completed, b waits for a, c for both."""
    found = []
    for word in text.split():
        head, _, dependencies = word.partition("<")
        status = MARKS.get(head[-1], "pending")
        name = head.rstrip("".join(MARKS))
        found.append(
            Step(
                step_id=StepId(name),
                description=name,
                instruction=name,
                status=status,  # type: ignore[arg-type]
                depends_on=tuple(StepId(need) for need in dependencies.split(",") if need),
            )
        )
    return tuple(found)


def plan(text: str, *, sequential: bool = False) -> Plan:
    return Plan(
        plan_id=PlanId("p"),
        session_id=SessionId("s"),
        steps=steps(text),
        sequential=sequential,
        status="executing",
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a b<a c<b", None),
        ("a<a", ("a",)),
        ("a<b b<a", ("a", "b")),
        ("x a<c b<a c<b d<c", ("a", "c", "b")),
        ("a<nothing", None),
        ("", None),
    ],
)
def test_a_cycle_is_listed(text: str, expected: tuple[str, ...] | None) -> None:
    assert graph.cycle(steps(text)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a b c", "a b c"),
        ("a b<a c", "a c"),
        ("a b c<b d<c", "b a"),
        ("a+ b<a c<a,b", "b"),
        ("a! b<a c", "c"),
        ("a> b", "b"),
        ("a<missing", "a"),
    ],
)
def test_ready_steps_come_longest_path_first(text: str, expected: str) -> None:
    assert " ".join(graph.ready(plan(text))) == expected


def test_priority_decides_between_equal_paths() -> None:
    low, urgent = steps("a b")
    listed = plan("").model_copy(update={"steps": (low, urgent.model_copy(update={"priority": "critical"}))})
    assert graph.ready(listed) == ("b", "a")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a b c", "a"),
        ("a+ b c", "b"),
        ("a! b c", "b"),
        ("a- b c", "b"),
        ("a> b c", ""),
        ("a? b c", ""),
        ("a! b<a c", ""),
        ("a! b-<a c", "c"),
        ("a<b b", "b"),
    ],
)
def test_a_sequential_plan_runs_in_order(text: str, expected: str) -> None:
    assert " ".join(graph.ready(plan(text, sequential=True))) == expected


def test_a_failure_that_waits_for_a_decision_holds_everything_behind_it() -> None:
    waiting = Pending(recoveries=(Recovery(step_id=StepId("a"), error="no", options=()),))
    chain = plan("a! b c<a", sequential=True).model_copy(update={"pending": waiting})
    assert graph.ready(chain) == ()
    assert unreachable(chain) == ()


def test_doom_spreads_to_everything_behind_a_failure() -> None:
    assert unreachable(plan("a! b<a c<b d e+ f<e,d g<f,c")) == ("b", "c", "g")
    assert unreachable(plan("a- b<a c", sequential=True)) == ("b",)


def test_using_a_result_is_waiting_for_it() -> None:
    first, second = steps("a! b")
    using = second.model_copy(update={"args": {"path": "$a.path", "text": "$a and more"}})
    listed = plan("").model_copy(update={"steps": (first, using), "sequential": True})
    assert unreachable(listed) == ("b",)
    assert graph.ancestors(listed.steps, StepId("b")) == {"a"}


def test_shown_statuses() -> None:
    listed = plan("a+ b<a c<b")
    assert graph.shown_statuses(listed) == ("completed", "ready", "blocked")
    assert graph.shown_status(listed, listed.steps[2]) == "blocked"
    before = listed.model_copy(update={"status": "pending_approval"})
    assert graph.shown_statuses(before) == ("completed", "pending", "pending")


def test_blocks_and_ancestors() -> None:
    listed = plan("a b<a c<b d<a")
    assert graph.blocks(listed, StepId("a")) == ("b", "d")
    assert graph.blocks(listed, StepId("nobody")) == ()
    assert graph.ancestors(listed.steps, StepId("c")) == {"a", "b"}


edges = st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11)), max_size=30)


def drawn(pairs: Iterable[tuple[int, int]]) -> tuple[Step, ...]:
    dependencies: dict[int, list[str]] = {number: [] for number in range(12)}
    for step, need in pairs:
        dependencies[step].append(f"s{need}")
    return steps(" ".join(f"s{number}<{','.join(found)}" for number, found in dependencies.items()))


@given(edges)
def test_order_masks_and_cycles_agree(pairs: list[tuple[int, int]]) -> None:
    found = drawn(pairs)
    ring = graph.cycle(found)
    order = graph.execution_order(found)
    assert sorted(step.step_id for step in order) == sorted(step.step_id for step in found)
    if ring is not None:
        by_id = {step.step_id: step for step in found}
        for step_id, need in zip(ring, [*ring[1:], ring[0]], strict=True):
            assert need in by_id[step_id].depends_on
        return
    at = {step.step_id: place for place, step in enumerate(order)}
    assert all(at[need] < at[step.step_id] for step in found for need in step.depends_on)
    masks = graph.ancestor_masks(graph.dependency_graph(found))
    for place, step in enumerate(found):
        named = {found[bit].step_id for bit in range(12) if masks[place] >> bit & 1}
        assert named == graph.ancestors(found, step.step_id)


def test_two_thousand_steps_take_no_more_than_linear_time() -> None:
    def seconds(count: int) -> float:
        text = " ".join(f"s{n}<" + ",".join(f"s{m}" for m in range(max(0, n - 3), n)) for n in range(count))
        listed = plan(text)
        start = time.process_time()
        graph.ready(listed)
        graph.cycle(listed.steps)
        unreachable(listed)
        graph.shown_statuses(listed)
        return time.process_time() - start

    small = max(seconds(500), 0.01)
    assert min(seconds(2_000) for _ in range(5)) < small * 16
