"""What people see of a plan: its state, its clocks, what it waits for, what is left of it, what it has changed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from planloom.domain.changes import Conflict, EditedFile
from planloom.domain.events import catalog as ev
from planloom.domain.events.lifecycle import apply
from planloom.domain.indexed_tuple import IndexedTuple
from planloom.domain.plans.outcome import Spent
from planloom.domain.plans.plan import (
    Detection,
    ModelUse,
    Pending,
    Plan,
    Question,
    Recovery,
    Step,
    StepResult,
    Usage,
)
from planloom.domain.safety.approvals import Approval
from planloom.domain.values import ApprovalId, CallId, EditId, PlanId, SessionId, Sha256, StepId, Uri
from planloom.execution.resources import MODEL, TERMINAL, StepWait
from planloom.view.plan_view import PlanView, view
from planloom.view.states import Around, Sign
from planloom.view.step.steps import StepView
from planloom.view.words import Words

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
PLAN = PlanId("p1")
A, B = StepId("a"), StepId("b")
AROUND = Around(Words())
START = ev.PlanStart(
    request="Build a page",
    route="plan",
    detection=Detection(planned=True, rule="multiple_tasks", score=40, ambiguous=False),
)


class History:
    """A plan whose events are a second apart."""

    def __init__(self, *events: ev.Event) -> None:
        self.plan = apply(None, self._recorded(1, START))
        self.add(*events)

    def add(self, *events: ev.Event) -> History:
        for event in events:
            self.plan = apply(self.plan, self._recorded(self.plan.seq + 1, event))
        return self

    @staticmethod
    def _recorded(seq: int, event: ev.Event) -> ev.Recorded:
        at = NOON + timedelta(seconds=seq)
        return ev.Recorded(seq=seq, plan_id=PLAN, session_id=SessionId("s"), at=at, event=event)


def step(step_id: str, *depends_on: str, **more: Any) -> Step:
    return Step(
        step_id=StepId(step_id),
        description=f"Do {step_id}",
        instruction="",
        depends_on=tuple(map(StepId, depends_on)),
        **more,
    )


def plan(*steps: Step, **more: Any) -> Plan:
    return Plan.model_construct(
        **{
            "plan_id": PLAN,
            "session_id": SessionId("s"),
            "version": 1,
            "status": "executing",
            "request": "Build a page",
            "steps": IndexedTuple(steps),
            **more,
        }
    )


def running(*steps: Step) -> History:
    """A plan whose first step runs."""
    drafted = ev.PlanReady(version=1, steps=steps, summary="", sequential=False, author="rules")
    started = ev.StepStarted(step_id=steps[0].step_id, agent="koda")
    approved = ev.PlanApproved(version=1, review="each")
    return History(ev.PlanDrafting(version=1), drafted, approved, ev.PlanExecuting(), started)


def approval(name: str, step_id: str | None = "a") -> Approval:
    return Approval.model_construct(
        approval_id=ApprovalId(name),
        plan_id=PLAN,
        step_id=None if step_id is None else StepId(step_id),
        proposal=Sha256(""),
        effect="execute",
        title="t",
        files=(),
        listed=None,
        command=None,
        only_once=False,
    )


def of(shown: PlanView, step_id: StepId) -> StepView:
    return next(each for each in shown.steps if each.step.step_id == step_id)


def worked(history: History, seconds: int, around: Around = AROUND) -> int:
    """How long the first step has worked, this many seconds after noon, in milliseconds."""
    shown = view(history.plan, around).steps[0]
    if shown.clock is None:
        assert shown.worked_ms is not None
        return shown.worked_ms
    end = shown.clock.until or NOON + timedelta(seconds=seconds)
    return round((end - shown.clock.since).total_seconds() * 1000) - shown.clock.waited_ms


QUESTION = Question(step_id=B, question="?")
RECOVERY = Recovery(step_id=A, error="no", options=("retry",))
CONFLICT = Conflict(edit_id=EditId("e"), step_id=A, files=())


@pytest.mark.parametrize(
    ("pending", "words", "waits"),
    [
        (Pending(), None, [None, None]),
        (Pending(approvals=(approval("x"),)), "waits for your approval", ["approval", None]),
        (Pending(approvals=(approval("x", None),)), "waits for your approval", [None, None]),
        (Pending(conflicts=(CONFLICT,)), "waits for your choice", ["conflict", None]),
        (Pending(recoveries=(RECOVERY,)), "waits for your decision", ["recovery", None]),
        (
            Pending(approvals=(approval("x"),), questions=(QUESTION,)),
            "waits for you",
            ["approval", "answer"],
        ),
    ],
)
def test_each_kind_of_decision_is_named_and_several_are_told_as_one(
    pending: Pending, words: str | None, waits: list[str | None]
) -> None:
    shown = view(plan(step("a"), step("b"), pending=pending), AROUND)
    assert (shown.waits, [each.waits for each in shown.steps]) == (words, waits)
    assert shown.state == ("Running" if words is None else words[0].upper() + words[1:])


@pytest.mark.parametrize(
    ("more", "waits", "sign", "causes"),
    [
        ({"status": "pending_approval"}, "waits for your review", "pending_approval", ("review p1",)),
        (
            {"status": "paused", "pause_reason": "unsaved_files"},
            "is paused and waits for you",
            "paused",
            ("pause p1 unsaved_files",),
        ),
        ({"status": "paused", "pause_reason": "user"}, None, "paused", ()),
        ({"status": "executing"}, None, "executing", ()),
    ],
)
def test_a_review_and_a_pause_wait_for_the_user_unless_the_user_has_paused(
    more: dict[str, Any], waits: str | None, sign: Sign, causes: tuple[str, ...]
) -> None:
    shown = view(plan(step("a"), **more), AROUND)
    assert (shown.waits, shown.sign, shown.causes) == (waits, sign, causes)


def test_a_clock_leaves_out_the_time_in_which_the_user_is_asked() -> None:
    history = running(step("a"), step("b"))
    # The step has begun at second 6.
    assert worked(history, 7) == 1000
    history.add(ev.ApprovalRequested(approval=approval("x")))
    assert (worked(history, 7), worked(history, 100)) == (1000, 1000)
    history.add(ev.ApprovalRequested(approval=approval("y")))
    history.add(ev.ApprovalResolved(approval_id=ApprovalId("x"), decision="allow", by="user"))
    assert worked(history, 100) == 1000
    history.add(ev.ApprovalResolved(approval_id=ApprovalId("y"), decision="allow", by="user"))
    assert worked(history, 11) == 2000
    ended = StepResult(ok=True, duration_ms=5024, timestamp=NOON)
    history.add(ev.StepCompleted(step_id=A, result=ended))
    assert worked(history, 100) == 2024


def test_a_new_run_has_a_new_clock() -> None:
    history = running(step("a")).add(
        ev.ApprovalRequested(approval=approval("x")),
        ev.ApprovalResolved(approval_id=ApprovalId("x"), decision="allow", by="user"),
        ev.StepFailed(step_id=A, error="no", will_retry=True),
    )
    assert view(history.plan, AROUND).steps[0].retry == "no"
    assert worked(history.add(ev.StepStarted(step_id=A, agent="koda")), 12) == 2000


def test_a_clock_leaves_out_the_pause_in_which_files_are_to_be_saved() -> None:
    history = running(step("a")).add(
        ev.StepUpdate(step_id=A, status="pending"),
        ev.PlanPaused(reason="unsaved_files", detail="Save it."),
    )
    shown = view(history.plan, AROUND).steps[0]
    assert (shown.clock, shown.worked_ms) == (None, None)
    history.add(ev.PlanResumed(), ev.StepStarted(step_id=A, agent="koda"))
    # The second run has begun at second 10.
    assert worked(history, 12) == 2000


def test_a_clock_leaves_out_the_time_in_which_another_step_is_waited_for() -> None:
    history = running(step("a"))
    wait = StepWait(A, TERMINAL, PlanId("p2"), StepId("x"))
    stopped = Around(Words(), waits=(wait,), waits_since={A: NOON + timedelta(seconds=8)})
    assert worked(history, 60, stopped) == 2000
    assert worked(history, 18, Around(Words(), waited_ms={A: 10_000})) == 2000


def test_a_step_that_waits_for_another_plan_is_told_apart_from_one_at_work() -> None:
    plan = running(step("a"), step("b")).plan
    wait = StepWait(A, MODEL, PlanId("p2"), StepId("x"))
    shown = view(plan, Around(Words(), waits=(wait,)))
    assert (shown.state, shown.sign, shown.steps[0].sign) == ("Waits for the model", "stalled", "stalled")
    assert shown.waits_for == ((PlanId("p2"), "waits for the model"),)
    own = view(plan, Around(Words(), waits=(wait._replace(used_by_plan=PLAN),)))
    assert (own.waits_for, own.steps[0].stalled) == ((), "waits for the model")
    assert view(plan, AROUND).state == "Running"


ONE = "Step 2 depends on it and is skipped too"


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        ((step("a"), step("b")), None),
        ((step("a"), step("b", "a"), step("c")), f"{ONE}, unless the model finds another way."),
        (
            (step("a", tool="edit_file"), step("b", "a"), step("c"), step("d", "b", "c")),
            "Steps 2 and 4 depend on it and are skipped too.",
        ),
        (
            (step("d", "b"), step("a", tool="edit_file"), step("b", "a")),
            "Steps 1 and 3 depend on it and are skipped too.",
        ),
        ((step("a", tool="edit_file"), step("b", tool="write_file", args={"content": "$a"})), f"{ONE}."),
        ((step("a"), step("b", "a", status="completed")), None),
    ],
)
def test_steps_that_are_lost_with_another(steps: tuple[Step, ...], words: str | None) -> None:
    shown = view(plan(*steps, pending=Pending(approvals=(approval("x"),))), AROUND)
    assert of(shown, A).lost == words


def test_a_plan_is_done_only_if_everything_is_but_for_steps_whose_condition_did_not_hold() -> None:
    def ended(status: str, reason: str) -> PlanView:
        skipped = step("b", status="skipped", skip_reason=reason)
        return view(plan(step("a", status="completed"), skipped, status=status), AROUND)

    assert [
        ended(*each).partly
        for each in (("completed", "condition"), ("completed", "user"), ("failed", "user"))
    ] == [
        False,
        True,
        False,
    ]
    partly = ended("completed", "approval_denied")
    assert (partly.state, partly.sign) == ("Partly done, 1 of 2", "partly")
    assert [(each.number, each.why) for each in partly.left] == [(2, "its changes were not applied")]
    assert view(plan(step("a")), AROUND).left == ()


def test_the_rest_of_a_plan_is_a_request_that_the_rules_can_plan_and_a_model_can_understand() -> None:
    failed = step("b", status="failed").model_copy(update={"instruction": 'Replace "a" with "b" in c.txt'})
    steps = (step("a", status="completed"), failed, step("c", status="skipped", skip_reason="user"))
    by_rules = view(plan(*steps, status="completed", author="rules"), AROUND).rest
    assert by_rules == '1. Replace "a" with "b" in c.txt\n2. Do c'
    by_model = view(plan(*steps, status="completed", author="model"), AROUND).rest
    assert by_model is not None and by_model.endswith("The earlier request was:\n\nBuild a page")


def edited(name: str, edit_id: str, **more: Any) -> tuple[ev.EditStarted, ev.EditApplied]:
    files = (EditedFile(uri=Uri(f"file:///w/{name}"), change="create", after_sha256=Sha256("x")),)
    return (
        ev.EditStarted(step_id=A, edit_id=EditId(edit_id), files=files, **more),
        ev.EditApplied(step_id=A, edit_id=EditId(edit_id), files=files, merged=False, outcome="verified"),
    )


def test_files_are_shown_with_what_became_of_them_and_what_can_be_done() -> None:
    history = running(step("a")).add(*edited("n.txt", "e"))
    shown = view(history.plan, AROUND)
    assert [(each.kind, each.state, each.words) for each in shown.files] == [("new file", "applied", "")]
    assert shown.steps[0].changed == 1
    history.add(
        ev.StepCompleted(step_id=A, result=StepResult(ok=True, duration_ms=1, timestamp=NOON)),
        ev.PlanCompleted(summary="done"),
    )
    assert [each.command for each in view(history.plan, AROUND).actions] == ["planloom.undo"]
    moved = EditedFile(uri=Uri("file:///w"), change="rename", new_uri=Uri("file:///v"))
    history.add(ev.FilesRenamed(edit_id=EditId("m"), files=(moved,)))
    assert [each.new_uri for each in view(history.plan, AROUND).files] == ["file:///v/n.txt"]
    started, applied = edited("n.txt", "u", reverts=(EditId("e"),))
    history.add(
        started.model_copy(update={"step_id": None}),
        applied.model_copy(update={"step_id": None}),
        ev.EditReverted(step_id=A, edit_id=EditId("e"), files=started.files),
    )
    undone = view(history.plan, AROUND)
    assert [(each.uri, each.words) for each in undone.files] == [("file:///w/n.txt", "undone")]
    assert [each.command for each in undone.actions] == ["planloom.redo"]
    assert [each.command for each in undone.steps[0].actions] == ["planloom.redo"]


def test_each_step_counts_the_files_that_it_has_changed_also_where_another_has_changed_them_since() -> None:
    history = running(step("a"), step("b")).add(
        *edited("n.txt", "e"), *edited("m.txt", "f"), *edited("n.txt", "g")
    )
    started, applied = edited("n.txt", "h")
    history.add(*(each.model_copy(update={"step_id": B}) for each in (started, applied)))
    shown = view(history.plan, AROUND)
    assert [each.changed for each in shown.steps] == [2, 1]
    assert [(each.uri, each.step_id) for each in shown.files] == [
        ("file:///w/n.txt", B),
        ("file:///w/m.txt", A),
    ]


def test_what_a_refused_edit_says_and_what_the_user_was_told_stay() -> None:
    (started, _) = edited("n.txt", "e")
    files = started.files
    history = running(step("a")).add(
        started,
        ev.EditRejected(step_id=A, edit_id=EditId("e"), files=files, reason="read-only"),
        ev.Log(level="warning", message="Look {0}"),
        ev.ContextCompacted(before_tokens=12000, after_tokens=3000, by="rules", summary=""),
    )
    shown = view(history.plan, Around(Words("de")))
    assert [(each.words, each.reason) for each in shown.files] == [("nicht angewendet", "read-only")]
    assert [each.message for each in shown.log] == [
        "Look {0}",
        "Kontext von 12.000 auf 3.000 Token verdichtet.",
    ]


def test_calls_questions_and_background_commands_stand_with_their_step() -> None:
    history = running(step("a")).add(
        ev.ClarificationRequest(step_id=A, question="Which port?"),
        ev.ClarificationProvided(step_id=A, answer="80"),
        ev.StepStarted(step_id=A, agent="koda"),
        ev.ToolStarted(
            step_id=A, call_id=CallId("c"), tool="run_command", args={"command": "serve"}, effect="execute"
        ),
    )
    shown = view(history.plan, AROUND).steps[0]
    assert [call.tool for call in shown.calls] == ["run_command"]
    assert [(each.question, each.answer) for each in shown.asked] == [("Which port?", "80")]


@pytest.mark.parametrize(
    ("events", "feedback", "failed", "warnings"),
    [
        ((ev.PlanDrafting(version=2, feedback="shorter"),), "shorter", True, ()),
        (
            (ev.PlanDrafting(version=2), ev.Log(level="warning", message="It names no file.")),
            None,
            True,
            ("It names no file.",),
        ),
    ],
)
def test_a_draft_that_came_to_nothing_says_so(
    events: tuple[ev.Event, ...], feedback: str | None, failed: bool, warnings: tuple[str, ...]
) -> None:
    ready = ev.PlanReady(version=1, steps=(step("a"),), summary="", sequential=False, author="model")
    history = History(ev.PlanDrafting(version=1), ready)
    assert view(history.plan, AROUND).draft is None
    history.add(*events, ready.model_copy(update={"restored": True}))
    draft = view(history.plan, AROUND).draft
    assert draft is not None
    assert (draft.feedback, draft.failed, draft.warnings) == (feedback, failed, warnings)
    history.add(ev.PlanApproved(version=1, review="each"))
    assert view(history.plan, AROUND).draft is None


def test_what_models_have_used_is_told_in_one_line_and_in_lines() -> None:
    usage = Usage(requests=3, prompt_tokens=12_300, completion_tokens=900, cached_tokens=8_000)
    models = (
        ModelUse(model="openai/gpt", usage=usage.model_copy(update={"requests": 2})),
        ModelUse(model="ollama/qwen", usage=Usage(requests=1, prompt_tokens=0)),
    )
    used = plan(step("a"), usage=usage, models=models)
    shown = view(used, Around(Words(), Spent(usage=usage, models=models, costs={"openai/gpt": 0.0231})))
    assert shown.used == "2 models · 13.2k tokens · 3 requests · 0.0231"
    assert shown.used_lines == (
        "Tokens and model requests so far",
        "12.3k tokens read (8.0k from the cache), 900 written",
        "At your prices: 0.0231",
        "openai/gpt: 2 requests · 100 % · 0.0231",
        "ollama/qwen: 1 request · 0 %",
    )


def test_perspectives_say_who_thinks_who_has_answered_and_who_has_not() -> None:
    drafting = plan(status="draft", route="perspectives", asking=("koda",), no_report={"devo": "No answer"})
    shown = view(drafting, AROUND)
    assert shown.thought == "Code is thinking…"
    assert [(each.name, each.state, each.error) for each in shown.perspectives] == [
        ("Strategy", "to come", None),
        ("Code", "thinking", None),
        ("Operations", "failed", "No answer"),
    ]
    assert view(plan(step("a"), no_report={"devo": "No answer"}), AROUND).perspectives[0].state == "failed"


def test_a_loop_says_how_far_it_has_come() -> None:
    loop = step("a", for_each="[1, 2]", children=(StepId("b"), StepId("c")))
    steps = (loop, step("b", status="completed", parent=A), step("c", status="running", parent=A))
    shown = view(plan(*steps), AROUND).steps[0]
    assert (shown.sign, shown.position) == ("running", "1 of 2 steps ended")
    rounds = step("a", repeat_until="last.ok", children=(StepId("b"),))
    assert view(plan(rounds, step("b", parent=A)), AROUND).steps[0].position == "round 1 of at most 5"


def test_a_pause_says_why_unless_a_card_does() -> None:
    paused = plan(step("a"), status="paused", pause_reason="budget", pause_detail="20 requests.")
    budget = "The plan's budget is used up. Resume grants the same amount again. 20 requests."
    assert view(paused, AROUND).pause == budget
    files = paused.model_copy(update={"pause_reason": "unsaved_files", "pause_detail": "Save a.txt."})
    assert view(files, AROUND).pause == "Save a.txt."
    asked = paused.model_copy(update={"pending": Pending(questions=(QUESTION,))})
    assert view(asked, AROUND).pause is None


def test_how_full_the_context_is_where_its_size_is_known() -> None:
    asked = plan(step("a"), last_request=Usage(requests=1, prompt_tokens=30_000, completion_tokens=2_000))
    full = view(asked, Around(Words(), Spent(context_tokens=128_000))).context
    assert full is not None
    assert (full.percent, full.words) == (25, "25 % of the model's 128.0k tokens")
    assert view(asked, AROUND).context is None
    assert view(plan(step("a")), Around(Words(), Spent(context_tokens=128_000))).context is None


def test_the_row_of_a_skipped_step_says_why() -> None:
    skipped = step("a", status="skipped", skip_reason="condition")
    assert view(plan(skipped, status="completed"), AROUND).steps[0].note == "its condition did not hold"
