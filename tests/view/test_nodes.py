"""What a step is besides work, its rules, what runs before it, and what becomes of a message to its plan, in words."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from planloom.domain.indexed_tuple import IndexedTuple
from planloom.domain.plans.agents import ChapoPerspective, DevoPerspective, KodaPerspective
from planloom.domain.plans.plan import Check, Pending, PlanStatus, Recovery, RecoveryProposal
from planloom.domain.plans.report import ReportedCommand
from planloom.view.plan_view import view
from planloom.view.states import message_field
from planloom.view.step.commands import RanCommand, commands
from planloom.view.step.nodes import node_words, rules
from planloom.view.words import Words
from tests.view.test_plan_view import AROUND, NOON, A, plan, step

EN = Words()


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"kind": "sub_plan", "template_id": "release"}, "template release"),
        ({"kind": "check"}, "check"),
        ({"kind": "approval"}, "asks for your yes"),
        ({"kind": "clarification"}, "question"),
        ({"kind": "tool_call"}, None),
        ({}, None),
    ],
)
def test_a_step_that_is_no_work_says_what_it_is(more: dict[str, Any], words: str | None) -> None:
    assert node_words(step("a", **more), EN) == words


def test_the_rules_of_a_step_are_said_with_what_they_do() -> None:
    ruled = step("a", when="steps.a.ok", for_each="[1, 2]", repeat_until="last.ok", repeat_most=3)
    assert rules(ruled, EN) == (
        ("when", "if steps.a.ok", "Runs only if this holds when it is due"),
        ("forEach", "for each of [1, 2]", "Becomes a step for each item"),
        ("repeatUntil", "again until last.ok", "At most 3 rounds"),
    )
    assert rules(step("a", repeat_until="last.ok"), EN)[0].hint == "At most 5 rounds"


def test_a_step_names_the_steps_before_it_by_number_and_unknown_ones_by_id() -> None:
    shown = view(plan(steps=IndexedTuple((step("a"), step("b", "a"), step("c", "a", "b", "gone")))), AROUND)
    assert [each.after for each in shown.steps] == ["", "1", "1, 2, gone"]


@pytest.mark.parametrize("status", get_args(PlanStatus))
def test_every_status_says_what_becomes_of_a_message(status: PlanStatus) -> None:
    german, english = message_field(status, Words("de")), message_field(status, EN)
    assert all(english) and all(one != other for one, other in zip(german, english, strict=True))


def test_the_commands_of_a_report_are_told_with_their_outcome() -> None:
    ran = [
        ReportedCommand(command="pytest -q", exit_code=0, outcome="81 passed", runs=3, failed_before=2),
        ReportedCommand(
            command="ruff check", exit_code=1, outcome="Found 2 errors.", confinement="Confined."
        ),
        ReportedCommand(command="make", exit_code=0, failed=True),
        ReportedCommand(command="npm run dev", outcome="it was stopped"),
    ]
    report = type("Report", (), {"commands": tuple(ran), "left": ()})()
    assert commands(plan(report=report), EN) == (
        RanCommand("pytest -q", good=True, words="81 passed · run 3 times · failed 2 times before"),
        RanCommand("ruff check", good=False, words="exit code 1 · Found 2 errors. · Confined."),
        RanCommand("make", good=False, words=""),
        RanCommand("npm run dev", good=None, words="it was stopped"),
    )
    assert commands(plan(), EN) == ()


def test_a_perspective_has_the_parts_of_its_report_that_say_something() -> None:
    reports = (
        ChapoPerspective(
            analysis="Small.",
            strategic_analysis="",
            risk_assessment="Low",
            concerns=("Names",),
            timestamp=NOON,
        ),
        KodaPerspective(analysis="Two files.", affected_files=("a.py",), timestamp=NOON),
        DevoPerspective(analysis="None.", rollback_strategy="Revert it", timestamp=NOON),
    )
    shown = view(plan(perspectives=reports, status="pending_approval"), AROUND).perspectives
    assert [each.parts for each in shown] == [
        (("Risks", "Low", ()), ("Concerns", None, ("Names",))),
        (("Files", None, ("a.py",)),),
        (("Rollback", "Revert it", ()),),
    ]


def test_a_check_says_what_it_checks_and_how_it_came_out() -> None:
    checks = (
        Check(kind="file_exists", path="a"),
        Check(kind="file_contains", path="a", text="b", outcome="passed"),
        Check(kind="no_new_errors", outcome="unknown"),
        Check(kind="command", command="make", outcome="failed"),
        Check(kind="condition", text="last.ok", outcome="passed"),
    )
    (shown,) = view(plan(step("a", checks=checks)), AROUND).steps
    assert shown.checks == (
        ("exists", "not checked yet"),
        ("contains", "passed"),
        ("no new errors", "unknown"),
        ("runs", "failed"),
        ("holds", "passed"),
    )


@pytest.mark.parametrize(
    ("action", "code", "words"),
    [
        ("insert", None, "The model proposes to insert steps."),
        ("retry", None, "The model proposes to retry."),
        ("skip", None, "The model proposes to skip the step."),
        ("abort", None, "The model proposes to end the plan."),
        ("retry", "several_matches", None),
    ],
)
def test_what_the_model_proposes_is_said_where_a_step_has_failed(
    action: Any, code: Any, words: str | None
) -> None:
    recovery = Recovery(
        step_id=A,
        error="no",
        code=code,
        options=("accept",),
        proposal=RecoveryProposal(action=action, why="It may help."),
    )
    (shown,) = view(plan(step("a"), pending=Pending(recoveries=(recovery,))), AROUND).steps
    assert shown.proposal == words
