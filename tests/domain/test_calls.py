"""The fold keeps the outcome of every call and change of a step."""

from __future__ import annotations

from typing import Any

import pytest

from planloom.domain.changes import EditedFile
from planloom.domain.events import catalog as ev
from planloom.domain.plans.plan import CommandEnd, Plan, StepResult
from planloom.domain.safety.approvals import Approval, ApprovalFile
from planloom.domain.values import ApprovalId, CallId, EditId, Sha256, StepId, Uri
from tests.domain.test_lifecycle import AT, PLAN, after, ready, step
from tests.domain.test_lifecycle import START as BEGUN

A, B, C, D = (Uri(f"file:///w/{name}.txt") for name in "abcd")
S, T = StepId("s"), StepId("t")
START = (
    BEGUN,
    ready(step("s"), step("t")),
    ev.PlanApproved(version=1, review="end"),
    ev.PlanExecuting(),
    ev.StepStarted(step_id=S, agent="koda"),
)
RESULT = StepResult(ok=True, summary="did it", duration_ms=1, timestamp=AT)
PENDING = ev.StepUpdate(step_id=S, status="pending")
DONE = ev.StepCompleted(step_id=S, result=RESULT)


def call(
    number: int, *changes: Uri, replaces: tuple[Uri, ...] = (), task: StepId = S, tool: str = "edit_file"
) -> tuple[ev.Event, ...]:
    """A write of a step, from its start to its end."""
    call_id = CallId(f"c{number}")
    return (
        ev.ToolStarted(step_id=task, call_id=call_id, tool=tool, args={"path": f"{number}"}, effect="write"),
        ev.ToolCompleted(
            step_id=task,
            call_id=call_id,
            ok=True,
            summary="",
            duration_ms=1,
            changes=changes,
            replaces=replaces,
        ),
    )


def edited(*uris: Uri) -> tuple[EditedFile, ...]:
    return tuple(EditedFile(uri=uri, change="edit") for uri in uris)


def edit(
    *made: Uri,
    of: StepId | None = S,
    settles: tuple[StepId, ...] = (),
    meant: tuple[Uri, ...] = (),
    **more: Any,
) -> tuple[ev.Event, ...]:
    """An edit from its intent to its outcome."""
    ident = EditId(more.pop("ident", "e"))
    meant = meant or made
    lost = tuple(uri for uri in meant if uri not in made)
    happened: list[ev.Event] = [
        ev.EditStarted(step_id=of, edit_id=ident, files=edited(*meant), settles=settles)
    ]
    if lost:
        happened.append(ev.EditRejected(step_id=of, edit_id=ident, files=edited(*lost), reason="no", **more))
    if made:
        happened.append(
            ev.EditApplied(step_id=of, edit_id=ident, files=edited(*made), merged=False, outcome="verified")
        )
    return tuple(happened)


def staged(**more: Any) -> ev.StepUpdate:
    return ev.StepUpdate(step_id=more.pop("task", S), status="running", held="staged", **more)


def asked(
    *uris: Uri, of: StepId | None, decision: Any, files: tuple[Uri, ...] | None = None
) -> tuple[ev.Event, ...]:
    shown = tuple(ApprovalFile(uri=uri, change="edit", added=1, removed=0, resolved_path="") for uri in uris)
    approval = Approval(
        approval_id=ApprovalId("q"),
        plan_id=PLAN,
        step_id=of,
        proposal=Sha256("0"),
        effect="write",
        title="",
        files=shown,
    )
    return (
        ev.ApprovalRequested(approval=approval),
        ev.ApprovalResolved(
            approval_id=ApprovalId("q"), decision=decision, by="user", reason="no", files=files
        ),
    )


def fates(plan: Plan, step_id: StepId = S) -> list[dict[str, str]]:
    """Of each call of a step, its files by their first letter and what became of them."""
    found = plan.step(step_id)
    assert found is not None
    return [
        {uri.rpartition("/")[2].partition(".")[0]: fate for uri, fate in each.files.items()}
        for each in found.tools_executed
    ]


@pytest.mark.parametrize(
    ("happened", "expected"),
    [
        (call(1, A), [{"a": "held"}]),
        ((*call(1, A), PENDING), [{"a": "lost"}]),
        ((*call(1, A), *edit(A), PENDING), [{"a": "made"}]),
        ((*call(1, A, B), *edit(A, meant=(A, B)), PENDING), [{"a": "made", "b": "lost"}]),
        ((*call(1, A), *edit(A), *call(2, A), PENDING), [{"a": "made"}, {"a": "lost"}]),
        ((*call(1, A), staged(), PENDING), [{"a": "staged"}]),
        ((*call(1, A), staged(), PENDING, PENDING), [{"a": "lost"}]),
        ((*call(1, A), staged(), DONE), [{"a": "staged"}]),
        ((*call(1, A), staged(), *edit(A, of=None, settles=(S,)), DONE), [{"a": "made"}]),
        ((*call(1, A), staged(files=(B,))), [{"a": "held"}]),
        ((*call(1, A), *asked(A, of=S, decision="deny"), PENDING), [{"a": "denied"}]),
        ((*call(1, A, B), *asked(A, B, of=S, decision="allow", files=(A,))), [{"a": "held", "b": "denied"}]),
        ((*call(1, A), *call(2, C, replaces=(A,)), *edit(C), PENDING), [{"c": "made"}, {"c": "made"}]),
        ((*call(1, A), *call(2, replaces=(A,)), PENDING), [{}, {}]),
        ((*call(1, A), *edit(meant=(A,), doubtful=(A,)), PENDING), [{"a": "doubtful"}]),
        (
            (*call(1, A), *edit(meant=(A,), doubtful=(A,)), *asked(A, of=S, decision="deny"), PENDING),
            [{"a": "denied"}],
        ),
    ],
)
def test_every_change_of_a_call_has_one_fate(
    happened: tuple[ev.Event, ...], expected: list[dict[str, str]]
) -> None:
    assert fates(after(*START, *happened)) == expected


