"""The terminal shows a plan in the words that the wire has for every client."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from planloom.cli.terminal import show_history, show_report
from planloom.domain.changes import EditedFile
from planloom.domain.events import catalog as ev
from planloom.domain.indexed_tuple import IndexedTuple
from planloom.domain.plans.plan import ENDED, Pending, Plan, StepResult
from planloom.domain.values import EditId, PlanId, Sha256, StepId, Uri
from planloom.execution.resources import MODEL, TERMINAL, StepWait
from planloom.lsp.wire import to_wire_view
from planloom.view.plan_view import view
from planloom.view.states import Around
from planloom.view.words import Words
from tests.cli.test_show import shown, words
from tests.view.test_plan_view import (
    CONFLICT,
    NOON,
    QUESTION,
    RECOVERY,
    A,
    History,
    approval,
    edited,
    running,
    step,
)


def result(**more: Any) -> StepResult:
    return StepResult.model_validate({"ok": True, "duration_ms": 1200, "timestamp": NOON, **more})


def skipped(reason: str, depends_on: str = "a") -> Any:
    return step("b", depends_on, status="skipped", skip_reason=reason)


def started(*events: ev.Event) -> Plan:
    """A plan whose first step of three runs, after some events."""
    return running(step("a"), step("b", "a"), step("c")).add(*events).plan


def with_steps(status: str, *steps: Any, **more: Any) -> Plan:
    return started().model_copy(update={"status": status, "steps": IndexedTuple(steps), **more})


def pending(**more: Any) -> Plan:
    return started().model_copy(update={"pending": Pending(**more)})


DONE = step("a", status="completed", result=result())
READY = ev.PlanReady(
    version=1, steps=(step("a"), step("b", "a")), summary="", sequential=False, author="model"
)
ENDED_STEP = ev.StepCompleted(step_id=A, result=result())
FAILED = ev.StepFailed(step_id=A, error="It broke.", will_retry=False)
AGAIN = ev.StepFailed(step_id=A, error="It broke.", will_retry=True)
CREATED = edited("n.txt", "e")
FILE = CREATED[0].files[0]
EDITED = EditedFile(uri=FILE.uri, change="edit", before_sha256=Sha256("x"), after_sha256=Sha256("y"))
MOVED = EditedFile(uri=Uri("file:///w"), change="rename", new_uri=Uri("file:///v"))
REFUSED = ev.EditRejected(step_id=A, edit_id=EditId("e"), files=(FILE,), reason="read-only")
EDITED_LATER = (
    ev.EditStarted(step_id=A, edit_id=EditId("f"), files=(EDITED,)),
    ev.EditApplied(step_id=A, edit_id=EditId("f"), files=(EDITED,), merged=False, outcome="verified"),
)
STATES: dict[str, Plan] = {
    "drafting": History(ev.PlanDrafting(version=1)).plan,
    "in review": History(ev.PlanDrafting(version=1), READY).plan,
    "running": started(),
    "tried again": started(AGAIN),
    "failed step": started(FAILED),
    "done step": started(ENDED_STEP),
    "asks for approval": pending(approvals=(approval("x"),)),
    "asks a question": pending(questions=(QUESTION,)),
    "asks what to do about a failure": pending(recoveries=(RECOVERY,)),
    "asks about a conflict": pending(conflicts=(CONFLICT,)),
    "asks twice": pending(approvals=(approval("x"),), questions=(QUESTION,)),
    "paused by the user": with_steps("paused", step("a"), pause_reason="user"),
    "paused by its budget": with_steps(
        "paused", step("a"), pause_reason="budget", pause_detail="20 requests."
    ),
    "paused by a restart": with_steps("paused", step("a"), pause_reason="restart"),
    "done": with_steps("completed", DONE),
    "done in part": with_steps("completed", DONE, skipped("user")),
    "not done": with_steps("completed", skipped("approval_denied", "b"), step("c")),
    "done but for a condition": with_steps("completed", DONE, skipped("condition")),
    "failed": with_steps("failed", step("a", status="failed"), skipped("dependency_failed")),
    "failed as the setting says": with_steps("failed", DONE, skipped("policy")),
    "cancelled": with_steps("cancelled", DONE, step("b", "a"), step("c")),
    "rejected": with_steps("rejected", step("a"), step("b", "a")),
    "nothing to change": with_steps(
        "completed", step("a", status="completed", result=result(caveat="unchanged"))
    ),
    "not checked": with_steps("completed", step("a", status="completed", result=result(caveat="unchecked"))),
    "created": started(*CREATED),
    "created and edited": started(*CREATED, *EDITED_LATER),
    "moved by the user": started(*CREATED, ev.FilesRenamed(edit_id=EditId("m"), files=(MOVED,))),
    "refused": started(CREATED[0], REFUSED),
    "being written": started(CREATED[0]),
}
WAITS = (StepWait(A, MODEL, PlanId("p2"), StepId("x")), StepWait(A, TERMINAL, PlanId("p2"), StepId("x")))


def wire(plan: Plan, around: Around) -> Any:
    """A plan as a client has it."""
    sent = to_wire_view.whole(view(plan, around)).json_value()
    return {**sent, "plan": {**sent["plan"], "steps": [each["step"] for each in sent["steps"]]}}


def printed(sent: Any) -> str:
    """A plan as `planloom show` prints it, and if it has ended its end."""
    folders = [Path("/w")]
    parts = [*show_history.plan_parts(sent, folders, NOON)]
    if sent["plan"]["status"] in ENDED:
        parts += [show_report.heading(sent), *show_report.report_parts(sent, folders)]
    return words("\n".join(shown(part, 200) for part in parts))


def check(sent: Any) -> None:
    told = printed(sent)
    assert sent["state"] in told
    for each in sent["steps"]:
        is_plain = each["sign"] == "completed" or sent["plan"]["status"] == "pending_approval"
        assert each["step"]["description"] in told
        assert is_plain or f"{each['step']['description']} {each['words']}" in told, each
        assert each.get("skipped", "") in told
    if sent["plan"]["status"] in ("paused", "pending_approval"):
        assert sent.get("waits", "") in told
        assert sent.get("pause", "") in told
    for each in sent.get("left", []) if len(sent["steps"]) > 1 else []:
        assert f"{each['number']} {each['description']} {each['why']}" in told
    for each in sent["files"]:
        name = each.get("newUri", each["uri"]).removeprefix("file:///w/").removeprefix("file://")
        assert name.rpartition("/")[2] in told
        assert f"{each['kind']} {each['words']}".strip() in told


@pytest.mark.parametrize("plan", STATES.values(), ids=STATES)
def test_a_state_has_the_words_of_the_wire(plan: Plan) -> None:
    check(wire(plan, Around(Words())))


@pytest.mark.parametrize("wait", WAITS, ids=["the model", "the terminal"])
def test_a_step_that_waits_for_another_has_the_words_of_the_wire(wait: StepWait) -> None:
    check(wire(started(), Around(Words(), waits=(wait,))))


def test_a_file_that_a_step_has_created_stays_new_when_another_edits_it() -> None:
    (file,) = wire(STATES["created and edited"], Around(Words()))["files"]
    assert (file["change"], file["kind"], file["createdBy"], file["editId"]) == (
        "create",
        "new file",
        "a",
        "f",
    )