def test_an_intent_that_is_not_settled_keeps_its_files_until_they_are_compared() -> None:
    meant = ev.EditStarted(step_id=S, edit_id=EditId("e"), files=edited(A))
    made = ev.EditApplied(step_id=S, edit_id=EditId("e"), files=edited(A), merged=False, outcome="verified")
    waiting = after(*START, *call(1, A, B), meant, PENDING)
    assert fates(waiting) == [{"a": "held", "b": "lost"}]
    assert fates(after(*START, *call(1, A, B), meant, PENDING, made)) == [{"a": "made", "b": "lost"}]


def test_a_step_that_renames_what_another_has_staged_is_made_with_it() -> None:
    second = (ev.StepStarted(step_id=T, agent="koda"), *call(2, A, D, task=T))
    plan = after(*START, *call(1, A), staged(), DONE, *second, staged(task=T, replaces=(A,)))
    assert (fates(plan), fates(plan, T)) == ([{"d": "staged"}], [{"d": "staged"}])


def test_a_step_that_failed_keeps_its_status_when_what_it_staged_is_lost() -> None:
    failed = ev.StepFailed(step_id=S, error="no")
    plan = after(*START, *call(1, A), staged(), failed, ev.StepsList(settled=(S,)))
    assert (plan.steps[0].status, fates(plan)) == ("failed", [{"a": "lost"}])


def test_a_step_is_staged_only_while_something_of_it_is() -> None:
    plan = after(*START, *call(1, A), *call(2, B), staged(), DONE)
    assert [each.staged for each in plan.steps] == [True, False]
    half = (*edit(A, of=None, settles=(S,), meant=(A, B)),)
    assert after(*START, *call(1, A), *call(2, B), staged(), DONE, *half).steps[0].staged
    rest = edit(B, of=None, settles=(S,), ident="f")
    assert not after(*START, *call(1, A), *call(2, B), staged(), DONE, *half, *rest).steps[0].staged


def test_what_a_person_takes_back_is_neither_made_nor_lost() -> None:
    back = ev.EditReverted(step_id=S, edit_id=EditId("e"), files=edited(A))
    paused = (*START, *call(1, A), *edit(A), PENDING, ev.PlanPaused(reason="user"))
    assert fates(after(*paused, back)) == [{"a": "undone"}]


@pytest.mark.parametrize(
    ("happened", "end"),
    [
        ((), None),
        ((ev.StepUpdate(step_id=S, status="running", command_started=True),), "cut_off"),
    ],
)
def test_only_a_command_that_was_started_is_cut_off(
    happened: tuple[ev.Event, ...], end: CommandEnd | None
) -> None:
    begun = ev.ToolStarted(step_id=S, call_id=CallId("c"), tool="run_command", args={}, effect="execute")
    found = after(*START, begun, *happened, PENDING).steps[0].tools_executed
    assert [each.command for each in found] == ([end] if end else [])


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        (
            (*call(1, A, B, tool="rename_path"), *call(2, B)),
            [{"a": "made", "b": "made"}, {"b": "lost"}],
        ),
        (
            (*call(1, A), *call(2, A, B, tool="rename_path")),
            [{"a": "lost"}, {"a": "made", "b": "made"}],
        ),
    ],
    ids=["edited after", "edited before"],
)
def test_a_file_that_was_renamed_and_not_edited_yet_has_a_call_made_and_one_left(
    calls: tuple[ev.Event, ...], expected: list[dict[str, str]]
) -> None:
    renamed = EditedFile(uri=A, change="rename", new_uri=B)
    meant = (renamed, EditedFile(uri=B, change="edit"))
    happened = (
        *calls,
        ev.EditStarted(step_id=S, edit_id=EditId("e"), files=meant),
        ev.EditRejected(step_id=S, edit_id=EditId("e"), files=meant[1:], reason="It was cut off."),
        ev.EditApplied(step_id=S, edit_id=EditId("e"), files=meant[:1], merged=False, outcome="verified"),
        PENDING,
    )
    assert fates(after(*START, *happened)) == expected
